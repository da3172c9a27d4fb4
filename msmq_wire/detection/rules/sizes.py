"""LEN: sizes that do not match their data, reported by the codes of anomalies alone."""

from __future__ import annotations

from collections.abc import Mapping

from msmq_wire.detection.false_lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.detection.finding import Severity
from msmq_wire.detection.rule import Rule
from msmq_wire.spec import sections

_DATA = "security_header.security_data"


def _rule(
    id_: str,
    severity: Severity,
    title: str,
    spec: str,
    *,
    meaning: str,
    action: str,
    harmless: str,
    types: tuple[str, ...],
    codes: tuple[str, ...],
    measures: Mapping[str, str],
) -> Rule:
    return Rule(
        id=id_,
        title=title,
        severity=severity,
        spec=sections(spec),
        meaning=meaning,
        action=action,
        harmless=harmless,
        prefers=FRAMED,
        types=types,
        codes=(*codes, *(UNREADABLE if measures else ())),
        check=lying_lengths(codes=codes, measures=measures, severity=severity),
    )


RULES = (
    _rule(
        "LEN-SOAP",
        "high",
        "Length in SoapHeader past its packet",
        "MS-MQMQ 2.2.20.7",
        meaning="HeaderDataLength and BodyDataLength count characters of two bytes. A value that "
        "reaches past the packet, or overflows 32 bits when it is doubled, makes a careless receiver "
        "read outside the packet.",
        action="Find out what the sender is, and whether it is meant to send SOAP headers at all.",
        harmless="An application or a bridge that counts bytes instead of characters.",
        types=("user_message", "message_packet"),
        codes=("soap_header.header-size-wrap", "soap_header.body-size-wrap"),
        measures={
            "soap_header.header": "soap_header.header_data_length",
            "soap_header.body": "soap_header.body_data_length",
        },
    ),
    _rule(
        "LEN-MIME",
        "medium",
        "Content-Length of a MIME part differs from its size",
        "MC-MQSRM 2.2.2",
        meaning="Every part of an SRMP message gives its size, and delimiters enclose it. If the two "
        "differ, two readers may take different bodies from the same message.",
        action="Compare what the receiving application got with the parts shown here; find out what the "
        "sender is.",
        harmless="A proxy that rewrites line ends changes the bytes and not the numbers. Hand-made test "
        "requests often have wrong numbers.",
        types=("srmp_message", "srmp_receipt"),
        codes=("mime.content-length", "mime.delimiter-inside"),
        measures={},
    ),
    _rule(
        "LEN-SEC",
        "medium",
        "Sizes in SecurityHeader do not fit",
        "MS-MQMQ 2.2.20.6",
        meaning="Five sizes say how long the sender's identifier, key, signature, certificate and "
        "provider are. They must stay inside the packet and must not all be 0. The identifier must have "
        "the length of a SID or a GUID.",
        action="Do not trust the sender that the packet names; find out what wrote the packet.",
        harmless="A client that is not from Microsoft and fills only a part of the header. Data without "
        "the flag AI is normal.",
        types=("user_message", "message_packet"),
        codes=(
            "security_header.sizes-wrap",
            "security_header.sender-sid",
            "security_header.sender-guid",
            "security_header.security-data",
            "security_header.sender-cert-size",
        ),
        measures={
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
        },
    ),
    _rule(
        "LEN-EXT",
        "medium",
        "Sizes of trailing headers do not fit",
        "MS-MQRR 2.2.5.2",
        meaning="A server adds headers to a message that is read remotely. ExtensionHeader gives the "
        "size of them all, and each header gives its own. If a size is wrong, a reader looks for the "
        "headers in the wrong place.",
        action="Find out what answers remote reads on this host.",
        harmless="A server that is not from Microsoft. Some servers leave headers out, or send Flags of "
        "0 and no headers. This rule does not judge either.",
        types=("message_packet",),
        codes=(
            "extension_header.header-size",
            "message_packet.remaining-headers-size",
            "subqueue_header.header-size",
            "dead_letter_header.header-size",
            "extended_address_header.header-size",
        ),
        measures={
            "extension_header.": "extension_header.header_size",
            "subqueue_header.": "extension_header.remaining_headers_size",
            "dead_letter_header.": "dead_letter_header.header_size",
            "extended_address_header.": "extension_header.remaining_headers_size",
        },
    ),
)
