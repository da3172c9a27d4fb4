"""Whatever the text, it is a filter or one error; and a filter says what its expression says, row by row."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.reader import read_capture
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.filter.compiling import Filter, compile_filter
from msmq_wire.records.filter.record_names import records
from msmq_wire.records.filter.subject import Subject, at
from msmq_wire.records.message import message_view
from msmq_wire.records.record import Record

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
_SUBJECTS = [
    Subject(record)
    for name in ("captures/demo.pcap", "rpc_captures/rpc_none_ndr.pcap")
    for record in read_capture(_FIXTURES / name)
]
_ROWS = [message_view(one.record, acknowledgments=True) or {} for one in _SUBJECTS]
_MESSAGES = [(one, row) for one, row in zip(_SUBJECTS, _ROWS, strict=True) if row]

_WORDS = (
    "and or not in not_in ( ) { } , == != < >= ~ matches = && || ! contains ' \" \\ [ ] [0] . * type "
    "label time src queue frames status msmq. packet. user_header.flags.dq ping order 2026-11-20 09:14 "
    "0001-01-01 9999-12-31T23:59:59-23:59 192.0.2.0/24 7 true normal 0x 1_0 (a+)+$ severity message_id a\\1 "
    "sent_time latency"
)
_TOKENS = [*_WORDS.split(), "9" * 50, "\ud800", "\0", "\u00b2"]


def _became(outcome: str | None) -> Subject:
    return Subject(_SUBJECTS[0].record, lambda record: outcome)


def test_an_outcome_is_that_which_a_subject_was_given() -> None:
    refused = compile_filter("outcome == Refused", outcomes=True)
    other = compile_filter("outcome != refused", outcomes=True)
    for outcome, expected in (("refused", (True, False)), ("stored", (False, True)), (None, (False, False))):
        assert (refused(_became(outcome)), other(_became(outcome))) == expected
    with pytest.raises(MsmqWireError, match="messages and export filter by it"):
        compile_filter("outcome == refused")


@given(st.lists(st.sampled_from(_TOKENS) | st.text(max_size=3), max_size=12).map(" ".join))
def test_any_text_is_a_filter_or_one_error(expression: str) -> None:
    found = _outcome(expression)
    if isinstance(found, str):
        assert found.startswith("column ")
    else:
        subjects = (*_SUBJECTS[:3], Subject(Record(id=1, type="gap")))
        assert {found(subject) for subject in subjects} <= {True, False}


def _outcome(expression: str) -> Filter | str:
    try:
        return compile_filter(expression)
    except MsmqWireError as error:
        return str(error)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "~": lambda one, other: str(other).casefold() in str(one).casefold(),
    "matches": lambda one, other: re.search(str(other), str(one), re.IGNORECASE) is not None,
}
_NUMBERS = ("id", "priority", "message_class", "body_type", "body_size", "frames")
_TEXTS = ("label", "queue", "via", "delivery")
_VALUES = {name: sorted({str(row[name]) for _, row in _MESSAGES} - {"None"}) for name in _TEXTS}
_NUMBER = st.integers(-1, 40) | st.sampled_from([255, 276, 4049, 0x1F])
_Rule = Callable[[dict[str, Any]], bool]


def _judged(name: str, operator: str, values: list[Any]) -> _Rule:
    """What a row says of it: read in the row, value by value."""

    def rule(row: dict[str, Any]) -> bool:
        found = row[name] if isinstance(row[name], list) else [row[name]]
        present = [one for one in found if one is not None]
        if operator in ("in", "not in"):
            hits = [one in values for one in present]
            return any(hits) if operator == "in" else bool(hits) and not any(hits)
        if name == "queue" and operator in ("==", "!="):
            present = [one.casefold() for one in present]
            hits = [_COMPARE[operator](one, values[0].casefold()) for one in present]
        else:
            hits = [_COMPARE[operator](one, values[0]) for one in present]
        return bool(hits) and all(hits) if operator == "!=" else any(hits)

    return rule


@st.composite
def _comparisons(draw: Any) -> tuple[str, _Rule]:
    if draw(st.booleans()):
        name = draw(st.sampled_from(_NUMBERS))
        operator = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"]))
        values = draw(st.lists(_NUMBER, min_size=1, max_size=3))
    else:
        name = draw(st.sampled_from(_TEXTS))
        operator = draw(st.sampled_from(["==", "!=", "~", "matches", "in", "not in"]))
        values = draw(st.lists(st.sampled_from(_VALUES[name]), min_size=1, max_size=3))
        if operator in ("~", "matches"):
            start = draw(st.integers(0, 5))
            values = [values[0][start : start + 4].swapcase()]
        if operator == "matches":
            values = [re.escape(values[0])]
    shown = [f"'{one}'" if isinstance(one, str) else str(one) for one in values]
    text = f"({', '.join(shown)})" if operator in ("in", "not in") else shown[0]
    return f"{name} {operator} {text}", _judged(name, operator, values)


def _joined(parts: st.SearchStrategy[tuple[str, _Rule]]) -> st.SearchStrategy[tuple[str, _Rule]]:
    def both(pair: tuple[tuple[str, _Rule], tuple[str, _Rule]]) -> tuple[str, _Rule]:
        (one, left), (other, right) = pair
        return f"({one}) and ({other})", lambda row: left(row) and right(row)

    def either(pair: tuple[tuple[str, _Rule], tuple[str, _Rule]]) -> tuple[str, _Rule]:
        (one, left), (other, right) = pair
        return f"({one} or {other})", lambda row: left(row) or right(row)

    def none(part: tuple[str, _Rule]) -> tuple[str, _Rule]:
        return f"not ({part[0]})", lambda row: not part[1](row)

    pairs = st.tuples(parts, parts)
    return pairs.map(both) | pairs.map(either) | parts.map(none)


@given(st.recursive(_comparisons(), _joined, max_leaves=5))
def test_a_filter_is_what_a_row_says_read_value_by_value(case: tuple[str, _Rule]) -> None:
    expression, rule = case
    matches = compile_filter(expression)
    assert [matches(subject) for subject, _ in _MESSAGES] == [rule(row) for _, row in _MESSAGES]


@pytest.mark.slow
def test_what_is_deep_or_long_is_refused_at_once() -> None:
    listed, long = f"id in ({'1,' * 40_000}", f"id == {'9' * 9000}"
    for expression in ("(" * 9000, "not " * 9000, "msmq." * 9000, "x" * 70_000, listed, long):
        with pytest.raises(MsmqWireError) as caught:
            compile_filter(expression)
        assert len(str(caught.value)) < 600
    assert compile_filter(" or ".join(["id == 1"] * 5000))(_SUBJECTS[0])


def test_every_path_in_the_json_of_a_capture_is_a_name() -> None:
    def walked(value: Any, path: str) -> set[str]:
        if isinstance(value, dict):
            return {path} | {one for key, inner in value.items() for one in walked(inner, f"{path}.{key}")}
        if isinstance(value, list):
            return {path} | {one for inner in value for one in walked(inner, path)}
        return {path}

    seen: set[str] = set()
    for subject in _SUBJECTS:
        seen |= {path[1:] for path in walked(json.loads(json.dumps(subject.view)), "")} - {""}
        for path, value in (subject.view or {}).items():
            assert subject.at(path) == at(subject.view, path), (path, value)
            for name in value if isinstance(value, dict) else ():
                assert subject.at(f"{path}.{name}") == at(subject.view, f"{path}.{name}")
    assert len(seen) > 100
    assert [path for path in sorted(seen) if records().known(path) is None] == []
