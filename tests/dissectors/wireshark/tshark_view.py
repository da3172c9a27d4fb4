"""tshark with the dissector: capture files for it, and its output as a tree of names and values."""

from __future__ import annotations

import base64
import re
import struct
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.writer import write_pcap

__all__ = ["DISSECTOR", "Node", "Shown", "named_frame", "run", "show", "tcp_frames", "udp_frame", "write"]

DISSECTOR = Path(__file__).parents[3] / "dissectors" / "msmq_wireshark" / "msmq.lua"
_UPPER_PDU = 252
_DISSECTOR_NAME = 12
_ETHERNET = 1
_EXPERT = "msmq.expert."
_NUMBERS = re.compile(r"FT_U?INT\d+|FT_FRAMENUM")


class Node(msgspec.Struct):
    """An item of the tree: its value as JSON has it (None for a heading), and the items in it by name."""

    value: Any = None
    children: dict[str, list[Node]] = {}

    def text(self, name: str) -> Any:
        """The value of the first item with a name, None without one."""
        found = self.children.get(name)
        return found[0].value if found else None


class Shown(msgspec.Struct):
    """What the dissector shows of one frame: its trees by protocol, and the expert info by name."""

    trees: list[tuple[str, Node, list[str]]]


def run(capture: Path, *arguments: str) -> str:
    """The output of tshark with the dissector; a Lua error anywhere in it fails the test."""
    reported = subprocess.run(
        ["tshark", "-n", "-X", f"lua_script:{DISSECTOR}", "-r", str(capture), *arguments],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    assert reported.returncode == 0, reported.stderr
    assert "Lua" not in reported.stderr
    assert "_ws.lua.error" not in reported.stdout
    assert "Lua Error" not in reported.stdout
    return reported.stdout


def show(capture: Path, *arguments: str) -> list[Shown]:
    """Every frame of a capture as the dissector shows it, reserved bits that are 0 included."""
    text = run(capture, "-o", "msmq.reserved:TRUE", "-T", "pdml", *arguments)
    root = ElementTree.fromstring(text)
    return [Shown(list(_trees(packet))) for packet in root.iter("packet")]


def _trees(packet: ElementTree.Element) -> Iterator[tuple[str, Node, list[str]]]:
    for element in packet:
        name = element.get("name", "")
        if name == "msmq" or name.startswith("msmq."):
            inside = [item.get("name", "") for item in element.iter()]
            experts = [item.removeprefix(_EXPERT) for item in inside if item.startswith(_EXPERT)]
            yield name, _node(element), experts


def _node(element: ElementTree.Element) -> Node:
    name = element.get("name", "")
    node = Node(_value(element), {})
    _collect(element, name, node)
    return node


def _collect(element: ElementTree.Element, prefix: str, node: Node) -> None:
    for child in element:
        name = child.get("name", "")
        if name == "_ws.lua.text":
            # A heading without a field of its own: what is in it belongs to what it is in.
            _collect(child, prefix, node)
        elif name.startswith("msmq.") and not name.startswith(_EXPERT):
            own = prefix if name.startswith(f"{prefix}.") else "msmq"
            *headings, last = name[len(own) + 1 :].split(".")
            holder = node
            for heading in headings:
                holder = holder.children.setdefault(heading, [Node(None, {})])[0]
            holder.children.setdefault(last, []).append(_node(child))


@cache
def _types() -> dict[str, str]:
    reported = subprocess.run(
        ["tshark", "-G", "fields", "-X", f"lua_script:{DISSECTOR}"],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
        errors="replace",
    ).stdout
    rows = (line.split("\t") for line in reported.splitlines() if "\tmsmq." in line)
    return {row[2]: row[3] for row in rows if row[0] == "F"}


def _value(element: ElementTree.Element) -> Any:
    kind = _types().get(element.get("name", ""))
    shown = element.get("show", "")
    if kind is None or kind == "FT_NONE":
        return None
    if kind == "FT_BOOLEAN":
        return shown in ("1", "True")
    if kind == "FT_BYTES":
        return base64.b64encode(bytes.fromhex(element.get("value", ""))).decode("ascii")
    if _NUMBERS.fullmatch(kind):
        return int(shown, 0)
    return shown


def write(path: Path, frames: Iterable[Frame]) -> Path:
    """A capture file with these frames."""
    write_pcap(path, frames)
    return path


def named_frame(number: int, stem: str, data: bytes) -> Frame:
    """A frame of Wireshark's own link type that hands ``data`` to the dissector of a structure."""
    name = f"msmq.{stem}".encode()
    name += bytes(-len(name) & 3)
    tags = struct.pack(">HH", _DISSECTOR_NAME, len(name)) + name + bytes(4)
    return _frame(number, tags + data, _UPPER_PDU)


def _frame(number: int, data: bytes, link_type: int = _ETHERNET, length: int | None = None) -> Frame:
    return Frame(
        number=number,
        time=1_700_000_000_000_000_000 + number * 1_000_000,
        link_type=link_type,
        data=data,
        length=len(data) if length is None else length,
        position=0,
    )


def _ethernet(payload: bytes, protocol: int, client: int, *, answer: bool = False) -> bytes:
    source, target = struct.pack(">BBH", 10, 0, client), bytes((10, 1, 0, 1))
    if answer:
        source, target = target, source
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0)
    return bytes(12) + b"\x08\x00" + header + source + target + payload


def tcp_frames(
    client: int, segments: Iterable[tuple[int, bytes]], *, first: int = 1, cut: int | None = None,
    answer: bool = False,
) -> list[Frame]:  # fmt: skip
    """Frames of a connection of ``client`` to port 1801: (offset in the stream, bytes), as they were seen.

    ``cut`` is how many bytes of a segment the capture keeps.
    """
    frames = []
    for number, (offset, data) in enumerate(segments, first):
        ports = (1801, 50000) if answer else (50000, 1801)
        header = struct.pack(">HHIIHHHH", *ports, 1000 + offset, 1, 0x5018, 8192, 0, 0)
        whole = _ethernet(header + data, 6, client, answer=answer)
        kept = whole if cut is None else whole[: len(whole) - len(data) + min(cut, len(data))]
        frames.append(_frame(number, kept, length=len(whole)))
    return frames


def udp_frame(number: int, client: int, data: bytes, *, answer: bool = False, port: int = 3527) -> Frame:
    """A datagram to ``port``, or from it."""
    ports = (port, 50000) if answer else (50000, port)
    header = struct.pack(">HHHH", *ports, 8 + len(data), 0)
    return _frame(number, _ethernet(header + data, 17, client, answer=answer))
