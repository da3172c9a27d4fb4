"""Records as trees for a file or a pipe, in a fraction of the time.

The rule kept here: the same text as `tree.print_record`, which prints all that is irregular: a part of a
packet, what breaks a MUST, what calls and HTTP carry, and everything on a terminal or with its bytes.

Packets are walked by plans that are made from the declarations, one a structure. A walk finds the shape of
a header, which says what its lines are and where their bytes lie, and the texts of its values. Lines are laid
out once a shape: packets differ in their values, seldom in their shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, groupby
from operator import attrgetter, getitem
from types import NoneType
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, get_origin

from rich.cells import cell_len

from msmq_wire.cli.render.meanings import bit_rows, selected
from msmq_wire.cli.render.node import Node, NodeOptions
from msmq_wire.cli.render.nodes import block_node, body_node, extension_node, text_node
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.tree import WIDE_NAMES, Tree, TreeOptions, print_record, record_heading, walk
from msmq_wire.cli.render.values import (
    INLINE_BYTES,
    bytes_text,
    correlation_text,
    count_text,
    is_filler,
    is_filling,
    number_words,
    word_text,
)
from msmq_wire.engines import places
from msmq_wire.engines.text.kept import Kept
from msmq_wire.records.message_body import properties_body
from msmq_wire.records.record import Record
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.headers.user_header import QUEUES, UserHeader
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.registry import PACKETS
from msmq_wire.wire.shown import ShownQueue, ShownText
from msmq_wire.wire.stream import Span
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement, element_format_name
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["TreeWriter"]

# A stored message has other fields, and a time that is absolute.
_REGULAR = frozenset(PACKETS.values()) - {MessagePacket}
# Traffic repeats its names; what is longer is not worth keeping.
_LONGEST = 1024
_LONGEST_LIST = 16

Shape: TypeAlias = list[Any]
"""The lines of a header in order, each followed by the size of its bytes, or by a word of bits itself."""
Texts: TypeAlias = list[Any]
"""What stands on those lines, in order: a text, or what makes the node of an offset."""
Show: TypeAlias = Callable[[Any, Any, Any, Shape, Texts], None]
"""Adds a field to a shape and to its texts: of the structure around its own, of its own, and its value."""


class _IrregularError(Exception):
    """Something in a packet is left to `tree.print_record`."""


class _Line:
    """What the lines of a field have in common, whichever packet they are of; compared by identity."""

    __slots__ = ("cls", "field", "kind", "name")

    def __init__(
        self,
        kind: Literal["value", "word", "node", "list", "structure", "packet", "skipped", "end"],
        name: str = "",
        cls: Any = None,
        field: Field | None = None,
    ) -> None:
        self.kind = kind
        self.name = name
        self.cls = cls
        """The class of a structure, or that a word of bits is in."""
        self.field = field


# Bytes of which nothing is shown, and where a structure ends.
_SKIPPED, _END = _Line("skipped"), _Line("end")


def _show_nothing(around: Any, own: Any, value: Any, shape: Shape, texts: Texts) -> None:
    """What no other function adds: nothing is added where there is none."""
    if value:
        raise _IrregularError


class _Step(NamedTuple):
    """How a field is added to a shape: by a line of one size with a text of each value, or by a function."""

    name: str
    line: tuple[_Line, int] | None = None
    texts: Kept[Any, str] | None = None
    show: Show = _show_nothing


class _Run(NamedTuple):
    """Fields in a row that are added in the same way: lines of one size each, or a field by a function."""

    values: Callable[[Any], Any]
    lines: tuple[Any, ...]
    texts: tuple[Kept[Any, str], ...]
    show: Show


class _Row:
    """A line of a header: where it lies in it, and how deep."""

    __slots__ = ("bits", "depth", "line", "offset", "text")

    def __init__(self, line: _Line, offset: int, depth: int) -> None:
        self.line = line
        self.offset = offset
        self.depth = depth
        self.text = ""
        """What is the same in every header of the shape."""
        self.bits: list[tuple[str, str, str]] = []


class _Piece(NamedTuple):
    """Lines with room for ``texts``; behind them a node with its guides, its own and those of its lines."""

    lines: str
    texts: int
    guides: tuple[str, str] | None


class _Layout:
    """What the headers of one shape have in common: ``size`` in bytes, ``width`` of the names in cells.

    ``nodes`` are number, offset and depth of those texts that are nodes.
    """

    def __init__(self, shape: tuple[Any, ...]) -> None:
        self.rows: list[_Row] = []
        self.nodes: list[tuple[int, int, int]] = []
        self.size = self.width = 0
        around: list[_Row] = []
        texts = 0
        for line, extra in zip(shape[::2], shape[1::2], strict=True):
            if line is _SKIPPED:
                self.size += extra
                continue
            if line is _END:
                row = around.pop()
                if row.line.kind == "list":
                    continue
                size = (
                    f"{count_text(self.size - row.offset, 'byte')}  " if row.line.kind == "structure" else ""
                )
                row.text = f"{size}{row.line.cls.SPEC}"
                continue
            row = _Row(line, self.size, len(around))
            self.rows.append(row)
            if line.kind in ("structure", "packet"):
                around.append(row)
                continue
            names = [3 * row.depth + len(line.name)]
            if line.kind == "list":
                row.text = count_text(extra, "element")
                around.append(row)
            elif line.kind == "word":
                row.text = word_text(line.field, extra)
                row.bits = list(bit_rows(line.cls, extra))
                names += [3 * row.depth + 3 + len(name) for name, _, _ in row.bits]
                self.size += places.number_size(line.field)
            else:
                if line.kind == "node":
                    self.nodes.append((texts, row.offset, row.depth))
                texts += 1
                self.size += extra
            self.width = max(self.width, *names)

    def pieces(self, tree: Tree, at: int) -> list[_Piece]:
        """The lines of a header at an offset, in the widths of a tree."""
        pieces: list[_Piece] = []
        lines: list[str] = []
        count = 0
        below = [""]
        for row, last in zip(self.rows, self._last(), strict=True):
            depth, kind = row.depth, row.line.kind
            guide = inner = ""
            if depth:
                guide = below[depth] + (tree.last if last else tree.branch)
                inner = below[depth] + ("   " if last else tree.down)
            below[depth + 1 :] = [inner]
            if kind == "node":
                pieces.append(_Piece("".join(lines), count, (guide, inner)))
                lines, count = [], 0
                continue
            gap = 2
            if kind in ("value", "word", "list"):
                gap = max(tree.names - cell_len(guide) - len(row.line.name), 2)
            text = "%s" if kind == "value" else row.text.replace("%", "%%")
            count += kind == "value"
            lines.append(f"{at + row.offset:>{tree.offsets}}  {guide}{row.line.name}{' ' * gap}{text}\n")
            for number, (name, value, note) in enumerate(row.bits, 1):
                lead = inner + (tree.last if number == len(row.bits) else tree.branch)
                gap = max(tree.names - cell_len(lead) - len(name), 2)
                text = f"{'':{tree.offsets}}  {lead}{name}{' ' * gap}{_words(value, note)}"
                lines.append(text.rstrip().replace("%", "%%") + "\n")
        pieces.append(_Piece("".join(lines), count, None))
        return pieces

    def _last(self) -> list[bool]:
        """Of each line whether no other of its structure follows."""
        found: list[bool] = []
        followed: set[int] = set()
        for row in reversed(self.rows):
            found.append(row.depth not in followed)
            followed = {depth for depth in followed if depth < row.depth} | {row.depth}
        return found[::-1]


class TreeWriter:
    """Prints the records of one run."""

    def __init__(self, screen: Screen, options: TreeOptions) -> None:
        self._screen = screen
        self._options = options
        self._tree = Tree(screen, options)
        self._lines_are_free = screen.width is None and not screen.color and not options.hex
        self._node_options = NodeOptions(zone=options.zone)
        self._plans = Kept(self._plan)
        self._structures = Kept[tuple[str, type[WireStruct]], _Line](
            lambda named: _Line("structure", named[0], named[1])
        )
        self._elements = Kept[str, _Line](lambda name: _Line("value", name))
        self._packets = Kept[type[WireStruct], _Line](lambda cls: _Line("packet", cls.stem(), cls))
        self._guids = Kept(_guid_text)
        self._texts = Kept(self._text)
        self._layouts = Kept(_Layout)
        self._pieces = Kept[tuple[_Layout, int, int, int], list[_Piece]](
            lambda key: key[0].pieces(self._tree, key[1])
        )

    def record(self, record: Record, via: str = "") -> None:
        """Print a record as `tree.print_record` does."""
        if self._lines_are_free and _is_regular(record):
            try:
                headers = list(self._headers(record.packet))
            except _IrregularError:
                headers = []
            # Of a packet with missing bytes there are fewer than it takes.
            if headers and max(at + layout.size for layout, _, at in headers) == record.consumed:
                self._print(record, via, headers)
                return
        print_record(self._screen, record, self._options, via=via)

    def _print(self, record: Record, via: str, headers: list[tuple[_Layout, Texts, int]]) -> None:
        width = 0
        for layout, texts, at in headers:
            width = max(width, layout.width)
            for number, offset, depth in layout.nodes:
                node = texts[number] = texts[number](at + offset)
                for below, depth_below in walk(node.children, depth + 1):
                    width = max(width, 3 * depth_below + cell_len(below.name))
        tree, write = self._tree, self._screen.stream.write
        tree.names = min(width, WIDE_NAMES) + 2
        tree.offsets = max(4, len(str(record.consumed)))
        tree.heading(record_heading(record, via), record.packet)
        pending: list[str] = []
        for layout, texts, at in headers:
            first = 0
            for lines, count, guides in self._pieces[layout, at, tree.offsets, tree.names]:
                pending.append(lines % tuple(texts[first : first + count]))
                first += count
                if guides is not None:
                    write("".join(pending))
                    pending.clear()
                    tree.node(texts[first], *guides)
                    first += 1
        write("".join(pending) + "\n")

    def _headers(self, packet: Any) -> Iterator[tuple[_Layout, Texts, int]]:
        """Layout, texts and offset of each header of a packet, or of a packet that has none."""
        cls: type[WireStruct] = type(packet)
        at = 0
        for field in fields(cls):
            if field.position:
                continue
            name = field.name
            value = getattr(packet, name)
            if isinstance(value, WireStruct):
                layout, texts = self._header(self._structures[name, type(value)], packet, value)
                yield layout, texts, at
                at += layout.size
            elif value:
                if at:
                    raise _IrregularError
                yield *self._header(self._packets[cls], packet, packet), 0
                return
        for name, (path, _) in getattr(cls, "INSIDE", {}).items():
            value = getattr(packet, name)
            if value is not None:
                layout, texts = self._header(self._structures[name, type(value)], packet, value)
                at, size = places.span(packet, path)
                if layout.size != size:
                    raise _IrregularError
                yield layout, texts, at

    def _header(self, line: _Line, packet: Any, value: WireStruct) -> tuple[_Layout, Texts]:
        shape: Shape = []
        texts: Texts = []
        self._structure(line, packet, value, shape, texts)
        return self._layouts[tuple(shape)], texts

    def _structure(self, line: _Line, around: Any, value: WireStruct, shape: Shape, texts: Texts) -> None:
        shape += (line, 0)
        for values, lines, kept, show in self._plans[value.__class__]:
            if lines:
                shape += lines
                texts += map(getitem, kept, values(value))
            else:
                show(around, value, values(value), shape, texts)
        shape += (_END, 0)

    def _plan(self, cls: type[WireStruct]) -> list[_Run]:
        """How the fields of a structure are added."""
        runs: list[_Run] = []
        steps = [self._step(cls, field) for field in fields(cls) if not field.position]
        for plain, group in groupby(steps, lambda step: step.texts is not None):
            if plain:
                same = list(group)
                lines = tuple(chain.from_iterable(step.line for step in same if step.line is not None))
                texts = tuple(step.texts for step in same if step.texts is not None)
                runs.append(_Run(_values_of(*(step.name for step in same)), lines, texts, _show_nothing))
            else:
                runs += [_Run(attrgetter(step.name), (), (), step.show) for step in group]
        return runs

    def _step(self, cls: type[WireStruct], field: Field) -> _Step:
        """How a field is added, by its declaration."""
        types = {*(get_args(field.value_type) or (field.value_type,))} - {NoneType}
        name, line = field.name, _Line("value", field.name)
        if cls.BITS is not None and cls.BITS.field == name:
            return _Step(name, show=partial(_show_word, _Line("word", name, cls, field)))
        if isinstance(field.shown, ShownQueue):
            return _Step(name, show=self._queue(line))
        if types == {int}:
            return self._number(line, field)
        if GUID in types:
            if field.optional:
                return _Step(name, show=partial(_show_number, line, 16, False, self._guids))
            return _Step(name, (line, 16), self._guids)
        if types == {bytes}:
            return _Step(name, show=self._bytes(line, cls, field))
        if get_origin(field.value_type) is tuple:
            return _Step(name, show=partial(self._show_list, _Line("list", name)))
        if all(isinstance(kind, type) and issubclass(kind, WcharText) for kind in types):
            return _Step(name, show=partial(_show_text, line, _Line("node", name), self._texts))
        if all(isinstance(kind, type) and issubclass(kind, WireStruct) for kind in types):
            return _Step(name, show=partial(self._show_structure, name))
        return _Step(name)

    def _number(self, line: _Line, field: Field) -> _Step:
        def text(value: Any) -> str:
            if value.__class__ is not int:
                raise _IrregularError
            return _words(*number_words(field, value, self._options.zone))

        size = places.number_size(field)
        if field.optional or is_filler(field):
            show = partial(_show_number, line, size, is_filler(field), Kept(text))
            return _Step(field.name, show=show)
        return _Step(field.name, (line, size), Kept(text))

    def _queue(self, line: _Line) -> Show:
        name = line.name
        assert UserHeader.BITS is not None
        bit = UserHeader.BITS.bits[QUEUES[name]]
        kept: Kept[tuple[int, Any], str | None] = Kept(lambda _: None)

        def text(header: UserHeader) -> str | None:
            format_name = header.format_name(name)
            if format_name is None:
                return None
            return _words(self._screen.safe(format_name), selected(bit, header.bit(bit.name)))

        def show(around: Any, own: Any, value: Any, shape: Shape, texts: Texts) -> None:
            selector = own.flags & bit.mask
            if value is None and not selector:
                return
            size = places.size(value)
            # The host of a number is in another field.
            if size > _LONGEST or value.__class__ in (PrivateQueueFormatNameId, NoneType):
                found = text(own)
            else:
                found = kept[selector, value]
                if found is None:
                    found = kept[selector, value] = text(own)
            if found is None:
                self._show_structure(name, around, own, value, shape, texts)
            else:
                shape += (line, size)
                texts.append(found)

        return show

    def _bytes(self, line: _Line, cls: type[WireStruct], field: Field) -> Show:
        node = _Line("node", field.name)
        if cls is MessagePropertiesHeader and field.name in ("message_body", "extension_data"):
            make = body_node if field.name == "message_body" else extension_node
            return partial(self._show_opened, node, make)
        if cls is MessagePropertiesHeader and field.name == "correlation_id":
            return partial(_show_bytes, line, node, False, Kept(correlation_text))
        if isinstance(field.shown, ShownText) and field.shown.by.startswith("_."):
            text = field.shown.text
            return partial(_show_sender, line, node, Kept(lambda key: text(*key)))
        return partial(_show_bytes, line, node, is_filler(field), None)

    def _show_opened(
        self, line: _Line, make: Any, around: Any, own: Any, value: Any, shape: Shape, texts: Texts
    ) -> None:
        if value:
            shape += (line, len(value))
            texts.append(partial(self._opened, make, line.name, around, own, len(value)))

    def _opened(
        self, make: Any, name: str, packet: Any, header: MessagePropertiesHeader, size: int, at: int
    ) -> Node:
        body = properties_body(header, packet)
        node: Node = make(name, body, self._node_options, span=Span(at, size))
        return node

    def _show_structure(
        self, name: str, around: Any, own: Any, value: Any, shape: Shape, texts: Texts
    ) -> None:
        if value is not None:
            if not isinstance(value, WireStruct):
                raise _IrregularError
            self._structure(self._structures[name, type(value)], own, value, shape, texts)

    def _show_list(self, line: _Line, around: Any, own: Any, value: Any, shape: Shape, texts: Texts) -> None:
        if not value:
            return
        if len(value) > _LONGEST_LIST:
            raise _IrregularError
        shape += (line, len(value))
        for number, item in enumerate(value):
            name = f"[{number}]"
            text = element_format_name(item) if isinstance(item, MQFFormatNameElement) else None
            if text is None:
                self._show_structure(name, own, own, item, shape, texts)
            else:
                shape += (self._elements[name], places.size(item))
                texts.append(self._screen.safe(text))
        shape += (_END, 0)

    def _text(self, value: WcharText) -> str:
        """A text that needs no more than its line, else nothing."""
        node = text_node("", value, None)
        return "" if node.note else self._screen.safe(node.value)


def _is_regular(record: Record) -> bool:
    return (
        type(record.packet) in _REGULAR
        and record.error is None
        and not record.anomalies
        and not record.remainder
    )


def _values_of(*names: str) -> Callable[[Any], Any]:
    """What gives the values of some fields, of a single one, too, as a tuple."""
    return attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)


def _words(value: str, note: str) -> str:
    return f"{value}  {note}" if value and note else value + note


def _guid_text(value: Any) -> str:
    if value.__class__ is not GUID:
        raise _IrregularError
    return f"{value}  none" if value == NULL_GUID else str(value)


def _show_word(line: _Line, around: Any, own: Any, value: Any, shape: Shape, texts: Texts) -> None:
    shape += (line, value)


def _show_number(
    line: _Line,
    size: int,
    filler: bool,
    kept: Kept[Any, str],
    around: Any,
    own: Any,
    value: Any,
    shape: Shape,
    texts: Texts,
) -> None:
    if filler and not value:
        shape += (_SKIPPED, size)
    elif value is not None:
        shape += (line, size)
        texts.append(kept[value])


def _show_text(
    line: _Line,
    node: _Line,
    kept: Kept[WcharText, str],
    around: Any,
    own: Any,
    value: Any,
    shape: Shape,
    texts: Texts,
) -> None:
    if not value:
        return
    size = len(value)
    text = kept[value] if size <= _LONGEST else kept.make(value)
    shape += (line if text else node, size)
    texts.append(text or partial(_node, text_node, node.name, value))


def _show_bytes(
    line: _Line,
    node: _Line,
    filler: bool,
    kept: Kept[bytes, str] | None,
    around: Any,
    own: Any,
    value: Any,
    shape: Shape,
    texts: Texts,
) -> None:
    if not value:
        return
    size = len(value)
    if filler and is_filling(value):
        shape += (_SKIPPED, size)
    elif kept is not None:
        shape += (line, size)
        texts.append(kept[value])
    elif size <= INLINE_BYTES or not any(value):
        shape += (line, size)
        texts.append(bytes_text(value))
    else:
        shape += (node, size)
        texts.append(partial(_node, block_node, node.name, value))


def _node(make: Callable[[str, Any, Span], Node], name: str, value: bytes, at: int) -> Node:
    return make(name, value, Span(at, len(value)))


def _show_sender(
    line: _Line,
    node: _Line,
    kept: Kept[tuple[int, bytes], str | None],
    around: Any,
    own: Any,
    value: Any,
    shape: Shape,
    texts: Texts,
) -> None:
    text = None
    if value and isinstance(around, SecurityHeader) and len(value) <= _LONGEST:
        text = kept[around.bit("st"), value]
    if text is None:
        _show_bytes(line, node, False, None, around, own, value, shape, texts)
    else:
        shape += (line, len(value))
        texts.append(text)
