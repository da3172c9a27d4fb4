"""Tables of cases that name the rules of the documents they are for."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest


def rule_table(names: str, *rows: Any) -> pytest.MarkDecorator:
    """A case for each row, whose first column is the numbers of its rules, separated by spaces, or empty.

    A row is a tuple, or a ``pytest.param`` where it has an id.
    """
    return pytest.mark.parametrize(names, [_case(row) for row in rows])


def _case(row: Any) -> Any:
    param: Any = pytest.param(*row) if type(row) is tuple else row
    numbers, *values = param.values
    marks = [*param.marks, pytest.mark.rule(*numbers.split())] if numbers else param.marks
    return pytest.param(*values, marks=marks, id=param.id)


def marked_rules(module: ModuleType) -> Iterator[str]:
    """The numbers of rules in the marks of the tests of a module, and in those of their cases."""
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()):
            cases = mark.args[1] if mark.name == "parametrize" else ()
            for one in (mark, *(each for case in cases for each in getattr(case, "marks", ()))):
                if one.name == "rule":
                    yield from one.args
