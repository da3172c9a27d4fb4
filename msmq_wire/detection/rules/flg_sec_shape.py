"""FLG-SEC-SHAPE: bytes like a SecurityHeader where none is announced."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.packet_fields import USER_PACKETS, field
from msmq_wire.detection.rule import Context, Detection, Rule, evidence_of
from msmq_wire.engines.reference import layout
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import size_, this
from msmq_wire.wire.types.enumerations import SenderIdType

_SH = 0x80000
_SID = 16
_REVISION = 1
_NT_AUTHORITY = bytes((0, 0, 0, 0, 0, 5))


def _is_security_header(data: bytes) -> bool:
    """Whether bytes could be a SecurityHeader: ST is 1, and a SID of the stated size follows the sizes."""
    size = int.from_bytes(data[2:4], "little")
    return (
        data[_SID + 2 : _SID + 8] == _NT_AUTHORITY
        and data[_SID] == _REVISION
        and data[0] & 0xF == SenderIdType.SID
        and size == 8 + 4 * data[_SID + 1]
    )


def _may_be_one(correlation: bytes) -> bool:
    """Whether a CorrelationID could be the SID of a SecurityHeader."""
    return correlation[_SID - 4] == _REVISION and correlation[_SID - 2 :] == _NT_AUTHORITY


def _misread(record: Record) -> bytes:
    """The first 24 bytes of MessagePropertiesHeader, which may be a SecurityHeader."""
    correlation: bytes | None = field(record, "message_properties_header.correlation_id")
    if correlation is None or correlation[_SID - 4] != _REVISION:
        return b""
    header = record.packet.message_properties_header
    message_class: int = header.message_class
    return bytes((header.flags, header.label_length)) + message_class.to_bytes(2, "little") + correlation


_SAID = {"undeclared": "what no header announces"}
"""Names of paths that the specification does not have."""


def _check(record: Record, context: Context) -> Iterator[Detection]:
    flags = field(record, "user_header.flags")
    if flags is None or flags & _SH:
        return
    places = (
        ("message_properties_header", "message_properties_header.flags", _misread(record)),
        ("undeclared", "undeclared", field(record, "undeclared")),
    )
    for path, first, data in places:
        if data and _is_security_header(data):
            # A packet that is read wrongly is cut before its end: only whole fields have a place.
            offset = layout(record.packet, wanted=(first,))[first].offset
            yield Detection(
                message=f"SH is 0, but {_SAID.get(path, path)} begins like a SecurityHeader with a SID",
                evidence=(evidence_of(record, path, offset, len(data), data),),
            )


RULE = Rule(
    id="FLG-SEC-SHAPE",
    title="A SecurityHeader that is not announced",
    severity="medium",
    confidence="guess",
    spec=(SpecRef("MS-MQMQ", "2.2.20.6"), SpecRef("MS-MQMQ", "2.2.19.2")),
    meaning="The bytes have the sizes and the SID of a SecurityHeader, but SH does not announce one. "
    "Receivers read the bytes as something else. A published hostile packet has this form.",
    action="Look at the packet: it was changed on the way, or made by hand.",
    harmless="Application data that has this form by chance.",
    types=USER_PACKETS,
    when=(
        (this.user_header.flags & _SH == 0, size_(this.undeclared) > 0),
        (
            this.user_header.flags & _SH == 0,
            CodedCondition.of(_may_be_one, "message_properties_header.correlation_id"),
        ),
    ),
    check=_check,
)
