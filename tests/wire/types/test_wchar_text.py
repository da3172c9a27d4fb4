"""WCHAR text, [MS-DTYP] 2.2.60."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText
from tests.wire.cases import Cases

CASES = Cases(data=bytes.fromhex("610062000000"), value=WcharText.of("ab"))


@pytest.mark.parametrize(
    ("data", "text", "terminated", "exact"),
    [
        pytest.param("610062000000", "ab", True, True, id="a terminated text"),
        pytest.param("61006200", "ab", False, False, id="no terminator"),
        pytest.param("", "", False, True, id="no bytes"),
        pytest.param("0000", "", True, True, id="a terminator alone"),
        pytest.param("6100000062000000", "a\0b", True, True, id="a NUL inside"),
        pytest.param("3dd800de0000", "\U0001f600", True, True, id="a surrogate pair"),
        pytest.param("61003dd80000", "a\ufffd", True, False, id="a lone high surrogate"),
        pytest.param("00de61000000", "\ufffda", True, False, id="a lone low surrogate"),
        pytest.param("610062", "a\ufffd", False, False, id="half a unit"),
        pytest.param("6100000000", "a\0\ufffd", False, False, id="an odd number of zeros"),
        pytest.param("fffe61000000", "\ufeffa", True, True, id="no byte order mark"),
        pytest.param("fdff0000", "\ufffd", True, True, id="the replacement character itself"),
    ],
)
def test_the_text_is_a_view_of_the_bytes(data: str, text: str, terminated: bool, exact: bool) -> None:
    value = decode(bytes.fromhex(data), "wchar_text")
    assert type(value) is WcharText
    assert (value.text, value.terminated, value.exact) == (text, terminated, exact)
    assert str(value) == text
    assert encode(value) == bytes.fromhex(data)


@given(st.binary(max_size=64))
def test_any_bytes_are_kept_and_have_a_text(data: bytes) -> None:
    value = decode(data, "wchar_text")
    assert encode(value) == data
    assert value.exact == (value.text.encode("utf-16-le") + b"\0\0" == data or data == b"")


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_with_its_terminator_is_read_back(text: str) -> None:
    value = WcharText.of(text)
    assert (value.text, value.terminated, value.exact) == (text, True, True)
    assert pickle.loads(pickle.dumps(value)) == value


def test_lone_surrogates_can_be_written() -> None:
    assert WcharText.of("\ud83d") == bytes.fromhex("3dd80000")


def test_a_field_of_fixed_size_ends_at_its_first_nul() -> None:
    value = FixedWcharText.padded("sq", 8)
    assert value == bytes.fromhex("7300710000000000")
    assert (value.text, value.used, value.exact) == ("sq", 4, True)
    dirty = FixedWcharText(bytes.fromhex("7300000071000000"))
    assert (dirty.text, dirty.used, dirty.exact) == ("s", 2, False)
    zero_bytes = FixedWcharText(bytes.fromhex("6100000130000000"))
    assert (zero_bytes.text, zero_bytes.used) == ("a\u01000", 6)
    full = FixedWcharText.padded("abcd", 8)
    assert (full.text, full.used, full.exact) == ("abcd", 8, True)


def test_text_that_does_not_fit_its_field_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        FixedWcharText.padded("abcde", 8)
