"""TxSequenceID, [MS-MQMQ] 2.2.18.1.2."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct


class TxSequenceID(WireStruct, frozen=True, kw_only=True, gc=False):
    """Identifies a sequence of transactional messages from one queue manager."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.2")
    ordinal: Annotated[int, Int32ul, "Low half when two identifiers are compared."] = 0
    time_stamp: Annotated[int, Int32ul, "High half: grows with every restart of the sender's sequence."] = 0

    @property
    def value(self) -> int:
        """Both halves as the 64-bit number that comparisons use."""
        return self.time_stamp << 32 | self.ordinal
