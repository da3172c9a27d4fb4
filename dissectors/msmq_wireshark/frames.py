# SPDX-License-Identifier: GPL-2.0-or-later
"""One frame after the other, as tshark dissected it: what it carries goes to msmq_wire's `PacketFinder`.

The rule kept here: Wireshark finds the transport payloads, msmq_wire does the rest. What a frame says may be
missing or odd; then the frame is counted as skipped.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Item
from msmq_wire.units import SECOND
from msmq_wireshark.stubs import DecryptedStubs, bytes_of, layers_of

__all__ = ["SHOWN_PROTOCOLS", "FrameFeeder"]

SHOWN_PROTOCOLS = "frame ip ipv6 tcp udp icmp icmpv6 dcerpc dcerpc.decrypted_stub_data"
"""What tshark has to print of a frame (option ``-J``)."""

_CUT = "cut before the transport header"
_LONE_FRAGMENTS = "IP fragments, not put together"
_UNREACHABLE = {"icmp": 3, "icmpv6": 1}


def _text(layer: Mapping[str, Any], name: str) -> str:
    """A field as tshark prints it, the first one of several; empty if there is none."""
    value = layer.get(name)
    if isinstance(value, list):
        value = value[0] if value else ""
    return value if isinstance(value, str) else ""


def _number(layer: Mapping[str, Any], name: str) -> int | None:
    try:
        return int(_text(layer, name), 0)
    except ValueError:
        return None


def _numbers(layer: Mapping[str, Any], name: str) -> tuple[int, ...]:
    value = layer.get(name)
    texts = value if isinstance(value, list) else [value]
    return tuple(int(text) for text in texts if isinstance(text, str) and text.isdecimal())


def _address(layer: Mapping[str, Any], name: str) -> bytes:
    try:
        return ipaddress.ip_address(_text(layer, name)).packed
    except ValueError:
        return b""


def _nanoseconds(text: str) -> int:
    """``1795166047.512000000``, or as newer ones print it ``2026-11-20T09:14:07.512000000Z``; 0 if none."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    try:
        seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp()) if "T" in whole else int(whole)
        return seconds * SECOND + int(fraction[:9].ljust(9, "0"))
    except ValueError:
        return 0


class FrameFeeder:
    """Takes the frames of a capture in order; ``frame`` returns what each completes, packets undecoded."""

    def __init__(self, finder: PacketFinder, stubs: DecryptedStubs) -> None:
        self._finder = finder
        self._stubs = stubs

    def frame(self, layers: Mapping[str, Any]) -> Sequence[Item]:
        """Take a frame: the EK layers of tshark by name."""
        frame = next(iter(layers_of(layers, "frame")), {})
        number = _number(frame, "frame_frame_number") or 0
        time = _nanoseconds(_text(frame, "frame_frame_time_epoch"))
        protocols = _text(frame, "frame_frame_protocols").split(":")
        self._stubs.take(layers)
        skipped = self._finder.skipped
        name, ip, transport = _innermost(layers, protocols)
        version = "ipv6" if "ipv6_ipv6_src" in ip else "ip"
        src, dst = _address(ip, f"{version}_{version}_src"), _address(ip, f"{version}_{version}_dst")
        if not name or not src or not dst:
            fragment = _text(ip, "ip_ip_frag_offset") not in ("", "0") or "ipv6_fraghdr" in ip
            more = ip.get("ip_ip_flags_mf") is True
            skipped[_LONE_FRAGMENTS if fragment or more else f"no TCP or UDP: {protocols[-1]}"] += 1
            return []
        field = f"{version}_{version}_fragment"
        # A fragment that contradicts another one is named as an error only.
        frames = tuple(sorted({*_numbers(ip, field), *_numbers(ip, f"{field}_error")}))
        if len(frames) < 2:
            return self._transport(name, src, dst, transport, number, time)
        if f"{field}_overlap_conflict" in ip:
            self._finder.notices["IP fragments that overlap with other content: as Wireshark joins them"] += 1
        return self._put_together(name, src, dst, transport, number, time, frames)

    def _put_together(
        self,
        name: str,
        src: bytes,
        dst: bytes,
        transport: Mapping[str, Any],
        number: int,
        time: int,
        frames: tuple[int, ...],
    ) -> Sequence[Item]:
        finder = self._finder
        finder.carried_by(number, frames)
        # The frame that completes it is counted with its content; a display filter may hide the others.
        before = min(len(frames) - 1, finder.skipped[_LONE_FRAGMENTS])
        finder.skipped[_LONE_FRAGMENTS] -= before
        finder.skipped += Counter()  # drops what counts 0
        understood = finder.understood
        records = self._transport(name, src, dst, transport, number, time)
        if finder.understood > understood:
            finder.understood += before
        elif before:
            finder.skipped["IP fragments of other traffic"] += before
        return records

    def _transport(
        self, name: str, src: bytes, dst: bytes, layer: Mapping[str, Any], number: int, time: int
    ) -> Sequence[Item]:
        finder = self._finder
        if name in _UNREACHABLE:
            return self._unreachable(name, layer, number, time)
        sport, dport = _number(layer, f"{name}_{name}_srcport"), _number(layer, f"{name}_{name}_dstport")
        if sport is None or dport is None:
            finder.skipped[_CUT] += 1
            return []
        payload = bytes_of(layer.get(f"{name}_{name}_payload"))
        if name == "udp":
            return finder.datagram(src, sport, dst, dport, payload, number, time)
        seq = _number(layer, "tcp_tcp_seq_raw")
        flags = _number(layer, "tcp_tcp_flags")
        if seq is None or flags is None:
            finder.skipped[_CUT] += 1
            return []
        ack = _number(layer, "tcp_tcp_ack_raw") or 0
        cut = max(0, (_number(layer, "tcp_tcp_len") or 0) - len(payload))
        return finder.segment(
            TcpSegment(src, sport, dst, dport, seq, ack, flags & 0x1FF, payload, number, time, cut)
        )

    def _unreachable(self, name: str, layer: Mapping[str, Any], number: int, time: int) -> Sequence[Item]:
        version = "ip" if name == "icmp" else "ipv6"
        original = next(iter(layers_of(layer, version)), {})
        src, dst = (
            _address(original, f"{version}_{version}_src"),
            _address(original, f"{version}_{version}_dst"),
        )
        kind = _number(layer, f"{name}_{name}_type")
        if kind != _UNREACHABLE[name] or not src or not dst:
            self._finder.skipped[f"{name.upper()} type {kind}"] += 1
            return []
        sport = dport = 0
        for above in ("tcp", "udp"):
            for header in layers_of(layer, above):
                sport = _number(header, f"{above}_{above}_srcport") or 0
                dport = _number(header, f"{above}_{above}_dstport") or 0
        code = _number(layer, f"{name}_{name}_code") or 0
        return self._finder.unreachable((src, sport, dst, dport), code, number, time)


def _innermost(
    layers: Mapping[str, Any], protocols: Sequence[str]
) -> tuple[str, Mapping[str, Any], Mapping[str, Any]]:
    """The innermost transport of a frame: its name, the IP layer below it, and its own layer.

    Both are empty where there is none. What an ICMP message quotes is not looked into.
    """
    protocols = _with_ip_below_labels(layers, protocols)
    seen: Counter[str] = Counter()
    found: tuple[str, Mapping[str, Any], Mapping[str, Any]] = ("", {}, {})
    for name in protocols:
        if name not in ("ip", "ipv6", "tcp", "udp", *_UNREACHABLE):
            continue
        known = layers_of(layers, name)
        if seen[name] >= len(known):
            continue
        layer = known[seen[name]]
        seen[name] += 1
        if name in ("ip", "ipv6"):
            found = ("", layer, {})
        else:
            found = (name, found[1], layer)
            if name in _UNREACHABLE:
                break
    return found


def _with_ip_below_labels(layers: Mapping[str, Any], protocols: Sequence[str]) -> Sequence[str]:
    """The protocols of a frame; newer tsharks leave out the IP layer that an MPLS label carries."""
    if "mpls" not in protocols:
        return protocols
    left = {name: len(layers_of(layers, name)) - protocols.count(name) for name in ("ip", "ipv6")}
    found: list[str] = []
    for name in protocols:
        found.append(name)
        if name == "mpls":
            version = next((version for version, count in left.items() if count > 0), None)
            if version is not None:
                left[version] -= 1
                found.append(version)
    return found
