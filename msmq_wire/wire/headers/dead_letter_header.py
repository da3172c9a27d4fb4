"""DeadLetterHeader, [MS-MQRR] 2.2.5.4."""

from typing import Annotated, ClassVar

from construct import Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import size_, this
from msmq_wire.wire.fields import OWN_SIZE, Fill, WireStruct, ZeroTerminated
from msmq_wire.wire.musts import CodedMust, Must, Musts
from msmq_wire.wire.private import QUEUE_NAME
from msmq_wire.wire.types.wchar_text import WcharText


def _is_zero_padded(padding: bytes) -> bool:
    return not any(padding)


class DeadLetterHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Dead-letter queue that the application chose."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.5.4")
    header_size: Annotated[int, Int32ul, OWN_SIZE, "Bytes of this header with its padding."] = 8
    dead_letter_path_name: Annotated[WcharText, ZeroTerminated(WcharText), QUEUE_NAME, "The queue."] = (
        WcharText(b"\0\0")
    )
    padding: Annotated[
        bytes,
        Fill(
            this.header_size - 4 - size_(this.dead_letter_path_name),
            right=-size_(this.dead_letter_path_name) & 3,
        ),
        "Zeros up to HeaderSize.",
    ] = b"\0\0"

    MUSTS: ClassVar[Musts] = (
        Must(
            "header-size",
            (size_(this.padding) <= 3) & (this.header_size & 3 == 0),
            at="header_size",
            message="HeaderSize must be the size of the header, a multiple of 4",
        ),
        CodedMust(
            "padding",
            _is_zero_padded,
            "padding",
            at="padding",
            message="padding must be zeros",
        ),
    )
