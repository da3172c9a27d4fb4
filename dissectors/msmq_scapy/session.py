# SPDX-License-Identifier: GPL-2.0-or-later
"""`MSMQSession`: what a capture or an interface gives, with whole MSMQ packets instead of TCP segments.

The rule kept here: segments are put in order, and packets found in them, by msmq_wire; memory is bounded
whatever comes in. A frame of something else passes as it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from socket import AF_INET, AF_INET6
from typing import Any

from scapy.config import conf
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.packet import Packet
from scapy.pton_ntop import inet_pton
from scapy.sessions import DefaultSession
from scapy.supersocket import SuperSocket

from msmq_scapy.calls import CallFollower, FoundStub
from msmq_scapy.packets import MSMQ, packet_class
from msmq_wire.reassembly.ip import IpFragment, IpReassembler
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT, endpoint
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.recognition import Ports
from msmq_wire.records.record import FoundPacket, Item
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.units import SECOND
from msmq_wire.wire.headers.topology_packet_header import DISCOVERY
from msmq_wire.wire.registry import PACKETS

__all__ = ["MSMQSession"]

_MOST_CARRIERS = 2048
"""Directions whose last frame is kept, for the headers around their packets."""
_HEADERS = {"len": None, "chksum": None, "plen": None}
"""Fields of IP and TCP that no longer hold when the payload is another."""


class MSMQSession(DefaultSession):
    """For ``sniff(session=MSMQSession)``, live or ``offline``: one item a packet, in order of completion.

    An item is the frame that carried the last segment of its direction so far, with the whole packet as the
    payload of TCP. Segments without payload and all other traffic pass unchanged; segments that hold a part
    of a packet, retransmissions, and bytes that are in no packet do not. ``ports`` are TCP ports followed
    beside 1801; on other ports what starts like a packet is followed. A call of an MSMQ interface is two
    items, request and response, each with its whole stub (`MSMQStub`) under one DCE/RPC header; a
    ``negotiator`` of msmq_wire opens those that are encrypted. `feed` and `finish` do the same without a
    socket.
    """

    def __init__(
        self,
        supersession: MSMQSession | None = None,
        *,
        ports: Ports = (),
        negotiator: Negotiator | None = None,
    ) -> None:
        super().__init__(supersession)
        self._calls = CallFollower(negotiator)
        self._finder = PacketFinder(ports=ports)
        self._fragments = IpReassembler()
        self._carriers: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._number = 0

    def process(self, pkt: Packet) -> Packet | None:
        """The last packet that a frame completes, None without one."""
        found = self.feed(pkt)
        return found[-1] if found else None

    def recv(self, sock: SuperSocket) -> Iterator[Packet]:
        try:
            pkt = sock.recv(stop_dissection_after=TCP)
        except EOFError:
            yield from self.finish()
            raise
        if pkt:
            yield from self.feed(pkt)

    def feed(self, pkt: Packet) -> list[Packet]:
        """Take a frame; return the packets it completes, or the frame where it is none of MSMQ."""
        self._number += 1
        whole = self._joined(pkt)
        if whole is None:
            return []
        if TCP in whole:
            return self._segment(whole, whole[TCP])
        if UDP in whole and not {PING_PORT, MSMQ_PORT}.isdisjoint((whole[UDP].sport, whole[UDP].dport)):
            return [self._datagram(whole, whole[UDP])]
        return [whole]

    def finish(self) -> list[Packet]:
        """Return what was left open: nothing more comes."""
        return [*self._packets(self._finder.finish()), *self._stubs(self._calls.finish())]

    def _segment(self, pkt: Any, tcp: Any) -> list[Any]:
        src, dst, cut = _network(tcp)
        if src is None or dst is None:
            return [pkt]
        segment = TcpSegment(
            src, tcp.sport, dst, tcp.dport, tcp.seq, tcp.ack, int(tcp.flags) & 0x1FF, _payload(tcp),
            self._number, _nanoseconds(pkt), cut,
        )  # fmt: skip
        key = (endpoint(src, tcp.sport), endpoint(dst, tcp.dport))
        followed = self._finder.understood
        self._carriers[key] = pkt
        self._carriers.move_to_end(key)
        if len(self._carriers) > _MOST_CARRIERS:
            self._carriers.popitem(last=False)
        found = self._packets(self._finder.segment(segment)) + self._stubs(self._calls.feed(segment))
        passes = not segment.payload or self._finder.understood == followed
        return [pkt, *found] if passes else found

    def _datagram(self, pkt: Any, udp: Any) -> Any:
        src, dst, _ = _network(udp)
        data = _payload(udp)
        if src is None or dst is None:
            return pkt
        found = self._finder.datagram(src, udp.sport, dst, udp.dport, data, self._number, _nanoseconds(pkt))
        if not found or not data:
            return pkt
        kind = DISCOVERY.get(data[:4], "ping") if PING_PORT not in (udp.sport, udp.dport) else "ping"
        return _carrying(pkt, UDP, packet_class(PACKETS[kind])(data))

    def _packets(self, items: Iterable[Item]) -> list[Any]:
        found = []
        for item in items:
            if not isinstance(item, FoundPacket):
                continue
            found.append(self._carried(item.src, item.dst, item.time, MSMQ(item.data)))
        return found

    def _stubs(self, stubs: list[FoundStub]) -> list[Any]:
        return [self._carried(*stub) for stub in stubs]

    def _carried(self, src: str, dst: str, time: int, packet: Any) -> Any:
        """A packet in the last frame of its direction."""
        carrier = self._carriers.get((src, dst))
        if carrier is not None:
            packet = _carrying(carrier, TCP, packet)
        packet.time = time / SECOND
        return packet

    def _joined(self, pkt: Any) -> Any:
        """The frame, or the datagram that its IP fragment completes; None for a fragment before that."""
        ip, fragment = _fragment(pkt, self._number)
        if fragment is None:
            return pkt
        datagram = self._fragments.feed(fragment)
        if datagram is None:
            return None
        self._finder.carried_by(self._number, datagram.frames)
        whole = pkt.copy()
        ip = whole[ip]
        joined: Any
        if isinstance(ip, IP):
            joined = IP(src=ip.src, dst=ip.dst, proto=datagram.protocol, ttl=ip.ttl) / datagram.payload
        else:
            joined = IPv6(src=ip.src, dst=ip.dst, nh=datagram.protocol, hlim=ip.hlim) / datagram.payload
        joined = type(ip)(bytes(joined))
        if ip.underlayer is not None:
            ip.underlayer.payload = joined
            return whole
        joined.time = pkt.time
        return joined


def _nanoseconds(pkt: Any) -> int:
    return int(pkt.time * SECOND)


def _payload(layer: Any) -> bytes:
    """The bytes that a transport layer carries, as they were captured."""
    payload = layer.payload
    if isinstance(payload, conf.padding_layer):
        return b""
    return getattr(payload, "original", b"") or bytes(payload)


def _network(transport: Any) -> tuple[bytes | None, bytes | None, int]:
    """Packed addresses around a transport layer, and how many payload bytes were not captured."""
    ip = transport.underlayer
    while ip is not None and not isinstance(ip, IP | IPv6):
        ip = ip.underlayer
    if ip is None:
        return None, None, 0
    if isinstance(ip, IP):
        family, announced = AF_INET, (ip.len or 0) - 4 * (ip.ihl or 5)
    else:
        family, announced = AF_INET6, ip.plen or 0
    captured = len(getattr(ip.payload, "original", b""))
    cut = max(0, announced - captured) if captured else 0
    return inet_pton(family, ip.src), inet_pton(family, ip.dst), cut


def _fragment(pkt: Any, number: int) -> tuple[Any, IpFragment | None]:
    """The layer that says that a frame holds a fragment, and the fragment."""
    if IP in pkt and (pkt[IP].flags.MF or pkt[IP].frag):
        ip = pkt[IP]
        parts = (ip.proto, ip.id, 8 * ip.frag, bool(ip.flags.MF), AF_INET, _payload(ip))
    elif IPv6ExtHdrFragment in pkt and IPv6 in pkt:
        ip, header = pkt[IPv6], pkt[IPv6ExtHdrFragment]
        parts = (header.nh, header.id, 8 * header.offset, bool(header.m), AF_INET6, _payload(header))
    else:
        return None, None
    protocol, identification, offset, more, family, payload = parts
    src, dst = inet_pton(family, ip.src), inet_pton(family, ip.dst)
    return type(ip), IpFragment(
        src, dst, protocol, identification, offset, more, payload, number, _nanoseconds(pkt)
    )


def _carrying(frame: Any, layer: type[Packet], packet: Any) -> Any:
    """The frame with another payload, its lengths and checksums to be computed."""
    made = frame.copy()
    made[layer].remove_payload()
    at = made[layer]
    while at is not None:
        for name in _HEADERS:
            if name in at.fields:
                delattr(at, name)
        at = at.underlayer
    made[layer].add_payload(packet)
    made.wirelen = None
    return made
