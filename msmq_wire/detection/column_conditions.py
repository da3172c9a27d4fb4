"""`rule_masks`: selects the packets of a batch that each rule must check, by column.

The rule kept here: a mask is true for the same packets as the function of `compile_conditions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from msmq_wire.detection.guards import CodedCondition, Condition, conditions
from msmq_wire.detection.rule import Rule
from msmq_wire.engines.columns import ProvenPackets
from msmq_wire.engines.columns.scopes import columns_at, evaluate, verdicts
from msmq_wire.engines.columns.vectors import (
    BatchBytes,
    Bools,
    Integers,
    NumberColumn,
    OctetsColumn,
    RowSet,
    StructColumn,
)
from msmq_wire.records.run import Run
from msmq_wire.wire.expressions import Undetermined
from msmq_wire.wire.fields import WireStruct


class _Named(NumberColumn):
    """A column of texts, each as a number."""

    def __init__(self, rows: RowSet, codes: Integers, texts: Sequence[str]) -> None:
        super().__init__(rows, codes)
        self._texts = texts

    def distinct(self) -> tuple[Integers, list[str]]:  # type: ignore[override]  # texts in place of numbers
        return self.values, list(self._texts)


def packets_to_check(
    run: Run, rules_of: Callable[[str], Sequence[Rule]], counted: Callable[[Rule, int], bool]
) -> Iterator[tuple[int, int, list[Rule] | None]]:
    """The packets of which some of the rules have to be asked: id, place, and those rules.

    ``rules_of`` are those about whole packets of a type; None are all that concern a packet. A rule is not
    asked where its number of packets is ``counted``.
    """
    asked_of: dict[int, list[Rule]] = {}
    unproven = np.ones(len(run), np.bool_)
    for found in run.proven():
        unproven[found.places] = False
        for rule, mask in rule_masks(run, found, rules_of(found.cls.stem())):
            if rule.exact and counted(rule, int(mask.sum())):
                continue
            for place in found.places[mask].tolist():
                asked_of.setdefault(place, []).append(rule)
    for place in np.flatnonzero(unproven).tolist():
        yield int(run.id[place]), place, None
    for place, rules in asked_of.items():
        yield int(run.id[place]), place, rules


def rule_masks(run: Run, found: ProvenPackets, rules: Sequence[Rule]) -> Iterator[tuple[Rule, Bools]]:
    """The mask of each rule over the packets of a class, without rules whose mask is empty."""
    if not len(found.rows):
        return
    rows = found.top.rows
    if len(found.rows) < rows.count:
        rows = rows.narrowed(found.rows)
    around = _around(run, found, rows)
    # Its parent is kept alive here.
    part = StructColumn(found.top.rows, found.cls, found.top.context, around)
    part.fields = found.top.fields
    for rule in rules:
        if rule.when is None:
            yield rule, np.ones(rows.count, np.bool_)
            continue
        mask = np.zeros(rows.count, np.bool_)
        for every in conditions(rule.when, found.cls):
            mask[_holding(every, part, rows)] = True
        if mask.any():
            yield rule, mask


def _around(run: Run, found: ProvenPackets, rows: RowSet) -> StructColumn:
    """The records of the packets, as a structure."""
    places = found.places
    part = StructColumn(rows, WireStruct, {}, None)
    counts = run.last[places] - run.first[places]
    ends = run.pair[places]
    part.fields = {
        "time": NumberColumn(rows, run.time[places]),
        "length": NumberColumn(rows, run.offsets[places + 1] - run.offsets[places]),
        # Only how many there are.
        "frames": OctetsColumn(BatchBytes(b""), rows, bytes, np.zeros_like(counts), counts),
        "src": _Named(rows, ends, [src for src, _ in run.pairs]),
        "dst": _Named(rows, ends, [dst for _, dst in run.pairs]),
    }
    return part


def _holding(every: tuple[Condition, ...], part: StructColumn, rows: RowSet) -> Integers:
    """The indexes of the rows where all conditions hold; each condition is evaluated on the rest."""
    places = np.arange(rows.count)
    for condition in every:
        holds = (
            _reported(condition, part, rows)
            if isinstance(condition, CodedCondition)
            else _said(condition, part, rows)
        )
        if not holds.all():
            local = np.flatnonzero(holds)
            places, rows = places[local], rows.narrowed(local)
        if not rows.count:
            break
    return places


def _said(condition: Condition, part: StructColumn, rows: RowSet) -> Bools:
    value, known = evaluate(condition, part, rows)
    if isinstance(value, Undetermined):
        return np.zeros(rows.count, np.bool_)
    holds = np.broadcast_to(np.asarray(value, np.bool_), rows.count)
    return holds if known is None else holds & known


def _reported(reported: CodedCondition, part: StructColumn, rows: RowSet) -> Bools:
    columns: list[NumberColumn | OctetsColumn] = []
    for path in reported.paths:
        found = columns_at(part, path)
        if not found:
            return np.zeros(rows.count, np.bool_)
        if len(found) > 1:
            raise TypeError(f"{path} is there in several layouts")
        columns += (_head(column, reported.head, rows) for column in found)
    return verdicts(reported.check, columns, rows, absent=False)


def _head(column: NumberColumn | OctetsColumn, head: int | None, rows: RowSet) -> NumberColumn | OctetsColumn:
    """The first bytes of a column, in some rows."""
    if not isinstance(column, OctetsColumn) or (
        head is None and (column.is_repetitive or rows is column.rows)
    ):
        return column
    local = np.flatnonzero(column.rows.mask if rows.index is None else column.rows.mask[rows.index])
    inner = rows.narrowed(local)
    lengths = column.rows.spread(column.lengths, inner)
    kind = column.kind
    if head is not None:
        lengths, kind = np.minimum(lengths, head), bytes
    return OctetsColumn(column.source, inner, kind, column.rows.spread(column.offsets, inner), lengths)
