"""What segments are captured in, as a path: the capture interface, VLANs, virtual networks, keys of tunnels.

A path is bytes, outermost part first: equal for the same place, and empty for a plain frame of the first
interface. Each part is the letter of its kind and a number in network byte order. Of a connection that a load
balancer passes on, the last parts are the length of its PROXY header, and the two ends that the header names.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.reassembly.tcp_events import Endpoints

INTERFACE = b"i"
"""The capture interface, from 0; the first has no part."""
VLAN = b"v"
"""A VLAN identifier, IEEE 802.1Q 9.6."""
VIRTUAL_NETWORK = b"n"
"""A VNI of VXLAN (RFC 7348 5) or Geneve (RFC 8926 3.4)."""
GRE_KEY = b"k"
"""The key of GRE, RFC 2890 2.1."""
PROXY_HEADER = b"h"
"""How many bytes the PROXY header takes at the front of the connection."""
_PROXIED = {4: b"4", 16: b"6"}
"""The ends in that header, by the size of an address: both addresses, then both ports."""
_SIZES = {INTERFACE: 4, VLAN: 2, VIRTUAL_NETWORK: 3, GRE_KEY: 4, PROXY_HEADER: 4}
_SIZES |= {kind: 2 * size + 4 for size, kind in _PROXIED.items()}


def part(kind: bytes, number: int) -> bytes:
    """A part of a path."""
    return kind + number.to_bytes(_SIZES[kind], "big")


def proxied(ends: Endpoints) -> bytes:
    """The part of a path that says which ends a PROXY header names."""
    src, sport, dst, dport = ends
    return _PROXIED[len(src)] + src + dst + sport.to_bytes(2, "big") + dport.to_bytes(2, "big")


def numbers_in(path: bytes, kind: bytes) -> tuple[int, ...]:
    """The numbers of a kind in a path, the outermost first."""
    return tuple(int.from_bytes(value, "big") for one, value in parts_of(path) if one == kind)


def proxied_ends(path: bytes) -> Endpoints | None:
    """The ends that a PROXY header names; None where there is no header, or it names none."""
    for kind, value in parts_of(path):
        if kind in _PROXIED.values():
            size = len(value) // 2 - 2
            sport, dport = (int.from_bytes(value[at : at + 2], "big") for at in (2 * size, 2 * size + 2))
            return value[:size], sport, value[size : 2 * size], dport
    return None


def without_proxied(path: bytes) -> bytes:
    """A path without the ends that a PROXY header names."""
    return b"".join(kind + value for kind, value in parts_of(path) if kind not in _PROXIED.values())


def parts_of(path: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts that are whole: the key of a frame that was cut may not be."""
    at = 0
    while at < len(path):
        kind = path[at : at + 1]
        end = at + 1 + _SIZES[kind]
        if end <= len(path):
            yield kind, path[at + 1 : end]
        at = end
