"""TCP fields of all regular frames of a chunk at once, as arrays.

The rule kept here: a frame is regular only when `msmq_wire.capture.link.dissect` gives a `TcpSegment` with
the same values, or a UDP datagram that is surely not MSMQ. Everything else (fragments, tunnels, extension
headers, whatever is cut or contradicts itself) is left to it.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from msmq_wire.capture.index import Array, Chunk, rows_at
from msmq_wire.capture.link import path_of
from msmq_wire.capture.network import IPV4, IPV6, TUNNEL_PORTS
from msmq_wire.capture.protocol_names import NAMED_TUNNELS
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT

_ETHERNET, _COOKED, _COOKED_V2, _ONLY_IPV4, _ONLY_IPV6 = 1, 113, 276, 228, 229
_RAW_IP = (12, 14, 101)
_LOOPBACK = (0, 108)
_VLAN_TAGS = (0x8100, 0x88A8, 0x9100, 0x9200)
_MOST_TAGS = 2
_VLAN_BITS, _VLAN = 12, 0xFFF
_STACK_BITS = _MOST_TAGS * _VLAN_BITS
_TCP, _UDP = 6, 17

_IPV4_HEADER = np.dtype(
    {
        "names": ["first", "total", "fragment", "protocol", "src", "dst"],
        "formats": ["u1", ">u2", ">u2", "u1", ">u4", ">u4"],
        "offsets": [0, 2, 6, 9, 12, 16],
        "itemsize": 20,
    }
)
_IPV6_HEADER = np.dtype(
    {
        "names": ["first", "length", "protocol", "src", "dst"],
        "formats": ["u1", ">u2", "u1", "2>u8", "2>u8"],
        "offsets": [0, 4, 6, 8, 24],
        "itemsize": 40,
    }
)
_PORTS = np.dtype([("sport", ">u2"), ("dport", ">u2"), ("length", ">u2")])
_TCP_HEADER = np.dtype(
    [
        ("sport", ">u2"), ("dport", ">u2"), ("seq", ">u4"), ("ack", ">u4"), ("word", ">u2"),
        ("window", ">u2"),
    ]
)  # fmt: skip
# Odd, so that multiplying loses nothing; the high bit keeps IPv6 apart from IPv4.
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))
_WIDE = np.uint64(1 << 63)


class RegularFrames(msgspec.Struct, frozen=True, eq=False):
    """TCP segments by column, in the order of the capture.

    ``index`` is the place of the frame in its chunk. ``source`` and ``target`` (uint64) stand for address and
    port: equal endpoints have equal numbers, and different ones different numbers unless IPv6 addresses
    collide, which ``wide`` (four uint64 a row: the addresses, None without IPv6) tells. ``at`` and ``size``
    are where the payload is in the chunk, ``cut`` counts payload bytes that were not captured. ``other`` are
    the places of the frames that are not plain, ``udp`` those of plain UDP datagrams. ``path`` stands for
    `TcpSegment.path` (see `path_at`), equal numbers for equal ones; None where that is empty for all.
    ``window`` is that of the header, -1 where unknown, ``network`` where the IP header is in the chunk, -1
    where that does not matter (see `hop_limit_at`).
    """

    index: Array
    source: Array
    target: Array
    sport: Array
    dport: Array
    seq: Array
    ack: Array
    flags: Array
    at: Array
    size: Array
    cut: Array
    window: Array
    network: Array
    wide: Array | None
    other: Array
    udp: Array
    path: Array | None = None
    other_paths: tuple[bytes, ...] = ()

    def path_at(self, row: int) -> bytes:
        """Return the path of a segment."""
        if self.path is None:
            return b""
        number = int(self.path[row])
        return self.other_paths[-1 - number] if number < 0 else _path(number)

    def _with_paths(self, segments: list[TcpSegment]) -> tuple[Array | None, tuple[bytes, ...]]:
        """Return the column with the paths of more segments, and the paths it has negative numbers for."""
        if self.path is None and not any(one.path for one in segments):
            return None, ()
        own = np.zeros(len(self.index), np.int64) if self.path is None else self.path
        numbers = {_path(number): number for number in [0, *np.unique(own).tolist()]}
        others = tuple({one.path: None for one in segments if one.path not in numbers})
        numbers |= {path: -1 - place for place, path in enumerate(others)}
        return np.append(own, [numbers[one.path] for one in segments]), others

    def with_segments(self, index: list[int], segments: list[TcpSegment]) -> RegularFrames:
        """Return the same with more rows, for frames at ``index`` that carry ``segments``; ``at`` is -1."""
        count = len(segments)
        six = np.array([len(one.src) == 16 for one in segments])
        packed = b"".join(one.src.rjust(16, b"\0") + one.dst.rjust(16, b"\0") for one in segments)
        addresses = np.frombuffer(packed, ">u8").astype(np.uint64).reshape(count, 4)
        sport = np.array([one.sport for one in segments], np.uint64)
        dport = np.array([one.dport for one in segments], np.uint64)
        wide: Array | None = None
        if self.wide is not None or six.any():
            own = np.zeros((len(self.index), 4), np.uint64) if self.wide is None else self.wide
            wide = np.concatenate((own, np.where(six[:, None], addresses, np.uint64(0))))
        added: dict[str, Array] = {
            "index": np.array(index, np.int64),
            "source": _endpoint(addresses[:, 1], sport, addresses[:, :2], six),
            "target": _endpoint(addresses[:, 3], dport, addresses[:, 2:], six),
            "sport": sport.astype(np.int64),
            "dport": dport.astype(np.int64),
            "seq": np.array([one.seq for one in segments], np.uint32),
            "ack": np.array([one.ack for one in segments], np.uint32),
            "flags": np.array([one.flags for one in segments], np.int64),
            "at": np.full(count, -1, np.int64),
            "size": np.array([len(one.payload) for one in segments], np.int64),
            "cut": np.array([one.cut for one in segments], np.int64),
            "window": np.array([one.window for one in segments], np.int32),
            "network": np.full(count, -1, np.int64),
        }
        order = np.argsort(np.append(self.index, added["index"]), kind="stable")
        merged: dict[str, Any] = {
            name: np.append(getattr(self, name), column)[order] for name, column in added.items()
        }
        path, others = self._with_paths(segments)
        merged["wide"] = None if wide is None else wide[order]
        merged["path"] = None if path is None else path[order]
        return msgspec.structs.replace(self, **merged, other_paths=others)


def read_regular(chunk: Chunk) -> RegularFrames:
    """Read the headers of all frames of a chunk."""
    data = chunk.data
    end = chunk.at + chunk.captured
    stop = chunk.at + np.maximum(chunk.captured, chunk.length)
    ethertype, at, path = _link(chunk, end)

    network = at.copy()
    protocol = np.zeros(len(chunk), np.int64)
    source = np.zeros(len(chunk), np.uint64)
    target = np.zeros(len(chunk), np.uint64)
    rows = np.flatnonzero((ethertype == IPV4) & (end - at >= 20))
    if len(rows):
        header = rows_at(data, _IPV4_HEADER, at[rows])
        first, total = header["first"], header["total"].astype(np.int64)
        size = (first & 15).astype(np.int64) * 4
        good = (first >> 4 == 4) & (size >= 20) & (header["fragment"] & 0x3FFF == 0)
        good &= (total == 0) | (total >= size)
        protocol[rows] = np.where(good, header["protocol"], 0)
        stop[rows] = np.where(total > 0, at[rows] + total, stop[rows])
        source[rows], target[rows] = header["src"], header["dst"]
        at[rows] += size
    rows = np.flatnonzero((ethertype == IPV6) & (end - at >= 40))
    addresses, six = None, ethertype == IPV6
    if len(rows):
        header = rows_at(data, _IPV6_HEADER, at[rows])
        length = header["length"].astype(np.int64)
        protocol[rows] = np.where(header["first"] >> 4 == 6, header["protocol"], 0)
        at[rows] += 40
        stop[rows] = np.where(length > 0, at[rows] + length, stop[rows])
        addresses = np.zeros((len(chunk), 4), np.uint64)
        addresses[rows, :2], addresses[rows, 2:] = header["src"], header["dst"]
    end = np.minimum(end, stop)

    udp = _udp(data, np.flatnonzero((protocol == _UDP) & (end - at >= 8)), at)
    tcp = np.flatnonzero((protocol == _TCP) & (end - at >= 16))
    fields = rows_at(data, _TCP_HEADER, at[tcp])
    word = fields["word"]
    payload = at[tcp] + (word >> 12).astype(np.int64) * 4
    good = (word >> 12 >= 5) & (payload <= stop[tcp])
    if not good.all():
        tcp, fields, word, payload = tcp[good], fields[good], word[good], payload[good]
    sport, dport = fields["sport"].astype(np.uint64), fields["dport"].astype(np.uint64)
    wide = None if addresses is None else addresses[tcp]
    is_other = np.ones(len(chunk), np.bool_)
    is_other[tcp] = is_other[udp] = False
    return RegularFrames(
        index=tcp,
        source=_endpoint(source[tcp], sport, None if wide is None else wide[:, :2], six[tcp]),
        target=_endpoint(target[tcp], dport, None if wide is None else wide[:, 2:], six[tcp]),
        sport=sport.astype(np.int64),
        dport=dport.astype(np.int64),
        seq=fields["seq"].astype(np.uint32),
        ack=fields["ack"].astype(np.uint32),
        flags=(word & 0x1FF).astype(np.int64),
        at=payload,
        size=np.maximum(end[tcp] - payload, 0),
        cut=stop[tcp] - np.maximum(payload, end[tcp]),
        window=fields["window"].astype(np.int32),
        network=network[tcp],
        wide=wide,
        other=np.flatnonzero(is_other),
        udp=udp,
        path=None if path is None else path[tcp],
    )


def hop_limit_at(data: bytearray, network: int) -> int:
    """Return the hop limit (TTL) in the IP header at an offset of a chunk."""
    return data[network + 8] if data[network] >> 4 == 4 else data[network + 7]


def ident_at(data: bytearray, network: int) -> int:
    """Return the identification in the IPv4 header at an offset of a chunk, 0 in an IPv6 header."""
    return data[network + 4] << 8 | data[network + 5] if data[network] >> 4 == 4 else 0


def _path(number: int) -> bytes:
    """The path that a number of the column stands for."""
    vlans = (number >> _VLAN_BITS & _VLAN, number & _VLAN)
    return path_of(number >> _STACK_BITS, (vlan for vlan in vlans if vlan))


def _endpoint(address: Array, port: Array, wide: Array | None, six: Array) -> Array:
    narrow: Array = address << np.uint64(16) | port
    if wide is None:
        return narrow
    mixed: Array = (wide[:, 0] * _MIX[0] ^ wide[:, 1] * _MIX[1]) + port * _MIX[2]
    mixed = mixed ^ mixed >> np.uint64(29)
    return np.where(six, mixed | _WIDE, narrow)


def _udp(data: bytearray, rows: Array, at: Array) -> Array:
    """Return those of ``rows`` whose UDP datagrams are counted and nothing else."""
    header = rows_at(data, _PORTS, at[rows])
    length = header["length"]
    good = (length == 0) | (length >= 8)
    for port in (PING_PORT, MSMQ_PORT):
        good &= (header["sport"] != port) & (header["dport"] != port)
    for port in TUNNEL_PORTS:
        good &= header["dport"] != port
    for port in NAMED_TUNNELS:
        good &= header["sport"] != port
    counted: Array = rows[good]
    return counted


def _link(chunk: Chunk, end: Array) -> tuple[Array, Array, Array | None]:
    """Return the ethertype of each frame (0: not plain), where what it names starts, and its path."""
    if (chunk.link_type == _ETHERNET).all():
        ethertype, at, path = _linked(chunk, np.arange(len(chunk)), _ETHERNET, end)
    else:
        ethertype, at, path = np.zeros(len(chunk), np.int64), chunk.at.copy(), None
        for link_type in np.unique(chunk.link_type).tolist():
            rows = np.flatnonzero(chunk.link_type == link_type)
            ethertype[rows], at[rows], vlans = _linked(chunk, rows, link_type, end)
            if vlans is not None:
                path = np.zeros(len(chunk), np.int64) if path is None else path
                path[rows] = vlans
    if chunk.interface is not None and chunk.interface.any():
        interface = chunk.interface << _STACK_BITS
        path = interface if path is None else interface | path
    return ethertype, at, path


def _linked(chunk: Chunk, rows: Array, link_type: int, end: Array) -> tuple[Array, Array, Array | None]:
    data, at, captured = chunk.data, chunk.at[rows], chunk.captured[rows]
    ethertype, vlans = np.zeros(len(rows), np.int64), None
    if link_type in (_ONLY_IPV4, _ONLY_IPV6):
        ethertype[:] = IPV4 if link_type == _ONLY_IPV4 else IPV6
    elif link_type in _RAW_IP:
        ethertype = _by_version(rows_at(data, "u1", at) >> 4, 4, 6)
        ethertype[captured < 1] = 0
    elif link_type in _LOOPBACK:
        family = rows_at(data, ">u4", at)
        family = np.where(family > 0xFFFF, family.byteswap(), family)
        ethertype = _by_version(family, 2, 10, 23, 24, 28, 30)
        ethertype[captured < 4] = 0
        at = at + 4
    elif link_type in (_ETHERNET, _COOKED, _COOKED_V2):
        place, size = {_ETHERNET: (12, 14), _COOKED: (14, 16), _COOKED_V2: (0, 20)}[link_type]
        ethertype = rows_at(data, ">u2", at + place).astype(np.int64)
        ethertype[captured < size] = 0
        at = at + size
        for _ in range(_MOST_TAGS):
            tagged = np.flatnonzero(np.isin(ethertype, _VLAN_TAGS) & (end[rows] - at >= 4))
            if not len(tagged):
                break
            tag = rows_at(data, ">u2", at[tagged]).astype(np.int64) & _VLAN
            vlans = np.zeros(len(rows), np.int64) if vlans is None else vlans
            # Tag 0 gives a priority, and no VLAN.
            vlans[tagged] = np.where(tag > 0, vlans[tagged] << _VLAN_BITS | tag, vlans[tagged])
            ethertype[tagged] = rows_at(data, ">u2", at[tagged] + 2)
            at[tagged] += 4
    return ethertype, at, vlans


def _by_version(version: Array, ipv4: int, *ipv6: int) -> Array:
    """Return the ethertypes for the numbers by which a link layer names IPv4 and IPv6."""
    found: Array = np.where(version == ipv4, IPV4, np.where(np.isin(version, ipv6), IPV6, 0))
    return found
