"""OBJECTID, [MS-MQMQ] 2.2.8."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid


class ObjectID(WireStruct, frozen=True, kw_only=True, gc=False):
    """Tells apart objects of one kind: the group that an object belongs to, and its number there."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.8")
    lineage: Annotated[
        GUID, Guid, HOST, "The group: often the owner of the object or its place of origin."
    ] = NULL_GUID
    uniquifier: Annotated[int, Int32ul, "The object within the group."] = 0
