"""Addresses of records: what is inside of a site and what is not, as far as numbers tell.

The rule kept here: an address is outside only when it is of no private network and of another network than
the host it speaks to; nothing is looked up.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

__all__ = ["host_of", "is_outside"]

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
_SITE_BITS = {4: 16, 6: 48}
"""Leading bits that addresses of one site share, by the version of IP: a guess, not a rule."""


def host_of(endpoint: str | None) -> str:
    """The address in ``192.0.2.1:1801`` or ``[2001:db8::1]:1801``; empty without one."""
    return "" if endpoint is None else endpoint.rpartition(":")[0].strip("[]")


@lru_cache(maxsize=4096)
def is_outside(client: str | None, server: str | None) -> bool:
    """Whether ``client`` is of no private network and not of the network of ``server`` (both endpoints).

    Networks are told apart by the first 16 bits of IPv4 and the first 48 of IPv6 addresses.
    """
    try:
        here, there = ipaddress.ip_address(host_of(client)), ipaddress.ip_address(host_of(server))
    except ValueError:
        return False
    if any(here in network for network in _PRIVATE):
        return False
    shift = here.max_prefixlen - _SITE_BITS[here.version]
    return here.version != there.version or int(here) >> shift != int(there) >> shift
