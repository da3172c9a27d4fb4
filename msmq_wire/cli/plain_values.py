"""Values of a command line that are right as they stand.

The rule kept here: typer checks values with pydantic, whose import takes longer than a small capture. A text,
a word of an enumeration or a number in its range needs none of that; whatever else comes, and so whatever is
wrong, typer judges as ever.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any, Final, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

from msmq_wire.cli.help_text import HelpText

_NOT_PLAIN: Final = object()
_LONGEST_NUMBER = 9


class PlainCommand(HelpText, TyperCommand):
    """A command whose parameters take what is plain as it is."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _taking_plain_values(super().get_params(ctx))


class PlainGroup(HelpText, TyperGroup):
    """A group whose parameters take what is plain as it is."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _taking_plain_values(super().get_params(ctx))


def _taking_plain_values(parameters: list[Any]) -> list[Any]:
    for one in parameters:
        if hasattr(one, "type_descriptor") and "process_value" not in vars(one):
            one.process_value = partial(_value, one, one.process_value)
    return parameters


def _value(parameter: Any, judged: Any, context: Any, value: Any) -> Any:
    """What typer would make of a value, by ``judged`` where it is not plain."""
    declared = parameter.type_descriptor
    found: Any = _NOT_PLAIN
    if value is None:
        if not parameter.required:
            found = () if parameter.multiple or parameter.nargs == -1 else None
    elif declared.parameter_info.parser is not None:
        pass
    elif get_origin(declared.annotation) is not list:
        found = _plain(declared.annotation, declared.parameter_info, value)
    elif isinstance(value, (list, tuple)) and value:
        (kind,) = get_args(declared.annotation)
        found = [_plain(kind, declared.parameter_info, each) for each in value]
        if any(each is _NOT_PLAIN for each in found):
            found = _NOT_PLAIN
    if found is _NOT_PLAIN:
        return judged(context, value)
    return found if parameter.callback is None else parameter.callback(context, parameter, found)


def _plain(kind: Any, limits: Any, value: Any) -> Any:
    """One value of a type, or _NOT_PLAIN."""
    if kind is str and isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            # A name that is no text in the encoding of the system.
            return _NOT_PLAIN
        return value
    if kind is int and value.__class__ is int:
        # What it is where nothing was given.
        return value
    if kind is int and isinstance(value, str):
        if not (value.isascii() and value.isdecimal() and len(value) <= _LONGEST_NUMBER):
            return _NOT_PLAIN
        number = int(value)
        low, high = limits.min, limits.max
        return number if (low is None or low <= number) and (high is None or number <= high) else _NOT_PLAIN
    if isinstance(kind, type) and issubclass(kind, Enum):
        if isinstance(value, kind):
            return value
        if limits.case_sensitive:
            return next((one for one in kind if str(one.value) == value), _NOT_PLAIN)
    return _NOT_PLAIN
