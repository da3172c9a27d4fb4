"""`SentCopies`: what all copies of a message ask for that were sent over TCP, and who acknowledged it.

The rule kept here: an acknowledgment names a message by its identifier, so all that have it are one here. Of
most messages there is one copy, and `FollowedMessage` says all of it: kept is what came behind that, of one
capture, as long as the message is followed.
"""

from __future__ import annotations

from collections.abc import Mapping

from msmq_wire.records.record import Record
from msmq_wire.sessions.followed_message import FollowedMessage, UserMessageReader, is_whole, manager_of
from msmq_wire.sessions.id_collisions import IDENTIFIER, IdCollisions
from msmq_wire.sessions.listener import MessageAck, SentCopies, SessionListener
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.transaction_tracker import place_of

_FA = 2
_MOST_ACKS = 16
_SAYS_MORE = 0xC002
"""The bits of a class that says what became of a message. [MS-MQMQ] 2.2.18.1.6"""


class CopyTracker:
    """Finds what the copies of each of ``messages`` ask for; tells a ``listener`` what acknowledges them."""

    def __init__(
        self,
        messages: Mapping[bytes | str, FollowedMessage],
        collisions: IdCollisions,
        reader: UserMessageReader,
    ) -> None:
        self._messages, self._collisions, self._reader = messages, collisions, reader
        self._copies: dict[bytes | str, SentCopies] = {}
        self._since = 0
        self.listener: SessionListener | None = None

    def begin(self, since: int) -> None:
        """Another capture begins with a record."""
        self._since = since
        self._copies.clear()

    def sent(self, record: Record, moment: Moment) -> FollowedMessage | None:
        """Take a message, before it is followed; return what it says where another one has its identifier."""
        key = self._reader.key(record)
        seen = key is not None and record.stream is not None and self._collisions.knows(key)
        if self.listener is None or key is None or not seen or not is_whole(record):
            return None
        message = self._reader.read(key, record, moment, "tcp")
        placed = place_of(record.packet)
        message.transaction = 0 if placed is None else placed[1][2]
        copy, known = _copy_of(message), self._find(key)
        if known is None:
            self._copies[key] = copy
            return message
        known.copies += 1
        known.flags |= copy.flags
        known.wanted |= copy.wanted
        known.final |= copy.final
        known.several |= copy.several
        if known.destination != copy.destination:
            known.destination = None
        return message

    def _find(self, key: bytes) -> SentCopies | None:
        known = self._copies.get(key)
        message = self._messages.get(key)
        if known is not None or message is None:
            return known
        # A part of one says too little, and what was not sent on a connection nothing.
        sent = message.via == "tcp" and message.content is not None and message.session is not None
        if sent and message.first.record >= self._since:
            known = self._copies[key] = _copy_of(message)
        return known

    def acknowledges(self, message: FollowedMessage, at: Moment) -> None:
        """Take a whole message on a connection, that may be an administration acknowledgment."""
        about, class_, key = message.correlation_id, message.message_class, message.key
        if about is not None and class_ is not None and isinstance(key, bytes):
            self.acknowledged(about, class_, key[:IDENTIFIER], message.flags, at, final=False)

    def acknowledged(
        self, about: bytes, class_: int, key: bytes, flags: int, at: Moment, *, final: bool
    ) -> None:
        """Take a whole acknowledgment of a class on a connection, with a key of its own."""
        if self.listener is None or not (final or class_ & _SAYS_MORE):
            return
        copies = self._find(about)
        if copies is not None and not copies.several:
            ack = MessageAck(final, class_, about, manager_of(key[:16])[0], key, flags, at.frame)
            self.listener.acknowledged(copies, ack, at)
            if len(copies.acks) < _MOST_ACKS:
                copies.acks += (ack,)

    def forget(self, key: bytes | str) -> None:
        """A message is followed no longer."""
        self._copies.pop(key[:IDENTIFIER], None)


def _copy_of(message: FollowedMessage) -> SentCopies:
    final = bool(message.transaction & _FA)
    frame, flags, wanted = message.first.frame, message.flags, message.wanted
    return SentCopies(frame, flags, wanted, final, message.destination, message.several)
