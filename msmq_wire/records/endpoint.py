"""The text of an end of a connection, ``192.0.2.1:1801`` or ``[2001:db8::1]:1801``, and the ports of MSMQ."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from msmq_wire.reassembly.encapsulation import proxied_ends

MSMQ_PORT = 1801
PING_PORT = 3527
RPC_PORTS = frozenset((2101, 2103, 2105, 2107))
"""Where queue managers take calls, unless these ports were taken when they began."""
AT_MSMQ, AT_PING = f":{MSMQ_PORT}", f":{PING_PORT}"
"""How the text of an end with this port ends."""


def endpoint(address: bytes, port: int) -> str:
    """``192.0.2.1:1801`` or ``[2001:db8::1]:1801`` from a packed address of 4 or 16 bytes."""
    if len(address) == 4:
        # ipaddress takes several times as long.
        first, second, third, fourth = address
        return f"{first}.{second}.{third}.{fourth}:{port}"
    return f"[{ipaddress.IPv6Address(address)}]:{port}"


def proxied(path: bytes) -> tuple[str | None, str | None]:
    """The client and the server that a PROXY header names, by a path; None where it names none."""
    ends = proxied_ends(path) if path else None
    if ends is None:
        return None, None
    src, sport, dst, dport = ends
    return endpoint(src, sport), endpoint(dst, dport)


# Few ends come again and again.
@lru_cache(1 << 13)
def host_of(end: str | None) -> str:
    """The address in the text of an end, without brackets; empty without one.

    Of an end whose port is not known there is ``192.0.2.1`` or ``[2001:db8::1]``.
    """
    if not end:
        return ""
    host, colon, port = end.rpartition(":")
    return (host if colon and port[-1:] != "]" else end).strip("[]")
