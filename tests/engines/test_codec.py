"""decode, encode and inspect: one door for every engine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import InspectResult, decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import STRUCTURES
from msmq_wire.wire.types.guid import GUID

_MESSAGE = encode(UserMessage())


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes_is_read(kind: type) -> None:
    assert decode(kind(_MESSAGE)) == UserMessage()
    assert inspect(kind(_MESSAGE + b"x")).remainder == b"x"


def test_a_structure_can_be_asked_for_by_its_stem() -> None:
    assert decode(_MESSAGE, "base_header").packet_size == 120
    assert decode(_MESSAGE[16:], as_="guid") == GUID(bytes(16))


@pytest.mark.parametrize("stem", ["", "UserMessage", "user-message", "packet", "Ping"])
def test_a_stem_that_does_not_exist_is_a_callers_mistake(stem: str) -> None:
    with pytest.raises(ValueError, match="no structure is called"):
        decode(_MESSAGE, stem)
    with pytest.raises(ValueError, match="no structure is called"):
        inspect(_MESSAGE, stem)


def test_inspect_says_everything_at_once() -> None:
    result = inspect(_MESSAGE[:1] + b"\x5a" + _MESSAGE[2:] + b"tail")
    assert isinstance(result, InspectResult)
    assert (result.type, result.error, result.anomalies) == ("user_message", None, ())
    assert (result.consumed, result.remainder) == (120, b"tail")
    assert result.packet.base_header.reserved == 0x5A


def test_inspect_keeps_the_error_the_value_and_the_rest() -> None:
    result = inspect(_MESSAGE[:61])
    assert result.type == "user_message"
    assert result.error is not None
    assert (result.error.code, result.error.path, result.error.offset) == (
        "missing-bytes",
        "user_header.flags",
        60,
    )
    assert result.packet.user_header.message_id == 0
    assert (result.consumed, result.remainder) == (60, _MESSAGE[60:61])


def test_decode_computes_no_anomalies_and_refuses_none() -> None:
    assert decode(b"\x11" + _MESSAGE[1:]).base_header.version_number == 0x11


@pytest.mark.parametrize("length", range(8))
def test_too_few_bytes_are_no_packet(length: int) -> None:
    result = inspect(_MESSAGE[:length])
    assert (result.type, result.packet, result.consumed) == (None, None, 0)
    assert result.error is not None
    assert result.error.code == "missing-bytes"


def test_a_ping_shorter_than_its_signature_is_no_packet() -> None:
    data = encode(Ping())
    assert inspect(data[:3]).type is None
    assert inspect(data[:4]).error is not None


@given(st.sampled_from(sorted(STRUCTURES)), st.binary(max_size=300))
def test_inspect_never_raises_on_bytes(stem: str, data: bytes) -> None:
    result = inspect(data, stem)
    assert result.type == stem
    assert data[result.consumed :] == result.remainder
    if result.error is None:
        assert encode(result.packet) == data[: result.consumed]
        assert decode(data, stem) == result.packet
    else:
        with pytest.raises(DecodeError):
            decode(data, stem)


@given(st.binary(max_size=300), st.lists(st.tuples(st.integers(0, 400), st.integers(1, 400)), max_size=4))
def test_missing_ranges_never_raise_anything_else(data: bytes, missing: list[tuple[int, int]]) -> None:
    apart = [
        (start, length)
        for index, (start, length) in enumerate(sorted(missing))
        if all(start > sum(before) for before in sorted(missing)[:index])
    ]
    message = _MESSAGE[:8] + len(_MESSAGE + data).to_bytes(4, "little") + _MESSAGE[12:] + data
    result = inspect(message, "message_packet", missing=apart)
    assert result.consumed + len(result.remainder) == len(message)
    if result.error is None:
        assert encode(result.packet, missing=apart) == message[: result.consumed]


def test_missing_ranges_that_overlap_are_one_range() -> None:
    one = decode(_MESSAGE, missing=((16, 16),))
    two = decode(_MESSAGE, missing=((16, 1), (16, 16)))
    assert one == two
    assert encode(two, missing=((16, 1), (16, 16))) == encode(one, missing=((16, 16),))


@given(st.integers(0, 119), st.binary(min_size=1, max_size=8))
def test_a_bent_message_is_a_value_or_a_decode_error(at: int, new: bytes) -> None:
    bent = _MESSAGE[:at] + new + _MESSAGE[at + len(new) :]
    result = inspect(bent)
    if result.error is None:
        assert encode(result.packet) == bent[: result.consumed]


def test_encode_refuses_what_contradicts_itself() -> None:
    with pytest.raises(EncodeError, match="undeclared"):
        encode(UserMessage(undeclared=b"x"))


@pytest.mark.parametrize("wrong", [5, None, {}, Ping])
def test_what_is_no_structure_is_not_encoded(wrong: Any) -> None:
    for function in (encode, fit):
        with pytest.raises(EncodeError) as caught:
            function(wrong)
        assert str(caught.value) == f"packet must be a structure of this package, not {type(wrong).__name__}"
