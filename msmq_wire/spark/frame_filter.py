"""Which frames are wanted: by time, by address, by port.

The rule kept here: what decides is the innermost IP packet, as `msmq_wire.capture.link.dissect` finds it. A
fragment has no ports before it is put together, so with ports all fragments stay.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

import numpy as np

from msmq_wire.capture.index import Array, Chunk
from msmq_wire.spark.read_options import Network, ReadOptions
from msmq_wire.tables.packet_columns import PROTOCOLS, FrameEnds


class FrameFilter:
    """Call it with a chunk: a mask of the frames that are wanted."""

    def __init__(self, options: ReadOptions) -> None:
        self._since = options.since
        self._until = options.until
        self._ports = np.array(sorted(options.ports), np.int64)
        self._networks = options.networks

    def __call__(self, chunk: Chunk) -> Array:
        mask: Array = np.ones(len(chunk), np.bool_)
        if self._since is not None:
            mask &= chunk.time >= self._since
        if self._until is not None:
            mask &= chunk.time < self._until
        if len(self._ports) or self._networks:
            # What is out already is not looked into.
            mask[mask] = self._by_endpoint(FrameEnds(chunk.select(np.flatnonzero(mask))))
        return mask

    def _by_endpoint(self, ends: FrameEnds) -> Array:
        wanted: Array = ends["src"] >= 0
        if len(self._ports):
            fragments: Array = ends["protocol"] == PROTOCOLS.index("fragment")
            named = [np.isin(ends.talking(name), self._ports) for name in ("sport", "dport")]
            wanted &= fragments | named[0] | named[1]
        if self._networks:
            # A frame without an address has the last place.
            inside = np.array([*(_inside(host, self._networks) for host in ends.hosts), False])
            wanted &= inside[ends.talking("src")] | inside[ends.talking("dst")]
        return wanted


@lru_cache(1 << 20)
def _inside(host: bytes, networks: tuple[Network, ...]) -> bool:
    address = ipaddress.ip_address(host)
    return any(address in network for network in networks)
