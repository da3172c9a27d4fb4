"""NDR and NDR64 by impacket: the structures of [MS-MQMQ], [MS-MQMP], [MS-MQQP] and [MS-MQRR], from their IDL.

`encode` takes a list of ``(parameter, type, value)`` and gives the octets of a stub, built by impacket and by
nothing of this project. Three things are evened out afterwards, all of them free choices of a sender:
gaps hold zeros (impacket writes filler there), referent identifiers count up from 0x00020000 in stub order,
and NDR64 structures get the trailing gap of [MS-RPCE] 2.2.5.3.4.1, which impacket leaves out.

Values are JSON: numbers, text, null for a NULL pointer, ``{"pointer": null}`` for a pointer to a NULL
pointer, ``{"hex": ...}`` for octets, with ``max_count`` where it differs from the number of elements, an
object for a structure or, with its one arm, for a union, a list for an array. GUIDs are text.
"""

from __future__ import annotations

import importlib
import struct
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_ndr: Any = importlib.import_module("impacket.dcerpc.v5.ndr")

_FILLER = frozenset(bytes.fromhex("aaabbbbcbdbebfcacbccceddeeef"))

U8, U16, U32, U64, I32 = _ndr.NDRUSMALL, _ndr.NDRUSHORT, _ndr.NDRULONG, _ndr.NDRUHYPER, _ndr.NDRLONG
ENUM = _ndr.NDRENUM

_TO_NULL: dict[str, Any] = {"pointer": None}

Parameter = tuple[str, Any, Any]


def structure(name: str, *members: tuple[str, Any]) -> Any:
    """A structure; in NDR64 its size is a multiple of its alignment."""

    def data_with_gap(self: Any, soFar: int = 0) -> bytes:
        data: bytes = _ndr.NDRSTRUCT.getData(self, soFar)
        return data + bytes(-(soFar + len(data)) % self.getAlignment()) if self._isNDR64 else data

    return type(name, (_ndr.NDRSTRUCT,), {"structure": members, "getData": data_with_gap})


def octets(name: str, size: int, alignment: int) -> Any:
    """A structure as plain octets."""
    body = {"structure": (("Data", f"{size}s=b''"),), "getAlignment": lambda self: alignment}
    return type(name, (_ndr.NDRSTRUCT,), body)


def pointer(target: Any) -> Any:
    """A unique or full pointer."""
    return type(f"P_{target.__name__}", (_ndr.NDRPOINTER,), {"referent": (("Data", target),)})


def union(name: str, tag: Any, **arms: Any) -> Any:
    """A non-encapsulated union; an arm is named ``<member>__<tag>``."""
    table = {}
    for arm, kind in arms.items():
        member, _, number = arm.rpartition("__")
        table[int(number)] = (member, kind)
    header = (("tag", tag),)
    return type(name, (_ndr.NDRUNION,), {"commonHdr": header, "commonHdr64": header, "union": table})


def _pack_at_once(base: Any) -> Any:
    def pack(self: Any, name: str, kind: Any, soFar: int = 0) -> bytes:
        data = self.fields[name]
        if not isinstance(data, bytes):
            packed: bytes = base.pack(self, name, kind, soFar)
            return packed
        self.setArraySize(len(data))
        return data

    return pack


def conformant(item: Any, name: str = "") -> Any:
    """A conformant array; ``"c"`` of octets, ``"<H"`` of characters, or of a type."""
    base = _ndr.NDRUniConformantArray
    return type(f"CONF_{name or item}", (base,), {"item": item, "pack": _pack_at_once(base)})


def varying(item: Any) -> Any:
    """A conformant varying array, offset 0."""
    base = _ndr.NDRUniConformantVaryingArray
    return type(f"CVAR_{item}", (base,), {"item": item, "pack": _pack_at_once(base)})


def _wchar_string() -> Any:
    counts = (("MaximumCount", "<L=len(Data)//2"), ("Offset", "<L=0"), ("ActualCount", "<L=len(Data)//2"))
    wide = tuple((name, rule.replace("L", "Q", 1)) for name, rule in counts)
    body = {"commonHdr": counts, "commonHdr64": wide, "structure": (("Data", ":"),)}
    return type("WSTRING", (_ndr.NDRSTRUCT,), body)


GUID = octets("GUID", 16, 4)
XACTUOW = octets("XACTUOW", 16, 1)
CONTEXT_HANDLE = octets("CONTEXT_HANDLE", 20, 4)
WSTRING = _wchar_string()
BYTES, WCHARS = conformant("c", "BYTES"), conformant("<H", "WCHARS")
BYTES_VARYING, WCHARS_VARYING = varying("c"), varying("<H")

OBJECTID = structure("OBJECTID", ("Lineage", GUID), ("Uniquifier", U32))
DL_ID = structure("DL_ID", ("m_DlGuid", GUID), ("m_pwzDomain", pointer(WSTRING)))
MULTICAST_ID = structure("MULTICAST_ID", ("m_address", U32), ("m_port", U32))
_NOTHING = type("NOTHING", (_ndr.NDRSTRUCT,), {"structure": (("Data", ":"),), "getAlignment": lambda self: 1})

QUEUE_FORMAT = structure(
    "QUEUE_FORMAT",
    ("m_qft", U8),
    ("m_SuffixAndFlags", U8),
    ("m_reserved", U16),
    (
        "u",
        union(
            "QUEUE_FORMAT_UNION",
            U8,
            none__0=_NOTHING,
            m_gPublicID__1=GUID,
            m_oPrivateID__2=OBJECTID,
            m_pDirectID__3=pointer(WSTRING),
            m_gMachineID__4=GUID,
            m_GConnectorID__5=GUID,
            m_DlID__6=DL_ID,
            m_MulticastID__7=MULTICAST_ID,
            m_pDirectSubqueueID__8=pointer(WSTRING),
        ),
    ),
)

SECTION_BUFFER = structure(
    "SectionBuffer",
    ("SectionBufferType", ENUM),
    ("SectionSizeAlloc", U32),
    ("SectionSize", U32),
    ("pSectionBuffer", pointer(BYTES)),
)
SECTION_BUFFERS = pointer(conformant(SECTION_BUFFER, "SectionBuffer"))

REMOTEREADDESC = structure(
    "REMOTEREADDESC",
    ("hRemoteQueue", U32),
    ("hCursor", U32),
    ("ulAction", U32),
    ("ulTimeout", U32),
    ("dwSize", U32),
    ("dwQueue", U32),
    ("dwRequestID", U32),
    ("Reserved", U32),
    ("dwArriveTime", U32),
    ("eAckNack", ENUM),
    ("lpBuffer", pointer(BYTES_VARYING)),
)
REMOTEREADDESC2 = structure(
    "REMOTEREADDESC2", ("pRemoteReadDesc", pointer(REMOTEREADDESC)), ("SequentialId", U64)
)


def _twice(target: Any) -> Any:
    return pointer(pointer(target))


_P8, _P16, _P32 = pointer(U8), pointer(U16), pointer(U32)

_SEND = structure(
    "SEND", ("pAdminQueueFormat", pointer(QUEUE_FORMAT)), ("pResponseQueueFormat", pointer(QUEUE_FORMAT))
)


def _format_name(role: str) -> tuple[tuple[str, Any], ...]:
    return (
        (f"ul{role}FormatNameLen", U32),
        (f"pp{role}FormatName", _twice(WCHARS)),
        (f"pul{role}FormatNameLenProp", _P32),
    )


_RECEIVE = structure(
    "RECEIVE",
    ("RequestTimeout", U32),
    ("Action", U32),
    ("Asynchronous", U32),
    ("Cursor", U32),
    *_format_name("Response"),
    *_format_name("Admin"),
    *_format_name("Dest"),
    *_format_name("Ordering"),
)
CAC_CREATE_REMOTE_CURSOR = structure(
    "CACCreateRemoteCursor", ("hCursor", U32), ("srv_hACQueue", U32), ("cli_pQMQueue", U32)
)

CAC_TRANSFER_BUFFER_V1 = structure(
    "CACTransferBufferV1",
    ("uTransferType", U32),
    (
        "u",
        union(
            "TRANSFER_UNION",
            U32,
            Send__0=_SEND,
            Receive__1=_RECEIVE,
            CreateCursor__2=CAC_CREATE_REMOTE_CURSOR,
        ),
    ),
    ("pClass", _P16),
    ("ppMessageID", _twice(OBJECTID)),
    ("ppCorrelationID", _twice(BYTES_VARYING)),
    ("pSentTime", _P32),
    ("pArrivedTime", _P32),
    ("pPriority", _P8),
    ("pDelivery", _P8),
    ("pAcknowledge", _P8),
    ("pAuditing", _P8),
    ("pApplicationTag", _P32),
    ("ppBody", _twice(BYTES_VARYING)),
    ("ulBodyBufferSizeInBytes", U32),
    ("ulAllocBodyBufferInBytes", U32),
    ("pBodySize", _P32),
    ("ppTitle", _twice(WCHARS_VARYING)),
    ("ulTitleBufferSizeInWCHARs", U32),
    ("pulTitleBufferSizeInWCHARs", _P32),
    ("ulAbsoluteTimeToQueue", U32),
    ("pulRelativeTimeToQueue", _P32),
    ("ulRelativeTimeToLive", U32),
    ("pulRelativeTimeToLive", _P32),
    ("pTrace", _P8),
    ("pulSenderIDType", _P32),
    ("ppSenderID", _twice(BYTES)),
    ("pulSenderIDLenProp", _P32),
    ("pulPrivLevel", _P32),
    ("ulAuthLevel", U32),
    ("pAuthenticated", _P8),
    ("pulHashAlg", _P32),
    ("pulEncryptAlg", _P32),
    ("ppSenderCert", _twice(BYTES)),
    ("ulSenderCertLen", U32),
    ("pulSenderCertLenProp", _P32),
    ("ppwcsProvName", _twice(WCHARS)),
    ("ulProvNameLen", U32),
    ("pulAuthProvNameLenProp", _P32),
    ("pulProvType", _P32),
    ("fDefaultProvider", I32),
    ("ppSymmKeys", _twice(BYTES)),
    ("ulSymmKeysSize", U32),
    ("pulSymmKeysSizeProp", _P32),
    ("bEncrypted", U8),
    ("bAuthenticated", U8),
    ("uSenderIDLen", U16),
    ("ppSignature", _twice(BYTES)),
    ("ulSignatureSize", U32),
    ("pulSignatureSizeProp", _P32),
    ("ppSrcQMID", _twice(GUID)),
    ("pUow", pointer(XACTUOW)),
    ("ppMsgExtension", _twice(BYTES_VARYING)),
    ("ulMsgExtensionBufferInBytes", U32),
    ("pMsgExtensionSize", _P32),
    ("ppConnectorType", _twice(GUID)),
    ("pulBodyType", _P32),
    ("pulVersion", _P32),
)
OBJECT_FORMAT = structure(
    "OBJECT_FORMAT",
    ("ObjType", U32),
    ("u", union("OBJECT_UNION", U32, pQueueFormat__1=pointer(QUEUE_FORMAT))),
)
CAC_TRANSFER_BUFFER_V2 = structure(
    "CACTransferBufferV2",
    ("old", CAC_TRANSFER_BUFFER_V1),
    ("pbFirstInXact", _P8),
    ("pbLastInXact", _P8),
    ("ppXactID", _twice(OBJECTID)),
)


_OCTETS: tuple[Any, ...] = (GUID, XACTUOW, CONTEXT_HANDLE, _NOTHING)


def _octets_of(value: Any) -> bytes:
    if isinstance(value, str):
        return uuid.UUID(value).bytes_le
    return bytes.fromhex(value["hex"])


def _fill_array(node: Any, value: Any, wide: bool) -> None:
    if isinstance(value, str):
        node["Data"] = list(struct.unpack(f"<{len(value)}H", value.encode("utf-16-le")))
    elif isinstance(value, list):
        items = [node.item(isNDR64=wide) for _ in value]
        for item, part in zip(items, value, strict=True):
            _fill(item, part, wide)
        node["Data"] = items
    else:
        node["Data"] = _octets_of(value)
        node.fields["MaximumCount"] = value.get("max_count")


def _fill_members(node: Any, value: dict[str, Any], wide: bool) -> None:
    for name, part in value.items():
        if part is None:
            node.fields[name] = _ndr.NDRPOINTERNULL(isNDR64=wide)
        else:
            _fill(node.fields[name], part, wide)


def _fill(node: Any, value: Any, wide: bool) -> None:
    if isinstance(node, _ndr.NDRPOINTER):
        if value == _TO_NULL:
            _fill_members(node, {"Data": None}, wide)
        else:
            _fill(node.fields["Data"], value, wide)
    elif isinstance(node, _ndr.NDRUNION):
        (name,) = value
        node["tag"] = next(tag for tag, arm in node.union.items() if arm[0] == name)
        _fill_members(node, value, wide)
    elif isinstance(node, _ndr.NDRArray):
        _fill_array(node, value, wide)
    elif isinstance(node, WSTRING):
        node.fields["Data"] = (value + "\0").encode("utf-16-le")
    elif isinstance(node, _OCTETS):
        node.fields["Data"] = _octets_of(value)
    elif isinstance(node, _ndr.NDRSTRUCT):
        _fill_members(node, value, wide)
    else:
        node.fields["Data"] = value


def _pointers(node: Any) -> Iterator[Any]:
    if isinstance(node, _ndr.NDRPOINTER):
        yield node
    parts: Iterable[Any] = getattr(node, "fields", {}).values()
    for part in parts:
        for each in part if isinstance(part, list) else (part,):
            if isinstance(each, _ndr.NDR):
                yield from _pointers(each)


def _blank(value: Any) -> Any:
    """The same shape with zeros for numbers, GUIDs and octets: what is left of impacket's filler shows."""
    if isinstance(value, list):
        return [_blank(part) for part in value]
    if isinstance(value, int):
        return 0
    if isinstance(value, str):
        if len(value) == 36 and value.count("-") == 4:
            return str(uuid.UUID(int=0))
        if not value.isascii():
            raise ValueError("text beyond ASCII looks like filler")
    if not isinstance(value, dict):
        return value
    if "hex" in value:
        return value | {"hex": "00" * (len(value["hex"]) // 2)}
    return {name: _blank(part) for name, part in value.items()}


def _gaps(blank: bytes) -> set[int]:
    """Where filler stands: in a blank stub only counts look like it, and they start at a multiple of four."""
    found = set()
    for at, octet in enumerate(blank):
        count = at % 4 == 0 and blank[at : at + 4] != bytes([octet]) * 4
        if octet in _FILLER and not count:
            found.add(at)
    return found


def _build(parameters: Sequence[Parameter], referent: int, wide: bool) -> bytes:
    types = tuple((name, kind) for name, kind, _ in parameters)
    call = type("CALL", (_ndr.NDRCALL,), {"structure": types})(isNDR64=wide)
    _fill_members(call, {name: value for name, _, value in parameters}, wide)
    for each in _pointers(call):
        each.fields["ReferentID"] = referent
    data: bytes = call.getData()
    return data


def encode(parameters: Sequence[Parameter], *, ndr64: bool = False) -> bytes:
    """The stub of a call. Raises ValueError for text beyond ASCII."""
    if not parameters:
        return b""
    size = 8 if ndr64 else 4
    marks = [int.from_bytes(bytes([octet]) * size, "little") for octet in (0x11, 0x22)]
    first, second = (_build(parameters, mark, ndr64) for mark in marks)
    blank = _build([(name, kind, _blank(value)) for name, kind, value in parameters], marks[0], ndr64)
    if len(blank) != len(first):
        raise ValueError("the length of a stub depends on its octets")
    stub = bytearray(first)
    for at in _gaps(blank):
        stub[at] = 0
    number = 0
    for at in range(0, len(first) - size + 1, size):
        if first[at : at + size] != second[at : at + size]:
            stub[at : at + size] = (0x20000 + 4 * number).to_bytes(size, "little")
            number += 1
    return bytes(stub)
