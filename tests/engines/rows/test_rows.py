"""The rows engine: what is generated, when, and what it does with what it cannot do."""

from __future__ import annotations

import ast
import subprocess
import sys
import traceback
from typing import Annotated, Any, ClassVar

import construct
import pytest
from construct import Int16ub, Int16ul, Int32sl

from msmq_wire.engines import reference
from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.engines.rows import engine as rows
from msmq_wire.errors import DecodeError
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Ahead, Bytes, Choice, Items, Node, Opt, Tell, WireStruct
from msmq_wire.wire.generation import Generator
from msmq_wire.wire.nodes import WireConstruct
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import STRUCTURES
from msmq_wire.wire.types.guid import GUID


@pytest.mark.parametrize("stem", sorted(STRUCTURES))
def test_the_source_of_a_structure_is_marked_readable_and_the_same_every_time(stem: str) -> None:
    source = rows.source(STRUCTURES[stem])
    assert source.count("# Generated from the declaration of ") == 2
    assert source.count("never edited") == 2
    decoder, encoder = ast.parse(source).body
    assert isinstance(decoder, ast.FunctionDef)
    assert isinstance(encoder, ast.FunctionDef)
    assert (decoder.name, encoder.name) == (f"decode_{stem}", f"encode_{stem}")
    assert rows.source(STRUCTURES[stem]) == source


@pytest.mark.slow
def test_nothing_is_generated_before_it_is_needed() -> None:
    code = (
        "import msmq_wire\n"
        "from msmq_wire.engines import must_checks\nfrom msmq_wire.engines.rows import engine as rows\n"
        "assert not rows._decoders and not rows._encoders and not must_checks._judges\n"
        "msmq_wire.inspect(bytes(2) + b'HU' + bytes(20))\n"
        "print(len(rows._decoders), len(rows._encoders), len(must_checks._judges))"
    )
    reported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert reported.stdout == "1 0 1\n"


class _Numbers(WireStruct, frozen=True, kw_only=True, gc=False):
    """Numbers that the packets do not have."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    big: Annotated[int, Int16ub] = 0
    signed: Annotated[int, Int32sl] = 0
    six: Annotated[int, construct.BytesInteger(6)] = 0
    single: Annotated[int, construct.Int8sl] = 0


def test_numbers_of_every_size_sign_and_order_are_compiled() -> None:
    data = bytes.fromhex("0102 feffffff 000000000005 ff")
    value = _Numbers(big=0x0102, signed=-2, six=5, single=-1)
    assert rows.parse(_Numbers, data) == reference.parse(_Numbers, data) == (value, 13)
    assert rows.build(value) == reference.build(value) == data


class _Many(WireStruct, frozen=True, kw_only=True, gc=False):
    """A field that is called like a name of the generated code, and more fields than a call takes."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    data: Annotated[int, Int16ul] = 0
    end: Annotated[int, Int16ul] = 0
    value: Annotated[int, Int16ul] = 0
    known: Annotated[int, Int16ul] = 0
    append: Annotated[int, Int16ul] = 0
    parts: Annotated[int, Int16ul] = 0
    limit: Annotated[int, Int16ul] = 0
    p: Annotated[int, Int16ul] = 0
    q: Annotated[int, Int16ul] = 0
    selector: Annotated[int, Int16ul] = 0
    item: Annotated[int, Int16ul] = 0
    unpack: Annotated[int, Int16ul] = 0
    size: Annotated[int, Int16ul] = 0
    len: Annotated[int, Int16ul] = 0
    tuple: Annotated[int, Int16ul] = 0
    range: Annotated[int, Int16ul] = 0
    items: Annotated[bytes, Bytes(this.data)] = b""
    last: Annotated[int, Int16ul] = 0


def test_a_field_may_be_called_like_anything() -> None:
    data = bytes(number for pair in range(1, 17) for number in (pair, 0)) + b"x" + b"\x12\0"
    value, consumed = rows.parse(_Many, data)
    assert (value, consumed) == reference.parse(_Many, data)
    assert (value.data, value.range, value.items, value.last) == (1, 16, b"x", 0x12)
    assert rows.build(value) == data


class _Unruly(WireConstruct):
    """A node that says nothing of itself."""


class _WithUnruly(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    field: Annotated[int, _Unruly()] = 0


class _WithGreedy(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    field: Annotated[bytes, construct.GreedyBytes] = b""


class _WithFloat(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    field: Annotated[float, construct.Float32l] = 0


class _WithLambda(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    field: Annotated[bytes, Bytes(lambda scope: 4)] = b""


class _InPart(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    number: Annotated[int, Int16ul] = 0
    part: Annotated[_Numbers | None, Opt(this.number, Node(_Numbers))] = None
    field: Annotated[bytes | None, Choice(this.part.big, {0: Bytes(1)})] = None


class _SelectedAhead(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    _next: ClassVar[Annotated[int, Ahead(Int16ul, 0)]]
    field: Annotated[bytes, Choice(this._next, {0: Bytes(2)})] = b""


@pytest.mark.parametrize("cls", [_WithUnruly, _WithGreedy, _WithFloat, _WithLambda, _InPart, _SelectedAhead])
def test_what_has_no_rule_is_an_error_when_it_is_generated_and_not_a_slow_path(cls: Any) -> None:
    with pytest.raises(TypeError):
        rows.source(cls)


class _List(WireStruct, frozen=True, kw_only=True, gc=False):
    """A list of a structure that begins where it says."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    count: Annotated[int, Int16ul] = 0
    numbers: Annotated[tuple[int, ...], Items(this.count, Int16ul)] = ()
    _end: ClassVar[Annotated[int, Tell()]]
    rest: Annotated[bytes, Bytes(this._end & 3)] = b""


def test_a_list_of_numbers_moves_what_follows_it() -> None:
    data = bytes.fromhex("0200 0100 0200 aabb")
    value = _List(count=2, numbers=(1, 2), rest=b"\xaa\xbb")
    assert rows.parse(_List, data) == reference.parse(_List, data) == (value, 8)
    assert rows.build(value) == data


class _Elsewhere(WireConstruct):
    """A node of a later layer, made of what there is."""

    def generate(self, generator: Generator) -> Any:
        return generator.structure(_List, {})

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        return _List.schema()._parse(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        return _List.schema()._build(obj, stream, context, path)


class _Outer(WireStruct, frozen=True, kw_only=True, gc=False):
    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2")
    tuple: Annotated[int, Int16ul] = 0
    inner: Annotated[_List, _Elsewhere()] = _List()


def test_a_node_that_a_later_layer_declares_is_compiled_by_its_own_rule() -> None:
    data = bytes.fromhex("ffff 0100 0200 aabb")
    value, consumed = rows.parse(_Outer, data)
    assert (value, consumed) == reference.parse(_Outer, data)
    assert value.inner.numbers == (2,)
    assert rows.build(value) == reference.build(value) == data[:consumed]
    assert rows._decoders[_Outer](data, len(data)) is not None


def test_a_traceback_shows_the_generated_line() -> None:
    rows.parse(GUID, bytes(16))
    with pytest.raises(TypeError) as error:
        rows._decoders[GUID](None, 16)
    assert "unpack" in "".join(traceback.format_exception(error.value))


def test_guids_that_come_again_are_the_same_object_and_their_number_is_bounded() -> None:
    data = bytes(range(16))
    assert rows.parse(GUID, data)[0] is rows.parse(GUID, bytes(data))[0]
    for number in range(10_000):
        rows.parse(GUID, number.to_bytes(16, "little"))
    interned = rows._decoders[GUID].__globals__["_interned_GUID"]
    assert 0 < len(interned) <= 4096


def test_the_engine_can_be_named_by_argument() -> None:
    data = encode(UserMessage())
    assert decode(data, engine="reference") == decode(data, engine="rows") == decode(data)
    assert encode(UserMessage(), engine="reference") == encode(UserMessage(), engine="rows") == data
    assert inspect(data, engine="reference") == inspect(data, engine="rows")


@pytest.mark.parametrize("call", [decode, inspect])
def test_an_unknown_engine_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="no engine is called 'fast': there are rows and reference"):
        call(bytes(24), engine="fast")
    with pytest.raises(ValueError, match="no engine"):
        encode(UserMessage(), engine="columns")  # type: ignore[arg-type]  # what is refused


@pytest.mark.slow
@pytest.mark.parametrize(("variable", "used"), [("", "rows"), ("rows", "rows"), ("reference", "reference")])
def test_the_engine_can_be_named_by_the_environment(variable: str, used: str) -> None:
    code = (
        "import msmq_wire\n"
        "from msmq_wire.engines import codec\nfrom msmq_wire.engines.rows import engine as rows\n"
        "msmq_wire.inspect(bytes(2) + b'HU' + bytes(20))\n"
        "print(codec.default_engine(), len(rows._decoders))"
    )
    environment = {"MSMQ_WIRE_ENGINE": variable}
    reported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert reported.stdout == f"{used} {int(used == 'rows')}\n"


@pytest.mark.slow
def test_a_wrong_name_in_the_environment_is_told() -> None:
    code = "import msmq_wire\nmsmq_wire.decode(bytes(2) + b'HU' + bytes(20))"
    reported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"MSMQ_WIRE_ENGINE": "fast"}
    )
    assert reported.stderr.endswith(
        "ArgumentError: no engine is called 'fast': there are rows and reference\n"
    )


def test_missing_ranges_are_left_to_the_reference_engine() -> None:
    data = encode(UserMessage())
    with pytest.raises(DecodeError) as ours:
        rows.parse(UserMessage, data[:100], [(60, 4)])
    with pytest.raises(DecodeError) as theirs:
        reference.parse(UserMessage, data[:100], [(60, 4)])
    assert str(ours.value) == str(theirs.value)
