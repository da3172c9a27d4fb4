"""What holds for every method of remote read: declarations, documentation, stubs of another encoder."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.build_rpc import INTERFACES as DEFINED
from fixtures.build_rpc_cases import STATUS
from msmq_wire.records.view import view
from msmq_wire.rpc.interfaces import INTERFACES, Interface, Method
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    NdrStruct,
    StubValue,
    Union,
    decode_stub,
    encode_stub,
    inspect_stub,
    members,
)
from msmq_wire.rpc.ndr.arrays import Array
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.structures import Fields
from msmq_wire.rpc.ndr.stub import InspectedStub
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.rpc.types.section_array import SECTION_BUFFER, SectionArray
from msmq_wire.spec import snake_case

_FILES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "rpc").glob("*/*.json"))
_NAMES = [f"{path.parent.name}/{path.stem}" for path in _FILES]
_SYNTAXES = {("ndr", "little"): NDR, ("ndr", "big"): NDR_BIG_ENDIAN, ("ndr64", "little"): NDR64}
_METHODS = [
    pytest.param(interface, method, id=f"{interface.name}-{method.name}")
    for interface in INTERFACES.values()
    for method in interface.all_methods
]


def _load(path: Path) -> tuple[Method, list[dict[str, Any]]]:
    fixture = json.loads(path.read_text(encoding="utf-8"))
    (interface,) = (one for one in INTERFACES.values() if str(one.uuid) == fixture["uuid"])
    assert interface.name == fixture["interface"]
    method = interface.method(fixture["opnum"], callback=fixture.get("callback", False))
    assert method is not None
    return method, fixture["cases"]


def _inspected(method: Method, case: dict[str, Any]) -> InspectedStub:
    syntax = _SYNTAXES[case["syntax"], case["byte_order"]]
    return inspect_stub(method.parameters(case["direction"]), bytes.fromhex(case["hex"]), syntax)


def _normal(shown: Any) -> Any:
    """A value as the fixtures and the JSON view both show it.

    The fixtures name the pointer of a section as the IDL does, and it can be null; the view shows text up
    to its end and adds what text alone does not tell.
    """
    if isinstance(shown, dict):
        if "p_section_buffer" in shown:
            shown = {**shown, "data": shown["p_section_buffer"] or ""}
            del shown["p_section_buffer"]
        return {
            name: _normal(value)
            for name, value in shown.items()
            if not name.endswith("_raw") and name != "format_name"
        }
    if isinstance(shown, list):
        return [_normal(value) for value in shown]
    return shown.partition("\0")[0] if isinstance(shown, str) else shown


def _reads_as_written(method: Method, case: dict[str, Any]) -> bool:
    result = _inspected(method, case)
    return (
        result.error is None
        and not result.remainder
        and _normal(view(result.value)) == _normal(case["value"])
    )


@pytest.mark.parametrize("path", _FILES, ids=_NAMES)
def test_every_stub_reads_as_its_value_and_comes_back(path: Path) -> None:
    method, cases = _load(path)
    assert (method.name, method.stem) == (json.loads(path.read_text(encoding="utf-8"))["method"], path.stem)
    for case in cases:
        if case.get("disputed") and case["reading"] != "own":
            continue
        syntax = _SYNTAXES[case["syntax"], case["byte_order"]]
        parameters, data = method.parameters(case["direction"]), bytes.fromhex(case["hex"])
        result = _inspected(method, case)
        where = f"{case['name']}, {case['direction']}, {case['syntax']}, {case['byte_order']}"
        assert result.error is None, f"{where}: {result.error}"
        assert result.remainder == b"", where
        assert _normal(view(result.value)) == _normal(case["value"]), where
        assert list(result.residue.referent_ids) == case["referent_ids"], where
        decoded = decode_stub(parameters, data, syntax)
        assert decoded == StubValue(result.value, result.residue), where
        assert encode_stub(parameters, decoded, syntax) == data, where


@pytest.mark.slow
@pytest.mark.parametrize("path", _FILES, ids=_NAMES)
def test_a_cut_stub_is_a_value_or_an_error_with_what_was_reached(path: Path) -> None:
    method, cases = _load(path)
    for case in random.Random(2103).sample(cases, min(6, len(cases))):
        syntax = _SYNTAXES[case["syntax"], case["byte_order"]]
        parameters, data = method.parameters(case["direction"]), bytes.fromhex(case["hex"])
        whole = inspect_stub(parameters, data, syntax).value
        for length in {*range(min(len(data), 300)), *range(len(data) - 30, len(data))} - set(range(-30, 0)):
            cut = inspect_stub(parameters, data[:length], syntax)
            if cut.error is None:
                decoded = StubValue(cut.value, cut.residue, cut.remainder)
                assert encode_stub(parameters, decoded, syntax) == data[:length]
                continue
            assert cut.error.path
            assert cut.error.offset <= length
            if cut.value is not None and not case.get("disputed"):
                failed = cut.error.path.partition(".")[0].partition("[")[0]
                for name in parameters.names[: parameters.names.index(failed)]:
                    assert getattr(cut.value, name) == getattr(whole, name)
                for name in parameters.names[parameters.names.index(failed) + 1 :]:
                    assert getattr(cut.value, name) is msgspec.UNSET


def test_of_three_readings_of_small_variants_in_ndr_the_one_of_the_specification_is_read() -> None:
    found = []
    for path in _FILES:
        method, cases = _load(path)
        found += [
            (case["name"], case["reading"], _reads_as_written(method, case))
            for case in cases
            if case.get("disputed")
        ]
    types = {"VT_I1", "VT_UI1", "VT_I2", "VT_UI2", "VT_BOOL"}
    assert sorted(found) == sorted(
        (name, reading, reading == "own") for name in types for reading in ("own", "four", "largest")
    )


def test_every_method_of_the_definitions_is_declared_and_no_other() -> None:
    # The fixtures are written from the definitions at the end of the documents.
    for kind in ("methods", "callbacks"):
        defined = {one.name: sorted(each.opnum for each in getattr(one, kind)) for one in DEFINED}
        assert {one.name: sorted(getattr(one, kind)) for one in INTERFACES.values()} == defined


@pytest.mark.parametrize(("interface", "method"), _METHODS)
def test_a_method_says_what_it_returns_and_where_it_is_specified(
    interface: Interface, method: Method
) -> None:
    (defined,) = (one for one in DEFINED if one.name == interface.name)
    (same,) = (one for one in (*defined.methods, *defined.callbacks) if one.name == method.name)
    assert same.opnum == method.opnum
    assert method.returns_status == (same.response[-1:] == STATUS)
    if method.returns_status:
        assert method.response.names[-1] == "status"
    assert method.spec.document == interface.spec.document
    # What a client serves is in the client's part of a document.
    if method not in interface.callbacks.values():
        assert method.spec.section.startswith(interface.spec.section + ".")
    assert method.stem == snake_case(method.name)


@pytest.mark.parametrize(("interface", "method"), _METHODS)
def test_a_method_has_stubs_of_both_directions_in_both_syntaxes(interface: Interface, method: Method) -> None:
    path = (
        Path(__file__).resolve().parents[2]
        / "fixtures"
        / "rpc"
        / snake_case(interface.name)
        / f"{method.stem}.json"
    )
    _, cases = _load(path)
    assert {(case["direction"], case["syntax"]) for case in cases} == {
        (direction, syntax) for direction in ("request", "response") for syntax in ("ndr", "ndr64")
    }


def test_sections_of_a_document_are_those_of_one_method() -> None:
    sections = [str(method.spec) for one in INTERFACES.values() for method in one.all_methods]
    assert len(sections) == len(set(sections))


def _structures(type_: NdrType) -> Iterator[Fields]:
    """The structures that a type is made of."""
    pending, seen = [type_], set()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        match one:
            case Fields():
                yield one
                pending.extend(one.types)
            case Pointer():
                pending.append(one.target)
            case Array():
                pending.append(one.element)
            case Union():
                pending.extend(arm.type for arm in one.arms.values() if arm.type is not None)
            case SectionArray():
                pending.append(SECTION_BUFFER)


@pytest.mark.parametrize("side", ["request", "response"])
@pytest.mark.parametrize(("interface", "method"), _METHODS)
def test_every_structure_and_every_member_is_documented(
    interface: Interface, method: Method, side: Any
) -> None:
    for fields in _structures(method.parameters(side)):
        cls = fields.cls
        assert cls.__doc__
        assert cls.__doc__.rstrip().endswith(".")
        assert cls.SPEC.section
        if not issubclass(cls, NdrStruct):
            continue
        declared = members(cls)
        assert tuple(member.name for member in declared) == cls.__struct_fields__ == fields.names
        for member in declared:
            assert member.doc.endswith("."), f"{cls.__name__}.{member.name}"


@pytest.mark.parametrize(("interface", "method"), _METHODS)
def test_names_of_arms_are_names_and_differ_from_members(interface: Interface, method: Method) -> None:
    for parameters in (method.request, method.response):
        for fields in _structures(parameters):
            for union in fields.types:
                if not isinstance(union, Union):
                    continue
                names = [arm.name for arm in union.arms.values() if arm.type is not None]
                assert len(names) == len(set(names))
                assert all(name.isidentifier() and name == name.lower() for name in names)
                assert not set(names) & set(fields.names)
