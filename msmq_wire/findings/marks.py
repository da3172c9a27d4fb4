"""Marks of a known source in one packet: values that are no rule broken, but seldom come together by chance.

The rule kept here: one mark says nothing. A packet with two or more gives one observation, with the place of
each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msmq_wire.findings.finding import Severity
from msmq_wire.findings.lengths import place_of
from msmq_wire.findings.rule import Seen
from msmq_wire.records.record import Record

Mark = tuple[str, str]
"""The path of a field that was decoded, and what it says."""
SAMPLE_CLIENT = bytes.fromhex("d158735550919595 4997b6e611ea26c6")
"""ClientGuid of the published frames: 557358d1-9150-9595-4997-b6e611ea26c6."""
SAMPLE_SERVER = bytes.fromhex("0789cd434c39118f44459078909ea0fc")
"""ServerGuid of the published request: 43cd8907-394c-8f11-4445-9078909ea0fc."""
_ENOUGH = 2


def marked(
    record: Record,
    marks: Iterable[Mark],
    severity: Severity | None = None,
    *,
    tells: tuple[str, ...] = (),
) -> Iterator[Seen]:
    """An observation of all marks of a packet, or none where there is not more than one."""
    found = list(marks)
    if len(found) >= _ENOUGH:
        yield Seen(
            message=f"{len(found)} values match: " + ", ".join(said for _, said in found),
            evidence=tuple(place_of(record, path) for path in dict.fromkeys(path for path, _ in found)),
            severity=severity,
            tells=tells,
        )
