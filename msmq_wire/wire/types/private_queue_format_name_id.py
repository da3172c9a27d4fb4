"""PrivateQueueFormatNameId, [MS-MQMQ] 2.2.18.1.5.1."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct


class PrivateQueueFormatNameId(WireStruct, frozen=True, kw_only=True, gc=False):
    """A private queue by its number; which host it is on, the flags of the UserHeader say."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.5.1")
    private_queue_identifier: Annotated[int, Int32ul, "Number of the queue on its host."] = 0
