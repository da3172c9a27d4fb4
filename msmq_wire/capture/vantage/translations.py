"""Connections that have other addresses at one point than at another (NAT): `find_translations`.

The rule kept here: a connection is called what the first point calls it that captured it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.capture.vantage.points import AddressTranslation
from msmq_wire.capture.vantage.segment_sample import SegmentSample
from msmq_wire.capture.vantage.shared_segments import SharedSegments
from msmq_wire.reassembly.tcp_events import Endpoints

MOST = 1 << 16
"""Directions of connections whose names differ between two points, at most: those with most segments."""

_Node: TypeAlias = tuple[int, Endpoints]


def find_translations(
    points: Sequence[int],
    samples: Mapping[int, SegmentSample],
    shared: Mapping[tuple[int, int], SharedSegments],
) -> tuple[AddressTranslation, ...]:
    """Return what the points call connections other than the first one of them.

    ``points`` are the numbers of their captures, the first point first; ``shared`` is what pairs of captures
    have in common. Of several names for one connection that with most segments counts.
    """
    number_of = {capture: number for number, capture in enumerate(points)}
    pairs = [(number_of[one], number_of[two], common) for (one, two), common in shared.items()]
    renamed: list[tuple[int, _Node, _Node]] = []
    for one, two, common in pairs:
        for count, here, there in _names(samples[points[one]], samples[points[two]], common, differ=True):
            renamed.append((count, (one, here), (two, there)))
    if not renamed:
        return ()
    known = {node for _, *nodes in renamed for node in nodes}
    near: dict[_Node, list[_Node]] = {}
    # Where a name is the same at both points it is the name, whatever others there are.
    for one, two, common in pairs:
        for _, here, there in _names(samples[points[one]], samples[points[two]], common, differ=False):
            if (one, here) in known or (two, there) in known:
                _connect(near, (one, here), (two, there))
    for _, one_node, two_node in sorted(renamed, key=lambda entry: -entry[0]):
        _connect(near, one_node, two_node)
    found = _named(near)
    for (point, there), here in [*found.items()]:
        found.setdefault((point, turned(there)), turned(here))
    listed = [
        AddressTranslation(point, there, here) for (point, there), here in found.items() if there != here
    ]
    return tuple(sorted(listed, key=lambda one: (one.point, one.here, one.there)))


def turned(ends: Endpoints) -> Endpoints:
    """The other direction of a connection."""
    return ends[2], ends[3], ends[0], ends[1]


def _names(
    here: SegmentSample, there: SegmentSample, common: SharedSegments, *, differ: bool
) -> Iterator[tuple[int, Endpoints, Endpoints]]:
    """What both captures call directions, with the number of segments: other names, or the same."""
    flow_here, flow_there = here.flow()[common.here], there.flow()[common.there]
    rows = np.flatnonzero((flow_here != flow_there) == differ)
    both: Array = flow_here[rows] * np.uint64(3) + flow_there[rows]
    _, first, counts = np.unique(both, return_index=True, return_counts=True)
    for place in np.argsort(-counts, kind="stable")[:MOST].tolist():
        row = rows[first[place]]
        yield int(counts[place]), here.ends(common.here[row]), there.ends(common.there[row])


def _connect(near: dict[_Node, list[_Node]], one: _Node, two: _Node) -> None:
    near.setdefault(one, []).append(two)
    near.setdefault(two, []).append(one)


def _named(near: Mapping[_Node, list[_Node]]) -> dict[_Node, Endpoints]:
    """What each name stands for: that of the first point that has the connection."""
    found: dict[_Node, Endpoints] = {}
    alone: list[_Node] = []
    for node in sorted(near):
        before = next((other for other in near[node] if other[0] < node[0]), None)
        found[node] = node[1] if before is None else found[before]
        if before is None and node[0]:
            alone.append(node)
    for node in alone:
        # Two points may have had a connection one after the other, and a third one all the time.
        found[node] = next((found[other] for other in near[node] if found[other] != other[1]), node[1])
    return found
