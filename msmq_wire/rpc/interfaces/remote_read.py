"""RemoteRead, [MS-MQRR] 3.1.4: how a queue manager reads a queue of another one."""

from typing import Annotated, ClassVar

from msmq_wire.rpc.constants import AccessMode, ReceiveAction, RemoteReadAck, ShareMode
from msmq_wire.rpc.interfaces.method import HResult, interface, method
from msmq_wire.rpc.interfaces.role import (
    ACCESS,
    ACTION,
    CREATES,
    CURSOR,
    FOUND,
    GIVES,
    HANDLE,
    LOOKUP_ID,
    MESSAGE,
    QUEUE,
    REQUEST_ID,
    TARGET,
    TIMEOUT,
    TRANSACTION,
    Role,
    number,
)
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters, PortResponse, StatusResponse
from msmq_wire.rpc.ndr import (
    BYTE,
    DWORD,
    HYPER,
    LONG,
    UUID,
    WORD,
    XACTUOW,
    Conformant,
    NdrStruct,
    Ranged,
)
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.rpc.types.queue_format import QUEUE_FORMAT, QueueFormat
from msmq_wire.rpc.types.section_array import SectionArray
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import HOST, IDENTIFIER
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer

_MS_MQRR = SpecRef("MS-MQRR", "3.1.4")


class ContextRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An open queue."""

    SPEC: ClassVar[SpecRef] = _MS_MQRR
    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()


class OpenQueueRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue to open, for what, and who asks."""

    p_queue_format: Annotated[QueueFormat, QUEUE_FORMAT, QUEUE, "The queue."] = QueueFormat()
    dw_access: Annotated[int, DWORD, AccessMode, ACCESS, "Receive, peek or move."] = 0
    dw_share_mode: Annotated[int, DWORD, ShareMode, "Whether others may receive from it meanwhile."] = 0
    p_client_id: Annotated[GUID, UUID, HOST, "The client's queue manager."] = NULL_GUID
    f_non_routing_server: Annotated[int, LONG, "Whether the client is no routing server."] = 0
    major: Annotated[int, BYTE, "Version of the client's operating system."] = 0
    minor: Annotated[int, BYTE, "Its second part."] = 0
    build_number: Annotated[int, WORD, "Its build."] = 0
    f_workgroup: Annotated[int, LONG, "Whether the client is in a workgroup."] = 0


class OpenQueueResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The open queue; errors come as faults."""

    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, GIVES, "The open queue."] = ContextHandle()


class CloseQueueRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An open queue to close."""

    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()


class CloseQueueResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """NULL where the queue was closed."""

    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, "NULL on success."] = ContextHandle()
    status: HResult = 0


class CreateCursorResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The new cursor."""

    ph_cursor: Annotated[int, DWORD, CREATES, "The cursor."] = 0
    status: HResult = 0


class CloseCursorRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A cursor to close."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    h_cursor: Annotated[int, DWORD, CURSOR, "The cursor."] = 0


class StartReceiveRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Which message to receive or peek, how long to wait and how much of it to send."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    lookup_id: Annotated[int, HYPER, LOOKUP_ID, "Lookup identifier of a message, or 0."] = 0
    h_cursor: Annotated[int, DWORD, CURSOR, "A cursor, or 0."] = 0
    ul_action: Annotated[int, DWORD, ReceiveAction, ACTION, "Receive or peek, and where."] = 0
    ul_timeout: Annotated[int, DWORD, TIMEOUT, "How long to wait for a message, in milliseconds."] = 0
    dw_request_id: Annotated[int, DWORD, REQUEST_ID, "Chosen by the client; names the receive later."] = 0
    dw_max_body_size: Annotated[int, DWORD, "Bytes of the body that are wanted."] = 0
    dw_max_compound_message_size: Annotated[int, DWORD, "Bytes of a CompoundMessage that are wanted."] = 0


class StartReceiveResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The message in sections."""

    pdw_arrive_time: Annotated[int, DWORD, "When the message arrived, in seconds since 1970."] = 0
    p_sequence_id: Annotated[int, HYPER, FOUND, "The low 7 bytes of the lookup identifier."] = 0
    pdw_number_of_sections: Annotated[int, DWORD, "How many sections there are."] = 0
    pp_packet_sections: Annotated[
        tuple[SectionBuffer, ...] | None, SectionArray(this.pdw_number_of_sections), MESSAGE, "The sections."
    ] = None
    status: HResult = 0


class CancelReceiveRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A receive to give up."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    dw_request_id: Annotated[int, DWORD, REQUEST_ID, "As in R_StartReceive."] = 0


class EndReceiveRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Whether the client has the message."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    dw_ack: Annotated[int, Ranged(DWORD, 1, 2), RemoteReadAck, "1 puts it back, 2 removes it."] = 0
    dw_request_id: Annotated[int, DWORD, REQUEST_ID, "As in R_StartReceive."] = 0


class MoveMessageRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A message to move to another subqueue."""

    ph_context_from: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The queue it is in."] = ContextHandle()
    ull_context_to: Annotated[
        int, HYPER, TARGET, "The queue it goes to: pMoveContext of R_OpenQueueForMove."
    ] = 0
    lookup_id: Annotated[int, HYPER, LOOKUP_ID, "The message."] = 0
    p_transaction_id: Annotated[
        GUID, XACTUOW, IDENTIFIER, TRANSACTION, "The transaction; all zero is none."
    ] = NULL_GUID


class OpenQueueForMoveResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The open queue, and the number that R_MoveMessage takes for it; errors come as faults."""

    p_move_context: Annotated[
        int, HYPER, number("ull_context_to"), "Stands for the queue in R_MoveMessage."
    ] = 0
    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, GIVES, "The open queue."] = ContextHandle()


class QMEnlistRemoteTransactionRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A transaction that the receives from a queue are part of."""

    p_transaction_id: Annotated[GUID, XACTUOW, IDENTIFIER, TRANSACTION, "The transaction."] = NULL_GUID
    cb_propagation_token: Annotated[int, Ranged(DWORD, 0, 131072), "Bytes of the token."] = 0
    pb_propagation_token: Annotated[
        bytes, Conformant(BYTE, size=this.cb_propagation_token), "The transaction manager's token."
    ] = b""
    p_queue_format: Annotated[QueueFormat, QUEUE_FORMAT, QUEUE, "The queue."] = QueueFormat()


class StartTransactionalReceiveRequest(StartReceiveRequest, frozen=True, kw_only=True, gc=False):
    """As R_StartReceive, inside a transaction."""

    p_transaction_id: Annotated[
        GUID, XACTUOW, IDENTIFIER, TRANSACTION, "The transaction; all zero is none."
    ] = NULL_GUID


class SetUserAcknowledgementClassRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What acknowledgment a received message gets."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    lookup_id: Annotated[int, HYPER, LOOKUP_ID, "The message."] = 0
    us_class: Annotated[int, WORD, MessageClass, "The class of the acknowledgment, or 0."] = 0


INTERFACE = interface(
    "RemoteRead",
    "1a9134dd-7b39-45ba-ad88-44d01ca47f28",
    _MS_MQRR,
    {
        0: method("R_GetServerPort", "3.1.4.1", NoParameters, PortResponse, Role.ASK_PORT),
        2: method("R_OpenQueue", "3.1.4.2", OpenQueueRequest, OpenQueueResponse, Role.OPEN),
        3: method("R_CloseQueue", "3.1.4.3", CloseQueueRequest, CloseQueueResponse, Role.CLOSE),
        4: method("R_CreateCursor", "3.1.4.4", ContextRequest, CreateCursorResponse, Role.CREATE_CURSOR),
        5: method("R_CloseCursor", "3.1.4.5", CloseCursorRequest, StatusResponse, Role.CLOSE_CURSOR),
        6: method("R_PurgeQueue", "3.1.4.6", ContextRequest, StatusResponse, Role.PURGE),
        7: method("R_StartReceive", "3.1.4.7", StartReceiveRequest, StartReceiveResponse, Role.START),
        8: method("R_CancelReceive", "3.1.4.8", CancelReceiveRequest, StatusResponse, Role.CANCEL),
        9: method("R_EndReceive", "3.1.4.9", EndReceiveRequest, StatusResponse, Role.END),
        10: method("R_MoveMessage", "3.1.4.10", MoveMessageRequest, StatusResponse, Role.MOVE),
        11: method(
            "R_OpenQueueForMove", "3.1.4.11", OpenQueueRequest, OpenQueueForMoveResponse, Role.OPEN_FOR_MOVE
        ),
        12: method(
            "R_QMEnlistRemoteTransaction",
            "3.1.4.12",
            QMEnlistRemoteTransactionRequest,
            StatusResponse,
            Role.ENLIST,
        ),
        13: method(
            "R_StartTransactionalReceive",
            "3.1.4.13",
            StartTransactionalReceiveRequest,
            StartReceiveResponse,
            Role.START,
        ),
        14: method(
            "R_SetUserAcknowledgementClass",
            "3.1.4.14",
            SetUserAcknowledgementClassRequest,
            StatusResponse,
            Role.CLASSIFY,
        ),
        15: method(
            "R_EndTransactionalReceive",
            "3.1.4.15",
            EndReceiveRequest,
            StatusResponse,
            Role.END,
            in_transaction=True,
        ),
    },
    # RPC Call Timeout Timer, 3.1.2.1
    call_timeouts=dict.fromkeys(
        ("R_OpenQueue", "R_OpenQueueForMove", "R_QMEnlistRemoteTransaction"), 300_000
    ),
)
