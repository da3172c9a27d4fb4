"""`Sums`: a batch counted by column, without a record for each packet that is whole.

The rule kept here: every sum says which record it begins with, so that what is bounded leaves out what it
leaves out of records.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np

from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.projected_rows import provable_packets, values_of
from msmq_wire.engines.columns import ProvenPackets
from msmq_wire.engines.columns.json_values import among, has, shown
from msmq_wire.records.message import MessageValues, is_listed
from msmq_wire.records.record import Record
from msmq_wire.report.row_maker import ASKED, OF_HEADERS, MessageRow, RowMaker

_NONE = np.zeros(0, np.int64)


class MessageFlow(NamedTuple):
    """Messages from one end to another: the id of the first, how many, and their bytes."""

    id: int
    src: str
    dst: str
    messages: int
    bytes: int


class Times(NamedTuple):
    """Messages of one connection from one source, or session acks (``src`` is None): first id and times."""

    id: int
    stream: int
    src: str | None
    times: Any


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Packets that are whole: ``types`` counts them, ``times`` are those of all, ``sent`` those of messages.

    ``ways`` and ``streams`` are in order of their ids. ``rows`` are the first messages, or their rows, with
    their ids, as many as were asked for. ``alone`` are the records that were asked one by one, in order.
    """

    types: dict[str, int]
    times: Any
    sent: Any
    messages: int
    bytes: int
    ways: list[MessageFlow]
    streams: list[Times]
    rows: list[tuple[int, MessageRow | MessageValues]]
    alone: list[Record]


def sums_of(batch: PacketBatch, maker: RowMaker, room: int) -> Sums:
    """Count a batch; ``maker`` makes at most ``room`` rows."""
    asked = np.ones(len(batch), np.bool_)
    types: dict[str, int] = {}
    messages, acks = [_NONE], [_NONE]
    rows: list[tuple[int, MessageRow | MessageValues]] = []
    for found in batch.proven():
        places, stem = found.places, found.cls.stem()
        if not len(places):
            continue
        asked[places] = False
        types[stem] = len(places)
        if is_listed(stem):
            messages.append(places)
            rows += _rows(batch, found, maker, room)
        elif stem == "session_ack":
            acks.append(places)
    sent, answers = np.sort(np.concatenate(messages)), np.sort(np.concatenate(acks))
    alone = [*(batch.record(place) for place in np.flatnonzero(asked).tolist()), *batch.others]
    streams = [*_streams(batch, sent[batch.time[sent] > 0]), *_streams(batch, answers, acks=True)]
    return Sums(
        types=types,
        times=_known(batch.time[~asked]),
        sent=_known(batch.time[sent]),
        messages=len(sent),
        bytes=int((batch.offsets[1:] - batch.offsets[:-1])[sent].sum()),
        ways=_ways(batch, sent),
        streams=sorted(streams, key=lambda one: one.id),
        rows=rows,
        alone=sorted(alone, key=lambda one: one.id),
    )


def _known(times: Any) -> Any:
    return times[times > 0]


def _ways(batch: PacketBatch, places: Any) -> list[MessageFlow]:
    pairs, first, which, counts = np.unique(
        batch.pair[places], return_index=True, return_inverse=True, return_counts=True
    )
    sizes = (batch.offsets[1:] - batch.offsets[:-1])[places]
    bytes_ = np.bincount(which, weights=sizes, minlength=len(pairs)).astype(np.int64)
    numbers = (batch.id[places[first]], pairs, counts, bytes_)
    found = []
    for id_, pair, count, size in zip(*(column.tolist() for column in numbers), strict=True):
        src, dst = batch.pairs[pair]
        found.append(MessageFlow(id_, src, dst, count, size))
    return sorted(found)


def _streams(batch: PacketBatch, places: Any, *, acks: bool = False) -> list[Times]:
    """Packets by connection and direction."""
    places = places[batch.stream[places] >= 0]
    keys = batch.stream[places] * len(batch.pairs) + batch.pair[places]
    order = np.argsort(keys, kind="stable")
    places = places[order]
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return [
        Times(
            int(batch.id[part[0]]),
            int(batch.stream[part[0]]),
            None if acks else batch.endpoints(int(part[0]))[0] or "?",
            _known(batch.time[part]),
        )
        for part in np.split(places, starts[1:])
        if len(part)
    ]


def _rows(
    batch: PacketBatch, found: ProvenPackets, maker: RowMaker, room: int
) -> list[tuple[int, MessageRow | MessageValues]]:
    """The rows of the first messages; those that have to be asked as messages."""
    found = found._replace(places=found.places[:room], rows=found.rows[:room])
    whole = provable_packets(found, ASKED)
    made: list[tuple[int, MessageRow | MessageValues]] = []
    for place in found.places[~whole].tolist():
        record = batch.record(place)
        made.append((record.id, MessageValues(record, "packet")))
    places, rows = found.places[whole], found.rows[whole]
    if len(places):
        values = [values_of(batch, column, found, places, rows) for column in ASKED]
        headers = [_held(found, path, rows) for path in OF_HEADERS]
        for of_message, of_headers in zip(zip(*values, strict=True), zip(*headers, strict=True), strict=True):
            made.append((of_message[0], maker.of_values(list(of_message), of_headers)))
    return made


def _held(found: ProvenPackets, path: str, rows: Any) -> list[Any]:
    """The values at a path, None where there is none."""
    there = has(found.top, path, rows)
    return among(there, shown(found.top, path, rows[there]) if there.any() else ())
