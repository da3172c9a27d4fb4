"""Messages of a run, grouped where a diagnosis counts them the same way.

The rule kept here: the counts depend only on the look, the shape and the sizes of a message. So one message
of each look and shape is examined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from msmq_wire.engines.columns.json_values import format_names, has
from msmq_wire.engines.columns.scopes import column_at, columns_at, combinations
from msmq_wire.engines.columns.vectors import Integers, NumberColumn, OctetsColumn, RowSet, StructColumn
from msmq_wire.records.body_keys import keys_in_force
from msmq_wire.records.run import Run
from msmq_wire.records.signatures import signatures_are_asked
from msmq_wire.wire.packets.user_message import UserMessage

_PROPERTIES = "message_properties_header"
_BODY, _SIZE = f"{_PROPERTIES}.message_body", f"{_PROPERTIES}.message_size"
_TYPE, _LEVEL = f"{_PROPERTIES}.body_type", f"{_PROPERTIES}.privacy_level"
_SECURITY, _EB = "security_header.flags", 1 << 5
_SHAPE = (
    "base_header.flags",
    "user_header.flags",
    f"{_PROPERTIES}.flags",
    f"{_PROPERTIES}.message_class",
    f"{_PROPERTIES}.hash_algorithm",
    f"{_PROPERTIES}.encryption_algorithm",
    _LEVEL,
    _SECURITY,
    "security_header.signature_size",
    "security_header.security_data.security_id",
    "security_header.security_data.sender_cert",
)


class MessageGroup(msgspec.Struct, frozen=True, gc=False):
    """Messages that count alike: their first and last index in the run, number, sizes, and truncated ones."""

    first: int
    last: int
    count: int
    total: int
    smallest: int
    largest: int
    cut: int


class GroupedMessages:
    """The whole messages of a run; ``rest`` are the indexes of packets that need single examination.

    ``looks`` are the queue, the body type, the first ``head`` bytes of the body (none if it is encrypted),
    and whether it is encrypted; None without a body.
    """

    def __init__(self, run: Run, head: int) -> None:
        rest = np.ones(len(run), np.bool_)
        self.looks: list[tuple[str | None, int, bytes, bool] | None] = []
        self._places = none = np.zeros(0, np.int64)
        self._traits = self._shape = self._lengths = self._sizes = none
        for found in run.proven():
            # Of other classes nothing is counted.
            rest[found.places] = False
            if found.cls is UserMessage and len(found.rows):
                whole = has(found.top, _SIZE, found.rows)
                # What is in those that look alike may differ, and what their signatures are worth.
                rows = found.top.rows
                rows = rows if len(found.rows) == rows.count else rows.narrowed(found.rows)
                if keys_in_force():
                    whole &= _numbers(found.top, _SECURITY, rows) & _EB == 0
                if signatures_are_asked():
                    whole &= _numbers(found.top, "security_header.signature_size", rows) == 0
                rest[found.places[~whole]] = True
                self._places = found.places[whole]
                self._read(found.top, found.rows[whole], head)
        self.rest: list[int] = np.flatnonzero(rest).tolist()

    def _read(self, top: StructColumn, index: Integers, head: int) -> None:
        rows = top.rows if len(index) == top.rows.count else top.rows.narrowed(index)
        header, body = column_at(top, "user_header"), column_at(top, _BODY)
        assert isinstance(header, StructColumn)
        assert isinstance(body, OctetsColumn)
        codes, names = format_names(header, "destination_queue")
        answers, _ = format_names(header, "response_queue")
        queue, response = NumberColumn(rows, codes[index]), NumberColumn(rows, answers[index])
        self._sizes, self._lengths = _numbers(top, _SIZE, rows), body.rows.spread(body.lengths, rows)
        encrypted = (_numbers(top, _LEVEL, rows) != 0) | (_numbers(top, _SECURITY, rows) & _EB != 0)
        first = OctetsColumn(
            body.source,
            rows,
            bytes,
            body.rows.spread(body.offsets, rows),
            np.where(encrypted, 0, np.minimum(self._lengths, head)),
        )
        filled = NumberColumn(rows, self._lengths != 0)
        of_look = [queue, *columns_at(top, _TYPE), first, NumberColumn(rows, encrypted), filled]
        self._traits, looks = combinations(of_look, rows)
        self.looks = [
            (names[queue], kind, data, bool(hidden)) if full else None
            for queue, kind, data, hidden, full in looks
        ]
        of_shape = [queue, response, filled, *(one for path in _SHAPE for one in columns_at(top, path))]
        self._shape, _ = combinations(of_shape, rows)

    def looked(self) -> Iterator[tuple[int, MessageGroup]]:
        """The number of each look with its messages, in order of the first message."""
        return self._grouped(self._traits, self._lengths)

    def shaped(self, kinds: Sequence[int]) -> Iterator[tuple[int, MessageGroup]]:
        """Each kind with its messages of one shape, in order of the first message.

        ``kinds`` maps the number of a look to the number of its kind.
        """
        if not len(self._traits):
            return
        own = np.array(kinds, np.int64)[self._traits]
        most = int(own.max()) + 1
        for code, group in self._grouped(self._shape * most + own, self._sizes):
            yield code % most, group

    def _grouped(self, codes: Integers, sizes: Integers) -> Iterator[tuple[int, MessageGroup]]:
        if not len(codes):
            return
        order = np.argsort(codes, kind="stable")
        ordered, sizes, cut = codes[order], sizes[order], (self._lengths < self._sizes)[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        ends = np.append(starts[1:], len(order))
        columns = (
            self._places[order[starts]],
            self._places[order[ends - 1]],
            ends - starts,
            np.add.reduceat(sizes, starts),
            np.minimum.reduceat(sizes, starts),
            np.maximum.reduceat(sizes, starts),
            np.add.reduceat(cut.astype(np.int64), starts),
        )
        by_first = np.argsort(columns[0])
        numbers = ordered[starts][by_first].tolist()
        groups = zip(*(column[by_first].tolist() for column in columns), strict=True)
        for number, group in zip(numbers, groups, strict=True):
            yield number, MessageGroup(*group)


def _numbers(top: StructColumn, path: str, rows: RowSet) -> Integers:
    """A column of numbers; absent values are 0."""
    columns = columns_at(top, path)
    found: Integers = np.zeros(rows.count, np.int64)
    for column in columns:
        assert isinstance(column, NumberColumn)
        found = column.rows.spread(column.values, rows)
    return found
