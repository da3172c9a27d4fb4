"""Every rule of a server is told when it is broken, and a test breaks it, or there is a reason why not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from docs.generators.replay_rules import CAUGHT, JUDGED, classes, reasons
from docs.generators.spec_coverage import read_parts
from tests.replay import (
    test_answers,
    test_applications,
    test_broken_messages,
    test_broken_receives,
    test_broken_remote_read,
    test_broken_servers,
    test_com,
    test_contents,
    test_places,
    test_refusals,
    test_rules,
    test_sent,
    test_uses,
)

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
    test_rules,
)
_RULE = re.compile(r"MQ[A-Z]+-[0-9.]+-[0-9]+")


def named(value: Any) -> Iterator[str]:
    """The numbers of rules in the tables of tests."""
    if isinstance(value, str):
        if _RULE.fullmatch(value):
            yield value
    elif isinstance(value, dict):
        yield from named([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for one in value:
            yield from named(one)


def broken(module: ModuleType) -> Iterator[str]:
    """The rules that the tests of a module break: those in its tables, its parameters and its own text."""
    for name, value in vars(module).items():
        if name.startswith("_") and isinstance(value, list | tuple | dict):
            yield from named(value)
        for mark in getattr(value, "pytestmark", ()):
            if mark.name == "parametrize":
                yield from named(list(mark.args[1]))
        if name.startswith("test_"):
            yield from named(list(value.__code__.co_consts))


@pytest.mark.parametrize("part", JUDGED)
def test_every_rule_of_a_server_is_told_or_has_a_reason(part: str) -> None:
    rules = [rule for rule in read_parts()[part] if not rule.startswith("C")]
    listed = [rule for rules_of_class in classes(part).values() for rule in rules_of_class]
    assert sorted(rule for rule in rules if rule not in set(listed)) == []
    assert sorted(rule for rule in listed if rule not in set(rules)) == []
    assert len(listed) == len(set(listed))
    assert set(classes(part)) <= {CAUGHT, *reasons()}


def test_a_rule_is_told_where_a_test_breaks_it_and_nowhere_else() -> None:
    told = {rule for part in JUDGED for rule in classes(part)[CAUGHT]}
    tested = {rule for module in _BREAKING for rule in broken(module)}
    assert sorted(told - tested) == []
    assert sorted(tested - told) == []
