"""The packet that a remote reader gets: what its server adds, its sections, and what moves leave in it.

The rule kept here: a stored packet that cannot be read as one is sent as it is, whole; nothing is lost.
"""

from __future__ import annotations

import ipaddress
from typing import Any

import msgspec

from msmq_wire.engines.codec import decode, encode
from msmq_wire.engines.fit import fit
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.lab.model.data.elements import ModelMessage, Queue, Transaction, TransactionalOperation
from msmq_wire.reassembly.sections import split_sections
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.user_header import AddressOverlay
from msmq_wire.wire.packets.base import size_of
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.types.enumerations import AddressType
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType
from msmq_wire.wire.types.wchar_text import FixedWcharText

_NAME_SIZE = 64
_COUNT_LIMIT = 0xFFFF_FFFF
_OVERLAY_SIZE = 8
_ADDRESS_SIZE = 16
_THIS_HOST = ipaddress.IPv4Address("127.0.0.1")


def message_packet(message: ModelMessage) -> bytes:
    """The packet of a message as RemoteRead has it: with the host it came from, and its trailing headers.

    An address that the packet has already stays. A message that was made here came from this host.
    [MS-MQRR] 2.2.5
    """
    packet = _packet(message)
    if packet is None:
        return message.packet
    address = _address_of(message)
    user, extended = packet.user_header, packet.extended_address_header or ExtendedAddressHeader()
    overlay = user.queue_manager_address
    if isinstance(overlay, AddressOverlay) and not overlay.address_type:
        host = AddressOverlay(**_address(address, _OVERLAY_SIZE))
        user = msgspec.structs.replace(user, queue_manager_address=host)
    if not extended.address_type:
        extended = msgspec.structs.replace(extended, **_address(address, _ADDRESS_SIZE))
    subqueue = packet.subqueue_header or SubqueueHeader()
    if message.user_acknowledgement_class:
        subqueue = subqueue.with_bits(acknowledgement_class=message.user_acknowledgement_class)
    complete = msgspec.structs.replace(
        packet,
        user_header=user,
        extension_header=packet.extension_header or ExtensionHeader(),
        subqueue_header=subqueue,
        extended_address_header=extended,
    )
    try:
        return encode(_counted(fit(complete)))
    except EncodeError:
        return message.packet


def _address_of(message: ModelMessage) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = ipaddress.ip_address(message.source_address)
    except ValueError:
        return _THIS_HOST
    # An IPv4 host, as a socket for both tells its address.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _address(address: ipaddress.IPv4Address | ipaddress.IPv6Address, room: int) -> dict[str, Any]:
    """The fields of an address where there is room for so many bytes of it."""
    packed = address.packed
    found = {
        "address_length": len(packed),
        "address_type": AddressType.IP_ADDRESS_TYPE,
        "address_scope": 0,
        "address": packed[:room].ljust(room, b"\0"),
    }
    if isinstance(address, ipaddress.IPv6Address):
        scope = address.scope_id or ""
        found["address_type"] = AddressType.IPV6_ADDRESS_TYPE
        # The name of an interface is no number.
        found["address_scope"] = int(scope) & _COUNT_LIMIT if scope.isdecimal() else 0
    return found


def packet_sections(
    packet: bytes, max_body_size: int, max_compound_message_size: int
) -> tuple[SectionBuffer, ...]:
    """The sections of a stored packet for a reader with these limits, in bytes. [MS-MQRR] 2.2.6, 3.1.4.7

    TimeToReachQueue becomes a time, in seconds since 1970.
    """
    try:
        return split_sections(
            packet,
            max_body_size=max_body_size,
            max_compound_message_size=max_compound_message_size,
            time_to_reach_queue="absolute",
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


def user_message_packet(message: ModelMessage) -> bytes:
    """The UserMessage packet of a message, without the headers that RemoteRead has behind it.

    [MS-MQDMPR] 3.1.7.1.30
    """
    packet = _packet(message)
    if packet is None or packet.extension_header is None:
        return message.packet
    bare = msgspec.structs.replace(
        packet,
        extension_header=None,
        subqueue_header=None,
        dead_letter_header=None,
        extended_address_header=None,
    )
    try:
        return encode(fit(bare))
    except EncodeError:
        return message.packet


def subqueue_name(queue: Queue) -> str:
    """The name of a subqueue; empty for a queue that is none."""
    return queue.pathname.partition(";")[2]


def count_move(message: ModelMessage, target: Queue, time: int) -> None:
    """Write into a packet that its message was moved, ``time`` in seconds since 1970. [MS-MQRR] 2.2.5.3

    LastMoveTime is read as seconds: the milliseconds of the text do not fit 32 bits.
    """
    header = _subqueue_header(message) or SubqueueHeader()
    _rewrite(
        message,
        abort_counter=0,
        move_counter=min(header.move_counter + 1, _COUNT_LIMIT),
        last_move_time=time & _COUNT_LIMIT,
        subqueue_name=_padded(subqueue_name(target)),
        target_subqueue_name=_padded(""),
    )


def begin_move(message: ModelMessage, transaction: Transaction, target: Queue, time: int) -> None:
    """Write into a packet that its message moves with a transaction, and have written what comes of it.

    LastMoveTime of a move that commits is ``time``, that of the call. [MS-MQRR] 2.2.5.3
    """
    operation = _operation(message, transaction)
    if operation is None:
        return
    _rewrite(message, target_subqueue_name=_padded(subqueue_name(target)))

    def settled(committed: bool) -> None:
        if committed:
            count_move(message, target, time)
        else:
            _count_abort(message)

    operation.settled = settled


def begin_read(message: ModelMessage, transaction: Transaction) -> None:
    """Have written into a packet that a transaction which read its message failed. [MS-MQRR] 2.2.5.3

    Where a packet has no SubqueueHeader none is added: one without SubqueueName is ignored.
    """
    operation = _operation(message, transaction)
    if operation is None:
        return

    def settled(committed: bool) -> None:
        if not committed and _subqueue_header(message) is not None:
            _count_abort(message)

    operation.settled = settled


def _operation(message: ModelMessage, transaction: Transaction) -> TransactionalOperation | None:
    """What a transaction does to the slot of a message, if it does anything."""
    position = message.message_position_reference
    operations = reversed(transaction.transactional_operation_collection)
    return next((one for one in operations if one.message_position_reference is position), None)


def _count_abort(message: ModelMessage) -> None:
    header = _subqueue_header(message) or SubqueueHeader()
    _rewrite(
        message,
        abort_counter=min(header.abort_counter + 1, _COUNT_LIMIT),
        target_subqueue_name=_padded(""),
    )


def _padded(name: str) -> FixedWcharText:
    # A field of 32 characters holds a NUL and 31 of the name.
    return FixedWcharText.padded(name[: _NAME_SIZE // 2 - 1], _NAME_SIZE)


def _packet(message: ModelMessage) -> MessagePacket | None:
    if message.srmp:
        return None
    try:
        packet = decode(message.packet, as_="message_packet")
    except DecodeError:
        return None
    return packet if isinstance(packet, MessagePacket) else None


def _subqueue_header(message: ModelMessage) -> SubqueueHeader | None:
    packet = _packet(message)
    return None if packet is None else packet.subqueue_header


def _rewrite(message: ModelMessage, **changes: object) -> None:
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
        message.packet = encode(_counted(fit(changed)))
    except EncodeError:
        # The packet contradicts itself in what it held before: it stays as it was sent.
        return


def _counted(packet: MessagePacket) -> MessagePacket:
    """The packet with a PacketSize that counts all of it, also its trailing headers. [MS-MQMQ] 2.2.19.1

    Only the SessionHeader is not counted.
    """
    uncounted = size_of(packet.session_header) + size_of(packet.trailing_session_header)
    base = msgspec.structs.replace(packet.base_header, packet_size=len(encode(packet)) - uncounted)
    return msgspec.structs.replace(packet, base_header=base)
