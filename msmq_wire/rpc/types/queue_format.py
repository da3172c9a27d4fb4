"""QUEUE_FORMAT and OBJECT_FORMAT: the name of a queue in a call, [MS-MQMQ] 2.2.7 to 2.2.10."""

from typing import Annotated, Any, ClassVar, Self

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    UUID,
    WORD,
    Arm,
    Fields,
    NdrStruct,
    Ranged,
    String,
    Union,
    Unique,
)
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.musts import BitTable, CodedMust, Musts, View
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.names.queue_format_types import QueueFormatType, QueueSuffixType, suffix_problems
from msmq_wire.wire.names.wire_forms import queue_format_arm, queue_format_name, queue_format_text
from msmq_wire.wire.private import HOST, IDENTIFIER, Private
from msmq_wire.wire.types.direct_queue_format_name import is_direct_name
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText


class ObjectId(NdrStruct, frozen=True, kw_only=True, gc=False):
    """OBJECTID: a private queue, or a message, of one queue manager."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.8")
    lineage: Annotated[GUID, UUID, HOST, "The queue manager."] = NULL_GUID
    uniquifier: Annotated[int, DWORD, "The number of the queue or the message there."] = 0


class DlId(NdrStruct, frozen=True, kw_only=True, gc=False):
    """DL_ID: a distribution list."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.9")
    m_dl_guid: Annotated[GUID, UUID, IDENTIFIER, "The list."] = NULL_GUID
    m_pwz_domain: Annotated[WcharText | None, Unique(String()), "Its domain."] = None


class MulticastId(NdrStruct, frozen=True, kw_only=True, gc=False):
    """MULTICAST_ID: an IPv4 multicast group."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.10")
    m_address: Annotated[int, DWORD, HOST, "The address; its first part in the lowest byte."] = 0
    m_port: Annotated[int, DWORD, "The port."] = 0


def _suffix_fits(m_qft: int, m_suffix_and_flags: int) -> bool:
    return not suffix_problems(m_qft, m_suffix_and_flags)


def _names_a_queue(view: View) -> bool:
    queue = view.value
    if queue.m_qft == QueueFormatType.UNKNOWN or queue.format_name is not None:
        return True
    return (
        queue.m_qft == QueueFormatType.DIRECT
        and isinstance(queue.arm, WcharText)
        and is_direct_name(queue.arm)
    )


OBJECT_ID = Fields(ObjectId)
DL_ID = Fields(DlId)
MULTICAST_ID = Fields(MulticastId)


class QueueFormat(NdrStruct, frozen=True, kw_only=True, gc=False):
    """QUEUE_FORMAT: a format name as a structure; ``arm`` is the member that ``m_qft`` selects."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.7")
    m_qft: Annotated[int, BYTE, QueueFormatType, "Which kind of name this is."] = 0
    m_suffix_and_flags: Annotated[int, BYTE, "Journal, dead-letter and the like."] = 0
    m_reserved: Annotated[int, WORD, "Not used."] = 0
    arm: Annotated[
        Any,
        Union(
            this.m_qft,
            BYTE,
            {
                QueueFormatType.UNKNOWN: Arm(),
                QueueFormatType.PUBLIC: Arm("m_g_public_id", UUID),
                QueueFormatType.PRIVATE: Arm("m_o_private_id", OBJECT_ID),
                QueueFormatType.DIRECT: Arm("m_p_direct_id", Unique(String())),
                QueueFormatType.MACHINE: Arm("m_g_machine_id", UUID),
                QueueFormatType.CONNECTOR: Arm("m_g_connector_id", UUID),
                QueueFormatType.DL: Arm("m_dl_id", DL_ID),
                QueueFormatType.MULTICAST: Arm("m_multicast_id", MULTICAST_ID),
                QueueFormatType.SUBQUEUE: Arm("m_p_direct_subqueue_id", Unique(String())),
            },
        ),
        Private("host", "queue", this.m_qft),
        "The name.",
    ] = None

    BITS: ClassVar[BitTable] = BitTable(
        "m_suffix_and_flags", suffix_type=(0, 4, QueueSuffixType), flags=(4, 4)
    )
    MUSTS: ClassVar[Musts] = (
        CodedMust(
            "suffix-and-flags",
            _suffix_fits,
            "m_qft",
            "m_suffix_and_flags",
            at="m_suffix_and_flags",
            message="Suffix Type, Flags and m_qft must match",
        ),
        CodedMust(
            "format-name",
            _names_a_queue,
            at="arm",
            message="the parts must form a valid format name",
        ),
    )

    @property
    def format_name(self) -> FormatName | None:
        """The name as text says it; None where the parts make no format name."""
        arm = self._parts
        if arm is msgspec.UNSET:
            return None
        try:
            return queue_format_name(self.m_qft, self.m_suffix_and_flags, arm)
        except DecodeError:
            return None

    @property
    def shown_name(self) -> str | None:
        """The name as it was sent, also where it is none that a queue can have; None where there is none."""
        arm = self._parts
        if arm is msgspec.UNSET:
            return None
        return queue_format_text(self.m_qft, self.m_suffix_and_flags, arm)

    @property
    def _parts(self) -> Any:
        """The arm as names take it; UNSET where a part of it was not decoded."""
        arm = self.arm
        if isinstance(arm, WcharText):
            arm = arm.text
        elif isinstance(arm, ObjectId):
            arm = (arm.lineage, arm.uniquifier)
        elif isinstance(arm, DlId):
            domain = arm.m_pwz_domain
            arm = (arm.m_dl_guid, domain.text if isinstance(domain, WcharText) else domain)
        elif isinstance(arm, MulticastId):
            arm = (arm.m_address, arm.m_port)
        return msgspec.UNSET if isinstance(arm, tuple) and msgspec.UNSET in arm else arm

    @classmethod
    def of(cls, name: FormatName) -> Self:
        """The structure that says what a format name says."""
        m_qft, m_suffix_and_flags = name.queue_format()
        arm: Any = queue_format_arm(name)
        if m_qft in (QueueFormatType.DIRECT, QueueFormatType.SUBQUEUE):
            arm = WcharText.of(arm)
        elif m_qft == QueueFormatType.PRIVATE:
            arm = ObjectId(lineage=GUID.parse(arm[0]), uniquifier=arm[1])
        elif m_qft == QueueFormatType.DL:
            domain = None if arm[1] is None else WcharText.of(arm[1])
            arm = DlId(m_dl_guid=GUID.parse(arm[0]), m_pwz_domain=domain)
        elif m_qft == QueueFormatType.MULTICAST:
            arm = MulticastId(m_address=arm[0], m_port=arm[1])
        else:
            arm = GUID.parse(arm)
        return cls(m_qft=m_qft, m_suffix_and_flags=m_suffix_and_flags, arm=arm)


QUEUE_FORMAT = Fields(QueueFormat)


class ObjectFormat(NdrStruct, frozen=True, kw_only=True, gc=False):
    """OBJECT_FORMAT: the object of a directory call, which is always a queue."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMP", "2.2.3.5")
    obj_type: Annotated[int, Ranged(DWORD, 1, 2), "1 for a queue."] = 1
    arm: Annotated[
        QueueFormat | None,
        Union(this.obj_type, DWORD, {1: Arm("p_queue_format", Unique(QUEUE_FORMAT))}),
        "The queue.",
    ] = None


OBJECT_FORMAT = Fields(ObjectFormat)
