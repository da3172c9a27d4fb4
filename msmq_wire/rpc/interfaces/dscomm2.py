"""dscomm2, [MS-MQDS] 3.3.4: what Active Directory brought to the directory of MSMQ."""

from typing import Annotated

from msmq_wire.rpc.interfaces.directory_parameters import (
    EMPTY,
    ObjectKind,
    OptionalIdentifier,
    OptionalPathName,
    PathName,
    Properties,
    PropertyCount,
    PropertyValues,
    ServerAuth,
    Signature,
    SignatureSize,
    ValuesResponse,
)
from msmq_wire.rpc.interfaces.method import HResult, interface, method
from msmq_wire.rpc.interfaces.role import GIVES, HANDLE, Role
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters, StatusResponse
from msmq_wire.rpc.ndr import DWORD, UUID, ConformantVarying, Full, NdrStruct, String, Unique
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_MS_MQDS = SpecRef("MS-MQDS", "3.3.4")
_SITES = Unique(ConformantVarying(UUID, size=this.pdw_number_of_sites, length=this.pdw_number_of_sites))


class DSGetComputerSitesRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A computer whose sites are asked for."""

    pwcs_path_name: OptionalPathName = None
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSGetComputerSitesResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The sites of the computer, signed."""

    pdw_number_of_sites: Annotated[int, DWORD, "How many sites there are."] = 0
    ppguid_sites: Annotated[tuple[GUID, ...] | None, _SITES, HOST, "Their identifiers."] = None
    pb_server_signature: Signature = b""
    pdw_server_signature_size: SignatureSize = 0
    status: HResult = 0


class DSGetPropsExRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue or a computer, and what is asked of its security."""

    dw_object_type: ObjectKind = 1
    pwcs_path_name: PathName = EMPTY
    cp: PropertyCount = 0
    a_prop: Properties = ()
    ap_var: PropertyValues = ()
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSGetPropsGuidExRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue or a computer, by its identifier, and what is asked of its security."""

    dw_object_type: ObjectKind = 1
    p_guid: OptionalIdentifier = None
    cp: PropertyCount = 0
    a_prop: Properties = ()
    ap_var: PropertyValues = ()
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSBeginDeleteNotificationRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue or a computer that is about to be deleted."""

    pwcs_path_name: PathName = EMPTY
    ph_server_auth: ServerAuth = ContextHandle()


class DSBeginDeleteNotificationResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What the deletion will be told with."""

    p_handle: Annotated[ContextHandle, CONTEXT_HANDLE, GIVES, "The notification."] = ContextHandle()
    status: HResult = 0


class DSNotifyDeleteRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The notification to send: it is deleted."""

    handle: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The notification."] = ContextHandle()


class DSEndDeleteNotification(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A notification that is over; NULL in the answer, which has nothing else."""

    p_handle: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The notification."] = ContextHandle()


class DSIsServerGCResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Whether the server is a Global Catalog Server."""

    return_value: Annotated[int, DWORD, "1 if it is one, 0 if not."] = 0


class DSGetGCListInDomainRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A domain whose Global Catalog Servers are asked for."""

    lpwsz_computer_name: Annotated[WcharText | None, Full(String()), HOST, "NULL."] = None
    lpwsz_domain_name: Annotated[WcharText | None, Full(String()), HOST, "The domain."] = None
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSGetGCListInDomainResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The Global Catalog Servers of the domain, signed."""

    lplpwsz_gc_list: Annotated[
        WcharText | None,
        Unique(String()),
        HOST,
        "The servers: for each whether IP and IPX reach it, and its name. [MS-MQDS] 2.2.16.",
    ] = None
    pb_server_signature: Signature = b""
    pdw_server_signature_size: SignatureSize = 0
    status: HResult = 0


INTERFACE = interface(
    "dscomm2",
    "708cca10-9569-11d1-b2a5-0060977d8118",
    _MS_MQDS,
    {
        0: method(
            "S_DSGetComputerSites",
            "3.3.4.1",
            DSGetComputerSitesRequest,
            DSGetComputerSitesResponse,
            does="asks for the sites of {object}",
        ),
        1: method(
            "S_DSGetPropsEx",
            "3.3.4.2",
            DSGetPropsExRequest,
            ValuesResponse,
            Role.ASK_DIRECTORY,
            does="reads {properties} of {object}",
        ),
        2: method(
            "S_DSGetPropsGuidEx",
            "3.3.4.3",
            DSGetPropsGuidExRequest,
            ValuesResponse,
            Role.ASK_DIRECTORY,
            does="reads {properties} of {object}",
        ),
        3: method(
            "S_DSBeginDeleteNotification",
            "3.3.4.4",
            DSBeginDeleteNotificationRequest,
            DSBeginDeleteNotificationResponse,
            does="is about to delete {object}",
        ),
        4: method(
            "S_DSNotifyDelete",
            "3.3.4.5",
            DSNotifyDeleteRequest,
            StatusResponse,
            does="has the server tell of the deletion",
        ),
        5: method(
            "S_DSEndDeleteNotification",
            "3.3.4.6",
            DSEndDeleteNotification,
            DSEndDeleteNotification,
            does="ends telling of the deletion",
        ),
        6: method(
            "S_DSIsServerGC",
            "3.3.4.7",
            NoParameters,
            DSIsServerGCResponse,
            does="asks whether the server is a Global Catalog Server",
        ),
        8: method(
            "S_DSGetGCListInDomain",
            "3.3.4.8",
            DSGetGCListInDomainRequest,
            DSGetGCListInDomainResponse,
            does="asks for the Global Catalog Servers of a domain",
        ),
    },
)
