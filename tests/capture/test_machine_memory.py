"""How much memory there is: a part of what the machine or its container has, or what somebody asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from msmq_wire.capture import machine_memory as module
from msmq_wire.capture.machine_memory import default_memory, machine_memory
from msmq_wire.errors import MsmqWireError

GIB = 1 << 30


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of control groups of a machine with 64 GiB; nothing is limited yet."""
    groups = tmp_path / "cgroup"
    (groups / "memory").mkdir(parents=True)
    (groups / "group" / "one").mkdir(parents=True)
    (tmp_path / "own").write_text("1:name=systemd:/\n0::/group/one\n")
    monkeypatch.setattr(module, "_CGROUPS", groups)
    monkeypatch.setattr(module, "_OWN", tmp_path / "own")
    monkeypatch.setattr(module, "_physical", lambda: 64 * GIB)
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
    assert default_memory() == default


def test_what_nobody_says_is_two_gibibytes(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_physical", lambda: None)
    assert machine_memory() is None
    assert default_memory() == 2 * GIB


def test_the_variable_counts_before_the_machine(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSMQ_WIRE_MEMORY", "512m")
    assert default_memory() == 512 << 20
    monkeypatch.setenv("MSMQ_WIRE_MEMORY", "much")
    with pytest.raises(MsmqWireError, match=r"^MSMQ_WIRE_MEMORY=much is no size as 128m or 1g$"):
        default_memory()


def test_this_machine_has_some(monkeypatch: pytest.MonkeyPatch) -> None:
    there = machine_memory()
    assert there is None or there > 1 << 26
