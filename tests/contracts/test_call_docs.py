"""What the documentation says of calls is what is declared, and what `decode` prints fits its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import EnumMeta
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.capture.tables import schema
from msmq_wire.records.composed import COMPOSED
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import record_view
from msmq_wire.rpc import constants
from msmq_wire.rpc.hresults import describe
from msmq_wire.rpc.interfaces import INTERFACES, METHODS, Method
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, inspect_stub, members
from msmq_wire.rpc.statuses import MQ_HRESULTS
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets
from msmq_wire.wire.registry import defined_in
from tests.effort import WHOLE, share
from tests.schemas import schema_of

_ROOT = Path(__file__).resolve().parents[2]
_DOCS = _ROOT / "docs"
_METHODS = [
    pytest.param(interface.name, method, id=f"{interface.name}-{method.name}")
    for interface in INTERFACES.values()
    for method in interface.all_methods
]
_CAPTURES = sorted((_ROOT / "fixtures").glob("*captures/rpc_*.pcap"))
_SYNTAXES = {("ndr", "little"): NDR, ("ndr", "big"): NDR_BIG_ENDIAN, ("ndr64", "little"): NDR64}


def _text(page: str) -> str:
    return (_DOCS / page).read_text(encoding="utf-8")


def _cases() -> Iterator[dict[str, Any]]:
    for path in sorted((_ROOT / "fixtures" / "rpc").glob("*/*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for case in document["cases"]:
            yield {**case, **{key: document[key] for key in ("interface", "opnum", "method")}}


@pytest.mark.parametrize(("interface", "method"), _METHODS)
def test_a_method_is_described_with_all_its_parameters(interface: str, method: Method) -> None:
    section = _text("rpc-methods.md").partition(f"\n## {interface} ")[2].partition("\n## ")[0]
    number = rf"(?:callback )?{method.opnum} {method.name} "
    text = re.split(rf"\n### {number}", section)[-1].partition("\n### ")[0]
    assert str(method.spec) in text
    for side, parameters in (("in", method.request), ("out", method.response)):
        for member in members(parameters.cls):
            assert f"| {side} | `{member.name}` |" in text
            assert member.doc in text


def test_every_interface_is_listed_by_its_uuid() -> None:
    text = _text("rpc.md")
    assert [interface.name for uuid, interface in INTERFACES.items() if f"| `{uuid}` |" not in text] == []


def test_every_enumeration_of_calls_is_described_with_all_its_values() -> None:
    text = _text("enumerations.md")
    for found in defined_in(constants):
        if isinstance(found, EnumMeta):
            section = text.partition(f"\n### {found.__name__} ")[2].partition("\n##")[0]
            members: Any = found
            values = [f"`{one.name if isinstance(one.value, int) else one.value}`" for one in members]
            assert values
            assert [value for value in values if value not in section] == []


@pytest.mark.parametrize("code", sorted(MQ_HRESULTS))
def test_a_status_is_listed_with_its_symbol_and_meaning(code: int) -> None:
    known = describe(code)
    assert f"| `0x{code:08X}` | `{known.symbol}` | {known.meaning} |" in _text("enumerations.md")


def test_every_code_of_an_anomaly_in_a_call_is_described() -> None:
    modules = (_ROOT / "msmq_wire" / "rpc").rglob("*.py")
    sources = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    codes = set(re.findall(r'\.problem\(\s*"([a-z-]+)"', sources))
    assert {"size-is", "union-tag"} <= codes
    text = _text("anomalies.md")
    assert sorted(code for code in codes if f"| `ndr.{code}` |" not in text) == []
    assert "| `queue_format.format-name` |" in text


@pytest.mark.parametrize("type_", [*COMPOSED])
def test_a_table_of_calls_is_described_with_all_its_columns(type_: str) -> None:
    section = _text("arrow.md").partition(f"\n### {type_}\n")[2].partition("\n### ")[0]
    assert [name for name in schema(type_).names if f"| `{name}` |" not in section] == []


def test_the_keys_of_calls_and_messages_over_http_are_listed() -> None:
    section = _text("json.md").partition("\n## Calls\n")[2].partition("\n## A row of messages")[0]
    for cls in COMPOSED.values():
        assert [name for name in cls.__struct_fields__ if f"`{name}`" not in section] == []


@pytest.mark.parametrize("capture", share(_CAPTURES, 3), ids=lambda path: path.name)
@pytest.mark.parametrize("opened", [False, True])
def test_the_rows_of_a_conversation_fit_their_schema(capture: Path, opened: bool) -> None:
    opener = negotiator(Secrets.of(passwords=["Passw0rd!"])) if opened else None
    found = [record_view(record) for record in read_capture(capture, negotiator=opener)]
    assert {"rpc_bind", "rpc_call"} <= {row["type"] for row in found}
    assert [problem for row in found for problem in schema_of("record").faults(row)] == []


def _row(case: dict[str, Any], value: Any) -> Any:
    """The row of a call of which one side was captured."""
    side = {case["direction"]: value}
    packet = RpcCall(
        interface=case["interface"],
        opnum=case["opnum"],
        method=case["method"],
        syntax=case["syntax"],
        **side,
    )
    return record_view(Record(id=1, type="rpc_call", packet=packet))


def test_every_parameter_list_fits_its_schema_whole_and_cut() -> None:
    seen = set()
    for case in share(list(_cases()), 3):
        method = METHODS[case["method"]]
        type_ = method.request if case["direction"] == "request" else method.response
        syntax = _SYNTAXES[case["syntax"], case["byte_order"]]
        data = bytes.fromhex(case["hex"])
        for end in (len(data), len(data) * 2 // 3):
            row = _row(case, inspect_stub(type_, data[:end], syntax).value)
            assert (case["name"], schema_of("record").faults(row)) == (case["name"], [])
        seen.add((case["method"], case["direction"]))
    assert len(seen) == 2 * len(_METHODS) or not WHOLE


def test_what_a_call_cannot_hold_does_not_fit_its_schema() -> None:
    capture = next(path for path in _CAPTURES if path.stem == "rpc_none_ndr")
    call = next(
        record_view(record)
        for record in read_capture(capture)
        if record.type == "rpc_call" and record.packet.method == "R_StartReceive"
    )
    assert schema_of("record").fits(call)

    def changed(**packet: Any) -> Any:
        return call | {"packet": call["packet"] | packet}

    assert not schema_of("record").fits(changed(request={"dw_port_type": 1}))
    assert not schema_of("record").fits(changed(request=call["packet"]["request"] | {"ul_action": 1 << 32}))
    assert not schema_of("record").fits(changed(request=call["packet"]["request"] | {"ul_action": "peek"}))
    assert not schema_of("record").fits(changed(latency=None, surprise=1))
    assert not schema_of("record").fits(call | {"packet": {}})
    assert not schema_of("record").fits(call | {"type": "rpc_fault"})
    assert schema_of("record").fits(changed(request=None, response=None))
