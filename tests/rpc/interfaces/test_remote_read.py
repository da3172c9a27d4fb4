"""RemoteRead, [MS-MQRR] 3.1.4: stubs by hand at the offsets of the interface definition."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.interfaces.remote_read import INTERFACE, StartReceiveRequest, StartReceiveResponse
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    StubValue,
    Syntax,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer

_HANDLE = ContextHandle(uuid=GUID(bytes(range(16))))
_HANDLE_BYTES = "00000000 000102030405060708090a0b0c0d0e0f"


@pytest.mark.parametrize("syntax", [NDR, NDR64])
def test_a_receive_is_asked_for_in_56_bytes(syntax: Syntax) -> None:
    stub = bytes.fromhex(
        f"{_HANDLE_BYTES} 00000000 0807060504030201 09000000 12000040 ffffffff 07000000 00100000 00200000"
    )
    value = StartReceiveRequest(
        ph_context=_HANDLE,
        lookup_id=0x0102030405060708,
        h_cursor=9,
        ul_action=0x40000012,
        ul_timeout=0xFFFFFFFF,
        dw_request_id=7,
        dw_max_body_size=0x1000,
        dw_max_compound_message_size=0x2000,
    )
    assert len(stub) == 56
    assert decode_stub(INTERFACE.methods[7].request, stub, syntax) == StubValue(value)
    assert encode_stub(INTERFACE.methods[7].request, StubValue(value), syntax) == stub


@pytest.mark.parametrize(
    ("syntax", "referent", "count", "section", "length"),
    [(NDR, 20, 24, 28, 4148), (NDR_BIG_ENDIAN, 20, 24, 28, 4148), (NDR64, 24, 32, 40, 4172)],
)
def test_a_message_of_one_section_lies_where_the_notes_of_the_definition_say(
    syntax: Syntax, referent: int, count: int, section: int, length: int
) -> None:
    value = StartReceiveResponse(
        pdw_arrive_time=0x11111111,
        p_sequence_id=0x2222222222222222,
        pdw_number_of_sections=1,
        pp_packet_sections=(
            SectionBuffer(
                section_buffer_type=0, section_size_alloc=4096, section_size=4096, data=b"\x99" * 4096
            ),
        ),
        status=0x33333333,
    )
    stub = encode_stub(INTERFACE.methods[7].response, StubValue(value), syntax)
    order = "big" if syntax.big_endian else "little"
    assert len(stub) == length
    assert stub[:20] == b"\x11" * 4 + bytes(4) + b"\x22" * 8 + (1).to_bytes(4, order)  # type: ignore[arg-type]  # a literal
    assert any(stub[referent:count])
    assert int.from_bytes(stub[count:section], order) == 1  # type: ignore[arg-type]  # a literal
    assert int.from_bytes(stub[section + 4 : section + 8], order) == 4096  # type: ignore[arg-type]  # a literal
    assert stub[-4:] == b"\x33" * 4
    result = inspect_stub(INTERFACE.methods[7].response, stub, syntax)
    assert (result.value, result.anomalies) == (value, ())


@pytest.mark.parametrize("opnum", [9, 15])
@pytest.mark.parametrize(("ack", "fine"), [(0, False), (1, True), (2, True), (3, False)])
def test_an_acknowledgment_is_one_or_two(opnum: int, ack: int, fine: bool) -> None:
    stub = bytes.fromhex(f"{_HANDLE_BYTES} {ack:02x}000000 07000000")
    result = inspect_stub(INTERFACE.methods[opnum].request, stub)
    assert (result.value.dw_ack, result.value.dw_request_id) == (ack, 7)
    assert [(found.code, found.path, found.offset) for found in result.anomalies] == (
        [] if fine else [("ndr.range", "dw_ack", 20)]
    )


def test_methods_that_return_nothing_answer_with_handles_alone() -> None:
    opened = bytes.fromhex(_HANDLE_BYTES)
    assert decode_stub(INTERFACE.methods[2].response, opened).value.pph_context == _HANDLE
    moved = bytes.fromhex(f"0500000000000000 {_HANDLE_BYTES}")
    value = decode_stub(INTERFACE.methods[11].response, moved).value
    assert (value.p_move_context, value.pph_context) == (5, _HANDLE)
    assert decode_stub(INTERFACE.methods[0].response, bytes.fromhex("37080000")).value.return_value == 2103


def test_a_propagation_token_has_a_count_and_no_pointer() -> None:
    stub = bytes.fromhex(f"{'11' * 16} 03000000 03000000 aabbcc 00 00000000 00")
    value = decode_stub(INTERFACE.methods[12].request, stub).value
    assert value.p_transaction_id == b"\x11" * 16
    assert value.pb_propagation_token == b"\xaa\xbb\xcc"
    assert value.p_queue_format.m_qft == 0
