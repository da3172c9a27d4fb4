"""SRMP messages inside remote-read packets: what is told of honest ones and of those that lie.

The stubs are built by an independent writer (fixtures/build_srmp_packets.py); the PDUs, segments and the
capture around them are written here.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import uuid
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import read_capture
from msmq_wire.engines.reference import MAX_ANOMALIES
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.view import view

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "fixtures" / "srmp_packets"
CASES = sorted(path.stem for path in FOLDER.glob("*.json"))
SIZES = ("http_body_size", "msg_body_size", "msg_body_offset")
_NDR = uuid.UUID("8a885d04-1ceb-11c9-9fe8-08002b104860").bytes_le + struct.pack("<I", 2)
_NDR64 = uuid.UUID("71710533-beba-4937-8319-b5dbef9ccc36").bytes_le + struct.pack("<I", 1)
_REMOTE_READ = uuid.UUID("1a9134dd-7b39-45ba-ad88-44d01ca47f28").bytes_le
_QM2QM = uuid.UUID("1088a980-eae5-11d0-8d9b-00a02453c337").bytes_le
_HANDLE = struct.pack("<I16s", 0, bytes(range(16)))
_CLIENT, _SERVER = ("192.0.2.1", 5000), ("192.0.2.2", 2103)
_REQUESTS = {
    # phContext, LookupId, hCursor, ulAction, ulTimeout, dwRequestId and both limits.
    "R_StartReceive": (
        _REMOTE_READ,
        7,
        _HANDLE + struct.pack("<4xQ6I", 0, 0, 0, 0, 7, 0xFFFFFFFF, 0xFFFFFFFF),
    ),
    # REMOTEREADDESC without a buffer.
    "RemoteQMStartReceive": (_QM2QM, 0, struct.pack("<9IH2xI", 9, 0, 0, 0, 0, 9, 7, 0, 0, 0, 0)),
}


def facts_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))
    return found


def stub_of(name: str) -> bytes:
    lines = (FOLDER / f"{name}.hex").read_text(encoding="ascii").splitlines()
    return bytes.fromhex("".join(line for line in lines if not line.startswith("#")))


def pdu(kind: int, call: int, body: bytes) -> bytes:
    """A PDU of one fragment: first and last, little-endian, no credentials."""
    return struct.pack("<BBBBIHHI", 5, 0, kind, 3, 0x10, 16 + len(body), 0, call) + body


def conversation(facts: dict[str, Any], stub: bytes) -> list[tuple[bool, bytes]]:
    """Whether the client says it, and the PDU: bind, its answer, the request and the response."""
    interface, opnum, asked = _REQUESTS[facts["call"]]
    syntax = _NDR64 if facts["syntax"] == "ndr64" else _NDR
    offered = struct.pack("<HBx16sI", 0, 1, interface, 1) + syntax
    taken = struct.pack("<H5sxB3xHH", 5, b"2103\0", 1, 0, 0) + syntax
    return [
        (True, pdu(11, 1, struct.pack("<HHIB3x", 5840, 5840, 0, 1) + offered)),
        (False, pdu(12, 1, struct.pack("<HHI", 5840, 5840, 7) + taken)),
        (True, pdu(0, 2, struct.pack("<IHH", len(asked), 0, opnum) + asked)),
        (False, pdu(2, 2, struct.pack("<IHBx", len(stub), 0, 0) + stub)),
    ]


def capture_of(said: list[tuple[bool, bytes]]) -> bytes:
    """A pcap of raw IPv4, a segment for each PDU, a second apart."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101)]
    sequence = {True: 1000, False: 9000}
    for number, (client, data) in enumerate(said):
        (src, sport), (dst, dport) = (_CLIENT, _SERVER) if client else (_SERVER, _CLIENT)
        numbers = sequence[client], sequence[not client]
        segment = struct.pack(">HHIIHHHH", sport, dport, *numbers, 0x5018, 8212, 0, 0) + data
        ends = b"".join(bytes(int(one) for one in address.split(".")) for address in (src, dst))
        packet = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), number, 0, 64, 6, 0) + ends + segment
        parts.append(struct.pack("<IIII", 1_700_000_000 + number, 0, len(packet), len(packet)) + packet)
        sequence[client] += len(data)
    return b"".join(parts)


def stored(folder: Path, facts: dict[str, Any], stub: bytes) -> tuple[Record, list[Record]]:
    """The only message packet that the call carried, and the records whose parent it is."""
    path = folder / "read.pcap"
    path.write_bytes(capture_of(conversation(facts, stub)))
    records = list(read_capture(str(path)))
    (packet,) = (record for record in records if is_read(record))
    return packet, [record for record in records if record.parent == packet.id]


def differing(found: list[str], expected: list[str]) -> list[str]:
    """Codes that no pattern expects, and patterns that no code meets."""
    return [code for code in found if not any(fnmatchcase(code, one) for one in expected)] + [
        f"no {one}" for one in expected if not any(fnmatchcase(code, one) for code in found)
    ]


def at(packet: Any, path: str) -> Any:
    for key in path.split("."):
        packet = packet[key]
    return packet


def shown(message: Any) -> dict[str, Any]:
    return {
        "kind": message.kind,
        "label": message.label,
        "method": message.method,
        "target": message.target,
        "body": None if message.body is None else message.body.hex(),
        "extension": None if message.extension is None else message.extension.hex(),
        "roles": [part.role for part in message.parts],
    }


@pytest.mark.parametrize("case", CASES)
def test_a_stored_message_tells_its_lies_and_the_rest_still_shows(case: str, tmp_path: Path) -> None:
    facts = facts_of(case)
    packet, children = stored(tmp_path, facts, stub_of(case))
    expected = facts["message_packet"]
    assert differing([anomaly.code for anomaly in packet.anomalies], expected["anomalies"]) == []
    assert (packet.error and packet.error.code) == expected["error"]
    seen = view(packet.packet)
    assert {path: at(seen, path) for path in expected["shows"]} == expected["shows"]
    assert [record.type for record in children] == [one["type"] for one in (facts["child"],) if one]
    for child in children:
        assert differing([one.code for one in child.anomalies], facts["child"]["anomalies"]) == []
        assert shown(child.packet) == facts["child"]["shows"]


@pytest.mark.parametrize("case", CASES)
def test_every_byte_of_a_stored_message_is_consumed_or_left(case: str, tmp_path: Path) -> None:
    packet, children = stored(tmp_path, facts_of(case), stub_of(case))
    assert packet.length == sum(size for _, _, size in facts_of(case)["sections"])
    assert [one for one in (packet, *children) if one.consumed + len(one.remainder) != one.length] == []


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_number_is_pointed_at_where_it_stands(case: str, tmp_path: Path) -> None:
    facts, stub = facts_of(case), stub_of(case)
    packet, _ = stored(tmp_path, facts, stub)
    if packet.error is not None:
        return
    for reported in packet.anomalies:
        header, _, name = reported.path.partition(".")
        if header == "compound_message_header" and name in SIZES:
            place = facts["packet_at"] + reported.offset
            value = getattr(packet.packet.compound_message_header, name)
            assert (stub[place : place + reported.length], reported.length) == (struct.pack("<I", value), 4)


def test_the_message_comes_behind_its_packet_from_the_same_place(tmp_path: Path) -> None:
    facts = facts_of("simple_message")
    packet, (child,) = stored(tmp_path, facts, stub_of("simple_message"))
    assert child.id == packet.id + 1
    assert (packet.frames, packet.time, packet.stream) == ((4,), 1_700_000_003_000_000_000, 0)
    assert (packet.src, packet.dst) == ("192.0.2.2:2103", "192.0.2.1:5000")
    for name in ("capture", "frames", "time", "src", "dst", "stream", "offset"):
        assert getattr(child, name) == getattr(packet, name), name
    assert child.packet.response is None


@pytest.mark.parametrize(
    ("case", "queue", "message_id"),
    [
        (
            "simple_message",
            "DIRECT=http://machine2/msmq/private$/simpleq",
            "00000000-0000-0000-0000-000000000000\\1",
        ),
        ("multicast_message", "MULTICAST=234.1.1.1:8001", "32221eda-9376-46df-b6ed-783091123831\\4494"),
        (
            "delivery_receipt",
            "DIRECT=http://machine1/MSMQ/private$/receipts",
            "ac678228-2dd6-418b-b31f-0539ffeea853\\34826",
        ),
    ],
)
def test_a_stored_message_names_its_queue_and_itself(
    case: str, queue: str, message_id: str, tmp_path: Path
) -> None:
    _, (child,) = stored(tmp_path, facts_of(case), stub_of(case))
    assert (child.packet.queue, child.packet.message_id) == (queue, message_id)


def test_the_parts_of_a_stored_message_are_where_they_say(tmp_path: Path) -> None:
    packet, (child,) = stored(tmp_path, facts_of("extension_part"), stub_of("extension_part"))
    _, _, body = bytes(packet.packet.compound_message_header.data).partition(b"\r\n\r\n")
    octets = "application/octet-stream"
    source = "ff3af301-3196-497a-a918-72147c871a13"
    parts = [
        (one.role, one.content_type, one.content_id, one.content_length, one.length)
        for one in child.packet.parts
    ]
    assert parts == [
        ("envelope", "text/xml", "", 515, 515),
        ("body", octets, f"body@{source}", 13, 13),
        ("extension", octets, f"extension@{source}", 24, 24),
    ]
    cut = [body[one.offset : one.offset + one.length] for one in child.packet.parts]
    assert cut[0].startswith(b"<se:Envelope")
    assert cut[0].endswith(b"</se:Envelope>")
    assert cut[1:] == [b"First Message", bytes(range(24))]


@pytest.mark.slow
def test_the_committed_packets_are_what_the_builder_builds(tmp_path: Path) -> None:
    builder = ROOT / "fixtures" / "build_srmp_packets.py"
    subprocess.run([sys.executable, "-B", builder, tmp_path], check=True, capture_output=True)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {path.name: path.read_bytes() for path in FOLDER.iterdir()} == built


@given(
    case=st.sampled_from(["simple_message", "extension_part", "delivery_receipt", "cut_in_the_body"]),
    changes=st.lists(st.tuples(st.integers(0, 4000), st.binary(min_size=1, max_size=4)), max_size=6),
)
def test_any_change_of_a_stored_message_is_read_within_bounds(
    case: str, changes: list[tuple[int, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    facts, stub = facts_of(case), bytearray(stub_of(case))
    # The maximum count of the array that holds the packet, or its first section, is before it.
    first = facts["packet_at"]
    last = first + int.from_bytes(stub[first - 4 : first], "little")
    for place, data in changes:
        begin = first + place % (last - first)
        stub[begin : min(begin + len(data), last)] = data[: last - begin]
    path = tmp_path_factory.getbasetemp() / "changed.pcap"
    path.write_bytes(capture_of(conversation(facts, bytes(stub))))
    records = list(read_capture(str(path)))
    assert [record.type for record in records[:2]] == ["rpc_bind", "rpc_call"]
    assert is_read(records[2])
    for record in records[2:]:
        assert record.consumed + len(record.remainder) == record.length
        # The limit holds for each layer that judges: sections, packet, HTTP message.
        assert len(record.anomalies) <= 3 * MAX_ANOMALIES
    assert [record.parent for record in records[3:]] in ([], [records[2].id])
