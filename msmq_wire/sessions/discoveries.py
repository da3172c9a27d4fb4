"""Directory service discovery: who asked for servers, and which answered with what. [MS-MQSD] 3.1.5, 3.2.5"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from msmq_wire.records.record import Record
from msmq_wire.sessions.followed_message import moment_of
from msmq_wire.sessions.moment import Moment
from msmq_wire.wire.packets.topology_server_reply import DirectoryServiceServer, directory_service_servers
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

DISCOVERY_PACKETS = frozenset(("topology_client_request", "topology_server_reply"))
_KEPT = 1 << 12
_REPLIES = 64
_LISTED = 64


class DiscoveryReply(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a ``server`` answered to ``client`` (``address:port``). [MS-MQSD] 2.2.3

    ``site`` is None where the server belongs to the site of the client and names no servers. ``networks`` and
    ``servers`` are the first 64.
    """

    server: str
    client: str
    at: Moment
    site: GUID | None = None
    networks: tuple[GUID, ...] = ()
    servers: tuple[DirectoryServiceServer, ...] = ()


class ServerDiscovery(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request for directory servers and its replies, tied by ``request_id``. [MS-MQSD] 2.2.2

    ``client`` asked (``address:port``; empty where no request was captured), ``requests`` counts how often.
    ``replies`` are the first 64 in order, ``more`` counts the others.
    """

    request_id: GUID
    client: str = ""
    request: Moment | None = None
    requests: int = 0
    enterprise: GUID | None = None
    site: GUID | None = None
    replies: tuple[DiscoveryReply, ...] = ()
    more: int = 0


class DiscoveryTracker:
    """Puts replies to their requests; remembers the latest 4,096 of them."""

    def __init__(self) -> None:
        self._found: OrderedDict[bytes, ServerDiscovery] = OrderedDict()
        self.left_out = 0

    def feed(self, record: Record) -> None:
        """Take a record of one of `DISCOVERY_PACKETS`; one that is cut before its end tells nothing."""
        if record.error is not None or not record.src or not record.dst:
            return
        packet, asks = record.packet, record.type == "topology_client_request"
        key = reached(packet, "request_id" if asks else "correlation_id")
        if not isinstance(key, GUID):
            return
        known = self._found.get(key) or ServerDiscovery(request_id=key)
        if asks:
            known = msgspec.structs.replace(
                known,
                client=known.client or record.src,
                request=known.request or moment_of(record),
                requests=known.requests + 1,
                enterprise=known.enterprise or packet.enterprise_id,
                site=known.site or packet.site_id,
            )
        elif len(known.replies) < _REPLIES:
            known = msgspec.structs.replace(known, replies=(*known.replies, _reply(record)))
        else:
            known = msgspec.structs.replace(known, more=known.more + 1)
        self._found[key] = known
        if len(self._found) > _KEPT:
            self._found.popitem(last=False)
            self.left_out += 1

    def discoveries(self) -> tuple[ServerDiscovery, ...]:
        """All that are remembered, in order of appearance."""
        return tuple(self._found.values())


def _reply(record: Record) -> DiscoveryReply:
    packet = record.packet
    # What is longer than a datagram that names so many hosts is not read to its end.
    array = WcharText(packet.directory_service_server_array[: _LISTED * 1024])
    servers = (one for _, one in zip(range(_LISTED), directory_service_servers(array), strict=False))
    return DiscoveryReply(
        server=record.src or "",
        client=record.dst or "",
        at=moment_of(record),
        site=packet.responding_site_id,
        networks=tuple(one.connected_network_id for one in packet.connected_network_array[:_LISTED]),
        servers=tuple(servers),
    )
