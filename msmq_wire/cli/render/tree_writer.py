"""Records as trees for a file or a pipe, in a fraction of the time.

The rule kept here: the same text as `tree.print_record`, which prints all that is irregular: a part of a
packet, what breaks a MUST, what calls and HTTP carry, and everything on a terminal or with its bytes.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import accumulate

from rich.cells import cell_len

from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.tree_layout import Layout, LayoutLine, LayoutRow, RowGroup
from msmq_wire.cli.render.tree_lines import PacketLines
from msmq_wire.engines.text.bounded_cache import BoundedCache
from msmq_wire.records.joined_capture import LocatedFile
from msmq_wire.records.record import Record
from msmq_wire.records.signatures import signatures_are_asked
from msmq_wire.records.tree.srmp_nodes import shortened
from msmq_wire.records.tree.tree import WIDE_NAMES, Tree, TreeOptions, print_record, walk
from msmq_wire.records.tree.tree_node import TreeNode
from msmq_wire.records.tree.value_text import count_text, timestamp_text, value_and_meaning
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.registry import PACKETS
from msmq_wire.wire.stream import Span
from msmq_wire.wire.types.wchar_text import WcharText

# A stored message has other fields, and a time that is absolute.
_REGULAR = frozenset(PACKETS.values()) - {MessagePacket}
# All bits of a word have lines.
_LONGEST_WORD = 2048


class TreeWriter:
    """Prints the records of one run."""

    def __init__(self, screen: Screen, options: TreeOptions) -> None:
        self._screen = screen
        self._options = options
        self._tree = Tree(screen, options)
        self._lines_are_free = screen.width is None and not screen.color and not options.hex
        # What is said of a signature depends on all of the packet.
        self._lines_are_free = self._lines_are_free and not signatures_are_asked()
        self._lines = PacketLines(screen.safe, options.zone)
        self._layouts: BoundedCache[tuple[LayoutLine, ...], Layout] = BoundedCache(
            lambda shape: Layout(shape, self._tree)
        )
        self._chunks = BoundedCache[tuple[RowGroup, int, int, int], tuple[str, ...]](
            lambda key: key[0].pieces(*key[1:])
        )
        self._words = BoundedCache[tuple[Layout, LayoutRow, int, int, int], str](
            lambda key: key[0].word(*key[1:]), longest=_LONGEST_WORD
        )
        self._bytes: BoundedCache[int, str] = BoundedCache(lambda size: count_text(size, "byte"))
        self._ends: BoundedCache[tuple[str, str], str] = BoundedCache(self._both_ends)
        self._names: BoundedCache[str, str] = BoundedCache(lambda name: screen.safe(shortened(name)))

    def record(self, record: Record, via: str = "") -> None:
        """Print a record as `tree.print_record` does."""
        parts: list[str | tuple[TreeNode, str]] = []
        if self._lines_are_free and _is_regular(record):
            with suppress(TypeError, AttributeError, ValueError):
                parts = self._parts(record, via)
        if not parts:
            print_record(self._screen, record, self._options, via=via)
            return
        write = self._screen.stream.write
        for part in parts:
            if part.__class__ is str:
                write(part)
            else:
                self._tree.below(*part)

    def _parts(self, record: Record, via: str) -> list[str | tuple[TreeNode, str]]:
        """Lines, and between them nodes with their guides, of which only what stands below them is printed.

        Nothing where bytes are missing.
        """
        shape, texts, sizes = self._lines.of(record.packet)
        layout = self._layouts[tuple(shape)]
        moved = [0, *accumulate(sizes)]
        offset, index = layout.end
        if offset + moved[index] != record.consumed:
            return []
        safe = self._screen.safe
        width = layout.width
        nodes: list[tuple[TreeNode, str]] = []
        for row in layout.nodes:
            make = row.line.node
            assert make is not None
            node = make(texts[row.slot], Span(row.offset + moved[row.index], sizes[row.index]))
            texts[row.slot] = value_and_meaning(safe(node.value), safe(node.note)).rstrip()
            nodes.append((node, row.inner))
            if node.children:
                cells = (3 * depth + cell_len(one.name) for one, depth in walk(node.children, row.depth + 1))
                width = max(width, *cells)
        self._tree.names = names = min(width, WIDE_NAMES) + 2
        self._tree.offsets = offsets = max(4, len(str(record.consumed)))
        for slot, size, first, last in layout.sized:
            texts[slot] = self._bytes[size + moved[last] - moved[first]]
        for row in layout.words:
            texts[row.slot] = self._words[layout, row, texts[row.slot], names, offsets]
        pieces: list[str] = []
        for chunk in layout.chunks:
            pieces += self._chunks[chunk, moved[chunk.index], names, offsets]
        texts.append("\n")
        pieces[1::2] = texts
        text, begun = self._heading(record, via), 0
        parts: list[str | tuple[TreeNode, str]] = []
        for row, node_below in zip(layout.nodes, nodes, strict=True):
            until = 2 * row.slot + 4
            parts += (text + "".join(pieces[begun:until]), node_below)
            text, begun = "", until
        parts.append(text + "".join(pieces[begun:]))
        return parts

    def _heading(self, record: Record, via: str) -> str:
        """The first line of a record, as `tree.heading_segments` has it."""
        packet, frames = record.packet, record.frames
        text = f"#{record.id}"
        if record.time is not None:
            text += f"  {timestamp_text(record.time, self._options.zone)}"
        if record.src or record.dst:
            text += f"  {self._ends[record.src or '', record.dst or '']}"
        text += f"  {record.type}"
        if isinstance(packet, UserMessage):
            queue = self._lines.queue(packet.user_header, "destination_queue").name
            if queue:
                text += f"  {self._names[queue]}"
            properties = packet.message_properties_header
            label = "" if properties is None or not properties.label else self._label(properties.label)
            if label:
                text += f"  {label}"
        text += f"  {self._bytes[record.length]}"
        if via:
            text += f"  via {via}"
        if len(frames) == 1:
            text += f"  frame {frames[0]}"
        elif frames:
            more = self._tree.ellipsis if len(frames) > 3 else ""
            text += f"  frames {', '.join(map(str, frames[:3]))}{more}"
        return f"{text}\n"

    def _label(self, label: WcharText) -> str:
        text = self._lines.texts[label] or f'"{self._screen.safe(shortened(label.text))}"'
        return text if text != '""' else ""

    def _both_ends(self, ends: tuple[str, str]) -> str:
        src, dst = map(self._screen.safe, ends)
        return f"{src} {self._screen.choose('→', '->')} {dst}"


def _is_regular(record: Record) -> bool:
    return (
        type(record.packet) in _REGULAR
        and record.error is None
        and not record.anomalies
        and not record.remainder
        and not record.reason
        and not record.event
        and record.missing is None
        and record.grade is None
        and record.capture.__class__ is not LocatedFile
    )
