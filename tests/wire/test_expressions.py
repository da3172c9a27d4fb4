"""Expressions: what is known is computed, what is not known stays unknown."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from msmq_wire.wire.expressions import (
    ABSENT,
    UNDETERMINED,
    aligned,
    bit_target,
    evaluate,
    length_target,
    one_of,
    ordering,
    size_,
    this,
    within,
)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (one_of(this.n, 1, 3), True),
        (one_of(this.n, 1, 2), False),
        (within(this.n, 3, 3), True),
        (within(this.n, 4, 9), False),
        (aligned(this.n), 4),
        (aligned(this.n, 8), 8),
        (aligned(this.n + 1), 4),
        (size_(this.data), 5),
        (this._.n + this.n, 10),
        (-this.n & 3, 1),
        (this.n, 3),
        (17, 17),
    ],
)
def test_an_expression_has_a_value_in_a_scope(expression: Any, value: int) -> None:
    assert evaluate(expression, {"n": 3, "data": b"abcde", "_": {"n": 7}}) == value


@pytest.mark.parametrize("to", [2, 4, 8])
def test_aligned_is_the_next_multiple(to: int) -> None:
    for number in range(20):
        assert evaluate(aligned(this.n, to), {"n": number}) == (number + to - 1) // to * to


_OPERATIONS: list[Callable[[Any], Any]] = [
    lambda x: x + 1,
    lambda x: 1 + x,
    lambda x: x - 1,
    lambda x: 1 - x,
    lambda x: x * 2,
    lambda x: 2 * x,
    lambda x: x // 2,
    lambda x: 2 // x,
    lambda x: x % 2,
    lambda x: 2 % x,
    lambda x: x & 1,
    lambda x: 1 & x,
    lambda x: x | 1,
    lambda x: 1 | x,
    lambda x: x ^ 1,
    lambda x: 1 ^ x,
    lambda x: x << 1,
    lambda x: 1 << x,
    lambda x: x >> 1,
    lambda x: 1 >> x,
    lambda x: -x,
    lambda x: x == 1,
    lambda x: x != 1,
    lambda x: x < 1,
    lambda x: x <= 1,
    lambda x: x > 1,
    lambda x: x >= 1,
    lambda x: x["field"],
]


@pytest.mark.parametrize("unknown", [UNDETERMINED, ABSENT])
@pytest.mark.parametrize("operation", _OPERATIONS)
def test_what_is_computed_from_the_unknown_is_unknown(operation: Any, unknown: Any) -> None:
    assert operation(unknown) is unknown


def test_the_unknown_is_false_and_has_no_size() -> None:
    assert not UNDETERMINED
    assert not ABSENT
    assert evaluate(size_(this.part), {"part": UNDETERMINED}) is UNDETERMINED
    assert evaluate(this.part.field + 1, {"part": ABSENT}) is ABSENT
    assert len({UNDETERMINED, ABSENT}) == 2


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (this.size, (("size",), 1, 0)),
        (this._.size - 4, (("_", "size"), 1, -4)),
        (this.length * 2, (("length",), 2, 0)),
        (2 * this.length + 8, (("length",), 2, 8)),
        ((this.length + 1) * 2, (("length",), 2, 2)),
        (4 - this.length, None),
        (this.size - this.length, None),
        (16, None),
    ],
)
def test_a_length_names_the_field_that_decides_it(
    expression: Any, expected: tuple[tuple[str, ...], int, int] | None
) -> None:
    target = length_target(expression)
    found = None if target is None else (target.path, target.factor, target.constant)
    assert found == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (this.flags & 0x100 != 0, (("flags",), 8, 1, None)),
        (this.flags & 3 == 1, (("flags",), 0, 3, 1)),
        (this._.user_header.flags >> 10 & 7, (("_", "user_header", "flags"), 10, 7, None)),
        (this.extension_header.flags & 0x10 != 0, (("extension_header", "flags"), 4, 1, None)),
        (this.flags + 1, None),
        (5, None),
    ],
)
def test_a_condition_names_the_bits_it_looks_at(expression: Any, expected: Any) -> None:
    target = bit_target(expression)
    found = None if target is None else (target.path, target.shift, target.mask, target.value)
    assert found == expected


def test_a_comparison_of_two_fields_is_told_apart() -> None:
    assert ordering(this.a >= this.b) == (operator.ge, "a", "b")
    assert ordering(this.a >= 3) is None
    assert ordering(this.a) is None
