"""Fingerprints of a known tool in one packet: values that break no rule but seldom meet by chance.

The rule kept here: one mark proves nothing. A packet with two or more marks gives one detection with all of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msmq_wire.detection.false_lengths import place_of
from msmq_wire.detection.finding import Severity
from msmq_wire.detection.rule import Detection
from msmq_wire.records.record import Record

Fingerprint = tuple[str, str]
"""The path of a decoded field, and the meaning of its value."""
SAMPLE_CLIENT = bytes.fromhex("d158735550919595 4997b6e611ea26c6")
"""ClientGuid of the published frames: 557358d1-9150-9595-4997-b6e611ea26c6."""
SAMPLE_SERVER = bytes.fromhex("0789cd434c39118f44459078909ea0fc")
"""ServerGuid of the published request: 43cd8907-394c-8f11-4445-9078909ea0fc."""
_ENOUGH = 2


def fingerprinted(
    record: Record,
    marks: Iterable[Fingerprint],
    severity: Severity | None = None,
    *,
    tells: tuple[str, ...] = (),
) -> Iterator[Detection]:
    """Yield one detection of all marks of a packet, if there are two or more."""
    found = list(marks)
    if len(found) >= _ENOUGH:
        yield Detection(
            message=f"{len(found)} values match: " + ", ".join(said for _, said in found),
            evidence=tuple(place_of(record, path) for path in dict.fromkeys(path for path, _ in found)),
            severity=severity,
            tells=tells,
        )
