"""The decoders made in memory against the type objects: the same value, residue and end, or none at all.

A decoder takes no stub in which the type objects find an anomaly.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.interfaces.method import Method, Side
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    Conformant,
    ConformantVarying,
    NdrStruct,
    Parameters,
    String,
    Syntax,
    Unique,
    decode_stub,
    encode_stub,
)
from msmq_wire.rpc.ndr.compiled import CompilerFallback, decoder
from msmq_wire.rpc.ndr.pointers import EmbeddedRef
from msmq_wire.rpc.ndr.scalars import Ranged
from msmq_wire.rpc.ndr.stub_stream import NdrReader, Residue
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.rpc.types.section_array import SECTION_BUFFER
from msmq_wire.wire.expressions import this

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "rpc"
SIDES: tuple[Side, Side] = ("request", "response")
METHODS = [
    method
    for interface in (*INTERFACES.values(), *COM_INTERFACES.values())
    for method in interface.all_methods
]
# A PROPVARIANT has no fixed size in place, so arrays of it are left to the type objects.
INTERPRETED = {
    ("R_QMCreateObjectInternal", "request"),
    ("R_QMGetObjectProperties", "request"),
    ("R_QMGetObjectProperties", "response"),
    ("R_QMSetObjectProperties", "request"),
    ("R_QMMgmtGetInfo", "request"),
    ("R_QMMgmtGetInfo", "response"),
    ("S_DSCreateObject", "request"),
    ("S_DSGetProps", "request"),
    ("S_DSGetProps", "response"),
    ("S_DSSetProps", "request"),
    ("S_DSLookupBegin", "request"),
    ("S_DSLookupNext", "response"),
    ("S_DSGetPropsGuid", "request"),
    ("S_DSGetPropsGuid", "response"),
    ("S_DSSetPropsGuid", "request"),
    ("S_DSQMSetMachineProperties", "request"),
    ("S_DSGetPropsEx", "request"),
    ("S_DSGetPropsEx", "response"),
    ("S_DSGetPropsGuidEx", "request"),
    ("S_DSGetPropsGuidEx", "response"),
}


def cases() -> Iterator[tuple[str, Parameters, Syntax, bytes]]:
    by_name = {method.name: method for method in METHODS}
    for file in sorted(FIXTURES.rglob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        method = by_name[found["method"]]
        for case in found["cases"]:
            if case["byte_order"] == "little":
                syntax = NDR64 if case["syntax"] == "ndr64" else NDR
                parameters = method.parameters(case["direction"])
                yield f"{method.name} {case['name']}", parameters, syntax, bytes.fromhex(case["hex"])


CASES = list(cases())


def read_by_types(parameters: NdrType, data: bytes, syntax: Syntax) -> Any:
    reader = NdrReader(data, syntax, judging=True)
    try:
        value = parameters.read(reader, {})
    except DecodeError as error:
        return error.code, error.path, error.offset
    return value, reader.residue(), reader.pos, [problem.code for problem in reader.problems]


def read_by_decoder(parameters: Parameters, data: bytes, syntax: Syntax) -> Any:
    made = decoder(parameters, syntax)
    assert made is not None
    try:
        return made(data)
    except (CompilerFallback, struct.error):
        return None


def assert_agreement(parameters: Parameters, data: bytes, syntax: Syntax) -> bool:
    """Compare what both read; return whether the decoder took the stub."""
    found = read_by_decoder(parameters, data, syntax)
    if found is None:
        return False
    value, residue, end, problems = read_by_types(parameters, data, syntax)
    assert found == (value, list(residue.referent_ids), end)
    assert residue == Residue(residue.referent_ids)
    assert not problems
    return True


def test_every_parameter_list_but_those_with_arrays_of_variants_has_a_decoder() -> None:
    for method in METHODS:
        for side in SIDES:
            for syntax in (NDR, NDR64):
                expected = (method.name, side) not in INTERPRETED
                assert (decoder(method.parameters(side), syntax) is not None) is expected, method.name
            assert decoder(method.parameters(side), NDR_BIG_ENDIAN) is None


class Counted(NdrStruct, frozen=True, kw_only=True, gc=False):
    count: int = 0
    value: Any = None


@pytest.mark.parametrize(
    ("type_", "regular", "odd", "code"),
    [
        (Ranged(DWORD, 1, 2), "02000000", "03000000", "range"),
        (Conformant(BYTE, size=this.count), "02000000 aabb", "03000000 aabbcc", "size-is"),
        (
            ConformantVarying(BYTE, length=this.count),
            "02000000 00000000 02000000 aabb",
            "01000000 00000000 01000000 aa",
            "length-is",
        ),
        (
            ConformantVarying(BYTE, size=this.count),
            "02000000 00000000 02000000 aabb",
            "02000000 00000000 03000000 aabbcc",
            "past-max-count",
        ),
        (
            String(),
            "02000000 00000000 02000000 61000000",
            "02000000 00000000 02000000 61006200",
            "string-terminator",
        ),
        (EmbeddedRef(DWORD), "00000200 07000000", "00000000", "ref-pointer"),
        (
            Unique(Conformant(BYTE, size=this.count)),
            "00000200 02000000 aabb",
            "00000000",
            "null-array",
        ),
        (
            SECTION_BUFFER,
            "00000000 01000000 01000000 00000200 01000000 aa",
            "00000000 02000000 01000000 00000200 01000000 aa",
            "section_buffer.section-size-alloc-whole",
        ),
    ],
)
def test_a_decoder_gives_up_where_the_type_objects_find_a_problem(
    type_: NdrType, regular: str, odd: str, code: str
) -> None:
    parameters = Parameters(Counted, {"count": DWORD, "value": type_})
    count = "02000000"
    assert assert_agreement(parameters, bytes.fromhex(count + regular), NDR)
    assert read_by_decoder(parameters, bytes.fromhex(count + odd), NDR) is None
    assert read_by_types(parameters, bytes.fromhex(count + odd), NDR)[3] == [code]


def test_a_type_without_a_rule_is_an_error() -> None:
    class Nameless(NdrType):
        pass

    class Request(NdrStruct, frozen=True, kw_only=True, gc=False):
        number: int = 0

    with pytest.raises(TypeError, match="Nameless has no rule"):
        decoder(Parameters(Request, {"number": Nameless()}), NDR)


@pytest.mark.slow
def test_a_decoder_reads_every_fixture_without_a_problem_and_a_residue() -> None:
    compiled = [case for case in CASES if decoder(case[1], case[2])]
    assert len(compiled) > 850
    for name, parameters, syntax, data in compiled:
        _, residue, _, problems = read_by_types(parameters, data, syntax)
        regular = not problems and residue == Residue(residue.referent_ids)
        assert assert_agreement(parameters, data, syntax) is regular, name


def test_cut_stubs_are_read_alike() -> None:
    for _, parameters, syntax, data in CASES[::7]:
        if decoder(parameters, syntax):
            for size in range(len(data)):
                assert_agreement(parameters, data[:size], syntax)


@given(st.data())
def test_changed_stubs_are_read_alike(data: st.DataObject) -> None:
    _, parameters, syntax, stub = data.draw(
        st.sampled_from([case for case in CASES if decoder(case[1], case[2])])
    )
    changed = bytearray(stub)
    for place in data.draw(st.lists(st.integers(0, max(0, len(stub) - 1)), max_size=4)):
        if stub:
            changed[place] = data.draw(st.sampled_from([0, 1, 2, 4, 8, 0x7F, 0x80, 0xFF]))
    assert_agreement(parameters, bytes(changed), syntax)
    try:
        read = decode_stub(parameters, bytes(changed), syntax)
    except DecodeError:
        return
    assert encode_stub(parameters, read, syntax) == bytes(changed)


@given(
    st.sampled_from(METHODS), st.sampled_from(SIDES), st.sampled_from([NDR, NDR64]), st.binary(max_size=200)
)
def test_any_bytes_are_read_alike(method: Method, side: Side, syntax: Syntax, data: bytes) -> None:
    parameters = method.parameters(side)
    if decoder(parameters, syntax):
        assert_agreement(parameters, data, syntax)
