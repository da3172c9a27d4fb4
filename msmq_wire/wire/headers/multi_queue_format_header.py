"""MultiQueueFormatHeader, [MS-MQMQ] 2.2.20.1."""

from typing import Annotated, ClassVar

from construct import Int16ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Ahead, Node, Opt, WireStruct
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader
from msmq_wire.wire.musts import Must, Musts
from msmq_wire.wire.types.enumerations import MQFHeaderId


class MultiQueueFormatHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """All destinations of a message with their administration and response queues.

    Whether an empty list is sent or left out is not stated: a part is present if its identifier stands
    where it belongs.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMQ", "2.2.20.1")
    destination: Annotated[MQFAddressHeader, Node(MQFAddressHeader), "Destination queues."] = (
        MQFAddressHeader()
    )
    _administration_id: ClassVar[Annotated[int, Ahead(Int16ul, 4)]]
    administration: Annotated[
        MQFAddressHeader | None,
        Opt(this._administration_id == MQFHeaderId.ADMIN, Node(MQFAddressHeader)),
        "Administration queues.",
    ] = None
    _response_id: ClassVar[Annotated[int, Ahead(Int16ul, 4)]]
    response: Annotated[
        MQFAddressHeader | None,
        Opt(this._response_id == MQFHeaderId.RESPONSE, Node(MQFAddressHeader)),
        "Response queues.",
    ] = None
    _signature_id: ClassVar[Annotated[int, Ahead(Int16ul, 0)]]
    signature: Annotated[
        MQFSignatureHeader | None,
        Opt(this._signature_id == MQFHeaderId.SIGNATURE, Node(MQFSignatureHeader)),
        "Signature.",
    ] = None

    MUSTS: ClassVar[Musts] = (
        Must(
            "destination-id",
            this.destination.header_id == MQFHeaderId.DESTINATION,
            at="destination.header_id",
            message="HeaderID of the destinations must be 0x0064",
        ),
    )
