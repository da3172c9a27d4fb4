"""Keys by which other tools have the same traffic: addresses and ports apart, and the Community ID.

The rule kept here: they are made from what a row says of its two ends, so that what hides an end hides them.
"""

from __future__ import annotations

import hashlib
import ipaddress
from base64 import b64encode
from functools import lru_cache
from typing import NamedTuple, Protocol

from msmq_wire.records.endpoint import host_of

_TCP, _UDP = 6, 17


class JoinKeys(NamedTuple):
    """Addresses and ports of two ends, and the Community ID of their flow; None for what is not known."""

    src_ip: str | None = None
    src_port: int | None = None
    dst_ip: str | None = None
    dst_port: int | None = None
    community_id: str | None = None


class _Ended(Protocol):
    @property
    def src(self) -> str | None: ...
    @property
    def dst(self) -> str | None: ...
    @property
    def stream(self) -> int | None: ...


def keys_of(record: _Ended) -> JoinKeys:
    """The keys of a record: without a ``stream`` it came by UDP."""
    return join_keys(record.src, record.dst, udp=record.stream is None)


# Few pairs come again and again.
@lru_cache(1 << 13)
def join_keys(src: str | None, dst: str | None, *, udp: bool) -> JoinKeys:
    """The keys of two ends, ``192.0.2.1:1801`` or ``[2001:db8::1]:1801`` each."""
    (src_ip, src_port), (dst_ip, dst_port) = _parts(src), _parts(dst)
    id_ = None
    if src_ip is not None and src_port is not None and dst_ip is not None and dst_port is not None:
        id_ = community_id(src_ip, src_port, dst_ip, dst_port, protocol=_UDP if udp else _TCP)
    return JoinKeys(src_ip, src_port, dst_ip, dst_port, id_)


def _parts(end: str | None) -> tuple[str | None, int | None]:
    if not end:
        return None, None
    host = host_of(end)
    port = end.rpartition(":")[2] if end != host and not end.endswith("]") else ""
    return host, int(port) if port.isascii() and port.isdigit() and int(port) < 1 << 16 else None


def community_id(src_ip: str, src_port: int, dst_ip: str, dst_port: int, *, protocol: int) -> str | None:
    """The Community ID, version 1 with seed 0, of a flow of TCP (6) or UDP (17).

    The same in both directions; None where the ends are not two IPv4 or two IPv6 addresses.
    """
    try:
        ends = [
            (ipaddress.ip_address(host).packed, port.to_bytes(2, "big"))
            for host, port in ((src_ip, src_port), (dst_ip, dst_port))
        ]
    except ValueError:
        return None
    (low, low_port), (high, high_port) = sorted(ends)
    if len(low) != len(high):
        return None
    flow = b"\0\0" + low + high + bytes((protocol, 0)) + low_port + high_port
    digest = hashlib.sha1(flow, usedforsecurity=False).digest()
    return f"1:{b64encode(digest).decode('ascii')}"
