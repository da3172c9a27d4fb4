"""FRM-MUST: a field has a value that the protocol forbids, and no other rule reports it."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import PACKETS
from msmq_wire.detection.rule import Context, Detection, Rule, broken, evidence_of
from msmq_wire.detection.rules import modules, rules_in
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef
from msmq_wire.wire import registry
from msmq_wire.wire.fields import WireStruct

_HARMLESS = (
    "dead_letter_header.padding",
    "extension_header.extended-address",
    "extension_header.subqueue",
    "final_ack.admin-queue-unasked",
    "message_packet.admin-queue-unasked",
    "message_packet.trailers-outside",
    "order_ack.admin-queue-unasked",
    "subqueue_header.subqueue-name-filled",
    "subqueue_header.target-subqueue-name-filled",
    "user_message.admin-queue-unasked",
)
"""Codes of anomalies that ordinary senders and old servers cause."""
_BY_VALUE = (
    "base_header.signature",
    "base_header.version-number",
    "connection_parameters_header.ack-timeout",
    "connection_parameters_header.recoverable-ack-timeout",
    "ping.signature",
    "security_header.encryption-key",
    "user_header.hops",
)
"""Codes that other rules report without declaring them: they check the value, or gaps."""


def _declared(cls: type[WireStruct] = WireStruct) -> Iterator[str]:
    """The codes of all MUSTs of wire structures; the registry has loaded their classes."""
    for child in cls.__subclasses__():
        if child.__module__.startswith(f"{registry.__package__}."):
            yield from (f"{child.stem()}.{must.code}" for must in child.MUSTS)
        yield from _declared(child)


_OTHERS = (rule for name in modules() if f"{__package__}.{name}" != __name__ for rule in rules_in(name))
_ELSEWHERE = {code for rule in _OTHERS for code in rule.codes}
_CODES = tuple(sorted(set(_declared()) - _ELSEWHERE - {*_BY_VALUE, *_HARMLESS}))
"""Codes that no other rule declares."""
_ERRORS = ("missing-bytes", "negative-length", "unknown-selector")


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for codes, note in ((_CODES, False), (_HARMLESS, True)):
        found = dict.fromkeys(f"{anomaly.path}: {anomaly.message}" for anomaly, _ in broken(record, codes))
        if found:
            places = tuple(place for _, place in broken(record, codes))
            yield Detection(message="; ".join(found), evidence=places, severity="info" if note else None)
    error = record.error
    # Bytes that end too early in a packet that was sent are FRM-TRUNC.
    if error is None or error.code not in _ERRORS:
        return
    if error.code != "missing-bytes" or record.type == "message_packet":
        place = evidence_of(record, error.path, error.offset)
        yield Detection(
            message=f"{error.path}: {error.message}",
            evidence=(place,),
            severity="medium",
            needs=("record",),
        )


RULE = Rule(
    id="FRM-MUST",
    title="A field has a value that the protocol forbids",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.19"), SpecRef("MS-MQMQ", "2.2.20"), SpecRef("MS-MQRR", "2.2.5")),
    meaning="The specification says what this field must hold, and it holds something else, or the packet "
    "cannot be read to its end because of it. No special rule covers this field, so what the value may be "
    "used for is not said.",
    action="Show the packet with decode --id, which names the section of the specification. A queue manager "
    "that follows the specification never sends this: find out what the sender is.",
    harmless="A program that builds packets by hand. Some of these values are common: those are only a note "
    "(info).",
    behind=(
        "FLG-QTYPE",
        "LEN-BODY",
        "LEN-CMP",
        "LEN-DIRECT",
        "LEN-ENV",
        "LEN-EXT",
        "LEN-LABEL",
        "LEN-MQF",
        "LEN-SEC",
        "LEN-SOAP",
    ),
    types=PACKETS,
    codes=(*_CODES, *_HARMLESS, *_ERRORS),
    check=_check,
)
