"""Non-encapsulated unions, [C706] 14.3.8 and [MS-RPCE] 2.2.5.3.4.4."""

from __future__ import annotations

from typing import Annotated, Any, cast

import pytest

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    HYPER,
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    WORD,
    Arm,
    Conformant,
    Fields,
    NdrStruct,
    StubValue,
    Syntax,
    Union,
    Unique,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.ndr.stub_stream import Residue
from msmq_wire.wire.expressions import this

_UNION = Union(
    this.kind,
    WORD,
    {0: Arm(), 1: Arm("small", BYTE), 2: Arm("large", HYPER), 3: Arm("target", Unique(DWORD))},
)


class Chosen(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A union and what selects its arm."""

    kind: Annotated[int, WORD] = 0
    arm: Annotated[Any, _UNION] = None
    after: Annotated[int, BYTE] = 0


CHOSEN = Fields(Chosen)


@pytest.mark.parametrize(
    ("syntax", "digits", "kind", "arm"),
    [
        # NDR: the tag at its own alignment, the arm at its own, no gap at the end.
        (NDR, "0000 0000 05", 0, None),
        (NDR, "0100 0100 07 05", 1, 7),
        (NDR, "0200 0200 00000000 0700000000000000 05", 2, 7),
        (NDR, "0300 0300 01000000 05 000000 07000000", 3, 7),
        (NDR, "0300 0300 00000000 05", 3, None),
        (NDR_BIG_ENDIAN, "0002 0002 00000000 0000000000000007 05", 2, 7),
        # NDR64: tag and arm both at the alignment of the largest arm, the structure padded.
        (NDR64, "0000000000000000 0000000000000000 0500000000000000", 0, None),
        (NDR64, "0100000000000000 0100000000000000 0705000000000000", 1, 7),
        (NDR64, "0200000000000000 0200000000000000 0700000000000000 0500000000000000", 2, 7),
        (
            NDR64,
            "0300000000000000 0300000000000000 0100000000000000 0500000000000000 07000000",
            3,
            7,
        ),
    ],
)
def test_an_arm_lies_where_the_syntax_has_it(syntax: Syntax, digits: str, kind: int, arm: Any) -> None:
    stub = bytes.fromhex(digits)
    decoded = decode_stub(CHOSEN, stub, syntax)
    assert decoded.value == Chosen(kind=kind, arm=arm, after=5)
    assert encode_stub(CHOSEN, decoded, syntax) == stub
    assert inspect_stub(CHOSEN, stub, syntax).anomalies == ()


@pytest.mark.parametrize(("syntax", "kind"), [(NDR, 4), (NDR, 0xFFFF), (NDR64, 4), (NDR_BIG_ENDIAN, 9)])
def test_a_selector_without_an_arm_is_an_error_with_its_place(syntax: Syntax, kind: int) -> None:
    number = kind.to_bytes(2, "big" if syntax.big_endian else "little")
    stub = number + bytes(6) * syntax.wide + number + bytes(30)
    with pytest.raises(DecodeError, match=f"{kind} selects nothing") as caught:
        decode_stub(CHOSEN, stub, syntax)
    error = caught.value
    assert (error.code, error.path) == ("unknown-selector", "arm")
    assert error.offset == (8 if syntax.wide else 2)
    assert cast(Any, error.partial).kind == kind


def test_a_repeated_selector_that_differs_is_told_and_comes_back() -> None:
    type_ = Conformant(CHOSEN)
    stub = bytes.fromhex("02000000 00000000 0100 0100 07 05 0000 0100 6300 07 05")
    result = inspect_stub(type_, stub)
    assert result.value == (Chosen(kind=1, arm=7, after=5),) * 2
    assert result.residue == Residue(tags=((1, 0x63),))
    assert [(found.code, found.path, found.offset, found.length) for found in result.anomalies] == [
        ("ndr.union-tag", "[1].arm", 18, 2)
    ]
    assert encode_stub(type_, decode_stub(type_, stub)) == stub


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Chosen(kind=4), "arm"),
        (Chosen(kind=0, arm=7), "arm"),
        (Chosen(kind=1, arm=None), "arm"),
        (Chosen(kind=1, arm=256), "arm"),
        (Chosen(kind=2, arm="7"), "arm"),
        (Chosen(kind="1"), "kind"),  # type: ignore[arg-type]  # wrong on purpose
    ],
)
def test_an_arm_that_its_selector_does_not_name_is_refused(value: Chosen, path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_stub(CHOSEN, StubValue(value))
    assert caught.value.path == path


def test_alignment_is_that_of_the_largest_arm() -> None:
    assert (_UNION.alignment(NDR), _UNION.alignment(NDR64)) == (8, 8)
    small = Union(this.kind, WORD, {0: Arm(), 1: Arm("small", BYTE)})
    assert (small.alignment(NDR), small.alignment(NDR64)) == (2, 2)
    pointing = Union(this.kind, WORD, {0: Arm("target", Unique(BYTE))})
    assert (pointing.alignment(NDR), pointing.alignment(NDR64)) == (4, 8)
