from __future__ import annotations

import importlib
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.events import SyntaxId
from msmq_wire.rpc.pdu.decoding import decode_pdu, find_credible, is_credible
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import (
    AlterContext,
    AlterContextResp,
    Auth3,
    Bind,
    BindAck,
    BindNak,
    CoCancel,
    ContextElement,
    Fault,
    Orphaned,
    Request,
    Response,
    SecTrailer,
    Shutdown,
    UnknownPdu,
)
from msmq_wire.wire.types.guid import GUID

REMOTE_READ = SyntaxId(GUID.parse("1a9134dd-7b39-45ba-ad88-44d01ca47f28"), 1, 0)
NDR = SyntaxId(GUID.parse("8a885d04-1ceb-11c9-9fe8-08002b104860"), 2, 0)
NDR64 = SyntaxId(GUID.parse("71710533-beba-4937-8319-b5dbef9ccc36"), 1, 0)

# Written by hand from C706 12.6.4.3: two contexts for one interface, NDR and NDR64.
BIND = bytes.fromhex(
    "05000b03 10000000 7400 0000 02000000"
    "b816 b816 00000000 02 00 0000"
    "0000 01 00 dd34911a 397b ba45 ad88 44d01ca47f28 0100 0000 045d888a eb1c c911 9fe8 08002b104860 0200 0000"
    "0100 01 00 dd34911a 397b ba45 ad88 44d01ca47f28 0100 0000 33057171 babe 3749 8319 b5dbef9ccc36 0100 0000"
)
# C706 12.6.4.4: the address "2103" with its NUL, 1 byte of padding, one acceptance and one rejection.
BIND_ACK = bytes.fromhex(
    "05000c07 10000000 5400 0000 02000000"
    "b816 b816 34120000 0500 3231303300 ff 02 00 0000"
    "0000 0000 045d888a eb1c c911 9fe8 08002b104860 0200 0000"
    "0200 0200 00000000 0000 0000 0000 000000000000 0000 0000"
)


def header(ptype: int, body: bytes, *, flags: int = 3, auth: bytes = b"", call_id: int = 7) -> bytes:
    size = 16 + len(body) + len(auth)
    auth_length = max(0, len(auth) - 8)
    return (
        struct.pack("<BBBB4sHHI", 5, 0, ptype, flags, b"\x10\0\0\0", size, auth_length, call_id) + body + auth
    )


def big_header(ptype: int, body: bytes, *, flags: int = 3, auth_length: int = 0) -> bytes:
    return struct.pack(">BBBB4sHHI", 5, 0, ptype, flags, bytes(4), 16 + len(body), auth_length, 7) + body


def test_a_bind_gives_its_contexts_and_the_syntaxes_they_offer() -> None:
    pdu = decode_pdu(BIND)
    assert pdu == Bind(
        call_id=2,
        max_xmit_frag=5816,
        max_recv_frag=5816,
        contexts=(ContextElement(0, REMOTE_READ, (NDR,)), ContextElement(1, REMOTE_READ, (NDR64,))),
    )
    assert encode_pdu(pdu) == BIND


def test_a_bind_ack_gives_the_results_behind_an_unaligned_address() -> None:
    pdu = decode_pdu(BIND_ACK)
    assert isinstance(pdu, BindAck)
    assert (pdu.sec_addr, pdu.sec_addr_padding) == (b"2103\0", b"\xff")
    assert pdu.assoc_group_id == 0x1234
    assert [(one.result, one.reason) for one in pdu.results] == [(0, 0), (2, 2)]
    assert pdu.results[0].transfer_syntax == NDR
    assert encode_pdu(pdu) == BIND_ACK


def test_a_request_keeps_stub_and_sec_trailer_apart() -> None:
    auth = bytes.fromhex("0a 06 04 00 01000000") + b"signature-of-16!"
    data = header(0, struct.pack("<IHH", 99, 1, 7) + b"stub" + b"\xbb" * 4, auth=auth)
    assert decode_pdu(data) == Request(
        call_id=7,
        alloc_hint=99,
        context_id=1,
        opnum=7,
        stub=b"stub\xbb\xbb\xbb\xbb",
        sec_trailer=SecTrailer(10, 6, 4, 0, 1, b"signature-of-16!"),
    )
    assert encode_pdu(decode_pdu(data)) == data


def test_the_sec_trailer_stands_where_the_lengths_say_whatever_its_alignment() -> None:
    auth = bytes.fromhex("0a 05 00 07 01000000") + b"x"
    pdu = decode_pdu(header(2, struct.pack("<IHBB", 0, 0, 1, 2) + b"abc", auth=auth))
    assert pdu == Response(
        call_id=7, cancel_count=1, reserved=2, stub=b"abc", sec_trailer=SecTrailer(10, 5, 0, 7, 1, b"x")
    )


def test_a_request_with_an_object_has_its_uuid_in_front_of_the_stub() -> None:
    guid = GUID.parse("00112233-4455-6677-8899-aabbccddeeff")
    data = header(0, struct.pack("<IHH", 0, 0, 3) + bytes(guid) + b"stub", flags=0x83)
    pdu = decode_pdu(data)
    assert isinstance(pdu, Request)
    assert (pdu.object_uuid, pdu.stub) == (guid, b"stub")
    assert encode_pdu(pdu) == data


def test_big_endian_integers_and_uuids_follow_the_data_representation() -> None:
    guid = GUID.parse("00112233-4455-6677-8899-aabbccddeeff")
    wire = bytes.fromhex("00112233445566778899aabbccddeeff")
    data = big_header(0, struct.pack(">IHH", 8, 2, 0x102) + wire + b"st", flags=0x83)
    pdu = decode_pdu(data)
    assert isinstance(pdu, Request)
    assert (pdu.big_endian, pdu.context_id, pdu.opnum, pdu.object_uuid) == (True, 2, 0x102, guid)
    assert encode_pdu(pdu) == data
    element = struct.pack(">HBB", 5, 1, 0) + wire + bytes((0, 3, 0, 2)) + wire + bytes((0, 0, 0, 1))
    bind = decode_pdu(big_header(11, struct.pack(">HHIBBH", 1, 2, 3, 1, 0, 0) + element))
    assert isinstance(bind, Bind)
    assert bind.contexts == (ContextElement(5, SyntaxId(guid, 2, 3), (SyntaxId(guid, 1, 0),)),)


def test_a_fault_gives_status_and_what_follows() -> None:
    data = header(3, struct.pack("<IHBBI", 32, 1, 0, 1, 0x1C010003) + b"\1\2\3\4" + b"extended", flags=0x23)
    assert decode_pdu(data) == Fault(
        pfc_flags=0x23,
        call_id=7,
        alloc_hint=32,
        context_id=1,
        reserved=1,
        status=0x1C010003,
        reserved2=b"\1\2\3\4",
        stub=b"extended",
    )
    short = header(3, struct.pack("<IHBBI", 0, 0, 0, 0, 5))
    assert encode_pdu(decode_pdu(short)) == short


def test_a_bind_nak_may_end_behind_its_reason_or_carry_a_signature() -> None:
    assert decode_pdu(header(13, struct.pack("<H", 4))) == BindNak(call_id=7, reject_reason=4, versions=None)
    data = header(13, struct.pack("<HBBBBB", 8, 2, 5, 0, 5, 1) + b"signature")
    assert decode_pdu(data) == BindNak(
        call_id=7, reject_reason=8, versions=((5, 0), (5, 1)), rest=b"signature"
    )
    assert encode_pdu(decode_pdu(data)) == data


@pytest.mark.parametrize(
    ("ptype", "kind"), [(16, Auth3), (17, Shutdown), (18, CoCancel), (19, Orphaned), (20, UnknownPdu)]
)
def test_pdus_without_a_body_keep_what_stands_there(ptype: int, kind: type) -> None:
    data = header(ptype, b"pad!", auth=bytes.fromhex("0a06000001000000") + b"token")
    pdu = decode_pdu(data)
    assert type(pdu) is kind
    assert pdu.ptype == ptype
    assert pdu.sec_trailer == SecTrailer(10, 6, 0, 0, 1, b"token")
    assert encode_pdu(pdu) == data


def test_alter_context_and_its_answer_have_the_layout_of_a_bind() -> None:
    alter = BIND[:2] + b"\x0e" + BIND[3:]
    answer = BIND_ACK[:2] + b"\x0f" + BIND_ACK[3:]
    assert type(decode_pdu(alter)) is AlterContext
    assert type(decode_pdu(answer)) is AlterContextResp
    assert encode_pdu(decode_pdu(alter)) + encode_pdu(decode_pdu(answer)) == alter + answer


def test_what_follows_frag_length_is_not_of_the_pdu() -> None:
    data = header(17, b"")
    assert encode_pdu(decode_pdu(data + b"more")) == data


@pytest.mark.parametrize(
    ("data", "code", "path"),
    [
        (b"\x05\x00", "missing-bytes", "common_header"),
        (b"\x04" + BIND[1:], "rpc-version", "rpc_vers"),
        (BIND[:8] + b"\x0f\x00" + BIND[10:], "frag-length", "frag_length"),
        (BIND[:-1], "missing-bytes", "frag_length"),
        (BIND[:10] + b"\x64\x00" + BIND[12:], "auth-length", "auth_length"),
        (header(0, b"1234567"), "missing-bytes", "request"),
        (header(0, b"12345678" + bytes(15), flags=0x80), "missing-bytes", "object_uuid"),
        (header(2, b""), "missing-bytes", "response"),
        (header(3, bytes(11)), "missing-bytes", "fault"),
        (header(11, bytes(8)), "missing-bytes", "p_context_elem"),
        (header(11, bytes(8) + b"\xff\0\0\0"), "missing-bytes", "p_context_elem[0]"),
        (
            header(11, bytes(8) + b"\x01\0\0\0" + b"\0\0\xff\0" + bytes(40)),
            "missing-bytes",
            "p_context_elem[0].transfer_syntaxes",
        ),
        (header(12, bytes(8) + b"\xff\xff"), "missing-bytes", "sec_addr"),
        (header(12, bytes(8) + bytes(2)), "missing-bytes", "p_result_list"),
        (header(12, bytes(12) + b"\xff\0\0\0" + bytes(24)), "missing-bytes", "p_result_list[1]"),
        (header(13, b"\0"), "missing-bytes", "provider_reject_reason"),
        (header(13, b"\0\0\x02\0\0"), "missing-bytes", "versions"),
    ],
)
def test_lengths_that_lie_are_told_with_their_place(data: bytes, code: str, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_pdu(data)
    assert (caught.value.code, caught.value.path) == (code, path)
    assert caught.value.spec is not None


@pytest.mark.parametrize(
    "pdu",
    [
        Request(object_uuid=GUID(bytes(16))),
        Request(pfc_flags=0x83),
        Request(opnum=0x10000),
        Request(stub=bytes(65536)),
        Request(packed_drep=b"\x10"),
        Response(sec_trailer=SecTrailer(10, 6)),
        Fault(reserved2=b"", stub=b"x"),
        BindAck(sec_addr=b"1", sec_addr_padding=b""),
        BindNak(versions=None, rest=b"x"),
        BindNak(versions=((5, 256),)),
        Bind(contexts=(ContextElement(0, SyntaxId(GUID(bytes(16)), 0x10000, 0), ()),)),
        Bind(contexts=(ContextElement(0, NDR, ()),) * 256),
        UnknownPdu(ptype=11),
    ],
)
def test_a_value_that_no_bytes_can_say_is_refused(pdu: Request) -> None:
    with pytest.raises(EncodeError):
        encode_pdu(pdu)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_pdu_that_encodes_to_them_or_a_decode_error(data: bytes) -> None:
    try:
        pdu = decode_pdu(data)
    except DecodeError:
        return
    assert data.startswith(encode_pdu(pdu))


@given(st.binary(max_size=150), st.integers(0, 21), st.integers(0, 255), st.integers(0, 40), st.booleans())
def test_any_body_behind_a_right_header_survives_or_is_refused(
    body: bytes, ptype: int, flags: int, auth_length: int, big: bool
) -> None:
    order, drep = (">", b"\0abc") if big else ("<", b"\x10\0\0\0")
    size = 16 + len(body)
    data = struct.pack(order + "BBBB4sHHI", 5, 1, ptype, flags, drep, size, auth_length, 1) + body
    try:
        pdu = decode_pdu(data)
    except DecodeError:
        return
    assert encode_pdu(pdu) == data


def test_headers_that_real_stacks_send_are_credible() -> None:
    for data in (
        BIND,
        BIND_ACK,
        header(0, bytes(8)),
        header(2, bytes(8), flags=1),
        header(3, bytes(16), flags=0x23),
        header(13, bytes(5)),
        header(16, bytes(4), auth=bytes(8) + b"token"),
        header(17, b""),
        header(18, b""),
        header(19, b"", auth=bytes(8) + b"token"),
        big_header(0, bytes(24), flags=0x83),
    ):
        assert is_credible(b"??" + data, 2)


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (0, 4),
        (1, 2),
        (2, 1),
        (2, 20),
        (4, 0x20),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 71),
        (10, 40),
    ],
)
def test_one_wrong_byte_takes_the_credit_of_a_bind(at: int, value: int) -> None:
    assert not is_credible(BIND[:at] + bytes((value,)) + BIND[at + 1 :])


def test_fewer_bytes_than_a_common_header_are_not_credible() -> None:
    assert not is_credible(BIND[:15])
    assert is_credible(BIND[:16])


def test_the_first_credible_header_is_found_behind_one_that_is_not() -> None:
    liar = header(0, b"")
    assert find_credible(b"\x05" + liar + liar + BIND) == 33
    assert find_credible(liar + BIND[:15]) == -1


ORACLE = """
from uuid import UUID
from scapy.layers.dcerpc import *
def show(pdu):
    print(bytes(pdu).hex())
syntax = DceRpc5TransferSyntax(if_uuid=UUID("8a885d04-1ceb-11c9-9fe8-08002b104860"), if_version=2)
interface = DceRpc5AbstractSyntax(if_uuid=UUID("1a9134dd-7b39-45ba-ad88-44d01ca47f28"), if_version=1)
show(DceRpc5(call_id=3) / DceRpc5Bind(context_elem=[
    DceRpc5Context(cont_id=4, abstract_syntax=interface, transfer_syntaxes=[syntax])]))
show(DceRpc5(call_id=3) / DceRpc5BindAck(sec_addr=DceRpc5PortAny(port_spec=b"2103"), results=[
    DceRpc5Result(result=0, reason=0, transfer_syntax=syntax)]))
show(DceRpc5(call_id=9) / DceRpc5Request(cont_id=4, opnum=7) / conf.raw_layer(b"stub"))
"""


@pytest.mark.slow
def test_pdus_that_scapy_builds_decode_to_what_it_was_told() -> None:
    importlib.import_module("scapy")
    shown = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ORACLE], capture_output=True, text=True, check=True
    ).stdout
    bind, ack, request = (decode_pdu(bytes.fromhex(line)) for line in shown.split())
    assert isinstance(bind, Bind)
    assert bind.contexts == (ContextElement(4, REMOTE_READ, (NDR,)),)
    assert isinstance(ack, BindAck)
    assert ack.sec_addr.rstrip(b"\0") == b"2103"
    assert [(one.result, one.transfer_syntax) for one in ack.results] == [(0, NDR)]
    assert isinstance(request, Request)
    assert (request.call_id, request.context_id, request.opnum) == (9, 4, 7)
    assert request.stub == b"stub"
