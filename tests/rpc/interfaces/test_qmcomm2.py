"""qmcomm2, [MS-MQMP] 3.1.5: a message and its identifier."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.interfaces.qmcomm2 import INTERFACE
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, StubValue, Syntax, decode_stub, encode_stub
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CACCreateRemoteCursor,
    CACTransferBufferV1,
    CACTransferBufferV2,
    TransferSend,
)
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.types.guid import GUID

_ID = ObjectId(lineage=GUID(bytes(range(16))), uniquifier=7)
_MESSAGE = CACTransferBufferV2(old=CACTransferBufferV1(arm=TransferSend(), p_priority=3))


@pytest.mark.parametrize("syntax", [NDR, NDR64, NDR_BIG_ENDIAN])
@pytest.mark.parametrize("opnum", [0, 1])
def test_a_message_is_sent_with_or_without_room_for_its_identifier(opnum: int, syntax: Syntax) -> None:
    parameters = INTERFACE.methods[opnum].request
    for room in (None, _ID):
        value = parameters.cls(ptb=_MESSAGE, p_message_id=room)
        stub = encode_stub(parameters, StubValue(value), syntax)
        assert decode_stub(parameters, stub, syntax).value == value


def test_the_identifier_of_a_message_is_behind_a_pointer() -> None:
    parameters = INTERFACE.methods[0].response
    stub = bytes.fromhex("00000200 000102030405060708090a0b0c0d0e0f 07000000 00000000")
    assert decode_stub(parameters, stub).value.p_message_id == _ID
    assert decode_stub(parameters, bytes(8)).value.p_message_id is None


def test_a_receive_names_its_queue_by_a_number() -> None:
    parameters = INTERFACE.methods[2].request
    stub = encode_stub(parameters, StubValue(parameters.cls(h_qm_context=5, ptb=_MESSAGE)), NDR64)
    assert stub[:8] == bytes.fromhex("0500000000000000")
    assert len(stub) == 8 + 472 + 1


def test_a_cursor_is_given_by_three_numbers_and_a_status() -> None:
    stub = bytes.fromhex("01000000 02000000 03000000 04000000")
    value = decode_stub(INTERFACE.methods[3].response, stub).value
    assert value.pcc == CACCreateRemoteCursor(h_cursor=1, srv_h_ac_queue=2, cli_p_qm_queue=3)
    assert value.status == 4
