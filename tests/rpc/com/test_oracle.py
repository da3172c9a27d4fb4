"""ReceiveCurrent_v1 and interface pointers against impacket, both ways; it runs in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.rpc.com.activation import pointers_given
from msmq_wire.rpc.com.objref import decode_objref, encode_objref
from msmq_wire.rpc.com.orpc import MInterfacePointer, OrpcThis
from msmq_wire.rpc.com.queue_interfaces import (
    COM_INTERFACES,
    RECEIVE_CURRENT,
    ReceiveCurrentRequest,
    ReceiveCurrentResponse,
)
from msmq_wire.rpc.com.variant import FlaggedWordBlob, Variant
from msmq_wire.rpc.ndr import StubValue, encode_stub, inspect_stub
from msmq_wire.wire.types.guid import GUID

pytestmark = pytest.mark.needs("impacket")

ORACLE = Path(__file__).resolve().parents[2] / "oracles" / "com_impacket.py"
METHOD = next(iter(COM_INTERFACES.values())).methods[RECEIVE_CURRENT]
ARGUMENTS = ("transaction", "want_destination_queue", "want_body", "receive_timeout")
SCM_ACTIVATOR = GUID.parse("000001a0-0000-0000-c000-000000000046")
VT_BOOL, VT_ERROR = 11, 10


def impacket(*arguments: str, given: Any = None) -> list[dict[str, Any]]:
    found = subprocess.run(
        [sys.executable, str(ORACLE), *arguments],
        input=None if given is None else json.dumps(given),
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    listed: list[dict[str, Any]] = json.loads(found)
    return listed


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    return impacket()


def of_side(cases: list[dict[str, Any]], side: str) -> list[dict[str, Any]]:
    found = [case for case in cases if case["side"] == side]
    assert found
    return found


def plain(variant: Variant) -> list[Any]:
    """The type and the value of an argument as the oracle writes them."""
    value = variant.arm
    if isinstance(value, MInterfacePointer):
        value = value.ab_data.hex()
    elif isinstance(value, FlaggedWordBlob):
        value = value.as_data.decode("utf-16-le")
    elif variant.vt == VT_BOOL:
        value &= 0xFFFF
    elif variant.vt == VT_ERROR:
        value -= 1 << 32
    return [variant.vt, value]


@pytest.mark.slow
def test_requests_by_impacket_say_what_it_put_in(cases: list[dict[str, Any]]) -> None:
    for case in of_side(cases, "request"):
        data = bytes.fromhex(case["hex"])
        read = inspect_stub(METHOD.request, data)
        assert (read.error, read.anomalies, read.remainder) == (None, (), b""), case["name"]
        assert isinstance(read.value, ReceiveCurrentRequest)
        assert str(read.value.orpcthis.cid) == case["values"]["causality"]
        found = [plain(getattr(read.value, name)) for name in ARGUMENTS]
        assert found == case["values"]["arguments"], case["name"]
        assert encode_stub(METHOD.request, StubValue(read.value, read.residue)) == data


@pytest.mark.slow
def test_responses_by_impacket_say_what_it_put_in(cases: list[dict[str, Any]]) -> None:
    for case in of_side(cases, "response"):
        data = bytes.fromhex(case["hex"])
        read = inspect_stub(METHOD.response, data)
        assert (read.error, read.anomalies, read.remainder) == (None, (), b""), case["name"]
        assert isinstance(read.value, ReceiveCurrentResponse)
        pointer = read.value.ppmsg
        assert (None if pointer is None else pointer.ab_data.hex()) == case["values"]["objref"]
        assert read.value.status == case["values"]["status"]
        assert encode_stub(METHOD.response, StubValue(read.value, read.residue)) == data


def test_an_activation_by_impacket_gives_its_interface(cases: list[dict[str, Any]]) -> None:
    (case,) = of_side(cases, "activation")
    (pointer,) = of_side(cases, "objref")
    given = decode_objref(bytes.fromhex(pointer["hex"]))
    found = pointers_given(SCM_ACTIVATOR, 4, b"", bytes.fromhex(case["hex"]))
    assert given.std is not None
    assert [(ipid, iid) for ipid, iid, _ in found] == [(given.std.ipid, given.iid)]


def test_an_interface_pointer_by_impacket_is_written_back(cases: list[dict[str, Any]]) -> None:
    (case,) = of_side(cases, "objref")
    data = bytes.fromhex(case["hex"])
    assert encode_objref(decode_objref(data)) == data


@pytest.mark.slow
def test_impacket_reads_our_stubs_and_pointers_as_we_do(cases: list[dict[str, Any]]) -> None:
    written = []
    for case in cases:
        data = bytes.fromhex(case["hex"])
        if case["side"] == "objref":
            written.append({"side": "objref", "hex": encode_objref(decode_objref(data)).hex()})
        elif case["side"] in ("request", "response"):
            parameters = METHOD.request if case["side"] == "request" else METHOD.response
            # Without the residue: gaps and referents are ours.
            ours = encode_stub(parameters, StubValue(inspect_stub(parameters, data).value))
            written.append({"side": case["side"], "hex": ours.hex()})
    read = impacket("--read", given=written)
    expected = [case["values"] for case in cases if case["side"] in ("request", "response")]
    assert read[: len(expected)] == expected
    found = decode_objref(bytes.fromhex(written[-1]["hex"]))
    assert found.std is not None
    assert read[len(expected) :] == [
        {
            "flags": found.kind,
            "iid": str(found.iid),
            "oxid": found.std.oxid,
            "oid": found.std.oid,
            "ipid": str(found.std.ipid),
            "public_refs": found.std.public_refs,
        }
    ]


def test_a_request_of_ours_is_what_impacket_writes_but_for_gaps_and_referents(
    cases: list[dict[str, Any]],
) -> None:
    case = of_side(cases, "request")[0]
    theirs = bytes.fromhex(case["hex"])
    ours = encode_stub(METHOD.request, StubValue(inspect_stub(METHOD.request, theirs).value))
    referents = {place for start in (32, 64, 96, 128) for place in range(start, start + 8)}
    differing = {place for place, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]}
    assert len(ours) == len(theirs) == 160
    assert differing <= referents
    assert OrpcThis().version.major_version == ours[0]
