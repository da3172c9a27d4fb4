"""DebugHeader, [MS-MQMQ] 2.2.20.8."""

from typing import Annotated, ClassVar

from construct import Int16ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Opt, WireStruct
from msmq_wire.wire.musts import BitTable, Must, Musts, unused
from msmq_wire.wire.private import IDENTIFIER
from msmq_wire.wire.types.enumerations import TraceQueueType
from msmq_wire.wire.types.guid import GUID, Guid


class DebugHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Queue that trace messages of this message go to."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.20.8")
    flags: Annotated[int, Int16ul, "Kind of queue."] = 0
    reserved: Annotated[int, Int16ul, "Ignored."] = 0
    queue_identifier: Annotated[
        GUID | None, Opt(this.flags & 3 == 1, Guid), IDENTIFIER, "Identifier of the public queue."
    ] = None

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        qt=(0, 2, TraceQueueType, "trace queue"),
        **unused(2, 15),
    )
    MUSTS: ClassVar[Musts] = (
        Must("queue-type", this.flags & 3 <= 1, at="flags", message="QT must be 0 or 1"),
    )
