"""Which calls are on queue objects, and what tells it: a bind, an interface pointer, their shape."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.com.decoding import decode_com_call, follow_com_call, guess_com_call
from msmq_wire.rpc.com.queue_interfaces import (
    COM_INTERFACES,
    OrpcRequest,
    OrpcResponse,
    ReceiveCurrentRequest,
)
from msmq_wire.rpc.decoding import NDR64_SYNTAX, NDR_SYNTAX
from msmq_wire.rpc.events import CallEvent, Stub, SyntaxId
from msmq_wire.rpc.ndr import NDR, NDR64
from msmq_wire.wire.types.guid import GUID

QUEUE = GUID.parse("d7d6e076-dccd-11d0-aa4b-0060970debae")
QUEUE_3 = GUID.parse("eba96b1b-2168-11d3-898c-00e02c074f6b")
MESSAGE = GUID.parse("d7d6e074-dccd-11d0-aa4b-0060970debae")
IPID = GUID.parse("0000a803-0f3c-0e94-5d1b-77c2a1e94c60")
THIS = bytes.fromhex("0500 0700 00000000 00000000") + bytes(range(16)) + bytes(4)
THAT = bytes(8)


def argument(vt: int, value: bytes) -> bytes:
    """A referent at a multiple of 8, the gap behind it, the variant, and a gap up to a multiple of 8."""
    data = b"User" + bytes(4) + struct.pack("<IIHHHHI", 3, 0, vt, 0, 0, 0, vt) + value
    return data + bytes(-len(data) & 7)


MISSING = argument(10, struct.pack("<I", 0x80020004))
NUMBER = argument(3, struct.pack("<i", 1000))
TRUE = argument(11, b"\xff\xff")
REQUEST = THIS + MISSING + TRUE + MISSING + NUMBER
NONE_CAME = THAT + bytes(4) + struct.pack("<I", 0xC00E001B)


def call(request: bytes | None = REQUEST, response: bytes | None = NONE_CAME, **changes: Any) -> CallEvent:
    about = {"complete": changes.pop("complete", True), "sealed": changes.pop("sealed", False)}
    ipid = changes.pop("object_uuid", IPID)
    values: dict[str, Any] = {
        "call_id": 1,
        "context_id": 0,
        "opnum": 17,
        "interface": None,
        "syntax": None,
        "request": None if request is None else Stub(data=request, object_uuid=ipid, **about),
        "response": None if response is None else Stub(data=response, **about),
    }
    return CallEvent(**(values | changes))


@pytest.mark.parametrize("iid", COM_INTERFACES)
def test_a_call_whose_interface_is_known_is_opened(iid: GUID) -> None:
    found = decode_com_call(call(syntax=SyntaxId(NDR_SYNTAX, 2, 0)), iid)
    assert (found.interface, found.guessed, found.syntax) == (COM_INTERFACES[iid], False, NDR)
    assert found.method is COM_INTERFACES[iid].methods[17]
    assert found.request is not None
    assert isinstance(found.request.value, ReceiveCurrentRequest)
    assert found.status == 0xC00E001B


def test_other_methods_are_bytes_between_orpc_and_hresult() -> None:
    found = decode_com_call(call(THIS + b"arguments", THAT + b"result.." + bytes(4), opnum=20), QUEUE_3)
    assert found.method is not None
    assert found.method.name == "Receive"
    assert found.request is not None
    assert found.response is not None
    assert found.request.value.stub == b"arguments"
    assert found.response.value.stub == b"result.."
    assert found.status == 0


def test_an_object_that_is_no_queue_has_no_methods_here() -> None:
    found = decode_com_call(call(THIS, THAT + bytes(8), opnum=13), MESSAGE)
    assert found.interface is not None
    assert (found.interface.name, found.method, found.status) == ("IMSMQMessage", None, 0)
    assert found.request is not None
    assert isinstance(found.request.value, OrpcRequest)
    unknown = decode_com_call(call(THIS, THAT + bytes(8), opnum=13), IPID)
    assert unknown.interface is not None
    assert unknown.interface.name == str(IPID)


def test_a_syntax_that_was_not_captured_is_the_one_that_fits() -> None:
    assert decode_com_call(call(), QUEUE).syntax is NDR
    wide = bytes.fromhex("0500 0700 00000000 00000000") + bytes(16) + bytes(4 + 8)
    for vt, value in ((10, struct.pack("<I", 0x80020004)),) * 4:
        head = struct.pack("<QIIHHHHII", 0x20000, 3, 0, vt, 0, 0, 0, vt, 0)
        wide += head + value + bytes(4)
    answer = bytes(16) + bytes(8) + struct.pack("<I", 0)
    assert decode_com_call(call(wide, answer), QUEUE).syntax is NDR64
    agreed = decode_com_call(call(wide, answer, syntax=SyntaxId(NDR64_SYNTAX, 1, 0)), QUEUE)
    assert agreed.request is not None
    assert agreed.request.error is None
    other = decode_com_call(call(syntax=SyntaxId(IPID, 1, 0)), QUEUE)
    assert (other.syntax, other.request, other.response) == (None, None, None)


def test_a_sealed_call_keeps_its_method_and_nothing_of_its_stubs() -> None:
    found = decode_com_call(call(sealed=True), QUEUE_3)
    assert found.method is not None
    assert (found.request, found.response, found.status) == (None, None, None)


def test_the_end_of_what_was_captured_is_no_hresult() -> None:
    event = call(THIS, THAT + b"resultresult", opnum=20, complete=False)
    found = decode_com_call(event, QUEUE_3)
    assert found.status is None
    assert found.response is not None
    assert isinstance(found.response.value, OrpcResponse)
    assert found.response.value.stub == b"resultresult"
    assert found.response.error is not None
    assert found.response.error.path == "status"


def test_receive_current_is_guessed_by_its_shape() -> None:
    found = guess_com_call(call())
    assert found is not None
    assert (found.guessed, found.syntax) == (True, NDR)
    assert found.interface is COM_INTERFACES[QUEUE]
    assert found.interface is not None
    after = follow_com_call(call(THIS, THAT + bytes(4), opnum=16), found.interface, NDR)
    assert after.method is not None
    assert (after.method.name, after.guessed) == ("Reset", True)


@pytest.mark.parametrize(
    "event",
    [
        call(opnum=16),
        call(None),
        call(object_uuid=None),
        call(sealed=True),
        call(complete=False),
        call(THIS + MISSING * 3),
        call(REQUEST + b"\1"),
        call(THIS + argument(8, bytes(4)) + MISSING * 3),
        call(THIS + NUMBER + NUMBER + MISSING * 2),
        call(b"\4" + REQUEST[1:]),
        call(REQUEST[:2] + b"\x08" + REQUEST[3:]),
        call(response=NONE_CAME + b"\1"),
    ],
)
def test_what_is_not_plainly_receive_current_is_not_guessed(event: CallEvent) -> None:
    assert guess_com_call(event) is None


def test_a_call_without_an_answer_is_guessed_too() -> None:
    assert guess_com_call(call(response=None)) is not None


@given(
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=5),
    end=st.integers(0, 200),
    opnum=st.integers(0, 50),
)
def test_changed_and_cut_calls_are_decoded_without_an_error_raised(
    changes: list[tuple[int, int]], end: int, opnum: int
) -> None:
    changed = bytearray(REQUEST)
    for place, byte in changes:
        changed[place % len(changed)] = byte
    event = call(bytes(changed[:end]), NONE_CAME[: end % 17], opnum=opnum, complete=end % 2 == 0)
    for found in (decode_com_call(event, QUEUE_3), decode_com_call(event, MESSAGE), guess_com_call(event)):
        assert found is None or found.event is event
