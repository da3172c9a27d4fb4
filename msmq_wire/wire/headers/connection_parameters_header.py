"""ConnectionParametersHeader, [MS-MQQB] 2.2.2.1."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this, within
from msmq_wire.wire.fields import Unit, WireStruct
from msmq_wire.wire.musts import Must, Musts


class ConnectionParametersHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """When a session acknowledges what it received."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.2.1")
    recoverable_ack_timeout: Annotated[
        int, Int32ul, Unit("milliseconds"), "Least wait before a recoverable message is acknowledged."
    ] = 0x1F4
    ack_timeout: Annotated[
        int, Int32ul, Unit("milliseconds"), "Wait for an acknowledgment before the session is closed."
    ] = 0x1D4C0
    reserved: Annotated[int, Int16ul, "Must be 0."] = 0
    window_size: Annotated[int, Int16ul, "Unacknowledged packets before an acknowledgment is sent."] = 0x40

    MUSTS: ClassVar[Musts] = (
        Must(
            "recoverable-ack-timeout",
            within(this.recoverable_ack_timeout, 0x1F4, 0x1D4C0),
            at="recoverable_ack_timeout",
            message="RecoverableAckTimeout must be between 500 ms and 120 s",
        ),
        Must(
            "ack-timeout",
            within(this.ack_timeout, 0x4E20, 0x1D4C0),
            at="ack_timeout",
            message="AckTimeout must be between 20 s and 120 s",
        ),
        Must("reserved", this.reserved == 0, at="reserved", message="Reserved must be 0"),
    )
