"""SubqueueHeader, [MS-MQRR] 2.2.5.3."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import OWN_SIZE, Bytes, Rest, WireStruct
from msmq_wire.wire.musts import BitTable, CodedMust, Must, Musts
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.wchar_text import FixedWcharText


def _zero_filled(field: str) -> CodedMust:
    def zero_filled(name: FixedWcharText) -> bool:
        return not any(name[name.used + 2 :])

    return CodedMust(
        f"{field.replace('_', '-')}-filled",
        zero_filled,
        field,
        at=field,
        message="zeros must follow the name's NUL",
    )


class SubqueueHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Subqueue that a message is in, and how often it was moved."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.5.3")
    header_size: Annotated[int, Int32ul, OWN_SIZE, "Bytes of this header, 148."] = 148
    # Read from bit 0 of one 32-bit word; no bytes are known that prove it.
    flags: Annotated[int, Int32ul, "TM, acknowledgment class and reserved bits."] = 0
    abort_counter: Annotated[int, Int32ul, "Failed attempts to read or move the message in a row."] = 0
    move_counter: Annotated[int, Int32ul, "How often the message was moved."] = 0
    last_move_time: Annotated[
        int, Int32ul, "Time of the last move, 0 if never; the unit of the text does not fit 32 bits."
    ] = 0
    subqueue_name: Annotated[FixedWcharText, Bytes(64, FixedWcharText), HOST, "The subqueue, or empty."] = (
        FixedWcharText(64)
    )
    target_subqueue_name: Annotated[
        FixedWcharText, Bytes(64, FixedWcharText), HOST, "Where an open transaction moves it, or empty."
    ] = FixedWcharText(64)
    undeclared: Annotated[bytes, Rest(this.header_size - 148), "What HeaderSize counts beyond 148 bytes."] = (
        b""
    )

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        tm=(0, "move in a transaction"),
        acknowledgement_class=(1, 16, MessageClass, "acknowledgment class"),
        reserved=(17, 15),
    )
    MUSTS: ClassVar[Musts] = (
        Must("header-size", this.header_size == 148, at="header_size", message="HeaderSize must be 148"),
        Must("tm", this.flags & 1 == 0, at="flags", message="TM must be 0"),
        _zero_filled("subqueue_name"),
        _zero_filled("target_subqueue_name"),
    )
