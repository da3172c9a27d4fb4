"""MQFDirectQueueFormatName, [MS-MQMQ] 2.2.18.1.4.1."""

from typing import Annotated, ClassVar

from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct, ZeroTerminated
from msmq_wire.wire.musts import CodedMust, Musts
from msmq_wire.wire.private import QUEUE_NAME
from msmq_wire.wire.types.direct_queue_format_name import is_direct_name
from msmq_wire.wire.types.wchar_text import WcharText


class MQFDirectQueueFormatName(WireStruct, frozen=True, kw_only=True, gc=False):
    """A direct name in a multiple-queue list; its terminator alone says where it ends."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.18.1.4.1")
    direct_format_name: Annotated[
        WcharText, ZeroTerminated(WcharText), QUEUE_NAME, "The name with its terminator."
    ] = WcharText(b"\0\0")

    MUSTS: ClassVar[Musts] = (
        CodedMust(
            "direct-format-name",
            is_direct_name,
            "direct_format_name",
            at="direct_format_name",
            message="DirectFormatName must be a direct format name",
            spec=SpecRef("MS-MQMQ", "2.1.2"),
        ),
    )
