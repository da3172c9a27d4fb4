"""SessionHeader, [MS-MQMQ] 2.2.20.4."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import Must, Musts


class SessionHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Acknowledges what came in the other direction; it says nothing of the packet that carries it."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.20.4")
    ack_sequence_number: Annotated[int, Int16ul, "User packets received in this session."] = 0
    recoverable_msg_ack_seq_number: Annotated[
        int, Int16ul, "Lowest recoverable number acknowledged here, 0 for none."
    ] = 0
    recoverable_msg_ack_flags: Annotated[int, Int32ul, "Bit k acknowledges that number plus k as stored."] = 0
    user_msg_sequence_number: Annotated[int, Int16ul, "User packets sent in this session."] = 0
    recoverable_msg_seq_number: Annotated[int, Int16ul, "Recoverable ones among them."] = 0
    window_size: Annotated[int, Int16ul, "Packets between acknowledgments, default 0x40."] = 0x40
    reserved: Annotated[int, Int16ul, "Arbitrary in real traffic; ignored."] = 0

    MUSTS: ClassVar[Musts] = (
        Must("window-size", this.window_size >= 1, at="window_size", message="WindowSize must not be 0"),
    )
