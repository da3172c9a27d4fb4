"""MUSTs over a batch: which rows break which MUST, and where.

The rule kept here: a row is said to break a MUST only where the same expression, or the same named check, was
asked of its values and the field at fault has a place. Of all others nothing is said: the codec judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from msmq_wire.engines.columns.batch_decoder import ColumnDecoder
from msmq_wire.engines.columns.scopes import column_at, end_with_only_nul, evaluate, verdicts
from msmq_wire.engines.columns.vectors import (
    Bools,
    Integers,
    NumberColumn,
    OctetsColumn,
    StructColumn,
    UnionColumn,
)
from msmq_wire.engines.reference import MAX_ANOMALIES
from msmq_wire.wire.expressions import Undetermined
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import Anomaly, CodedMust, Must
from msmq_wire.wire.packets.acknowledgment import is_order_queue
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.wchar_text import WcharText


def order_queues(header: StructColumn, asked: Bools | None = None) -> Bools:
    """Which of all rows of a walk go to an order queue; of those ``asked``, if given."""
    found = np.zeros(header.rows.total, np.bool_)
    column = header.fields["destination_queue"]
    for arm in column.arms if isinstance(column, UnionColumn) else (column,):
        if not isinstance(arm, StructColumn):
            continue
        rows = arm.rows if asked is None else arm.rows.narrowed(np.flatnonzero(asked[arm.rows.mask]))
        if not rows.count:
            continue
        field = "direct_format_name" if arm.cls is DirectQueueFormatName else "private_queue_identifier"
        column_of_name = arm.fields.get(field)
        if isinstance(column_of_name, OctetsColumn):
            name = OctetsColumn(
                column_of_name.source,
                rows,
                WcharText,
                arm.rows.spread(column_of_name.offsets, rows),
                arm.rows.spread(column_of_name.lengths, rows),
            )
            found[rows.mask] = verdicts(_is_order_name, [name], rows)
        elif arm.cls is PrivateQueueFormatNameId and isinstance(column_of_name, NumberColumn):
            found[rows.mask] = verdicts(_is_order_number, [column_of_name], rows)
    return found


def _is_order_name(name: WcharText) -> bool:
    queue = DirectQueueFormatName(direct_format_name=name)
    return is_order_queue(UserHeader(destination_queue=queue).with_bits(dq=QueueType.DIRECT))


def _is_order_number(number: int) -> bool:
    queue = PrivateQueueFormatNameId(private_queue_identifier=number)
    header = UserHeader(destination_queue=queue)
    return is_order_queue(header.with_bits(dq=QueueType.PRIVATE_ON_DESTINATION_HOST))


# Checks of whole structures, for all rows at once.
_WHOLE: Mapping[Callable[..., bool], Callable[[StructColumn], Bools]] = {is_order_queue: order_queues}
# Labels differ from message to message, so they are not worth a check of each: all that end with their only
# NUL keep the MUST.
_LABEL = next(must for must in MessagePropertiesHeader.MUSTS if must.code == "label")


class Judgement:
    """What the MUSTs say of the rows of a walk: of those that are ``unsure`` only the codec can tell.

    Rows that are bad, or of another class than that of the walk, mean nothing.
    """

    def __init__(self, walk: ColumnDecoder) -> None:
        self.unsure = np.zeros(len(walk.bad), np.bool_)
        self._broken: list[tuple[StructColumn, Must | CodedMust, Integers]] = []
        # In the order of the bytes, a structure before what is in it, as the codec judges.
        for part in walk.parts:
            for must in part.cls.MUSTS:
                self._ask(part, must)

    @property
    def unproven(self) -> Bools:
        """The rows that are not shown to keep every MUST."""
        found = self.unsure.copy()
        for _, _, rows in self._broken:
            found[rows] = True
        return found

    def _ask(self, part: StructColumn, must: Must | CodedMust) -> None:
        rows, certain = part.rows, True
        if isinstance(must, CodedMust):
            holds, certain = _coded(must, part)
        else:
            value, known = evaluate(must.expression, part, rows)
            if isinstance(value, Undetermined):
                return
            holds = np.asarray(value, np.bool_)
            if known is not None:
                holds = holds | ~known
        if holds.all():
            return
        broken = np.flatnonzero(~np.broadcast_to(holds, rows.count))
        if rows.index is not None:
            broken = rows.index[broken]
        column = column_at(part, must.at)
        if (
            certain
            and part.path is not None
            and isinstance(column, NumberColumn | OctetsColumn)
            and column.is_placed
        ):
            self._broken.append((part, must, broken))
            broken = broken[~column.rows.mask[broken]]
        self.unsure[broken] = True

    def anomalies(self, kept: Bools, starts: Integers) -> Iterator[tuple[int, tuple[Anomaly, ...]]]:
        """The rows that are ``kept`` and break a MUST for sure, with what they break.

        ``starts`` are where the packets begin in the source.
        """
        wanted = kept & ~self.unsure
        found: dict[int, list[Anomaly]] = {}
        for part, must, rows in self._broken:
            rows = rows[wanted[rows]]
            column = column_at(part, must.at)
            assert isinstance(column, NumberColumn | OctetsColumn)
            offsets = column.rows.spread(column.offsets, part.rows.of(rows)) - starts[rows]
            lengths = column.rows.spread(column.lengths, part.rows.of(rows))
            code, path = f"{part.cls.stem()}.{must.code}", f"{part.path}.{must.at}" if part.path else must.at
            spec = must.spec or part.cls.SPEC
            for row, offset, length in zip(rows.tolist(), offsets.tolist(), lengths.tolist(), strict=True):
                found.setdefault(row, []).append(
                    Anomaly(
                        code=code,
                        message=must.message,
                        path=path,
                        offset=offset,
                        length=length,
                        spec=spec,
                    )
                )
        for row, anomalies in found.items():
            yield row, tuple(anomalies[:MAX_ANOMALIES])


def _coded(must: CodedMust, part: StructColumn) -> tuple[Bools, bool]:
    """Where a MUST holds, and whether it is broken everywhere else; one value can stand for all rows."""
    columns = [column_at(part, path) for path in must.of]
    if must.of and any(column is None for column in columns):
        return np.ones(1, np.bool_), True
    whole = _WHOLE.get(must.check)
    if whole is not None and len(columns) == 1 and isinstance(columns[0], StructColumn):
        inner = columns[0].rows
        return whole(columns[0])[part.rows.mask] | ~inner.mask[part.rows.mask], False
    if must is _LABEL and isinstance(columns[0], OctetsColumn) and end_with_only_nul(columns[0]):
        return np.ones(1, np.bool_), True
    simple = [column for column in columns if isinstance(column, NumberColumn | OctetsColumn)]
    if not must.of or len(simple) < len(columns):
        return np.zeros(1, np.bool_), False
    return verdicts(must.check, simple, part.rows), True
