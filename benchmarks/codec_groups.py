"""Decode and encode: our engines beside construct, dissect.cstruct and scapy, on the same packets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec
import numpy as np

import msmq_wire as mw
from benchmarks import cstruct_packet, idiomatic_construct, lean_construct, scapy_packet
from benchmarks.agreement import Facts, differences, facts_of_arrow, facts_of_value
from benchmarks.measure import Contestant, Result, measure
from msmq_wire.engines import arrow, columns

__all__ = [
    "ARROW",
    "ARROW_JUDGED",
    "COLUMNS",
    "COLUMNS_JUDGED",
    "CSTRUCT",
    "IDIOMATIC",
    "INSPECT",
    "LEAN",
    "REFERENCE",
    "ROWS",
    "SCAPY",
    "Sizes",
    "check",
    "run",
]

Offsets: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"

IDIOMATIC = "construct, idiomatic"
LEAN = "construct, lean"
SCAPY = "scapy packet"
CSTRUCT = "dissect.cstruct, compiled"
REFERENCE = "msmq_wire, reference engine"
ROWS = "msmq_wire, rows engine"
INSPECT = "msmq_wire.inspect, rows engine"
COLUMNS = "msmq_wire, columns"
COLUMNS_JUDGED = "msmq_wire, columns with anomalies"
ARROW = "msmq_wire, columns to Arrow"
ARROW_JUDGED = "msmq_wire, columns to Arrow with anomalies"

_PEERS: dict[str, Any] = {
    IDIOMATIC: idiomatic_construct,
    LEAN: lean_construct,
    SCAPY: scapy_packet,
    CSTRUCT: cstruct_packet,
}


class Sizes(msgspec.Struct, frozen=True):
    """How much a round does: packets for the interpreted contestants, for rows, for columns; and rounds."""

    slow: int
    rows: int
    columns: int
    rounds: int


def check(packets: Sequence[bytes]) -> list[str]:
    """One line for every contestant that reads or writes these packets differently; none if all agree."""
    expected = [facts_of_value(mw.decode(data, engine="reference")) for data in packets]
    read: dict[str, list[Facts]] = {
        ROWS: [facts_of_value(mw.decode(data, engine="rows")) for data in packets],
        INSPECT: [facts_of_value(mw.inspect(data, engine="rows").packet) for data in packets],
    }
    written = {
        f"{engine} engine, encode": [
            mw.encode(mw.decode(data, engine=engine), engine=engine) for data in packets
        ]
        for engine in ("reference", "rows")
    }
    for name, peer in _PEERS.items():
        decoded = [peer.decode(data) for data in packets]
        read[name] = [peer.facts(value) for value in decoded]
        written[f"{name}, encode"] = [peer.encode(value) for value in _forgetful(name, decoded)]
    for judge in (False, True):
        read[COLUMNS_JUDGED if judge else COLUMNS] = _of_columns(packets, judge)
        read[ARROW_JUDGED if judge else ARROW] = _of_arrow(packets, judge)
    return differences(read, expected) + differences(written, list(packets))


def _forgetful(name: str, decoded: list[Any]) -> list[Any]:
    if name == SCAPY:
        # Without this scapy returns the bytes a layer was made from.
        for layer in decoded:
            layer.clear_cache()
    return decoded


def _joined(packets: Sequence[bytes]) -> tuple[bytes, Offsets]:
    return b"".join(packets), np.array([0, *itertools.accumulate(map(len, packets))], np.int64)


def _of_columns(packets: Sequence[bytes], judge: bool) -> list[Facts]:
    batch = columns.decode(*_joined(packets), judge=judge)
    found = {
        int(row): facts_of_value(table.packet(place))
        for table in batch.tables.values()
        for place, row in enumerate(table.rows)
    }
    return [found[row] for row in sorted(found)]


def _of_arrow(packets: Sequence[bytes], judge: bool) -> list[Facts]:
    batches = arrow.record_batches(columns.decode(*_joined(packets), judge=judge))
    found = {
        row["row"]: facts_of_arrow(stem, row) for stem, batch in batches.items() for row in batch.to_pylist()
    }
    return [found[row] for row in sorted(found)]


def run(suffix: str, packets: Sequence[bytes], sizes: Sizes) -> list[Result]:
    """Measure the groups ``decode_<suffix>`` and ``encode_<suffix>``."""
    slow, fast = list(packets[: sizes.slow]), list(packets[: sizes.rows])
    decoders = [Contestant(name, partial(_each, peer.decode, slow)) for name, peer in _PEERS.items()]
    decoders += [
        Contestant(REFERENCE, partial(_each, partial(mw.decode, engine="reference"), slow)),
        Contestant(ROWS, partial(_each, mw.decode, fast)),
        Contestant(INSPECT, partial(_each, mw.inspect, fast)),
        *_column_contestants(packets[: sizes.columns]),
    ]
    results = measure(f"decode_{suffix}", "messages/s", decoders, sizes.rounds)
    encoders = [
        Contestant(name, partial(_each, peer.encode, _forgetful(name, [peer.decode(data) for data in slow])))
        for name, peer in _PEERS.items()
    ]
    values = [mw.decode(data) for data in fast]
    encoders += [
        Contestant(REFERENCE, partial(_each, partial(mw.encode, engine="reference"), values[: len(slow)])),
        Contestant(ROWS, partial(_each, mw.encode, values)),
    ]
    return results + measure(f"encode_{suffix}", "messages/s", encoders, sizes.rounds)


def _each(work: Callable[[Any], Any], items: Sequence[Any]) -> int:
    for item in items:
        work(item)
    return len(items)


def _column_contestants(packets: Sequence[bytes]) -> list[Contestant]:
    data, offsets = _joined(packets)

    def decode(judge: bool) -> int:
        batch = columns.decode(data, offsets, judge=judge)
        for table in batch.tables.values():
            # Columns are made when they are asked for, so every one is.
            for path in table:
                table[path]
        return len(batch)

    def to_arrow(judge: bool) -> int:
        batches = arrow.record_batches(columns.decode(data, offsets, judge=judge))
        return sum(batch.num_rows for batch in batches.values())

    return [
        Contestant(COLUMNS, partial(decode, False)),
        Contestant(COLUMNS_JUDGED, partial(decode, True)),
        Contestant(ARROW, partial(to_arrow, False)),
        Contestant(ARROW_JUDGED, partial(to_arrow, True)),
    ]
