"""The three transfer syntaxes: byte order, width, layouts."""

from __future__ import annotations

import pickle

import pytest

from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, Syntax


@pytest.mark.parametrize(
    ("syntax", "order", "count", "packed"),
    [(NDR, "<", "I", "0100"), (NDR_BIG_ENDIAN, ">", "I", "0001"), (NDR64, "<", "Q", "0100")],
)
def test_a_syntax_says_how_numbers_lie(syntax: Syntax, order: str, count: str, packed: str) -> None:
    assert (syntax.order, syntax.count) == (order, count)
    assert syntax.layout("H").pack(1) == bytes.fromhex(packed)


def test_both_byte_orders_of_ndr_have_one_name() -> None:
    assert (NDR.name, NDR_BIG_ENDIAN.name, NDR64.name) == ("ndr", "ndr", "ndr64")
    assert len({NDR, NDR_BIG_ENDIAN, NDR64}) == 3


def test_layouts_are_compiled_once() -> None:
    assert NDR.layout("IHB") is NDR.layout("IHB")
    assert NDR.layout("IHB") is not NDR_BIG_ENDIAN.layout("IHB")


@pytest.mark.parametrize("syntax", [NDR, NDR_BIG_ENDIAN, NDR64])
def test_a_syntax_that_was_pickled_is_the_same_syntax(syntax: Syntax) -> None:
    assert pickle.loads(pickle.dumps(syntax)) == syntax
