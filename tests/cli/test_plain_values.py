"""What is taken as it stands is what typer makes of it, and what is refused is refused by typer."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from typer.exceptions import TyperException

from msmq_wire.cli.program import COMMANDS
from tests.cli.commands import commands

_TEXTS = ("", " a ", "é", "\udcff", "0", "7", "+7", " 7", "007", "-1", "1.0", "70000", "9" * 30, "٣")


def _values(parameter: Any) -> list[Any]:
    kind = type(parameter.default)
    words = [str(one.value) for one in kind] if issubclass(kind, Enum) else []
    single = [parameter.default, *_TEXTS, *words, *(word.upper() for word in words)]
    return [None, *single, [], *([one] for one in single), ("7", "8"), ("8", "\udcff")]


def _outcome(judge: Any, context: Any, value: Any) -> tuple[Any, ...]:
    try:
        made = judge(context, value)
    except TyperException as error:
        return type(error), error.format_message()
    except (TypeError, AttributeError) as error:
        return (type(error),)
    return type(made), made


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_takes_what_typer_would_make_of_a_value(name: str) -> None:
    command = commands()[name].whole
    context = command.make_context(name, [], resilient_parsing=True)
    parameters = [one for one in command.get_params(context) if one.callback is None]
    assert parameters
    for one in parameters:
        assert "process_value" in vars(one)
        for value in _values(one):
            of_typer = _outcome(type(one).process_value.__get__(one), context, value)
            assert _outcome(one.process_value, context, value) == of_typer, (one.name, value)


def test_a_callback_has_the_plain_value() -> None:
    """``--help`` is such a parameter, and is not given in most runs."""
    command = commands()["messages"].whole
    context = command.make_context("messages", [], resilient_parsing=True)
    (shown,) = [one for one in command.get_params(context) if "--help" in one.opts]
    before, shown.callback = shown.callback, lambda *values: ("given back", values[-1])
    try:
        assert shown.process_value(context, None) == ("given back", None)
    finally:
        shown.callback = before
