"""Ping, [MS-MQQB] 2.2.7."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import BitTable, Must, Musts
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid

PING_SIGNATURE = 0x5548
"""The bytes ``48 55``, "HU", as a little-endian number."""


class Ping(WireStruct, frozen=True, kw_only=True, gc=False):
    """Asks whether a queue manager is there, and its answer; UDP 3527, no BaseHeader."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.7")
    flags: Annotated[int, Int16ul, "Client-class initiator, refusal; the other bits are arbitrary."] = 0
    signature: Annotated[int, Int16ul, 'Signature, the bytes "HU".'] = PING_SIGNATURE
    cookie: Annotated[int, Int32ul, "Ties an answer to its question."] = 0
    qm_guid: Annotated[GUID, Guid, HOST, "Queue manager that sent this packet."] = NULL_GUID

    BITS: ClassVar[BitTable | None] = BitTable(
        "flags",
        rc=(0, "initiator is a client-class system"),
        rf=(1, "connection would be refused"),
        x=(2, 14),
    )
    MUSTS: ClassVar[Musts] = (
        Must(
            "signature", this.signature == PING_SIGNATURE, at="signature", message="Signature must be 0x5548"
        ),
    )
