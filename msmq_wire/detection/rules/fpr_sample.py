"""FPR-SAMPLE: a packet has the values of the published example."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.fingerprints import SAMPLE_CLIENT, SAMPLE_SERVER, Fingerprint, fingerprinted
from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import is_from_server
from msmq_wire.detection.suricata_signature import ON_WIRE, TO_SERVER, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.headers.base_header import SIGNATURE
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.user_message import UserMessage

_ESTABLISH = "establish_connection_header"
_TIME_STAMP = 0x1DDECA4E
_MESSAGE_ID = 2286
_QUEUE = "OS:a04bm02\\q\0".encode("utf-16-le")
_LABEL = "mqsender label\0".encode("utf-16-le")
_SID = bytes.fromhex("010500000000000515000000") + b"".join(
    number.to_bytes(4, "little") for number in (3181267629, 1039849782, 3663111779, 1000)
)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if record.type == "user_message":
        if record.error is not None or _is_like(record.packet):
            yield from fingerprinted(record, _of_message(record))
    elif not is_from_server(record):
        # A response repeats what was asked.
        yield from fingerprinted(record, _of_request(record), "medium")


def _is_like(packet: UserMessage) -> bool:
    """Whether a whole message has one of these marks; any two marks include one of them."""
    header, properties = packet.user_header, packet.message_properties_header
    return (
        header.source_queue_manager == SAMPLE_CLIENT
        or header.sent_time == SIGNATURE
        or header.message_id == _MESSAGE_ID
        or (properties is not None and properties.label == _LABEL)
        or getattr(header.destination_queue, "direct_format_name", None) == _QUEUE
    )


def _of_request(record: Record) -> Iterator[Fingerprint]:
    header = reached(record.packet, _ESTABLISH)
    if reached(header, "client_guid") == SAMPLE_CLIENT:
        yield f"{_ESTABLISH}.client_guid", "ClientGuid of the example"
    if reached(header, "server_guid") == SAMPLE_SERVER:
        yield f"{_ESTABLISH}.server_guid", "ServerGuid of the example"
    if reached(header, "time_stamp") == _TIME_STAMP:
        yield f"{_ESTABLISH}.time_stamp", "TimeStamp of the example"


def _of_message(record: Record) -> Iterator[Fingerprint]:
    header = reached(record.packet, "user_header")
    if reached(header, "source_queue_manager") == SAMPLE_CLIENT:
        yield "user_header.source_queue_manager", "SourceQueueManager of the example"
    if reached(header, "sent_time") == SIGNATURE:
        yield "user_header.sent_time", "SentTime 0x524F494C"
    if reached(header, "message_id") == _MESSAGE_ID:
        yield "user_header.message_id", f"MessageID {_MESSAGE_ID}"
    if reached(header, "destination_queue.direct_format_name") == _QUEUE:
        yield "user_header.destination_queue.direct_format_name", "the queue OS:a04bm02\\q"
    if reached(record.packet, "message_properties_header.label") == _LABEL:
        yield "message_properties_header.label", "the label 'mqsender label'"
    if reached(record.packet, "security_header.security_data.security_id") == _SID:
        yield "security_header.security_data.security_id", "the SID of the example"


RULE = Rule(
    id="FPR-SAMPLE",
    title="A packet with values of the example in the specification",
    severity="high",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQQB", "4.1.3"), SpecRef("MS-MQQB", "4.1.7")),
    meaning="These values come from the frames that the specification prints, and belong to no host in use. "
    "Templates of scanners, proofs of concept and fuzzers were made by copying those frames.",
    action="Find out what the sender is. See what else it sent, and whether the receiver answered.",
    harmless="A test or a lesson that uses the frames of the specification.",
    behind=("FPR-NUCLEI",),
    explains=("FLG-ACK-NOAQ", "FRM-PAD-DIRTY", "TIM-MAGIC", "CNT-CLEAR", "RPL-CONTENT"),
    explains_later=("SES-NAKED", "SES-GUID", "FPR-NUCLEI"),
    types=("establish_connection", "user_message"),
    when=(
        # Any two of its marks in a message have one of these.
        this.user_header.source_queue_manager == SAMPLE_CLIENT,
        this.user_header.sent_time == SIGNATURE,
        this.user_header.message_id == _MESSAGE_ID,
        this.message_properties_header.label == _LABEL,
        CodedCondition.of(_QUEUE.__eq__, "user_header.destination_queue.direct_format_name"),
        this.establish_connection_header.client_guid == SAMPLE_CLIENT,
        this.establish_connection_header.server_guid == SAMPLE_SERVER,
        this.establish_connection_header.time_stamp == _TIME_STAMP,
    ),
    check=_check,
    suricata=(
        SuricataSignature(
            number=850,
            on=TO_SERVER,
            packet=EstablishConnection,
            match=(
                this.establish_connection_header.client_guid == SAMPLE_CLIENT,
                this.establish_connection_header.server_guid == SAMPLE_SERVER,
            ),
            says="the published request, as templates for scanners send it",
            severity="medium",
        ),
        SuricataSignature(
            number=851,
            on=ON_WIRE,
            packet=UserMessage,
            match=(
                this.user_header.source_queue_manager == SAMPLE_CLIENT,
                this.user_header.sent_time == SIGNATURE,
            ),
        ),
        SuricataSignature(
            number=852,
            on=ON_WIRE,
            packet=UserMessage,
            match=(
                this.user_header.source_queue_manager == SAMPLE_CLIENT,
                this.user_header.message_id == _MESSAGE_ID,
            ),
        ),
        SuricataSignature(
            number=853,
            on=ON_WIRE,
            packet=UserMessage,
            match=(_LABEL, _QUEUE),
        ),
    ),
)
