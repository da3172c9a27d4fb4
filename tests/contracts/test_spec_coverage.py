"""Every rule of the documents has a test, or a reason why it has none, by its number."""

from __future__ import annotations

import re

import pytest

from docs.generators.spec_coverage import PARTS, read_parts, rules_with_tests, rules_without_tests

_NUMBER = re.compile(r"C?MQ[A-Z]+-[0-9]+(?:\.[0-9]+)*-[0-9]+")


def test_there_are_parts_with_rules() -> None:
    parts = read_parts()
    assert set(parts) == set(PARTS)
    assert sum(map(len, parts.values())) > 2500


def test_a_number_names_one_rule() -> None:
    rules = [rule for part in read_parts().values() for rule in part]
    assert [rule for rule in rules if _NUMBER.fullmatch(rule) is None] == []
    assert len(rules) == len(set(rules))


@pytest.mark.parametrize("part", PARTS)
def test_every_rule_of_a_part_has_a_test_or_a_reason(part: str) -> None:
    rules = set(read_parts()[part])
    untested = rules_without_tests()[part]
    tested = rules_with_tests() & rules
    assert sorted(rules - tested - set(untested)) == []
    assert sorted(tested & set(untested)) == []
    assert sorted(set(untested) - rules) == []
    assert [rule for rule, reason in untested.items() if len(reason) < 10] == []


def test_no_test_names_a_rule_that_is_not_there() -> None:
    known = {rule for part in read_parts().values() for rule in part}
    assert sorted(rules_with_tests() - known) == []


def test_the_rules_of_a_section_count_from_one_without_holes() -> None:
    numbers: dict[str, list[int]] = {}
    for rule in (rule for part in read_parts().values() for rule in part):
        section, _, number = rule.rpartition("-")
        numbers.setdefault(section, []).append(int(number))
    wrong = {section: found for section, found in numbers.items() if found != list(range(1, len(found) + 1))}
    assert wrong == {}
