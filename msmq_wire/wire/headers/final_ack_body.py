"""FinalAck Body, [MS-MQQB] 2.2.5.1."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Node, WireStruct
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID


class FinalAckBody(WireStruct, frozen=True, kw_only=True, gc=False):
    """Body of a FinalAck packet: what became of one transactional message."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.5.1")
    tx_sequence_id: Annotated[TxSequenceID, Node(TxSequenceID), "Sequence of the message."] = TxSequenceID()
    tx_sequence_number: Annotated[int, Int32ul, "Place of the message."] = 1
    tx_previous_sequence_number: Annotated[int, Int32ul, "Place of the message received before it."] = 0
    source_guid: Annotated[GUID, Guid, HOST, "Queue manager that sent the message."] = NULL_GUID
    message_id: Annotated[int, Int32ul, "Number of the message there."] = 0

    MUSTS: ClassVar[Musts] = (
        Must(
            "tx-sequence-number",
            this.tx_sequence_number >= 1,
            at="tx_sequence_number",
            message="TxSequenceNumber must be at least 1",
        ),
        Must(
            "tx-previous-sequence-number",
            this.tx_previous_sequence_number < 0xFFFFFFFF,
            at="tx_previous_sequence_number",
            message="TxPreviousSequenceNumber must not be 0xFFFFFFFF",
        ),
    )
