"""qm2qm, [MS-MQQP] 3.1.4: descriptors, ranges, methods without a status."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.interfaces.qm2qm import INTERFACE
from msmq_wire.rpc.ndr import NDR, NDR64, StubValue, Syntax, decode_stub, encode_stub, inspect_stub
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2


def test_a_version_is_four_bytes_without_a_status() -> None:
    method = INTERFACE.methods[8]
    value = decode_stub(method.response, bytes.fromhex("05 02 ce0e")).value
    assert (value.p_major, value.p_minor, value.p_build_number) == (5, 2, 3790)
    assert not method.returns_status
    assert encode_stub(method.request, StubValue(method.request.cls())) == b""


@pytest.mark.parametrize(
    ("opnum", "stub", "path", "fine"),
    [
        (2, "11" * 16 + "10000000" + "00" * 12, "dw_mqs", True),
        (2, "11" * 16 + "11000000" + "00" * 12, "dw_mqs", False),
        (7, "03000000", "dw_port_type", True),
        (7, "04000000", "dw_port_type", False),
    ],
)
def test_numbers_have_the_ranges_of_the_definition(opnum: int, stub: str, path: str, fine: bool) -> None:
    anomalies = inspect_stub(INTERFACE.methods[opnum].request, bytes.fromhex(stub)).anomalies
    assert [(found.code, found.path) for found in anomalies] == ([] if fine else [("ndr.range", path)])


@pytest.mark.parametrize(("syntax", "length"), [(NDR, 44), (NDR64, 48)])
def test_a_receive_is_asked_for_with_a_descriptor_without_a_buffer(syntax: Syntax, length: int) -> None:
    parameters = INTERFACE.methods[0].request
    value = parameters.cls(lp_remote_read_desc=RemoteReadDesc(ul_timeout=1000))
    stub = encode_stub(parameters, StubValue(value), syntax)
    assert len(stub) == length
    assert decode_stub(parameters, stub, syntax).value == value


@pytest.mark.parametrize("syntax", [NDR, NDR64])
def test_a_packet_comes_whole_behind_two_pointers(syntax: Syntax) -> None:
    parameters = INTERFACE.methods[10].response
    desc = RemoteReadDesc(dw_size=3, lp_buffer=b"abc", reserved=1)
    value = parameters.cls(
        lp_remote_read_desc2=RemoteReadDesc2(p_remote_read_desc=desc, sequential_id=1 << 40), status=0
    )
    stub = encode_stub(parameters, StubValue(value), syntax)
    result = inspect_stub(parameters, stub, syntax)
    assert (result.value, result.anomalies) == (value, ())
