"""TransactionHeader, [MS-MQMQ] 2.2.20.5."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Node, Opt, WireStruct
from msmq_wire.wire.musts import BitTable, Must, Musts
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.guid import GUID, Guid
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID


class TransactionHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Place of a transactional message in its sequence."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.20.5")
    flags: Annotated[int, Int32ul, "First or last of a transaction, final acknowledgment, connector."] = 0
    tx_sequence_id: Annotated[TxSequenceID, Node(TxSequenceID), "The sequence."] = TxSequenceID()
    tx_sequence_number: Annotated[int, Int32ul, "Place in the sequence, from 1."] = 1
    previous_tx_sequence_number: Annotated[int, Int32ul, "Place of the message before, 0 if none."] = 0
    connector_qm_guid: Annotated[
        GUID | None, Opt(this.flags & 1 != 0, Guid), HOST, "Connector queue manager, application-defined."
    ] = None

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        cg=(0, "ConnectorQMGuid follows"),
        fa=(1, "final acknowledgment wanted"),
        fm=(2, "first message of the transaction"),
        lm=(3, "last message of the transaction"),
        id=(4, 20, "transaction"),
        x1=24,
        x2=25,
        x3=26,
        x4=27,
        x5=28,
        x6=29,
        x7=30,
        x8=31,
    )
    MUSTS: ClassVar[Musts] = (
        Must(
            "tx-sequence-number",
            this.tx_sequence_number >= 1,
            at="tx_sequence_number",
            message="TxSequenceNumber must be at least 1",
        ),
        Must(
            "previous-tx-sequence-number",
            this.previous_tx_sequence_number < 0xFFFFFFFF,
            at="previous_tx_sequence_number",
            message="PreviousTxSequenceNumber must not be 0xFFFFFFFF",
        ),
        Must(
            "tx-sequence-order",
            this.previous_tx_sequence_number < this.tx_sequence_number,
            at="previous_tx_sequence_number",
            message="PreviousTxSequenceNumber must precede TxSequenceNumber",
        ),
    )
