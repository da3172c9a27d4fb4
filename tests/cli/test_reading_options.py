"""`--memory`: what was asked for, else a part of what the machine or its container has."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from msmq_wire.cli import reading_options
from msmq_wire.cli.reading_options import machine_memory, memory_for

GIB = 1 << 30


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of control groups of a machine with 64 GiB; nothing is limited yet."""
    groups = tmp_path / "cgroup"
    (groups / "memory").mkdir(parents=True)
    (groups / "group" / "one").mkdir(parents=True)
    (tmp_path / "own").write_text("1:name=systemd:/\n0::/group/one\n")
    monkeypatch.setattr(reading_options, "_CGROUPS", groups)
    monkeypatch.setattr(reading_options, "_OWN", tmp_path / "own")
    monkeypatch.setattr(reading_options, "_physical", lambda: 64 * GIB)
    monkeypatch.delenv("MSMQ_WIRE_MEMORY", raising=False)
    return groups


@pytest.mark.parametrize(
    ("limits", "there", "default"),
    [
        ({}, 64 * GIB, 2 * GIB),
        ({"group/one/memory.max": "max\n"}, 64 * GIB, 2 * GIB),
        ({"group/one/memory.max": f"{GIB}\n"}, GIB, GIB // 4),
        # A group may have as much as those around it.
        ({"group/one/memory.max": "max\n", "group/memory.max": f"{4 * GIB}\n"}, 4 * GIB, GIB),
        ({"memory.max": f"{2 * GIB}\n"}, 2 * GIB, GIB // 2),
        ({"memory/memory.limit_in_bytes": f"{GIB}\n"}, GIB, GIB // 4),
        # Version 1 says so where there is no limit.
        ({"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 64 * GIB, 2 * GIB),
        ({"group/one/memory.max": "\xb2\n"}, 64 * GIB, 2 * GIB),
    ],
)
def test_a_quarter_of_what_there_is_but_two_gibibytes_at_most(
    machine: Path, limits: dict[str, str], there: int, default: int
) -> None:
    for name, text in limits.items():
        (machine / name).write_text(text, encoding="utf-8")
    assert machine_memory() == there
    assert memory_for(None) == default


def test_what_nobody_says_is_two_gibibytes(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_options, "_physical", lambda: None)
    assert machine_memory() is None
    assert memory_for(None) == 2 * GIB


@pytest.mark.parametrize(
    ("option", "variable", "size"),
    [("512m", "", 512 << 20), (None, "40MB", 40 << 20), ("1g", "40m", GIB), (None, "", 2 * GIB)],
)
def test_the_option_counts_before_the_variable(
    machine: Path, monkeypatch: pytest.MonkeyPatch, option: str | None, variable: str, size: int
) -> None:
    monkeypatch.setenv("MSMQ_WIRE_MEMORY", variable)
    assert memory_for(option) == size


@pytest.mark.parametrize("text", ["0", "-1m", "much", "1.5g", "1x", "m"])
def test_what_is_no_size_is_refused_by_the_name_that_it_came_with(
    machine: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        memory_for(text)
    assert refused.value.param_hint == "--memory"
    monkeypatch.setenv("MSMQ_WIRE_MEMORY", text)
    with pytest.raises(typer.BadParameter) as refused:
        memory_for(None)
    assert refused.value.param_hint == "MSMQ_WIRE_MEMORY"


def test_this_machine_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    there = machine_memory()
    assert there is None or there > 1 << 26
