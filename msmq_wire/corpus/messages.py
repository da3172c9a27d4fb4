"""Samples of SRMP requests and of PDUs of DCE/RPC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec

from msmq_wire.corpus.sample import (
    Expected,
    ExpectedPlace,
    Sample,
    SampleEdit,
    SampleSequence,
    error_place,
    places,
)
from msmq_wire.errors import DecodeError
from msmq_wire.records.view import view
from msmq_wire.rpc.events import SyntaxId
from msmq_wire.rpc.interfaces import INTERFACES, METHODS
from msmq_wire.rpc.pdu.decoding import decode_pdu
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import (
    BIG_ENDIAN,
    AlterContext,
    AlterContextResp,
    Auth3,
    Bind,
    BindAck,
    BindNak,
    CoCancel,
    ContextElement,
    ContextResult,
    Fault,
    Orphaned,
    Pdu,
    Request,
    Response,
    SecTrailer,
    Shutdown,
)
from msmq_wire.srmp.building import build_srmp
from msmq_wire.srmp.envelope import parse_envelope
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.mime import parse_multipart
from msmq_wire.wire.types.guid import GUID

_ASKED = next(iter(METHODS.values()))
"""The method of the request."""
_QUEUE = "http://example.com/msmq/private$/orders"
_SENDER = UUID("00112233-4455-6677-8899-aabbccddeeff")
_NDR = SyntaxId(GUID.parse("8a885d04-1ceb-11c9-9fe8-08002b104860"), 2, 0)
_SIGNED = SecTrailer(10, 5, 0, 0, 1, bytes(range(16)))

REQUESTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "empty": {"body": b""},
    "labelled": {"label": "Gr\u00fc\u00dfe & <more>"},
    "extended": {"extension": b"\0\1\2--\r\n"},
    "acknowledged": {"admin_queue": _QUEUE, "positive_receipt": True, "negative_receipt": True},
    "delivered": {"admin_queue": _QUEUE, "delivery_receipt": True},
    "stream": {"stream_number": 5, "stream_receipts_to": _QUEUE},
    "stream-next": {"stream_number": 5, "stream_current": 2, "stream_previous": 1},
    "largest": {"priority": 7, "app": 0xFFFFFFFF, "body_type": 0xFFFFFFFF, "durable": True, "trace": True},
    "answered": {"response_queue": _QUEUE, "journal": True, "dead_letter": True},
}
"""Properties of a message besides those of the plain one, by the name of the request."""
_FROM_PLAIN = {
    "content-length-too-small": (b"Content-Length: ", b"Content-Length: 1"),
    "no-blank-line": (b"\r\n\r\n", b"\r\n"),
    "no-header": (b"<path", b"<paht"),
    "no-end": (b"</se:Envelope>", b""),
    "bad-number": (b"<priority>3", b"<priority>x"),
}


def request(name: str) -> bytes:
    """The bytes of a request of `REQUESTS`."""
    properties = {"body": b"order 1", **REQUESTS[name]}
    return build_srmp(_QUEUE, source_qm_guid=_SENDER, message_number=1, sent_at=1_700_000_000, **properties)


def request_samples(name: str) -> Iterator[Sample]:
    """The samples of a request: whole, cut at the end of each line, and with false lines."""
    sequence = SampleSequence("srmp", name, {"as": "http request"})
    data = request(name)
    sequence.sees(data)
    yield sequence.sample(data, _expected_request(data))
    ends = [at + 2 for at in range(len(data)) if data[at : at + 2] == b"\r\n"]
    for size in (0, *ends, len(data) - 1):
        if size < len(data) and sequence.sees(data[:size]):
            cut = data[:size]
            yield sequence.sample(cut, _expected_request(cut), SampleEdit(how="cut", offset=size))
    for old, new in _FROM_PLAIN.values():
        changed = data.replace(old, new, 1)
        if sequence.sees(changed):
            change = SampleEdit(how="set", offset=data.index(old), length=len(old), path=old.decode())
            yield sequence.sample(changed, _expected_request(changed), change)


def _expected_request(data: bytes) -> Expected:
    message, rest = parse_message(data)
    if message is None:
        return Expected(consumed=0, error=ExpectedPlace(code="no-message", path="", offset=0))
    found = parse_multipart(message.header("content-type") or "", message.body)
    xml = found.parts[0].data if found.parts else message.body
    parsed = parse_envelope(xml)
    error = None if message.complete else DecodeError("missing-bytes", "cut", offset=len(data))
    return Expected(
        type="srmp",
        consumed=len(data) - len(rest),
        anomalies=places((*message.problems, *parsed.anomalies)),
        error=error_place(error if error is not None else parsed.error),
        detail={"target": message.target, "parts": [len(part.data) for part in found.parts]},
    )


def pdus() -> dict[str, Pdu]:
    """A PDU of every type, and the same ones signed or big-endian where that matters."""
    interface = SyntaxId(next(iter(INTERFACES)), 1, 0)
    context = ContextElement(0, interface, (_NDR,))
    accepted = ContextResult(0, 0, _NDR)
    found: dict[str, Pdu] = {
        "bind": Bind(max_xmit_frag=5840, max_recv_frag=5840, contexts=(context,)),
        "bind_ack": BindAck(
            max_xmit_frag=5840,
            max_recv_frag=5840,
            sec_addr=b"2103\0",
            sec_addr_padding=b"\0",
            results=(accepted,),
        ),
        "bind_nak": BindNak(reject_reason=4, versions=((5, 0),)),
        "alter_context": AlterContext(max_xmit_frag=5840, contexts=(context, context)),
        "alter_context_resp": AlterContextResp(sec_addr_padding=b"\0\0", results=(accepted,)),
        "auth3": Auth3(sec_trailer=_SIGNED),
        "request": Request(call_id=1, alloc_hint=8, opnum=_ASKED.opnum, stub=bytes(range(8))),
        "response": Response(call_id=1, alloc_hint=5, stub=bytes(range(5))),
        "fault": Fault(call_id=1, status=0x1C010002),
        "shutdown": Shutdown(),
        "co_cancel": CoCancel(call_id=7),
        "orphaned": Orphaned(call_id=7),
    }
    for name in ("request", "response"):
        found[f"{name}-signed"] = msgspec.structs.replace(found[name], sec_trailer=_SIGNED)
        found[f"{name}-big-endian"] = msgspec.structs.replace(found[name], packed_drep=BIG_ENDIAN)
    return found


def pdu_samples(name: str) -> Iterator[Sample]:
    """The samples of a PDU: whole, each byte of its head at the ends of its range, cut at each place."""
    sequence = SampleSequence("pdus", name, {"as": "pdu"})
    data = encode_pdu(pdus()[name])
    sequence.sees(data)
    yield sequence.sample(data, _expected_pdu(data, whole=True))
    for at in range(len(data)):
        for value in (0, 0xFF):
            changed = data[:at] + bytes([value]) + data[at + 1 :]
            if sequence.sees(changed):
                yield sequence.sample(
                    changed, _expected_pdu(changed), SampleEdit(how="set", offset=at, length=1, value=value)
                )
        yield sequence.sample(data[:at], _expected_pdu(data[:at]), SampleEdit(how="cut", offset=at))


def _expected_pdu(data: bytes, *, whole: bool = False) -> Expected:
    try:
        pdu = decode_pdu(data)
    except DecodeError as error:
        return Expected(consumed=0, error=error_place(error))
    length = int.from_bytes(data[8:10], "big" if pdu.big_endian else "little")
    return Expected(type=type(pdu).__name__, consumed=length, detail=view(pdu) if whole else {})
