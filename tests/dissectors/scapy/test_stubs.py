"""Stubs of calls as scapy packets: from fixtures, in scapy's own sessions, and in ours."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.config import conf
from scapy.layers.dcerpc import DceRpc5Request
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession

import msmq_scapy as ms
import msmq_wire as mw
from msmq_wire.errors import EncodeError
from msmq_wire.records.view import view
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import inspect_stub

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
_FILES = sorted((_FIXTURES / "rpc").glob("*/*.json"))
_CAPTURES = sorted((_FIXTURES / "rpc_captures").glob("*.pcap"))


def _stubs(path: Path) -> Iterator[Any]:
    reported = json.loads(path.read_text(encoding="utf-8"))
    for case in reported["cases"]:
        data = bytes.fromhex(case["hex"])
        if data:
            cls = ms.MSMQStub.of(reported["method"], case["direction"])
            yield data, cls(data, ndr64=case["syntax"] == "ndr64", ndrendian=case["byte_order"])


@pytest.mark.parametrize("path", _FILES, ids=[f"{path.parent.name}/{path.stem}" for path in _FILES])
def test_a_stub_shows_its_parameters_and_keeps_its_bytes(path: Path) -> None:
    for data, stub in _stubs(path):
        found = inspect_stub(stub.method.parameters(stub.side), data, stub.syntax)
        assert bytes(stub) == data
        assert ms.view(stub) == view(found.value)
        assert ms.anomalies(stub) == found.anomalies
        assert stub.method.name in stub.summary()
        shown = stub.show(dump=True)
        assert all(name in shown for name in stub.reached)
        again = pickle.loads(pickle.dumps(stub))
        assert (bytes(again), again.syntax) == (data, stub.syntax)
        stub.exact = None
        if found.error is None:
            # Written from the parameters, it is the same.
            assert bytes(stub) == data


def test_there_is_a_class_for_every_method_and_direction() -> None:
    for interface in INTERFACES.values():
        for method in interface.methods.values():
            for side in ("request", "response"):
                cls = getattr(ms, f"MSMQ_{method.name}_{side}")
                assert cls.names == method.parameters(side).names
                assert all(name in cls().show(dump=True) for name in cls.names)
    with pytest.raises(AttributeError, match="no call"):
        _ = ms.MSMQ_NoSuchMethod_request


def test_a_changed_parameter_is_written(fixtures: Path) -> None:
    data, stub = next(_stubs(fixtures / "rpc" / "remote_read" / "r_cancel_receive.json"))
    copy = stub.copy()
    copy.dw_request_id = 0x01020304
    assert bytes(stub) == data
    assert bytes(copy) == data[:-4] + b"\4\3\2\1"
    copy.dw_request_id = 1 << 40
    with pytest.raises(EncodeError):
        bytes(copy)


def test_null_can_be_crafted_where_an_array_has_a_size() -> None:
    stub = ms.MSMQ_S_DSSetObjectSecurityGuid_request(security_information=4, n_length=5)
    assert bytes(stub) == bytes.fromhex("01000000" + "00" * 16 + "04000000 00000000 05000000")
    assert [one.code for one in ms.anomalies(type(stub)(bytes(stub)))] == ["ndr.null-array"]


def test_a_cut_stub_shows_what_it_has_and_keeps_its_bytes(fixtures: Path) -> None:
    for data, stub in _stubs(fixtures / "rpc" / "remote_read" / "r_start_receive.json"):
        for size in range(1, len(data), 7):
            cut = type(stub)(data[:size], ndr64=stub.ndr64, ndrendian=stub.ndrendian)
            assert bytes(cut) == data[:size]
            cut.show(dump=True)


@pytest.mark.parametrize("path", _CAPTURES, ids=[path.name for path in _CAPTURES])
def test_a_session_gives_the_stubs_of_the_calls_that_read_capture_gives(path: Path) -> None:
    expected = []
    for record in mw.read_capture(str(path), type="rpc_call"):
        if not record.packet.guessed:
            for side in ("request", "response"):
                value = getattr(record.packet, side)
                if value is not None:
                    expected.append((record.packet.method, side, view(value)))
    frames = sniff(offline=str(path), session=ms.MSMQSession)
    found = [
        (layer.method.name, layer.side, ms.view(layer))
        for frame in frames
        for layer in frame.iterpayloads()
        if isinstance(layer, ms.MSMQStub)
    ]
    # A stub without bytes is shown, too: it belongs to a method without parameters.
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_the_sessions_of_scapy_decode_our_stubs(
    registered: None, monkeypatch: pytest.MonkeyPatch, fixtures: Path
) -> None:
    monkeypatch.setattr(conf, "dcerpc_session_enable", True)
    frames = sniff(offline=str(fixtures / "rpc_captures" / "rpc_none_ndr64.pcap"), session=TCPSession)
    stubs = [layer for frame in frames for layer in frame.iterpayloads() if isinstance(layer, ms.MSMQStub)]
    assert all(stub.ndr64 and stub.error is None for stub in stubs)
    assert {stub.method.name for stub in stubs} >= {"R_OpenQueue", "R_StartReceive", "R_EndReceive"}
    assert all(
        stub.underlayer.opnum == stub.method.opnum
        for stub in stubs
        if isinstance(stub.underlayer, DceRpc5Request)
    )
