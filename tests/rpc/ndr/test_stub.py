"""Whole stubs: values made from the declarations come back, any bytes are a value or a DecodeError."""

from __future__ import annotations

import struct
import sys
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.interfaces import INTERFACES, Method
from msmq_wire.rpc.interfaces.method import Side
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    NULL_POINTEE,
    Conformant,
    Parameters,
    Ranged,
    String,
    StubValue,
    Syntax,
    Union,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.ndr.arrays import Array
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.scalars import Number, Octets16
from msmq_wire.rpc.ndr.structures import Fields
from msmq_wire.rpc.ndr.stub_stream import MAX_PROBLEMS, NO_RESIDUE, Residue
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.rpc.types.propvariant import PROPVARIANT
from msmq_wire.rpc.types.section_array import SECTION_BUFFER, SectionArray
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import WHOLE

_SYNTAXES = (NDR, NDR_BIG_ENDIAN, NDR64)
_METHODS = [method for interface in INTERFACES.values() for method in interface.all_methods]
_VARIANTS_IN_VARIANTS = 0x100C
_REMOTE_READ, _QMCOMM = "RemoteRead", "qmcomm"


def _method(interface: str, opnum: int) -> Method:
    (found,) = (one for one in INTERFACES.values() if one.name == interface)
    return found.methods[opnum]


def _number(type_: Number) -> st.SearchStrategy[int]:
    if isinstance(type_, Ranged):
        return st.integers(type_.first, type_.last)
    # The letter of NDR: an enumeration has two bytes there.
    bits = 8 * type_.size(NDR)
    low, high = (
        (-(1 << bits - 1), (1 << bits - 1) - 1) if type_.letter(NDR).islower() else (0, (1 << bits) - 1)
    )
    return st.integers(low, high) | st.sampled_from((low, 0, high))


@st.composite
def _structure(draw: st.DrawFn, type_: Fields, depth: int) -> Any:
    drawn: dict[str, Any] = {}
    for name, one in zip(type_.names, type_.types, strict=True):
        if isinstance(one, Union):
            selector = next(iter(drawn))
            arms = {
                number: arm
                for number, arm in one.arms.items()
                if depth < 2 or number != _VARIANTS_IN_VARIANTS
            }
            drawn[selector] = draw(st.sampled_from([int(number) for number in arms]))
            arm = arms[drawn[selector]]
            drawn[name] = None if arm.type is None else draw(_values(arm.type, depth + 1))
        else:
            drawn[name] = draw(_values(one, depth))
        if isinstance(one, SectionArray):
            # The number says which of two readings is right.
            drawn["pdw_number_of_sections"] = len(drawn[name] or ())
    return type_.cls(**drawn)


def _pointers(type_: Pointer, depth: int) -> st.SearchStrategy[Any]:
    null = st.just(type_.null)
    if isinstance(type_.target, Pointer):
        return null | st.just(NULL_POINTEE) | _values(type_.target.target, depth)
    return null | _values(type_.target, depth)


def _values(type_: NdrType, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a type, as its declaration says."""
    match type_:
        case Number():
            return _number(type_)
        case Octets16():
            return st.binary(min_size=16, max_size=16).map(GUID)
        case String():
            return st.text(st.characters(max_codepoint=0xFFFF), max_size=8).map(WcharText.of)
        case Array(kind=kind) if kind is WcharText:
            return st.binary(max_size=8).map(lambda data: WcharText(data[: len(data) & -2]))
        case Array(kind=kind) if kind is not None:
            return st.binary(max_size=12)
        case Array(element=element):
            return st.lists(_values(element, depth), max_size=3).map(tuple)
        case Pointer():
            return _pointers(type_, depth)
        case SectionArray():
            return st.none() | st.lists(_structure(SECTION_BUFFER, depth), max_size=3).map(tuple)
        case Fields():
            return _structure(type_, depth)
    raise AssertionError(f"no strategy for {type_!r}")


@pytest.mark.slow
@pytest.mark.parametrize("syntax", _SYNTAXES, ids=("ndr", "ndr-big-endian", "ndr64"))
@given(data=st.data())
def test_a_value_of_any_parameter_list_comes_back(syntax: Syntax, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(_METHODS))
    side: Side = data.draw(st.sampled_from(("request", "response")))
    parameters = method.parameters(side)
    value = data.draw(_values(parameters))
    # Sizes are drawn, also those of arrays that are NULL.
    stub = encode_stub(parameters, StubValue(value, Residue(nulls=sys.maxsize)), syntax)
    decoded = decode_stub(parameters, stub, syntax)
    assert decoded.value == value
    assert decoded.remainder == b""
    assert not decoded.residue.filler
    assert not decoded.residue.tags
    assert not decoded.residue.counts
    assert encode_stub(parameters, decoded, syntax) == stub
    result = inspect_stub(parameters, stub, syntax)
    assert (result.value, result.residue, result.error) == (value, decoded.residue, None)


@given(
    method=st.sampled_from(_METHODS),
    side=st.sampled_from(("request", "response")),
    syntax=st.sampled_from(_SYNTAXES),
    stub=st.binary(max_size=200)
    | st.lists(
        st.sampled_from((b"\0\0\0\0", b"\1\0\0\0", b"\0\0\0\1", b"\x1f\0\x1f\0", b"\xff" * 4)), max_size=60
    ).map(b"".join),
)
def test_any_bytes_are_a_value_or_a_decode_error(
    method: Method, side: Side, syntax: Syntax, stub: bytes
) -> None:
    parameters = method.parameters(side)
    result = inspect_stub(parameters, stub, syntax)
    if result.error is None:
        decoded = decode_stub(parameters, stub, syntax)
        assert decoded == StubValue(result.value, result.residue, result.remainder)
        assert encode_stub(parameters, decoded, syntax) == stub
        return
    with pytest.raises(DecodeError) as caught:
        decode_stub(parameters, stub, syntax)
    assert str(caught.value) == str(result.error)
    assert result.error.path.partition(".")[0].partition("[")[0] in parameters.names
    assert 0 <= result.error.offset <= len(stub)
    assert result.error.spec is not None


@given(method=st.sampled_from(_METHODS), side=st.sampled_from(("request", "response")), data=st.data())
def test_a_cut_stub_keeps_only_what_was_reached(method: Method, side: Side, data: st.DataObject) -> None:
    parameters = method.parameters(side)
    value = data.draw(_values(parameters))
    stub = encode_stub(parameters, StubValue(value))
    cut = inspect_stub(parameters, stub[: data.draw(st.integers(0, len(stub)))])
    if cut.error is None or cut.value is None:
        return
    failed = cut.error.path.partition(".")[0].partition("[")[0]
    before = parameters.names[: parameters.names.index(failed)]
    for name in before:
        assert getattr(cut.value, name) == getattr(value, name)


def test_a_result_holds_no_frames() -> None:
    error = inspect_stub(_method(_REMOTE_READ, 7).response, b"\1").error
    assert error is not None
    assert error.__traceback__ is None
    assert error.__context__ is None


def test_an_empty_stub_has_no_residue() -> None:
    decoded = decode_stub(_method(_REMOTE_READ, 0).request, b"")
    assert decoded.residue is NO_RESIDUE
    assert encode_stub(_method(_REMOTE_READ, 0).request, decoded) == b""


def _nested(levels: int, syntax: Syntax) -> bytes:
    """A variant that holds an array of one variant, and so on."""
    count, pointer = syntax.layout(syntax.count), syntax.layout(syntax.count)
    stub = count.pack(1)
    for _ in range(levels):
        stub += bytes(-len(stub) % 8) + struct.pack("<HBBIH", 0x100C, 0, 0, 0, 0x100C)
        stub += bytes(-len(stub) % (8 if syntax.wide else 4)) + struct.pack("<I", 1)
        stub += bytes(-len(stub) % (8 if syntax.wide else 4)) + pointer.pack(1) + count.pack(1)
    stub += bytes(-len(stub) % 8) + struct.pack("<HBBIH", 0, 0, 0, 0, 0)
    return stub + bytes(16 if syntax.wide else 0)


@pytest.mark.parametrize("syntax", [NDR, NDR64])
def test_variants_in_variants_have_an_end(syntax: Syntax) -> None:
    array = Conformant(PROPVARIANT)
    value = decode_stub(array, _nested(3, syntax), syntax).value
    for _ in range(3):
        (variant,) = value
        value = variant.arm.p_elems
    assert value[0].vt == 0
    result = inspect_stub(array, _nested(200, syntax), syntax)
    assert result.error is not None
    assert result.error.code == "too-deep"
    assert result.error.path.count("p_elems") < 40


_COUNT = 40_000 if WHOLE else 8_000
_VARIANT = struct.pack("<HBBIH6s", 0, 9, 8, 0x0FFFFFFF, 1, b"filler")
_WIDE_VARIANT = struct.pack("<HBBIH6sb7s", 16, 9, 8, 0x0FFFFFFF, 1, b"filler", -5, b"filling")
_SECTION = struct.pack("<HBBIII", 0, 9, 9, 0x07FFFFFF, 0x07FFFFFF, 0x111111)
_STRINGS = struct.pack("<II HBBIHxxIII", 1, 0, 0x101F, 0, 0, 0, 0x101F, _COUNT, 1, _COUNT)


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize(
    ("interface", "opnum", "syntax", "stub"),
    [
        (_QMCOMM, 10, NDR, struct.pack("<II", _COUNT, 0) + _VARIANT * _COUNT + bytes(4)),
        (_QMCOMM, 10, NDR64, struct.pack("<Q", _COUNT) + _WIDE_VARIANT * _COUNT + bytes(4)),
        (_QMCOMM, 10, NDR, _STRINGS + bytes(4 * _COUNT) + bytes(4)),
        (_QMCOMM, 10, NDR, _STRINGS + b"\xff\xfe\xfd\xfc" * _COUNT),
        (
            _QMCOMM,
            10,
            NDR,
            _STRINGS
            + b"\xff\xfe\xfd\xfc" * _COUNT
            + struct.pack("<III", 77777, 88888, 0) * _COUNT
            + bytes(4),
        ),
        (
            _REMOTE_READ,
            7,
            NDR,
            struct.pack("<IxxxxQIII", 0, 0, _COUNT, 1, _COUNT) + _SECTION * _COUNT + bytes(4 * _COUNT + 4),
        ),
    ],
    ids=("variants", "variants-ndr64", "null-strings", "cut-strings", "odd-strings", "sections"),
)
def test_memory_is_a_small_multiple_of_the_stub(
    interface: str, opnum: int, syntax: Syntax, stub: bytes
) -> None:
    parameters = _method(interface, opnum).response
    tracemalloc.start()
    try:
        result = inspect_stub(parameters, stub, syntax)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50 * len(stub) + 200_000
    assert len(result.anomalies) <= MAX_PROBLEMS
    if result.error is None:
        assert (
            encode_stub(parameters, StubValue(result.value, result.residue, result.remainder), syntax) == stub
        )


@pytest.mark.parametrize("syntax", _SYNTAXES, ids=("ndr", "ndr-big-endian", "ndr64"))
@pytest.mark.parametrize("count", [100_000, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF])
def test_counts_without_bytes_cost_nothing(count: int, syntax: Syntax) -> None:
    width = 8 if syntax.wide else 4
    number = (count & (1 << 8 * width) - 1).to_bytes(width, "big" if syntax.big_endian else "little")
    for method in _METHODS:
        for parameters in (method.request, method.response):
            # The first stub compiles a decoder.
            inspect_stub(parameters, b"", syntax)
            tracemalloc.start()
            try:
                result = inspect_stub(parameters, number * 40, syntax)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert peak < 200_000
            assert result.error is None or result.error.offset <= 40 * width


def test_offset_and_count_that_would_wrap_are_compared_as_they_are() -> None:
    parameters = _method("qm2qm", 0).request
    stub = bytes(16) + struct.pack("<I", 2) + bytes(20) + struct.pack("<IIII", 1, 2, 0xFFFFFFFF, 2) + b"ab"
    assert isinstance(parameters, Parameters)
    result = inspect_stub(parameters, stub)
    assert result.value.lp_remote_read_desc.lp_buffer == b"ab"
    assert [found.code for found in result.anomalies] == ["ndr.array-offset", "ndr.past-max-count"]
