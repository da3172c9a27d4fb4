"""MGMT_OBJECT: what a management call is about, [MS-MQMR] 2.2.1.2."""

from typing import Annotated, ClassVar

from msmq_wire.rpc.constants import MgmtObjectType
from msmq_wire.rpc.ndr import DWORD, ENUM, Arm, Fields, NdrStruct, Union, Unique
from msmq_wire.rpc.types.queue_format import QUEUE_FORMAT, QueueFormat
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this


class MgmtObject(NdrStruct, frozen=True, kw_only=True, gc=False):
    """MGMT_OBJECT: a computer, a queue or a session; but for a queue, ``arm`` is a number not used."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMR", "2.2.1.2")
    type: Annotated[int, ENUM, MgmtObjectType, "What it is."] = MgmtObjectType.MGMT_MACHINE
    arm: Annotated[
        QueueFormat | int | None,
        Union(
            this.type,
            ENUM,
            {
                MgmtObjectType.MGMT_MACHINE: Arm("reserved1", DWORD),
                MgmtObjectType.MGMT_QUEUE: Arm("p_queue_format", Unique(QUEUE_FORMAT)),
                MgmtObjectType.MGMT_SESSION: Arm("reserved2", DWORD),
            },
        ),
        "The queue, or a number that is not used.",
    ] = 0


MGMT_OBJECT = Fields(MgmtObject)
