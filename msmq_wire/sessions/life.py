"""What is told of a message: `MessageLife`, with its hops and its acknowledgments. Plain frozen values."""

from __future__ import annotations

from typing import Literal

import msgspec

from msmq_wire.records.outcome import Outcome
from msmq_wire.records.queue_names import short_queue
from msmq_wire.representation import label_text, line, shortened
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.trace_step import TraceStep
from msmq_wire.wire.types.guid import GUID


class Hop(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message on its way between two more hosts: ``hops`` is UserHeader RC there."""

    at: Moment
    src: str
    dst: str
    session: int | None
    hops: int


class MessageAcknowledgment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A final ack, an administration ack or an SRMP receipt: ``message_class`` is MESSAGE_CLASS_VALUES.

    ``message_id`` is that of the acknowledgment itself, None for a FinalAck or a receipt.
    """

    kind: Literal["final_ack", "administration_ack", "receipt"]
    message_class: int
    at: Moment
    src: str
    dst: str
    message_id: str | None = None


class MessageLife(msgspec.Struct, frozen=True, gc=False):
    """A message and what became of it.

    ``message_id`` is its queue manager and number (``guid\\number``), or the identifier of an SRMP message of
    another form. ``first`` is where it was seen first, ``via`` how: ``tcp``, ``rpc``, ``http``, or ``report``
    for one that only report messages tell of; ``session`` is the number of its session. ``queue`` and
    ``admin_queue`` are format names, ``delivery`` is ``express``, ``recoverable`` or ``transactional``,
    ``size`` the bytes of the body. ``sent_time`` is seconds since 1970 by the sender's clock,
    ``time_to_reach_queue`` and ``time_to_be_received`` are seconds (0xFFFFFFFF: for ever); a message
    that only a remote read showed has their end in its packet, less its SentTime here.
    ``reach_by`` and ``receive_by`` are the ends of both, seconds since 1970. ``journal`` and ``dead_letter``
    are JP and JN, ``wanted`` the acknowledgments asked for (bits PA, PR, NA, NR). ``hops`` is RC where it was
    first seen, ``route`` the hosts that it went on to. ``acknowledges`` is the message that it acknowledges,
    if it is an administration ack. ``transaction`` are the flags of TransactionHeader: FA, FM, LM and the
    number of the transaction.

    ``acknowledged`` is the session ack that covers it, ``stored`` the one whose bit field says that it is on
    disk; ``order_ack`` the OrderAck that covers its place ``tx_sequence_number`` in the stream ``stream``;
    ``accepted`` the HTTP response 2xx to it. ``acknowledgments`` are final and administration acks and
    receipts, one of each class. ``resends`` counts how often it was sent again on the same way,
    ``duplicates`` those after its acknowledgment, ``resent_at`` names the first of them. ``reads`` are the
    numbers of the remote reads that brought it, ``peeked`` and ``received`` the first, ``received_by`` the
    client; a receive in a transaction is none, as its message leaves the queue when that is committed.
    ``moved`` are moves to another queue, ``moved_to`` the names of these, empty where they are not known;
    ``rejected`` is the call that set an acknowledgment class.
    ``copies`` are the system queues (``journal``, ``dead_letter``, ``transactional_dead_letter``) where a
    remote read found it.

    ``clock_offset`` is how many seconds the clock of its sender is ahead of that of the capture (negative:
    behind), None where that is not sure.

    ``expired`` names the limit that had passed when the capture ended (``time_to_reach_queue``,
    ``time_to_be_received``) without news of a delivery or a receipt in time, by the clock of its sender.
    ``outcome`` is the strongest statement that the evidence carries, ``reason`` says it in words,
    ``evidence`` are its frames, ``nack_class`` is the class of a refusal. ``certain`` is False where bytes
    missing from the capture make acknowledgments doubtful. ``twin`` says that another message has its
    identifier and was seen before: what names it may be about either. ``purged_by`` is the number of the
    `RemoteQueue` through which its queue was purged while it was there, as far as anybody saw.

    ``traced`` says that it asks for report messages, ``reports`` are what they tell about it. ``reports_on``
    are the messages that it may be about, if it is a report message.
    """

    message_id: str
    queue_manager: GUID | None
    first: Moment
    via: str
    src: str
    dst: str
    session: int | None
    queue: str | None
    label: str | None
    message_class: int | None
    priority: int | None
    delivery: str | None
    size: int | None
    sent_time: int | None
    time_to_reach_queue: int | None
    time_to_be_received: int | None
    reach_by: int | None
    receive_by: int | None
    journal: bool
    dead_letter: bool
    wanted: int
    admin_queue: str | None
    hops: int
    route: tuple[Hop, ...]
    acknowledges: str | None
    stream: int | None
    tx_sequence_number: int | None
    transaction: int
    acknowledged: Moment | None
    stored: Moment | None
    order_ack: Moment | None
    accepted: Moment | None
    http_status: int | None
    acknowledgments: tuple[MessageAcknowledgment, ...]
    resends: int
    duplicates: int
    resent_at: tuple[Moment, ...]
    reads: tuple[int, ...]
    peeked: Moment | None
    received: Moment | None
    received_by: str | None
    moved: tuple[Moment, ...]
    rejected: Moment | None
    rejected_class: int | None
    copies: tuple[tuple[str, Moment], ...]
    clock_offset: int | None
    expired: str | None
    outcome: Outcome
    nack_class: int | None
    reason: str
    evidence: tuple[int, ...]
    certain: bool
    moved_to: tuple[str, ...] = ()
    twin: bool = False
    purged_by: int | None = None
    traced: bool = False
    reports: tuple[TraceStep, ...] = ()
    reports_on: tuple[str, ...] = ()

    def __repr__(self) -> str:
        queue = f"to {shortened(short_queue(self.queue))}" if self.queue else ""
        parts = (label_text(self.label), queue, f"({self.outcome}):", shortened(self.reason, 120))
        return line(self, shortened(self.message_id, 48), *parts)

    @property
    def about(self) -> tuple[str, ...]:
        """The messages that it acknowledges, or may report on."""
        return self.reports_on if self.acknowledges is None else (self.acknowledges,)

    @property
    def failed(self) -> bool:
        """Whether somebody said, or the clock says, that it did not come or was not received."""
        return self.nack_class is not None or self.outcome in ("refused", "expired")
