"""`SentCopies`: what all copies of a message ask for that were sent over TCP, and who acknowledged it.

The rule kept here: an acknowledgment names a message by its identifier, so all that have it are one here. Of
most messages there is one copy, and `FollowedMessage` says all of it: kept is what came behind that, of one
capture, as long as the message is followed.
"""

from __future__ import annotations

from collections.abc import Mapping

from msmq_wire.records.record import Record
from msmq_wire.sessions.listener import MessageAck, SentCopies, SessionListener
from msmq_wire.sessions.message import FollowedMessage, destination_of, is_whole, manager_of, message_key
from msmq_wire.sessions.session import Moment
from msmq_wire.sessions.twins import IDENTIFIER, Twins
from msmq_wire.wire.partial import reached

_FA = 2
_MOST_ACKS = 16
_SAYS_MORE = 0xC002
"""The bits of a class that says what became of a message. [MS-MQMQ] 2.2.18.1.6"""


class CopyTracker:
    """Finds what the copies of each of ``messages`` ask for; tells a ``listener`` what acknowledges them."""

    def __init__(self, messages: Mapping[bytes | str, FollowedMessage], twins: Twins) -> None:
        self._messages = messages
        self._twins = twins
        self._copies: dict[bytes | str, SentCopies] = {}
        self._since = 0
        self.listener: SessionListener | None = None

    def begin(self, since: int) -> None:
        """Another capture begins with a record."""
        self._since = since
        self._copies.clear()

    def sent(self, record: Record, moment: Moment) -> None:
        """Take a message, before it is followed."""
        if self.listener is None or record.stream is None or not is_whole(record):
            return
        user = record.packet.user_header
        key = message_key(user.source_queue_manager, user.message_id)
        if not self._twins.knows(key):
            return
        header = reached(record.packet, "transaction_header")
        copy = SentCopies(
            frame=moment.frame,
            flags=user.flags,
            wanted=record.packet.message_properties_header.flags,
            final=header is not None and bool(header.flags & _FA),
            destination=destination_of(user.queue_manager_address),
            several=reached(record.packet, "multi_queue_format_header") is not None,
        )
        known = self._find(key)
        if known is None:
            self._copies[key] = copy
            return
        known.copies += 1
        known.flags |= copy.flags
        known.wanted |= copy.wanted
        known.final |= copy.final
        known.several |= copy.several
        if known.destination != copy.destination:
            known.destination = None

    def _find(self, key: bytes) -> SentCopies | None:
        known = self._copies.get(key)
        message = self._messages.get(key)
        if known is not None or message is None:
            return known
        # A part of one says too little, and what was not sent on a connection nothing.
        sent = message.via == "tcp" and message.content is not None and message.session is not None
        if not sent or message.first.record < self._since:
            return None
        known = self._copies[key] = SentCopies(
            frame=message.first.frame,
            flags=message.flags,
            wanted=message.wanted,
            final=bool(message.transaction & _FA),
            destination=message.destination,
            several=message.several,
        )
        return known

    def acknowledge(self, record: Record, at: Moment) -> None:
        """Take a FinalAck, or a message that may be an administration acknowledgment."""
        if self.listener is None or record.stream is None or not is_whole(record):
            return
        user, properties = record.packet.user_header, record.packet.message_properties_header
        about, final = bytes(properties.correlation_id), record.type == "final_ack"
        if final:
            body = reached(record.packet, "final_ack_body")
            if reached(body, "message_id") is None:
                return
            about = message_key(body.source_guid, body.message_id)
        key = message_key(user.source_queue_manager, user.message_id)
        self.acknowledged(about, properties.message_class, key, user.flags, at, final=final)

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
