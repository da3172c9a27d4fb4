"""CompoundMessageHeader, [MS-MQRR] 2.2.5.1.2.2."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Align, Bytes, WireStruct
from msmq_wire.wire.musts import Must, Musts


class CompoundMessageHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """The HTTP message that carried an SRMP message, and where the body lies in it."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQRR", "2.2.5.1.2.2")
    header_id: Annotated[int, Int16ul, "Number of the header; its value is not given, 500 is seen."] = 500
    reserved: Annotated[int, Int16ul, "Ignored."] = 0
    http_body_size: Annotated[int, Int32ul, "Bytes of data."] = 0
    msg_body_size: Annotated[int, Int32ul, "Bytes of the message body in it."] = 0
    msg_body_offset: Annotated[int, Int32ul, "Where the message body starts in it."] = 0
    data: Annotated[bytes, Bytes(this.http_body_size), "HTTP request and its parts."] = b""
    padding: Annotated[bytes, Align(4), "Up to the next 4-byte boundary, if it is there."] = b""

    MUSTS: ClassVar[Musts] = (
        Must(
            "message-body",
            this.msg_body_offset + this.msg_body_size <= this.http_body_size,
            at="msg_body_offset",
            message="the message body must lie inside Data",
        ),
        Must(
            "message-body-wrap",
            this.msg_body_offset + this.msg_body_size < 1 << 32,
            at="msg_body_offset",
            message="MsgBodyOffset and MsgBodySize must add up within 32 bits",
        ),
        Must(
            "http-body-size-wrap",
            this.http_body_size + 16 < 1 << 32,
            at="http_body_size",
            message="HTTPBodySize must stay within 32 bits with its header",
        ),
    )

    @property
    def message_body(self) -> bytes:
        """The message body inside ``data``, as far as it is there."""
        return self.data[self.msg_body_offset : self.msg_body_offset + self.msg_body_size]
