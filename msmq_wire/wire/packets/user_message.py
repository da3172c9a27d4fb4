"""UserMessage, [MS-MQMQ] 2.2.20; with the SRMP headers of [MS-MQRR] 2.2.5.1 where AH announces them."""

from typing import Annotated, ClassVar

from msmq_wire.representation import label_text, line, shortened
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Limit, Node, Opt, Rest, Tell
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.soap_header import SoapHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.packets.base import PACKET_SIZE, UNDECLARED, BinaryPacket, Total
from msmq_wire.wire.types.guid import NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

_USER = SpecRef("MS-MQMQ", "2.2.19.2")


class MessageHeaders(BinaryPacket, frozen=True, kw_only=True, gc=False):
    """The headers that a UserMessage and a remote-read packet share, in wire order."""

    base_header: Annotated[BaseHeader, Node(BaseHeader), "Common header."] = BaseHeader(packet_size=120)
    _limit: ClassVar[Annotated[int, Limit(this.base_header.packet_size)]]
    user_header: Annotated[UserHeader, Node(UserHeader), "Queues and times."] = UserHeader()
    transaction_header: Annotated[
        TransactionHeader | None,
        Opt(this.user_header.flags & 0x100000 != 0, Node(TransactionHeader)),
        "If TH.",
    ] = None
    security_header: Annotated[
        SecurityHeader | None,
        Opt(this.user_header.flags & 0x80000 != 0, Node(SecurityHeader)),
        "If UserHeader SH.",
    ] = None
    message_properties_header: Annotated[
        MessagePropertiesHeader | None,
        Opt(this.user_header.flags & 0x200000 != 0, Node(MessagePropertiesHeader)),
        "If MP, which must be.",
    ] = MessagePropertiesHeader()
    debug_header: Annotated[
        DebugHeader | None, Opt(this.base_header.flags & 0x20 != 0, Node(DebugHeader)), "If DH."
    ] = None
    srmp_envelope_header: Annotated[
        SRMPEnvelopeHeader | None,
        Opt(this.user_header.flags & 0x2000000 != 0, Node(SRMPEnvelopeHeader)),
        "If AH.",
    ] = None
    compound_message_header: Annotated[
        CompoundMessageHeader | None,
        Opt(this.user_header.flags & 0x2000000 != 0, Node(CompoundMessageHeader)),
        "If AH.",
    ] = None
    soap_header: Annotated[
        SoapHeader | None, Opt(this.user_header.flags & 0x10000000 != 0, Node(SoapHeader)), "If HH."
    ] = None
    multi_queue_format_header: Annotated[
        MultiQueueFormatHeader | None,
        Opt(this.user_header.flags & 0x800000 != 0, Node(MultiQueueFormatHeader)),
        "If MQ.",
    ] = None

    @property
    def queue_and_label(self) -> tuple[str, str]:
        """The format name of the destination queue and the label, empty where they are not known."""
        user, properties = self.user_header, self.message_properties_header
        queue = label = None
        if isinstance(user, UserHeader) and isinstance(user.flags, int):
            queue = user.format_name("destination_queue")
        if isinstance(properties, MessagePropertiesHeader) and isinstance(properties.label, WcharText):
            label = properties.label.text
        return queue or "", label or ""

    def __repr__(self) -> str:
        queue, label = self.queue_and_label
        size = getattr(self.base_header, "packet_size", None)
        parts = (
            f"to {shortened(queue, 56)}" if queue else "",
            f"{size} bytes" if isinstance(size, int) else "",
        )
        return line(self, label_text(label), ", ".join(filter(None, parts)))


HEADERS = MessageHeaders.__struct_fields__


MESSAGE_MUSTS = (
    Must(
        "not-internal",
        this.base_header.flags & 0x08 == 0,
        at="base_header.flags",
        message="IN must not be set in a UserMessage packet",
        spec=SpecRef("MS-MQMQ", "2.2.20"),
    ),
    Must(
        "transaction-priority",
        (this.user_header.flags & 0x100000 == 0) | (this.base_header.flags & 7 == 0),
        at="base_header.flags",
        message="PR must be 0 in a transactional message",
        spec=SpecRef("MS-MQMQ", "2.2.19.1"),
    ),
    Must(
        "admin-queue-missing",
        (this.user_header.flags & 0xE000 != 0) | (this.message_properties_header.flags & 0x0F == 0),
        at="user_header.flags",
        message="acknowledgments are asked for, so there must be an AdminQueue",
        spec=_USER,
    ),
    Must(
        "admin-queue-unasked",
        (this.user_header.flags & 0xE000 == 0) | (this.message_properties_header.flags & 0x0F != 0),
        at="user_header.admin_queue",
        message="no acknowledgment is asked for, so there must be no AdminQueue",
        spec=_USER,
    ),
)


class UserMessage(MessageHeaders, frozen=True, kw_only=True, gc=False):
    """A message on its way: application data, administration acknowledgment or report."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.20")
    _end: ClassVar[Annotated[int, Tell()]]
    undeclared: Annotated[
        bytes, Rest(this.base_header.packet_size - this._end), "Bytes up to PacketSize that no header claims."
    ] = b""
    _unlimited: ClassVar[Annotated[int, Limit(None)]]
    session_header: Annotated[
        SessionHeader | None,
        Opt(this.base_header.flags & 0x10 != 0, Node(SessionHeader)),
        "If BaseHeader SH; behind PacketSize, which does not count it.",
    ] = None

    TOTALS: ClassVar = (Total(PACKET_SIZE, of=(*HEADERS, "undeclared")),)
    MUSTS: ClassVar[Musts] = (
        *MESSAGE_MUSTS,
        Must(
            "over-http",
            this.user_header.flags & 0x2000000 == 0,
            at="user_header.flags",
            message="AH must not be set in a packet that is sent",
            spec=_USER,
        ),
        Must(
            "queue-manager-address",
            (this.user_header.flags >> 10 & 7 != 7) | (this.user_header.queue_manager_address == NULL_GUID),
            at="user_header.queue_manager_address",
            message="with a direct destination QueueManagerAddress must be NULL",
            spec=_USER,
        ),
        UNDECLARED,
    )
