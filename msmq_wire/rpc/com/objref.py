"""OBJREF, the marshaled interface pointer: `decode_objref`, `encode_objref`. [MS-DCOM] 2.2.18 and 2.2.19.

The rule kept here: it is little-endian and packed, whatever stub it lies in, and what is decoded is written
back byte by byte. Bindings are kept as their 16-bit units; their texts are read from them.
"""

from __future__ import annotations

import struct
from enum import IntFlag

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

_SIGNATURE = 0x574F454D
_EXTENDED_SIGNATURE = 0x4E535956
_SPEC = SpecRef("MS-DCOM", "2.2.18")
_HEAD = struct.Struct("<II16s")
_STD = struct.Struct("<IIQQ16s")
_CUSTOM = struct.Struct("<16sII")
_ELEMENT = struct.Struct("<16sII")
_TWO_WORDS = struct.Struct("<HH")
_MAX_BINDINGS = 1000


class ObjRefKind(IntFlag):
    """The ``flags`` of an OBJREF: what follows its head; one of them, [MS-DCOM] 2.2.18."""

    OBJREF_STANDARD = 1
    OBJREF_HANDLER = 2
    OBJREF_CUSTOM = 4
    OBJREF_EXTENDED = 8


class StringBinding(msgspec.Struct, frozen=True, gc=False):
    """STRINGBINDING, [MS-DCOM] 2.2.19.3: a protocol (7 is TCP) and an address in it."""

    tower_id: int
    network_address: str


class SecurityBinding(msgspec.Struct, frozen=True, gc=False):
    """SECURITYBINDING, [MS-DCOM] 2.2.19.4: a security provider, and the server's name in it."""

    authentication_service: int
    principal_name: str


class DualStringArray(msgspec.Struct, frozen=True, gc=False):
    """DUALSTRINGARRAY, [MS-DCOM] 2.2.19.1: ``data`` are its 16-bit units, little-endian."""

    security_offset: int = 2
    data: bytes = bytes(8)

    @property
    def string_bindings(self) -> tuple[StringBinding, ...]:
        """Where the object resolver is reached, up to the first that is not whole."""
        return tuple(
            StringBinding(number, text)
            for number, text in _bindings(self.data[: 2 * self.security_offset], reserved=0)
        )

    @property
    def security_bindings(self) -> tuple[SecurityBinding, ...]:
        """How to authenticate to it, up to the first that is not whole."""
        return tuple(
            SecurityBinding(number, text)
            for number, text in _bindings(self.data[2 * self.security_offset :], reserved=2)
        )


class StdObjRef(msgspec.Struct, frozen=True, gc=False):
    """STDOBJREF, [MS-DCOM] 2.2.18.2: the exporter, the object in it, and one interface of the object."""

    flags: int = 0
    public_refs: int = 0
    oxid: int = 0
    oid: int = 0
    ipid: GUID = NULL_GUID


class DataElement(msgspec.Struct, frozen=True, gc=False):
    """DATAELEMENT, [MS-DCOM] 2.2.18.8: ``size`` bytes of ``data`` are meant, the others round it up."""

    data_id: GUID
    size: int
    data: bytes


class ObjRef(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """OBJREF: ``kind`` says which of the members count.

    ``std`` is there but for OBJREF_CUSTOM, ``resolver`` likewise; ``clsid`` is that of OBJREF_HANDLER and
    OBJREF_CUSTOM; ``extension``, ``reserved`` and ``object_data`` are OBJREF_CUSTOM's; ``elements`` those of
    OBJREF_EXTENDED and ``signatures`` its two. ``remainder`` is what follows.
    """

    kind: int
    iid: GUID
    std: StdObjRef | None = None
    resolver: DualStringArray | None = None
    clsid: GUID | None = None
    extension: int = 0
    reserved: int = 0
    object_data: bytes = b""
    signatures: tuple[int, int] = (_EXTENDED_SIGNATURE, _EXTENDED_SIGNATURE)
    elements: tuple[DataElement, ...] = ()
    remainder: bytes = b""

    @property
    def kind_name(self) -> str:
        """``standard``, ``handler``, ``custom`` or ``extended``."""
        return str(ObjRefKind(self.kind).name).removeprefix("OBJREF_").lower()


class _Place:
    """Bytes and where the next are read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pos = 0

    def take(self, length: int) -> bytes:
        left = len(self.data) - self.pos
        if length > left:
            raise DecodeError(
                "missing-bytes", f"{length} bytes needed, {left} left", offset=self.pos, spec=_SPEC
            )
        self.pos += length
        return self.data[self.pos - length : self.pos]

    def resolver(self) -> DualStringArray:
        entries, security_offset = _TWO_WORDS.unpack(self.take(4))
        return DualStringArray(security_offset, self.take(2 * entries))

    def std(self) -> StdObjRef:
        flags, references, oxid, oid, ipid = _STD.unpack(self.take(_STD.size))
        return StdObjRef(flags, references, oxid, oid, GUID(ipid))

    def word(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def rest(self) -> bytes:
        return self.take(len(self.data) - self.pos)


def decode_objref(data: bytes) -> ObjRef:
    """Decode an OBJREF; DecodeError (missing-bytes, signature, unknown-selector) where it is none."""
    place = _Place(as_bytes(data))
    signature, kind, iid = _HEAD.unpack(place.take(_HEAD.size))
    if signature != _SIGNATURE:
        raise DecodeError("signature", f"{signature:#010x} where {_SIGNATURE:#010x} belongs", spec=_SPEC)
    match kind:
        case ObjRefKind.OBJREF_STANDARD:
            found = ObjRef(kind=kind, iid=GUID(iid), std=place.std(), resolver=place.resolver())
        case ObjRefKind.OBJREF_HANDLER:
            found = ObjRef(
                kind=kind,
                iid=GUID(iid),
                std=place.std(),
                clsid=GUID(place.take(16)),
                resolver=place.resolver(),
            )
        case ObjRefKind.OBJREF_CUSTOM:
            clsid, extension, reserved = _CUSTOM.unpack(place.take(_CUSTOM.size))
            return ObjRef(
                kind=kind,
                iid=GUID(iid),
                clsid=GUID(clsid),
                extension=extension,
                reserved=reserved,
                object_data=place.rest(),
            )
        case ObjRefKind.OBJREF_EXTENDED:
            found = _extended(place, GUID(iid))
        case _:
            raise DecodeError("unknown-selector", f"{kind} is no kind of OBJREF", offset=4, spec=_SPEC)
    return msgspec.structs.replace(found, remainder=place.rest())


def _extended(place: _Place, iid: GUID) -> ObjRef:
    std = place.std()
    first = place.word()
    resolver = place.resolver()
    count, second = place.word(), place.word()
    if count * _ELEMENT.size > len(place.data) - place.pos:
        raise DecodeError("missing-bytes", f"{count} elements cannot be there", offset=place.pos, spec=_SPEC)
    elements = []
    for _ in range(count):
        data_id, size, rounded = _ELEMENT.unpack(place.take(_ELEMENT.size))
        elements.append(DataElement(GUID(data_id), size, place.take(rounded)))
    return ObjRef(
        kind=ObjRefKind.OBJREF_EXTENDED,
        iid=iid,
        std=std,
        resolver=resolver,
        signatures=(first, second),
        elements=tuple(elements),
    )


def encode_objref(value: ObjRef) -> bytes:
    """Encode an OBJREF; EncodeError where a member that its kind needs is not there, or does not fit."""
    try:
        return _HEAD.pack(_SIGNATURE, value.kind, value.iid) + _body(value) + value.remainder
    except struct.error:
        raise EncodeError("a number of an OBJREF does not fit its size") from None


def _body(value: ObjRef) -> bytes:
    if value.kind == ObjRefKind.OBJREF_CUSTOM:
        if value.clsid is None:
            raise EncodeError("OBJREF_CUSTOM without its CLSID", path="clsid")
        return _CUSTOM.pack(value.clsid, value.extension, value.reserved) + value.object_data
    std, resolver = value.std, value.resolver
    if std is None or resolver is None:
        raise EncodeError("an OBJREF without its object", path="std")
    head = _STD.pack(std.flags, std.public_refs, std.oxid, std.oid, std.ipid)
    tail = _TWO_WORDS.pack(len(resolver.data) // 2, resolver.security_offset) + resolver.data
    match value.kind:
        case ObjRefKind.OBJREF_STANDARD:
            return head + tail
        case ObjRefKind.OBJREF_HANDLER:
            if value.clsid is None:
                raise EncodeError("OBJREF_HANDLER without its CLSID", path="clsid")
            return head + value.clsid + tail
        case ObjRefKind.OBJREF_EXTENDED:
            first, second = value.signatures
            elements = b"".join(
                _ELEMENT.pack(one.data_id, one.size, len(one.data)) + one.data for one in value.elements
            )
            between = struct.pack("<II", len(value.elements), second)
            return head + struct.pack("<I", first) + tail + between + elements
    raise EncodeError(f"{value.kind} is no kind of OBJREF", path="kind")


def _bindings(data: bytes, *, reserved: int) -> list[tuple[int, str]]:
    """The number in front of each binding and its text; ``reserved`` bytes lie between them."""
    found: list[tuple[int, str]] = []
    pos = 0
    while len(found) < _MAX_BINDINGS:
        number = int.from_bytes(data[pos : pos + 2], "little")
        start = end = pos + 2 + reserved
        if not number or start > len(data):
            break
        while data[end : end + 2] not in (b"\0\0", b""):
            end += 2
        if end + 2 > len(data):
            break
        found.append((number, WcharText(data[start:end]).text))
        pos = end + 2
    return found
