"""CNT-KEYS: one session key in messages of several queue managers."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this

_EB = 0x20
_KEY = "security_header.security_data.encryption_key"


def _check(record: Record, context: Context) -> Iterator[Detection]:
    if not (reached(record.packet, "security_header.flags") or 0) & _EB:
        return
    key = reached(record.packet, _KEY)
    sender = reached(record.packet, "user_header.source_queue_manager")
    if not key or sender is None:
        return
    first = context.first_with_key(bytes(key), str(sender))
    if first != str(sender):
        yield Detection(
            message=f"queue managers {sender} and {first} sent the same session key, byte for byte",
            evidence=(place_of(record, _KEY),),
        )


RULE = Rule(
    id="CNT-KEYS",
    title="One session key from several senders",
    severity="medium",
    layer="application",
    spec=(SpecRef("MS-MQQB", "3.1.7.1.5"), SpecRef("MS-MQQB", "3.1.5.8.3")),
    meaning="A queue manager chooses its session key at random, and encrypts it with random padding, so two "
    "queue managers never send the same bytes. Somebody copied the key out of a message, or the name of the "
    "sender was changed on the way.",
    action="Compare both messages. Somebody who does not know the key can still send a copy of it, together "
    "with the body.",
    harmless="A queue manager that was installed again, or a cloned machine, that kept its cached keys.",
    types=("user_message", "message_packet"),
    when=(this.security_header.flags & _EB != 0,),
    check=_check,
    without_suricata="it compares the session keys of several senders",
)
