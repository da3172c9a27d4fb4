"""MQFAddressHeader, [MS-MQMQ] 2.2.20.2."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import aligned, one_of, size_, this
from msmq_wire.wire.fields import OWN_SIZE, Fill, Items, Node, Rest, Tell, WireStruct
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.types.enumerations import MQFFormatType, MQFHeaderId
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement

_left = this._start + this.header_size - this._list_end


class MQFAddressHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """A list of queues; the next header starts on the 4-byte boundary after HeaderSize bytes.

    Elements have no length of their own, so an element of unknown type ends the list; ``undecoded`` keeps
    the rest. Whether HeaderSize counts the padding is not stated; both are read.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.20.2")
    _start: ClassVar[Annotated[int, Tell()]]
    header_size: Annotated[int, Int32ul, OWN_SIZE, "Bytes of this header with its list."] = 12
    header_id: Annotated[int, Int16ul, MQFHeaderId, "Which list this is."] = MQFHeaderId.DESTINATION
    reserved: Annotated[int, Int16ul, "Ignored."] = 0
    element_count: Annotated[int, Int32ul, "Elements of the list."] = 0
    format_name_list: Annotated[
        tuple[MQFFormatNameElement, ...],
        Items(
            this.element_count,
            Node(MQFFormatNameElement),
            known=tuple(member.value for member in MQFFormatType),
            rest="undecoded",
        ),
        "The queues.",
    ] = ()
    _list_end: ClassVar[Annotated[int, Tell()]]
    undecoded: Annotated[
        bytes,
        Rest(_left * ((_left > 3) | (size_(this.format_name_list) < this.element_count))),
        "What follows an element of unknown type, up to HeaderSize.",
    ] = b""
    _tail: ClassVar[Annotated[int, Tell()]]
    padding: Annotated[
        bytes,
        Fill(aligned(this._start + this.header_size) - this._tail, right=-this._tail & 3),
        "Up to the next 4-byte boundary.",
    ] = b""

    MUSTS: ClassVar[Musts] = (
        Must(
            "header-size",
            this.header_size >= 12,
            at="header_size",
            message="HeaderSize must be at least 12",
        ),
        Must(
            "header-id",
            one_of(this.header_id, *(member.value for member in MQFHeaderId)),
            at="header_id",
            message="HeaderID must be one of 0x0064, 0x00C8, 0x012C and 0x015E",
        ),
        Must(
            "header-size-exact",
            size_(this.padding) <= 3,
            at="header_size",
            message="HeaderSize must be the size of the header",
        ),
        Must(
            "element-count",
            this.element_count == size_(this.format_name_list),
            at="element_count",
            message="ElementCount must be the number of elements",
        ),
        Must(
            "undecoded",
            size_(this.undecoded) == 0,
            at="undecoded",
            message="FormatNameList must hold ElementCount elements of known types and nothing else",
        ),
    )
