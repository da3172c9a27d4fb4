"""LEN-EXT: the headers at the end of a stored message have other sizes than they say."""

from __future__ import annotations

from msmq_wire.findings.lengths import FRAMED, UNREADABLE, lying_lengths
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

_CODES = (
    "extension_header.header-size",
    "message_packet.remaining-headers-size",
    "subqueue_header.header-size",
    "dead_letter_header.header-size",
    "extended_address_header.header-size",
)
_MEASURES = {
    "extension_header.": "extension_header.header_size",
    "subqueue_header.": "extension_header.remaining_headers_size",
    "dead_letter_header.": "dead_letter_header.header_size",
    "extended_address_header.": "extension_header.remaining_headers_size",
}


RULE = Rule(
    id="LEN-EXT",
    title="Sizes of trailing headers do not fit",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "2.2.5.2"),),
    meaning="A server adds headers to a message that is read remotely. ExtensionHeader gives the size "
    "of them all, and each header gives its own. If a size is wrong, a reader looks for the headers in the "
    "wrong place.",
    action="Find out what answers remote reads on this host.",
    harmless="A server that is not from Microsoft. Some servers leave headers out, or send Flags of 0 and no "
    "headers. This rule does not judge either.",
    prefers=FRAMED,
    types=("message_packet",),
    codes=(*_CODES, *UNREADABLE),
    check=lying_lengths(codes=_CODES, measures=_MEASURES, severity="medium"),
)
