"""MessageIdentifier, [MS-MQMQ] 2.2.18.1.3."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid


class MessageIdentifier(WireStruct, frozen=True, kw_only=True, gc=False):
    """Identifies a message: its sender and a number that is unique there."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.3")
    queue_manager_guid: Annotated[GUID, Guid, HOST, "Queue manager that sent the message."] = NULL_GUID
    ordinal: Annotated[int, Int32ul, "Number of the message at that queue manager."] = 0

    def __str__(self) -> str:
        return f"{self.queue_manager_guid}\\{self.ordinal}"
