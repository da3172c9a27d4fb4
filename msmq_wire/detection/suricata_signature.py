"""`SuricataSignature`: what Suricata can see of a finding in one packet, declared beside the rule.

The rule kept here: a signature names fields of structures and constants that are declared elsewhere; where a
field lies and how Suricata is told so is worked out when the file is written. What lies behind something of
variable length has no place, and no signature.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import TypeAlias

import msgspec

from msmq_wire.detection.finding import Severity
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT
from msmq_wire.rpc.interfaces.method import Interface
from msmq_wire.wire.expressions import Expression
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.guid import GUID

_LAST_OPNUM = 0xFFFF


class SuricataCarrier(msgspec.Struct, frozen=True):
    """What carries the packet: protocol, ends and direction of a Suricata rule, and the state of the flow."""

    header: str
    flow: str = ""


ON_WIRE = SuricataCarrier(f"tcp any any <> any {MSMQ_PORT}", "established")
"""Both directions of a connection of the binary protocol."""
TO_SERVER = SuricataCarrier(f"tcp any any -> any {MSMQ_PORT}", "established,to_server")
TO_CLIENT = SuricataCarrier(f"tcp any {MSMQ_PORT} -> any any", "established,to_client")
ACCEPTED = SuricataCarrier(f"tcp any {MSMQ_PORT} -> any any", "stateless")
"""The same before a connection is established."""
PINGS = SuricataCarrier(f"udp any any <> any {PING_PORT}")
PING_REQUESTS = SuricataCarrier(f"udp any !{PING_PORT} -> any {PING_PORT}")
PING_ANSWERS = SuricataCarrier(f"udp any {PING_PORT} -> any !{PING_PORT}")
DISCOVERY = SuricataCarrier(f"udp any any -> any {MSMQ_PORT}")
CALLS = SuricataCarrier("dcerpc any any -> any any")
OUTSIDE_CALLS = SuricataCarrier("dcerpc $EXTERNAL_NET any -> $HOME_NET any")
BINDS = SuricataCarrier("tcp any any -> any any", "established,to_server")
POSTS = SuricataCarrier("http any any -> any any", "established,to_server")

ASKED, OPEN = "msmq.asked", "msmq.open"
"""Flow bits: the client sent EstablishConnection; the server answered ConnectionParameters."""

CONNECTS = "msmq.connects"
"""Bit of a host that connected to port 1801 within the last minute."""

Match: TypeAlias = Expression | bytes | str
"""A condition on fields at a fixed place, in which ``this`` is the packet; bytes that are somewhere in it; or
an option in the words of Suricata."""


class SuricataSignature(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of Suricata.

    ``number`` is its place in the block of sids: it never changes and is never used again. ``rev`` goes up
    when what it matches changes. ``says`` is told in the place of the rule's title, ``severity`` and ``cves``
    override the rule's. ``packet`` is the structure whose fields ``match`` names; with ``guarded`` its
    signature and its type are asked for, too. With ``anywhere`` the packet may begin in the middle of a
    segment.

    ``needs`` and ``lacks`` are flow bits that must be set and must not be, ``sets`` are those that it sets.
    What is ``silent`` does nothing else.
    """

    number: int
    on: SuricataCarrier
    packet: type[WireStruct] | None = None
    match: tuple[Match, ...] = ()
    rev: int = 1
    says: str = ""
    severity: Severity | None = None
    cves: tuple[str, ...] | None = None
    guarded: bool = True
    anywhere: bool = False
    sets: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    silent: bool = False


def numbers_text(numbers: Collection[int]) -> str:
    """Numbers as Suricata lists them: ``1,4-7``."""
    return _listed(runs(numbers))


def _listed(ranges: Iterable[tuple[int, int]]) -> str:
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges)


def runs(numbers: Collection[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of numbers that follow each other."""
    first = last = -1
    for number in sorted(numbers):
        if first < 0:
            first = number
        elif number != last + 1:
            yield first, last
            first = number
        last = number
    if first >= 0:
        yield first, last


def calls(interface: Interface | GUID, opnums: Collection[int] | str = ()) -> tuple[Match, ...]:
    """Calls of an interface, of some of its methods or of any."""
    uuid = interface.uuid if isinstance(interface, Interface) else interface
    numbers = opnums if isinstance(opnums, str) else numbers_text(opnums)
    asked: tuple[Match, ...] = (f"dcerpc.iface:{uuid}",)
    return (*asked, f"dcerpc.opnum:{numbers}") if numbers else asked


def undefined(interface: Interface) -> str:
    """The opnums of an interface that no method has, as Suricata lists them."""
    defined = (-1, *sorted(interface.methods), _LAST_OPNUM + 1)
    return _listed((one + 1, next_ - 1) for one, next_ in pairwise(defined) if next_ > one + 1)


NO_VERIFIER: tuple[Match, ...] = ('content:"|05 00 00|"; depth:3', 'content:"|00 00|"; offset:10; depth:2')
"""A request of RPC version 5.0 whose auth_length is 0: a call at level NONE. [MS-RPCE] 2.2.2.1"""


def binds(uuid: GUID) -> tuple[Match, ...]:
    """A bind that asks for an interface; whether the server has it is not asked. [C706] 12.6.4.3"""
    return ('content:"|05 00 0b|"; depth:3', bytes(uuid))


def posted(*body: bytes) -> tuple[Match, ...]:
    """A message over HTTP, with something in its body."""
    return (
        'http.method; content:"POST"',
        'http.uri; content:"/msmq"; nocase',
        *(("http.request_body", *body) if body else ()),
    )
