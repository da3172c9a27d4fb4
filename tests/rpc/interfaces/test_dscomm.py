"""dscomm, [MS-MQDS] 3.1.4: lookups, signatures, texts without an attribute, callbacks; bytes by hand."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.interfaces.dscomm import INTERFACE
from msmq_wire.rpc.interfaces.dscomm_sessions import DSLookupNextResponse
from msmq_wire.rpc.ndr import NDR, NDR64, NULL_POINTEE, StubValue, Syntax, encode_stub, inspect_stub
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_DELETE, _NEXT, _SERVERS = INTERFACE.methods[1], INTERFACE.methods[7], INTERFACE.methods[20]
_VALUES = (PropVariant(vt=19, arm=7), PropVariant(vt=1))


def test_a_path_name_is_a_text_with_its_end() -> None:
    stub = bytes.fromhex("02000000 06000000 00000000 06000000") + "msg01\0".encode("utf-16-le")
    read = inspect_stub(_DELETE.request, stub, NDR)
    assert (read.error, read.anomalies, read.remainder) == (None, (), b"")
    assert (read.value.dw_object_type, read.value.pwcs_path_name) == (2, WcharText.of("msg01"))
    assert encode_stub(_DELETE.request, StubValue(read.value), NDR) == stub


def test_a_kind_of_object_outside_the_range_is_told() -> None:
    stub = bytes.fromhex("3b000000 01000000 00000000 01000000 0000")
    assert [one.code for one in inspect_stub(_DELETE.request, stub, NDR).anomalies] == ["ndr.range"]


def test_a_lookup_brings_fewer_values_than_there_is_room_for() -> None:
    # dwSize of the request, 8, is the maximum; it is kept, as nothing in the response says it.
    stub = bytes.fromhex(
        "02000000 08000000 00000000 02000000 1300 00 00 00000000 1300 0000 07000000"
        "0100 00 00 00000000 0100 0000 02000000 aabb 0000 02000000 00000000"
    )
    read = inspect_stub(_NEXT.response, stub, NDR)
    assert (read.error, read.anomalies, read.remainder) == (None, (), b"")
    assert read.value == DSLookupNextResponse(
        dw_out_size=2, pb_buffer=_VALUES, pb_server_signature=b"\xaa\xbb", pdw_server_signature_size=2
    )
    assert encode_stub(_NEXT.response, StubValue(read.value, read.residue), NDR) == stub


@pytest.mark.parametrize("syntax", [NDR, NDR64])
def test_values_that_are_not_counted_right_are_told(syntax: Syntax) -> None:
    value = DSLookupNextResponse(dw_out_size=3, pb_buffer=_VALUES)
    read = inspect_stub(_NEXT.response, encode_stub(_NEXT.response, StubValue(value), syntax), syntax)
    assert [(one.code, one.path) for one in read.anomalies] == [("ndr.length-is", "pb_buffer")]


@pytest.mark.parametrize("servers", [None, NULL_POINTEE, WcharText.of("Berlin;\\10bsc.example")])
@pytest.mark.parametrize("syntax", [NDR, NDR64])
def test_the_servers_of_a_site_stand_behind_two_pointers(servers: object, syntax: Syntax) -> None:
    value = _SERVERS.response.cls(lplp_site_servers=servers)
    data = encode_stub(_SERVERS.response, StubValue(value), syntax)
    assert inspect_stub(_SERVERS.response, data, syntax).value == value


def test_callbacks_have_numbers_of_their_own() -> None:
    assert {opnum: one.name for opnum, one in INTERFACE.callbacks.items()} == {
        0: "S_DSQMSetMachinePropertiesSignProc",
        1: "S_DSQMGetObjectSecurityChallengeResponceProc",
        2: "S_InitSecCtx",
    }
    for opnum, callback in INTERFACE.callbacks.items():
        assert INTERFACE.method(opnum, callback=True) is callback
        assert INTERFACE.method(opnum) is INTERFACE.methods[opnum]
    assert INTERFACE.method(None) is None
    assert INTERFACE.method(9) is None


def test_a_token_of_a_callback_is_counted_behind_it() -> None:
    init = INTERFACE.callbacks[2]
    stub = bytes.fromhex("05000000 03000000 010203 00 03000000 00100000")
    read = inspect_stub(init.request, stub, NDR)
    assert (read.error, read.remainder) == (None, b"")
    assert (read.value.dw_context, read.value.p_serverbuff) == (5, b"\1\2\3")
    assert encode_stub(init.request, StubValue(read.value), NDR) == stub


def test_an_identifier_is_one_in_both_byte_orders() -> None:
    delete = INTERFACE.methods[10]
    value = delete.request.cls(dw_object_type=1, p_guid=GUID(bytes(range(16))))
    assert encode_stub(delete.request, StubValue(value), NDR) == b"\1\0\0\0" + bytes(range(16))
