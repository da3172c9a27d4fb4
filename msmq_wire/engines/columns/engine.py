"""The columnar engine: a batch of packets in, columns out.

The rule kept here: a schema is walked once for all rows of a batch, and every node does its work on all of
them at once. A row that claims anything that does not lie inside its packet, or that is not proven to keep
every MUST, is irregular: the codec decides what it is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from msmq_wire.engines import codec
from msmq_wire.engines.columns.batch_decoder import ColumnDecoder
from msmq_wire.engines.columns.batch_tables import UNRECOGNISED, ColumnBatch, ColumnTable, IrregularRow
from msmq_wire.engines.columns.must_masks import Judgement, order_queues
from msmq_wire.engines.columns.scopes import column_at
from msmq_wire.engines.columns.vectors import (
    BatchBytes,
    FieldRun,
    Integers,
    NumberColumn,
    OctetsColumn,
    RowSet,
    StructColumn,
)
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import SIGNATURE
from msmq_wire.wire.packets.acknowledgment import ACK_LABEL
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.ping import PING_SIGNATURE, Ping
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import STRUCTURES, structure_with_fields
from msmq_wire.wire.types.enumerations import InternalPacketType, MessageClass
from msmq_wire.wire.types.wchar_text import WcharText


def _acknowledgments(walk: ColumnDecoder) -> tuple[Mapping[type[WireStruct], Integers], Integers]:
    """Which rows of a walk of user messages are acknowledgments, as `identification.acknowledgment_type`.

    And those that are one but for their flags or their queue: of these only the codec can tell.
    """
    nothing = np.zeros(0, np.int64)
    label = column_at(walk.top, "message_properties_header.label")
    flags = column_at(walk.top, "base_header.flags")
    header, properties = column_at(walk.top, "user_header"), column_at(walk.top, "message_properties_header")
    if not (isinstance(label, OctetsColumn) and isinstance(flags, NumberColumn)):
        return {}, nothing
    assert isinstance(header, StructColumn)
    assert isinstance(properties, StructColumn)
    everywhere = RowSet(walk.top.rows.total)
    asked = ~walk.bad
    text = WcharText.of(ACK_LABEL)
    possible = (label.lengths == len(text)) | (label.lengths == len(text) - 2)
    asked &= label.rows.spread(possible, everywhere)
    if asked.any():
        asked &= label.rows.spread(label.equals(text) | label.equals(text[:-2]), everywhere)
    if not asked.any():
        return {}, nothing
    labelled, asked = asked, asked & (flags.raw == 0)
    asked = asked & order_queues(header, asked)
    message_class, size = properties.fields["message_class"], properties.fields["message_size"]
    assert isinstance(message_class, NumberColumn)
    assert isinstance(size, NumberColumn)
    classes = message_class.rows.spread(message_class.values, everywhere)
    order = (classes == MessageClass.MQMSG_CLASS_ORDER_ACK) & (
        size.rows.spread(size.values, everywhere) == 0x24
    )
    found = {OrderAck: asked & order, FinalAck: asked & (classes >= 0x4000)}
    acknowledging = (classes == MessageClass.MQMSG_CLASS_ORDER_ACK) | (classes >= 0x4000)
    misformed = np.flatnonzero(labelled & acknowledging & ~asked)
    return {cls: np.flatnonzero(rows) for cls, rows in found.items() if rows.any()}, misformed


_HEAD = 20
"""Bytes that tell the type of a packet, and fewer than any packet has."""
_INTERNAL = (
    (InternalPacketType.SESSION_ACK, SessionAck),
    (InternalPacketType.ESTABLISH_CONNECTION, EstablishConnection),
    (InternalPacketType.CONNECTION_PARAMETERS, ConnectionParameters),
)


def _recognised(
    source: BatchBytes, starts: Integers, ends: Integers
) -> list[tuple[type[WireStruct], Integers]]:
    """The rows that begin like a packet of some class, as `identification.recognise`."""
    if not len(starts):
        return []
    run = FieldRun(source, starts, _HEAD)
    whole = ends - starts >= _HEAD
    signed = run.field(4, "<u4") == SIGNATURE
    internal = (run.field(2, "u1") & 0x08) != 0
    kinds = run.field(18, "u1") & 0xF
    message = whole & signed & ~internal
    found: list[tuple[type[WireStruct], Any]] = [(UserMessage, message)]
    if not message.all():
        found.append((Ping, whole & ~signed & (run.field(2, "<u2") == PING_SIGNATURE)))
        found += [(cls, whole & signed & internal & (kinds == kind)) for kind, cls in _INTERNAL]
    return [(cls, np.flatnonzero(rows)) for cls, rows in found if rows.any()]


def decode(
    data: Any,
    offsets: Any = None,
    *,
    starts: Any = None,
    ends: Any = None,
    as_: str | None = None,
    judge: bool = True,
) -> ColumnBatch:
    """Decode the packets that lie in ``data``, any buffer of bytes, into one table for every type.

    Packet i is ``data[offsets[i]:offsets[i + 1]]``, or ``data[starts[i]:ends[i]]``, where packets need not
    touch. Types, values, errors and anomalies are those of `codec.inspect`; without ``judge`` no anomalies
    are looked for. ``as_`` is the stem of a structure, as there. ``data`` must not change while the batch
    lives.
    Raises ValueError for places outside ``data``, and for an ``as_`` that is no structure with fields.
    """
    source = BatchBytes(data)
    if offsets is not None:
        offsets = np.asarray(offsets, np.int64)
        starts, ends = offsets[:-1], offsets[1:]
    starts, ends = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(ends, np.int64)
    if starts.shape != ends.shape or starts.ndim != 1:
        raise ValueError(f"{starts.shape} starts and {ends.shape} ends")
    if len(starts) and (starts.min() < 0 or ends.max() > len(source) or (ends < starts).any()):
        raise ValueError("a packet lies outside the data")
    if as_ is None:
        found = _recognised(source, starts, ends)
    else:
        cls = structure_with_fields(as_)
        found = [(cls, np.arange(len(starts)))] if len(starts) else []
    return _Decoder(source, starts, ends, as_, judge).batch(found)


class ProvenPackets(NamedTuple):
    """Packets of one class that are whole and keep every MUST: their places, and where a walk has them.

    Packet ``places[i]`` is row ``rows[i]`` of the columns under ``top``.
    """

    cls: type[WireStruct]
    places: Integers
    top: StructColumn
    rows: Integers


def proven(data: Any, offsets: Any) -> list[ProvenPackets]:
    """The packets that are whole and keep every MUST, by class; about all others only the codec can tell.

    Arguments as for `decode`. No packet is decoded by itself, so this costs the same whatever they hold.
    """
    source, offsets = BatchBytes(data), np.asarray(offsets, np.int64)
    starts, ends = offsets[:-1], offsets[1:]
    found: list[ProvenPackets] = []
    for cls, places in _recognised(source, starts, ends):
        walk = ColumnDecoder(source, starts[places], ends[places], cls)
        kept = ~(walk.bad | Judgement(walk).unproven)
        if cls is UserMessage:
            acknowledgments, misformed = _acknowledgments(walk)
            kept[misformed] = False
            for inner, rows in acknowledgments.items():
                kept[rows] = False
                own = places[rows]
                inner_walk = ColumnDecoder(source, starts[own], ends[own], inner)
                inner_rows = np.flatnonzero(~(inner_walk.bad | Judgement(inner_walk).unproven))
                found.append(ProvenPackets(inner, own[inner_rows], inner_walk.top, inner_rows))
        rows = np.flatnonzero(kept)
        found.append(ProvenPackets(cls, places[rows], walk.top, rows))
    return found


class _Decoder:
    """Decodes one batch."""

    def __init__(
        self, source: BatchBytes, starts: Integers, ends: Integers, as_: str | None, judge: bool
    ) -> None:
        self.source = source
        self.starts = starts
        self.ends = ends
        self.as_ = as_
        self.judge = judge
        self._left = np.ones(len(starts), np.bool_)
        self._tables: dict[str, ColumnTable] = {}

    def batch(self, found: list[tuple[type[WireStruct], Integers]]) -> ColumnBatch:
        """The tables of all rows; those of no class are left to the codec."""
        for cls, rows in found:
            self._decode(cls, rows, divide=self.as_ is None and cls is UserMessage)
        for row in np.flatnonzero(self._left).tolist():
            result = self._inspect(row)
            table = self._table(result.type)
            table.add_irregular(row, IrregularRow(result.packet, result.consumed, result.error))
            if self.judge and result.anomalies:
                table.add_anomalies(row, result.anomalies)
        for table in self._tables.values():
            table.finish()
        return ColumnBatch(len(self.starts), self._tables)

    def _table(self, stem: str | None) -> ColumnTable:
        name = UNRECOGNISED if stem is None else stem
        if name not in self._tables:
            cls = None if stem is None else STRUCTURES[stem]
            self._tables[name] = ColumnTable(name, cls, self.source, self.starts, self.ends)
        return self._tables[name]

    def _inspect(self, row: int) -> codec.InspectResult:
        start, end = int(self.starts[row]), int(self.ends[row])
        return codec.inspect(self.source.bytes[start:end].tobytes(), self.as_)

    def _decode(self, cls: type[WireStruct], rows: Integers, divide: bool) -> None:
        whole = len(rows) == len(self.starts)
        starts, ends = (self.starts, self.ends) if whole else (self.starts[rows], self.ends[rows])
        walk = ColumnDecoder(self.source, starts, ends, cls)
        kept, misformed = ~walk.bad, None
        if divide:
            acknowledgments, misformed = _acknowledgments(walk)
            for inner, places in acknowledgments.items():
                kept[places] = False
                self._decode(inner, rows[places], divide=False)
        selected = None if kept.all() else np.flatnonzero(kept)
        regular = rows if selected is None else rows[selected]
        if not len(regular):
            return
        self._left[regular] = False
        table = self._table(cls.stem())
        table.set_regular(walk.top, walk.stops - starts, selected, regular)
        if self.judge:
            judgement = Judgement(walk)
            if misformed is not None:
                judgement.unsure[misformed] = True
            for row in rows[np.flatnonzero(judgement.unsure & kept)].tolist():
                anomalies = self._inspect(row).anomalies
                if anomalies:
                    table.add_anomalies(row, anomalies)
            for place, anomalies in judgement.anomalies(kept, starts):
                table.add_anomalies(int(rows[place]), anomalies)
