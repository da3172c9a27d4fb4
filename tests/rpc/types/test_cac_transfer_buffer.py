"""CACTransferBufferV1, V2 and CACCreateRemoteCursor, [MS-MQMP] 2.2.3.2 to 2.2.3.4."""

from __future__ import annotations

import msgspec
import pytest

from msmq_wire.errors import EncodeError
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    NULL_POINTEE,
    StubValue,
    Syntax,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CAC_CREATE_REMOTE_CURSOR,
    CAC_TRANSFER_BUFFER_V1,
    CAC_TRANSFER_BUFFER_V2,
    CACCreateRemoteCursor,
    CACTransferBufferV1,
    CACTransferBufferV2,
    TransferReceive,
    TransferSend,
)
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_SEND = CACTransferBufferV1(u_transfer_type=0, arm=TransferSend())
_RECEIVE = CACTransferBufferV1(u_transfer_type=1, arm=TransferReceive())
_ID = ObjectId(lineage=GUID(bytes(range(16))), uniquifier=7)


@pytest.mark.parametrize(
    ("value", "ndr", "ndr64"),
    [
        (_SEND, 228, 448),
        (CACTransferBufferV2(old=_SEND), 240, 472),
        (CACTransferBufferV2(old=_RECEIVE), 296, 568),
    ],
)
def test_the_fixed_part_has_the_size_that_two_compilers_give_it(
    value: CACTransferBufferV1 | CACTransferBufferV2, ndr: int, ndr64: int
) -> None:
    type_ = CAC_TRANSFER_BUFFER_V1 if isinstance(value, CACTransferBufferV1) else CAC_TRANSFER_BUFFER_V2
    for syntax, length in ((NDR, ndr), (NDR_BIG_ENDIAN, ndr), (NDR64, ndr64)):
        stub = encode_stub(type_, StubValue(value), syntax)
        assert len(stub) == length
        assert decode_stub(type_, stub, syntax) == StubValue(value)


@pytest.mark.parametrize("syntax", [NDR, NDR_BIG_ENDIAN, NDR64])
def test_a_cursor_is_three_numbers(syntax: Syntax) -> None:
    order = "big" if syntax.big_endian else "little"
    stub = b"".join(number.to_bytes(4, order) for number in (1, 2, 3))  # type: ignore[arg-type]  # a literal
    value = CACCreateRemoteCursor(h_cursor=1, srv_h_ac_queue=2, cli_p_qm_queue=3)
    assert decode_stub(CAC_CREATE_REMOTE_CURSOR, stub, syntax).value == value


def test_sizes_that_stand_behind_their_pointers_are_used() -> None:
    value = msgspec.structs.replace(
        _SEND,
        pp_body=b"body",
        ul_body_buffer_size_in_bytes=4,
        ul_alloc_body_buffer_in_bytes=16,
        pp_correlation_id=bytes(20),
        pp_sender_id=b"\1\2\3",
        u_sender_id_len=3,
        pp_title=WcharText.of("a"),
        ul_title_buffer_size_in_wchars=2,
    )
    for syntax in (NDR, NDR_BIG_ENDIAN, NDR64):
        stub = encode_stub(CAC_TRANSFER_BUFFER_V1, StubValue(value), syntax)
        result = inspect_stub(CAC_TRANSFER_BUFFER_V1, stub, syntax)
        assert result.value == value
        assert result.anomalies == ()
    # max_count of the body is the room for it, actual_count what is there.
    little = encode_stub(CAC_TRANSFER_BUFFER_V1, StubValue(value))
    assert bytes.fromhex("10000000 00000000 04000000") + b"body" in little


@pytest.mark.parametrize(
    ("member", "value", "code"),
    [
        ("pp_correlation_id", b"\1\2\3", "ndr.length-is"),
        ("pp_body", b"body", "ndr.length-is"),
        ("pp_sender_id", b"\1", "ndr.size-is"),
        ("ppwcs_prov_name", WcharText.of("a"), "ndr.size-is"),
    ],
)
def test_sizes_that_lie_are_told_by_the_path_of_their_array(member: str, value: bytes, code: str) -> None:
    buffer = CACTransferBufferV2(old=msgspec.structs.replace(_SEND, **{member: value}))
    stub = encode_stub(CAC_TRANSFER_BUFFER_V2, StubValue(buffer))
    result = inspect_stub(CAC_TRANSFER_BUFFER_V2, stub)
    assert result.value == buffer
    assert (code, f"old.{member}") in [(found.code, found.path) for found in result.anomalies]


def test_two_levels_of_pointers_are_null_pointing_at_null_or_a_value() -> None:
    for pointee in (None, NULL_POINTEE, _ID):
        value = CACTransferBufferV2(old=_SEND, pp_xact_id=pointee)
        for syntax in (NDR, NDR64):
            stub = encode_stub(CAC_TRANSFER_BUFFER_V2, StubValue(value), syntax)
            decoded = decode_stub(CAC_TRANSFER_BUFFER_V2, stub, syntax)
            assert decoded.value == value
            assert len(decoded.residue.referent_ids) == {None: 0, NULL_POINTEE: 1, _ID: 2}[pointee]


def test_a_cut_buffer_keeps_the_numbers_of_the_structure_in_it() -> None:
    value = CACTransferBufferV2(old=msgspec.structs.replace(_SEND, ul_auth_level=9), pb_first_in_xact=1)
    stub = encode_stub(CAC_TRANSFER_BUFFER_V2, StubValue(value))
    partial = inspect_stub(CAC_TRANSFER_BUFFER_V2, stub[:230]).value
    assert partial.old.ul_auth_level == 9
    assert partial.pb_first_in_xact is msgspec.UNSET


@pytest.mark.parametrize(
    "value",
    [
        CACTransferBufferV1(u_transfer_type=0, arm=None),
        CACTransferBufferV1(u_transfer_type=1, arm=TransferSend()),
        CACTransferBufferV1(u_transfer_type=3, arm=TransferSend()),
        msgspec.structs.replace(_SEND, p_priority=256),
        msgspec.structs.replace(_SEND, pp_body="body"),
        msgspec.structs.replace(_SEND, p_priority=NULL_POINTEE),
    ],
)
def test_a_buffer_that_contradicts_itself_is_refused(value: CACTransferBufferV1) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_stub(CAC_TRANSFER_BUFFER_V1, StubValue(value))
    assert caught.value.path
