"""A parser and reassembler as a reader of docs/fuzzing.md may have them, with faults that can be planted."""

from __future__ import annotations

import struct
from typing import Any, Literal, TypeAlias, get_args

Fault: TypeAlias = Literal[
    "", "endianness", "padding", "length", "sign", "bit", "order", "session", "boundary", "merged"
]
FAULTS: tuple[Fault, ...] = tuple(fault for fault in get_args(Fault) if fault)
"""A big-endian field, one padding for several items, a length that may pass PacketSize, a signed number,
a bit one place off, ConnectorType too early, a SessionHeader counted twice, a packet given a byte late,
one packet of those that arrive in one piece."""


class _Cursor:
    """Reads up to a limit."""

    def __init__(self, data: bytes, at: int, limit: int) -> None:
        self.data, self.at, self.limit = data, at, limit

    def take(self, n: int) -> bytes:
        if self.at + n > self.limit:
            raise ValueError(f"{n} bytes at {self.at} pass the end {self.limit}")
        piece = self.data[self.at : self.at + n]
        self.at += n
        return piece

    def unpack(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self.take(struct.calcsize(form)))


class Parser:
    """``parse`` returns the fields of a packet by name, or raises ValueError for what it refuses."""

    def __init__(self, fault: Fault = "") -> None:
        self._fault = fault

    def parse(self, data: bytes) -> dict[str, Any]:
        """Fields of a packet by name; ValueError if they do not fit."""
        if len(data) < 16:
            raise ValueError("no BaseHeader")
        version, _, flags, signature, size, ttrq = struct.unpack_from("<BBHIII", data)
        if signature != 0x524F494C or version != 0x10:
            raise ValueError("not a packet")
        if size < 16 or size > len(data):
            raise ValueError("PacketSize")
        out = {
            "version": version,
            "priority": flags >> (self._fault == "bit") & 7,
            "internal": flags >> 3 & 1,
            "has_session": flags >> 4 & 1,
            "has_debug": flags >> 5 & 1,
            "size": size,
            "ttrq": ttrq,
        }
        cursor = _Cursor(data, 16, len(data) if self._fault == "length" else size)
        if flags & 8:
            _reserved, internal = cursor.unpack("<HH")
            kind = internal & 15
            out |= {"kind": kind, "refused": internal >> 4 & 1}
            if kind == 1:
                out |= self._session_header(cursor)
            elif kind == 2:
                out["client"], out["server"] = cursor.take(16), cursor.take(16)
                form = "<iHH" if self._fault == "sign" else "<IHH"
                out["time_stamp"], system, _ = cursor.unpack(form)
                out["no_ping"], out["server_class"], out["qos"] = (
                    system >> 8 & 1,
                    system >> 9 & 1,
                    system >> 10 & 1,
                )
                cursor.take(512)
            elif kind == 3:
                out["recoverable_timeout"], out["ack_timeout"], _, out["window"] = cursor.unpack("<IIHH")
            else:
                raise ValueError("packet type")
            return out
        out |= {"kind": 0} | self._user_header(cursor)
        uf = out["user_flags"]
        out["sequence_number"] = None
        if uf >> 20 & 1:
            [tf] = cursor.unpack("<I")
            out["tx_first"], out["tx_last"], out["tx_fa"] = tf >> 2 & 1, tf >> 3 & 1, tf >> 1 & 1
            out["sequence"] = cursor.take(8)
            out["sequence_number"], out["previous_number"] = cursor.unpack("<II")
            if tf & 1:
                out["tx_connector"] = cursor.take(16)
        encrypted = 0
        if uf >> 19 & 1:
            sec, encrypted = self._security_header(cursor)
            out |= sec
        if uf >> 21 & 1:
            out |= self._properties(cursor, encrypted, size)
        if flags & 16:
            out |= self._session_header(_Cursor(data, size, len(data)))
        return out

    def _session_header(self, cursor: _Cursor) -> dict[str, int]:
        names = ("acknowledged", "rec_acked", "recoverable_bits", "sent", "rec_sent", "window", "_")
        raw = cursor.take(16)
        values = dict(zip(names, struct.unpack("<HHIHHHH", raw), strict=True))
        if self._fault == "endianness":
            values["recoverable_bits"] = int.from_bytes(raw[4:8], "big")
        del values["_"]
        return values

    def _queue(self, cursor: _Cursor, kind: int, allowed: tuple[int, ...]) -> bytes | None:
        if kind not in allowed:
            raise ValueError(f"queue type {kind}")
        if kind in (0, 1):
            return None
        if kind in (2, 3, 4):
            return cursor.take(4)
        if kind == 5:
            return cursor.take(16)
        if kind == 6:
            return cursor.take(20)
        [count] = cursor.unpack("<H")
        name = cursor.take(count)
        cursor.take(-(count + 2) & 3)
        return name

    def _user_header(self, cursor: _Cursor) -> dict[str, Any]:
        source, address = cursor.take(16), cursor.take(16)
        ttbr, sent_time, number, flags = cursor.unpack("<IIII")
        out = {
            "source": source,
            "address": address,
            "ttbr": ttbr,
            "sent_time": sent_time,
            "message_id": number,
            "user_flags": flags,
            "hops": flags & 31,
            "delivery": flags >> 5 & 3,
            "journal_dead": flags >> 8 & 1,
            "journal": flags >> 9 & 1,
        }
        out["destination"] = self._queue(cursor, flags >> 10 & 7, (0, 3, 5, 7))
        out["admin"] = self._queue(cursor, flags >> 13 & 7, (0, 2, 3, 5, 6, 7))
        connector = flags >> 22 & 1
        if connector and self._fault == "order":
            out["connector"] = cursor.take(16)
        out["response"] = self._queue(cursor, flags >> 16 & 7, (0, 1, 2, 3, 4, 5, 6, 7))
        if connector and self._fault != "order":
            out["connector"] = cursor.take(16)
        return out

    def _security_header(self, cursor: _Cursor) -> tuple[dict[str, Any], int]:
        flags, sid, key, sign = cursor.unpack("<HHHH")
        cert, provider = cursor.unpack("<II")
        out = {"sender_type": flags & 15, "authenticated": flags >> 4 & 1}
        total = 0
        for name, n in (
            ("sid", sid),
            ("key", key),
            ("signature", sign),
            ("cert", cert),
            ("provider", provider),
        ):
            out[name] = cursor.take(n)
            if self._fault == "padding":
                total += n
            else:
                cursor.take(-n & 3)
        if self._fault == "padding":
            cursor.take(-total & 3)
        return out, flags >> 5 & 1

    def _properties(self, cursor: _Cursor, encrypted: int, size: int) -> dict[str, Any]:
        flags, label, klass = cursor.unpack("<BBH")
        correlation = cursor.take(20)
        body_type, tag, length, allocated, privacy, hashing, cipher, extension = cursor.unpack("<IIIIIIII")
        if (
            encrypted
            and allocated > length
            and (cursor.at + 2 * label + extension + allocated + 3) & ~3 <= size
        ):
            length = allocated
        out = {
            "acks": flags & 15,
            "class": klass,
            "correlation": correlation,
            "body_type": body_type,
            "tag": tag,
            "label": cursor.take(2 * label),
            "extension": cursor.take(extension),
            "body": cursor.take(length),
            "privacy": privacy,
            "hash": hashing,
            "cipher": cipher,
        }
        cursor.take(-(2 * label + extension + length) & 3)
        return out


class Stream:
    """Cuts packets out of bytes that arrive in any pieces."""

    def __init__(self, fault: Fault = "") -> None:
        self._fault = fault
        self._held = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """The packets that are whole now."""
        self._held += piece
        packets: list[bytes] = []
        while len(self._held) >= 16 and not (packets and self._fault == "merged"):
            [flags] = struct.unpack_from("<H", self._held, 2)
            [size] = struct.unpack_from("<I", self._held, 8)
            if self._held[4:8] != b"LIOR" or not 16 <= size <= 0x400000:
                raise ValueError("lost the packet boundary")
            if flags & 16 and (self._fault == "session" or not flags & 8):
                size += 16
            if len(self._held) < size or (self._fault == "boundary" and len(self._held) == size):
                break
            packets.append(self._held[:size])
            self._held = self._held[size:]
        return packets
