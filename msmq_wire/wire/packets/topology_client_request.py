"""TopologyClientRequest, [MS-MQSD] 2.2.2."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this, within
from msmq_wire.wire.fields import Ahead, Items, Node, Opt, WireStruct
from msmq_wire.wire.headers.topology_packet_header import TopologyPacketHeader
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.enumerations import TopologyPacketType
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid

_SPEC = SpecRef("MS-MQSD", "2.2.2")


class IPXNetwork(WireStruct, frozen=True, kw_only=True, gc=False):
    """One IPX network of a client."""

    SPEC: ClassVar[SpecRef] = _SPEC
    ipx_network_number: Annotated[int, Int32ul, "Address of the network."] = 0


class IPXNetworks(WireStruct, frozen=True, kw_only=True, gc=False):
    """The IPX networks of a client; not in a packet over IP."""

    SPEC: ClassVar[SpecRef] = _SPEC
    ipx_network_count: Annotated[int, Int32ul, "Networks that follow."] = 0
    ipx_network_number_array: Annotated[
        tuple[IPXNetwork, ...], Items(this.ipx_network_count, Node(IPXNetwork)), "The networks."
    ] = ()

    MUSTS: ClassVar[Musts] = (
        Must(
            "ipx-network-count",
            within(this.ipx_network_count, 1, 32),
            at="ipx_network_count",
            message="IPXNetworkCount must be 1 to 32",
        ),
    )


class TopologyClientRequest(WireStruct, frozen=True, kw_only=True, gc=False):
    """Asks every host of a network which servers provide the directory service; UDP 1801, no BaseHeader."""

    SPEC: ClassVar[SpecRef] = _SPEC
    topology_packet_header: Annotated[
        TopologyPacketHeader, Node(TopologyPacketHeader), "Says that this is a request."
    ] = TopologyPacketHeader()
    enterprise_id: Annotated[GUID, Guid, HOST, "Enterprise that the client belongs to."] = NULL_GUID
    request_id: Annotated[GUID, Guid, HOST, "Ties a reply to its request."] = NULL_GUID
    site_id: Annotated[GUID, Guid, HOST, "Site that the client belongs to."] = NULL_GUID
    # A packet too short for one network has none of the two fields, [MS-MQSD] 3.2.5.1.
    _first_network: ClassVar[Annotated[int, Ahead(Int32ul, 4)]]
    ipx_networks: Annotated[
        IPXNetworks | None,
        Opt(this._first_network >= 0, Node(IPXNetworks)),
        "If there are bytes for one network.",
    ] = None

    MUSTS: ClassVar[Musts] = (
        Must(
            "version",
            this.topology_packet_header.version == 0,
            at="topology_packet_header.version",
            message="a client must set Version to 0",
            spec=TopologyPacketHeader.SPEC,
        ),
        Must(
            "type",
            this.topology_packet_header.type == TopologyPacketType.TOPOLOGY_CLIENT_REQUEST,
            at="topology_packet_header.type",
            message="Type must be 1 in a request",
            spec=TopologyPacketHeader.SPEC,
        ),
        Must(
            "reserved",
            this.topology_packet_header.reserved == 0,
            at="topology_packet_header.reserved",
            message="a client must set Reserved to 0",
            spec=TopologyPacketHeader.SPEC,
        ),
        Must(
            "ipx-networks",
            this.ipx_networks.ipx_network_count < 0,
            at="ipx_networks",
            message="IPXNetworkCount is present, which it must not be over IP",
        ),
    )
