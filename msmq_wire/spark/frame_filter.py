"""Which frames are wanted: by time, by address, by port.

The rule kept here: what decides is the innermost IP packet, as `msmq_wire.capture.link.dissect` finds it. A
fragment has no ports before it is put together, so with ports all fragments stay.
"""

from __future__ import annotations

import ipaddress

import numpy as np

from msmq_wire.capture.index import Array, Chunk
from msmq_wire.capture.link import dissect
from msmq_wire.capture.network import IcmpUnreachable, UdpDatagram
from msmq_wire.capture.plain import PlainFrames, read_plain
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.spark.read_options import Network, ReadOptions

__all__ = ["FrameFilter"]


class FrameFilter:
    """Call it with a chunk: a mask of the frames that are wanted."""

    def __init__(self, options: ReadOptions) -> None:
        self._since = options.since
        self._until = options.until
        self._ports = options.ports
        self._networks = options.networks
        self._known: dict[bytes, bool] = {}

    def __call__(self, chunk: Chunk) -> Array:
        mask: Array = np.ones(len(chunk), np.bool_)
        if self._since is not None:
            mask &= chunk.time >= self._since
        if self._until is not None:
            mask &= chunk.time < self._until
        if self._ports or self._networks:
            mask &= self._by_endpoint(chunk, mask)
        return mask

    def _by_endpoint(self, chunk: Chunk, mask: Array) -> Array:
        wanted = np.zeros(len(chunk), np.bool_)
        plain = read_plain(chunk)
        rows: Array = np.ones(len(plain.index), np.bool_)
        if self._ports:
            ports = np.array(sorted(self._ports), np.int64)
            rows &= np.isin(plain.sport, ports) | np.isin(plain.dport, ports)
        if self._networks:
            rows &= self._hosts(plain)
        wanted[plain.index[rows]] = True
        others = np.concatenate((plain.other, plain.udp))
        for index in others[mask[others]].tolist():
            wanted[index] = self._one(chunk, index)
        return wanted

    def _hosts(self, plain: PlainFrames) -> Array:
        found: Array = np.zeros(len(plain.index), np.bool_)
        # The highest bit tells IPv6: its addresses may be zero.
        six: Array = plain.source >> np.uint64(63) != 0
        if plain.wide is not None:
            for half in (plain.wide[:, :2], plain.wide[:, 2:]):
                packed = np.ascontiguousarray(half.astype(">u8"))
                unique, back = np.unique(packed.view("V16").ravel(), return_inverse=True)
                hits = np.array([self._matches(one.tobytes()) for one in unique], np.bool_)
                found |= hits[back] & six
        for endpoint in (plain.source, plain.target):
            address = (endpoint >> np.uint64(16)).astype(np.uint32)
            unique, back = np.unique(address, return_inverse=True)
            hits = np.array([self._matches(int(one).to_bytes(4, "big")) for one in unique], np.bool_)
            found |= hits[back] & ~six
        return found

    def _one(self, chunk: Chunk, index: int) -> bool:
        datagram = dissect(chunk.frame(index))[0]
        match datagram:
            case TcpSegment() | UdpDatagram():
                hosts, ports = (datagram.src, datagram.dst), {datagram.sport, datagram.dport}
            case IcmpUnreachable():
                hosts = (datagram.original_src, datagram.original_dst)
                ports = {datagram.original_sport, datagram.original_dport}
            case IpFragment():
                hosts, ports = (datagram.src, datagram.dst), set(self._ports)
            case _:
                return False
        if self._ports and not self._ports & ports:
            return False
        return not self._networks or any(map(self._matches, hosts))

    def _matches(self, host: bytes) -> bool:
        known = self._known.get(host)
        if known is None:
            if len(self._known) > 1 << 20:
                self._known.clear()
            known = self._known[host] = any(_inside(host, network) for network in self._networks)
        return known


def _inside(host: bytes, network: Network) -> bool:
    return ipaddress.ip_address(host) in network
