"""`PingTracker`: pings, their answers, and the session that followed. [MS-MQQB] 2.1.2, 3.1.5.2.2"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from msmq_wire.records.endpoint import AT_PING, host_of
from msmq_wire.records.record import Record
from msmq_wire.sessions.followed_message import moment_of
from msmq_wire.sessions.session import PingExchange, Session
from msmq_wire.wire.packets.ping import PING_SIGNATURE
from msmq_wire.wire.partial import reached

_RF = 0x02
_KEPT = 1 << 14


class PingTracker:
    """Pairs requests and responses by cookie and hosts; remembers the latest 16,384 exchanges.

    ``followed`` are client and server of those that a session came behind which is not kept.
    """

    def __init__(self) -> None:
        self._exchanges: OrderedDict[tuple[str, str, int], PingExchange] = OrderedDict()
        self._latest: OrderedDict[tuple[str, str], tuple[str, str, int]] = OrderedDict()
        self.left_out = 0
        self.followed: set[tuple[str, str]] = set()

    def forget(self, session: Session) -> None:
        """Remember of a session that is kept no longer that it followed a ping."""
        if session.ping is not None and len(self.followed) < _KEPT:
            self.followed.add((host_of(session.client), host_of(session.server)))

    def feed(self, record: Record) -> None:
        """Take a ``ping`` record."""
        packet = record.packet
        cookie = reached(packet, "cookie")
        if cookie is None or packet.signature != PING_SIGNATURE or not record.src or not record.dst:
            return
        asks = record.dst.endswith(AT_PING)
        client, server = (record.src, record.dst) if asks else (record.dst, record.src)
        if asks and record.src.endswith(AT_PING):
            # Both ports are those of pings: what was asked before is answered.
            asks = (server, client, cookie) not in self._exchanges
            client, server = (client, server) if asks else (server, client)
        key = (client, server, cookie)
        known = self._exchanges.get(key) or PingExchange(client=client, server=server, cookie=cookie)
        guid = reached(packet, "qm_guid")
        moment = moment_of(record)
        if asks:
            known = msgspec.structs.replace(
                known,
                request=known.request or moment,
                requests=known.requests + 1,
                client_queue_manager=known.client_queue_manager or guid,
            )
        else:
            known = msgspec.structs.replace(
                known,
                response=known.response or moment,
                server_queue_manager=known.server_queue_manager or guid,
                refused=known.refused or bool(packet.flags & _RF),
            )
        self._exchanges[key] = known
        hosts = (host_of(client), host_of(server))
        self._latest[hosts] = key
        self._latest.move_to_end(hosts)
        if len(self._exchanges) > _KEPT:
            self._exchanges.popitem(last=False)
            self.left_out += 1
        if len(self._latest) > _KEPT:
            self._latest.popitem(last=False)

    def unreachable(self, record: Record) -> bool:
        """Take an ICMP message about a ping; tell whether it is about one."""
        if not (record.dst or "").endswith(AT_PING):
            return False
        hosts = (host_of(record.src), host_of(record.dst))
        key = self._latest.get(hosts)
        if key is not None and key in self._exchanges:
            known = self._exchanges[key]
            self._exchanges[key] = msgspec.structs.replace(
                known, unreachable=known.unreachable or moment_of(record)
            )
        return True

    def before(self, client: str, server: str) -> PingExchange | None:
        """The latest exchange between two hosts (``address:port``, the ports do not count)."""
        key = self._latest.get((host_of(client), host_of(server)))
        return None if key is None else self._exchanges.get(key)

    def exchanges(self) -> tuple[PingExchange, ...]:
        """All exchanges that are remembered, in order of appearance."""
        return tuple(self._exchanges.values())
