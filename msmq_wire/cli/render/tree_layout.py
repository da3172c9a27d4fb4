"""Lines of a packet laid out: where each lies, how deep, behind which guides.

The rule kept here: a layout knows no value, and no size that varies. Packets differ in their values, seldom
in which lines they have: lines are laid out once a shape, and moved by what the sizes before them add up to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from msmq_wire.records.tree.meanings import bit_rows
from msmq_wire.records.tree.tree import Tree
from msmq_wire.records.tree.tree_node import TreeNode
from msmq_wire.records.tree.value_text import value_and_meaning, word_text
from msmq_wire.wire.fields import Field
from msmq_wire.wire.stream import Span


class LayoutLine:
    """What the lines of a field have in common, whichever packet they are of; compared by identity.

    ``size`` is in bytes, None where it varies; ``form`` has the place of its text, if each value has its own.
    ``cls`` is the class of a structure, or that a word of bits is in. ``node`` makes the node of a value that
    needs more than its line.
    """

    __slots__ = ("cls", "field", "form", "kind", "name", "node", "size")

    def __init__(
        self,
        kind: Literal["value", "word", "node", "list", "structure", "skipped", "inside", "end"],
        name: str = "",
        *,
        size: int | None = 0,
        form: str = "%s",
        cls: Any = None,
        field: Field | None = None,
        node: Callable[[Any, Span], TreeNode] | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.size = size
        self.form = form
        self.cls = cls
        self.field = field
        self.node = node


Shape: TypeAlias = Iterable[LayoutLine]
"""The lines of a packet in order; ``inside`` goes back to where the line of that name begins."""

END = LayoutLine("end")
"""Where a structure or a list ends."""


class LayoutRow:
    """A line of a packet, ``offset`` bytes behind the first ``index`` sizes that vary.

    ``slot`` is the number of its text, if it has one, ``guide`` and ``inner`` the guides of its own and of
    what stands below it.
    """

    __slots__ = ("depth", "guide", "index", "inner", "line", "offset", "slot")

    def __init__(self, line: LayoutLine, offset: int, index: int, depth: int, slot: int) -> None:
        self.line = line
        self.offset = offset
        self.index = index
        self.depth = depth
        self.slot = slot
        self.guide = self.inner = ""


class RowGroup:
    """Rows in a run that are moved together."""

    __slots__ = ("index", "rows")

    def __init__(self, rows: list[LayoutRow]) -> None:
        self.index = rows[0].index if rows else 0
        self.rows = rows

    def pieces(self, moved: int, names: int, offsets: int) -> tuple[str, ...]:
        """The lines in columns of such widths: what is always the same, in turn with room for texts."""
        pieces: list[str] = []
        same = ""
        for row in self.rows:
            line, gap = row.line, 2
            if line.kind != "structure":
                gap = max(names - len(row.guide) - len(line.name), 2)
            before, place, behind = line.form.partition("%s")
            same += f"{row.offset + moved:>{offsets}}  {row.guide}{line.name}{' ' * gap}{before}"
            if place:
                pieces += (same, "")
                same = ""
            same += f"{behind}\n"
        return (*pieces, same, "")


class Layout:
    """What the packets of one shape have in common.

    ``words`` and ``nodes`` are rows whose texts are made last. ``sized`` are structures: slot, bytes that do
    not vary, first and last of the sizes that do. ``end`` is the offset and index, as of a row, behind the
    last; ``width`` that of the names in cells.
    """

    def __init__(self, shape: Shape, tree: Tree) -> None:
        self.words: list[LayoutRow] = []
        self.nodes: list[LayoutRow] = []
        self.sized: list[tuple[int, int, int, int]] = []
        self.width = 0
        self.end = (-1, 0)
        self._tree = tree
        runs = self._runs(shape)
        self._guide([row for run in runs for row in run])
        self.chunks = [RowGroup(run) for run in runs]

    def _runs(self, shape: Shape) -> list[list[LayoutRow]]:
        """The rows; those in a run are moved together."""
        runs: list[list[LayoutRow]] = [[]]
        around: list[LayoutRow] = []
        offset = index = slot = widest = 0
        for line in shape:
            if line.kind == "end":
                row = around.pop()
                if row.line.kind == "structure" and "%s" in row.line.form:
                    self.sized.append((row.slot, offset - row.offset, row.index, index))
                continue
            if line.kind == "inside":
                self.end = offset, index
                place = next(row for run in runs for row in run if row.line.name == line.name)
                offset, index = place.offset, place.index
                slot += 1
                runs.append([])
                continue
            if line.kind != "skipped":
                row = LayoutRow(line, offset, index, len(around), slot)
                runs[-1].append(row)
                slot += "%s" in line.form
                if line.kind != "structure":
                    self.width = max(self.width, 3 * row.depth + len(line.name))
                if line.kind == "word":
                    self.words.append(row)
                    widest = max(widest, 3 * row.depth + 3 + max(map(len, line.cls.BITS.bits)))
                elif line.kind == "node":
                    self.nodes.append(row)
                elif line.kind in ("structure", "list"):
                    around.append(row)
            if line.size is None:
                index += 1
                slot += 1
                runs.append([])
            else:
                offset += line.size
        if widest > self.width:
            raise TypeError("names of bits would say how wide the column is")
        if self.end[0] < 0:
            self.end = offset, index
        return runs

    def _guide(self, rows: list[LayoutRow]) -> None:
        """Draw the guides: from the last row on, since one says whether another follows in its structure."""
        tree = self._tree
        followed: set[int] = set()
        lasts = []
        for row in reversed(rows):
            lasts.append(row.depth not in followed)
            followed = {depth for depth in followed if depth < row.depth} | {row.depth}
        below = [""]
        for row, last in zip(rows, reversed(lasts), strict=True):
            if row.depth:
                row.guide = below[row.depth] + (tree.last if last else tree.branch)
                row.inner = below[row.depth] + ("   " if last else tree.down)
            below[row.depth + 1 :] = [row.inner]

    def word(self, row: LayoutRow, value: int, names: int, offsets: int) -> str:
        """The text of a word, and its bits below it, in columns of such widths."""
        line, tree = row.line, self._tree
        assert line.field is not None
        lines = [word_text(line.field, value)]
        bits = list(bit_rows(line.cls, value))
        for number, (name, shown, note) in enumerate(bits, 1):
            guide = row.inner + (tree.last if number == len(bits) else tree.branch)
            gap = " " * max(names - len(guide) - len(name), 2)
            lines.append(f"{'':{offsets}}  {guide}{name}{gap}{value_and_meaning(shown, note)}".rstrip())
        return "\n".join(lines)
