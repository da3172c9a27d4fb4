"""`IncomingSequence`: the transactional messages of a queue manager to one queue. [MS-MQQB] 3.1.5.8.6"""

from __future__ import annotations

import msgspec

from msmq_wire.lab.model.binary.outgoing_message import OutgoingMessage
from msmq_wire.lab.model.data.timers import Timer
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID


class IncomingSequence(msgspec.Struct, eq=False, kw_only=True):
    """IncomingTxSequenceID, IncomingTxSequenceNumber and what an OrderAck needs. [MS-MQQB] 3.1.1.3.1

    ``number`` is 0 before anything was accepted; ``last_order_ack`` and ``last_access``, when a message came,
    are in the milliseconds of the timers; ``format_name`` is what the sender calls the queue;
    ``order_ack`` is the last OrderAck, which may wait to be sent.
    """

    identifier: TxSequenceID = TxSequenceID()
    number: int = 0
    reject_count: int = 0
    format_name: str = ""
    last_access: int = 0
    last_order_ack: int
    order_ack_timer: Timer | None = None
    order_ack: OutgoingMessage | None = None

    def accepts(self, header: TransactionHeader) -> bool:
        """Whether a message is the next one: in order, and not seen before. [MS-MQQB] 3.1.5.8.6"""
        stated, previous = header.tx_sequence_number, header.previous_tx_sequence_number
        if header.tx_sequence_id == self.identifier:
            return stated > self.number >= previous
        return header.tx_sequence_id.value > self.identifier.value and previous == 0 and stated > 0

    def advance(self, header: TransactionHeader) -> None:
        """The message was accepted."""
        self.identifier, self.number = header.tx_sequence_id, header.tx_sequence_number
        self.reject_count = 0
