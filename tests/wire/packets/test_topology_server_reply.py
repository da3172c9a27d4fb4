"""TopologyServerReply, [MS-MQSD] 2.2.3."""

from __future__ import annotations

import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.headers.topology_packet_header import TopologyPacketHeader
from msmq_wire.wire.packets.topology_server_reply import (
    ConnectedNetwork,
    DirectoryServiceServer,
    TopologyServerReply,
    directory_service_servers,
    is_server_array,
)
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Cases

# The second reply that [MS-MQSD] 4 prints.
CASES = Cases(
    data=bytes.fromhex(
        "00 02 00 00 "  # TopologyPacketHeader
        "03a191f2 3ce3 4fab a930 be3a33e432dd "  # CorrelationID
        "01 00 00 00 "  # ConnectedNetworkCount
        "00 00 00 00 "  # ConnectedNetworkMask
        "12 00 00 00 "  # DirectoryServiceServerSize
        "62baeae6 c6d1 db11 baac 0003ff4e2d22 "  # ConnectedNetworkArray
        "60baeae6 c6d1 db11 baac 0003ff4e2d22 "  # RespondingSiteID
        "3100 3000 6e00 7400 3400 7000 6500 6300 0000 "  # DirectoryServiceServerArray
    ),
    value=TopologyServerReply(
        topology_packet_header=TopologyPacketHeader(version=0, type=2, reserved=0),
        correlation_id=GUID.parse("f291a103-e33c-ab4f-a930-be3a33e432dd"),
        connected_network_count=1,
        connected_network_mask=0,
        directory_service_server_size=18,
        connected_network_array=(
            ConnectedNetwork(connected_network_id=GUID.parse("e6eaba62-d1c6-11db-baac-0003ff4e2d22")),
        ),
        responding_site_id=GUID.parse("e6eaba60-d1c6-11db-baac-0003ff4e2d22"),
        directory_service_server_array=WcharText.of("10nt4pec"),
    ),
    kept=[
        (
            {0: "07", 2: "ffff"},
            "topology_packet_header",
            TopologyPacketHeader(version=7, type=2, reserved=0xFFFF),
        )
    ],
    broken=[
        ({1: "03"}, [("type", "topology_packet_header.type", 1, 1)]),
        (
            bytes.fromhex("00020000 03a191f23ce34faba930be3a33e432dd 00000000 00000000 00000000"),
            [("connected-network-count", "connected_network_count", 20, 4)],
        ),
        ({24: "01"}, [("connected-network-mask", "connected_network_mask", 24, 4)]),
        ({64: "32"}, [("directory-service-servers", "directory_service_server_array", 64, 18)]),
    ],
    borders=[{64: "30", 66: "31"}],
    refused=[
        ({}, 0, ("missing-bytes", "topology_packet_header.version", 0)),
        ({}, 31, ("missing-bytes", "directory_service_server_size", 28)),
        ({}, 60, ("missing-bytes", "responding_site_id", 48)),
        ({}, 81, ("missing-bytes", "directory_service_server_array", 64)),
        ({20: "ffffffff"}, 82, ("missing-bytes", "connected_network_array[3].connected_network_id", 80)),
        ({28: "ffffffff"}, 82, ("missing-bytes", "directory_service_server_array", 64)),
    ],
    contradictions=[
        ({"connected_network_count": 2}, "connected_network_array"),
        ({"directory_service_server_size": 16}, "directory_service_server_array"),
        ({"directory_service_server_size": 0}, "responding_site_id"),
        ({"correlation_id": GUID()}, "correlation_id"),
    ],
)


def test_a_server_of_the_site_of_the_client_names_neither_site_nor_servers() -> None:
    # The first reply that [MS-MQSD] 4 prints.
    data = bytes.fromhex(
        "00020000 03a191f2 3ce3 4fab a930 be3a33e432dd 01000000 00000000 00000000"
        "62baeae6 c6d1 db11 baac 0003ff4e2d22"
    )
    found = decode(data, "topology_server_reply")
    assert (found.responding_site_id, found.directory_service_server_array) == (None, b"")
    assert [str(one.connected_network_id) for one in found.connected_network_array] == [
        "e6eaba62-d1c6-11db-baac-0003ff4e2d22"
    ]
    assert encode(found) == data
    assert inspect(data, "topology_server_reply").anomalies == ()


@pytest.mark.parametrize(
    ("text", "right", "servers"),
    [
        ("10nt4pec\0", True, [(True, False, "nt4pec")]),
        ("11a,01b\0", True, [(True, True, "a"), (False, True, "b")]),
        ("00\u4e2d\0", True, [(False, False, "\u4e2d")]),
        ("10nt4pec", False, [(True, False, "nt4pec")]),
        ("10\0", False, []),
        ("10a,\0", False, [(True, False, "a")]),
        ("10a\x0010b\0", False, [(True, False, "a"), (True, False, "b")]),
        ("21a\0", False, [(False, True, "a")]),
        (",\0", False, []),
        ("\0", False, []),
        ("", True, []),
    ],
)
def test_servers_are_a_list_with_their_protocols(
    text: str, right: bool, servers: list[tuple[bool, bool, str]]
) -> None:
    array = WcharText(text.encode("utf-16-le"))
    assert is_server_array(array) == right
    assert list(directory_service_servers(array)) == [DirectoryServiceServer(*one) for one in servers]


def test_an_array_of_an_odd_size_is_read_as_far_as_it_goes() -> None:
    array = WcharText("10a".encode("utf-16-le") + b"x")
    assert not is_server_array(array)
    assert list(directory_service_servers(array)) == [(True, False, "a")]
