"""The segments that two captures have in common, and what they say: `compare`.

The rule kept here: equal numbers make no equal traffic. Where sequence numbers agree and bytes do not, it is
other traffic; where all times differ by the same, or at random, it came out of a file.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.capture.vantage.point_clock import ClockEstimate, estimate_clock, rough_slope
from msmq_wire.capture.vantage.points import CLOCK_ERROR
from msmq_wire.capture.vantage.segment_sample import COARSE, DATA, REPEATED, SYN_ALONE, SegmentSample
from msmq_wire.units import SECOND

_DELAY = 10 * SECOND
_DRIFT = 2000
"""Segments whose times differ by one part in so many more than others do are told from them."""
_LEAST = 2
"""Segments that make the same traffic, where the addresses are the same."""
_LEAST_TRANSLATED = 3
_CONFLICTS = 50
"""Of a connection that is the same, at most one segment of so many has other bytes."""
_ENOUGH = 64
"""Segments of which a few may have been delayed before they got their time."""
_COVERED = 0.4
"""The part of the segments of one capture that the other one has, too, where both recorded; or the other way
round. Both may have lost segments, or show them in other pieces."""
_EXACT = 1000
"""Nanoseconds that times of a copy differ by: files have microseconds or nanoseconds."""
_ZONE = 900 * SECOND
"""What time zones differ by."""
_MOST_COPIES, _DRIFTING = 2, 10
"""One segment of so many has the same time in a copy, at least, and the same difference in what has drift."""
_TRIPS, _POSITIVE = 16, 12
"""Of so many round trips so many are positive."""
_NOISE, _LEAST_NOISE, _APART = 5_000_000, 20_000, 600 * SECOND
"""Nanoseconds by which times of one host may be wrong, that a program which sends again is off by at least,
and that clocks of two hosts differ by, if they are less exact than that."""

Relation: TypeAlias = Literal["places", "copy"]


class SharedSegments(msgspec.Struct, frozen=True, eq=False):
    """What two captures share: they are two places, or one is a copy of (a part of) the other.

    ``here`` and ``there`` are the rows of their samples that are the same segments. ``clock`` is that of the
    second place, relative to the first.
    """

    relation: Relation
    here: Array
    there: Array
    clock: ClockEstimate


def compare(here: SegmentSample, there: SegmentSample) -> SharedSegments | None:
    """Compare the samples of two captures; None where they do not share traffic."""
    one, two = _common_rows(here, there)
    one, two = _one_line(here, there, one, two)
    if len(one):
        good = _without_conflicts(here, there, one, two)
        one, two = one[good], two[good]
    if _evidence(here, there, one, two) < 1 or _covered(here, there, one, two) < _COVERED:
        return None
    towards, trips = _ways(here, there, one, two)
    if _is_copy(here, there, one, two, trips) or _is_replayed(here, there, one, two, trips):
        return SharedSegments("copy", one, two, ClockEstimate(0, 0, 0, None))
    rows = _once(here, there, one, two)
    ahead = here["time"][one] - there["time"][two]
    clock = estimate_clock(there["time"][two][rows], ahead[rows], towards[rows], (here.tick, there.tick))
    few = len(rows) < _ENOUGH and max(here.tick, there.tick) < COARSE
    if clock.contradiction > (2 * _EXACT if few else _NOISE):
        return None
    return SharedSegments("places", one, two, clock)


def _common_rows(here: SegmentSample, there: SegmentSample) -> tuple[Array, Array]:
    """The rows that are equal: first those of equal ends, then others that have different ones."""
    same = _first_pairs(here.key() + here.flow(), there.key() + there.flow())
    rest_here = np.setdiff1d(np.arange(len(here)), same[0])
    rest_there = np.setdiff1d(np.arange(len(there)), same[1])
    key_here, key_there = here.key(), there.key()
    # What has a partner under its own name needs none under another one.
    rest_here = rest_here[~np.isin(key_here[rest_here], key_here[same[0]])]
    rest_there = rest_there[~np.isin(key_there[rest_there], key_there[same[1]])]
    rest_here, rest_there = _of_one(rest_here, key_here), _of_one(rest_there, key_there)
    other = _first_pairs(key_here[rest_here], key_there[rest_there])
    return (
        np.concatenate((same[0], rest_here[other[0]])),
        np.concatenate((same[1], rest_there[other[1]])),
    )


def _of_one(rows: Array, keys: Array) -> Array:
    """The rows whose key no other row of their capture has: of several connections none is meant."""
    known, counts = np.unique(keys, return_counts=True)
    one: Array = rows[np.isin(keys[rows], known[counts == 1])]
    return one


def _first_pairs(one: Array, two: Array) -> tuple[Array, Array]:
    """The places of equal numbers in two arrays: of each number the first."""
    _, at_one, at_two = np.intersect1d(one, two, return_indices=True)
    return at_one, at_two


def _one_line(here: SegmentSample, there: SegmentSample, one: Array, two: Array) -> tuple[Array, Array]:
    """The rows whose times differ as those of two clocks do: most of them by about the same."""
    ahead = here["time"][one] - there["time"][two]
    near = np.abs(ahead) <= CLOCK_ERROR
    one, two, ahead = one[near], two[near], ahead[near]
    if not len(one):
        return one, two
    span = int(there["time"][two].max() - there["time"][two].min())
    width = _DELAY + span // _DRIFT
    ordered = np.sort(ahead)
    counts = np.searchsorted(ordered, ordered + width, side="right") - np.arange(len(ordered))
    first = int(ordered[np.argmax(counts)])
    good = (ahead >= first) & (ahead <= first + width)
    return one[good], two[good]


def _without_conflicts(here: SegmentSample, there: SegmentSample, one: Array, two: Array) -> Array:
    """Which rows are of connections whose bytes agree wherever their numbers do."""
    flow_here, flow_there = here.flow(), there.flow()
    # Directions of the second capture get the number that the first one has for them.
    names, at = np.unique(flow_there[two], return_index=True)
    place = np.searchsorted(names, flow_there)
    known = (names[np.minimum(place, len(names) - 1)] == flow_there) & (there["kind"] == DATA)
    rows = np.flatnonzero(known)
    translated = flow_here[one[at]][place[rows]]
    data = np.flatnonzero(here["kind"] == DATA)
    same_place = _first_pairs(here["place"][data] + flow_here[data], there["place"][rows] + translated)
    differs = here["content"][data[same_place[0]]] != there["content"][rows[same_place[1]]]
    connection = here.connection()
    number, count = np.unique(connection[one], return_inverse=True)
    agreeing = np.bincount(count, weights=here["kind"][one] == DATA, minlength=len(number))
    wrong = connection[data[same_place[0]]][differs]
    wrong = wrong[np.isin(wrong, number)]
    conflicts = np.bincount(np.searchsorted(number, wrong), minlength=len(number))
    good: Array = (conflicts * _CONFLICTS <= agreeing)[count]
    if conflicts.sum() * _CONFLICTS > agreeing.sum():
        good[:] = False
    return good


def _evidence(here: SegmentSample, there: SegmentSample, one: Array, two: Array) -> float:
    """How much says that the traffic is the same: 1 is enough."""
    _, rows = np.unique(here.key()[one], return_index=True)
    one, two = one[rows], two[rows]
    same = (here.flow()[one] == there.flow()[two]).astype(np.float64)
    weight = same / _LEAST + (1 - same) / _LEAST_TRANSLATED
    # 32 bits alone may be equal by chance, 32 bits and equal ends may not.
    opening = here["kind"][one] == SYN_ALONE
    weight[opening & (same == 0)] /= 2
    # Where nobody answers there are only copies of a SYN: the times between them say as much as others do.
    again = opening & _repeats(here, one) & _repeats(there, two)
    ahead = here["time"][one] - there["time"][two]
    last = here["last"][one] - there["last"][two]
    again &= np.abs(last - ahead) < SECOND // 10
    return float(weight.sum() + weight[again].sum())


def _covered(here: SegmentSample, there: SegmentSample, one: Array, two: Array) -> float:
    """Which part of the connections that are common is common, while both captures recorded."""
    shift = int(np.median(here["time"][one] - there["time"][two]))
    times = (here["time"], there["time"] + shift)
    begin = max(int(time.min()) for time in times) - SECOND
    end = min(int(time.max()) for time in times) + SECOND
    found = 0.0
    for sample, time, rows in ((here, times[0], one), (there, times[1], two)):
        connection = sample.connection()
        inside = (time >= begin) & (time <= end)
        all_rows = int((np.isin(connection, connection[rows]) & inside).sum())
        found = max(found, int(inside[rows].sum()) / max(all_rows, 1))
    return found


def _repeats(sample: SegmentSample, rows: Array) -> Array:
    repeats: Array = sample["last"][rows] - sample["time"][rows] > REPEATED
    return repeats


def _once(here: SegmentSample, there: SegmentSample, one: Array, two: Array) -> Array:
    """The rows that tell of a clock: segments that were sent once, where there are enough of them."""
    rows = np.flatnonzero(~(_repeats(here, one) | _repeats(there, two)))
    return rows if len(rows) * 2 >= len(one) else np.arange(len(one))


def _ways(here: SegmentSample, there: SegmentSample, one: Array, two: Array) -> tuple[Array, Array]:
    """Which way each segment travelled, as `estimate_clock` has it, and what round trips took.

    Of two hosts, what one sends is captured at one point earlier, what the other sends at the other point.
    So of two segments, there and back, the difference in time differs by a round trip between the points; it
    is negative where most of the others say that it goes the other way.
    """
    sender, receiver = (hosts[one] for hosts in here.hosts())
    ahead, time = here["time"][one] - there["time"][two], there["time"][two]
    seconds = (time - time.min()) / SECOND
    # Between two segments a clock may drift by more than a round trip.
    ahead = ahead - (rough_slope((seconds, ahead - ahead.min())) * seconds).astype(np.int64)
    pair = np.minimum(sender, receiver) * np.uint64(3) + np.maximum(sender, receiver)
    back = sender > receiver
    order = np.lexsort((time, pair))
    near = np.flatnonzero((pair[order][1:] == pair[order][:-1]) & (back[order][1:] != back[order][:-1]))
    before, after = order[near], order[near + 1]
    trips = np.where(back[after], 1, -1) * (ahead[after] - ahead[before])
    towards = np.zeros(len(one), np.int8)
    if len(trips):
        pairs, number = np.unique(pair, return_inverse=True)
        which = number[before]
        sides = np.zeros(len(pairs), np.int8)
        known, middle = _middles(which, trips)
        sides[known] = np.sign(middle)
        # What goes back is captured by the first point later: it passed the other point first.
        towards = np.where(back, sides[number], -sides[number])
        trips = trips * sides[which]
        _from_other_pairs(towards, sender)
    return towards, trips


def _middles(groups: Array, values: Array) -> tuple[Array, Array]:
    """The groups, and of each the median of its values; where that is 0 the mean tells more."""
    order = np.lexsort((values, groups))
    known, first, counts = np.unique(groups[order], return_index=True, return_counts=True)
    medians = values[order][first + counts // 2]
    sums = np.add.reduceat(values[order], first)
    return known, np.where(medians == 0, sums, medians)


def _from_other_pairs(towards: Array, sender: Array) -> None:
    """What a host sends to others goes the way that it sends to those of which both directions are there."""
    open_rows = np.flatnonzero(towards == 0)
    if not len(open_rows) or len(open_rows) == len(towards):
        return
    hosts, number = np.unique(sender, return_inverse=True)
    votes = np.bincount(number, weights=towards, minlength=len(hosts))
    towards[open_rows] = np.sign(votes)[number[open_rows]]


def _is_copy(here: SegmentSample, there: SegmentSample, one: Array, two: Array, trips: Array) -> bool:
    """Whether times are those of a copy, of a part of a file, or of what was made from the same file.

    Most of them are equal, or shifted by a time zone; or nothing takes time to get there and back.
    """
    ahead = np.sort(here["time"][one] - there["time"][two])
    counts = np.searchsorted(ahead, ahead + _EXACT, side="right") - np.arange(len(ahead))
    most, shift = int(counts.max()), int(ahead[np.argmax(counts)])
    if max(here.tick, there.tick) >= COARSE:
        # What arrives within the tick in which it was sent has the same time at both places.
        return most == len(ahead) and _is_zone(shift)
    if most * _MOST_COPIES >= len(ahead) and _is_zone(shift):
        return True
    no_trips = int((np.abs(trips) <= 2 * _EXACT).sum())
    return len(trips) > 0 and no_trips * 5 >= len(trips) * 4 and most * _DRIFTING >= len(ahead)


def _is_zone(shift: int) -> bool:
    return min(shift % _ZONE, -shift % _ZONE) <= _EXACT


def _is_replayed(here: SegmentSample, there: SegmentSample, one: Array, two: Array, trips: Array) -> bool:
    """Whether segments were sent again at other times: then as many round trips are negative as positive.

    Clocks that are less exact than a round trip look like that, too. They are not so wrong.
    """
    if len(trips) < _TRIPS or max(here.tick, there.tick) >= COARSE:
        return False
    if (trips > 0).sum() * _TRIPS > len(trips) * _POSITIVE:
        return False
    ahead = here["time"][one] - there["time"][two]
    noise = float(np.median(np.abs(trips)))
    return noise > _NOISE or (noise > _LEAST_NOISE and abs(float(np.median(ahead))) > _APART)
