"""Records and packets as a tree: offset, name, value, meaning, and what is wrong right where it is.

The rule kept here: it only prints nodes. At 80 columns a value goes on below itself, in a pipe every value
has one line.
"""

from __future__ import annotations

import re
from binascii import hexlify
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from functools import lru_cache
from struct import Struct
from typing import Any

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.records.record import Record
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.records.tree.heading import Heading, heading_segments, record_heading
from msmq_wire.records.tree.packet_nodes import packet_nodes
from msmq_wire.records.tree.rpc_nodes import is_rpc_packet, rpc_nodes
from msmq_wire.records.tree.srmp_nodes import srmp_nodes
from msmq_wire.records.tree.tree_node import Block, NodeOptions, TreeNode
from msmq_wire.records.tree.tree_screen import Segment, TreeScreen
from msmq_wire.records.tree.value_text import count_text, value_and_meaning
from msmq_wire.wire.musts import Anomaly

WIDE_NAMES = 38
"""Cells that names and what stands before them take at most, where a line has room."""

_DUMP_ROW = 16
_NARROW_NAMES = 23
_HEX_ROWS = 4
# Of a dump at once.
_ROWS = 64
_ENDS = re.compile(" +\n")
_LETTERS = bytes(byte if 0x20 <= byte < 0x7F else ord(".") for byte in range(256))
_NODE_STYLES = {"structure": "title", "field": "name", "bit": "dim", "anomaly": "warning", "error": "error"}


class TreeOptions(msgspec.Struct, frozen=True):
    """How trees are printed: ``body_limit`` is in bytes, 0 for no limit; ``zone`` None is local time."""

    hex: bool = False
    body_limit: int = 512
    zone: tzinfo | None = UTC


def print_packet(
    screen: TreeScreen,
    heading: Heading,
    packet: Any,
    options: TreeOptions,
    *,
    anomalies: Sequence[Anomaly] = (),
    error: DecodeError | None = None,
    remainder: bytes = b"",
    parent: int | None = None,
) -> None:
    """Print a packet below its heading, with its anomalies, its error and what follows it.

    ``parent`` is the id of the record that carried it, where there is one.
    """
    Tree(screen, options).heading(heading, packet)
    node_options = NodeOptions(everything=options.hex, zone=options.zone)
    if isinstance(packet, SrmpMessage):
        nodes = srmp_nodes(packet, node_options, anomalies=anomalies, error=error, parent=parent)
    else:
        make = rpc_nodes if is_rpc_packet(packet) else packet_nodes
        nodes = make(packet, node_options, anomalies=anomalies, error=error)
    if remainder:
        end = max((n.span.offset + n.span.length for n in nodes if n.span is not None), default=0)
        what = "were not decoded" if error is not None else "follow the packet"
        note = TreeNode("remainder", f"{count_text(len(remainder), 'byte')} {what}")
        note.block = Block(remainder, end)
        nodes.append(note)
    Tree(screen, options).nodes(nodes)


def print_record(screen: TreeScreen, record: Record, options: TreeOptions, *, via: str = "") -> None:
    """Print a record: a packet as a tree, a gap, an error or an event of a stream as one line."""
    heading = record_heading(record, via)
    if heading.size is None:
        Tree(screen, options).heading(heading, None)
        return
    print_packet(
        screen,
        heading,
        record.packet,
        options,
        anomalies=record.anomalies,
        error=record.error,
        remainder=record.remainder,
        parent=record.parent,
    )
    screen.line(())


class Tree:
    """Prints nodes, one line below the other.

    ``offsets`` and ``names`` are the widths of the columns of offsets, and of names with what is before them.
    """

    def __init__(self, screen: TreeScreen, options: TreeOptions) -> None:
        self.screen = screen
        self.options = options
        self.branch = screen.choose("├─ ", "|- ")
        self.last = screen.choose("└─ ", "`- ")
        self.down = screen.choose("│  ", "|  ")
        self.ellipsis = screen.choose("…", "...")
        narrow = screen.width is not None and screen.width < 110
        self.row = 4 if narrow else 8
        self.offsets = 4
        self.names = 0
        self.hexed = options.hex

    def heading(self, heading: Heading, packet: Any) -> None:
        """Print the first line of a record."""
        parts = heading_segments(self.screen, heading, packet, self.options.zone)
        width = self.screen.width
        if width is None:
            self.screen.line(segment for part in parts for segment in (part, ("  ", "")))
            return
        line: list[Segment] = []
        used = 0
        for text, style in parts:
            size = self.screen.cells(text) + 2
            if line and used + size > width:
                self.screen.line(line)
                line, used = [("    ", "")], 4
            if size > width - used:
                pieces = list(self.screen.fold(text, width - used))
                for piece in pieces[:-1]:
                    self.screen.line([*line, (piece, style)])
                    line, used = [("    ", "")], 4
                text = pieces[-1]
            line += [(text, style), ("  ", "")]
            used += self.screen.cells(text) + 2
        self.screen.line(line)

    def nodes(self, nodes: list[TreeNode]) -> None:
        """Print a whole tree: its widths are those of what it holds."""
        shown = list(walk(nodes, 0))
        largest = max((n.span.offset + n.span.length for n, _ in shown if n.span is not None), default=0)
        placed = any(n.span is not None or n.block is not None for n, _ in shown)
        self.offsets = max(4, len(str(largest))) if placed else 0
        # Values of calls have no bytes of their own.
        self.hexed = self.options.hex and any(n.wire for n, _ in shown)
        widths = [3 * depth + self.screen.cells(n.name) for n, depth in shown if n.kind in ("field", "bit")]
        narrow = self.hexed and self.row == 4
        self.names = min(max(widths, default=0), _NARROW_NAMES if narrow else WIDE_NAMES) + 2
        for node in nodes:
            self.node(node, "", "")

    def node(self, node: TreeNode, guide: str, below: str) -> None:
        """Print a node behind its guide, and what stands below it behind that."""
        style = _NODE_STYLES[node.kind]
        if node.kind in ("anomaly", "error"):
            self.mark(node, guide, below, style)
            return
        self.entry(node, guide, below + self.down if node.children else below, style)
        self.below(node, below)

    def below(self, node: TreeNode, below: str) -> None:
        """Print what stands below a node."""
        child_guide = below + (self.down if node.children else "   ")
        if node.block is not None:
            self.block(node.block, child_guide)
        for index, child in enumerate(node.children):
            last = index == len(node.children) - 1
            self.node(
                child, below + (self.last if last else self.branch), below + ("   " if last else self.down)
            )

    def mark(self, node: TreeNode, guide: str, below: str, style: str) -> None:
        safe = self.screen.safe
        sign = self.screen.choose("⚠", "!") if node.kind == "anomaly" else self.screen.choose("✖", "X")
        note = f" ({safe(node.note)})" if node.note else ""
        text = f"{sign} {safe(node.name)}: {safe(node.value)}{note}"
        margin = " " * self.left
        room = self.room(margin + guide)
        for index, piece in enumerate(self.screen.fold(text, room) if room else [text]):
            lead = guide if index == 0 else below + "  "
            self.screen.line([(margin, ""), (lead, "dim"), (piece, style)])

    @property
    def left(self) -> int:
        """Cells before the guides: the offset, and the bytes if they are shown; then two spaces."""
        return self.offsets + 2 + (self.row * 3 + 1 if self.hexed else 0)

    def room(self, before: str) -> int:
        """Cells left on a line, 0 where lines are not folded."""
        return 0 if self.screen.width is None else max(self.screen.width - self.screen.cells(before), 16)

    def entry(self, node: TreeNode, guide: str, below: str, style: str) -> None:
        """A node's own lines: offset, bytes, guides, name, value and meaning."""
        safe = self.screen.safe
        offset = "" if node.span is None or node.kind == "bit" else str(node.span.offset)
        gap = 2
        if node.kind != "structure":
            gap = max(self.names - self.screen.cells(guide) - self.screen.cells(node.name), 2)
        if self.screen.width is None and not (self.screen.color or self.hexed):
            text = value_and_meaning(safe(node.value), safe(node.note))
            name = f"{guide}{safe(node.name)}{' ' * gap}"
            self.screen.lines((f"{offset.rjust(self.offsets)}  {name}{text}",))
            return
        lead = self.screen.cells(guide) + self.screen.cells(node.name) + gap
        note_style = "spec" if node.kind == "structure" else "note"
        room = 0 if self.screen.width is None else max(self.screen.width - self.left - lead, 16)
        rows = list(self._value_rows(safe(node.value), safe(node.note), note_style, room))
        hexes = self.hexes(node)
        for index in range(max(len(rows), len(hexes))):
            parts: list[Segment] = [((offset if index == 0 else "").rjust(self.offsets), "dim"), ("  ", "")]
            if self.hexed:
                bytes_row = hexes[index] if index < len(hexes) else ""
                parts.append((bytes_row.ljust(self.row * 3 + 1), "dim"))
            if index == 0:
                parts += [(guide, "dim"), (safe(node.name), style), (" " * gap, "")]
            else:
                parts += [(below, "dim"), (" " * max(lead - self.screen.cells(below), 0), "")]
            self.screen.line([*parts, *(rows[index] if index < len(rows) else ())])

    def hexes(self, node: TreeNode) -> list[str]:
        """The bytes of a field, a few rows of them; a block shows its own."""
        if not self.options.hex or not node.wire or node.block is not None:
            return []
        step = self.row
        most = step * _HEX_ROWS
        rows = [node.wire[at : at + step].hex(" ") for at in range(0, min(len(node.wire), most), step)]
        left = len(node.wire) - most
        if left > 0:
            rows.append(f"{self.ellipsis} {left} more")
        return rows

    def block(self, block: Block, guide: str) -> None:
        """A long value below its field: its text, or its bytes where there is none or they are asked for."""
        limit = self.options.body_limit or len(block.data)
        if block.text is not None and not self.options.hex:
            limit = limit if len(block.data) == len(block.text) else limit // 2
            self.text(block.text, limit, guide)
        else:
            self.dump(block, limit, guide)

    def text(self, text: str, limit: int, guide: str) -> None:
        margin = " " * self.left
        room = self.room(margin + guide)
        shown = text[:limit] if self.options.body_limit else text
        for line in shown.replace("\r\n", "\n").split("\n"):
            safe = self.screen.safe(line.replace("\t", "    "))
            for piece in self.screen.fold(safe, room) if room else [safe]:
                self.screen.line([(margin, ""), (guide, "dim"), (piece, "note")])
        self.more(len(text) - len(shown), "character", guide)

    def dump(self, block: Block, limit: int, guide: str) -> None:
        data = block.data[:limit]
        step = _DUMP_ROW
        lead = self.offsets + 2 + self.screen.cells(guide)
        while self.screen.width is not None and step > 4 and lead + step * 4 + 1 > self.screen.width:
            step //= 2
        for at in range(0, len(data), _ROWS * step):
            self.dump_rows(data[at : at + _ROWS * step], block.offset + at, step, guide)
        self.more(len(block.data) - len(data), "byte", guide, dump=True)

    def dump_rows(self, data: bytes, offset: int, step: int, guide: str) -> None:
        rows = range(offset, offset + len(data), step)
        letters = data.translate(_LETTERS)
        if self.screen.color:
            digits, shown, styled = data.hex(" "), letters.decode("ascii"), self.screen.styled
            self.screen.lines(
                f"{styled(f'{row:>{self.offsets}}', 'dim')}  {styled(guide, 'dim')}"
                f"{digits[at * 3 : (at + step) * 3]:{step * 3}} {styled(shown[at : at + step], 'note')}"
                for at, row in zip(range(0, len(data), step), rows, strict=True)
            )
            return
        leads, of_digits, of_letters = _row_parts(rows, self.offsets, guide)
        parts = [b" "] * (4 * len(rows))
        parts[0::4] = leads
        parts[1::4] = of_digits.unpack(hexlify(data, b" ").ljust(of_digits.size))
        parts[3::4] = of_letters.unpack(letters.ljust(of_letters.size))
        text = b"".join(parts).decode().rstrip(" ")
        if b" " in letters[step - 1 :: step]:
            text = _ENDS.sub("\n", text)
        self.screen.stream.write(f"{text}\n")

    def more(self, count: int, noun: str, guide: str, *, dump: bool = False) -> None:
        if count <= 0:
            return
        margin = " " * (self.offsets + 2 if dump else self.left)
        text = f"{self.ellipsis} {count} more {noun}{'' if count == 1 else 's'}; --body-limit 0 shows all"
        self.screen.line([(margin, ""), (guide, "dim"), (text, "dim")])

    def _value_rows(self, value: str, note: str, note_style: str, room: int) -> Iterator[list[Segment]]:
        """A value and its meaning side by side if they fit in ``room`` cells, else one below the other."""
        cells, fold = self.screen.cells, self.screen.fold
        used = cells(value) + 2 if value and note else 0
        if not room or cells(value) + cells(note) + 2 * bool(used) <= room:
            yield [(value, ""), ("  " if used else "", ""), (note, note_style)]
            return
        if used and used <= room // 3:
            for index, piece in enumerate(fold(note, room - used)):
                yield [(value if index == 0 else " " * (used - 2), ""), ("  ", ""), (piece, note_style)]
            return
        if value:
            yield from ([(piece, "")] for piece in fold(value, room))
        if note:
            yield from ([(piece, note_style)] for piece in fold(note, room))


@lru_cache(maxsize=256)
def _row_parts(rows: range, width: int, guide: str) -> tuple[list[bytes], Struct, Struct]:
    """What stands before the rows of a dump, and how their bytes and letters are cut."""
    leads = [f"{row:>{width}}  {guide}".encode() for row in rows]
    leads[1:] = [b"\n" + lead for lead in leads[1:]]
    return leads, Struct(f"{3 * rows.step}s" * len(rows)), Struct(f"{rows.step}s" * len(rows))


def walk(nodes: list[TreeNode], depth: int) -> Iterator[tuple[TreeNode, int]]:
    """Nodes and all below them, with their depths."""
    for node in nodes:
        yield node, depth
        yield from walk(node.children, depth + 1)
