"""One cause, one finding: what a rule sees in a record where another rule says more of the same bytes.

The rule kept here: nothing that was seen is dropped. It becomes a note that names the rule which tells of it,
and only where that rule takes it at least as seriously.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from msmq_wire.findings.finding import SEVERITIES
from msmq_wire.findings.rule import Rule, Seen

__all__ = ["explained"]

_Sighting = tuple[Rule, Seen]


def explained(sightings: Sequence[_Sighting]) -> Iterator[_Sighting]:
    """All that was seen in one record, in the same order; what another rule explains as a note."""
    for rule, seen in sightings:
        by = next((one.id for one, told in sightings if _explains((one, told), (rule, seen))), None)
        if by is None:
            yield rule, seen
        else:
            caveat = f"{by} tells of the same bytes"
            yield rule, msgspec.structs.replace(seen, severity="info", caveats=(*seen.caveats, caveat))


def _explains(one: _Sighting, other: _Sighting) -> bool:
    (rule, told), (general, seen) = one, other
    if rule.id not in general.behind or _rank(one) < _rank(other):
        return False
    paths = {*told.tells, *(place.path for place in told.evidence)}
    return all(place.path in paths for place in seen.evidence)


def _rank(one: _Sighting) -> int:
    rule, seen = one
    return SEVERITIES.index(seen.severity or rule.severity)
