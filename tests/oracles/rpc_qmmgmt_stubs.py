"""Stub data of the RPC interface qmmgmt (MS-MQMR section 6), written from the documents alone.

Prints a JSON list of cases {"name", "opnum", "direction", "syntax", "big_endian", "values", "hex"}; each
case comes in NDR little endian, NDR big endian and NDR64 little endian (MS-RPCE 2.2.5).

In NDR a union tag and an arm are aligned to their own types, and a structure holding a union to its largest
arm (PROPVARIANT: 8); in NDR64 tag and arm go to the largest arm, and a structure ends at its alignment.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Callable
from typing import Any

VT_VECTOR = 0x1000
VT_EMPTY, VT_NULL, VT_I2, VT_I4, VT_BOOL, VT_VARIANT, VT_I1 = 0, 1, 2, 3, 11, 12, 16
VT_UI1, VT_UI2, VT_UI4, VT_I8, VT_UI8, VT_LPWSTR, VT_BLOB, VT_CLSID = 17, 18, 19, 20, 21, 31, 65, 72
NUMBERS = {
    VT_I1: "b",
    VT_UI1: "B",
    VT_I2: "h",
    VT_UI2: "H",
    VT_I4: "i",
    VT_UI4: "I",
    VT_I8: "q",
    VT_UI8: "Q",
    VT_BOOL: "H",
}
VECTORS = (VT_UI1, VT_UI2, VT_I4, VT_UI4, VT_UI8, VT_CLSID, VT_LPWSTR, VT_VARIANT)
JsonDict = dict[str, Any]


class Stub:
    """A stub under construction in one transfer syntax."""

    def __init__(self, ndr64: bool, big_endian: bool) -> None:
        self.ndr64 = ndr64
        self.order = ">" if big_endian else "<"
        self.word = 8 if ndr64 else 4  # size and alignment of pointers and of array counts
        self.data = bytearray()
        self.next_id = 0x00020000
        self.queue: list[Callable[[], None]] = []

    def align(self, size: int) -> None:
        """Fill with zero octets up to a multiple of size."""
        self.data += bytes(-len(self.data) % size)

    def number(self, code: str, value: int) -> None:
        """Write a number, aligned to its own size."""
        self.align(struct.calcsize("<" + code))
        self.data += struct.pack(self.order + code, value)

    def count(self, value: int) -> None:
        """Write a maximum count, an offset or an actual count."""
        self.number("Q" if self.ndr64 else "I", value)

    def enum(self, value: int) -> None:
        """Write an enum: 16 bits in NDR, 32 bits in NDR64."""
        self.number("i" if self.ndr64 else "h", value)

    def guid(self, text: str) -> None:
        """Write a GUID structure (alignment 4)."""
        self.align(4)
        value = uuid.UUID(text)
        self.data += value.bytes if self.order == ">" else value.bytes_le

    def pointer(self, pointee: Callable[[], None] | None) -> None:
        """Write the referent id of a unique pointer (None: NULL) and defer its pointee."""
        if pointee is None:
            self.count(0)
            return
        self.count(self.next_id)
        self.next_id += 4
        self.queue.append(pointee)

    def top(self, write: Callable[[], None]) -> None:
        """Write one parameter or pointee, and behind it the pointees it holds, depth first."""
        outer, self.queue = self.queue, []
        write()
        mine, self.queue = self.queue, outer
        for pointee in mine:
            self.top(pointee)

    def string(self, text: str) -> None:
        """Write a conformant varying string of wchar_t with its terminator."""
        raw = (text + "\0").encode("utf-16-be" if self.order == ">" else "utf-16-le")
        for value in (len(raw) // 2, 0, len(raw) // 2):
            self.count(value)
        self.data += raw

    def text_pointer(self, text: str | None) -> None:
        """Write a unique pointer to a string."""
        self.pointer(None if text is None else lambda: self.string(text))

    def union(self, write_tag: Callable[[], None], largest: int) -> None:
        """Write a union tag; largest is the alignment of the largest arm, which counts in NDR64."""
        if self.ndr64:
            self.align(largest)
        write_tag()
        if self.ndr64:
            self.align(largest)

    def end_structure(self, alignment: int) -> None:
        """Write the trailing gap of a structure, which NDR64 alone has."""
        if self.ndr64:
            self.align(alignment)

    def mgmt_object(self, value: JsonDict) -> None:
        """Write a MGMT_OBJECT (without what it points to)."""
        kind = value["type"]
        self.align(self.word)
        self.enum(kind)
        self.union(lambda: self.enum(kind), self.word)
        if kind == 2:
            queue = value["pQueueFormat"]
            self.pointer(None if queue is None else lambda: self.queue_format(queue))
        else:
            self.number("I", value["Reserved1" if kind == 1 else "Reserved2"])
        self.end_structure(self.word)

    def queue_format(self, value: JsonDict) -> None:
        """Write a QUEUE_FORMAT (without what it points to)."""
        kind, arm = value["m_qft"], value["arm"]
        self.align(self.word)
        self.number("B", kind)
        self.number("B", value["m_SuffixAndFlags"])
        self.number("H", value["m_reserved"])
        self.union(lambda: self.number("B", kind), self.word)
        if kind in (1, 4, 5):
            self.guid(arm)
        elif kind == 2:
            self.guid(arm["Lineage"])
            self.number("I", arm["Uniquifier"])
        elif kind in (3, 8):
            self.text_pointer(arm)
        elif kind == 6:
            self.align(self.word)
            self.guid(arm["m_DlGuid"])
            self.text_pointer(arm["m_pwzDomain"])
        elif kind == 7:
            self.number("I", arm["m_address"])
            self.number("I", arm["m_port"])
        self.end_structure(self.word)

    def array(self, items: list[Any], write: Callable[[Any], None]) -> None:
        """Write a conformant array: the maximum count and the elements."""
        self.count(len(items))
        for item in items:
            write(item)

    def counted(self, items: list[Any], write: Callable[[Any], None]) -> None:
        """Write a structure of a count and a pointer to an array (BLOB, CAUB, CALPWSTR, ...)."""
        self.align(self.word)
        self.number("I", len(items))
        self.pointer((lambda: self.array(items, write)) if items else None)

    def variant(self, item: JsonDict) -> None:
        """Write a PROPVARIANT (without what it points to); its alignment is 8 for LARGE_INTEGER."""
        vt, value = item["vt"], item["value"]
        self.align(8)
        for code, number in (("H", vt), ("B", 0), ("B", 0), ("I", 0)):
            self.number(code, number)
        self.union(lambda: self.number("H", vt), 8)
        if vt in NUMBERS:
            self.number(NUMBERS[vt], value)
        elif vt == VT_LPWSTR:
            self.text_pointer(value)
        elif vt == VT_CLSID:
            self.pointer(lambda: self.guid(value))
        elif vt == VT_BLOB:
            self.counted(list(bytes.fromhex(value["hex"])), lambda octet: self.number("B", octet))
        elif vt & VT_VECTOR and vt ^ VT_VECTOR in VECTORS:
            self.counted(value, self.element(vt ^ VT_VECTOR))
        elif vt not in (VT_EMPTY, VT_NULL):
            raise ValueError(f"no arm for vt {vt:#x}")
        self.end_structure(8)

    def element(self, vt: int) -> Callable[[Any], None]:
        """Return the writer of one element of a vector."""
        if vt in NUMBERS:
            return lambda value: self.number(NUMBERS[vt], value)
        writers: dict[int, Callable[[Any], None]] = {
            VT_CLSID: self.guid,
            VT_LPWSTR: self.text_pointer,
            VT_VARIANT: self.variant,
        }
        return writers[vt]


def encode(opnum: int, direction: str, values: JsonDict, ndr64: bool, big_endian: bool) -> bytes:
    """Return the stub of one request or response."""
    stub = Stub(ndr64, big_endian)
    if direction == "request":
        stub.top(lambda: stub.mgmt_object(values["pObjectFormat"]))
        if opnum == 0:
            stub.number("I", values["cp"])
            stub.array(values["aProp"], lambda value: stub.number("I", value))
            stub.top(lambda: stub.array(values["apVar"], stub.variant))
        else:
            stub.string(values["lpwszAction"])
    else:
        if opnum == 0:
            stub.top(lambda: stub.array(values["apVar"], stub.variant))
        stub.number("I", values["status"])
    return bytes(stub.data)


GUIDS = [
    "00112233-4455-6677-8899-aabbccddeeff",
    "41208ee0-e970-11d1-9b9e-00e02c064c39",
    "deadbeef-0102-0304-0506-0708090a0b0c",
]
MACHINE: JsonDict = {"type": 1, "Reserved1": 0}


def var(vt: int, value: Any = None) -> JsonDict:
    """Return one apVar item."""
    return {"vt": vt, "value": value}


def vec(vt: int, *items: Any) -> JsonDict:
    """Return one apVar item that is a vector."""
    return var(VT_VECTOR | vt, list(items))


def queue_object(m_qft: int, suffix: int, arm: Any, reserved: int = 0) -> JsonDict:
    """Return a MGMT_OBJECT of a queue."""
    return {
        "type": 2,
        "pQueueFormat": {"m_qft": m_qft, "m_SuffixAndFlags": suffix, "m_reserved": reserved, "arm": arm},
    }


def sequence_info(seq_id: int, seq_no: int, prev_no: int) -> JsonDict:
    """Return a VT_BLOB of a SEQUENCE_INFO packet (MS-MQMQ 2.2.5.1), little endian in every syntax."""
    return var(VT_BLOB, {"hex": struct.pack("<qII", seq_id, seq_no, prev_no).hex()})


def info(target: JsonDict, props: list[int]) -> JsonDict:
    """Return the values of a GetInfo request: every apVar is VT_NULL."""
    return {"pObjectFormat": target, "cp": len(props), "aProp": props, "apVar": [var(VT_NULL) for _ in props]}


def queue_properties(subqueues: JsonDict) -> list[JsonDict]:
    """Return the 27 queue properties with the types of MS-MQMQ 2.3.12."""
    source = vec(
        VT_VARIANT,
        vec(VT_LPWSTR, "DIRECT=OS:target\\private$\\orders", "DIRECT=TCP:10.0.0.7\\q"),
        vec(VT_CLSID, GUIDS[0], GUIDS[1]),
        vec(VT_UI8, 0x0123456789ABCDEF, 2**64 - 1),
        vec(VT_UI4, 17, 0xFFFFFFFF),
        vec(VT_I4, 1700000000, -1),
        vec(VT_UI4, 0, 3),
    )
    history = vec(
        VT_VARIANT,
        vec(VT_UI4, 0, 0x80000008, 2),
        vec(VT_I4, 1700000001, 1700000002, 1700000003),
        vec(VT_I4, 0, -1072824319, 0),
        vec(
            VT_VARIANT,
            vec(VT_LPWSTR, "\\\\server"),
            vec(VT_LPWSTR),
            vec(VT_LPWSTR, "10.0.0.1", "192.168.100.200"),
        ),
    )
    return [
        var(VT_LPWSTR, "server\\private$\\orders"),
        var(VT_LPWSTR, "DIRECT=OS:server\\private$\\orders"),
        var(VT_LPWSTR, "PRIVATE"),
        var(VT_LPWSTR, "REMOTE"),
        var(VT_LPWSTR, "YES"),
        var(VT_LPWSTR, "NO"),
        var(VT_UI4, 12),
        var(VT_UI4, 34567),
        var(VT_UI4, 3),
        var(VT_UI4, 4096),
        var(VT_LPWSTR, "WAITING"),
        vec(VT_LPWSTR, "IP=10.0.0.1", "IPv6=fe80::1"),
        sequence_info(0x0102030405060708, 9, 8),
        var(VT_I4, 1700000000),
        var(VT_UI4, 2),
        sequence_info(0x0102030405060708, 10, 9),
        sequence_info(0x0102030405060708, 12, 11),
        sequence_info(-2, 13, 12),
        var(VT_UI4, 5),
        var(VT_UI4, 3),
        var(VT_I4, 1700000060),
        var(VT_UI4, 30),
        var(VT_UI4, 1),
        source,
        history,
        var(VT_UI4, 2),
        subqueues,
    ]


def cases() -> list[tuple[str, int, str, JsonDict]]:
    """Return every case as (name, opnum, direction, values)."""
    direct = queue_object(3, 0, "OS:server\\private$\\orders")
    queues = {
        "null": {"type": 2, "pQueueFormat": None},
        "unknown": queue_object(0, 0, None),
        "public": queue_object(1, 0, GUIDS[0]),
        "public-journal": queue_object(1, 0x81, GUIDS[0], 0xA1B2),
        "private": queue_object(2, 0, {"Lineage": GUIDS[1], "Uniquifier": 0x01020304}),
        "direct": direct,
        "direct-odd": queue_object(3, 0x83, "TCP:1\\q"),
        "direct-null": queue_object(3, 0, None),
        "machine": queue_object(4, 0x82, GUIDS[2]),
        "connector": queue_object(5, 4, GUIDS[0]),
        "dl": queue_object(6, 0, {"m_DlGuid": GUIDS[1], "m_pwzDomain": "example.com"}),
        "dl-null-domain": queue_object(6, 0, {"m_DlGuid": GUIDS[1], "m_pwzDomain": None}),
        "multicast": queue_object(7, 0, {"m_address": 0xEA010203, "m_port": 8001}),
        "subqueue": queue_object(8, 5, "OS:server\\q;late"),
        "subqueue-null": queue_object(8, 5, None),
    }
    machine = [
        vec(VT_LPWSTR, "DIRECT=OS:server\\private$\\orders", "PUBLIC=" + GUIDS[0]),
        vec(VT_LPWSTR, "server\\private$\\a"),
        var(VT_LPWSTR, "\\\\dc1"),
        var(VT_LPWSTR, "CONNECTED"),
        var(VT_LPWSTR, ""),
        var(VT_I8, 0x0000000123456789),
    ]
    mixed = [
        var(VT_UI1, 0xAB),
        var(VT_I2, -2),
        var(VT_I8, -3),
        var(VT_LPWSTR, "x\u00e9\U0001f600"),
        var(VT_NULL),
    ]
    rest = [
        var(VT_EMPTY),
        var(VT_I1, -1),
        var(VT_UI2, 0xFEDC),
        var(VT_UI8, 2**63),
        var(VT_BOOL, 0xFFFF),
        var(VT_CLSID, GUIDS[2]),
        var(VT_BLOB, {"hex": ""}),
        vec(VT_UI1, 1, 2, 3),
        vec(VT_UI2, 4, 5, 6),
        var(VT_BLOB, {"hex": "0a0b0c"}),
        var(VT_LPWSTR),
        vec(VT_LPWSTR, "a", None, "b"),
    ]
    out: list[tuple[str, int, str, JsonDict]] = [
        ("getinfo-machine-1", 0, "request", info(MACHINE, [6])),
        ("getinfo-machine-6", 0, "request", info({"type": 1, "Reserved1": 0x11223344}, [1, 2, 3, 4, 5, 6])),
        ("getinfo-session", 0, "request", info({"type": 3, "Reserved2": 0x55667788}, [1])),
    ]
    out += [("getinfo-queue-" + name, 0, "request", info(target, [7])) for name, target in queues.items()]
    out.append(("getinfo-queue-27", 0, "request", info(direct, list(range(1, 28)))))
    for name, items, status in (
        ("machine-6", machine, 0),
        ("machine-empty-vectors", [vec(VT_LPWSTR), vec(VT_LPWSTR)], 0),
        ("queue-27", queue_properties(vec(VT_LPWSTR, "first", "sec", "")), 0),
        (
            "queue-27-subqueues-variant",
            queue_properties(vec(VT_VARIANT, *(var(VT_LPWSTR, name) for name in ("first", "sec", "")))),
            0,
        ),
        ("mixed", mixed, 0),
        ("other-types", rest, 0),
        ("failure", [var(VT_NULL)], 0xC00E0006),
    ):
        out.append((f"getinfo-response-{name}", 0, "response", {"apVar": items, "status": status}))
    for action in ("CONNECT", "DISCONNECT", "TIDY", "PAUSE", "RESUME", "EOD_RESEND", "tidy", "pause", ""):
        target = direct if action.upper() in ("PAUSE", "RESUME", "EOD_RESEND") else MACHINE
        out.append(
            (f"action-{action or 'empty'}", 1, "request", {"pObjectFormat": target, "lpwszAction": action})
        )
    out += [
        (f"action-response-{status:08x}", 1, "response", {"status": status})
        for status in (0, 0xC00E0001, 0xC00E0006)
    ]
    return out


def main() -> None:
    """Print the cases in the three representations."""
    print(
        json.dumps(
            [
                {
                    "name": f"{name}-{syntax}-{'be' if big else 'le'}",
                    "opnum": opnum,
                    "direction": direction,
                    "syntax": syntax,
                    "big_endian": big,
                    "values": values,
                    "hex": encode(opnum, direction, values, syntax == "ndr64", big).hex(),
                }
                for name, opnum, direction, values in cases()
                for syntax, big in (("ndr", False), ("ndr", True), ("ndr64", False))
            ],
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
