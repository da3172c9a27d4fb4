"""Parameter lists of the methods of qmcomm about queue objects and transactions, [MS-MQMP] 3.1.4."""

from typing import Annotated

from msmq_wire.rpc.constants import ObjectType, SecurityInformation
from msmq_wire.rpc.interfaces.method import HResult
from msmq_wire.rpc.interfaces.role import GIVES, HANDLE, QUEUE, TRANSACTION
from msmq_wire.rpc.ndr import BYTE, DWORD, XACTUOW, Conformant, NdrStruct, Ranged, String, Unique
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.rpc.types.propvariant import PROPVARIANT, PropVariant
from msmq_wire.rpc.types.queue_format import OBJECT_FORMAT, ObjectFormat
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import IDENTIFIER, QUEUE_NAME
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

_EMPTY = WcharText(b"\0\0")
_DESCRIPTOR = Unique(Conformant(BYTE, size=this.sd_size))
_PROPERTIES = Conformant(DWORD, size=this.cp)
_VALUES = Conformant(PROPVARIANT, size=this.cp)


class CreateObjectInternalRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue to make, with its properties."""

    dw_object_type: Annotated[int, DWORD, ObjectType, "1 for a queue."] = 1
    lpwcs_path_name: Annotated[WcharText, String(), QUEUE_NAME, QUEUE, "Its path name."] = _EMPTY
    sd_size: Annotated[int, Ranged(DWORD, 0, 524288), "Bytes of the security descriptor."] = 0
    p_security_descriptor: Annotated[bytes | None, _DESCRIPTOR, "Who may do what."] = None
    cp: Annotated[int, Ranged(DWORD, 1, 128), "How many properties there are."] = 0
    a_prop: Annotated[tuple[int, ...], _PROPERTIES, "The properties."] = ()
    ap_var: Annotated[tuple[PropVariant, ...], _VALUES, "Their values."] = ()


class SetObjectSecurityRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Who may do what with a queue from now on."""

    p_object_format: Annotated[ObjectFormat, OBJECT_FORMAT, QUEUE, "The queue."] = ObjectFormat()
    security_information: Annotated[int, DWORD, SecurityInformation, "Which parts are meant."] = 0
    sd_size: Annotated[int, Ranged(DWORD, 0, 524288), "Bytes of the security descriptor."] = 0
    p_security_descriptor: Annotated[bytes | None, _DESCRIPTOR, "Who may do what."] = None


class GetObjectSecurityRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue whose security descriptor is asked for."""

    p_object_format: Annotated[ObjectFormat, OBJECT_FORMAT, QUEUE, "The queue."] = ObjectFormat()
    requested_information: Annotated[int, DWORD, SecurityInformation, "Which parts are wanted."] = 0
    n_length: Annotated[int, Ranged(DWORD, 0, 524288), "Bytes of room."] = 0


class GetObjectSecurityResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The security descriptor."""

    p_security_descriptor: Annotated[bytes, Conformant(BYTE), "Who may do what."] = b""
    lpn_length_needed: Annotated[int, DWORD, "Its bytes."] = 0
    status: HResult = 0


class ObjectRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue to delete."""

    p_object_format: Annotated[ObjectFormat, OBJECT_FORMAT, QUEUE, "The queue."] = ObjectFormat()


class GetObjectPropertiesRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue and the properties that are asked for."""

    p_object_format: Annotated[ObjectFormat, OBJECT_FORMAT, QUEUE, "The queue."] = ObjectFormat()
    cp: Annotated[int, Ranged(DWORD, 1, 128), "How many properties there are."] = 0
    a_prop: Annotated[tuple[int, ...], _PROPERTIES, "The properties."] = ()
    ap_var: Annotated[tuple[PropVariant, ...], _VALUES, "Room for their values."] = ()


class GetObjectPropertiesResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The values of the properties."""

    ap_var: Annotated[tuple[PropVariant, ...], Conformant(PROPVARIANT), "The values."] = ()
    status: HResult = 0


class SetObjectPropertiesRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue and what its properties become."""

    p_object_format: Annotated[ObjectFormat, OBJECT_FORMAT, QUEUE, "The queue."] = ObjectFormat()
    cp: Annotated[int, Ranged(DWORD, 1, 128), "How many properties there are."] = 0
    a_prop: Annotated[tuple[int, ...] | None, Unique(_PROPERTIES), "The properties."] = None
    ap_var: Annotated[tuple[PropVariant, ...] | None, Unique(_VALUES), "Their values."] = None


class ObjectPathToObjectFormatRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A path name whose format name is asked for."""

    lpwcs_path_name: Annotated[WcharText, String(), QUEUE_NAME, QUEUE, "The path name."] = _EMPTY
    p_object_format: Annotated[ObjectFormat, OBJECT_FORMAT, "Room for the format name."] = ObjectFormat()


class ObjectPathToObjectFormatResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The format name."""

    p_object_format: Annotated[ObjectFormat, OBJECT_FORMAT, "The format name."] = ObjectFormat()
    status: HResult = 0


class GetTmWhereaboutsRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """How much is wanted of where the server's transaction manager is."""

    cb_buf_size: Annotated[int, Ranged(DWORD, 0, 131072), "Bytes of room."] = 0


class GetTmWhereaboutsResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Where the server's transaction manager is."""

    pb_whereabouts: Annotated[bytes, Conformant(BYTE), "The transaction manager's own."] = b""
    pcb_whereabouts: Annotated[int, DWORD, "Its bytes."] = 0
    status: HResult = 0


class EnlistTransactionRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A transaction that calls are part of."""

    p_uow: Annotated[GUID, XACTUOW, IDENTIFIER, TRANSACTION, "The transaction."] = NULL_GUID
    cb_cookie: Annotated[int, Ranged(DWORD, 0, 131072), "Bytes of the cookie."] = 0
    pb_cookie: Annotated[bytes, Conformant(BYTE, size=this.cb_cookie), "The transaction manager's own."] = b""


class EnlistInternalTransactionRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An internal transaction that calls are part of."""

    p_uow: Annotated[GUID, XACTUOW, IDENTIFIER, TRANSACTION, "The transaction."] = NULL_GUID


class TransactionRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An internal transaction to commit or to abort."""

    ph_int_xact: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The transaction."] = ContextHandle()


class TransactionResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The internal transaction; NULL once it has ended."""

    ph_int_xact: Annotated[ContextHandle, CONTEXT_HANDLE, GIVES, "The transaction."] = ContextHandle()
    status: HResult = 0
