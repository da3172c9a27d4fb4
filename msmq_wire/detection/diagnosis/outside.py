"""`Volumes`: how much data left the private address space.

The rule kept here: an address is outside where it is in no private address space and its sender is; where all
addresses are public nothing says what is inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import count, host
from msmq_wire.sessions import MessageLife, Moment
from msmq_wire.sessions.followed_message import FollowedMessage

_INSIDE = tuple(
    map(
        ip_network,
        (
            "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "127.0.0.0/8",
            "fc00::/7", "fe80::/10", "::1/128",
        ),
    )
)  # fmt: skip
"""RFC 1918, RFC 6598, RFC 4193, link-local and loopback networks."""
_MOST = 4096
_MOST_MOMENTS = 16
_LEAST = 64 << 10
"""A share is judged from so many bytes of bodies on."""
_SHARE = 0.5
_COUNTED = 1000
"""At most so many findings of one rule."""


def is_inside(address: str) -> bool:
    """Whether a text is an address in a private network."""
    try:
        known = ip_address(address.strip("[]"))
    except ValueError:
        return False
    return any(known in network for network in _INSIDE if network.version == known.version)


class _Way(msgspec.Struct):
    """The messages from one host to another, and the bytes of their bodies."""

    messages: int = 0
    bytes: int = 0
    moments: list[Moment] = []


class Volumes:
    """Takes the lives of messages; adds causes for data that went outside, with its share of all data."""

    def __init__(self) -> None:
        self._ways: dict[tuple[str, str], _Way] = {}
        self._of_ends: dict[tuple[str, str], _Way] = {}
        """The same by addresses with their ports, as messages have them."""
        self._total = 0

    def feed(self, life: MessageLife | FollowedMessage) -> None:
        """Take a message, or its summary."""
        if life.via == "rpc" or not life.size:
            return
        self._total += life.size
        way = self._of_ends.get((life.src, life.dst)) or self._way(life.src, life.dst)
        if way is None:
            return
        way.messages += 1
        way.bytes += life.size
        if len(way.moments) < _MOST_MOMENTS:
            way.moments.append(life.first)

    def _way(self, src: str, dst: str) -> _Way | None:
        ends = host(src), host(dst)
        way = self._ways.get(ends)
        if way is None and len(self._ways) < _MOST:
            way = self._ways[ends] = _Way()
        if way is not None and len(self._of_ends) < _MOST:
            self._of_ends[src, dst] = way
        return way

    def add_causes(self, even: Mapping[tuple[str, str], int], builder: AnswerBuilder) -> None:
        """Add the causes; ``even`` counts bodies that look random, by sender and receiver."""
        for (src, dst), way in self._ways.items():
            share = way.bytes / self._total
            if way.bytes < _LEAST or share < _SHARE or not is_inside(src) or is_inside(dst):
                continue
            random = even.get((src, dst), 0)
            more = "" if random < _COUNTED else " or more"
            percent = f"{share:.0%}".replace("%", " %")
            text = f"{src} sent {percent} of all body bytes in the capture to {dst}, outside private address "
            text += f"space: {count(way.bytes, 'byte')} in {count(way.messages, 'message')}"
            if not random:
                builder.say(f"{text}.", *way.moments)
                continue
            builder.add_cause(
                Cause(
                    text=f"{text}; {random:,}{more} of the bodies look random, as encrypted or compressed "
                    "data do",
                    severity="low",
                    confidence="likely",
                    moments=tuple(way.moments),
                    who=(src, dst),
                    action=f"find out who runs {dst}, and what {src} sends there",
                    count=way.messages,
                    rules=("QM-OUTSIDE",),
                )
            )
