"""LEN-SEC: the sizes in SecurityHeader reach past the packet or do not fit what they measure."""

from __future__ import annotations

from msmq_wire.findings.lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

_CODES = (
    "security_header.sizes-wrap",
    "security_header.sender-sid",
    "security_header.sender-guid",
    "security_header.security-data",
    "security_header.sender-cert-size",
)
_DATA = "security_header.security_data"
_MEASURES = {
    f"{_DATA}.security_id": "security_header.sender_id_size",
    f"{_DATA}.security_id_padding": "security_header.sender_id_size",
    f"{_DATA}.encryption_key": "security_header.encryption_key_size",
    f"{_DATA}.encryption_key_padding": "security_header.encryption_key_size",
    f"{_DATA}.signature": "security_header.signature_size",
    f"{_DATA}.signature_padding": "security_header.signature_size",
    f"{_DATA}.sender_cert": "security_header.sender_cert_size",
    f"{_DATA}.sender_cert_padding": "security_header.sender_cert_size",
    f"{_DATA}.provider_info": "security_header.provider_info_size",
    f"{_DATA}.provider_info.": "security_header.provider_info_size",
    f"{_DATA}.provider_info_padding": "security_header.provider_info_size",
}


RULE = Rule(
    id="LEN-SEC",
    title="Sizes in SecurityHeader do not fit",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.20.6"),),
    meaning="Five sizes say how long the sender's identifier, key, signature, certificate and provider are. "
    "They must stay inside the packet and must not all be 0. The identifier must have the length of a SID "
    "or a GUID.",
    action="Do not trust the sender that the packet names; find out what wrote the packet.",
    harmless="A client that is not from Microsoft and fills only a part of the header. Data without the "
    "flag AI is normal.",
    prefers=FRAMED,
    types=("user_message", "message_packet"),
    codes=(*_CODES, *UNREADABLE),
    check=lying_lengths(codes=_CODES, measures=_MEASURES, severity="medium"),
)
