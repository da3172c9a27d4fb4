"""The message packet of remote read, [MS-MQRR] 2.2.5."""

from typing import Annotated, ClassVar

from construct import Int8ul, Int32ul

from msmq_wire.errors import EncodeError
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import UNDETERMINED, this, within
from msmq_wire.wire.fields import Ahead, Limit, Node, Opt, Rest, Tell, Value, known
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.dead_letter_header import DeadLetterHeader
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import CodedMust, Musts, View
from msmq_wire.wire.packets.base import PACKET_SIZE, UNDECLARED, Total, size_of
from msmq_wire.wire.packets.user_message import HEADERS, MESSAGE_MUSTS, MessageHeaders

TRAILERS = ("extension_header", "subqueue_header", "dead_letter_header", "extended_address_header")
_EXTENSION = SpecRef("MS-MQRR", "2.2.5.2")


def _remaining_headers_size(view: View) -> bool:
    stated = view["extension_header"]["remaining_headers_size"]
    present = [name for name in TRAILERS[1:] if getattr(view.value, name) is not None]
    sizes = [view[name]["header_size"] for name in present]
    if any(size is UNDETERMINED for size in (stated, *sizes)):
        return True
    return bool(stated == sum(sizes))


def _trailers_inside(view: View) -> bool:
    packet = view.value
    if not isinstance(packet.extension_header, ExtensionHeader) or not isinstance(
        packet.base_header, BaseHeader
    ):
        return True
    try:
        around = {"base_header": packet.base_header, "security_header": known(packet.security_header)}
        headers = sum(size_of(getattr(packet, name), around, remote_read=1) for name in HEADERS)
    except EncodeError:
        # Bytes that a section split left out: where the headers end cannot be told from what is there.
        return True
    return headers < packet.base_header.packet_size


class MessagePacket(MessageHeaders, frozen=True, kw_only=True, gc=False):
    """A stored message as a remote reader receives it: its headers, then those that a server adds.

    TimeToReachQueue is an absolute time here. PacketSize counts the trailing headers, as it counts the entire
    packet; those that it does not count are found behind it. A SessionHeader, which it never counts, stands
    before them, or behind all where an ExtensionHeader that fills the rest of PacketSize comes first.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.5")
    remote_read: ClassVar[int] = 1
    user_header: Annotated[UserHeader, Node(UserHeader, remote_read=1), "Queues and times."] = UserHeader()
    _end: ClassVar[Annotated[int, Tell()]]
    # Where PacketSize ends with the headers, trailing headers may still follow; SH stands for 16 bytes more.
    _limit_of_trailers: ClassVar[
        Annotated[
            int,
            Limit(
                this.base_header.packet_size + (this.base_header.flags & 0x10),
                unless=this.base_header.packet_size == this._end,
            ),
        ]
    ]
    _first_size: ClassVar[Annotated[int, Ahead(Int32ul, 0, field="extension_header")]]
    _first_rest: ClassVar[Annotated[int, Ahead(Int32ul, 4, field="extension_header")]]
    _late: ClassVar[
        Annotated[
            int,
            Value(
                (this.base_header.flags & 0x10 != 0)
                & (this._first_size == 12)
                & (this._first_rest + 12 == this.base_header.packet_size - this._end),
                without="session_header",
            ),
        ]
    ]
    session_header: Annotated[
        SessionHeader | None,
        Opt((this.base_header.flags & 0x10 != 0) & (this._late == 0), Node(SessionHeader)),
        "If BaseHeader SH; not expected in a stored message.",
    ] = None
    _extension_size: ClassVar[Annotated[int, Ahead(Int32ul, 0)]]
    _extension_rest: ClassVar[Annotated[int, Ahead(Int32ul, 4)]]
    _extension_last: ClassVar[Annotated[int, Ahead(Int8ul, 11)]]
    extension_header: Annotated[
        ExtensionHeader | None,
        Opt(
            within(this._extension_size, 12, 0xFF)
            & (this._extension_rest <= 0xFFFF)
            & (
                ((this.base_header.packet_size >= this._end + 12) & (this._extension_last >= 0))
                | (this.base_header.packet_size == this._end)
            ),
            Node(ExtensionHeader),
        ),
        "If bytes follow that have its shape; servers before Windows Server 2008 leave it out.",
    ] = None
    subqueue_header: Annotated[
        SubqueueHeader | None, Opt(this.extension_header.flags & 0x02 != 0, Node(SubqueueHeader)), "If SQ."
    ] = None
    dead_letter_header: Annotated[
        DeadLetterHeader | None,
        Opt(this.extension_header.flags & 0x01 != 0, Node(DeadLetterHeader)),
        "If DL.",
    ] = None
    extended_address_header: Annotated[
        ExtendedAddressHeader | None,
        Opt(this.extension_header.flags & 0x10 != 0, Node(ExtendedAddressHeader)),
        "If EA.",
    ] = None
    _trailers_end: ClassVar[Annotated[int, Tell()]]
    _packet_end: ClassVar[
        Annotated[
            int,
            Value(this.base_header.packet_size + (this.base_header.flags & 0x10) * (this._late == 0)),
        ]
    ]
    undeclared: Annotated[
        bytes,
        Rest((this._packet_end - this._trailers_end) * (this._packet_end > this._trailers_end)),
        "Bytes up to PacketSize that no header claims.",
    ] = b""
    _unlimited: ClassVar[Annotated[int, Limit(None)]]
    trailing_session_header: Annotated[
        SessionHeader | None,
        Opt((this.base_header.flags & 0x10 != 0) & (this._late == 1), Node(SessionHeader)),
        "If BaseHeader SH, where the trailing headers come first.",
    ] = None

    TOTALS: ClassVar = (
        Total("extension_header.remaining_headers_size", of=TRAILERS[1:]),
        Total(PACKET_SIZE, of=(*HEADERS, *TRAILERS, "undeclared"), or_of=HEADERS),
    )
    MUSTS: ClassVar[Musts] = (
        *MESSAGE_MUSTS,
        CodedMust(
            "remaining-headers-size",
            _remaining_headers_size,
            at="extension_header.remaining_headers_size",
            message="RemainingHeadersSize must be the size of the headers after it",
            spec=_EXTENSION,
        ),
        CodedMust(
            "trailers-outside",
            _trailers_inside,
            at="extension_header",
            message="the trailing headers were found behind PacketSize, which counts the entire packet",
            spec=SpecRef("MS-MQMQ", "2.2.19.1"),
        ),
        UNDECLARED,
    )
