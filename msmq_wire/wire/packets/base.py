"""What every packet with a BaseHeader has: its totals, and the MUSTs on its first header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import size_, this
from msmq_wire.wire.fields import Node, WireStruct
from msmq_wire.wire.headers.base_header import INFINITE, BaseHeader
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.musts import Must
from msmq_wire.wire.types.enumerations import InternalPacketType


class Total(msgspec.Struct, frozen=True):
    """A field that holds the size of other parts: ``at`` is the field, ``of`` the parts, in bytes.

    ``or_of`` are the parts of a second reading that is accepted too.
    """

    at: str
    of: tuple[str, ...]
    or_of: tuple[str, ...] = ()


class BinaryPacket(WireStruct, frozen=True, kw_only=True, gc=False):
    """A packet of the binary protocol."""

    TOTALS: ClassVar[tuple[Total, ...]] = ()
    INSIDE: ClassVar[Mapping[str, tuple[str, type[WireStruct]]]] = {}
    """Structures inside a field's bytes: name, path of the field, class."""
    remote_read: ClassVar[int] = 0


class InternalPacket(BinaryPacket, frozen=True, kw_only=True, gc=False):
    """What all internal packets begin with; holds one whose type is unknown, or cut off."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.1")
    base_header: Annotated[BaseHeader, Node(BaseHeader), "Common header."] = BaseHeader(flags=0x0B)
    internal_header: Annotated[InternalHeader, Node(InternalHeader), "Packet type."] = InternalHeader()


_BASE = SpecRef("MS-MQMQ", "2.2.19.1")

UNDECLARED = Must(
    "undeclared",
    size_(this.undeclared) == 0,
    at="undeclared",
    message="PacketSize must be the size of the packet: no header claims these bytes",
    spec=_BASE,
)

INTERNAL_MUSTS = (
    Must(
        "internal",
        this.base_header.flags & 0x08 != 0,
        at="base_header.flags",
        message="IN must be set in an internal packet",
        spec=_BASE,
    ),
    Must(
        "no-debug-header",
        this.base_header.flags & 0x20 == 0,
        at="base_header.flags",
        message="DH must not be set outside a UserMessage packet",
        spec=_BASE,
    ),
    Must(
        "time-to-reach-queue",
        this.base_header.time_to_reach_queue == INFINITE,
        at="base_header.time_to_reach_queue",
        message="TimeToReachQueue must be infinite outside a UserMessage packet",
        spec=_BASE,
    ),
    UNDECLARED,
)


def announced_session_header(present: bool, spec: SpecRef) -> Must:
    """The MUST that SH says whether an internal packet has a SessionHeader."""
    return Must(
        "session-header",
        (this.base_header.flags & 0x10 != 0) == present,
        at="base_header.flags",
        message="SH must be set" if present else "SH must not be set: the packet has no SessionHeader",
        spec=spec,
    )


def packet_type(value: InternalPacketType, spec: SpecRef) -> Must:
    """The MUST that PT names this packet."""
    return Must(
        "packet-type",
        this.internal_header.flags & 0xF == value,
        at="internal_header.flags",
        message=f"PT must be {int(value)}",
        spec=spec,
    )


PACKET_SIZE = "base_header.packet_size"


def size_of(part: WireStruct | None, around: Mapping[str, Any] | None = None, **context: int) -> int:
    """Bytes of a part on the wire, 0 when it is not present.

    ``around`` is what its expressions see of the packet, ``context`` as for `Node`.
    """
    return 0 if part is None else len(Node(type(part), **context).build(part, **(around or {})))
