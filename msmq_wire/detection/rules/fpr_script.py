"""FPR-SCRIPT: a message like those of a small public detection script."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from msmq_wire.detection.fingerprints import Fingerprint, fingerprinted
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.suricata_signature import TO_SERVER, SuricataSignature
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.packets.user_message import UserMessage

_PACKET_SIZE = 233
_NAME = "user_header.destination_queue.direct_format_name"
_BODY = "message_properties_header.message_body"
_OS, _QUEUE = "OS:", "\\private$\\queue\0"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    # Without the byte that nothing claims, what is left is a message like others.
    if context.on_wire(record) and len(reached(record.packet, "undeclared") or b"") == 1:
        yield from fingerprinted(record, _marks(record))


def _marks(record: Record) -> Iterator[Fingerprint]:
    yield "undeclared", "1 byte follows the last header"
    if reached(record.packet, "base_header.packet_size") == _PACKET_SIZE:
        yield "base_header.packet_size", f"PacketSize is {_PACKET_SIZE}"
    if _is_address(reached(record.packet, _NAME) or b""):
        yield _NAME, "the queue name has the form OS:<address>\\private$\\queue"
    if (reached(record.packet, _BODY) or b"").startswith(b"<?xml"):
        yield _BODY, "the body begins with <?xml"


def _is_address(name: bytes) -> bool:
    text = name.decode("utf-16-le", "replace")
    if not text.startswith(_OS) or not text.endswith(_QUEUE):
        return False
    try:
        ipaddress.ip_address(text[len(_OS) : -len(_QUEUE)])
    except ValueError:
        return False
    return True


RULE = Rule(
    id="FPR-SCRIPT",
    title="A packet like that of a small detection script",
    severity="medium",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQMQ", "2.2.19.1"), SpecRef("MS-MQMQ", "2.2.19.3")),
    meaning="A small public script sends one prepared message to a port to see whether MSMQ accepts it. Its "
    "PacketSize is one byte too large.",
    action="Find out who sent it. Check whether a session was opened first: the script opens none.",
    harmless="A hand-made client with the same mistake.",
    explains=("FRM-PAD-LEN", "TIM-EXPIRED", "TIM-SKEW", "CNT-ALG", "CNT-CLEAR", "CNT-WEAK", "RPL-CONTENT"),
    explains_later=("FRM-SIZE-STREAM", "SES-NAKED"),
    types=("user_message",),
    codes=("user_message.undeclared",),
    check=_check,
    suricata=(
        SuricataSignature(
            number=865,
            on=TO_SERVER,
            packet=UserMessage,
            match=(
                this.base_header.packet_size == _PACKET_SIZE,
                _OS.encode("utf-16-le"),
                _QUEUE.encode("utf-16-le"),
            ),
        ),
    ),
)
