"""Bits, views and MUSTs: they judge what is known and hold where nothing is."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec
import pytest

from msmq_wire.wire import registry
from msmq_wire.wire.expressions import UNDETERMINED, this
from msmq_wire.wire.musts import Bit, BitTable, CodedMust, Must, View


class _Kind(IntEnum):
    ONE = 1


class _Inner(msgspec.Struct, frozen=True):
    size: Any = 4


class _Outer(msgspec.Struct, frozen=True):
    flags: Any = 0x13
    inner: Any = _Inner()
    other: Any = None


_TABLE = BitTable("flags", pr=(0, 3, "priority", True), in_=(3, "internal"), kind=(4, 2, _Kind), x1=6)


def test_a_table_names_single_bits_groups_and_their_meanings() -> None:
    assert list(_TABLE.bits.values()) == [
        Bit("pr", 0, 3, doc="priority", at_zero=True),
        Bit("in", 3, doc="internal"),
        Bit("kind", 4, 2, _Kind),
        Bit("x1", 6),
    ]
    assert [bit.mask for bit in _TABLE.bits.values()] == [0x07, 0x08, 0x30, 0x40]
    assert [bit.name for bit in _TABLE.bits.values() if bit.reserved] == ["x1"]


def test_every_bit_that_is_not_reserved_says_what_it_means() -> None:
    structures = (*registry.HEADERS.values(), *registry.PACKETS.values())
    bits = [bit for cls in structures if cls.BITS is not None for bit in cls.BITS.bits.values()]
    assert len(bits) > 100
    assert [bit for bit in bits if bool(bit.doc) == bit.reserved] == []


def test_bits_are_taken_out_and_put_in() -> None:
    assert (_TABLE.extract(0x1D, "pr"), _TABLE.extract(0x1D, "in"), _TABLE.extract(0x1D, "kind")) == (5, 1, 1)
    assert _TABLE.insert(0xFFFF, "kind", 0) == 0xFFCF
    assert _TABLE.insert(0, "kind", 3) == 0x30


@pytest.mark.parametrize("value", [-1, 4, 1 << 40])
def test_a_value_that_does_not_fit_its_bits_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="kind"):
        _TABLE.insert(0, "kind", value)


def test_a_name_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no bit 'in_'"):
        _TABLE.extract(0, "in_")


def test_a_view_shows_fields_parts_and_the_structure_around() -> None:
    view = View(_Outer())
    assert (view["flags"], view["inner"]["size"]) == (0x13, 4)
    assert view["inner"]["_"]["flags"] == 0x13
    assert (list(view), len(view)) == (["flags", "inner", "other"], 3)


@pytest.mark.parametrize("value", [None, msgspec.UNSET])
def test_what_is_absent_or_was_not_reached_is_undetermined(value: Any) -> None:
    view = View(_Outer(flags=value, inner=value))
    assert view["flags"] is UNDETERMINED
    assert view["inner"] is UNDETERMINED
    assert view["inner"]["size"] is UNDETERMINED
    assert view["nothing of that name"] is UNDETERMINED
    assert view["_"] is UNDETERMINED


@pytest.mark.parametrize(
    ("outer", "holds"),
    [
        pytest.param(_Outer(inner=_Inner(size=4)), True, id="known and true"),
        pytest.param(_Outer(inner=_Inner(size=5)), False, id="known and false"),
        pytest.param(_Outer(inner=None), True, id="the part is absent"),
        pytest.param(_Outer(inner=_Inner(size=msgspec.UNSET)), True, id="the field was not reached"),
    ],
)
def test_a_must_holds_unless_it_is_known_to_be_broken(outer: _Outer, holds: bool) -> None:
    must = Must("size", this.inner.size == 4, at="inner.size", message="size must be 4")
    assert must.holds(View(outer)) is holds
    coded = CodedMust("size", lambda view: view["flags"] == 0x13, at="flags", message="flags")
    assert coded.holds(View(outer))
