"""Connections that have other addresses at one point than at another (NAT): `find_translations`.

The rule kept here: a connection is called what the first point calls it that captured it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.capture.vantage.points import Translation
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
) -> tuple[Translation, ...]:
    """Return what the points call connections other than the first one of them.

    ``points`` are the numbers of their captures, the first point first; ``shared`` is what pairs of captures
    have in common. Of several names for one connection that with most segments counts.
    """
    number_of = {capture: number for number, capture in enumerate(points)}
    renamed: list[tuple[int, _Node, _Node]] = []
    kept: list[tuple[_Node, _Node]] = []
    for differ in (True, False):
        known = {node for _, *nodes in renamed for node in nodes}
        if not differ and not known:
            return ()
        for (one, two), common in shared.items():
            if one not in number_of or two not in number_of:
                continue
            for count, here, there in _names(samples[one], samples[two], common, differ):
                nodes = ((number_of[one], here), (number_of[two], there))
                if differ:
                    renamed.append((count, *nodes))
                elif nodes[0] in known or nodes[1] in known:
                    kept.append(nodes)
    found = _named(_neighbours(renamed, kept))
    listed = {Translation(point, there, here) for (point, there), here in found.items()}
    listed |= {
        Translation(point, turned(there), turned(here))
        for (point, there), here in found.items()
        if (point, turned(there)) not in found
    }
    return tuple(sorted(listed, key=lambda one: (one.point, one.here, one.there)))


def turned(ends: Endpoints) -> Endpoints:
    """The other direction of a connection."""
    return ends[2], ends[3], ends[0], ends[1]


def _names(
    here: SegmentSample, there: SegmentSample, common: SharedSegments, differ: bool
) -> Iterator[tuple[int, Endpoints, Endpoints]]:
    """What both captures call directions, with the number of segments: other names, or the same."""
    flow_here, flow_there = here.flow()[common.here], there.flow()[common.there]
    rows = np.flatnonzero((flow_here != flow_there) == differ)
    if not len(rows):
        return
    both: Array = flow_here[rows] * np.uint64(3) + flow_there[rows]
    _, first, counts = np.unique(both, return_index=True, return_counts=True)
    for place in np.argsort(-counts, kind="stable")[:MOST].tolist():
        row = rows[first[place]]
        yield int(counts[place]), here.ends(common.here[row]), there.ends(common.there[row])


def _neighbours(
    renamed: list[tuple[int, _Node, _Node]], kept: list[tuple[_Node, _Node]]
) -> dict[_Node, list[_Node]]:
    """The names of a connection at other points, those with most segments first; one at each point."""
    near: dict[_Node, list[_Node]] = {}
    taken: set[tuple[_Node, int]] = set()
    pairs = [*kept, *((one, two) for _, one, two in sorted(renamed, key=lambda entry: -entry[0]))]
    for one, two in pairs:
        # The second name stands for one at the first point; the first may have had several in its time.
        if (two, one[0]) in taken:
            continue
        taken.add((two, one[0]))
        near.setdefault(one, []).append(two)
        near.setdefault(two, []).append(one)
    return near


def _named(near: Mapping[_Node, list[_Node]]) -> dict[_Node, Endpoints]:
    """The name at the first point for each other name."""
    found: dict[_Node, Endpoints] = {}
    seen: set[_Node] = set()
    for node in sorted(near):
        if node in seen:
            continue
        seen.add(node)
        waiting = [node]
        while waiting:
            for other in near[waiting.pop()]:
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
                    if other[1] != node[1]:
                        found[other] = node[1]
    return found
