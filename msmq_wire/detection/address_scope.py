"""`is_outside`: whether an address is outside the site, by its number alone.

The rule kept here: an address is outside only when it is of no private network and of another network than
the host it speaks to; nothing is looked up.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from msmq_wire.records.endpoint import host_of

_PRIVATE = tuple(
    map(
        ipaddress.ip_network,
        (
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "::1/128",
            "fc00::/7",
            "fe80::/10",
        ),
    )
)
_NUMBERS = re.compile(r"(?:0x[0-9a-f]{1,8}|[0-9]{1,11})(?:\.(?:0x[0-9a-f]{1,8}|[0-9]{1,11})){0,3}")
"""Spellings such as 127.1, 0x7f.1 and 2130706433, which mean 127.0.0.1."""
_PORT = re.compile(r":[0-9]{1,5}\Z")
_LONGEST = 64
_LOOPBACK = 127
_SITE_BITS = {4: 16, 6: 48}
"""Leading bits that the addresses of one site share, by IP version: a heuristic."""


@lru_cache(maxsize=4096)
def is_loopback(computer: str) -> bool:
    """Whether the computer in a direct name is a loopback address: 127.0.0.0/8, ::1, localhost."""
    name = computer.lower().rpartition("@")[2].removesuffix(".")
    if len(name) > _LONGEST:
        return False
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = _PORT.sub("", name)
    if name == "localhost" or name.endswith(".localhost") or name == "localhost.localdomain":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return _first_byte(name) == _LOOPBACK
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback if mapped is None else bool(mapped.is_loopback)


def _first_byte(name: str) -> int | None:
    """The first byte of an IPv4 address in the syntax of inet_aton; None for other texts."""
    if _NUMBERS.fullmatch(name) is None:
        return None
    try:
        first, *more = (
            int(part, 0 if part[:2] == "0x" else 8 if part[0] == "0" else 10) for part in name.split(".")
        )
    except ValueError:
        return None
    return first if more else first >> 24


@lru_cache(maxsize=4096)
def is_outside(client: str | None, server: str | None) -> bool:
    """Whether ``client`` has a public address outside the network of ``server`` (both are endpoints).

    A network is the first 16 bits of an IPv4 address, or the first 48 bits of an IPv6 address.
    """
    try:
        here, there = ipaddress.ip_address(host_of(client)), ipaddress.ip_address(host_of(server))
    except ValueError:
        return False
    if any(here in network for network in _PRIVATE):
        return False
    shift = here.max_prefixlen - _SITE_BITS[here.version]
    return here.version != there.version or int(here) >> shift != int(there) >> shift
