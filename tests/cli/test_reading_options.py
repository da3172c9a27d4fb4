"""`--memory`: what was asked for, else a part of what the machine or its container has."""

from __future__ import annotations

import pytest
import typer

from msmq_wire.capture import machine_memory
from msmq_wire.cli.reading_options import memory_for

GIB = 1 << 30


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 64 GiB."""
    monkeypatch.setattr(machine_memory, "machine_memory", lambda: 64 * GIB)
    monkeypatch.delenv("MSMQ_WIRE_MEMORY", raising=False)


@pytest.mark.parametrize(
    ("option", "variable", "size"),
    [("512m", "", 512 << 20), (None, "40MB", 40 << 20), ("1g", "40m", GIB), (None, "", 2 * GIB)],
)
def test_the_option_counts_before_the_variable(
    machine: None, monkeypatch: pytest.MonkeyPatch, option: str | None, variable: str, size: int
) -> None:
    monkeypatch.setenv("MSMQ_WIRE_MEMORY", variable)
    assert memory_for(option) == size


@pytest.mark.parametrize("text", ["0", "-1m", "much", "1.5g", "1x", "m"])
def test_what_is_no_size_is_refused_by_the_name_that_it_came_with(
    machine: None, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        memory_for(text)
    assert refused.value.param_hint == "--memory"
    monkeypatch.setenv("MSMQ_WIRE_MEMORY", text)
    with pytest.raises(typer.BadParameter) as refused:
        memory_for(None)
    assert refused.value.param_hint == "MSMQ_WIRE_MEMORY"
