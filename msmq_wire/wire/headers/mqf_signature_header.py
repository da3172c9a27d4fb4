"""MQFSignatureHeader, [MS-MQMQ] 2.2.20.3."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Align, Bytes, WireStruct
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.types.enumerations import MQFHeaderId


class MQFSignatureHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Signature of a packet for many queues. Unlike the address headers it begins with its identifier."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.20.3")
    id: Annotated[int, Int16ul, MQFHeaderId, "0x015E."] = MQFHeaderId.SIGNATURE
    reserved: Annotated[int, Int16ul, "Ignored."] = 0
    size: Annotated[int, Int32ul, "Bytes of the signature."] = 0
    signature: Annotated[bytes, Bytes(this.size), "The signature."] = b""
    padding: Annotated[bytes, Align(4), "Up to the next 4-byte boundary, if it is there."] = b""

    MUSTS: ClassVar[Musts] = (
        Must("id", this.id == MQFHeaderId.SIGNATURE, at="id", message="ID must be 0x015E"),
        Must(
            "size-wrap",
            this.size + 8 < 1 << 32,
            at="size",
            message="Size must stay within 32 bits with its header",
        ),
    )
