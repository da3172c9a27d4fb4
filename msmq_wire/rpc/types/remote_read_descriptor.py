"""REMOTEREADDESC and REMOTEREADDESC2, [MS-MQQP] 2.2.2."""

from typing import Annotated, Any, ClassVar

from msmq_wire.rpc.constants import ReceiveAction, RemoteReadAck
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    ENUM,
    HYPER,
    ConformantVarying,
    Fields,
    NdrStruct,
    Ranged,
    Unique,
)
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this


class RemoteReadDesc(NdrStruct, frozen=True, kw_only=True, gc=False):
    """REMOTEREADDESC: what a client wants to read, and with the answer what it got."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQP", "2.2.2.1")
    h_remote_queue: Annotated[int, DWORD, "The open queue, as R_QMOpenRemoteQueue gave it."] = 0
    h_cursor: Annotated[int, DWORD, "A cursor of it, or 0."] = 0
    ul_action: Annotated[int, DWORD, ReceiveAction, "Receive or peek, and where."] = 0
    ul_timeout: Annotated[int, DWORD, "How long to wait for a message, in milliseconds."] = 0
    dw_size: Annotated[int, Ranged(DWORD, 0, 0x00420000), "Bytes of the message packet."] = 0
    dw_queue: Annotated[int, DWORD, "The same as h_remote_queue."] = 0
    dw_request_id: Annotated[int, DWORD, "Chosen by the client; names the receive when it is cancelled."] = 0
    reserved: Annotated[int, DWORD, "0 from the client, 1 from the server."] = 0
    dw_arrive_time: Annotated[int, DWORD, "When the message arrived, in seconds since 1970."] = 0
    e_ack_nack: Annotated[int, ENUM, RemoteReadAck, "Not used."] = 0
    lp_buffer: Annotated[
        bytes | None,
        Unique(ConformantVarying(BYTE, size=this.dw_size, length=this.dw_size)),
        "The UserMessage packet, whole.",
    ] = None


REMOTE_READ_DESC = Fields(RemoteReadDesc)


class RemoteReadDesc2(NdrStruct, frozen=True, kw_only=True, gc=False):
    """REMOTEREADDESC2: a REMOTEREADDESC and the lookup identifier of the message."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQQP", "2.2.2.2")
    p_remote_read_desc: Annotated[RemoteReadDesc | None, Unique(REMOTE_READ_DESC), "The descriptor."] = None
    sequential_id: Annotated[int, HYPER, "The lookup identifier of the message, from the server."] = 0


REMOTE_READ_DESC2 = Fields(RemoteReadDesc2)


def read_descriptor(value: Any) -> RemoteReadDesc | None:
    """The REMOTEREADDESC of a request or response of qm2qm, None without one."""
    found = getattr(value, "lp_remote_read_desc", None)
    if found is None:
        second = getattr(value, "lp_remote_read_desc2", None)
        found = second.p_remote_read_desc if isinstance(second, RemoteReadDesc2) else None
    return found if isinstance(found, RemoteReadDesc) else None
