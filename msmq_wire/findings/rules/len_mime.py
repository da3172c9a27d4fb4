"""LEN-MIME: the Content-Length of a part of an SRMP message is not what its delimiters enclose."""

from __future__ import annotations

from msmq_wire.findings.lengths import FRAMED, lying_lengths
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

_CODES = ("mime.content-length", "mime.delimiter-inside")


RULE = Rule(
    id="LEN-MIME",
    title="Content-Length of a MIME part differs from its size",
    severity="medium",
    spec=(SpecRef("MC-MQSRM", "2.2.2"),),
    meaning="Every part of an SRMP message gives its size, and delimiters enclose it. If the two differ, "
    "two readers may take different bodies from the same message.",
    action="Compare what the receiving application got with the parts shown here; find out what the sender "
    "is.",
    harmless="A proxy that rewrites line ends changes the bytes and not the numbers. Hand-made test "
    "requests often have wrong numbers.",
    prefers=FRAMED,
    types=("srmp_message", "srmp_receipt"),
    codes=_CODES,
    check=lying_lengths(codes=_CODES, measures={}, severity="medium"),
)
