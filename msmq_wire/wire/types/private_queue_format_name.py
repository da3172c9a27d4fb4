"""PrivateQueueFormatName, [MS-MQMQ] 2.2.18.1.7.2."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid


class PrivateQueueFormatName(WireStruct, frozen=True, kw_only=True, gc=False):
    """A private queue by its host and its number there."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.7.2")
    source_queue_manager: Annotated[GUID, Guid, HOST, "Queue manager that hosts the queue."] = NULL_GUID
    private_queue_identifier: Annotated[int, Int32ul, "Number of the queue on that host."] = 0
