"""FPR-METASPLOIT: a message like those of the Metasploit scanner for the fixes of April 2023."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.fingerprints import Fingerprint, fingerprinted
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import TO_SERVER, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import NULL_GUID

_RC = 0x1F
_LABEL = "poc\0".encode("utf-16-le")
_BOUNDARY = b"53287"
_NO_SENDER = "@00000000-0000-0000-0000-000000000000"
_IN_DATA = "compound_message_header.data"
_IN_ENVELOPE = "srmp_envelope_header.data"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if context.on_wire(record):
        yield from fingerprinted(record, _marks(record), tells=("user_header.flags",))


def _marks(record: Record) -> Iterator[Fingerprint]:
    # AH itself is no mark: without it the packet is not asked about.
    header = reached(record.packet, "user_header")
    if reached(header, "source_queue_manager") == NULL_GUID:
        yield "user_header.source_queue_manager", "SourceQueueManager is zero"
    if reached(header, "message_id") == 1 and (reached(header, "flags") or 0) & _RC == 1:
        yield "user_header.message_id", "MessageID and RC are 1"
    if reached(record.packet, "message_properties_header.label") == _LABEL:
        yield "message_properties_header.label", "the label is 'poc'"
    data = reached(record.packet, _IN_DATA) or b""
    if _BOUNDARY in data:
        yield _IN_DATA, "the MIME boundary has the number 53287"
    if _NO_SENDER.encode() in data:
        yield _IN_DATA, "the GUID in id is zero"
    elif _NO_SENDER.encode("utf-16-le") in (reached(record.packet, _IN_ENVELOPE) or b""):
        yield _IN_ENVELOPE, "the GUID in id is zero"


_FLAGS = this.user_header.flags
_AH = 1 << 25


RULE = Rule(
    id="FPR-METASPLOIT",
    title="A packet like the MSMQ check of Metasploit",
    severity="high",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.2.19.2"), SpecRef("MS-MQRR", "2.2.5.1.2")),
    meaning="A public module of Metasploit sends two messages like this one, without a session, and tells "
    "from the answers whether the host has the fixes of April 2023. AH is set: no queue manager sets it in "
    "a packet that it sends.",
    action="Find out who sent it and whether that was agreed. See whether LEN-ENV reports the same packet, "
    "and how the receiver closed the connection.",
    harmless="Your own scan. The check is made so that it does no damage.",
    explains=(
        "FLG-AH-WIRE",
        "FLG-BASE-RSV",
        "FLG-RC",
        "FRM-LEFTOVER",
        "FRM-PAD-DIRTY",
        "TIM-EXPIRED",
        "TIM-SKEW",
        "CNT-CLEAR",
        "SRM-ID",
        "SRM-PART",
        "LEN-MIME",
        "RPL-CONTENT",
    ),
    explains_later=("LEN-ENV", "SES-NAKED", "SES-RESEND"),
    types=("user_message",),
    codes=("user_message.over-http",),
    check=_check,
    suricata=(
        SuricataSignature(
            number=860,
            on=TO_SERVER,
            packet=UserMessage,
            match=(
                _FLAGS & _AH != 0,
                _FLAGS & _RC == 1,
                this.user_header.source_queue_manager == NULL_GUID,
                this.user_header.message_id == 1,
            ),
        ),
        SuricataSignature(
            number=861,
            on=TO_SERVER,
            packet=UserMessage,
            match=(_FLAGS & _AH != 0, _LABEL, _BOUNDARY),
        ),
    ),
)
