"""What an audit says of hops, for the rules about routing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msmq_wire.findings.finding import Evidence
from msmq_wire.findings.rule import Check, Context, Seen
from msmq_wire.routing.hop import DeviationKind, ObservedHop

_HALF_KNOWN = "who {} is not known, only its address"


def deviating(kind: DeviationKind) -> Check:
    """A check that sees the deviations of a kind, with the packet as evidence."""
    return partial(_seen, kind)


def _seen(kind: DeviationKind, hop: ObservedHop, context: Context) -> Iterator[Seen]:
    sighting = hop.sighting
    ends = (("sent it", hop.source), ("took it", hop.target))
    caveats = [_HALF_KNOWN.format(what) for what, identifier in ends if identifier is None]
    for one in hop.deviations:
        if one.kind is kind:
            yield Seen(
                message=one.message,
                evidence=(
                    Evidence(
                        capture=sighting.capture,
                        record=sighting.record,
                        frames=sighting.frames,
                        time=sighting.time,
                        src=sighting.src,
                        dst=sighting.dst,
                    ),
                ),
                caveats=tuple(caveats),
            )
