"""The abstract data model of a queue manager: its elements, with the names of [MS-MQDMPR] 3.1.1 and 3.2.

The rule kept here: elements hold what the documents say that they hold, and do nothing. They change, so two
of them are the same only if they are one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from msmq_wire.lab.model.data.enumerations import (
    AdministrativeAction,
    CursorState,
    ModelQueueType,
    OperationType,
    OutgoingQueueState,
    PositionState,
    QueueAccessType,
    QueueShareMode,
    RemoteReadState,
)
from msmq_wire.lab.model.data.message_security import MessageSecurity
from msmq_wire.lab.model.data.position_list import End, MessagePositionList
from msmq_wire.lab.model.data.timers import INFINITE, Timer, Timers
from msmq_wire.rpc.management_properties import ConnectionAttempt, TransferSource
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.sequence_info import SequenceInfo
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_ORDINALS = 1 << 32


class ModelMessage(msgspec.Struct, eq=False, kw_only=True):
    """A message. [MS-MQDMPR] 3.1.1.12

    ``packet`` is the packet as it is stored: a ``user_message`` of the binary protocol, or the bytes of an
    SRMP message. ``properties`` are the attributes that applications see, as `MessageProperties` of
    `msmq_wire.rpc.transfer_properties` names them; they are None where only the packet is there. What the
    rules look at stands here by itself: ``priority`` 0 to 7, ``recoverable``, ``size`` in bytes,
    ``arrival_time`` in seconds since 1970, ``time_to_be_received`` in seconds, ``transactional`` for a
    message that has a TransactionalMessageSequenceIdentifier. ``lookup_identifier`` is given when it is
    enqueued. ``source_address`` is the IPv4 or IPv6 address of the host it came from, empty where it was
    made here.
    """

    packet: bytes = b""
    properties: Any = None
    srmp: bool = False
    identifier: bytes = b""
    label: str = ""
    message_class: int = 0
    priority: int = 3
    recoverable: bool = False
    transactional: bool = False
    size: int = 0
    sent_time: int = 0
    source_address: str = ""
    arrival_time: int = 0
    time_to_be_received: int = INFINITE
    acknowledgements_requested: int = 0
    user_acknowledgement_class: int | None = None
    lookup_identifier: int = 0
    transaction_identifier: bytes = b""
    allow_peek_when_locked: bool = False
    message_position_reference: MessagePosition | None = None
    time_to_be_received_timer: Timer | None = None


class MessagePosition(msgspec.Struct, eq=False, kw_only=True):
    """A slot of a queue with a message in it. [MS-MQDMPR] 3.1.1.11

    ``order`` and ``listed`` are those of its `MessagePositionList`; ``counted`` says that the queue's
    ``total_bytes`` have its message.
    """

    message_reference: ModelMessage
    queue_reference: Queue
    state: PositionState = PositionState.AVAILABLE
    order: int = 0
    listed: bool = False
    counted: bool = False

    @property
    def priority(self) -> int:
        """That of its message."""
        return self.message_reference.priority

    @property
    def lookup_identifier(self) -> int:
        """That of its message."""
        return self.message_reference.lookup_identifier

    def __repr__(self) -> str:
        return f"MessagePosition({self.lookup_identifier}, {self.state.value})"


Place: TypeAlias = MessagePosition | End
"""Where a cursor stands: at a slot, before the first one or behind the last one."""


class Queue(msgspec.Struct, eq=False, kw_only=True):
    """A queue, its journal and its subqueues. [MS-MQDMPR] 3.1.1.2

    ``pathname`` is ``host\\private$\\orders`` or, for a subqueue, that with ``;name``. ``quota`` and
    ``journal_quota`` are kilobytes.
    """

    queue_manager: ModelQueueManager
    pathname: str
    identifier: GUID = NULL_GUID
    queue_type: ModelQueueType = ModelQueueType.PRIVATE
    private_queue_number: int = 0
    label: str = ""
    type: GUID = NULL_GUID
    create_time: int = 0
    modify_time: int = 0
    journaling: bool = False
    quota: int = INFINITE
    journal_quota: int = INFINITE
    authentication: bool = False
    privacy_level: int = 1
    transactional: bool = False
    multicast_address: str = ""
    base_priority: int = 0
    security: bytes = b""
    total_bytes: int = 0
    message_position_list: MessagePositionList[MessagePosition] = msgspec.field(
        default_factory=MessagePositionList
    )
    journal_queue_reference: Queue | None = None
    parent: Queue | None = None
    subqueue_collection: list[Queue] = []
    open_queue_descriptor_collection: list[OpenQueueDescriptor] = []
    incoming_transactional_transfer_info_collection: tuple[TransferSource, ...] = ()

    def __repr__(self) -> str:
        return f"Queue({self.pathname})"

    @property
    def active(self) -> bool:
        """Whether it is open. [MS-MQDMPR] 3.1.1.2"""
        return bool(self.open_queue_descriptor_collection)


class OutgoingTransferInfo(msgspec.Struct, frozen=True, kw_only=True):
    """How far the transactional messages of an outgoing queue have come. [MS-MQDMPR] 3.1.1.4

    Times are seconds since 1970, the interval seconds.
    """

    eod_first_non_ack: SequenceInfo = SequenceInfo()
    eod_last_ack: SequenceInfo = SequenceInfo()
    eod_last_ack_count: int = 0
    eod_last_ack_time: int = 0
    eod_last_non_ack: SequenceInfo = SequenceInfo()
    eod_next_seq: SequenceInfo = SequenceInfo()
    eod_no_ack_count: int = 0
    eod_no_read_count: int = 0
    eod_resend_count: int = 0
    eod_resend_interval: int = 0
    eod_resend_time: int = 0


class OutgoingQueue(Queue, eq=False, kw_only=True):
    """Messages for a queue of another queue manager, until it has them. [MS-MQDMPR] 3.1.1.3

    ``pathname`` is its ``destination_format_name``. ``destination_queue_manager`` has that queue; it is NULL
    for a direct name, which names the host.
    """

    destination_format_name: str
    destination_queue_manager: GUID = NULL_GUID
    next_hops: tuple[str, ...] = ()
    multicast: bool = False
    state: OutgoingQueueState = OutgoingQueueState.INACTIVE
    outgoing_transfer_info_reference: OutgoingTransferInfo = OutgoingTransferInfo()
    connection_history: tuple[ConnectionAttempt, ...] = ()

    @property
    def active(self) -> bool:
        """Whether it is open, or has messages that wait. [MS-MQDMPR] 3.1.1.2"""
        return bool(self.open_queue_descriptor_collection) or len(self.message_position_list) > 0


class WaitingMessageReadOperation(msgspec.Struct, eq=False, kw_only=True):
    """Somebody who waits for a message. [MS-MQDMPR] 3.1.1.10

    ``satisfied`` is called with the slot when there is one, ``stopped`` with a status when there will be
    none.
    """

    destructive_read: bool
    tag: int | None
    cursor_reference: Cursor | None
    satisfied: Callable[[MessagePosition], None]
    stopped: Callable[[int], None]
    timer: Timer | None = None


class OpenQueueDescriptor(msgspec.Struct, eq=False, kw_only=True):
    """A queue that was opened. [MS-MQDMPR] 3.1.1.16"""

    handle: int
    context_value: int
    access_type: QueueAccessType
    share_mode: QueueShareMode
    queue_reference: Queue | None
    format_name: str
    multiple: bool = False
    remote_read_state: RemoteReadState = RemoteReadState.NONE
    open_queue_descriptor_collection: list[OpenQueueDescriptor] = []
    cursor_collection: list[Cursor] = []
    waiting_message_read_operation_collection: list[WaitingMessageReadOperation] = []

    def __repr__(self) -> str:
        return f"OpenQueueDescriptor({self.handle}, {self.format_name}, {self.access_type.value})"


class Cursor(msgspec.Struct, eq=False, kw_only=True):
    """An iterator over the slots of a queue. [MS-MQDMPR] 3.2.1.2"""

    handle: int
    open_queue_descriptor_reference: OpenQueueDescriptor
    message_position_reference: Place
    cursor_state: CursorState = CursorState.UNREAD

    def __repr__(self) -> str:
        return f"Cursor({self.handle}, {self.cursor_state.value})"


class TransactionalOperation(msgspec.Struct, eq=False, kw_only=True):
    """What a transaction does to one slot when it commits. [MS-MQDMPR] 3.1.1.13

    ``settled`` is called before that is done, with True, or when the transaction aborts, with False.
    """

    operation_type: OperationType
    message_position_reference: MessagePosition
    target_queue_reference: Queue | None = None
    dequeue_reason: int | None = None
    settled: Callable[[bool], None] | None = None


class Transaction(msgspec.Struct, eq=False, kw_only=True):
    """A unit of work. [MS-MQDMPR] 3.1.1.14

    ``identifier`` are the 16 bytes of an XACTUOW; ``single_phase`` is True for one without a coordinator.
    """

    identifier: bytes
    transactional_operation_collection: list[TransactionalOperation] = []
    single_phase: bool = False


class QueueHandle(msgspec.Struct, eq=False, kw_only=True):
    """An RPC_QUEUE_HANDLE; what it stands for is said by who gives it. [MS-MQMP] 3.1.1.3, 3.1.1.5"""

    handle: ContextHandle = ContextHandle()


class ModelQueueManager(msgspec.Struct, eq=False, kw_only=True):
    """The local queue manager. [MS-MQDMPR] 3.1.1.1

    Time comes from ``timers`` (milliseconds) and ``time_offset``, which makes seconds since 1970 of it;
    identifiers that are made up come from ``randomness``. ``quota`` is in kilobytes. The two tables of open
    queues of [MS-MQMP] 3.1.1.2 and 3.1.1.4 are one, by the number that rpc_ACReceiveMessageEx knows.
    Outgoing queues are in a collection of their own, by their destination, since that names no queue here.
    ``message_id_ordinal`` is MessageIdOrdinal of [MS-MQQB] 3.1.1.3: the number of the last message sent.
    ``routing_table`` has the next hop to a queue manager: the name or the address of a neighbour.
    ``public_queue_owners`` has the queue managers of public queues elsewhere. ``report_queue`` is the public
    queue that gets the report messages of what applications have traced.
    ``message_security`` checks signatures and opens bodies; without it no signature is looked at.
    ``looked_at`` is told of a queue before its state is, so that who transfers its messages can put down how
    far that is; ``administered`` of what an administrator does to an outgoing queue.
    """

    identifier: GUID
    computer_name: str
    qualified_computer_name: str = ""
    addresses: tuple[str, ...] = ()
    timers: Timers
    time_offset: int = 0
    randomness: random.Random
    quota: int = INFINITE
    throttled: bool = False
    directory_integrated: bool = False
    directory_offline: bool = False
    directory_server_list: tuple[str, ...] = ()
    foreign_system: bool = False
    connection_active: bool = True
    hardened_security: bool = False
    sequential_id: int = 0
    message_id_ordinal: int = 0
    queue_collection: dict[str, Queue] = {}
    outgoing_queue_collection: dict[str, OutgoingQueue] = {}
    routing_table: dict[GUID, str] = {}
    public_queue_owners: dict[GUID, GUID] = {}
    report_queue: GUID = NULL_GUID
    transaction_collection: dict[bytes, Transaction] = {}
    system_journal_queue: Queue | None = None
    system_deadletter_queue: Queue | None = None
    system_transactional_deadletter_queue: Queue | None = None
    descriptors: dict[int, OpenQueueDescriptor] = {}
    cursors: dict[int, Cursor] = {}
    queue_handle_table: dict[int, QueueHandle] = {}
    position_available: list[Callable[[Queue, MessagePosition], None]] = []
    position_deleted: list[Callable[[Queue, MessagePosition, int], None]] = []
    looked_at: list[Callable[[Queue], None]] = []
    administered: list[Callable[[OutgoingQueue, AdministrativeAction], None]] = []
    last_number: int = 0x0B
    message_security: MessageSecurity | None = None

    def __repr__(self) -> str:
        return f"QueueManager({self.computer_name})"

    def is_called(self, computer: str) -> bool:
        """Whether a name or an address is that of this computer; ``.`` and ``localhost`` are."""
        names = (self.computer_name, self.qualified_computer_name, "localhost", ".", *self.addresses)
        return computer.casefold() in {name.casefold() for name in names if name}

    def new_handle(self) -> int:
        """A number that no other handle or cursor of this queue manager has.

        They begin behind 0x0B, which rpc_ACCloseCursor takes for no cursor ([MS-MQMP] 3.1.4.20).
        """
        self.last_number += 1
        return self.last_number

    def new_message_id(self) -> int:
        """The number of one more message that is sent from here; never 0, which says that it has none yet."""
        self.message_id_ordinal = (self.message_id_ordinal + 1) % _ORDINALS or 1
        return self.message_id_ordinal

    def new_guid(self) -> GUID:
        """An identifier that was made up."""
        return GUID(self.randomness.getrandbits(128).to_bytes(16, "little"))

    @property
    def total_bytes(self) -> int:
        """What the messages of all queues take."""
        collections = (self.queue_collection, self.outgoing_queue_collection)
        return sum(queue.total_bytes for one in collections for queue in one.values())

    @property
    def current_time(self) -> int:
        """Seconds since 1970."""
        return self.time_offset + self.timers.now // 1000
