"""LEN-SOAP: a length in SoapHeader reaches past the packet, or wraps when it is doubled."""

from __future__ import annotations

from msmq_wire.findings.lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

_CODES = ("soap_header.header-size-wrap", "soap_header.body-size-wrap")
_MEASURES = {
    "soap_header.header": "soap_header.header_data_length",
    "soap_header.body": "soap_header.body_data_length",
}


RULE = Rule(
    id="LEN-SOAP",
    title="Length in SoapHeader past its packet",
    severity="high",
    spec=(SpecRef("MS-MQMQ", "2.2.20.7"),),
    meaning="HeaderDataLength and BodyDataLength count characters of two bytes. A value that reaches past "
    "the packet, or overflows 32 bits when it is doubled, makes a careless receiver read outside the packet.",
    action="Find out what the sender is, and whether it is meant to send SOAP headers at all.",
    harmless="An application or a bridge that counts bytes instead of characters.",
    prefers=FRAMED,
    types=("user_message", "message_packet"),
    codes=(*_CODES, *UNREADABLE),
    check=lying_lengths(codes=_CODES, measures=_MEASURES, severity="high"),
)
