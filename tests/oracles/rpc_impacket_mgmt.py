"""A client of qmmgmt, [MS-MQMR], by impacket: ``rpc_impacket_mgmt.py HOST PORT < JSON lines``.

From the documents alone, and with nothing of this project but its sibling `rpc_impacket_types`. One
connection (ncacn_ip_tcp, NDR 2.0, no authentication) serves all lines. A line is a call::

    {"call": "get", "machine": true, "properties": [1, 2, 6]}
    {"call": "get", "direct": "OS:host\\\\private$\\\\orders", "properties": [7, 8]}
    {"call": "get", "session": true, "properties": [1]}
    {"call": "action", "private": ["GUID", 5], "action": "PAUSE"}

A queue is named by one of ``direct``, ``subqueue`` (text), ``public``, ``queue_machine``, ``connector``
(GUID), ``private`` ([GUID, number]), ``dl`` ([GUID, domain or null]), ``multicast`` ([address, port]),
``unknown`` (true), or ``null_queue`` (true: a NULL pQueueFormat); ``suffix`` is m_SuffixAndFlags, else 0.

The answer is ``{"status": n, "values": [{"vt": n, "value": v}, ...]}``, without ``values`` for an action;
``{"fault": n}``; ``{"malformed": text, "stub": hex}`` for a result that breaks the rules of NDR; or, before
the end, ``{"closed": text}`` when the connection is lost.

The apVar array is written and read here and not by impacket, whose unions give a small arm the alignment of a
pointer and whose structures do not take the alignment of a hyper within a union.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import struct
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
logging.disable(logging.WARNING)

_types: Any = importlib.import_module("rpc_impacket_types")
_rpcrt: Any = importlib.import_module("impacket.dcerpc.v5.rpcrt")
_transport: Any = importlib.import_module("impacket.dcerpc.v5.transport")
_uuid: Any = importlib.import_module("impacket.uuid")

INTERFACE = ("41208ee0-e970-11d1-9b9e-00e02c064c39", "1.0")
GET_INFO, ACTION = 0, 1
MGMT_MACHINE, MGMT_QUEUE, MGMT_SESSION = 1, 2, 3

VT_EMPTY, VT_NULL, VT_VARIANT, VT_LPWSTR, VT_BLOB, VT_CLSID, VT_VECTOR = 0, 1, 12, 31, 65, 72, 0x1000
# I2, I4, BOOL, I1, UI1, UI2, UI4, I8, UI8
_SCALARS = {2: "h", 3: "i", 11: "h", 16: "b", 17: "B", 18: "H", 19: "I", 20: "q", 21: "Q"}
# The arms of the IDL that hold a counted array of numbers: UI1, UI2, I4, UI4, UI8.
_NUMBERS = {VT_VECTOR | vt: _SCALARS[vt] for vt in (17, 18, 3, 19, 21)}
_COUNTED = {*_NUMBERS, VT_BLOB, *(VT_VECTOR | vt for vt in (VT_LPWSTR, VT_CLSID, VT_VARIANT))}

# [MS-MQMR] 2.2.1.2; an enum is a 16-bit number on the wire, and so is the discriminant of the union.
MGMT_OBJECT = _types.structure(
    "MGMT_OBJECT",
    ("type", _types.ENUM),
    (
        "u",
        _types.union(
            "MGMT_OBJECT_UNION",
            _types.ENUM,
            Reserved1__1=_types.U32,
            pQueueFormat__2=_types.pointer(_types.QUEUE_FORMAT),
            Reserved2__3=_types.U32,
        ),
    ),
)
PROPIDS = _types.conformant(_types.U32, "PROPIDS")

# How a line names a queue: m_qft, the arm, and the arm's value from the JSON one.
_FORMATS: dict[str, tuple[int, str, Callable[[Any], Any]]] = {
    "unknown": (0, "none", lambda _: {"hex": ""}),
    "public": (1, "m_gPublicID", lambda guid: guid),
    "private": (2, "m_oPrivateID", lambda pair: {"Lineage": pair[0], "Uniquifier": pair[1]}),
    "direct": (3, "m_pDirectID", lambda text: text),
    "queue_machine": (4, "m_gMachineID", lambda guid: guid),
    "connector": (5, "m_GConnectorID", lambda guid: guid),
    "dl": (6, "m_DlID", lambda pair: {"m_DlGuid": pair[0], "m_pwzDomain": pair[1]}),
    "multicast": (7, "m_MulticastID", lambda pair: {"m_address": pair[0], "m_port": pair[1]}),
    "subqueue": (8, "m_pDirectSubqueueID", lambda text: text),
}


def _encode(kind: Any, value: Any) -> bytes:
    stub: bytes = _types.encode([("parameter", kind, value)])
    return stub


def _encode_text(kind: Any, value_of: Callable[[str], Any], text: str) -> bytes:
    """A parameter with one string, which may go beyond ASCII: `encode` gets a stand-in of its length."""
    units = text.encode("utf-16-le", "surrogatepass")
    stand_in = "?" * (len(units) // 2)
    return _encode(kind, value_of(stand_in)).replace(stand_in.encode("utf-16-le"), units, 1)


def _queue(arm: Any, name: str, suffix: int) -> dict[str, Any]:
    number, member, convert = _FORMATS[name]
    form = {"m_qft": number, "m_SuffixAndFlags": suffix, "m_reserved": 0, "u": {member: convert(arm)}}
    return {"type": MGMT_QUEUE, "u": {"pQueueFormat": form}}


def _object(line: dict[str, Any]) -> bytes:
    """pObjectFormat: a ref pointer, so the structure stands in place, and then what it points to."""
    if line.get("machine"):
        return _encode(MGMT_OBJECT, {"type": MGMT_MACHINE, "u": {"Reserved1": 0}})
    if line.get("session"):
        return _encode(MGMT_OBJECT, {"type": MGMT_SESSION, "u": {"Reserved2": 0}})
    if line.get("null_queue"):
        return _encode(MGMT_OBJECT, {"type": MGMT_QUEUE, "u": {"pQueueFormat": None}})
    (name,) = (each for each in _FORMATS if each in line)
    suffix = line.get("suffix", 0)
    if name in ("direct", "subqueue"):
        return _encode_text(MGMT_OBJECT, lambda text: _queue(text, name, suffix), line[name])
    return _encode(MGMT_OBJECT, _queue(line[name], name, suffix))


def _aligned(data: bytes, alignment: int) -> bytes:
    return data + bytes(-len(data) % alignment)


def get_info(line: dict[str, Any]) -> bytes:
    """The request of R_QMMgmtGetInfo; every element of apVar is VT_NULL. [MS-MQMR] 3.1.4.1"""
    properties = line["properties"]
    stub = _aligned(_object(line), 4) + struct.pack("<I", len(properties))
    stub += _encode(PROPIDS, properties)
    stub = _aligned(stub, 4) + struct.pack("<I", len(properties))
    for _ in properties:
        stub = _aligned(stub, 8) + struct.pack("<HBBIH", VT_NULL, 0, 0, 0, VT_NULL)
    return stub


def action(line: dict[str, Any]) -> bytes:
    """The request of R_QMMgmtAction; its text goes as a conformant varying string. [MS-MQMR] 3.1.4.2"""
    return _aligned(_object(line), 4) + _encode_text(_types.WSTRING, lambda text: text, line["action"])


class MalformedError(ValueError):
    """A result is not what NDR says."""


class Reader:
    """Reads the stub of a result."""

    def __init__(self, stub: bytes) -> None:
        self._stub = stub
        self._at = 0

    def octets(self, size: int) -> bytes:
        """The next octets."""
        data = self._stub[self._at : self._at + size]
        if len(data) != size:
            raise MalformedError(f"{size} octets wanted at {self._at} of {len(self._stub)}")
        self._at += size
        return data

    def align(self, alignment: int) -> None:
        """Go over an alignment gap, whose octets are of no meaning."""
        self.octets(-self._at % alignment)

    def number(self, kind: str) -> int:
        """A primitive number, aligned to its size."""
        size = struct.calcsize("<" + kind)
        self.align(size)
        value: int = struct.unpack("<" + kind, self.octets(size))[0]
        return value

    def end(self) -> None:
        """Nothing may be left."""
        if self._at != len(self._stub):
            raise MalformedError(f"{len(self._stub) - self._at} octets too many at {self._at}")

    def _maximum(self, count: int) -> None:
        found = self.number("I")
        if found != count:
            raise MalformedError(f"a maximum count of {found} instead of {count} before {self._at}")

    def text(self) -> str:
        """A conformant varying string of wchar_t with its terminator."""
        maximum, offset, actual = (self.number("I") for _ in range(3))
        if offset or not 0 < actual <= maximum:
            raise MalformedError(f"a string of {maximum}, {offset}, {actual} before {self._at}")
        data = self.octets(2 * actual)
        if data[-2:] != b"\0\0":
            raise MalformedError(f"a string without terminator before {self._at}")
        return data[:-2].decode("utf-16-le", "surrogatepass")

    def guid(self) -> str:
        """A GUID."""
        self.align(4)
        return str(uuid.UUID(bytes_le=self.octets(16)))

    def _counted(self, vt: int, count: int) -> Any:
        """What the pointer of a counted array refers to."""
        if vt == VT_VECTOR | VT_VARIANT:
            return self.variants(count)
        self._maximum(count)
        if vt == VT_BLOB:
            return {"hex": self.octets(count).hex()}
        if vt == VT_VECTOR | VT_CLSID:
            return [self.guid() for _ in range(count)]
        if vt == VT_VECTOR | VT_LPWSTR:
            present = [self.number("I") != 0 for _ in range(count)]
            return [self.text() if each else None for each in present]
        return [self.number(_NUMBERS[vt]) for _ in range(count)]

    def _variant(self) -> tuple[dict[str, Any], Callable[[], Any] | None]:
        """A PROPVARIANT and, for an arm with a pointer, how to read what it refers to."""
        self.align(8)  # that of its arms of 64 bits
        vt, _, _, _ = struct.unpack("<HBBI", self.octets(8))
        tag = self.number("H")
        if tag != vt:
            raise MalformedError(f"vt is {vt} and the discriminant {tag} before {self._at}")
        found: dict[str, Any] = {"vt": vt, "value": None}
        if vt in _SCALARS:
            found["value"] = self.number(_SCALARS[vt])
        if vt in _SCALARS or vt in (VT_EMPTY, VT_NULL):
            return found, None
        if vt in (VT_LPWSTR, VT_CLSID):
            present = self.number("I")
            return found, (self.text if vt == VT_LPWSTR else self.guid) if present else None
        if vt not in _COUNTED:
            raise MalformedError(f"no arm for {vt} before {self._at}")
        count, present = self.number("I"), self.number("I")
        if present:
            return found, lambda: self._counted(vt, count)
        if count:
            raise MalformedError(f"a NULL pointer to {count} elements before {self._at}")
        found["value"] = {"hex": ""} if vt == VT_BLOB else []
        return found, None

    def variants(self, count: int) -> list[dict[str, Any]]:
        """A conformant array of PROPVARIANT; after its elements what they point to, in order."""
        self._maximum(count)
        pairs = [self._variant() for _ in range(count)]
        for found, referent in pairs:
            if referent is not None:
                found["value"] = referent()
        return [found for found, _ in pairs]


def read_result(stub: bytes, count: int | None) -> dict[str, Any]:
    """The result of R_QMMgmtGetInfo with `count` properties, or for None that of R_QMMgmtAction."""
    reader = Reader(stub)
    values = {} if count is None else {"values": reader.variants(count)}
    status = reader.number("I")
    reader.end()
    return {"status": status, **values}


def _fault(data: bytes) -> int | None:
    """The status of the fault among these PDUs; impacket keeps only its text."""
    while len(data) >= 28:
        if data[2] == _rpcrt.MSRPC_FAULT:
            return int.from_bytes(data[24:28], "little")
        data = data[max(int.from_bytes(data[8:10], "little"), 16) :]
    return None


class Client:
    """A connection that is bound to qmmgmt."""

    def __init__(self, host: str, port: int) -> None:
        transport = _transport.TCPTransport(host, port)
        transport.set_connect_timeout(30)
        self._heard = b""
        self._receive = transport.recv
        transport.recv = self._listen
        self._dce = transport.get_dce_rpc()
        self._dce.connect()
        self._dce.bind(_uuid.uuidtup_to_bin(INTERFACE))

    def _listen(self, *arguments: Any, **options: Any) -> bytes:
        data: bytes = self._receive(*arguments, **options)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._heard += data
        return data

    def call(self, line: dict[str, Any]) -> dict[str, Any]:
        """Make a call; its answer."""
        get = line["call"] == "get"
        if not get and line["call"] != "action":
            raise ValueError(line["call"])
        self._heard = b""
        self._dce.call(GET_INFO if get else ACTION, get_info(line) if get else action(line))
        try:
            stub = self._dce.recv()
        except _rpcrt.DCERPCException:
            number = _fault(self._heard)
            if number is None:
                raise
            return {"fault": number}
        try:
            return read_result(stub, len(line["properties"]) if get else None)
        except MalformedError as error:
            return {"malformed": str(error), "stub": stub.hex()}


def _mapped(host: str, port: int) -> int:
    """The port that the endpoint mapper at this port knows."""
    epm: Any = importlib.import_module("impacket.dcerpc.v5.epm")
    dce = _transport.TCPTransport(host, port).get_dce_rpc()
    dce.connect()
    binding: str = epm.hept_map(host, _uuid.uuidtup_to_bin(INTERFACE), protocol="ncacn_ip_tcp", dce=dce)
    dce.disconnect()
    return int(binding.rpartition("[")[2].rstrip("]"))


def main() -> None:
    """Hold the conversation."""
    parser = argparse.ArgumentParser(description="Calls of qmmgmt from JSON lines on standard input.")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    help_text = "yes: PORT is that of the endpoint mapper; no (the default): PORT is that of qmmgmt"
    parser.add_argument("--endpoint-mapper", choices=("yes", "no"), default="no", help=help_text)
    options = parser.parse_args()
    port = _mapped(options.host, options.port) if options.endpoint_mapper == "yes" else options.port
    client = Client(options.host, port)
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            answer = client.call(json.loads(line))
        except OSError as error:
            print(json.dumps({"closed": str(error)}), flush=True)
            raise SystemExit(1) from None
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
