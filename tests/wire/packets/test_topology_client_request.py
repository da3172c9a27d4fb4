"""TopologyClientRequest, [MS-MQSD] 2.2.2."""

from __future__ import annotations

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.headers.topology_packet_header import TopologyPacketHeader
from msmq_wire.wire.packets.topology_client_request import IPXNetwork, IPXNetworks, TopologyClientRequest
from msmq_wire.wire.types.guid import GUID
from tests.wire.cases import Cases

# The request that [MS-MQSD] 4 prints.
CASES = Cases(
    data=bytes.fromhex(
        "00 01 00 00 "  # TopologyPacketHeader
        "61baeae6 c6d1 db11 baac 0003ff4e2d22 "  # EnterpriseID
        "03a191f2 3ce3 4fab a930 be3a33e432dd "  # RequestID
        "f61bc5dc add4 4345 8739 71568e8f9128 "  # SiteID
    ),
    value=TopologyClientRequest(
        topology_packet_header=TopologyPacketHeader(version=0, type=1, reserved=0),
        enterprise_id=GUID.parse("e6eaba61-d1c6-11db-baac-0003ff4e2d22"),
        request_id=GUID.parse("f291a103-e33c-ab4f-a930-be3a33e432dd"),
        site_id=GUID.parse("dcc51bf6-d4ad-4543-8739-71568e8f9128"),
        ipx_networks=None,
    ),
    broken=[
        ({0: "01"}, [("version", "topology_packet_header.version", 0, 1)]),
        ({1: "02"}, [("type", "topology_packet_header.type", 1, 1)]),
        ({3: "01"}, [("reserved", "topology_packet_header.reserved", 2, 2)]),
        ({52: "01000000 78563412"}, [("ipx-networks", "ipx_networks", 52, 8)]),
    ],
    refused=[
        ({}, 0, ("missing-bytes", "topology_packet_header.version", 0)),
        ({}, 51, ("missing-bytes", "site_id", 36)),
        (
            {52: "02000000 78563412 010000"},
            63,
            ("missing-bytes", "ipx_networks.ipx_network_number_array[1].ipx_network_number", 60),
        ),
        (
            {52: "ffffffff 78563412"},
            60,
            ("missing-bytes", "ipx_networks.ipx_network_number_array[1].ipx_network_number", 60),
        ),
    ],
    contradictions=[
        ({"request_id": GUID()}, "request_id"),
        ({"ipx_networks": IPXNetworks(ipx_network_count=1)}, "ipx_networks.ipx_network_number_array"),
    ],
)


def test_networks_are_read_where_there_are_bytes_for_one() -> None:
    two = CASES.data + bytes.fromhex("02000000 78563412 01000000")
    found = decode(two, "topology_client_request")
    numbers = (IPXNetwork(ipx_network_number=0x12345678), IPXNetwork(ipx_network_number=1))
    assert found.ipx_networks == IPXNetworks(ipx_network_count=2, ipx_network_number_array=numbers)
    assert encode(found) == two


@pytest.mark.parametrize("more", range(1, 8))
def test_what_is_too_short_for_a_network_is_no_field(more: int) -> None:
    result = inspect(CASES.data + bytes(more), "topology_client_request")
    assert (result.packet, result.remainder, result.anomalies) == (CASES.value, bytes(more), ())


@pytest.mark.parametrize(("count", "right"), [(0, False), (1, True), (32, True), (33, False)])
def test_there_are_1_to_32_networks(count: int, right: bool) -> None:
    data = CASES.data + count.to_bytes(4, "little") + bytes(4 * max(count, 1))
    codes = [found.code for found in inspect(data, "topology_client_request").anomalies]
    wrong = [] if right else ["ipx_networks.ipx-network-count"]
    assert codes == ["topology_client_request.ipx-networks", *wrong]
