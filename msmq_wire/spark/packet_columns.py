"""The table ``packets``: one row a frame, with the fields of its innermost IP packet, as Arrow columns.

The rule kept here: a row says what `msmq_wire.capture.link.dissect` says of the frame; plain TCP segments are
read by column.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.index import Array, Chunk
from msmq_wire.capture.link import Datagram, dissect
from msmq_wire.capture.network import IcmpUnreachable, Skipped, UdpDatagram
from msmq_wire.capture.plain import PlainFrames, read_plain
from msmq_wire.reassembly.bulk import gather
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.spark.arrow_types import TIME, field, nulls

__all__ = ["PACKET_SCHEMA", "error_batch", "packet_batch"]

PACKET_SCHEMA = pa.schema(
    [
        field("capture", pa.string(), "The file; with scope group the folder.", nullable=False),
        field("path", pa.string(), "The file.", nullable=False),
        field("frame_no", pa.int64(), "Number of the frame in its file, from 1.", nullable=False),
        field("offset", pa.int64(), "Where the record of the frame starts in the uncompressed file."),
        field("number", pa.int64(), "Number of the frame in its capture.", nullable=False),
        field("clock", pa.int64(), "The largest time so far in its file, ns since 1970.", nullable=False),
        field("time", TIME, "When it was captured, UTC."),
        field("time_ns", pa.int64(), "The same in nanoseconds since 1970."),
        field("link_type", pa.int64(), "LINKTYPE number.", nullable=False),
        field("captured", pa.int64(), "Captured bytes.", nullable=False),
        field("length", pa.int64(), "Bytes on the wire.", nullable=False),
        field("conversation", pa.int64(), "A number that all frames between two hosts share."),
        field("protocol", pa.string(), "tcp, udp, fragment (of IP) or icmp_unreachable."),
        field("src", pa.string(), "Address that sent it."),
        field("sport", pa.int64(), "Port that sent it."),
        field("dst", pa.string(), "Address it goes to."),
        field("dport", pa.int64(), "Port it goes to."),
        field("seq", pa.int64(), "Sequence number of TCP."),
        field("ack", pa.int64(), "Acknowledgment number of TCP."),
        field("flags", pa.int64(), "Flags of TCP: FIN is 1, SYN 2, RST 4, PSH 8, ACK 16."),
        field("cut", pa.int64(), "Bytes of the payload that were not captured."),
        field("payload_length", pa.int64(), "Captured bytes of the payload."),
        field("payload", pa.binary(), "What TCP, UDP or the fragment carries."),
        field("skipped", pa.string(), "Why there are no addresses."),
        field("frame", pa.binary(), "All captured bytes."),
        field("error", pa.string(), "What is wrong with the file at this offset; such a row is no frame."),
    ]
)
"""The Arrow schema of the table."""

_LARGEST = (1 << 31) - 1
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


def packet_batch(
    chunk: Chunk, clocks: Array, *, capture: str, path: str, base: int, payload: bool, frame: bool
) -> Any:
    """The rows of the frames of a chunk of ``path``.

    ``clocks`` are their times so far, ``base`` is what the numbers in the file are added to for those in the
    capture; ``payload`` and ``frame`` say whether these columns are filled.
    """
    count = len(chunk)
    plain = read_plain(chunk)
    rows = _Rows(count)
    rows.plain(plain)
    others = np.sort(np.concatenate((plain.other, plain.udp)))
    for index in others.tolist():
        rows.other(index, dissect(chunk.frame(index))[0])
    no_time = chunk.time == 0
    time = pa.array(chunk.time, mask=no_time)
    whole = {
        "capture": _constant(capture, count),
        "path": _constant(path, count),
        "frame_no": pa.array(chunk.numbers),
        "offset": pa.array(chunk.record + chunk.position),
        "number": pa.array(chunk.numbers + base),
        "clock": pa.array(clocks),
        "time": time.cast(pa.timestamp("ns", "UTC")).cast(TIME, safe=False),
        "time_ns": time,
        "link_type": pa.array(chunk.link_type),
        "captured": pa.array(chunk.captured),
        "length": pa.array(chunk.length),
        "error": None,
        "payload": rows.payloads(chunk, plain) if payload else None,
        "frame": _pieces(chunk.data, chunk.at, chunk.captured) if frame else None,
    }
    columns = whole | rows.columns()
    arrays = []
    for one in PACKET_SCHEMA:
        array = columns[one.name]
        arrays.append(nulls(count, one.type) if array is None else array)
    return pa.RecordBatch.from_arrays(arrays, schema=PACKET_SCHEMA)


def error_batch(capture: str, path: str, reason: str, offset: int) -> Any:
    """The row of a file that is damaged, or cannot be read: frame 0."""
    numbers = dict.fromkeys(("frame_no", "number", "clock", "link_type", "captured", "length"), 0)
    row = {"capture": capture, "path": path, "offset": offset, "error": reason} | numbers
    return pa.RecordBatch.from_pylist([row], schema=PACKET_SCHEMA)


class _Rows:
    """The fields of a chunk's frames: arrays for numbers, texts by what they stand for."""

    def __init__(self, count: int) -> None:
        self._numbers = {
            name: np.full(count, -1, np.int64)
            for name in ("sport", "dport", "seq", "ack", "flags", "cut", "payload_length")
        }
        self._hosts: dict[bytes, int] = {}
        self._src = np.full(count, -1, np.int64)
        self._dst = np.full(count, -1, np.int64)
        self._protocol = np.full(count, -1, np.int64)
        self._reasons: dict[str, int] = {}
        self._skipped = np.full(count, -1, np.int64)
        self._payloads: dict[int, bytes] = {}
        self._originals: list[tuple[int, int, int]] = []

    def plain(self, plain: PlainFrames) -> None:
        index = plain.index
        for name in ("sport", "dport", "seq", "ack", "flags", "cut"):
            self._numbers[name][index] = getattr(plain, name)
        self._numbers["payload_length"][index] = plain.size
        self._protocol[index] = 0
        # The highest bit tells IPv6: its addresses may be zero.
        six: Array = plain.source >> np.uint64(63) != 0
        for place, (endpoint, half) in enumerate(((plain.source, 0), (plain.target, 2))):
            target = (self._src, self._dst)[place]
            four = np.flatnonzero(~six)
            address, back = np.unique((endpoint[four] >> np.uint64(16)).astype(">u4"), return_inverse=True)
            target[index[four]] = self._named(address.view("V4"))[back]
            if plain.wide is not None and six.any():
                rows = np.flatnonzero(six)
                packed = np.ascontiguousarray(plain.wide[rows, half : half + 2].astype(">u8"))
                address, back = np.unique(packed.view("V16").ravel(), return_inverse=True)
                target[index[rows]] = self._named(address)[back]

    def _named(self, addresses: Array) -> Array:
        hosts = self._hosts
        found = [hosts.setdefault(address.tobytes(), len(hosts)) for address in addresses]
        return np.array(found, np.int64)

    def _host(self, address: bytes) -> int:
        return self._hosts.setdefault(address, len(self._hosts))

    def other(self, index: int, datagram: Datagram) -> None:
        if isinstance(datagram, Skipped):
            self._skipped[index] = self._reasons.setdefault(datagram.reason, len(self._reasons))
            return
        numbers = self._numbers
        self._src[index], self._dst[index] = self._host(datagram.src), self._host(datagram.dst)
        match datagram:
            case IcmpUnreachable():
                self._protocol[index] = 3
                # What is quoted says which conversation it is about.
                original = self._host(datagram.original_src), self._host(datagram.original_dst)
                self._originals.append((index, *original))
                return
            case TcpSegment():
                self._protocol[index] = 0
                numbers["seq"][index], numbers["ack"][index] = datagram.seq, datagram.ack
                numbers["flags"][index], numbers["cut"][index] = datagram.flags, datagram.cut
            case UdpDatagram():
                self._protocol[index] = 1
                numbers["cut"][index] = datagram.cut
            case IpFragment():
                self._protocol[index] = 2
        if isinstance(datagram, TcpSegment | UdpDatagram):
            numbers["sport"][index], numbers["dport"][index] = datagram.sport, datagram.dport
        numbers["payload_length"][index] = len(datagram.payload)
        self._payloads[index] = datagram.payload

    def payloads(self, chunk: Chunk, plain: PlainFrames) -> Any:
        """The payloads: pieces of the chunk, but for those that were put together from something else."""
        at, size = np.zeros(len(chunk), np.int64), np.zeros(len(chunk), np.int64)
        at[plain.index], size[plain.index] = plain.at, plain.size
        made = _pieces(chunk.data, at, size)
        missing = self._numbers["payload_length"] < 0
        if not self._payloads and not missing.any():
            return made
        order = np.arange(len(chunk))
        extra = pa.array(list(self._payloads.values()), pa.binary())
        order[list(self._payloads)] = np.arange(len(extra)) + len(chunk)
        return pa.concat_arrays([made, extra]).take(pa.array(order, mask=missing))

    def columns(self) -> dict[str, Any]:
        """The columns that the frames themselves do not have."""
        names = [str(ipaddress.ip_address(host)) for host in self._hosts]
        found = {name: pa.array(column, mask=column < 0) for name, column in self._numbers.items()}
        found["src"], found["dst"] = _texts(names, self._src), _texts(names, self._dst)
        found["protocol"] = _texts(["tcp", "udp", "fragment", "icmp_unreachable"], self._protocol)
        found["skipped"] = _texts(list(self._reasons), self._skipped)
        found["conversation"] = self._conversation()
        return found

    def _conversation(self) -> Any:
        src, dst = self._src.copy(), self._dst.copy()
        for index, src_host, dst_host in self._originals:
            src[index], dst[index] = src_host, dst_host
        hashes: Array = np.array([_hash(host) for host in self._hosts] or [0], np.uint64)
        one, other = hashes[src], hashes[dst]
        low: Array = np.minimum(one, other)
        high: Array = np.maximum(one, other)
        mixed: Array = low * _MIX[0] ^ high * _MIX[1]
        return pa.array((mixed ^ mixed >> np.uint64(31)).view(np.int64), mask=src < 0)


@lru_cache(1 << 16)
def _hash(host: bytes) -> int:
    """A number for an address, the same in every process."""
    number = 0xCBF29CE484222325
    for byte in host:
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return number


def _constant(text: str, count: int) -> Any:
    return pa.repeat(pa.scalar(text, pa.string()), count)


def _texts(names: list[str], places: Array) -> Any:
    return pa.array(names, pa.string()).take(pa.array(places, mask=places < 0))


def _pieces(data: bytearray, at: Array, size: Array) -> Any:
    """The pieces of a buffer as a binary array that owns its bytes."""
    if int(size.sum()) > _LARGEST:
        raise AssertionError("a chunk is smaller than what 32-bit offsets reach")
    offsets = np.zeros(len(at) + 1, np.int32)
    np.cumsum(size, out=offsets[1:])
    return pa.Array.from_buffers(
        pa.binary(), len(at), [None, pa.py_buffer(offsets), pa.py_buffer(gather(data, at, size))]
    )
