"""PublicQueueFormatName, [MS-MQMQ] 2.2.18.1.7.1."""

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.private import IDENTIFIER
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid


class PublicQueueFormatName(WireStruct, frozen=True, kw_only=True, gc=False):
    """A public queue by its identifier in the directory."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.7.1")
    public_queue_identifier: Annotated[GUID, Guid, IDENTIFIER, "Identifier of the queue."] = NULL_GUID
