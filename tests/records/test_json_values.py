"""A JSON document of a user: bounds on what it may be, and one line for what it is not."""

from __future__ import annotations

import time

import pytest

from msmq_wire import EncodeError
from msmq_wire.records.json_values import MAX_VALUES, parsed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the input is empty"),
        (" \n", "the input is empty"),
        ("{", "this is no JSON: .*line 1, column 2"),
        ("{'a': 1}", "this is no JSON"),
        ('{"a": 1, "a": 2}', "the key 'a' is there twice in one object: keep one"),
        ('{"a": NaN}', "NaN is no number of a packet"),
        ('{"a": -Infinity}', "-Infinity is no number"),
        ('{"a": 1.5}', "1.5 is no number"),
        ('{"a": 1e400}', "1e400 is no number"),
        (f'{{"a": {"9" * 5000}}}', "a number of 5000 digits"),
        ("[" * 100_000, "this is nested too deep"),
        ('{"a":' * 100_000, "this is nested too deep"),
        ("[" + "0," * MAX_VALUES + "0]", "more than 1,048,576 values"),
        (b"\xff\xfe\x00", "this is no JSON: byte"),
        (b"\x10\x00\x03\x00LIOR", "this is no JSON"),
        (b'{"a": "\xff"}', "this is no JSON: byte 7 is no utf-8 text"),
    ],
)
def test_a_text_that_is_no_document_has_one_line(text: str | bytes, words: str) -> None:
    with pytest.raises(EncodeError, match=words) as raised:
        parsed(text)
    assert len(str(raised.value)) < 200
    assert "\n" not in str(raised.value)


def test_marks_in_a_text_are_no_values() -> None:
    body = '[{,\\"' * MAX_VALUES
    assert parsed(f'{{"a": "{body}"}}') == {"a": '[{,"' * MAX_VALUES}


@pytest.mark.slow
@pytest.mark.parametrize("piece", ['"', '\\"', '"\\', "\\", '",', "[]", '{"a":'])
def test_a_long_text_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    with pytest.raises(EncodeError):
        parsed(piece * (8_000_000 // len(piece)))
    assert time.process_time() - started < 10
