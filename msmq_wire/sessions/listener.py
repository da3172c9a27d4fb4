"""`SessionListener`: what is told of sessions while they are followed, for whoever judges them by rules.

The rule kept here: each is told once, when the packet is taken that shows it, ``at`` its moment.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from msmq_wire.sessions.accepted import AcceptedSequence, EarlyOrderAck
from msmq_wire.sessions.moment import Moment
from msmq_wire.wire.types.guid import GUID

Refusal: TypeAlias = Literal["refused", "client_guid", "server_guid"]
"""Why a client must not accept an answer: CS is set, or it names another client, or another server."""


class MessageAck(msgspec.Struct, frozen=True, gc=False):
    """A FinalAck, or else an administration acknowledgment, of the message with the key ``about``.

    ``source`` made it, ``key`` is its own, ``flags`` are those of its UserHeader.
    """

    final: bool
    message_class: int
    about: bytes
    source: GUID
    key: bytes
    flags: int
    frame: int | None


class SentCopies(msgspec.Struct, eq=False, gc=False):
    """What all copies of a message ask for, and who acknowledged it.

    ``frame`` is that of the first copy. ``flags`` are those of UserHeader, ``wanted`` those of
    MessagePropertiesHeader, ``final`` is FA; ``destination`` is the queue manager that it is for, None where
    that is not known, and ``several`` says that it is for several queues.
    """

    frame: int | None
    flags: int
    wanted: int
    final: bool
    destination: GUID | None
    several: bool
    copies: int = 1
    acks: tuple[MessageAck, ...] = ()


class SessionListener(Protocol):
    """Is told what packets show."""

    def begin(self) -> None:
        """Another capture begins: nothing more comes of the one before."""

    def answered(self, request: Any, response: Any, at: Moment) -> None:
        """The first whole header of the server answers the client's, of an EstablishConnection packet or of
        ConnectionParameters.
        """

    def goes_on(self, refusal: Refusal, since: Moment, at: Moment) -> None:
        """The client sends a packet, though it had to close the connection ``since`` an answer."""

    def acknowledged_again(self, number: int, at: Moment) -> None:
        """A SessionAck says what the SessionHeader before it said, ``number`` is its AckSequenceNumber."""

    def overrun(self, waiting: int, window: int, at: Moment) -> None:
        """For the first time more user packets of a whole session wait than the largest window has."""

    def acknowledged(self, copies: SentCopies, ack: MessageAck, at: Moment) -> None:
        """An acknowledgment comes for a message."""

    def order_ack(
        self, identifier: int, sequence: AcceptedSequence, number: int, by: GUID, stream: int, at: Moment
    ) -> None:
        """An OrderAck by a queue manager comes over a connection, for a number of a sequence."""

    def filled(self, early: EarlyOrderAck) -> None:
        """What an OrderAck covered before it came has come, and was sent before that."""
