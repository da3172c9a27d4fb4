"""qmcomm, [MS-MQMP] 3.1.4: what is special in its parameter lists, by hand."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.interfaces.qmcomm import INTERFACE
from msmq_wire.rpc.ndr import NDR, NDR64, NULL_POINTEE, StubValue, Syntax, decode_stub, encode_stub
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_HANDLE = ContextHandle(uuid=GUID(bytes(range(16))))
_HANDLE_BYTES = "00000000 000102030405060708090a0b0c0d0e0f"
_TEXT = "02000000 00000000 02000000 61000000"


@pytest.mark.parametrize(
    ("digits", "value"),
    [
        ("00000000", None),
        ("00000200 00000000", NULL_POINTEE),
        (f"00000200 04000200 {_TEXT}", WcharText.of("a")),
    ],
)
def test_a_text_behind_two_pointers(digits: str, value: object) -> None:
    parameters = INTERFACE.methods[1].response
    stub = bytes.fromhex(f"{digits} 00000000")
    decoded = decode_stub(parameters, stub)
    assert decoded.value.lplp_remote_queue_name == value
    assert encode_stub(parameters, decoded) == stub


def test_outputs_come_in_the_order_of_the_definition() -> None:
    opened = decode_stub(
        INTERFACE.methods[2].response, bytes.fromhex(f"{_HANDLE_BYTES} 01000000 02000000 03000000 04000000")
    ).value
    assert (opened.status, opened.ph_queue) == (4, 3)
    internal = decode_stub(
        INTERFACE.methods[19].response, bytes.fromhex(f"00000000 01000000 {_HANDLE_BYTES} 04000000")
    ).value
    assert (internal.pdw_qm_context, internal.ph_queue, internal.status) == (1, _HANDLE, 4)


def test_the_context_of_a_remote_queue_is_closed_without_a_status() -> None:
    method = INTERFACE.methods[3]
    assert not method.returns_status
    assert method.request.cls is method.response.cls
    assert len(encode_stub(method.response, StubValue(method.response.cls()))) == 20


def test_a_new_queue_has_its_values_without_pointers_and_its_descriptor_behind_one() -> None:
    parameters = INTERFACE.methods[6].request
    stub = bytes.fromhex(
        f"01000000 {_TEXT} 02000000 00000200 02000000 aabb 0000"
        "01000000 01000000 65000000 01000000 00000000 1100 00 00 00000000 1100 07"
    )
    value = decode_stub(parameters, stub).value
    assert value.p_security_descriptor == b"\xaa\xbb"
    assert value.a_prop == (0x65,)
    assert value.ap_var == (PropVariant(vt=17, arm=7),)
    assert encode_stub(parameters, decode_stub(parameters, stub)) == stub


@pytest.mark.parametrize(("syntax", "digits"), [(NDR, "00000000" * 2), (NDR64, "00" * 16)])
def test_set_properties_may_be_null(syntax: Syntax, digits: str) -> None:
    parameters = INTERFACE.methods[11].request
    head = encode_stub(parameters, StubValue(parameters.cls()), syntax)
    assert head.endswith(bytes.fromhex(digits))
    value = decode_stub(parameters, head, syntax).value
    assert (value.a_prop, value.ap_var) == (None, None)


def test_an_answer_says_its_own_size() -> None:
    stub = bytes.fromhex("03000000 aabbcc 00 03000000 00000000")
    value = decode_stub(INTERFACE.methods[8].response, stub).value
    assert (value.p_security_descriptor, value.lpn_length_needed) == (b"\xaa\xbb\xcc", 3)
    stub = bytes.fromhex(f"00000200 {_TEXT} 02000000 00000000")
    assert decode_stub(INTERFACE.methods[26].response, stub).value.lpwcs_format_name == WcharText.of("a")
