"""LEN-MQF: the lists of MultiQueueFormatHeader contradict their own sizes."""

from __future__ import annotations

from msmq_wire.detection.false_lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.detection.finding import Severity
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly

_COUNTS = ("mqf_address_header.element-count", "mqf_address_header.undecoded")
_CODES = (
    "mqf_address_header.header-size",
    "mqf_address_header.header-size-exact",
    "mqf_address_header.header-id",
    "multi_queue_format_header.destination-id",
    "mqf_signature_header.size-wrap",
    *_COUNTS,
)
_MQF = "multi_queue_format_header"
_MEASURES = {
    f"{_MQF}.signature.signature": f"{_MQF}.signature.size",
    **{
        f"{_MQF}.{part}.{field}": f"{_MQF}.{part}.{size}"
        for part in ("destination", "administration", "response")
        for field, size in (("undecoded", "header_size"), ("padding", "header_size"), ("", "element_count"))
    },
}


def _explain(record: Record, anomaly: Anomaly) -> tuple[str, Severity | None]:
    if anomaly.code not in _COUNTS:
        return anomaly.message, None
    header = reached(record.packet, anomaly.path.rpartition(".")[0])
    count, size = header.element_count, header.header_size
    # An element takes 4 bytes at least; where that many fit, an element of a type not known here may be why.
    level: Severity | None = None if count * 4 > size else "medium"
    read = len(header.format_name_list)
    queues = "1 queue" if read == 1 else f"{read} queues"
    text = f"ElementCount {count} and HeaderSize {size} do not fit the {queues} that can be read"
    return text, level


RULE = Rule(
    id="LEN-MQF",
    title="The lists of queues in MultiQueueFormatHeader are malformed",
    severity="high",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.2.20.1"), SpecRef("MS-MQMQ", "2.2.20.2")),
    meaning="Each list of queues gives its size, its kind (HeaderID) and its number of queues. Numbers that "
    "reach past the list or the packet make a careless receiver read names from elsewhere.",
    action="Find out what the sender is; compare the message with what its application meant to send.",
    harmless="A kind of queue name that is not published (severity medium). The specification does not say "
    "whether HeaderSize includes the padding, so a difference of up to 3 bytes is not judged.",
    prefers=FRAMED,
    types=("user_message", "message_packet"),
    codes=(*_CODES, *UNREADABLE),
    check=lying_lengths(codes=_CODES, measures=_MEASURES, severity="high", explain=_explain),
)
