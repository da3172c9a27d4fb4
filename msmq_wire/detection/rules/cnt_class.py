"""CNT-CLASS: a message class that is neither defined nor a custom class."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_CODES = ("message_properties_header.message-class",)


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for _, place in broken(record, _CODES):
        value = record.packet.message_properties_header.message_class
        yield Detection(
            message=f"MessageClass is {value:#06x}, which has bits outside 0xE1FF", evidence=(place,)
        )


RULE = Rule(
    id="CNT-CLASS",
    title="A message class that is not defined",
    severity="low",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.18.1.6"),),
    meaning="A message class is one of the published values, or a custom one made of the bits of 0xE1FF.",
    action="Ask what the receiving application does with the class; find out what the sender is.",
    harmless="Custom classes that use only the bits of 0xE1FF are legal and not judged. Any other class is "
    "most likely a mistake of an application or bridge.",
    codes=_CODES,
    check=_check,
)
