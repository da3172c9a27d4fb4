"""The table of what may differ: its ids are those of the page, its rules those of findings."""

from __future__ import annotations

import re
from pathlib import Path

from msmq_wire.detection import RULES
from msmq_wire.lab.recordings.compare_readings import FIELDS, NOTED, RULES_READINGS, readings_of
from msmq_wire.lab.recordings.recording import RecordedMessage
from msmq_wire.wire.packets.user_message import UserMessage

_DOCS = Path(__file__).resolve().parents[3] / "docs"
_PAGE = (_DOCS / "deviations.md").read_text(encoding="utf-8")
_IDS = re.findall(r"^\| ([CRK]\d+) \|", _PAGE, re.MULTILINE)


def test_every_reading_is_on_the_page() -> None:
    named = {id_ for field in FIELDS.values() for id_ in field.readings}
    named |= {id_ for ids in RULES_READINGS.values() for id_ in ids}
    assert named - set(_IDS) == set()


def test_an_id_stands_on_the_page_once_and_in_order() -> None:
    for letter in "CRK":
        numbers = [int(id_[1:]) for id_ in _IDS if id_[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1))


def test_every_value_of_a_recorded_message_may_differ() -> None:
    assert set(RecordedMessage.__struct_fields__) - set(FIELDS) == set()


def test_a_path_is_one_of_a_user_message() -> None:
    headers = {field.path.partition(".")[0] for field in FIELDS.values() if field.path}
    assert headers <= set(UserMessage.__struct_fields__)


def test_rules_are_those_of_findings() -> None:
    assert (set(RULES_READINGS) | set(NOTED)) - set(RULES) == set()
    assert readings_of("rule", "FLG-USER-X3") == ("R14",)
    assert readings_of("rule", "RPL-PURGE") == ()


def test_what_is_noted_breaks_no_rule_of_a_replay() -> None:
    assert [id_ for id_ in NOTED if id_.startswith("RPL-") or RULES[id_].conduct] == []


def test_every_field_has_a_row_in_the_page_for_us() -> None:
    text = (_DOCS / "real-captures.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*`) \|", text.partition("## For us")[2].partition("\n## ")[0], re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(FIELDS)
