"""Remote read calls over DCE/RPC, as frames: small ones that find nothing, and such as fetch messages."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

import msmq_wire as mw
from benchmarks.traffic import Sender
from benchmarks.workload import HOST, body
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.interfaces.remote_read import (
    EndReceiveRequest,
    OpenQueueRequest,
    OpenQueueResponse,
    StartReceiveRequest,
    StartReceiveResponse,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.ndr import NDR, StubValue, encode_stub
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.headers.user_header import AddressOverlay
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.types.section_buffer import SectionBuffer
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["METHODS", "call_payloads", "remote_reads", "small_calls"]

_REMOTE_READ = next(one for one in INTERFACES.values() if one.name == "RemoteRead")
METHODS = {method.name: method for method in _REMOTE_READ.methods.values()}
"""The methods of the interface by name."""
_NDR_SYNTAX = bytes.fromhex("045d888aeb1cc9119fe808002b10486002000000")
_FRAGMENT = 4280
_PORT = 2103
_FIRST, _LAST = 1, 2
_REQUEST, _RESPONSE, _BIND, _BIND_ACK = 0, 2, 11, 12
_MESSAGE = 2048
"""Bytes of the body of a fetched message."""


def _pdu(ptype: int, call: int, content: bytes, flags: int = _FIRST | _LAST) -> bytes:
    header = struct.pack("<BBBB4sHHI", 5, 0, ptype, flags, b"\x10\0\0\0", 16 + len(content), 0, call)
    return header + content


def _bind() -> Iterator[tuple[bool, bytes]]:
    """Bind and bind_ack: (from client, PDU)."""
    offered = struct.pack("<HBB", 0, 1, 0) + _REMOTE_READ.uuid + struct.pack("<HH", 1, 0) + _NDR_SYNTAX
    yield True, _pdu(_BIND, 1, struct.pack("<HHIB3x", _FRAGMENT, _FRAGMENT, 0, 1) + offered)
    accepted = struct.pack("<H", 5) + b"2103\0" + bytes(1) + struct.pack("<B3xHH", 1, 0, 0) + _NDR_SYNTAX
    yield False, _pdu(_BIND_ACK, 1, struct.pack("<HHI", _FRAGMENT, _FRAGMENT, 7) + accepted)


def _fragments(ptype: int, call: int, stub: bytes, opnum: int) -> bytes:
    """The PDUs of a request or response, one behind the other."""
    limit = _FRAGMENT - 24
    pdus = []
    for at in range(0, max(len(stub), 1), limit):
        part = stub[at : at + limit]
        head = struct.pack("<IHH", len(stub), 0, opnum if ptype == _REQUEST else 0)
        flags = _FIRST * (at == 0) | _LAST * (at + limit >= len(stub))
        pdus.append(_pdu(ptype, call, head + part, flags))
    return b"".join(pdus)


def _exchange(call: int, method: str, asked: Any, answered: Any) -> Iterator[tuple[bool, bytes]]:
    """The request and the response of one call: (from client, PDUs)."""
    declared = METHODS[method]
    for ptype, parameters, value in (
        (_REQUEST, declared.request, asked),
        (_RESPONSE, declared.response, answered),
    ):
        stub = encode_stub(parameters, StubValue(value), NDR)
        yield ptype == _REQUEST, _fragments(ptype, call, stub, declared.opnum)


def call_payloads(calls: int) -> Iterator[tuple[bool, bytes]]:
    """Bind, bind_ack and as many R_StartReceive calls that find no message: (from client, PDU)."""
    yield from _bind()
    empty = StartReceiveResponse(status=0xC00E001B)
    for call in range(2, calls + 2):
        asked = StartReceiveRequest(ul_timeout=1000, dw_request_id=call, dw_max_body_size=4096)
        yield from _exchange(call, "R_StartReceive", asked, empty)


def small_calls(calls: int) -> Iterator[bytes]:
    """Yield the frames of these: one PDU a segment, which is what scapy's session can follow."""
    connection = Sender(port=_PORT)
    yield from connection.open()
    for sent, payload in call_payloads(calls):
        yield connection.say(payload, sent=sent)


@cache
def _fetched_template() -> MessagePacket:
    message = mw.build_message(
        r"DIRECT=OS:server01\private$\orders",
        bytes(_MESSAGE),
        label="order 000000",
        source_queue_manager=HOST,
        message_id=1,
        sent_time=1_700_000_000,
        body_type=0x1011,
    )
    user = msgspec.structs.replace(
        message.user_header, queue_manager_address=AddressOverlay(address=bytes((192, 0, 2, 7, 0, 0, 0, 0)))
    )
    parts: dict[str, Any] = {name: getattr(message, name, None) for name in MessagePacket.__struct_fields__}
    return mw.fit(MessagePacket(**parts | {"user_header": user}))


def _fetched(number: int) -> bytes:
    """A message as it stands in a queue."""
    template = _fetched_template()
    user = msgspec.structs.replace(template.user_header, message_id=number)
    assert template.message_properties_header is not None
    properties = msgspec.structs.replace(
        template.message_properties_header,
        label=WcharText.of(f"order {number % 1_000_000:06}"),
        message_body=body(number, _MESSAGE),
    )
    return mw.encode(
        msgspec.structs.replace(template, user_header=user, message_properties_header=properties)
    )


def remote_reads(count: int, sent: list[bytes]) -> Iterator[bytes]:
    """Yield the frames of a client that opens a queue and fetches so many messages.

    A message takes two calls: R_StartReceive returns it, and R_EndReceive removes it from the queue. ``sent``
    gets what makes a record: the bind, every request and every fetched message.
    """
    connection = Sender(port=_PORT)
    yield from connection.open()
    for asked, pdu in itertools.chain(_bind(), _reads(count, sent)):
        if asked:
            sent.append(pdu)
        yield from connection.send(pdu, sent=asked)
    yield from connection.close()


def _reads(count: int, sent: list[bytes]) -> Iterator[tuple[bool, bytes]]:
    handle = ContextHandle(uuid=mw.GUID(bytes(range(16))))
    queue = QueueFormat(m_qft=3, arm=WcharText.of(r"OS:server01\private$\orders"))
    yield from _exchange(
        2,
        "R_OpenQueue",
        OpenQueueRequest(p_queue_format=queue, dw_access=1),
        OpenQueueResponse(pph_context=handle),
    )
    for number in range(count):
        data = _fetched(number)
        sent.append(data)
        section = SectionBuffer(section_size_alloc=len(data), section_size=len(data), data=data)
        yield from _exchange(
            2 * number + 3,
            "R_StartReceive",
            StartReceiveRequest(
                ph_context=handle, ul_timeout=1000, dw_request_id=number, dw_max_body_size=1 << 20
            ),
            StartReceiveResponse(
                pdw_arrive_time=1_700_000_000,
                p_sequence_id=number,
                pdw_number_of_sections=1,
                pp_packet_sections=(section,),
            ),
        )
        yield from _exchange(
            2 * number + 4,
            "R_EndReceive",
            EndReceiveRequest(ph_context=handle, dw_ack=2, dw_request_id=number),
            StatusResponse(status=0),
        )
