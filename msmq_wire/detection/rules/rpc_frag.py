"""RPC-FRAG: fragments or calls that do not match each other."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_NO_FIRST_FRAGMENT = "the first fragment was not captured"
_NO_REQUEST = "the request was not captured"
_NO_PDU = "no-pdu"
_VERSION, _HEADER = 5, 16


def _short_length_text(data: bytes) -> str:
    """Text about a frag_length that is less than the PDU header; empty if the bytes do not begin a PDU."""
    if len(data) < _HEADER or data[0] != _VERSION or data[4] & 0xEF:
        return ""
    length = int.from_bytes(data[8:10], "little" if data[4] else "big")
    return (
        f": they begin like one whose frag_length is {length}, less than its header"
        if length < _HEADER
        else ""
    )


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if record.type == "gap":
        if record.missing == 0 and record.reason == _NO_PDU:
            yield Detection(
                message=f"{record.length} bytes between PDUs belong to no PDU"
                f"{_short_length_text(record.remainder)}",
                evidence=(evidence_of(record, "", record.offset, record.length, record.remainder),),
            )
        return
    note = record.packet.note
    if not note:
        return
    if _NO_FIRST_FRAGMENT in note:
        yield Detection(
            message=f"call {record.packet.call_id} has a fragment without a first fragment before it",
            evidence=(evidence_of(record, "call_id"),),
        )
    elif _NO_REQUEST in note:
        yield Detection(
            message=f"call {record.packet.call_id} is answered without a request, or a second time",
            evidence=(evidence_of(record, "call_id"),),
        )


RULE = Rule(
    id="RPC-FRAG",
    title="RPC fragments that do not fit together",
    severity="medium",
    spec=(SpecRef("MS-RPCE", "2.2.2.6"),),
    meaning="No byte of the connection is missing. Still a fragment has no first fragment, an answer has no "
    "request, or a length leads to bytes that are not a PDU.",
    action="Look at the side that sent it: the RPC runtime of Windows does not do this.",
    harmless="A capture that lost frames without a trace, or a middlebox that changes the stream.",
    withheld=True,
    types=("rpc_call", "gap"),
    needs=("opening", "before"),
    check=_check,
    without_suricata="it compares the fragments of a call",
)
