"""What is told of transactional sequences: sequences, gaps, bridges, stray acknowledgments.

The rule kept here: plain frozen values, no behaviour. What a hole in the capture makes doubtful says so.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from msmq_wire.sessions.moment import Moment
from msmq_wire.wire.types.guid import GUID

StrayKind: TypeAlias = Literal["order_ack", "final_ack", "administration_ack", "receipt"]


class TransactionGap(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message of a sequence that came before the one that it says it follows.

    ``after`` is the highest number seen before, ``previous`` the number that the message ``number`` names as
    its predecessor. ``filled`` is when a message with a number between came later, as a resend does.
    """

    after: int
    previous: int
    number: int
    at: Moment
    filled: Moment | None = None
    certain: bool = True


class TransactionBridge(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message that leaves out numbers before it, and rightly so: ``previous`` was seen, or is 0.

    What had these numbers expired or was removed at the sender. [MS-MQQB] 3.1.7.1.3
    """

    number: int
    previous: int
    at: Moment


class StrayAck(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An acknowledgment of something that was not seen: order, final or administration, or a receipt.

    ``tx_sequence_id`` and ``number`` are those of the sequence (None for the others),
    ``message_id`` is the identifier that it names (None for an order ack).
    """

    kind: StrayKind
    message_class: int
    at: Moment
    src: str
    dst: str
    tx_sequence_id: int | None = None
    number: int | None = None
    message_id: str | None = None


class TransactionalStream(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A sequence of transactional messages from one queue manager to one queue.

    ``tx_sequence_id`` is the 64-bit number, ``messages`` counts the packets seen, ``repeats`` those of a
    number seen before. ``first_number`` is above 1 where the sequence began before the capture. ``gaps``
    are described at `TransactionGap`, ``bridges`` at `TransactionBridge`; ``gaps_left_out`` and
    ``bridges_left_out`` count those that are not kept.

    ``acknowledged`` is the highest number that an OrderAck brought, ``acknowledged_by`` the queue manager
    that sent it, ``progress`` the numbers with their OrderAcks, each higher than the one before;
    ``awaiting`` counts the numbers seen above it, ``awaiting_numbers`` are the first of them.
    ``acknowledged_ahead`` is an OrderAck for a higher number than was seen. ``final_acks`` has the
    classes of the FinalAcks with their counts. ``sessions`` are the numbers of the sessions that carried
    it, at most 64. ``certain`` is False where bytes are missing from one of them.
    """

    number: int
    source_queue_manager: GUID
    tx_sequence_id: int
    queue: str | None
    src: str
    dst: str
    first: Moment
    last: Moment
    messages: int = 0
    first_number: int = 0
    last_number: int = 0
    repeats: int = 0
    gaps: tuple[TransactionGap, ...] = ()
    gaps_left_out: int = 0
    bridges: tuple[TransactionBridge, ...] = ()
    bridges_left_out: int = 0
    order_acks: int = 0
    progress: tuple[tuple[int, Moment], ...] = ()
    acknowledged: int = 0
    acknowledged_by: GUID | None = None
    first_order_ack: Moment | None = None
    last_order_ack: Moment | None = None
    acknowledged_ahead: Moment | None = None
    awaiting: int = 0
    awaiting_numbers: tuple[int, ...] = ()
    final_acks: tuple[tuple[int, int], ...] = ()
    sessions: tuple[int, ...] = ()
    certain: bool = True
