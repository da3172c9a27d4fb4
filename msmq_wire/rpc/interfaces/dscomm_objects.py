"""Parameter lists of the methods of dscomm about objects of the directory, [MS-MQDS] 3.1.4."""

from typing import Annotated

from msmq_wire.rpc.interfaces.directory_parameters import (
    EMPTY,
    DescriptorSize,
    Identifier,
    NewIdentifier,
    ObjectKind,
    OptionalIdentifier,
    OptionalPathName,
    PathName,
    Properties,
    PropertyCount,
    PropertyValues,
    RequestedParts,
    ServerAuth,
    SignatureSize,
    WantedDescriptorSize,
)
from msmq_wire.rpc.interfaces.method import HResult
from msmq_wire.rpc.ndr import BYTE, DWORD, Conformant, NdrStruct, Unique
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.expressions import this
from msmq_wire.wire.types.guid import NULL_GUID

_DESCRIPTOR = Unique(Conformant(BYTE), size=this.n_length)


class DSCreateObjectRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object to make, with its properties."""

    dw_object_type: ObjectKind = 1
    pwcs_path_name: OptionalPathName = None
    dw_sd_length: DescriptorSize = 0
    security_descriptor: Annotated[
        bytes | None, Unique(Conformant(BYTE, size=this.dw_sd_length)), "Who may do what."
    ] = None
    cp: PropertyCount = 0
    a_prop: Properties = ()
    ap_var: PropertyValues = ()
    p_obj_guid: NewIdentifier = None


class DSCreateObjectResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The identifier that the object got."""

    p_obj_guid: NewIdentifier = None
    status: HResult = 0


class DSDeleteObjectRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object to delete."""

    dw_object_type: ObjectKind = 1
    pwcs_path_name: PathName = EMPTY


class DSDeleteObjectGuidRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object to delete, by its identifier."""

    dw_object_type: ObjectKind = 1
    p_guid: Identifier = NULL_GUID


class DSGetPropsRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object and the properties that are asked for."""

    dw_object_type: ObjectKind = 1
    pwcs_path_name: PathName = EMPTY
    cp: PropertyCount = 0
    a_prop: Properties = ()
    ap_var: PropertyValues = ()
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSGetPropsGuidRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object, by its identifier, and the properties that are asked for."""

    dw_object_type: ObjectKind = 1
    p_guid: OptionalIdentifier = None
    cp: PropertyCount = 0
    a_prop: Properties = ()
    ap_var: PropertyValues = ()
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSSetPropsRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object and what its properties become."""

    dw_object_type: ObjectKind = 1
    pwcs_path_name: PathName = EMPTY
    cp: PropertyCount = 0
    a_prop: Properties = ()
    ap_var: PropertyValues = ()


class DSSetPropsGuidRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object, by its identifier, and what its properties become."""

    dw_object_type: ObjectKind = 1
    p_guid: Identifier = NULL_GUID
    cp: PropertyCount = 0
    a_prop: Properties = ()
    ap_var: PropertyValues = ()


class DSGetObjectSecurityRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object whose security descriptor is asked for."""

    dw_object_type: ObjectKind = 1
    pwcs_path_name: PathName = EMPTY
    security_information: RequestedParts = 0
    n_length: WantedDescriptorSize = 0
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSGetObjectSecurityGuidRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object, by its identifier, whose security descriptor is asked for."""

    dw_object_type: ObjectKind = 1
    p_guid: Identifier = NULL_GUID
    security_information: RequestedParts = 0
    n_length: WantedDescriptorSize = 0
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSSetObjectSecurityRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Who may do what with an object from now on."""

    dw_object_type: ObjectKind = 1
    pwcs_path_name: PathName = EMPTY
    security_information: RequestedParts = 0
    p_security_descriptor: Annotated[bytes | None, _DESCRIPTOR, "Who may do what."] = None
    n_length: DescriptorSize = 0


class DSSetObjectSecurityGuidRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Who may do what with an object, by its identifier, from now on."""

    dw_object_type: ObjectKind = 1
    p_guid: Identifier = NULL_GUID
    security_information: RequestedParts = 0
    p_security_descriptor: Annotated[bytes | None, _DESCRIPTOR, "Who may do what."] = None
    n_length: DescriptorSize = 0


class DSQMGetObjectSecurityRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An object of a queue manager, which asks for its security descriptor and is challenged for it."""

    dw_object_type: ObjectKind = 1
    p_guid: Identifier = NULL_GUID
    security_information: RequestedParts = 0
    n_length: WantedDescriptorSize = 0
    dw_context: Annotated[int, DWORD, "The client's number, which the challenge repeats."] = 0
    ph_server_auth: ServerAuth = ContextHandle()
    pdw_server_signature_size: SignatureSize = 0


class DSQMSetMachinePropertiesRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What the properties of a queue manager become, which sets them itself and is challenged for it."""

    pwcs_path_name: PathName = EMPTY
    cp: PropertyCount = 0
    a_prop: Properties = ()
    ap_var: PropertyValues = ()
    dw_context: Annotated[int, DWORD, "The client's number, which the challenge repeats."] = 0
