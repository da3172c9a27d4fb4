"""Calls whose stubs are opened: by what the bind says, or by their shape."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.rpc.decoding import (
    NDR64_SYNTAX,
    NDR_SYNTAX,
    decode_call,
    follow_guess,
    guess_call,
    syntax_name,
)
from msmq_wire.rpc.events import CallEvent, FaultEvent, Stub, SyntaxId
from msmq_wire.rpc.interfaces import INTERFACES, Interface
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, StubValue, Syntax, encode_stub
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_BY_NAME = {interface.name: interface for interface in INTERFACES.values()}
_HANDLE = ContextHandle(uuid=GUID(bytes(range(16))))
_OTHER = GUID.parse("12345678-1234-1234-1234-123456789abc")
_IDS = {"ndr": SyntaxId(NDR_SYNTAX, 2, 0), "ndr64": SyntaxId(NDR64_SYNTAX, 1, 0)}


def _interface(name: str) -> SyntaxId:
    return SyntaxId(_BY_NAME[name].uuid, 1, 0)


def _stubs(interface: Interface, opnum: int, syntax: Syntax) -> tuple[bytes, bytes]:
    """The stubs of a call with a handle."""
    method = interface.methods[opnum]
    request = method.request.cls()
    if "ph_context" in method.request.names:
        request = method.request.cls(ph_context=_HANDLE)
    return (
        encode_stub(method.request, StubValue(request), syntax),
        encode_stub(method.response, StubValue(method.response.cls()), syntax),
    )


def _event(
    opnum: int | None,
    request: Stub | None,
    response: Stub | None = None,
    *,
    interface: SyntaxId | None = None,
    syntax: SyntaxId | None = None,
    fault: FaultEvent | None = None,
) -> CallEvent:
    return CallEvent(
        call_id=1,
        context_id=0,
        opnum=opnum,
        interface=interface,
        syntax=syntax,
        request=request,
        response=response,
        fault=fault,
    )


@pytest.mark.parametrize("syntax", [NDR, NDR_BIG_ENDIAN, NDR64])
def test_a_bound_call_is_opened_in_its_syntax_and_byte_order(syntax: Syntax) -> None:
    request, response = _stubs(_BY_NAME["RemoteRead"], 4, syntax)
    call = decode_call(
        _event(
            4,
            Stub(data=request, big_endian=syntax.big_endian),
            Stub(data=response, big_endian=syntax.big_endian),
            interface=_interface("RemoteRead"),
            syntax=_IDS[syntax.name],
        )
    )
    assert call.method is not None
    assert (call.method.name, call.syntax, call.guessed) == ("R_CreateCursor", syntax, False)
    assert call.request is not None
    assert call.request.value.ph_context == _HANDLE
    assert call.response is not None
    assert call.status == 0


def test_each_side_writes_in_its_own_byte_order() -> None:
    interface = _BY_NAME["RemoteRead"]
    request, _ = _stubs(interface, 4, NDR)
    response = bytes.fromhex("00000007 c00e0007")
    call = decode_call(
        _event(
            4,
            Stub(data=request),
            Stub(data=response, big_endian=True),
            interface=_interface("RemoteRead"),
            syntax=_IDS["ndr"],
        )
    )
    assert call.response is not None
    assert call.response.value.ph_cursor == 7
    assert call.status == 0xC00E0007


def test_a_sealed_or_missing_stub_is_not_opened() -> None:
    sealed = Stub(data=b"\x99" * 20, sealed=True)
    call = decode_call(_event(4, sealed, interface=_interface("RemoteRead"), syntax=_IDS["ndr"]))
    assert call.method is not None
    assert (call.request, call.response, call.status) == (None, None, None)


def test_a_stub_that_does_not_fit_keeps_its_error() -> None:
    call = decode_call(_event(4, Stub(data=bytes(5)), interface=_interface("RemoteRead"), syntax=_IDS["ndr"]))
    assert call.request is not None
    assert call.request.error is not None
    assert call.request.error.path == "ph_context.uuid"


def test_the_status_of_a_fault_is_that_of_the_call() -> None:
    fault = FaultEvent(call_id=1, status=0xC00E0025)
    call = decode_call(_event(4, None, fault=fault, interface=_interface("RemoteRead"), syntax=_IDS["ndr"]))
    assert call.status == 0xC00E0025


@pytest.mark.parametrize(
    ("opnum", "interface", "syntax"),
    [
        (None, _interface("RemoteRead"), _IDS["ndr"]),
        (99, _interface("RemoteRead"), _IDS["ndr"]),
        (1, _interface("RemoteRead"), _IDS["ndr"]),
        (4, SyntaxId(_OTHER, 1, 0), _IDS["ndr"]),
        (4, _interface("RemoteRead"), SyntaxId(_OTHER, 1, 0)),
        (4, _interface("RemoteRead"), None),
        (4, None, None),
    ],
)
def test_what_is_not_known_stays_closed(
    opnum: int | None, interface: SyntaxId | None, syntax: SyntaxId | None
) -> None:
    call = decode_call(_event(opnum, Stub(data=bytes(20)), interface=interface, syntax=syntax))
    assert (call.request, call.response) == (None, None)


def test_ndr64_is_never_big_endian() -> None:
    call = decode_call(
        _event(
            4,
            Stub(data=bytes(20), big_endian=True),
            interface=_interface("RemoteRead"),
            syntax=_IDS["ndr64"],
        )
    )
    assert call.method is not None
    assert (call.syntax, call.request) == (None, None)


@pytest.mark.parametrize("syntax", [NDR, NDR64])
def test_a_call_without_a_bind_is_guessed_by_its_shape(syntax: Syntax) -> None:
    interface = _BY_NAME["RemoteRead"]
    method = interface.methods[2]
    queue = QueueFormat(m_qft=3, arm=WcharText.of("OS:host\\private$\\q"))
    request = encode_stub(
        method.request, StubValue(method.request.cls(p_queue_format=queue, dw_access=1)), syntax
    )
    response = encode_stub(method.response, StubValue(method.response.cls(pph_context=_HANDLE)), syntax)
    call = guess_call(_event(2, Stub(data=request), Stub(data=response)))
    assert call is not None
    assert call.guessed
    assert (call.interface, call.syntax) == (interface, syntax)
    assert call.request is not None
    assert call.request.value.p_queue_format == queue


def test_small_calls_are_read_as_another_call_of_their_context_told() -> None:
    # A handle alone: several interfaces have that, in both syntaxes.
    event = _event(3, Stub(data=bytes(4) + bytes(range(16))), Stub(data=bytes(24)))
    assert guess_call(event) is None
    for name in ("RemoteRead", "qm2qm"):
        for syntax in (NDR, NDR64):
            call = follow_guess(event, _BY_NAME[name], syntax)
            assert call.guessed
            assert call.interface is _BY_NAME[name]
            assert call.syntax is syntax
            assert call.request is not None


def _plain(**changes: Any) -> CallEvent:
    """R_StartReceive that finds no message: what can be told by its shape."""
    request, response = _stubs(_BY_NAME["RemoteRead"], 7, NDR64)
    return _event(7, Stub(data=request, **changes), Stub(data=response))


def test_a_call_of_its_own_shape_is_guessed() -> None:
    call = guess_call(_plain())
    assert call is not None
    assert call.method is not None
    assert call.method.name == "R_StartReceive"
    assert call.guessed


@pytest.mark.parametrize("changes", [{"complete": False}, {"sealed": True}])
def test_what_is_cut_or_sealed_is_no_evidence(changes: dict[str, bool]) -> None:
    assert guess_call(_plain(**changes)) is None


def test_a_call_that_failed_or_was_not_answered_is_no_evidence() -> None:
    plain = _plain()
    assert guess_call(_event(7, plain.request)) is None
    assert guess_call(_event(7, plain.request, plain.response, fault=FaultEvent(call_id=1, status=5))) is None


@pytest.mark.parametrize(
    "event",
    [
        _event(None, Stub(data=bytes(20))),
        _event(99, Stub(data=bytes(20))),
        _event(4, None),
        _event(4, Stub(data=bytes(20), sealed=True)),
        _event(4, Stub(data=bytes(3))),
        _event(4, Stub(data=bytes(20) + b"more behind it than padding has")),
    ],
)
def test_nothing_is_guessed_where_nothing_fits(event: CallEvent) -> None:
    assert guess_call(event) is None


def test_zeros_behind_the_last_parameter_are_padding() -> None:
    plain = _plain()
    assert plain.request is not None
    assert plain.response is not None
    call = guess_call(_event(7, Stub(data=plain.request.data + bytes(4)), plain.response))
    assert call is not None
    assert call.request is not None
    assert call.request.remainder == bytes(4)
    assert guess_call(_event(7, Stub(data=plain.request.data + b"\1"), plain.response)) is None


@pytest.mark.parametrize(
    ("syntax", "name"),
    [
        (None, None),
        (_IDS["ndr"], "ndr"),
        (_IDS["ndr64"], "ndr64"),
        (SyntaxId(_OTHER, 1, 0), "12345678-1234-1234-1234-123456789abc"),
    ],
)
def test_a_syntax_has_a_name_or_is_its_uuid(syntax: SyntaxId | None, name: str | None) -> None:
    assert syntax_name(syntax) == name
