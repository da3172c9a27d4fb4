"""LEN-DIRECT: a direct queue name with a wrong length or form."""

from __future__ import annotations

from msmq_wire.detection.false_lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.detection.finding import Severity
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Rule
from msmq_wire.errors import FormatNameError
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.names import FormatName, direct
from msmq_wire.wire.types.wchar_text import WcharText

_NAMES = (
    "direct_queue_format_name.direct-format-name",
    "mqf_direct_queue_format_name.direct-format-name",
)
_CODES = ("direct_queue_format_name.count-even", "direct_queue_format_name.terminated", *_NAMES)
_MEASURES = {
    f"user_header.{queue}.{field}": f"user_header.{queue}.count"
    for queue in ("destination_queue", "admin_queue", "response_queue")
    for field in ("direct_format_name", "padding")
}


def _explain(record: Record, anomaly: Anomaly) -> tuple[str, Severity | None]:
    where = anomaly.path.rpartition(".")[0].rpartition(".")[2]
    name = reached(record.packet, anomaly.path)
    if anomaly.code in _NAMES and isinstance(name, WcharText):
        text = direct(name.text)
        try:
            FormatName.parse(text)
        except FormatNameError as error:
            # The evidence quotes the name.
            return f"{where}: {str(error).removesuffix(f': {text[:80]!r} is no format name')}", None
    return f"{where}: {anomaly.message}", None


RULE = Rule(
    id="LEN-DIRECT",
    title="A direct queue name with a wrong length or form",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.18.1.5.2"), SpecRef("MS-MQMQ", "2.1.2")),
    meaning="A direct name is text of whole characters that ends with a NUL. It begins with a known "
    "protocol. Its queue name has at most 124 characters and no control characters. This name breaks one of "
    "these rules.",
    action="Look at the name. A queue manager refuses it, so the message is lost, or was never meant to "
    "arrive.",
    harmless="Names that old versions allowed. A long IPv6 or HTTP address is not judged: the limit of 124 "
    "is for the queue name.",
    prefers=FRAMED,
    types=("user_message", "message_packet", "order_ack", "final_ack"),
    codes=(*_CODES, *UNREADABLE),
    check=lying_lengths(codes=_CODES, measures=_MEASURES, severity="medium", explain=_explain),
)
