"""Groups of captures that recorded the same traffic, from samples of them: `joint_recordings`.

The rule kept here: all pairs of captures are found at once, by what their samples have in common. What a
capture of thousands costs does not depend on how many others there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.capture.opened_file import Opener
from msmq_wire.capture.vantage.point_clock import ClockEstimate
from msmq_wire.capture.vantage.points import SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.sample_reading import read_samples
from msmq_wire.capture.vantage.segment_sample import SegmentSample
from msmq_wire.capture.vantage.shared_segments import SharedSegments, compare
from msmq_wire.capture.vantage.translations import find_translations

_SAMPLE, _ALL_SAMPLES = 1 << 17, 1 << 21
"""Rows of the sample of a capture, and of all samples together, at most."""
_LEAST_SAMPLE = 1 << 9
_MOST_PLACES = 16
"""Captures that may have a segment: what more have tells nothing of any of them."""
_SEEN_TWICE = 2
_UNKNOWN = 1 << 62


def joint_recordings(
    captures: Mapping[int, tuple[str, ...]], opener: Opener
) -> list[tuple[list[int], SharedTraffic]]:
    """Return the groups of captures, by their numbers, that recorded the same traffic."""
    rows = max(_LEAST_SAMPLE, min(_SAMPLE, _ALL_SAMPLES // max(len(captures), 1)))
    samples = read_samples(captures, opener, rows)
    shared: dict[tuple[int, int], SharedSegments] = {}
    for one, two in _pairs(samples):
        common = compare(samples[one], samples[two])
        if common is not None:
            shared[one, two] = common
    _leave_copies_out(shared, samples)
    return [(group, _joint(captures, group, samples, shared)) for group in _groups(shared)]


def _pairs(samples: dict[int, SegmentSample]) -> list[tuple[int, int]]:
    """The captures that have segments in common."""
    if len(samples) < _SEEN_TWICE:
        return []
    if len(samples) == _SEEN_TWICE:
        return [(min(samples), max(samples))]
    keys = np.concatenate([sample.key() for sample in samples.values()])
    owners = np.concatenate([np.full(len(sample), number) for number, sample in samples.items()])
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    counts = np.diff(np.append(first, len(keys)))
    told = np.repeat((counts > 1) & (counts <= _MOST_PLACES), counts)
    keys, owners = keys[told], owners[told]
    base = max(samples) + 1
    pairs: set[tuple[int, int]] = set()
    for step in range(1, _MOST_PLACES):
        same = (keys[step:] == keys[:-step]) & (owners[step:] != owners[:-step])
        pairs |= {
            divmod(both, base)
            for both in np.unique(owners[:-step][same] * base + owners[step:][same]).tolist()
        }
    return sorted(pairs)


def _leave_copies_out(
    shared: dict[tuple[int, int], SharedSegments], samples: dict[int, SegmentSample]
) -> None:
    """Take the pairs away in which one is a copy of (a part of) another capture."""
    copies: set[int] = set()
    for (one, two), found in sorted(shared.items()):
        if found.relation == "copy" and one not in copies and two not in copies:
            copies.add(two if len(samples[two]) <= len(samples[one]) else one)
    for pair in [*shared]:
        if shared[pair].relation == "copy" or copies.intersection(pair):
            del shared[pair]


def _groups(shared: dict[tuple[int, int], SharedSegments]) -> Iterator[list[int]]:
    """The captures that are connected by pairs."""
    near: dict[int, set[int]] = {}
    for one, two in shared:
        near.setdefault(one, set()).add(two)
        near.setdefault(two, set()).add(one)
    left = set(near)
    while left:
        group, waiting = set[int](), {min(left)}
        while waiting:
            group |= waiting
            waiting = {other for one in waiting for other in near[one]} - group
        left -= group
        yield sorted(group)


def _joint(
    captures: Mapping[int, tuple[str, ...]],
    group: list[int],
    samples: dict[int, SegmentSample],
    shared: dict[tuple[int, int], SharedSegments],
) -> SharedTraffic:
    """The captures of a group as places of one recording."""
    pairs = {pair: found for pair, found in shared.items() if pair[0] in group}
    sizes = {one: _shared_rows(one, samples[one], pairs) for one in group}
    first = max(group, key=lambda one: (sizes[one], -one))
    clocks = _clocks(first, pairs)
    order = [first, *(one for one in group if one != first)]
    keys = [samples[one].key()[found.here] for (one, _), found in pairs.items()]
    return SharedTraffic(
        points=tuple(
            VantagePoint(
                files=captures[one],
                offset=clocks[one].offset,
                drift=clocks[one].drift,
                at=clocks[one].at,
                uncertainty=clocks[one].uncertainty,
            )
            for one in order
        ),
        translations=find_translations(order, samples, pairs),
        shared=len(np.unique(np.concatenate(keys))),
    )


def _shared_rows(number: int, sample: SegmentSample, pairs: dict[tuple[int, int], SharedSegments]) -> int:
    """How many rows of a capture are of connections that another one has, too."""
    connection = sample.connection()
    rows: list[Array] = [
        connection[found.here if one == number else found.there]
        for (one, two), found in pairs.items()
        if number in (one, two)
    ]
    return int(np.isin(connection, np.concatenate(rows)).sum())


def _clocks(first: int, pairs: dict[tuple[int, int], SharedSegments]) -> dict[int, ClockEstimate]:
    """The clock of each point relative to the first one, by the way that is most certain."""
    clocks = {first: ClockEstimate(0, 0, 0, 0)}
    edges: list[tuple[int, int, ClockEstimate]] = []
    for (one, two), found in pairs.items():
        edges += [(one, two, found.clock), (two, one, found.clock.reversed())]
    while True:
        ways = [
            (new, clock.after(clocks[known]))
            for known, new, clock in edges
            if known in clocks and new not in clocks
        ]
        if not ways:
            return clocks
        new, clock = min(ways, key=lambda way: _UNKNOWN if way[1].uncertainty is None else way[1].uncertainty)
        clocks[new] = clock
