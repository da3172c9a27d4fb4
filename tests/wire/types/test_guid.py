"""GUID, [MS-MQMQ] 2.2.18.1.1 and [MS-DTYP] 2.3.4."""

from __future__ import annotations

import pickle
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode, encode
from msmq_wire.errors import DecodeError
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.wire.cases import Cases

_TEXT = "557358d1-9150-9595-4997-b6e611ea26c6"

CASES = Cases(data=bytes.fromhex("d158735550919595 4997b6e611ea26c6"), value=GUID.parse(_TEXT))


def test_three_numbers_are_little_endian_and_eight_bytes_are_not() -> None:
    value = decode(CASES.data, "guid")
    assert type(value) is GUID
    assert str(value) == _TEXT
    assert encode(value) == CASES.data


@pytest.mark.parametrize("text", [_TEXT, _TEXT.upper(), f"{{{_TEXT}}}"])
def test_the_text_is_read_with_and_without_braces(text: str) -> None:
    assert GUID.parse(text) == CASES.data
    assert repr(GUID.parse(text)) == f"GUID.parse('{_TEXT}')"


@pytest.mark.parametrize("text", ["", "557358d1", _TEXT[:-1], f"{_TEXT}0"])
def test_what_is_no_guid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no GUID, such as 00000000-0000-0000-0000-000000000000"):
        GUID.parse(text)


def test_a_guid_is_read_from_text_only() -> None:
    wrong: Any = CASES.data
    with pytest.raises(TypeError, match=r"^a GUID must be text, not bytes$"):
        GUID.parse(wrong)


@given(st.binary(min_size=16, max_size=16))
def test_the_standard_library_reads_the_same_guid(data: bytes) -> None:
    value = GUID(data)
    assert str(value) == str(uuid.UUID(bytes_le=data))
    assert GUID.parse(str(value)) == value
    assert type(pickle.loads(pickle.dumps(value))) is GUID


@pytest.mark.parametrize("cut", range(16))
def test_half_a_guid_is_refused(cut: int) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(CASES.data[:cut], "guid")
    error = caught.value
    assert (error.code, error.path, error.offset, error.partial) == ("missing-bytes", "", 0, None)
    assert str(error.spec) == "[MS-MQMQ] 2.2.18.1.1"


def test_the_null_guid_is_sixteen_zeros() -> None:
    assert bytes(16) == NULL_GUID
    assert str(NULL_GUID) == "00000000-0000-0000-0000-000000000000"
