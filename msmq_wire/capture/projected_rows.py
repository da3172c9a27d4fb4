"""Messages of a batch without a record for each: the columns of a `Projection`, read by column.

The rule kept here: a `ProjectedRows` says what `MessageValues` says of the same packets. What is not proven
to be whole, or has to be asked itself, comes as a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.engines.columns import ProvenPackets
from msmq_wire.engines.columns.json_values import has, is_set, shown
from msmq_wire.engines.columns.vectors import Bools
from msmq_wire.records.column import IN_PATHS
from msmq_wire.records.join_keys import JoinKeys, join_keys
from msmq_wire.records.joined_capture import JoinedCapture, last_file
from msmq_wire.records.message import MessageColumn, is_listed
from msmq_wire.records.projection import ProjectedRows, Projection
from msmq_wire.records.record import Record
from msmq_wire.records.seen_at import sight_texts, sights_of


def projected(batch: PacketBatch, projection: Projection) -> Iterator[Record | ProjectedRows]:
    """Everything in a batch in order of completion, packets that need no look of their own as briefs."""
    kinds = np.full(len(batch), -1)
    lines: list[Any] = [None] * len(batch)
    stems: list[str] = []
    for found in batch.proven():
        places, rows = found.places, found.rows
        stems.append(found.cls.stem())
        if is_listed(stems[-1], acknowledgments=projection.acknowledgments):
            whole = provable_packets(found, projection.columns)
            places, rows = places[whole], rows[whole]
            if not len(rows):
                # There may be no column that holds what is asked.
                continue
            values = [_shown(batch, column, found, places, rows) for column in projection.columns]
            for place, line in zip(places.tolist(), projection.make(values), strict=True):
                lines[place] = line
        kinds[places] = len(stems) - 1

    def brief(first: int, last: int) -> ProjectedRows:
        kind, at, count = np.unique(kinds[first:last], return_index=True, return_counts=True)
        # A summary counts them in the order of appearance.
        order = np.argsort(at)
        types = zip(kind[order].tolist(), count[order].tolist(), strict=True)
        return ProjectedRows(
            int(batch.id[last - 1]),
            {stems[number]: counted for number, counted in types},
            [line for line in lines[first:last] if line is not None],
        )

    done = 0
    for place, is_packet, number in _alone(batch, kinds):
        if place > done:
            yield brief(done, place)
            done = place
        if is_packet:
            yield batch.record(place)
            done = place + 1
        else:
            yield batch.others[number]
    if done < len(batch):
        yield brief(done, len(batch))


def _alone(batch: PacketBatch, kinds: Array) -> list[tuple[int, bool, int]]:
    """Where the records that are no packet come, and the packets of no kind: place, which, and its number."""
    others = np.searchsorted(batch.id, [one.id for one in batch.others]).tolist()
    packets = np.flatnonzero(kinds < 0).tolist()
    return sorted(
        [*((place, False, number) for number, place in enumerate(others)), *((at, True, 0) for at in packets)]
    )


def provable_packets(found: ProvenPackets, columns: Iterable[MessageColumn]) -> Bools:
    """Which of some packets need no look of their own."""
    reported = np.ones(len(found.rows), np.bool_)
    for column in columns:
        whole = column.in_whole
        for path in () if whole is None else whole.paths:
            reported &= has(found.top, path, found.rows)
        for path in () if whole is None else whole.unless:
            reported &= ~is_set(found.top, path, found.rows)
    return reported


def _shown(
    batch: PacketBatch, column: MessageColumn, found: ProvenPackets, places: Array, rows: Array
) -> list[Any]:
    """What a column has for some packets, as it is printed: with the files of a joined capture."""
    if column.name in ("capture", "frames") and isinstance(batch.capture, JoinedCapture):
        which = column.name == "frames"
        return [last_file(batch.capture, numbers)[which] for numbers in _frames(batch, places)]
    return values_of(batch, column, found, places, rows)


def values_of(
    batch: PacketBatch, column: MessageColumn, found: ProvenPackets, places: Array, rows: Array
) -> list[Any]:
    """What a column has for some packets, as `Message` says it."""
    whole = column.in_whole
    if whole is None:
        return _OF_RECORDS[column.name](batch, places)
    parts = [shown(found.top, path, rows) for path in whole.paths]
    if whole.made is None:
        return parts[0]
    if not parts:
        return [whole.made()] * len(rows)
    return list(map(whole.made, *parts))


def _times(batch: PacketBatch, places: Array) -> list[Any]:
    return [time or None for time in batch.time[places].tolist()]


def _ends(which: int) -> Callable[[PacketBatch, Array], list[Any]]:
    return lambda batch, places: [batch.pairs[pair][which] for pair in batch.pair[places].tolist()]


def _join_key(which: int) -> Callable[[PacketBatch, Array], list[Any]]:
    def values(batch: PacketBatch, places: Array) -> list[Any]:
        flows, rows = np.unique(2 * batch.pair[places] + (batch.stream[places] < 0), return_inverse=True)
        keys = [join_keys(*batch.pairs[flow >> 1], udp=bool(flow & 1))[which] for flow in flows.tolist()]
        return list(map(keys.__getitem__, rows.tolist()))

    return values


def _frames(batch: PacketBatch, places: Array) -> list[Any]:
    first, last = batch.first[places], batch.last[places]
    if (last - first == 1).all():
        return [(number,) for number in batch.carriers[first].tolist()]
    carriers = batch.carriers.tolist()
    return [tuple(carriers[start:end]) for start, end in zip(first.tolist(), last.tolist(), strict=True)]


def _in_path(shown: Callable[[bytes], Any]) -> Callable[[PacketBatch, Array], list[Any]]:
    def values(batch: PacketBatch, places: Array) -> list[Any]:
        found = [shown(path) for path in batch.paths]
        return [found[pair] for pair in batch.pair[places].tolist()]

    return values


def _seen_at(batch: PacketBatch, places: Array) -> list[Any]:
    capture = batch.capture
    if not isinstance(capture, JoinedCapture) or not capture.point_files:
        return [None] * len(places)
    return [sight_texts(sights_of(capture, numbers)) for numbers in _frames(batch, places)]


_OF_RECORDS: Mapping[str, Callable[[PacketBatch, Array], list[Any]]] = {
    "id": lambda batch, places: batch.id[places].tolist(),
    "parent": lambda batch, places: [None] * len(places),
    "time": _times,
    "src": _ends(0),
    "dst": _ends(1),
    **{name: _join_key(which) for which, name in enumerate(JoinKeys._fields)},
    "frames": _frames,
    "capture": lambda batch, places: [batch.capture] * len(places),
    "seen_at": _seen_at,
    **{name: _in_path(shown) for name, shown in IN_PATHS.items()},
}
"""Columns that are attributes of the record."""
