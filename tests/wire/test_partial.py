"""Fields of values that may be there in part."""

from __future__ import annotations

import msgspec

from msmq_wire.rpc.types.directory_query import ColumnSet
from msmq_wire.wire.partial import reached, reached_at, reached_number


class Held(msgspec.Struct):
    columns: ColumnSet | msgspec.UnsetType | None = None


def test_what_is_absent_or_was_not_reached_is_none() -> None:
    assert reached(Held(), "columns") is None
    assert reached(Held(msgspec.UNSET), "columns") is None
    assert reached(Held(), "other") is None


def test_a_path_leads_through_parts_as_far_as_they_are_there() -> None:
    assert reached_at(Held(ColumnSet(c_col=2, a_col=(101, 103))), "columns.a_col") == (101, 103)
    assert reached_at(Held(msgspec.UNSET), "columns.a_col") is None
    assert reached_at(None, "columns.a_col") is None


def test_a_number_is_one_or_none() -> None:
    assert reached_number(Held(ColumnSet(c_col=2)), "columns.c_col") == 2
    assert reached_number(Held(ColumnSet(a_col=(1,))), "columns.a_col") is None
