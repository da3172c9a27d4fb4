"""Counts the kinds of bodies by queue, and opens a limited number of them.

The rule kept here: a body is decoded if its queue, its type or its first bytes are new. Others are counted
with the first one that looks alike. Time and memory are bounded for any bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from msmq_wire.detection.message_bodies import body_of
from msmq_wire.records.bodies import caption, open_body
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.sessions import Moment
from msmq_wire.sessions.followed_message import UserMessageReader, moment_of

_MOST_KINDS = 256
_MOST_LOOKS = 4096
_MOST_BYTES = 16 << 20
FIRST = 8
"""The number of first bytes that distinguish bodies."""

Looks = tuple[str | None, int | None, bytes, bool]
"""Queue, type, first bytes (if not encrypted), and whether it is encrypted."""


class BodyKind(msgspec.Struct):
    """Bodies of one kind in one queue: ``opened`` is the decoded example, ``cut`` counts truncated ones."""

    queue: str | None
    kind: str
    opened: str
    convention: str
    confidence: str
    body_type: int | None
    first: Moment
    count: int = 0
    bytes: int = 0
    cut: int = 0


_UNLOOKED = BodyKind(None, "", "not looked at", "", "", None, Moment(0, None, None))


class Bodies:
    """Takes messages, and counts their ``kinds`` of bodies; ``empty`` counts messages without a body.

    ``unlooked`` counts bodies that were not examined because of a limit.
    """

    def __init__(self) -> None:
        self.kinds: dict[tuple[str | None, str, str], BodyKind] = {}
        self.empty = 0
        self.total = 0
        self.unlooked = 0
        self._looks: dict[Looks, BodyKind] = {}
        self._bytes = 0
        self._reader = UserMessageReader()

    def feed(self, record: Record) -> BodyKind | None:
        """Take a message from any carrier; return the kind of its body, if it was counted."""
        if record.type == "srmp_message" and record.parent is not None:
            return None
        body = body_of(record)
        if body is None:
            self.empty += 1
            return None
        encrypted = body.encrypted is not None
        looks = self._queue(record.packet), body.body_type, b"" if encrypted else body.data[:FIRST], encrypted
        return self.add(looks, lambda: record, 1, len(body.data), int(not body.whole))

    def add(self, looks: Looks, example: Callable[[], Record], number: int, total: int, cut: int) -> BodyKind:
        """Take a ``number`` of messages with similar bodies; the first one stands for all."""
        self.total += number
        kind = self._looks.get(looks) or self._open(example, looks)
        if kind is _UNLOOKED:
            self.unlooked += number
        else:
            kind.count += number
            kind.bytes += total
            kind.cut += cut
        return kind

    def _open(self, example: Callable[[], Record], looks: Looks) -> BodyKind:
        queue, body_type, _, encrypted = looks
        if not encrypted and (len(self._looks) >= _MOST_LOOKS or self._bytes > _MOST_BYTES):
            return _UNLOOKED
        record = example()
        if encrypted:
            kind, opened, convention, sure = "encrypted", "encrypted", "", "declared"
        else:
            held = body_of(record)
            data = b"" if held is None else held.data
            self._bytes += len(data)
            if self._bytes > _MOST_BYTES:
                return _UNLOOKED
            body = open_body(data, body_type or 0)
            kind, convention, sure = body.kind, body.convention, body.confidence
            opened = f"a {body.kind}" if body.scalar else caption(body) or "bytes of no known form"
        key = (queue, kind, opened)
        known = self.kinds.get(key)
        if known is None:
            if len(self.kinds) >= _MOST_KINDS:
                if not encrypted:
                    self._looks[looks] = _UNLOOKED
                return _UNLOOKED
            moment = moment_of(record)
            known = self.kinds[key] = BodyKind(queue, kind, opened, convention, sure, body_type, moment)
        self._looks[looks] = known
        return known

    def _queue(self, packet: Any) -> str | None:
        if isinstance(packet, TransferBuffer | SrmpMessage):
            return packet.queue
        user = getattr(packet, "user_header", None)
        if user is None or user is msgspec.UNSET:
            return None
        return self._reader.queue(user, "destination_queue")
