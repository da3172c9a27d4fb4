"""`SessionListener`: what is told of sessions while they are followed, for whoever judges them by rules.

The rule kept here: each is told once, when the packet is taken that shows it, ``at`` its moment.
"""

from __future__ import annotations

from typing import Protocol

from msmq_wire.sessions.accepted import AcceptedSequence, EarlyOrderAck
from msmq_wire.sessions.session import Moment
from msmq_wire.wire.types.guid import GUID


class SessionListener(Protocol):
    """Is told what packets show."""

    def begin(self) -> None:
        """Another capture begins: nothing more comes of the one before."""

    def order_ack(
        self, identifier: int, sequence: AcceptedSequence, number: int, by: GUID, stream: int, at: Moment
    ) -> None:
        """An OrderAck by a queue manager comes over a connection, for a number of a sequence."""

    def filled(self, early: EarlyOrderAck) -> None:
        """What an OrderAck covered before it came has come, and was sent before that."""
