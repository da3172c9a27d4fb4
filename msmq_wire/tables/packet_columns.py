"""The table ``packets``: one row a frame, with the fields of its innermost IP packet, as Arrow columns.

The rule kept here: a row says what `msmq_wire.capture.link.dissect` says of the frame; plain TCP segments are
read by column.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.index import Array, Chunk
from msmq_wire.capture.link import Datagram, dissect
from msmq_wire.capture.network import IcmpUnreachable, Skipped, UdpDatagram
from msmq_wire.capture.regular_frames import RegularFrames, read_regular
from msmq_wire.reassembly.bulk import gather
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.tables.spark_types import TIME, columns_of, field, nulls, record_fields

PACKET_SCHEMA = pa.schema(
    [
        *record_fields("capture"),
        field("path", pa.string(), "The file.", nullable=False),
        field("frame_no", pa.int64(), "Number of the frame in its file, from 1.", nullable=False),
        field("offset", pa.int64(), "Where the record of the frame starts in the uncompressed file."),
        field(
            "number", pa.int64(), "Number of the frame in its capture, 0 for a copy there.", nullable=False
        ),
        field("clock", pa.int64(), "The largest time so far in its file, ns since 1970.", nullable=False),
        field("time", TIME, "When it was captured, UTC."),
        *record_fields("time_ns"),
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

PROTOCOLS = ("tcp", "udp", "fragment", "icmp_unreachable")
_LARGEST = (1 << 31) - 1
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


def packet_batch(
    chunk: Chunk,
    clocks: Array,
    *,
    capture: str,
    path: str,
    base: int,
    payload: bool,
    frame: bool,
    columns: frozenset[str] | None = None,
) -> Any:
    """The rows of the frames of a chunk of ``path``.

    ``clocks`` are their times so far, ``base`` is what the numbers in the file are added to for those in the
    capture; ``payload`` and ``frame`` say whether these columns are filled. Of the columns, those that
    ``columns`` names, in the order of `PACKET_SCHEMA`.
    """
    count = len(chunk)
    target = columns_of(PACKET_SCHEMA, columns)
    time = pa.array(chunk.time, mask=chunk.time == 0)
    made: dict[str, Callable[[], Any]] = {
        "capture": lambda: pa.repeat(pa.scalar(capture, pa.string()), count),
        "path": lambda: pa.repeat(pa.scalar(path, pa.string()), count),
        "frame_no": lambda: pa.array(chunk.numbers),
        "offset": lambda: pa.array(chunk.record + chunk.position),
        "number": lambda: pa.array(chunk.numbers + base),
        "clock": lambda: pa.array(clocks),
        "time": lambda: time.cast(pa.timestamp("ns", "UTC")).cast(TIME, safe=False),
        "time_ns": lambda: time,
        "link_type": lambda: pa.array(chunk.link_type),
        "captured": lambda: pa.array(chunk.captured),
        "length": lambda: pa.array(chunk.length),
        "error": lambda: nulls(count, pa.string()),
        "frame": lambda: _pieces(chunk.data, chunk.at, chunk.captured if frame else None),
    }
    if not made.keys() >= set(target.names):
        made |= FrameEnds(chunk).columns(payload)
    return pa.RecordBatch.from_arrays([made[name]() for name in target.names], schema=target)


def error_batch(
    capture: str, path: str, reason: str, offset: int, columns: frozenset[str] | None = None
) -> Any:
    """The row of a file that is damaged, or cannot be read: frame 0."""
    numbers = dict.fromkeys(("frame_no", "number", "clock", "link_type", "captured", "length"), 0)
    row = {"capture": capture, "path": path, "offset": offset, "error": reason} | numbers
    return pa.RecordBatch.from_pylist([row], schema=columns_of(PACKET_SCHEMA, columns))


class FrameEnds:
    """Who sent the frames of a chunk to whom: arrays of numbers, -1 for none.

    ``src`` and ``dst`` are places in ``hosts``, packed addresses; a frame without them is ``skipped``.
    ``talked`` are the places, and the ports, of those that an ICMP message is about, by its place.
    """

    def __init__(self, chunk: Chunk) -> None:
        names = ("sport", "dport", "seq", "ack", "flags", "cut", "payload_length", "protocol", "src", "dst")
        self._chunk = chunk
        self._found = {name: np.full(len(chunk), -1, np.int64) for name in (*names, "skipped")}
        self.hosts: dict[bytes, int] = {}
        self._reasons: dict[str, int] = {}
        self._payloads: dict[int, bytes] = {}
        self.talked: dict[int, dict[str, int]] = {}
        self._plain = read_regular(chunk)
        self._take_plain(self._plain)
        for index in np.sort(np.concatenate((self._plain.other, self._plain.udp))).tolist():
            self._take(index, dissect(chunk.frame(index))[0])

    def __getitem__(self, name: str) -> Array:
        return self._found[name]

    def talking(self, name: str) -> Array:
        """An end of what each frame is about: what an ICMP message quotes says which conversation that is."""
        found = self._found[name].copy()
        for index, ends in self.talked.items():
            found[index] = ends[name]
        return found

    def _take_plain(self, plain: RegularFrames) -> None:
        index, found = plain.index, self._found
        for name in ("sport", "dport", "seq", "ack", "flags", "cut"):
            found[name][index] = getattr(plain, name)
        found["payload_length"][index] = plain.size
        found["protocol"][index] = PROTOCOLS.index("tcp")
        # The highest bit tells IPv6: its addresses may be zero.
        six: Array = plain.source >> np.uint64(63) != 0
        for target, endpoint, half in ((found["src"], plain.source, 0), (found["dst"], plain.target, 2)):
            four = np.flatnonzero(~six)
            address, back = np.unique((endpoint[four] >> np.uint64(16)).astype(">u4"), return_inverse=True)
            target[index[four]] = self._named(address.view("V4"))[back]
            if plain.wide is not None and six.any():
                rows = np.flatnonzero(six)
                packed = np.ascontiguousarray(plain.wide[rows, half : half + 2].astype(">u8"))
                address, back = np.unique(packed.view("V16").ravel(), return_inverse=True)
                target[index[rows]] = self._named(address)[back]

    def _named(self, addresses: Array) -> Array:
        return np.array([self._host(address.tobytes()) for address in addresses], np.int64)

    def _host(self, address: bytes) -> int:
        return self.hosts.setdefault(address, len(self.hosts))

    def _take(self, index: int, datagram: Datagram) -> None:
        def found(**numbers: int) -> None:
            for name, number in numbers.items():
                self._found[name][index] = number

        if isinstance(datagram, Skipped):
            found(skipped=self._reasons.setdefault(datagram.reason, len(self._reasons)))
            return
        found(src=self._host(datagram.src), dst=self._host(datagram.dst))
        match datagram:
            case IcmpUnreachable():
                found(protocol=PROTOCOLS.index("icmp_unreachable"))
                self.talked[index] = {
                    "src": self._host(datagram.original_src),
                    "dst": self._host(datagram.original_dst),
                    "sport": datagram.original_sport,
                    "dport": datagram.original_dport,
                }
                return
            case TcpSegment():
                found(protocol=PROTOCOLS.index("tcp"), sport=datagram.sport, dport=datagram.dport)
                found(seq=datagram.seq, ack=datagram.ack, flags=datagram.flags, cut=datagram.cut)
            case UdpDatagram():
                found(protocol=PROTOCOLS.index("udp"), sport=datagram.sport, dport=datagram.dport)
                found(cut=datagram.cut)
            case IpFragment():
                found(protocol=PROTOCOLS.index("fragment"))
        found(payload_length=len(datagram.payload))
        self._payloads[index] = datagram.payload

    def _pieces(self) -> Any:
        """The payloads: pieces of the chunk, but for those that were put together from something else."""
        count, plain = len(self._chunk), self._plain
        at, size = np.zeros(count, np.int64), np.zeros(count, np.int64)
        at[plain.index], size[plain.index] = plain.at, plain.size
        made = _pieces(self._chunk.data, at, size)
        missing = self._found["payload_length"] < 0
        if not self._payloads and not missing.any():
            return made
        order = np.arange(count)
        extra = pa.array(list(self._payloads.values()), pa.binary())
        order[list(self._payloads)] = np.arange(len(extra)) + count
        return pa.concat_arrays([made, extra]).take(pa.array(order, mask=missing))

    def columns(self, payload: bool) -> dict[str, Callable[[], Any]]:
        """What makes the columns that the frames themselves do not have."""
        hosts = [str(ipaddress.ip_address(host)) for host in self.hosts]
        texts = {"src": hosts, "dst": hosts, "protocol": list(PROTOCOLS), "skipped": list(self._reasons)}
        made = {name: partial(_column, column, texts.get(name)) for name, column in self._found.items()}
        pieces = self._pieces if payload else partial(nulls, len(self._chunk), pa.binary())
        none = self["src"] < 0
        return made | {
            "conversation": lambda: pa.array(self.conversation(), mask=none),
            "payload": pieces,
        }

    def skipped(self) -> dict[str, int]:
        """How many frames have no hosts, by reason."""
        return {reason: int((self["skipped"] == place).sum()) for reason, place in self._reasons.items()}

    def conversation(self) -> Array:
        """A number that all frames between two hosts share; it means nothing for frames without hosts."""
        src, dst = self.talking("src"), self.talking("dst")
        hashes: Array = np.array([_hash(host) for host in self.hosts] or [0], np.uint64)
        one, other = hashes[src], hashes[dst]
        low: Array = np.minimum(one, other)
        high: Array = np.maximum(one, other)
        mixed: Array = low * _MIX[0] ^ high * _MIX[1]
        found: Array = (mixed ^ mixed >> np.uint64(31)).view(np.int64)
        return found


@lru_cache(1 << 16)
def _hash(host: bytes) -> int:
    """A number for an address, the same in every process."""
    number = 0xCBF29CE484222325
    for byte in host:
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return number


def _column(found: Array, texts: list[str] | None) -> Any:
    """Numbers, or the texts that they stand for, null for -1."""
    numbers = pa.array(found, mask=found < 0)
    return numbers if texts is None else pa.array(texts, pa.string()).take(numbers)


def _pieces(data: bytearray, at: Array, size: Array | None) -> Any:
    """The pieces of a buffer as a binary array that owns its bytes; nulls without a size."""
    if size is None:
        return nulls(len(at), pa.binary())
    if int(size.sum()) > _LARGEST:
        raise AssertionError("a chunk is smaller than what 32-bit offsets reach")
    offsets = np.zeros(len(at) + 1, np.int32)
    np.cumsum(size, out=offsets[1:])
    return pa.Array.from_buffers(
        pa.binary(), len(at), [None, pa.py_buffer(offsets), pa.py_buffer(gather(data, at, size))]
    )
