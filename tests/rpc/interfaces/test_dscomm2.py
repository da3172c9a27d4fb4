"""dscomm2, [MS-MQDS] 3.3.4: sites of a computer, Global Catalog Servers, answers without a status."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.interfaces.dscomm2 import INTERFACE
from msmq_wire.rpc.ndr import NDR, NDR64, StubValue, Syntax, encode_stub, inspect_stub
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_SITES, _END, _IS_GC, _SERVERS = (INTERFACE.methods[opnum] for opnum in (0, 5, 6, 8))


def test_sites_stand_behind_a_pointer_with_their_count_three_times() -> None:
    stub = bytes.fromhex("01000000 00000200 01000000 00000000 01000000 000102030405060708090a0b0c0d0e0f")
    stub += bytes.fromhex("00000000 00000000 00000000")
    read = inspect_stub(_SITES.response, stub, NDR)
    assert (read.error, read.anomalies, read.remainder) == (None, (), b"")
    assert read.value.ppguid_sites == (GUID(bytes(range(16))),)
    assert encode_stub(_SITES.response, StubValue(read.value), NDR) == stub


def test_another_number_of_sites_than_said_is_told() -> None:
    stub = bytes.fromhex("02000000 00000200 01000000 00000000 01000000") + bytes(16 + 12)
    codes = [one.code for one in inspect_stub(_SITES.response, stub, NDR).anomalies]
    assert codes == ["ndr.size-is", "ndr.length-is"]


def test_the_end_of_a_notification_has_no_status() -> None:
    assert not _END.returns_status
    assert inspect_stub(_END.response, bytes(20), NDR).remainder == b""
    assert not _IS_GC.returns_status
    assert inspect_stub(_IS_GC.response, b"\1\0\0\0", NDR).value.return_value == 1


@pytest.mark.parametrize("syntax", [NDR, NDR64])
@pytest.mark.parametrize("servers", [None, WcharText.of("10gc01.example,11gc02.example")])
def test_the_servers_of_a_domain_are_a_text_or_nothing(syntax: Syntax, servers: WcharText | None) -> None:
    value = _SERVERS.response.cls(lplpwsz_gc_list=servers)
    data = encode_stub(_SERVERS.response, StubValue(value), syntax)
    assert inspect_stub(_SERVERS.response, data, syntax).value == value
