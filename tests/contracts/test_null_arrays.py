"""NULL pointers to arrays that have a size, [MS-RPCE] 3.1.1.5.3.3.1.2: all of the interface definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from msmq_wire.errors import EncodeError
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES
from msmq_wire.rpc.interfaces import INTERFACES, METHODS
from msmq_wire.rpc.interfaces.method import Side
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    NULL_POINTEE,
    Fields,
    NdrStruct,
    Parameters,
    String,
    StubValue,
    Syntax,
    Union,
    decode_stub,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.ndr.arrays import Array
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.stub_stream import Residue
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, TransferSend
from msmq_wire.rpc.types.section_array import SectionArray
from msmq_wire.wire.expressions import parts

POINTERS: dict[str, tuple[str, str] | None] = {
    "[MS-MQDS] 2.2.12 MQRESTRICTION.paPropRes": ("Restriction.pa_prop_res", "c_res"),
    "[MS-MQDS] 2.2.13 MQCOLUMNSET.aCol": ("ColumnSet.a_col", "c_col"),
    "[MS-MQDS] 2.2.15 MQSORTSET.aCol": ("SortSet.a_col", "c_col"),
    "[MS-MQDS] 3.1.4.4 SecurityDescriptor": ("S_DSCreateObject request.security_descriptor", "dw_sd_length"),
    "[MS-MQDS] 3.1.4.13 pSecurityDescriptor": (
        "S_DSSetObjectSecurity request.p_security_descriptor",
        "n_length",
    ),
    "[MS-MQDS] 3.1.4.14 pSecurityDescriptor": (
        "S_DSSetObjectSecurityGuid request.p_security_descriptor",
        "n_length",
    ),
    "[MS-MQDS] 3.3.4.1 ppguidSites": ("S_DSGetComputerSites response.ppguid_sites", "pdw_number_of_sites"),
    "[MS-MQMP] 2.2.3.2 ppBody": ("CACTransferBufferV1.pp_body", "ul_alloc_body_buffer_in_bytes"),
    "[MS-MQMP] 2.2.3.2 ppTitle": ("CACTransferBufferV1.pp_title", "ul_title_buffer_size_in_wchars"),
    "[MS-MQMP] 2.2.3.2 ppSenderID": ("CACTransferBufferV1.pp_sender_id", "u_sender_id_len"),
    "[MS-MQMP] 2.2.3.2 ppSenderCert": ("CACTransferBufferV1.pp_sender_cert", "ul_sender_cert_len"),
    "[MS-MQMP] 2.2.3.2 ppwcsProvName": ("CACTransferBufferV1.ppwcs_prov_name", "ul_prov_name_len"),
    "[MS-MQMP] 2.2.3.2 ppSymmKeys": ("CACTransferBufferV1.pp_symm_keys", "ul_symm_keys_size"),
    "[MS-MQMP] 2.2.3.2 ppSignature": ("CACTransferBufferV1.pp_signature", "ul_signature_size"),
    "[MS-MQMP] 2.2.3.2 ppMsgExtension": (
        "CACTransferBufferV1.pp_msg_extension",
        "ul_msg_extension_buffer_in_bytes",
    ),
    "[MS-MQMP] 2.2.3.2 ppResponseFormatName": (
        "TransferReceive.pp_response_format_name",
        "ul_response_format_name_len",
    ),
    "[MS-MQMP] 2.2.3.2 ppAdminFormatName": (
        "TransferReceive.pp_admin_format_name",
        "ul_admin_format_name_len",
    ),
    "[MS-MQMP] 2.2.3.2 ppDestFormatName": ("TransferReceive.pp_dest_format_name", "ul_dest_format_name_len"),
    "[MS-MQMP] 2.2.3.2 ppOrderingFormatName": (
        "TransferReceive.pp_ordering_format_name",
        "ul_ordering_format_name_len",
    ),
    "[MS-MQMP] 3.1.4.5 pSecurityDescriptor": (
        "R_QMCreateObjectInternal request.p_security_descriptor",
        "sd_size",
    ),
    "[MS-MQMP] 3.1.4.6 pSecurityDescriptor": (
        "R_QMSetObjectSecurityInternal request.p_security_descriptor",
        "sd_size",
    ),
    "[MS-MQMP] 3.1.4.10 aProp": ("R_QMSetObjectProperties request.a_prop", "cp"),
    "[MS-MQMP] 3.1.4.10 apVar": ("R_QMSetObjectProperties request.ap_var", "cp"),
    "[MS-MQMP] 3.1.4.21 lpwcsFormatName": (
        "rpc_ACHandleToFormatName request.lpwcs_format_name",
        "dw_format_name_rpc_buffer_len",
    ),
    "[MS-MQMQ] 2.2.15 BLOB.pBlobData": ("Blob.p_blob_data", "cb_size"),
    "[MS-MQMQ] 2.2.16.1 CAUB.pElems": ("caub.p_elems", "c_elems"),
    "[MS-MQMQ] 2.2.16.2 CAUI.pElems": ("caui.p_elems", "c_elems"),
    "[MS-MQMQ] 2.2.16.3 CAL.pElems": ("cal.p_elems", "c_elems"),
    "[MS-MQMQ] 2.2.16.4 CAUL.pElems": ("caul.p_elems", "c_elems"),
    "[MS-MQMQ] 2.2.16.5 CAUH.pElems": ("cauh.p_elems", "c_elems"),
    "[MS-MQMQ] 2.2.16.6 CACLSID.pElems": ("cauuid.p_elems", "c_elems"),
    "[MS-MQMQ] 2.2.16.7 CALPWSTR.pElems": ("calpwstr.p_elems", "c_elems"),
    "[MS-MQMQ] 2.2.16.8 CAPROPVARIANT.pElems": ("capropvar.p_elems", "c_elems"),
    "[MS-MQQP] 2.2.2.1 lpBuffer": ("RemoteReadDesc.lp_buffer", "dw_size"),
    "[MS-MQRR] 2.2.6 pSectionBuffer": ("SectionBuffer.data", "section_size"),
    "[MS-MQRR] 3.1.4.7 ppPacketSections": (
        "R_StartReceive response.pp_packet_sections",
        "pdw_number_of_sections",
    ),
    "[MS-MQRR] 3.1.4.13 ppPacketSections": (
        "R_StartTransactionalReceive response.pp_packet_sections",
        "pdw_number_of_sections",
    ),
    "[MS-DCOM] 2.2.13.2 extent": ("OrpcExtentArray.extent", "size"),
    # In a VARIANT these are bytes that are not opened, and IDispatch is not declared.
    "[MS-OAUT] 2.2.28.2.1 wireBRECORDStr.pRecord": None,
    "[MS-OAUT] 2.2.30.8.1 BYTE_SIZEDARR.pData": None,
    "[MS-OAUT] 2.2.30.8.2 WORD_SIZEDARR.pData": None,
    "[MS-OAUT] 2.2.30.8.3 DWORD_SIZEDARR.pData": None,
    "[MS-OAUT] 2.2.30.8.4 HYPER_SIZEDARR.pData": None,
    "[MS-OAUT] 2.2.33 DISPPARAMS.rgvarg": None,
    "[MS-OAUT] 2.2.33 DISPPARAMS.rgdispidNamedArgs": None,
}
"""The unique and full pointers at an array whose size_is is no constant, and what declares them here."""
OTHERS = {
    "CACTransferBufferV1.pp_correlation_id": "a constant, 20",
    "rpc_ACHandleToFormatName response.lpwcs_format_name": "a parameter of the request",
}
"""Pointers at an array whose size no other member of the same stub gives."""
SIDES: tuple[Side, Side] = ("request", "response")


class Declared(msgspec.Struct):
    """A pointer at an array: the structure or the parameters that have it, and its name there."""

    owner: Fields
    name: str
    pointer: Pointer
    outer: int

    @property
    def null(self) -> Any:
        return NULL_POINTEE if self.outer else self.pointer.null


class Holder(NdrStruct, frozen=True, kw_only=True, gc=False):
    value: Any = None


def declared() -> dict[str, Declared]:
    found: dict[str, Declared] = {}
    seen: set[int] = set()

    def look(type_: NdrType, at: str, owner: Fields, name: str, outer: int = 0) -> None:
        match type_:
            case SectionArray():
                look(type_.by_idl, at, owner, name)
            case Pointer(target=Array() as array):
                if not isinstance(array, String):
                    found[f"{at}.{name}"] = Declared(owner, name, type_, outer)
                look(array, at, owner, name)
            case Pointer():
                look(type_.target, at, owner, name, outer + 1)
            case Array():
                look(type_.element, at, owner, f"{name}[]")
            case Union():
                for arm in type_.arms.values():
                    if arm.type is not None:
                        look(arm.type, arm.name, owner, name)
            case Fields() if id(type_) not in seen:
                seen.add(id(type_))
                members(type_, at if type_.cls.__name__ == "CountedArray" else type_.cls.__name__)

    def members(owner: Fields, at: str) -> None:
        for name, one in zip(owner.names, owner.types, strict=True):
            look(one, at, owner, name)

    for interface in (*INTERFACES.values(), *COM_INTERFACES.values()):
        for method in interface.all_methods:
            for side in SIDES:
                members(method.parameters(side), f"{method.name} {side}")
    return found


DECLARED = declared()
SIZED = dict(one for one in POINTERS.values() if one is not None)


def _names(expression: Any) -> Iterator[str]:
    found = None if expression is None else parts(expression)
    if isinstance(found, tuple):
        yield from found
    for operand in getattr(found, "operands", ()):
        yield from _names(operand)


def test_the_pointers_of_the_definitions_are_those_that_are_declared() -> None:
    assert len(POINTERS) == 45
    assert {at: list(_names(one.pointer.size)) for at, one in DECLARED.items()} == {
        **{at: [size] for at, size in SIZED.items()},
        **{at: [] for at in OTHERS},
    }


def _stub(one: Declared, null: Any, size: int) -> tuple[Parameters, StubValue]:
    """A parameter list with a NULL pointer, and its value; ``size`` is what the member of the size says."""
    cls = one.owner.cls
    value: Any = CACTransferBufferV1(arm=TransferSend()) if cls is CACTransferBufferV1 else cls()
    (counting,) = _names(one.pointer.size)
    value = msgspec.structs.replace(value, **{one.name: null, counting: size})
    if isinstance(one.owner, Parameters):
        return one.owner, StubValue(value)
    return Parameters(Holder, {"value": one.owner}), StubValue(Holder(value=value))


def _found(parameters: Parameters, data: bytes, syntax: Syntax) -> list[str]:
    read = inspect_stub(parameters, data, syntax)
    assert (read.error, read.remainder) == (None, b"")
    return [one.path for one in read.anomalies if one.code == "ndr.null-array"]


@pytest.mark.parametrize("syntax", [NDR, NDR_BIG_ENDIAN, NDR64], ids=lambda one: one.name)
@pytest.mark.parametrize("at", SIZED)
def test_null_is_an_anomaly_where_the_array_has_a_size(at: str, syntax: Syntax) -> None:
    one = DECLARED[at]
    parameters, stub = _stub(one, one.null, 5)
    path = one.name if isinstance(one.owner, Parameters) else f"value.{one.name}"
    with pytest.raises(EncodeError, match="NULL where size_is says"):
        encode_stub(parameters, stub, syntax)
    # Two pointers of R_QMSetObjectProperties share their size.
    hostile = msgspec.structs.replace(stub, residue=Residue(nulls=2))
    data = encode_stub(parameters, hostile, syntax)
    assert path in _found(parameters, data, syntax)
    assert encode_stub(parameters, decode_stub(parameters, data, syntax), syntax) == data


@pytest.mark.parametrize("syntax", [NDR, NDR_BIG_ENDIAN, NDR64], ids=lambda one: one.name)
@pytest.mark.parametrize("at", SIZED)
def test_null_is_regular_where_the_array_has_none(at: str, syntax: Syntax) -> None:
    one = DECLARED[at]
    # A pointer in front of the one to the array may be NULL, whatever the size.
    for null, size in ((one.null, 0), *([(None, 5)] if one.outer else [])):
        parameters, stub = _stub(one, null, size)
        assert _found(parameters, encode_stub(parameters, stub, syntax), syntax) == []


@pytest.mark.parametrize(
    ("method", "side", "syntax", "stub", "path"),
    [
        (
            "R_StartReceive",
            "response",
            NDR,
            "01000000 00000000 0200000000000000 01000000 00000200 01000000"
            "00000000 05000000 05000000 00000000 00000000",
            "pp_packet_sections[0].data",
        ),
        (
            "R_StartReceive",
            "response",
            NDR_BIG_ENDIAN,
            "00000001 00000000 0000000000000002 00000001 00020000 00000001"
            "00000000 00000005 00000005 00000000 00000000",
            "pp_packet_sections[0].data",
        ),
        (
            "R_StartReceive",
            "response",
            NDR64,
            "01000000 00000000 0200000000000000 01000000 00000000 0000020000000000 0100000000000000"
            "00000000 05000000 05000000 00000000 0000000000000000 00000000",
            "pp_packet_sections[0].data",
        ),
        (
            "R_StartTransactionalReceive",
            "response",
            NDR,
            "01000000 00000000 0200000000000000 02000000 00000000 00000000",
            "pp_packet_sections",
        ),
        # A VARIANT of VT_VECTOR | VT_UI1.
        (
            "R_QMMgmtGetInfo",
            "response",
            NDR,
            "01000000 00000000 1110 00 00 00000000 1110 0000 03000000 00000000 00000000",
            "ap_var[0].arm.p_elems",
        ),
        (
            "RemoteQMStartReceive",
            "request",
            NDR_BIG_ENDIAN,
            "00000000 00000000 00000000 00000000 00000005 00000000 00000000 00000000 00000000 0000 0000"
            "00000000",
            "lp_remote_read_desc.lp_buffer",
        ),
        # The size comes behind the pointer.
        (
            "S_DSSetObjectSecurityGuid",
            "request",
            NDR,
            "01000000 000102030405060708090a0b0c0d0e0f 04000000 00000000 05000000",
            "p_security_descriptor",
        ),
        (
            "S_DSGetComputerSites",
            "response",
            NDR,
            "02000000 00000000 00000000 00000000 00000000",
            "ppguid_sites",
        ),
        (
            "rpc_ACHandleToFormatName",
            "request",
            NDR64,
            "00000000 00000000000000000000000000000000 05000000 0000000000000000 00000000",
            "lpwcs_format_name",
        ),
    ],
)
def test_bytes_by_hand(method: str, side: Side, syntax: Syntax, stub: str, path: str) -> None:
    assert _found(METHODS[method].parameters(side), bytes.fromhex(stub), syntax) == [path]
