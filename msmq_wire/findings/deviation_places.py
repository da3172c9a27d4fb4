"""What a replay says of replies, for the rules about the behaviour of servers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msmq_wire.findings.finding import Evidence
from msmq_wire.findings.rule import Check, Context, Seen
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind


def contradicting(kind: ReplayKind) -> Check:
    """A check that sees the deviations of a kind, with the call as evidence."""
    return partial(_seen, kind)


def _seen(kind: ReplayKind, one: ReplayDeviation, context: Context) -> Iterator[Seen]:
    if one.kind is not kind:
        return
    caveats = []
    if not one.certain:
        caveats.append("traffic that was not captured or cannot be read may explain it")
    yield Seen(
        message=f"{one.message}; expected: {one.expected} (rule {one.rule})",
        evidence=(
            Evidence(
                capture=one.capture,
                record=one.record,
                frames=one.frames,
                time=one.time,
                src=one.src,
                dst=one.dst,
                path=one.path,
            ),
        ),
        confidence="certain" if one.certain else "likely",
        caveats=tuple(caveats),
        needs=("before", "in_time"),
    )
