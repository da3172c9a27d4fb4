"""MQFDistributionQueueFormatName, [MS-MQMQ] 2.2.18.1.4.2."""

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.private import IDENTIFIER
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid


class MQFDistributionQueueFormatName(WireStruct, frozen=True, kw_only=True, gc=False):
    """A distribution list in a multiple-queue list."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.4.2")
    distribution_list_identifier: Annotated[GUID, Guid, IDENTIFIER, "Identifier of the list."] = NULL_GUID
