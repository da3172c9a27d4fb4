"""The message packet of remote read, [MS-MQRR] 2.2.5."""

from typing import Annotated, ClassVar

from construct import Int8ul, Int32ul

from msmq_wire.errors import EncodeError
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import UNDETERMINED, this, within
from msmq_wire.wire.fields import Ahead, Limit, Node, Opt, Rest, Tell
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

__all__ = ["TRAILERS", "MessagePacket"]

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
        headers = sum(size_of(getattr(packet, name), remote_read=1) for name in HEADERS)
    except EncodeError:
        # Bytes that a section split left out: where the headers end cannot be told from what is there.
        return True
    return headers < packet.base_header.packet_size


class MessagePacket(MessageHeaders, frozen=True, kw_only=True, gc=False):
    """A stored message as a remote reader receives it: its headers, then those that a server adds.

    TimeToReachQueue is an absolute time here. PacketSize counts the trailing headers in public packets; the
    text can be read either way, so they are found inside it or behind it; behind it only where no
    SessionHeader is announced, whose place behind PacketSize they would share.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.5")
    remote_read: ClassVar[int] = 1
    user_header: Annotated[UserHeader, Node(UserHeader, remote_read=1), "Queues and times."] = UserHeader()
    _end: ClassVar[Annotated[int, Tell()]]
    # Where PacketSize ends with the headers, trailing headers may still follow.
    _limit_of_trailers: ClassVar[
        Annotated[int, Limit(this.base_header.packet_size, unless=this.base_header.packet_size == this._end)]
    ]
    _extension_size: ClassVar[Annotated[int, Ahead(Int32ul, 0)]]
    _extension_rest: ClassVar[Annotated[int, Ahead(Int32ul, 4)]]
    _extension_last: ClassVar[Annotated[int, Ahead(Int8ul, 11)]]
    extension_header: Annotated[
        ExtensionHeader | None,
        Opt(
            within(this._extension_size, 12, 0xFF)
            & (this._extension_rest <= 0xFFFF)
            & (
                ((this.base_header.packet_size > this._end) & (this._extension_last >= 0))
                | ((this.base_header.packet_size == this._end) & (this.base_header.flags & 0x10 == 0))
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
    undeclared: Annotated[
        bytes,
        Rest(
            (this.base_header.packet_size - this._trailers_end)
            * (this.base_header.packet_size > this._trailers_end)
        ),
        "Bytes up to PacketSize that no header claims.",
    ] = b""
    _unlimited: ClassVar[Annotated[int, Limit(None)]]
    session_header: Annotated[
        SessionHeader | None,
        Opt(this.base_header.flags & 0x10 != 0, Node(SessionHeader)),
        "If BaseHeader SH; not expected in a stored message.",
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
            message="the trailing headers were found behind PacketSize, which counts them in public packets",
            spec=SPEC,
        ),
        UNDECLARED,
    )
