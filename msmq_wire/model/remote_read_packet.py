"""The packet that a remote reader gets: its sections, and the SubqueueHeader that moves leave in it.

The rule kept here: a stored packet that cannot be read as one is sent as it is, whole; nothing is lost.
"""

from __future__ import annotations

import msgspec

from msmq_wire.engines.codec import decode, encode
from msmq_wire.engines.fit import fit
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.model.elements import Message, MessagePosition, Queue, QueueManager, Transaction
from msmq_wire.reassembly.sections import split_sections
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType
from msmq_wire.wire.types.wchar_text import FixedWcharText

__all__ = ["Moves", "packet_sections", "subqueue_name"]

_TIME_TO_REACH_QUEUE = slice(12, 16)
_INFINITE = b"\xff\xff\xff\xff"
_NAME_SIZE = 64
_COUNT_LIMIT = 0xFFFF_FFFF


def packet_sections(
    packet: bytes, max_body_size: int, max_compound_message_size: int
) -> tuple[SectionBuffer, ...]:
    """The sections of a stored packet for a reader with these limits, in bytes. [MS-MQRR] 2.2.6, 3.1.4.7

    TimeToReachQueue becomes a time, in seconds since 1970: infinite stays, and a sum beyond 32 bits becomes
    infinite.
    """
    finite = packet[_TIME_TO_REACH_QUEUE] != _INFINITE
    try:
        sections = split_sections(
            packet,
            max_body_size=max_body_size,
            max_compound_message_size=max_compound_message_size,
            time_to_reach_queue="absolute" if finite else "keep",
        )
    except DecodeError:
        size = len(packet)
        return (
            SectionBuffer(
                section_buffer_type=SectionType.stFullPacket,
                section_size_alloc=size,
                section_size=size,
                data=packet,
            ),
        )
    if finite and _number(sections[0].data) < _number(packet):
        data = sections[0].data
        forever = data[: _TIME_TO_REACH_QUEUE.start] + _INFINITE + data[_TIME_TO_REACH_QUEUE.stop :]
        sections = (msgspec.structs.replace(sections[0], data=forever), *sections[1:])
    return sections


def _number(packet: bytes) -> int:
    return int.from_bytes(packet[_TIME_TO_REACH_QUEUE], "little")


def subqueue_name(queue: Queue) -> str:
    """The name of a subqueue; empty for a queue that is none."""
    return queue.pathname.partition(";")[2]


class _PendingMove(msgspec.Struct, frozen=True):
    """A move whose transaction has not ended when it was last looked at."""

    transaction: Transaction
    source: Queue
    time: int


class Moves:
    """What the SubqueueHeader of messages says about their moves. [MS-MQRR] 2.2.5.3

    LastMoveTime is read as seconds, those of the call that moved the message. How a move in a transaction
    came out is written when the message is next looked at.
    """

    def __init__(self, manager: QueueManager) -> None:
        self._manager = manager
        self._pending: dict[int, _PendingMove] = {}
        manager.position_deleted.append(self._deleted)

    def __len__(self) -> int:
        return len(self._pending)

    def moved(self, message: Message, target: Queue) -> None:
        """A message has been moved."""
        self._count_move(message, target, self._manager.current_time)

    def begun(self, message: Message, target: Queue, transaction: Transaction) -> None:
        """A message is moved when a transaction commits."""
        position = message.message_position_reference
        assert position is not None
        self._pending[message.lookup_identifier] = _PendingMove(
            transaction, position.queue_reference, self._manager.current_time
        )
        _rewrite(message, target_subqueue_name=_padded(subqueue_name(target)))

    def settle(self, message: Message) -> None:
        """Write what came of a move, if its transaction has ended."""
        pending = self._pending.get(message.lookup_identifier)
        if pending is None:
            return
        transaction, position = pending.transaction, message.message_position_reference
        if self._manager.transaction_collection.get(transaction.identifier) is transaction:
            return
        del self._pending[message.lookup_identifier]
        if position is not None and position.queue_reference is not pending.source:
            self._count_move(message, position.queue_reference, pending.time)
        else:
            header = _subqueue_header(message)
            _rewrite(
                message,
                abort_counter=min(header.abort_counter + 1, _COUNT_LIMIT),
                target_subqueue_name=_padded(""),
            )

    @staticmethod
    def _count_move(message: Message, target: Queue, time: int) -> None:
        header = _subqueue_header(message)
        _rewrite(
            message,
            abort_counter=0,
            move_counter=min(header.move_counter + 1, _COUNT_LIMIT),
            last_move_time=time & _COUNT_LIMIT,
            subqueue_name=_padded(subqueue_name(target)),
            target_subqueue_name=_padded(""),
        )

    def _deleted(self, queue: Queue, position: MessagePosition, reason: int) -> None:
        self._pending.pop(position.message_reference.lookup_identifier, None)


def _padded(name: str) -> FixedWcharText:
    # A field of 32 characters holds a NUL and 31 of the name.
    return FixedWcharText.padded(name[: _NAME_SIZE // 2 - 1], _NAME_SIZE)


def _packet(message: Message) -> MessagePacket | None:
    try:
        packet = decode(message.packet, as_="message_packet")
    except DecodeError:
        return None
    return packet if isinstance(packet, MessagePacket) else None


def _subqueue_header(message: Message) -> SubqueueHeader:
    packet = _packet(message)
    return (packet and packet.subqueue_header) or SubqueueHeader()


def _rewrite(message: Message, **changes: object) -> None:
    packet = _packet(message)
    if packet is None:
        return
    changed = msgspec.structs.replace(
        packet,
        extension_header=packet.extension_header or ExtensionHeader(),
        subqueue_header=msgspec.structs.replace(packet.subqueue_header or SubqueueHeader(), **changes),
        extended_address_header=packet.extended_address_header or ExtendedAddressHeader(),
    )
    try:
        message.packet = encode(fit(changed))
    except EncodeError:
        # The packet contradicts itself in what it held before: it stays as it was sent.
        return
