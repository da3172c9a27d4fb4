"""A marker beside a field: the number it reads, and what it says to all that show structures."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
from construct import Int8ul

from msmq_wire.engines.arrow_cells import cells
from msmq_wire.engines.text.json import json_text
from msmq_wire.records.view import view
from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import Bytes, Node, WireStruct, fields
from msmq_wire.wire.shown import ABSENT_IF_EMPTY, ShownText


def _text(number: int, data: bytes) -> str | None:
    return data.decode("ascii") if number == 3 else None


class _Inner(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    name: Annotated[bytes, Bytes(2), ShownText(_text, by="_.kind", mask=0xF), ABSENT_IF_EMPTY, "Name."] = b""


class _Outer(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    kind: Annotated[int, Int8ul, "Kind."] = 3
    own: Annotated[
        bytes, Bytes(2), ShownText(_text, by="kind", whole=lambda number, data: data[1] == 0), "Own."
    ] = b"a\0"
    inner: Annotated[_Inner, Node(_Inner), "Inner."] = _Inner()


def test_a_declaration_says_how_a_field_is_shown() -> None:
    own = next(field for field in fields(_Outer) if field.name == "own")
    assert (own.doc, own.absent_if_empty) == ("Own.", False)
    assert isinstance(own.shown, ShownText)
    name = fields(_Inner)[0]
    assert (name.doc, name.absent_if_empty) == ("Name.", True)


def test_every_writer_shows_what_the_marker_says() -> None:
    shown = _Outer(kind=3, own=b"ab", inner=_Inner(name=b"xy"))
    seen = {"kind": 3, "own": "ab", "inner": {"name": "xy"}, "own_raw": "YWI="}
    assert view(shown) == seen
    assert msgspec.json.decode(json_text(shown) or "") == seen
    target = [pa.field("inner", pa.struct([pa.field("name", pa.string())]))]
    assert cells(shown, target) == {
        "kind": 3, "own": "ab", "own_raw": b"ab", "inner": {"name": "xy", "name_raw": None},
    }  # fmt: skip


def test_bytes_that_are_no_text_are_shown_themselves_and_none_are_absent() -> None:
    other = _Outer(kind=0x13, own=b"a\0", inner=_Inner())
    assert view(other) == {"kind": 0x13, "own": "YQA=", "inner": {"name": None}}
    assert msgspec.json.decode(json_text(other) or "") == view(other)
    around = _Outer(kind=0x13, own=b"a\0", inner=_Inner(name=b"xy"))
    # Of the number around it four bits count.
    assert view(around)["inner"] == {"name": "xy"}
    assert view(_Inner(name=b"xy")) == {"name": "eHk="}
