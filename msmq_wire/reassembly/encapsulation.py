"""What segments are captured in, as a path: the capture interface, VLANs, virtual networks, keys of tunnels.

A path is bytes, outermost part first: equal for the same place, and empty for a plain frame of the first
interface. Each part is the letter of its kind and a number in network byte order.
"""

from __future__ import annotations

__all__ = ["GRE_KEY", "INTERFACE", "VIRTUAL_NETWORK", "VLAN", "numbers_in", "part"]

INTERFACE = b"i"
"""The capture interface, from 0; the first has no part."""
VLAN = b"v"
"""A VLAN identifier, IEEE 802.1Q 9.6."""
VIRTUAL_NETWORK = b"n"
"""A VNI of VXLAN (RFC 7348 5) or Geneve (RFC 8926 3.4)."""
GRE_KEY = b"k"
"""The key of GRE, RFC 2890 2.1."""
_SIZES = {INTERFACE: 4, VLAN: 2, VIRTUAL_NETWORK: 3, GRE_KEY: 4}


def part(kind: bytes, number: int) -> bytes:
    """A part of a path."""
    return kind + number.to_bytes(_SIZES[kind], "big")


def numbers_in(path: bytes, kind: bytes) -> tuple[int, ...]:
    """The numbers of a kind in a path, the outermost first."""
    found = []
    at = 0
    while at < len(path):
        end = at + 1 + _SIZES[path[at : at + 1]]
        # The key of a frame that was cut may not be whole.
        if path[at : at + 1] == kind and end <= len(path):
            found.append(int.from_bytes(path[at + 1 : end], "big"))
        at = end
    return tuple(found)
