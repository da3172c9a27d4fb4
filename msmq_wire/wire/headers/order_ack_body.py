"""OrderAck Body, [MS-MQQB] 2.2.4.1."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Bytes, Node, WireStruct
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID


class OrderAckBody(WireStruct, frozen=True, kw_only=True, gc=False):
    """Body of an OrderAck packet: how far a transactional sequence has arrived."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.4.1")
    tx_sequence_id: Annotated[TxSequenceID, Node(TxSequenceID), "Sequence that is acknowledged."] = (
        TxSequenceID()
    )
    tx_sequence_number: Annotated[int, Int32ul, "Message that is acknowledged."] = 1
    tx_previous_sequence_number: Annotated[int, Int32ul, "That number less 1."] = 0
    reserved: Annotated[bytes, Bytes(20), "Often uninitialised; ignored."] = bytes(20)

    MUSTS: ClassVar[Musts] = (
        Must(
            "tx-sequence-number",
            this.tx_sequence_number >= 1,
            at="tx_sequence_number",
            message="TxSequenceNumber must be at least 1",
        ),
        Must(
            "tx-previous-sequence-number",
            this.tx_previous_sequence_number == this.tx_sequence_number - 1,
            at="tx_previous_sequence_number",
            message="TxPreviousSequenceNumber must be TxSequenceNumber less 1",
        ),
    )
