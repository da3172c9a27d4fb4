"""Where interface pointers come from: activation, QueryInterface, and Open of a queue. [MS-DCOM] 3.1.

The rule kept here: what cannot be read gives nothing. Which interface an IPID is for is all that is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.com.conformant import ConformantFields
from msmq_wire.rpc.com.objref import decode_objref
from msmq_wire.rpc.com.orpc import (
    INTERFACE_POINTER,
    ORPC_THAT,
    ORPC_THIS,
    ComVersion,
    MInterfacePointer,
    OrpcThat,
    OrpcThis,
)
from msmq_wire.rpc.interfaces.method import HResult
from msmq_wire.rpc.ndr import (
    DWORD,
    HYPER,
    NDR,
    UUID,
    WCHAR,
    WORD,
    Conformant,
    Fields,
    NdrStruct,
    Parameters,
    Ranged,
    String,
    Syntax,
    Unique,
    decode_stub,
)
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import this
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

PointerGiven = tuple[GUID, GUID, GUID]
"""IPID, the IID of what it is for, and the IPID that was asked for it (NULL where none was)."""

_ACTIVATION_OUT = GUID.parse("00000339-0000-0000-c000-000000000046")
"""What marshals an answer's activation properties, and what names the interfaces among them."""
_SERIALIZATION = 16
"""Bytes of the common and private headers in front of a type, [MS-RPCE] 2.2.6."""


class StdObjRefNdr(NdrStruct, frozen=True, kw_only=True, gc=False):
    """STDOBJREF among parameters."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.18.3")
    flags: Annotated[int, DWORD, "Whether the object is pinged."] = 0
    c_public_refs: Annotated[int, DWORD, "References."] = 0
    oxid: Annotated[int, HYPER, "The exporter."] = 0
    oid: Annotated[int, HYPER, "The object."] = 0
    ipid: Annotated[GUID, UUID, "The interface of the object."] = NULL_GUID


class RemQiResult(NdrStruct, frozen=True, kw_only=True, gc=False):
    """REMQIRESULT: one interface that was asked for."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.24")
    h_result: Annotated[int, DWORD, "HRESULT."] = 0
    std: Annotated[StdObjRefNdr, Fields(StdObjRefNdr), "The pointer."] = StdObjRefNdr()


class QueryInterfaceRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """RemQueryInterface: which interfaces of the object behind ``ripid``."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "3.1.1.5.6.1.1")
    orpcthis: Annotated[OrpcThis, ORPC_THIS, ""] = OrpcThis()
    ripid: Annotated[GUID, UUID, "An interface of the object."] = NULL_GUID
    c_refs: Annotated[int, DWORD, "References wanted."] = 0
    c_iids: Annotated[int, WORD, "How many interfaces."] = 0
    iids: Annotated[tuple[GUID, ...], Conformant(UUID, size=this.c_iids), "The interfaces."] = ()


class QueryInterfaceResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """RemQueryInterface: a result for each."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "3.1.1.5.6.1.1")
    orpcthat: Annotated[OrpcThat, ORPC_THAT, ""] = OrpcThat()
    pp_qi_results: Annotated[
        tuple[RemQiResult, ...] | None, Unique(Conformant(Fields(RemQiResult))), "The results."
    ] = None
    status: HResult = 0


class QueryInterface2Request(NdrStruct, frozen=True, kw_only=True, gc=False):
    """RemQueryInterface2: which interfaces of the object behind ``ripid``."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "3.1.1.5.7.1.1")
    orpcthis: Annotated[OrpcThis, ORPC_THIS, ""] = OrpcThis()
    ripid: Annotated[GUID, UUID, "An interface of the object."] = NULL_GUID


class QueryInterface2Response(NdrStruct, frozen=True, kw_only=True, gc=False):
    """RemQueryInterface2: an OBJREF for each."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "3.1.1.5.7.1.1")
    orpcthat: Annotated[OrpcThat, ORPC_THAT, ""] = OrpcThat()
    phr: Annotated[tuple[int, ...], Conformant(DWORD), "The results."] = ()
    pp_mif: Annotated[
        tuple[MInterfacePointer | None, ...], Conformant(INTERFACE_POINTER), "The pointers."
    ] = ()
    status: HResult = 0


class DualStringArrayNdr(NdrStruct, frozen=True, kw_only=True, gc=False):
    """DUALSTRINGARRAY among parameters."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.19.2")
    w_num_entries: Annotated[int, WORD, "Units of the bindings."] = 0
    w_security_offset: Annotated[int, WORD, "Where those of security begin."] = 0
    a_string_array: Annotated[WcharText, Conformant(WCHAR, size=this.w_num_entries), "The bindings."] = (
        WcharText(b"")
    )


class RemoteActivationRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """IActivation::RemoteActivation: an object of a class, and which interfaces of it."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "3.1.2.5.2.3.1")
    orpcthis: Annotated[OrpcThis, ORPC_THIS, ""] = OrpcThis()
    clsid: Annotated[GUID, UUID, "The class."] = NULL_GUID
    pwsz_object_name: Annotated[WcharText | None, Unique(String()), "A file to begin with."] = None
    p_object_storage: Annotated[MInterfacePointer | None, INTERFACE_POINTER, "A storage to begin with."] = (
        None
    )
    client_imp_level: Annotated[int, DWORD, "Impersonation level."] = 2
    mode: Annotated[int, DWORD, "What the object is for."] = 0
    interfaces: Annotated[int, Ranged(DWORD, 1, 0x8000), "How many interfaces."] = 1
    p_iids: Annotated[tuple[GUID, ...] | None, Unique(Conformant(UUID, size=this.interfaces)), "They."] = None
    c_requested_protseqs: Annotated[int, Ranged(WORD, 0, 0x8000), "How many protocols."] = 0
    a_requested_protseqs: Annotated[
        tuple[int, ...], Conformant(WORD, size=this.c_requested_protseqs), "Protocols that the client speaks."
    ] = ()


class RemoteActivationResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """IActivation::RemoteActivation: the object and its interfaces."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "3.1.2.5.2.3.1")
    orpcthat: Annotated[OrpcThat, ORPC_THAT, ""] = OrpcThat()
    p_oxid: Annotated[int, HYPER, "The exporter."] = 0
    ppdsa_oxid_bindings: Annotated[
        DualStringArrayNdr | None, Unique(ConformantFields(DualStringArrayNdr)), "Where it is."
    ] = None
    pipid_rem_unknown: Annotated[GUID, UUID, "Its IRemUnknown."] = NULL_GUID
    p_authn_hint: Annotated[int, DWORD, "Authentication level."] = 0
    p_server_version: Annotated[ComVersion, Fields(ComVersion), ""] = ComVersion()
    phr: Annotated[int, DWORD, "HRESULT."] = 0
    pp_interface_data: Annotated[
        tuple[MInterfacePointer | None, ...], Conformant(INTERFACE_POINTER), "The interfaces."
    ] = ()
    p_results: Annotated[tuple[int, ...], Conformant(DWORD), "HRESULT of each."] = ()
    status: HResult = 0


class PointerResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A response that gives one interface pointer: RemoteCreateInstance, Open of a queue."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "3.1.2.5.2.3.3")
    orpcthat: Annotated[OrpcThat, ORPC_THAT, ""] = OrpcThat()
    pointer: Annotated[MInterfacePointer | None, INTERFACE_POINTER, ""] = None
    status: HResult = 0


class CustomHeader(NdrStruct, frozen=True, kw_only=True, gc=False):
    """CustomHeader: which properties follow, and how long each is."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.22.1")
    total_size: Annotated[int, DWORD, ""] = 0
    header_size: Annotated[int, DWORD, ""] = 0
    dw_reserved: Annotated[int, DWORD, ""] = 0
    dest_ctx: Annotated[int, DWORD, ""] = 0
    c_ifs: Annotated[int, DWORD, ""] = 0
    class_info_clsid: Annotated[GUID, UUID, ""] = NULL_GUID
    pclsid: Annotated[tuple[GUID, ...] | None, Unique(Conformant(UUID, size=this.c_ifs)), ""] = None
    p_sizes: Annotated[tuple[int, ...] | None, Unique(Conformant(DWORD, size=this.c_ifs)), ""] = None
    pdw_reserved: Annotated[int | None, Unique(DWORD), ""] = None


class PropsOutInfo(NdrStruct, frozen=True, kw_only=True, gc=False):
    """PropsOutInfo: the interfaces that an activation gives."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-DCOM", "2.2.22.2.9")
    c_ifs: Annotated[int, DWORD, ""] = 0
    piid: Annotated[tuple[GUID, ...] | None, Unique(Conformant(UUID, size=this.c_ifs)), ""] = None
    phresults: Annotated[tuple[int, ...] | None, Unique(Conformant(DWORD, size=this.c_ifs)), ""] = None
    pp_intf_data: Annotated[
        tuple[MInterfacePointer | None, ...] | None,
        Unique(Conformant(INTERFACE_POINTER, size=this.c_ifs)),
        "",
    ] = None


_QI_REQUEST, _QI_RESPONSE = Parameters(QueryInterfaceRequest), Parameters(QueryInterfaceResponse)
_QI2_REQUEST, _QI2_RESPONSE = Parameters(QueryInterface2Request), Parameters(QueryInterface2Response)
_REMOTE_ACTIVATION = Parameters(RemoteActivationResponse)
_POINTER = Parameters(PointerResponse)
_HEADER, _PROPERTIES = Fields(CustomHeader), Fields(PropsOutInfo)
_QUERY, _QUERY2, _ACTIVATE, _CREATE, _OPEN = "query", "query2", "activate", "create", "open"

GIVERS: Mapping[GUID, Mapping[int, str]] = {
    GUID.parse(uuid): opnums
    for uuid, opnums in {
        "00000131-0000-0000-c000-000000000046": {3: _QUERY},
        "00000143-0000-0000-c000-000000000046": {3: _QUERY, 6: _QUERY2},
        "000001a0-0000-0000-c000-000000000046": {3: _CREATE, 4: _CREATE},
        "4d9f4ab8-7d1c-11cf-861e-0020af6e7c57": {0: _ACTIVATE},
        "d7d6e07b-dccd-11d0-aa4b-0060970debae": {34: _OPEN},
        "fd174a80-89cf-11d2-b0f2-00e02c074f6b": {34: _OPEN},
        "eba96b1d-2168-11d3-898c-00e02c074f6b": {34: _OPEN},
        "eba96b21-2168-11d3-898c-00e02c074f6b": {34: _OPEN},
    }.items()
}
"""Methods that give interface pointers, by IID and opnum: IRemUnknown, IRemUnknown2, IRemoteSCMActivator,
IActivation, and Open of IMSMQQueueInfo and its successors ([MC-MQAC] 3.10.4.1.28)."""


def pointers_given(
    iid: GUID, opnum: int, request: bytes, response: bytes, syntax: Syntax = NDR
) -> list[PointerGiven]:
    """The interface pointers that a call of one of `GIVERS` gave; none where the stubs cannot be read."""
    kind = GIVERS.get(iid, {}).get(opnum)
    try:
        if kind == _QUERY:
            return list(_queried(request, response, syntax))
        if kind == _QUERY2:
            asked = decode_stub(_QI2_REQUEST, request, syntax).value.ripid
            given = decode_stub(_QI2_RESPONSE, response, syntax).value.pp_mif
            return list(_pointers(given, asked))
        if kind == _ACTIVATE:
            return list(_pointers(decode_stub(_REMOTE_ACTIVATION, response, syntax).value.pp_interface_data))
        if kind == _CREATE:
            return list(_created(decode_stub(_POINTER, response, syntax).value.pointer))
        if kind == _OPEN:
            return list(_pointers((decode_stub(_POINTER, response, syntax).value.pointer,)))
    except DecodeError:
        pass
    return []


def pointer_of(pointer: MInterfacePointer | None, asked: GUID = NULL_GUID) -> PointerGiven | None:
    """The IPID and IID in an interface pointer; None for NULL, and for one that names no object."""
    return next(_pointers((pointer,), asked), None)


def _pointers(
    pointers: tuple[MInterfacePointer | None, ...], asked: GUID = NULL_GUID
) -> Iterator[PointerGiven]:
    for pointer in pointers:
        if not isinstance(pointer, MInterfacePointer) or not isinstance(pointer.ab_data, bytes):
            continue
        try:
            found = decode_objref(pointer.ab_data)
        except DecodeError:
            continue
        if found.std is not None:
            yield found.std.ipid, found.iid, asked


def _queried(request: bytes, response: bytes, syntax: Syntax) -> Iterator[PointerGiven]:
    asked = decode_stub(_QI_REQUEST, request, syntax).value
    results = decode_stub(_QI_RESPONSE, response, syntax).value.pp_qi_results
    for iid, result in zip(asked.iids, results or (), strict=False):
        if not result.h_result:
            yield result.std.ipid, iid, asked.ripid


def _created(pointer: MInterfacePointer | None) -> Iterator[PointerGiven]:
    """The interfaces in the activation properties of an answer, [MS-DCOM] 2.2.22."""
    if pointer is None:
        return
    found = decode_objref(pointer.ab_data)
    if found.clsid != _ACTIVATION_OUT:
        return
    # dwSize and dwReserved come first.
    blob = found.object_data[8:]
    header = decode_stub(_HEADER, blob[_SERIALIZATION:]).value
    start = header.header_size
    for clsid, size in zip(header.pclsid or (), header.p_sizes or (), strict=False):
        if clsid == _ACTIVATION_OUT:
            properties = decode_stub(_PROPERTIES, blob[start + _SERIALIZATION : start + size]).value
            yield from _pointers(properties.pp_intf_data or ())
        start += size
