"""TopologyServerReply, [MS-MQSD] 2.2.3."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, NamedTuple

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this, within
from msmq_wire.wire.fields import Bytes, Items, Node, Opt, WireStruct
from msmq_wire.wire.headers.topology_packet_header import TopologyPacketHeader
from msmq_wire.wire.musts import CodedMust, Must, Musts
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.enumerations import TopologyPacketType
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid
from msmq_wire.wire.types.wchar_text import WcharText

_SPEC = SpecRef("MS-MQSD", "2.2.3")


class DirectoryServiceServer(NamedTuple):
    """An entry of DirectoryServiceServerArray: a host, and the protocols that it supports."""

    ip: bool
    ipx: bool
    name: str


def directory_service_servers(array: WcharText) -> Iterator[DirectoryServiceServer]:
    """The servers in an array. A comma or a NUL ends an entry; entries without a name are skipped.

    The first two characters of an entry come before the name. [MS-MQSD] 3.1.7.1
    """
    text = bytes(array[: len(array) & ~1]).decode("utf-16-le", "replace")
    for entry in text.replace("\0", ",").split(","):
        if len(entry) > 2:
            yield DirectoryServiceServer(entry[0] == "1", entry[1] == "1", entry[2:])


def is_server_array(array: WcharText) -> bool:
    """Whether an array follows its grammar; an empty one does."""
    if not array:
        return True
    if not array.terminated:
        return False
    text = bytes(array[:-2]).decode("utf-16-le", "replace")
    return "\0" not in text and all(
        len(entry) > 2 and entry[0] in "01" and entry[1] in "01" for entry in text.split(",")
    )


class ConnectedNetwork(WireStruct, frozen=True, kw_only=True, gc=False):
    """One network that the responding server is connected to."""

    SPEC: ClassVar[SpecRef] = _SPEC
    connected_network_id: Annotated[GUID, Guid, HOST, "The network."] = NULL_GUID


class TopologyServerReply(WireStruct, frozen=True, kw_only=True, gc=False):
    """Answers a request: the networks of a server and, to a client of another site, servers of its own."""

    SPEC: ClassVar[SpecRef] = _SPEC
    topology_packet_header: Annotated[
        TopologyPacketHeader, Node(TopologyPacketHeader), "Says that this is a reply."
    ] = TopologyPacketHeader(type=TopologyPacketType.TOPOLOGY_SERVER_REPLY)
    correlation_id: Annotated[GUID, Guid, HOST, "RequestID of the request."] = NULL_GUID
    connected_network_count: Annotated[int, Int32ul, "Networks that follow."] = 1
    connected_network_mask: Annotated[int, Int32ul, "0 over IP; over IPX as many bits as networks."] = 0
    directory_service_server_size: Annotated[
        int, Int32ul, "Bytes of DirectoryServiceServerArray; 0 from a server of the client's site."
    ] = 0
    connected_network_array: Annotated[
        tuple[ConnectedNetwork, ...],
        Items(this.connected_network_count, Node(ConnectedNetwork)),
        "Networks of the server.",
    ] = (ConnectedNetwork(),)
    responding_site_id: Annotated[
        GUID | None,
        Opt(this.directory_service_server_size != 0, Guid),
        HOST,
        "Site of the server, if it is another than that of the client.",
    ] = None
    directory_service_server_array: Annotated[
        WcharText,
        Bytes(this.directory_service_server_size, WcharText),
        HOST,
        "Servers of that site, separated by commas: IP (0 or 1), IPX (0 or 1), name.",
    ] = WcharText()

    MUSTS: ClassVar[Musts] = (
        Must(
            "type",
            this.topology_packet_header.type == TopologyPacketType.TOPOLOGY_SERVER_REPLY,
            at="topology_packet_header.type",
            message="Type must be 2 in a reply",
            spec=TopologyPacketHeader.SPEC,
        ),
        Must(
            "connected-network-count",
            within(this.connected_network_count, 1, 32),
            at="connected_network_count",
            message="ConnectedNetworkCount must be 1 to 32",
        ),
        Must(
            "connected-network-mask",
            this.connected_network_mask == 0,
            at="connected_network_mask",
            message="ConnectedNetworkMask must be 0 over IP",
        ),
        CodedMust(
            "directory-service-servers",
            is_server_array,
            "directory_service_server_array",
            at="directory_service_server_array",
            message="DirectoryServiceServerArray must be a list of servers that ends with a NUL",
        ),
    )
