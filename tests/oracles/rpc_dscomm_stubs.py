"""Print, as a JSON list, cases of RPC stub data for dscomm and dscomm2 (MS-MQDS section 6).

An independent encoder, from MS-MQDS, MS-MQMQ (PROPVARIANT), MS-RPCE (NDR64) and C706 chapter 14 alone. Each
value set comes as NDR little endian, NDR big endian and NDR64 little endian. The readings it rests on:

* Top-level pointers without an attribute are references, whatever pointer_default says; so are the typedefs
  LPBOUNDED_SIGNATURE_SIZE and LPBOUNDED_PROPERTIES. Those with [unique] or [ptr] are sent with a referent id.
* wchar_t pointers are null-terminated strings (maximum count, offset 0, actual count, terminator counted),
  also where the IDL has no [string], because the prose says null-terminated.
* A pointer attribute belongs to the outermost pointer; the inner ones are unique. So lplpSiteServers is a
  full pointer (never null here) to a unique pointer; lplpwszGCList and ppguidSites are references to a unique
  pointer. A "null" of these three is the inner pointer.
* Referent ids run from 0x00020000 by 4 over the whole stub, in the order in which they are written, and anew
  in each direction. Pointees follow the parameter, deferred depth first.
* PROPVARIANT is aligned to 8. In NDR its tag and arm have their own alignments, in NDR64 both that of the
  largest arm (8). NDR64 structures are padded at their end to their alignment. Gaps are zero octets.
* An array without elements has only its counts: no gap is written for elements that are not there.
* [] is a pointer to an array of maximum count 0, null is the count 0 with a null pointer.
* A response states in "values" also those [in] sizes which give a maximum count that nothing else there tells
  (dwSize, dwSignatureMaxSize, dwCallengeResponceMaxSize, dwClientBuffMaxSize); they are not on its wire.
"""

from __future__ import annotations

import json
import struct
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

Values = dict[str, Any]
Writer = Callable[["Encoder", Any], None]

VECTOR = 0x1000
SYNTAXES = (("ndr", False), ("ndr", True), ("ndr64", False))


class Encoder:
    """Packs one stub in one transfer syntax."""

    def __init__(self, syntax: str, big_endian: bool) -> None:
        """Start an empty stub."""
        self.wide = syntax == "ndr64"
        self.order = ">" if big_endian else "<"
        self.data = bytearray()
        self.referent = 0x00020000
        self.deferred: list[Callable[[], None]] = []

    def align(self, size: int) -> None:
        """Fill with zero octets up to a multiple of size, counted from the start of the stub."""
        self.data += bytes(-len(self.data) % size)

    def number(self, code: str, value: int) -> None:
        """Write one number of a struct format code at its own alignment."""
        self.align(struct.calcsize("=" + code))
        self.data += struct.pack(self.order + code, value)

    def u32(self, value: int) -> None:
        """Write an unsigned long."""
        self.number("I", value)

    def word(self, value: int) -> None:
        """Write a count or a pointer representation: 4 octets in NDR, 8 in NDR64."""
        self.number("Q" if self.wide else "I", value)

    def guid(self, text: str) -> None:
        """Write a GUID: three numbers in the byte order of the stub, then eight octets as they are."""
        value = uuid.UUID(text)
        self.number("I", value.time_low)
        self.number("H", value.time_mid)
        self.number("H", value.time_hi_version)
        self.data += value.bytes[8:]

    def handle(self, value: Values) -> None:
        """Write a context handle: attributes and uuid, 20 octets."""
        self.u32(value["attributes"])
        self.guid(value["uuid"])

    def octets(self, text: str) -> None:
        """Write a conformant array of octets given in hex."""
        data = bytes.fromhex(text)
        self.word(len(data))
        self.data += data

    def array(self, items: list[Any], element: Writer) -> None:
        """Write a conformant array."""
        self.word(len(items))
        for item in items:
            element(self, item)

    def varying(self, maximum: int, items: list[Any], element: Writer) -> None:
        """Write a conformant varying array from offset 0."""
        assert len(items) <= maximum
        for count in (maximum, 0, len(items)):
            self.word(count)
        for item in items:
            element(self, item)

    def text(self, value: str) -> None:
        """Write a null-terminated string of wide characters as a conformant varying string."""
        raw = (value + "\0").encode("utf-16-le")
        units = list(struct.unpack(f"<{len(raw) // 2}H", raw))
        self.varying(len(units), units, lambda out, unit: out.number("H", unit))

    def construct(self, body: Callable[[], None]) -> None:
        """Write an outermost construct, then the pointees of its pointers, each followed by its own."""
        outer, self.deferred = self.deferred, []
        body()
        pending, self.deferred = self.deferred, outer
        for pointee in pending:
            self.construct(pointee)

    def pointer(self, value: Any, pointee: Writer) -> None:
        """Write a unique or full pointer; what it points at is deferred."""
        if value is None:
            self.word(0)
            return
        self.word(self.referent)
        self.referent += 4
        self.deferred.append(lambda: pointee(self, value))

    def structure(self, alignment: int, body: Callable[[], None]) -> None:
        """Write a structure at its alignment, in NDR64 with its trailing gap."""
        self.align(alignment)
        body()
        if self.wide:
            self.align(alignment)

    def counted(self, count: int, value: Any, pointee: Writer) -> None:
        """Write a structure of a count and a pointer to that many elements."""

        def body() -> None:
            """Write the members."""
            self.u32(count)
            self.pointer(value, pointee)

        self.structure(8 if self.wide else 4, body)

    def propvariant(self, value: Values) -> None:
        """Write a PROPVARIANT."""

        def body() -> None:
            """Write the members."""
            self.number("H", value["vt"])
            self.data += bytes(2)
            self.u32(0)
            if self.wide:
                self.align(8)
            self.number("H", value["vt"])
            if self.wide:
                self.align(8)
            self.arm(value["vt"], value["value"])

        self.structure(8, body)

    def arm(self, vt: int, value: Any) -> None:
        """Write the arm of a PROPVARIANT's union."""
        if vt in (0, 1):
            assert value is None
        elif vt in SCALARS:
            self.number(SCALARS[vt], value)
        elif vt == 72:
            self.pointer(value, Encoder.guid)
        elif vt == 31:
            self.pointer(value, Encoder.text)
        elif vt == 65:
            text = None if value is None else value["hex"]
            self.counted(len(text or "") // 2, text, Encoder.octets)
        else:
            element = ELEMENTS[vt - VECTOR]
            self.counted(len(value or []), value, lambda out, items: out.array(items, element))


# The format codes of the arms that hold a number (VT_BOOL is written unsigned, true being 0xFFFF).
SCALARS = {16: "b", 17: "B", 2: "h", 18: "H", 3: "i", 19: "I", 20: "q", 21: "Q", 11: "H"}

# The elements of the counted arrays.
ELEMENTS: dict[int, Writer] = {
    17: lambda out, item: out.number("B", item),
    18: lambda out, item: out.number("H", item),
    3: lambda out, item: out.number("i", item),
    19: lambda out, item: out.number("I", item),
    21: lambda out, item: out.number("Q", item),
    72: Encoder.guid,
    31: lambda out, item: out.pointer(item, Encoder.text),
    12: Encoder.propvariant,
}


# ---- The structures of a query


def write_restriction(out: Encoder, value: Values) -> None:
    """Write an MQRESTRICTION."""

    def element(out: Encoder, item: Values) -> None:
        """Write an MQPROPERTYRESTRICTION."""

        def body() -> None:
            """Write the members."""
            out.u32(item["rel"])
            out.u32(item["prop"])
            out.propvariant(item["prval"])

        out.structure(8, body)

    assert value["cRes"] == len(value["paPropRes"] or [])
    out.counted(value["cRes"], value["paPropRes"], lambda out, items: out.array(items, element))


def write_columns(out: Encoder, value: Values) -> None:
    """Write an MQCOLUMNSET."""
    assert value["cCol"] == len(value["aCol"] or [])
    out.counted(value["cCol"], value["aCol"], lambda out, items: out.array(items, Encoder.u32))


def write_sort(out: Encoder, value: Values) -> None:
    """Write an MQSORTSET."""

    def element(out: Encoder, item: Values) -> None:
        """Write an MQSORTKEY."""
        out.u32(item["propColumn"])
        out.u32(item["dwOrder"])

    assert value["cCol"] == len(value["aCol"] or [])
    out.counted(value["cCol"], value["aCol"], lambda out, items: out.array(items, element))


# ---- Parameters


@dataclass(frozen=True)
class Param:
    """A parameter: its name, its directions ("i", "o" or "io"), and how it is written from all values."""

    name: str
    flow: str
    write: Callable[[Encoder, Values], None]
    extra: str = ""  # an [in] size which the values of a response have to state as well


def plain(name: str, flow: str, writer: Writer) -> Param:
    """Return a parameter passed by value or by reference."""
    return Param(name, flow, lambda out, values: writer(out, values[name]))


def pointed(name: str, flow: str, writer: Writer) -> Param:
    """Return a parameter that is a unique or full pointer."""
    return Param(name, flow, lambda out, values: out.pointer(values[name], writer))


def u32(name: str, flow: str = "i") -> Param:
    """Return an unsigned long, or a reference to one."""
    return plain(name, flow, Encoder.u32)


def handle(name: str, flow: str = "i") -> Param:
    """Return a context handle, or a reference to one."""
    return plain(name, flow, Encoder.handle)


def sized(name: str, flow: str, size: str, length: Callable[[Any], int], writer: Writer) -> Param:
    """Return a reference to a conformant array whose size, where the values state it, has to agree."""

    def write(out: Encoder, values: Values) -> None:
        """Check the size and write the array."""
        assert values.get(size, length(values[name])) == length(values[name]), (name, size)
        writer(out, values[name])

    return Param(name, flow, write)


def octets(name: str, flow: str, size: str) -> Param:
    """Return a reference to a conformant array of octets."""
    return sized(name, flow, size, lambda text: len(text) // 2, Encoder.octets)


def unique_octets(name: str, size: str) -> Param:
    """Return a unique pointer to a conformant array of octets."""

    def writer(out: Encoder, value: str | None) -> None:
        """Write the pointer."""
        out.pointer(value, Encoder.octets)

    return sized(name, "i", size, lambda text: len(text or "") // 2, writer)


def some_octets(name: str, flow: str, size: str, length: str) -> Param:
    """Return a reference to a conformant varying array of octets."""

    def write(out: Encoder, values: Values) -> None:
        """Check the length and write the array."""
        data = list(bytes.fromhex(values[name]))
        assert values[length] == len(data), (name, length)
        out.varying(values[size], data, ELEMENTS[17])

    return Param(name, flow, write, extra=size)


def props(flow: str = "i") -> list[Param]:
    """Return the count, the identifiers and the values of properties."""
    return [
        u32("cp"),
        sized("aProp", "i", "cp", len, lambda out, items: out.array(items, Encoder.u32)),
        sized("apVar", flow, "cp", len, lambda out, items: out.array(items, Encoder.propvariant)),
    ]


def write_buffer(out: Encoder, values: Values) -> None:
    """Write pbBuffer of S_DSLookupNext."""
    assert values["dwOutSize"] == len(values["pbBuffer"])
    out.varying(values["dwSize"], values["pbBuffer"], Encoder.propvariant)


def write_sites(out: Encoder, values: Values) -> None:
    """Write ppguidSites of S_DSGetComputerSites: a unique pointer behind a reference."""
    count = values["pdwNumberOfSites"]
    assert count == len(values["ppguidSites"] or [])
    out.pointer(values["ppguidSites"], lambda out, items: out.varying(count, items, Encoder.guid))


def write_servers(out: Encoder, values: Values) -> None:
    """Write lplpSiteServers of S_DSCreateServersCache: a full pointer to a unique pointer to a string."""
    out.pointer(values, lambda out, both: out.pointer(both["lplpSiteServers"], Encoder.text))


# ---- The methods: interface, opnum, whether a callback, whether there is a return value, parameters


@dataclass(frozen=True)
class Method:
    """A method of one of the interfaces."""

    interface: str
    opnum: int
    params: tuple[Param, ...]
    callback: bool = False
    result: bool = True

    def sent(self, direction: str) -> list[Param]:
        """Return the parameters on the wire in a direction."""
        return [param for param in self.params if ("i" if direction == "request" else "o") in param.flow]


def declared(
    interface: str, opnum: int, *params: Param, callback: bool = False, result: bool = True
) -> Method:
    """Return a method with these parameters."""
    return Method(interface, opnum, params, callback, result)


KIND = u32("dwObjectType")
PATH = plain("pwcsPathName", "i", Encoder.text)
GUID = plain("pGuid", "i", Encoder.guid)
INFORMATION = u32("SecurityInformation")
AUTH = handle("phServerAuth")
SIGNED = [
    AUTH,
    octets("pbServerSignature", "o", "pdwServerSignatureSize"),
    u32("pdwServerSignatureSize", "io"),
]
ASK_SECURITY = [octets("pSecurityDescriptor", "o", "nLength"), u32("nLength"), u32("lpnLengthNeeded", "o")]
SET_SECURITY = [unique_octets("pSecurityDescriptor", "nLength"), u32("nLength")]
CHALLENGE = [octets("abChallenge", "i", "dwCallengeSize"), u32("dwCallengeSize"), u32("dwContext")]

METHODS = {
    "S_DSCreateObject": declared(
        "dscomm",
        0,
        KIND,
        pointed("pwcsPathName", "i", Encoder.text),
        u32("dwSDLength"),
        unique_octets("SecurityDescriptor", "dwSDLength"),
        *props(),
        pointed("pObjGuid", "io", Encoder.guid),
    ),
    "S_DSDeleteObject": declared("dscomm", 1, KIND, PATH),
    "S_DSGetProps": declared("dscomm", 2, KIND, PATH, *props("io"), *SIGNED),
    "S_DSSetProps": declared("dscomm", 3, KIND, PATH, *props()),
    "S_DSGetObjectSecurity": declared("dscomm", 4, KIND, PATH, INFORMATION, *ASK_SECURITY, *SIGNED),
    "S_DSSetObjectSecurity": declared("dscomm", 5, KIND, PATH, INFORMATION, *SET_SECURITY),
    "S_DSLookupBegin": declared(
        "dscomm",
        6,
        handle("pHandle", "o"),
        pointed("pwcsContext", "i", Encoder.text),
        pointed("pRestriction", "i", write_restriction),
        plain("pColumns", "i", write_columns),
        pointed("pSort", "i", write_sort),
        AUTH,
    ),
    "S_DSLookupNext": declared(
        "dscomm",
        7,
        handle("Handle"),
        u32("dwSize"),
        u32("dwOutSize", "o"),
        Param("pbBuffer", "o", write_buffer, extra="dwSize"),
        *SIGNED,
    ),
    "S_DSLookupEnd": declared("dscomm", 8, handle("phContext", "io")),
    "S_DSDeleteObjectGuid": declared("dscomm", 10, KIND, GUID),
    "S_DSGetPropsGuid": declared(
        "dscomm", 11, KIND, pointed("pGuid", "i", Encoder.guid), *props("io"), *SIGNED
    ),
    "S_DSSetPropsGuid": declared("dscomm", 12, KIND, GUID, *props()),
    "S_DSGetObjectSecurityGuid": declared("dscomm", 13, KIND, GUID, INFORMATION, *ASK_SECURITY, *SIGNED),
    "S_DSSetObjectSecurityGuid": declared("dscomm", 14, KIND, GUID, INFORMATION, *SET_SECURITY),
    "S_DSQMSetMachineProperties": declared("dscomm", 19, PATH, *props(), u32("dwContext")),
    "S_DSCreateServersCache": declared(
        "dscomm", 20, u32("pdwIndex", "io"), Param("lplpSiteServers", "io", write_servers), *SIGNED
    ),
    "S_DSQMGetObjectSecurity": declared(
        "dscomm", 21, KIND, GUID, INFORMATION, *ASK_SECURITY, u32("dwContext"), *SIGNED
    ),
    "S_DSValidateServer": declared(
        "dscomm",
        22,
        plain("pguidEnterpriseId", "i", Encoder.guid),
        u32("fSetupMode"),
        u32("dwContext"),
        u32("dwClientBuffMaxSize"),
        some_octets("pClientBuff", "i", "dwClientBuffMaxSize", "dwClientBuffSize"),
        u32("dwClientBuffSize"),
        handle("pphServerAuth", "o"),
    ),
    "S_DSCloseServerHandle": declared("dscomm", 23, handle("pphServerAuth", "io")),
    "S_DSGetServerPort": declared("dscomm", 27, u32("fIP")),
    "S_DSQMSetMachinePropertiesSignProc": declared(
        "dscomm",
        0,
        *CHALLENGE,
        some_octets("abSignature", "io", "dwSignatureMaxSize", "pdwSignatureSize"),
        u32("pdwSignatureSize", "io"),
        u32("dwSignatureMaxSize"),
        callback=True,
    ),
    "S_DSQMGetObjectSecurityChallengeResponceProc": declared(
        "dscomm",
        1,
        *CHALLENGE,
        some_octets("abCallengeResponce", "io", "dwCallengeResponceMaxSize", "pdwCallengeResponceSize"),
        u32("pdwCallengeResponceSize", "io"),
        u32("dwCallengeResponceMaxSize"),
        callback=True,
    ),
    "S_InitSecCtx": declared(
        "dscomm",
        2,
        u32("dwContext"),
        octets("pServerbuff", "i", "dwServerBuffSize"),
        u32("dwServerBuffSize"),
        u32("dwClientBuffMaxSize"),
        some_octets("pClientBuff", "o", "dwClientBuffMaxSize", "pdwClientBuffSize"),
        u32("pdwClientBuffSize", "o"),
        callback=True,
    ),
    "S_DSGetComputerSites": declared(
        "dscomm2",
        0,
        pointed("pwcsPathName", "i", Encoder.text),
        u32("pdwNumberOfSites", "o"),
        Param("ppguidSites", "o", write_sites),
        *SIGNED,
    ),
    "S_DSGetPropsEx": declared("dscomm2", 1, KIND, PATH, *props("io"), *SIGNED),
    "S_DSGetPropsGuidEx": declared(
        "dscomm2", 2, KIND, pointed("pGuid", "i", Encoder.guid), *props("io"), *SIGNED
    ),
    "S_DSBeginDeleteNotification": declared("dscomm2", 3, PATH, handle("pHandle", "o"), AUTH),
    "S_DSNotifyDelete": declared("dscomm2", 4, handle("Handle")),
    "S_DSEndDeleteNotification": declared("dscomm2", 5, handle("pHandle", "io"), result=False),
    "S_DSIsServerGC": declared("dscomm2", 6),
    "S_DSGetGCListInDomain": declared(
        "dscomm2",
        8,
        pointed("lpwszComputerName", "i", Encoder.text),
        pointed("lpwszDomainName", "i", Encoder.text),
        pointed("lplpwszGCList", "o", Encoder.text),
        *SIGNED,
    ),
}


# ---- The values

G1 = "d1c4e7a2-5b3f-4e8d-9a60-7f1b2c3d4e5f"
G2 = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
G3 = "fedcba98-7654-3210-0123-456789abcdef"
NO_HANDLE = {"attributes": 0, "uuid": "00000000-0000-0000-0000-000000000000"}
H1 = {"attributes": 0, "uuid": "3c9a1e70-86d2-4b15-a3f8-09c2d7e64b81"}
H2 = {"attributes": 0x01020304, "uuid": "71b2c3d4-e5f6-4789-8abc-def012345678"}
DESCRIPTOR = "010004801400000020000000000000002c000000010500"
TOKEN = "4e544c4d53535000010000000702"
HASH = "9f3be2477d01c6584a"
MACHINE = "CN=WS-17"
QUEUE = "ws-17\\orders"
UNICODE = "Büro\\Größe\u20ac\U0001d4bd"
OK, SMALL_BUFFER, NOT_FOUND = 0, 0xC00E0028, 0xC00E050F


def pv(vt: int, value: Any = None) -> Values:
    """Return a PROPVARIANT."""
    return {"vt": vt, "value": value}


KINDS = {
    "empty": pv(0),
    "null": pv(1),
    "i1": pv(16, 0x41),
    "ui1": pv(17, 0xC8),
    "i2": pv(2, -2),
    "ui2": pv(18, 0xBEEF),
    "i4": pv(3, -123456),
    "ui4": pv(19, 0xDEADBEEF),
    "i8": pv(20, -0x0102030405060708),
    "ui8": pv(21, 0xF1E2D3C4B5A69788),
    "bool-true": pv(11, 65535),
    "bool-false": pv(11, 0),
    "clsid": pv(72, G1),
    "clsid-null": pv(72),
    "lpwstr": pv(31, QUEUE),
    "lpwstr-empty": pv(31, ""),
    "lpwstr-null": pv(31),
    "blob": pv(65, {"hex": "0102030405"}),
    "blob-empty": pv(65, {"hex": ""}),
    "blob-null": pv(65),
    "vector-ui1": pv(VECTOR | 17, [1, 128, 255]),
    "vector-ui1-empty": pv(VECTOR | 17, []),
    "vector-ui1-null": pv(VECTOR | 17),
    "vector-ui2": pv(VECTOR | 18, [1, 0xFFFE, 0x1234]),
    "vector-i4": pv(VECTOR | 3, [-1, 70000]),
    "vector-ui4": pv(VECTOR | 19, [101, 0x89ABCDEF]),
    "vector-ui4-empty": pv(VECTOR | 19, []),
    "vector-ui8": pv(VECTOR | 21, [1, 0x8000000000000002]),
    "vector-clsid": pv(VECTOR | 72, [G1, G2, G3]),
    "vector-clsid-empty": pv(VECTOR | 72, []),
    "vector-clsid-null": pv(VECTOR | 72),
    "vector-lpwstr": pv(VECTOR | 31, ["a", "bc", UNICODE]),
    "vector-lpwstr-holes": pv(VECTOR | 31, ["odd", None, ""]),
    "vector-lpwstr-empty": pv(VECTOR | 31, []),
    "vector-variant": pv(VECTOR | 12, [pv(17, 7), pv(31, "in"), pv(72, G2), pv(1)]),
    "vector-variant-nested": pv(
        VECTOR | 12,
        [
            pv(VECTOR | 12, [pv(31, "deep"), pv(20, -9)]),
            pv(VECTOR | 31, ["x", "yz"]),
            pv(65, {"hex": "aabbcc"}),
        ],
    ),
    "vector-variant-empty": pv(VECTOR | 12, []),
    "vector-variant-null": pv(VECTOR | 12),
}
MIXED = [pv(31, MACHINE), pv(72, G3), pv(17, 1), pv(65, {"hex": DESCRIPTOR}), pv(VECTOR | 31, ["n1", "n22"])]
NULLS = [pv(1), pv(1), pv(1)]


def properties(*variants: Values) -> Values:
    """Return the three parameters of properties with these values."""
    return {"cp": len(variants), "aProp": [101 + n for n in range(len(variants))], "apVar": list(variants)}


def signed(signature: str = "") -> Values:
    """Return a server signature and its size, as in a response."""
    return {"pbServerSignature": signature, "pdwServerSignatureSize": len(signature) // 2}


def asked(size: int = 128, auth: Values = H1) -> Values:
    """Return the server's handle and the room for its signature, as in a request."""
    return {"phServerAuth": auth, "pdwServerSignatureSize": size}


def columns(*ids: int) -> Values:
    """Return an MQCOLUMNSET."""
    return {"cCol": len(ids), "aCol": list(ids)}


def restriction(*parts: tuple[int, int, Values]) -> Values:
    """Return an MQRESTRICTION."""
    return {"cRes": len(parts), "paPropRes": [{"rel": r, "prop": p, "prval": v} for r, p, v in parts]}


def sort(*keys: tuple[int, int]) -> Values:
    """Return an MQSORTSET."""
    return {"cCol": len(keys), "aCol": [{"propColumn": column, "dwOrder": order} for column, order in keys]}


ValueSet = tuple[str, str, str, Values]  # method, direction, label, values


def request(method: str, label: str, base: Values | None = None, /, **values: Any) -> ValueSet:
    """Return a case of a request: the base values, with others."""
    return method, "request", label, (base or {}) | values


def response(method: str, label: str, base: Values | None = None, /, **values: Any) -> ValueSet:
    """Return a case of a response: the base values, with others."""
    return method, "response", label, (base or {}) | values


def statuses() -> Iterator[ValueSet]:
    """Yield the responses that have only a return value."""
    for method in (
        "S_DSDeleteObject",
        "S_DSSetProps",
        "S_DSSetObjectSecurity",
        "S_DSDeleteObjectGuid",
        "S_DSSetPropsGuid",
        "S_DSSetObjectSecurityGuid",
        "S_DSQMSetMachineProperties",
        "S_DSNotifyDelete",
    ):
        for label, status in (("ok", OK), ("failed", NOT_FOUND)):
            yield response(method, label, status=status)
    for label, status in (("port", 2103), ("none", 0)):
        yield response("S_DSGetServerPort", label, status=status)
    for label, status in (("yes", 1), ("no", 0)):
        yield response("S_DSIsServerGC", label, status=status)


def creating() -> Iterator[ValueSet]:
    """Yield the cases of creating and deleting an object."""
    method = "S_DSCreateObject"
    bare = {
        "dwObjectType": 1,
        "pwcsPathName": None,
        "dwSDLength": 0,
        "SecurityDescriptor": None,
        **properties(pv(19, 5)),
        "pObjGuid": None,
    }
    full = {"pwcsPathName": QUEUE, "dwSDLength": 23, "SecurityDescriptor": DESCRIPTOR, "pObjGuid": G1}
    yield request(method, "no-pointers", bare)
    for name in ("pwcsPathName", "SecurityDescriptor", "pObjGuid"):
        size = {"dwSDLength": 23} if name == "SecurityDescriptor" else {}
        yield request(method, f"only-{name}", bare, **size, **{name: full[name]})
    yield request(method, "all-pointers", bare, **full)
    yield request(method, "mixed-properties", bare, **full, **properties(*MIXED))
    yield request(method, "empty-descriptor", bare, SecurityDescriptor="", pwcsPathName="")
    yield response(method, "guid", pObjGuid=G2, status=OK)
    yield response(method, "no-guid", pObjGuid=None, status=0xC00E0018)
    yield request("S_DSDeleteObject", "path", dwObjectType=1, pwcsPathName=QUEUE)
    yield request("S_DSDeleteObject", "unicode", dwObjectType=5, pwcsPathName=UNICODE)
    yield request("S_DSDeleteObject", "empty-path", dwObjectType=58, pwcsPathName="")
    yield request("S_DSDeleteObjectGuid", "guid", dwObjectType=8, pGuid=G3)


def getting() -> Iterator[ValueSet]:
    """Yield the cases of the four methods that get properties."""
    for method in ("S_DSGetProps", "S_DSGetPropsGuid", "S_DSGetPropsEx", "S_DSGetPropsGuidEx"):
        named = "Guid" not in method
        target = {"pwcsPathName": MACHINE} if named else {"pGuid": G1}
        yield request(method, "nulls", dwObjectType=2, **target, **properties(*NULLS), **asked())
        yield request(method, "mixed", dwObjectType=3, **target, **properties(*MIXED), **asked(0, NO_HANDLE))
        if not named:
            yield request(
                method, "no-guid", dwObjectType=6, pGuid=None, **properties(pv(1)), **asked(131072, H2)
            )
        yield response(method, "mixed", apVar=MIXED, **signed(HASH), status=OK)
        yield response(method, "unsigned", apVar=NULLS, **signed(), status=SMALL_BUFFER)
    for label, variant in KINDS.items():
        yield response("S_DSGetPropsGuid", f"kind-{label}", apVar=[variant], **signed(HASH), status=OK)


def setting() -> Iterator[ValueSet]:
    """Yield the cases of the methods that set properties."""
    for label, variant in KINDS.items():
        yield request(
            "S_DSSetProps",
            f"kind-{label}",
            dwObjectType=1,
            pwcsPathName=QUEUE,
            **properties(variant, pv(17, 0x5A)),
        )
    yield request("S_DSSetPropsGuid", "one", dwObjectType=1, pGuid=G2, **properties(pv(18, 3)))
    yield request("S_DSSetPropsGuid", "mixed", dwObjectType=1, pGuid=G2, **properties(*MIXED))
    method = "S_DSQMSetMachineProperties"
    yield request(method, "one", pwcsPathName=MACHINE, **properties(pv(11, 65535)), dwContext=0)
    yield request(method, "mixed", pwcsPathName="W", **properties(*MIXED), dwContext=0x11223344)


def security() -> Iterator[ValueSet]:
    """Yield the cases of the methods that get and set security."""
    targets: tuple[tuple[str, Values], ...] = (
        ("S_DSGetObjectSecurity", {"pwcsPathName": QUEUE}),
        ("S_DSGetObjectSecurityGuid", {"pGuid": G1}),
        ("S_DSQMGetObjectSecurity", {"pGuid": G3}),
    )
    for method, target in targets:
        target |= {"dwContext": 0xCAFE0001} if "QM" in method else {}
        yield request(
            method, "some", dwObjectType=1, **target, SecurityInformation=7, nLength=23, **asked(256, H2)
        )
        yield request(
            method,
            "none",
            dwObjectType=2,
            **target,
            SecurityInformation=0x80000000,
            nLength=0,
            **asked(0, NO_HANDLE),
        )
        yield response(
            method, "some", pSecurityDescriptor=DESCRIPTOR, lpnLengthNeeded=23, **signed(HASH), status=OK
        )
        yield response(
            method,
            "unsigned",
            pSecurityDescriptor="0102030405060708",
            lpnLengthNeeded=8,
            **signed(),
            status=OK,
        )
        yield response(
            method, "none", pSecurityDescriptor="", lpnLengthNeeded=96, **signed(), status=0xC00E0023
        )
    for method, target in (
        ("S_DSSetObjectSecurity", {"pwcsPathName": MACHINE}),
        ("S_DSSetObjectSecurityGuid", {"pGuid": G2}),
    ):
        base = {"dwObjectType": 1, **target, "SecurityInformation": 4}
        for label, descriptor in (("some", DESCRIPTOR), ("none", None), ("empty", "")):
            yield request(
                method, label, base, pSecurityDescriptor=descriptor, nLength=len(descriptor or "") // 2
            )


def lookups() -> Iterator[ValueSet]:
    """Yield the cases of a query."""
    method = "S_DSLookupBegin"
    bare = {
        "pwcsContext": None,
        "pRestriction": None,
        "pColumns": columns(101),
        "pSort": None,
        "phServerAuth": H1,
    }
    three = restriction((4, 101, pv(72, G1)), (5, 103, pv(31, QUEUE)), (2, 104, pv(17, 9)))
    yield request(method, "bare", bare)
    yield request(method, "context", bare, pwcsContext="LDAP://x")
    yield request(method, "restrictions-null", bare, pRestriction={"cRes": 0, "paPropRes": None})
    yield request(method, "restrictions-0", bare, pRestriction=restriction())
    yield request(method, "restrictions-1", bare, pRestriction=restriction((4, 206, pv(19, 4))))
    yield request(method, "restrictions-3", bare, pRestriction=three)
    yield request(
        method,
        "restrictions-vectors",
        bare,
        pRestriction=restriction(
            (0, 222, pv(VECTOR | 72, [G2, G3])),
            (1, 209, pv(VECTOR | 31, ["p", "qr"])),
            (3, 239, pv(65, {"hex": "c0ffee"})),
        ),
    )
    yield request(method, "columns-null", bare, pColumns={"cCol": 0, "aCol": None})
    yield request(method, "columns-0", bare, pColumns=columns())
    yield request(method, "columns-4", bare, pColumns=columns(101, 103, 1102, 0xFFFFFFFE))
    yield request(method, "sort-null", bare, pSort={"cCol": 0, "aCol": None})
    yield request(method, "sort-0", bare, pSort=sort())
    yield request(method, "sort-1", bare, pSort=sort((103, 1)))
    yield request(method, "sort-2", bare, pSort=sort((103, 1), (101, 0)))
    yield request(
        method,
        "all",
        pwcsContext="ctx",
        pRestriction=three,
        pColumns=columns(101, 102, 103),
        pSort=sort((103, 0), (102, 1)),
        phServerAuth=H2,
    )
    yield response(method, "handle", pHandle=H2, status=OK)
    yield response(method, "no-handle", pHandle=NO_HANDLE, status=0xC00E0043)
    method = "S_DSLookupNext"
    yield request(method, "some", Handle=H2, dwSize=5, **asked())
    yield request(method, "none", Handle=NO_HANDLE, dwSize=0, **asked(0, NO_HANDLE))
    for label, size, found, signature in (
        ("full", 5, MIXED, HASH),
        ("fewer", 128, MIXED[:2], HASH),
        ("one-unsigned", 3, [pv(3, -7)], ""),
        ("none", 5, [], ""),
        ("none-signed", 1, [], HASH),
        ("no-room", 0, [], ""),
    ):
        yield response(
            method, label, dwSize=size, dwOutSize=len(found), pbBuffer=found, **signed(signature), status=OK
        )


def handles() -> Iterator[ValueSet]:
    """Yield the cases of the methods that are about handles and the greeting of a server."""
    for method, name in (("S_DSLookupEnd", "phContext"), ("S_DSCloseServerHandle", "pphServerAuth")):
        yield request(method, "handle", **{name: H1})
        yield request(method, "no-handle", **{name: NO_HANDLE})
        yield response(method, "closed", **{name: NO_HANDLE}, status=OK)
        yield response(method, "failed", **{name: H2}, status=0xC00E0001)
    method = "S_DSValidateServer"
    for label, size, token in (
        ("token", 14, TOKEN),
        ("part-of-buffer", 4096, TOKEN),
        ("empty-buffer", 16, ""),
        ("no-buffer", 0, ""),
    ):
        yield request(
            method,
            label,
            pguidEnterpriseId=G1,
            fSetupMode=int(size == 16),
            dwContext=0xA1B2C3D4,
            dwClientBuffMaxSize=size,
            pClientBuff=token,
            dwClientBuffSize=len(token) // 2,
        )
    yield response(method, "handle", pphServerAuth=H1, status=OK)
    yield response(method, "no-handle", pphServerAuth=NO_HANDLE, status=0xC00E052B)
    for label, path in (("path", QUEUE), ("odd-path", "ab")):
        yield request("S_DSBeginDeleteNotification", label, pwcsPathName=path, phServerAuth=H2)
    yield response("S_DSBeginDeleteNotification", "handle", pHandle=H1, status=OK)
    yield response("S_DSBeginDeleteNotification", "no-handle", pHandle=NO_HANDLE, status=NOT_FOUND)
    yield request("S_DSNotifyDelete", "handle", Handle=H2)
    yield request("S_DSNotifyDelete", "no-handle", Handle=NO_HANDLE)
    for direction in ("request", "response"):
        yield "S_DSEndDeleteNotification", direction, "handle", {"pHandle": H2}
        yield "S_DSEndDeleteNotification", direction, "no-handle", {"pHandle": NO_HANDLE}


def servers() -> Iterator[ValueSet]:
    """Yield the cases of the methods about servers and sites."""
    for flag in (0, 1):
        yield request("S_DSGetServerPort", f"ip-{flag}", fIP=flag)
    yield request("S_DSIsServerGC", "empty")
    method = "S_DSCreateServersCache"
    for label, text in (("text", "SITE1;10BSC1"), ("odd-text", "S;10"), ("empty", ""), ("null", None)):
        yield request(method, label, pdwIndex=3, lplpSiteServers=text, **asked())
        yield response(method, label, pdwIndex=3, lplpSiteServers=text, **signed(HASH), status=OK)
    yield response(method, "no-more", pdwIndex=4, lplpSiteServers=None, **signed(), status=0xC00E0523)
    method = "S_DSGetComputerSites"
    for label, path in (("path", MACHINE), ("no-path", None)):
        yield request(method, label, pwcsPathName=path, **asked(64, H2))
    for label, sites, signature in (
        ("three", [G1, G2, G3], HASH),
        ("one", [G2], ""),
        ("none", [], HASH),
        ("null", None, ""),
    ):
        yield response(
            method,
            label,
            pdwNumberOfSites=len(sites or []),
            ppguidSites=sites,
            **signed(signature),
            status=NOT_FOUND if sites is None else OK,
        )
    method = "S_DSGetGCListInDomain"
    for label, computer, domain in (
        ("domain", None, "corp.example"),
        ("both", "ws-17", "corp"),
        ("computer", "ws-170", None),
        ("neither", None, None),
    ):
        yield request(method, label, lpwszComputerName=computer, lpwszDomainName=domain, **asked())
    for label, text, signature in (
        ("two", "10gc1.corp,10gc2.corp", HASH),
        ("empty", "", ""),
        ("null", None, ""),
    ):
        yield response(method, label, lplpwszGCList=text, **signed(signature), status=OK)


def callbacks() -> Iterator[ValueSet]:
    """Yield the cases of the three callback procedures."""
    for method, name in (
        ("S_DSQMSetMachinePropertiesSignProc", "Signature"),
        ("S_DSQMGetObjectSecurityChallengeResponceProc", "CallengeResponce"),
    ):
        for label, challenge, text, most in (
            ("some", "c1c2c3c4c5", HASH, 128),
            ("full", "77" * 32, HASH, 9),
            ("empty", "c1c2", "", 128),
            ("no-room", "", "", 0),
        ):
            answer = {f"ab{name}": text, f"pdw{name}Size": len(text) // 2, f"dw{name}MaxSize": most}
            yield request(
                method,
                label,
                abChallenge=challenge,
                dwCallengeSize=len(challenge) // 2,
                dwContext=0xCAFE0001,
                **answer,
            )
            yield response(method, label, answer, status=OK if text else 0xC00E03EB)
    for label, text, most in (
        ("some", TOKEN, 4096),
        ("full", TOKEN, 14),
        ("empty", "", 16),
        ("no-room", "", 0),
    ):
        yield request(
            "S_InitSecCtx",
            label,
            dwContext=0xA1B2C3D4,
            pServerbuff=text,
            dwServerBuffSize=len(text) // 2,
            dwClientBuffMaxSize=most,
        )
        yield response(
            "S_InitSecCtx",
            label,
            pClientBuff=text,
            pdwClientBuffSize=len(text) // 2,
            dwClientBuffMaxSize=most,
            status=0x00090312 if text else OK,
        )


SOURCES = (creating, getting, setting, security, lookups, handles, servers, callbacks, statuses)


# ---- The cases


def encode(method: Method, direction: str, values: Values, syntax: str, big_endian: bool) -> str:
    """Return the stub in hex."""
    out = Encoder(syntax, big_endian)
    for param in method.sent(direction):
        out.construct(partial(param.write, out, values))
    if direction == "response" and method.result:
        out.u32(values["status"])
    return out.data.hex()


def ordered(method: Method, direction: str, values: Values) -> Values:
    """Return the values in the order of the IDL, and refuse a missing or a needless one."""
    present = method.sent(direction)
    wanted = {param.name for param in present} | {param.extra for param in present if param.extra}
    names = [param.name for param in method.params if param.name in wanted]
    names += ["status"] if direction == "response" and method.result else []
    assert set(names) == set(values), (names, values)
    return {name: values[name] for name in names}


def cases() -> Iterator[Values]:
    """Yield every value set in every syntax."""
    for source in SOURCES:
        for name, direction, label, values in source():
            method = METHODS[name]
            values = ordered(method, direction, values)
            for syntax, big_endian in SYNTAXES:
                yield {
                    "name": f"{name} {direction} {label} {syntax}{'-be' if big_endian else ''}",
                    "interface": method.interface,
                    "callback": method.callback,
                    "opnum": method.opnum,
                    "direction": direction,
                    "syntax": syntax,
                    "big_endian": big_endian,
                    "values": values,
                    "hex": encode(method, direction, values, syntax, big_endian),
                }


def main() -> None:
    """Print all cases, one on a line."""
    sys.stdout.write("[\n" + ",\n".join(json.dumps(case) for case in cases()) + "\n]\n")


if __name__ == "__main__":
    main()
