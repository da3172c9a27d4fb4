"""What ends the reading of a record reaches the findings, in every layer."""

from __future__ import annotations

import re
from pathlib import Path

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import RULES, Judge
from tests.effort import in_batches

_ROOT = Path(__file__).resolve().parents[2]
_CAPTURES = sorted((_ROOT / "fixtures").rglob("*.pcap"))
_LOST = {
    "captures/path_srmp_loss_in_body.pcap": "a frame is missing from the capture",
    "LEN-MIME/miss_lost.pcap": "a frame is missing from the capture",
    "captures/com_cut.pcap": "frames were cut when they were captured",
}
"""Captures that lack the bytes: what nobody saw is no finding."""
_BY_RULE = {
    "signature": "FRM-SIG tells of bytes that begin no packet",
    "packet-type": "FRM-MUST tells of the type",
    "past-packet-size": "FRM-OVERLAP tells of every field that reaches past its packet",
    "sections": "RPC-SEC-SEQ and RPC-SEC-SIZE judge the sections of a call",
    "security-descriptor": "RPC-NDR tells of every error of a call",
    "too-deep": "RPC-NDR tells of every error of a call; of a body, see below",
    "too-large": "SRM-HTTP tells of a body that is compressed; of another body, see below",
}
"""Codes that a rule without a list of codes tells."""
_NOT_OF_RECORDS = {
    "capture": "question 19 and the first line of the digest say that a file is damaged",
    "format-name": "who asks for a name in text gets the error",
    "odd-length": "who asks for a name in text gets the error",
    "no-terminator": "who asks for a name in text gets the error",
    "missing-host": "who asks for a name in text gets the error",
    "trailing-bytes": "who asks for a name in text gets the error",
    "wrong-arm": "who asks for a name in text gets the error",
    "rpc-version": "bytes that are no PDU are a gap, which RPC-FRAG tells",
    "frag-length": "bytes that are no PDU are a gap, which RPC-FRAG tells",
    "auth-length": "bytes that are no PDU are a gap, which RPC-FRAG tells",
    "headers": "a body, shown as what was read of it",
    "document-type": "a body, shown as what was read of it",
    "too-many": "a body, shown as what was read of it",
    "length": "a body, shown as what was read of it",
    "untyped": "a body, shown as what was read of it",
    "unknown-class": "a body, shown as what was read of it",
    "ntlm-signature": "a token, which says why nothing was opened",
    "nt-hash": "a secret that somebody gave: the command refuses it",
    "keytab-version": "a secret that somebody gave: the command refuses it",
}
"""Codes that no record has as its error, with who hears of them."""


def _codes() -> list[str]:
    """The codes of errors, as the documents list them; `test_docs` and its like keep that list whole."""
    text = (_ROOT / "docs" / "anomalies.md").read_text(encoding="utf-8")
    table = text.partition("## Codes of errors")[2]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return [code for row in rows for code in re.findall(r"`([a-z.-]+)`", row.split("|")[1])]


def test_every_code_of_an_error_belongs_to_a_rule_or_has_its_reason() -> None:
    ruled = {code for rule in RULES.values() for code in rule.codes}
    codes = _codes()
    assert len(codes) > 30
    unacknowledged = [code for code in codes if code not in ruled | _BY_RULE.keys() | _NOT_OF_RECORDS.keys()]
    assert unacknowledged == []
    assert sorted({*_BY_RULE, *_NOT_OF_RECORDS} - {*codes}) == []
    assert sorted({*_NOT_OF_RECORDS} & ruled) == []


@in_batches(_CAPTURES)
def test_a_record_that_cannot_be_read_is_in_a_finding(path: Path) -> None:
    judging = Judge()
    unread, found = [], []
    for record in read_capture(path, streams=True):
        if record.error is not None:
            unread.append((record.id, record.error.code))
        found += judging.feed(record)
    found += judging.finish()
    reported = {place.record for one in found for place in one.evidence}
    silent = [one for one in unread if one[0] not in reported]
    assert bool(silent) == (f"{path.parent.name}/{path.name}" in _LOST), silent
