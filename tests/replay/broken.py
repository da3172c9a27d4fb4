"""The rules that the tests of a replay break, by their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tests.replay import (
    test_answers,
    test_applications,
    test_broken_messages,
    test_broken_receives,
    test_broken_remote_read,
    test_broken_servers,
    test_com,
    test_contents,
    test_management,
    test_places,
    test_refusals,
    test_rules,
    test_sent,
    test_uses,
)

__all__ = ["broken_rules"]

_BREAKING = (
    test_places,
    test_sent,
    test_uses,
    test_refusals,
    test_answers,
    test_applications,
    test_broken_messages,
    test_broken_receives,
    test_broken_remote_read,
    test_broken_servers,
    test_com,
    test_contents,
    test_management,
    test_rules,
)
_RULE = re.compile(r"MQ[A-Z]+-[0-9.]+-[0-9]+")


def _named(value: Any) -> Iterator[str]:
    """The numbers of rules in the tables of tests."""
    if isinstance(value, str):
        if _RULE.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        yield from _named([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _named(one)


def _broken(module: ModuleType) -> Iterator[str]:
    """The rules that the tests of a module break: those in its tables, its parameters and its own text."""
    for name, value in vars(module).items():
        if name.startswith("_") and isinstance(value, list | tuple | dict):
            yield from _named(value)
        for mark in getattr(value, "pytestmark", ()):
            if mark.name == "parametrize":
                yield from _named(list(mark.args[1]))
        if name.startswith("test_"):
            yield from _named(list(value.__code__.co_consts))


def broken_rules() -> set[str]:
    """Those of all tests that break rules."""
    return {rule for module in _BREAKING for rule in _broken(module)}
