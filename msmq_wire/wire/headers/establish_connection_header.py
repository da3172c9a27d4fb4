"""EstablishConnectionHeader, [MS-MQQB] 2.2.3.1."""

from typing import Annotated, ClassVar

from construct import Int16ul, Int32ul

from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.fields import Bytes, Unit, WireStruct
from msmq_wire.wire.musts import BitTable, Must, Musts, unused
from msmq_wire.wire.private import HOST, Private
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid


class EstablishConnectionHeader(WireStruct, frozen=True, kw_only=True, gc=False):
    """Who opens a session with whom. A request and its response cannot be told apart by their bytes."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQB", "2.2.3.1")
    client_guid: Annotated[GUID, Guid, HOST, "Queue manager that opens the session."] = NULL_GUID
    server_guid: Annotated[GUID, Guid, HOST, "Queue manager that answers; NULL with a direct name."] = (
        NULL_GUID
    )
    time_stamp: Annotated[int, Int32ul, Unit("milliseconds"), "Since the initiator started; echoed."] = 0
    operating_system: Annotated[int, Int16ul, "Ping sent, server-class system, quality of service."] = 0x310
    reserved: Annotated[int, Int16ul, "Must be 0."] = 0
    padding: Annotated[
        bytes, Bytes(512), Private("secret", "filler"), "0x5A in a response, any bytes in a request."
    ] = b"\x5a" * 512

    BITS: ClassVar[BitTable | None] = BitTable(
        "operating_system",
        re=(0, 8, "reserved, 0x10"),
        se=(8, "no ping was sent before"),
        os=(9, "server-class system"),
        qs=(10, "quality of service"),
        **unused(11, 15),
    )
    MUSTS: ClassVar[Musts] = (
        Must(
            "operating-system",
            this.operating_system & 0xFF == 0x10,
            at="operating_system",
            message="RE must be 0x10",
        ),
        Must("reserved", this.reserved == 0, at="reserved", message="Reserved must be 0"),
    )
