"""CNT-ALG: an algorithm or privacy level that is not in the tables of the specification."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.packet_fields import reached
from msmq_wire.detection.rule import Context, Detection, Rule, broken
from msmq_wire.records.record import Record
from msmq_wire.spec import SpecRef

_PRIVACY = "message_properties_header.privacy-level"
_CIPHER = "message_properties_header.encryption-algorithm"
_CODES = ("message_properties_header.hash-algorithm", _CIPHER, _PRIVACY)
_EB = 0x20
_OF_NET = (0x8005, 0x800D)
"""MAC and SHA-384: System.Messaging allows them, the table does not list them."""


def _check(record: Record, context: Context) -> Iterator[Detection]:
    for anomaly, place in broken(record, _CODES):
        text = f"{anomaly.path.rpartition('.')[2]} is {reached(record.packet, anomaly.path):#x}"
        if anomaly.code == _CIPHER:
            level = reached(record.packet, "message_properties_header.privacy_level")
            text += f", which PrivacyLevel {level} does not allow"
        encrypted = (reached(record.packet, "security_header.flags") or 0) & _EB
        if anomaly.code == _PRIVACY and not encrypted:
            caveats = ("EB is 0, so nothing is encrypted and the value has no effect",)
            yield Detection(message=text, evidence=(place,), severity="info", caveats=caveats)
        else:
            of_net = reached(record.packet, anomaly.path) in _OF_NET
            yield Detection(message=text, evidence=(place,), confidence="likely" if of_net else None)


RULE = Rule(
    id="CNT-ALG",
    title="An algorithm that the specification does not allow",
    severity="low",
    layer="application",
    spec=(SpecRef("MS-MQMQ", "2.2.19.3"),),
    meaning="The hash, cipher or privacy level of a signed or encrypted message is not in the "
    "specification, or the cipher does not belong to the privacy level. A receiver cannot verify or decrypt "
    "the message.",
    action="Check whether the receiver refused the message with a negative acknowledgment of class 0x8006 "
    "(bad signature), 0x8007 (not decrypted) or 0x800B (no cryptographic provider); find out what the "
    "sender is.",
    harmless="Values in a message that is neither signed nor encrypted are never read.",
    codes=_CODES,
    check=_check,
)
