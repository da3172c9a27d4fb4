"""NDR types as construct subcons, and expressions in a scope."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, cast

import construct
import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    Conformant,
    Fields,
    NdrStruct,
    Syntax,
    Unique,
)
from msmq_wire.rpc.ndr.types import NdrType, size_evaluator
from msmq_wire.rpc.types.queue_format import QUEUE_FORMAT, QueueFormat
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import ABSENT, UNDETERMINED, this
from msmq_wire.wire.fields import Node, WireStruct
from msmq_wire.wire.types.wchar_text import WcharText


class Pair(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A number and a pointer."""

    SPEC: ClassVar[SpecRef] = SpecRef("C706", "14.3.6")
    number: Annotated[int, DWORD, "A number."] = 0
    target: Annotated[int | None, Unique(DWORD), "Another."] = None


PAIR = Fields(Pair)


class Framed(WireStruct, frozen=True, kw_only=True, gc=False):
    """An NDR type between fields of a wire structure."""

    SPEC: ClassVar[SpecRef] = SpecRef("C706", "14.3.6")
    kind: Annotated[int, construct.Int8ul, "One byte."] = 0
    pair: Annotated[Pair, PAIR.construct(NDR), "NDR."] = Pair()
    after: Annotated[int, construct.Int8ul, "One byte."] = 0


@pytest.mark.parametrize(
    ("syntax", "digits"),
    [
        (NDR, "05000000 00000200 07000000"),
        (NDR_BIG_ENDIAN, "00000005 00020000 00000007"),
        (NDR64, "05000000 00000000 0000020000000000 07000000"),
    ],
)
def test_a_type_parses_and_builds_as_a_construct(syntax: Syntax, digits: str) -> None:
    subcon, data = PAIR.construct(syntax), bytes.fromhex(digits)
    assert subcon.parse(data) == Pair(number=5, target=7)
    assert subcon.build(Pair(number=5, target=7)) == data


def test_a_type_composes_with_fields_of_wire_structures() -> None:
    schema = Node(Framed)
    data = bytes.fromhex("09 05000000 00000200 07000000 08")
    value = schema.parse(data)
    assert value == Framed(kind=9, pair=Pair(number=5, target=7), after=8)
    assert schema.build(value) == data


def test_a_type_composes_with_a_struct_of_construct() -> None:
    format_ = construct.Struct("length" / construct.Int8ul, "queue" / QUEUE_FORMAT.construct(NDR64))
    queue = QueueFormat(m_qft=3, arm=WcharText.of("OS:a\\q"))
    data = format_.build({"length": 3, "queue": queue})
    parsed = format_.parse(data)
    assert (parsed.length, parsed.queue) == (3, queue)


def test_a_size_in_a_construct_is_a_field_around_it() -> None:
    format_ = construct.Struct(
        "size" / construct.Int8ul, "items" / Conformant(BYTE, size=this.size).construct(NDR)
    )
    parsed = format_.parse(bytes.fromhex("02 02000000 aabb"))
    assert parsed["items"] == b"\xaa\xbb"


def test_an_error_in_a_construct_counts_from_where_the_bytes_start() -> None:
    with pytest.raises(DecodeError) as caught:
        Node(Framed).parse(bytes.fromhex("09 05000000 00000200 0700"))
    assert (caught.value.path, caught.value.offset) == ("pair.target", 9)
    assert cast(Any, caught.value.partial).pair.number == 5


def test_a_construct_refuses_what_does_not_fit() -> None:
    with pytest.raises(EncodeError):
        PAIR.construct(NDR).build(Pair(number=-1))


@pytest.mark.parametrize(
    ("expression", "scope", "number"),
    [
        (this.a, {"a": 3}, 3),
        (this.a, {"a": ABSENT}, None),
        (this.a, {"a": UNDETERMINED}, None),
        (this.a, {"a": "3"}, None),
        (this.a + 1, {"a": 3}, 4),
        (this.a + 1, {"a": ABSENT}, None),
        (20, {}, 20),
        (None, {}, None),
    ],
)
def test_an_expression_is_a_number_or_nothing(expression: Any, scope: dict[str, Any], number: int) -> None:
    assert size_evaluator(expression)(scope) == number


def test_a_type_without_rules_says_so() -> None:
    type_ = NdrType()
    for call in (type_.alignment, type_.minimum_size):
        with pytest.raises(NotImplementedError):
            call(NDR)
    assert not type_.has_deferred()
    assert not type_.uses_scope()
