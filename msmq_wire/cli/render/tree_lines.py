"""The lines of a packet and the texts on them, by functions made of the declarations, one a structure.

The rule kept here: only what is whole has lines here. TypeError, AttributeError and ValueError leave a packet
to `tree.print_record`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import tzinfo
from functools import partial
from types import NoneType
from typing import Any, NamedTuple, TypeAlias, get_args, get_origin

from msmq_wire.cli.render.tree_layout import END, LayoutLine
from msmq_wire.engines import field_offsets
from msmq_wire.engines.python_source import Code
from msmq_wire.engines.text.bounded_cache import BoundedCache
from msmq_wire.records.message_body import properties_body
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.records.tree.body_nodes import body_node, extension_node
from msmq_wire.records.tree.meanings import selected
from msmq_wire.records.tree.packet_nodes import block_node, text_node
from msmq_wire.records.tree.tree_node import NodeOptions, TreeNode
from msmq_wire.records.tree.value_text import (
    INLINE_BYTES,
    bytes_text,
    correlation_text,
    count_text,
    is_bare,
    is_filler,
    is_filling,
    number_words,
    value_and_meaning,
)
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import QUEUES, UserHeader
from msmq_wire.wire.registry import PACKETS
from msmq_wire.wire.shown import ShownQueue, ShownText
from msmq_wire.wire.stream import Span
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement, element_format_name
from msmq_wire.wire.types.wchar_text import WcharText

# Traffic repeats its names; what is longer is not worth keeping.
_LONGEST = 1024
_LONGEST_LIST = 16
_PACKETS = frozenset(PACKETS.values())
_BY_ADMIN_QUEUE = (QueueType.SAME_AS_ADMIN_QUEUE, QueueType.PRIVATE_ON_ADMIN_QUEUE_HOST)
_QUEUE_BITS = {name: UserHeader.BITS.bits[bit] for name, bit in QUEUES.items() if UserHeader.BITS is not None}
_SELECTORS = sum(bit.mask for bit in _QUEUE_BITS.values())

Shape: TypeAlias = list[LayoutLine]
Texts: TypeAlias = list[Any]
Sizes: TypeAlias = list[int]
Lines: TypeAlias = tuple[Shape, Texts, Sizes]
"""Lines, their texts, and the sizes of those whose size varies.

The text of a word is its value, that of a structure None, that of a node what it is made of. Behind what
varies in size, and before what is inside, there is room for one more text, which has none.
"""
Walk: TypeAlias = Callable[[Any, Any, LayoutLine, Shape, Texts, Sizes], None]
"""Adds the lines of a structure: of itself, the one around it, its own line, and to what they are added."""


class QueueText(NamedTuple):
    """A queue of a UserHeader: its format name, None where its host is not known; text and size."""

    name: str | None
    text: str
    size: int


class PacketLines:
    """Finds the lines of the packets of a run; ``safe`` is that of its screen."""

    def __init__(self, safe: Callable[[str], str], zone: tzinfo | None) -> None:
        self.safe = safe
        self.zone = zone
        self.guids = BoundedCache(_guid_text)
        self.texts = BoundedCache(self._text)
        self.walks: BoundedCache[type[WireStruct], Walk] = BoundedCache(
            lambda cls: _Walking(cls, self).code.compiled()
        )
        self._structures = BoundedCache[tuple[str, type[WireStruct]], LayoutLine](
            lambda named: _structure(*named)
        )
        self._elements: BoundedCache[str, LayoutLine] = BoundedCache(
            lambda name: LayoutLine("value", name, size=None)
        )
        self._queues = BoundedCache(self._queue)

    def of(self, packet: WireStruct) -> Lines:
        """The lines of a packet."""
        lines: Lines = [], [], []
        self.part(packet.stem(), None, packet, *lines)
        return lines

    def part(self, name: str, own: Any, value: WireStruct, *lines: Any) -> None:
        """Add a structure inside another."""
        cls = value.__class__
        self.walks[cls](value, own, self._structures[name, cls], *lines)

    def items(
        self, line: LayoutLine, own: Any, values: Any, shape: Shape, texts: Texts, sizes: Sizes
    ) -> None:
        """Add a list of queues, or of structures."""
        if len(values) > _LONGEST_LIST:
            raise TypeError("a long list is seldom the same")
        shape.append(line)
        texts.append(count_text(len(values), "element"))
        for number, item in enumerate(values):
            name = f"[{number}]"
            text = element_format_name(item) if isinstance(item, MQFFormatNameElement) else None
            if text is None:
                self.part(name, own, item, shape, texts, sizes)
            else:
                shape.append(self._elements[name])
                texts += (self.safe(with_queue_names(text)).rstrip(), "")
                sizes.append(field_offsets.size(item))
        shape.append(END)

    def queue(self, header: UserHeader, name: str) -> QueueText:
        """A queue of a header by the name of its field."""
        flags, value, admin = header.flags, getattr(header, name), None
        if flags >> _QUEUE_BITS[name].shift & 7 in _BY_ADMIN_QUEUE:
            admin = header.admin_queue
        hosts = header.source_queue_manager, header.queue_manager_address, admin
        key = name, flags & _SELECTORS, value, hosts
        if value.__class__ is DirectQueueFormatName and len(value.direct_format_name) > _LONGEST:
            return self._queue(key)
        return self._queues[key]

    def _queue(self, key: tuple[str, int, Any, tuple[GUID, Any, Any]]) -> QueueText:
        name, flags, value, (source, address, admin) = key
        queues = {"admin_queue": admin, name: value}
        header = UserHeader(source_queue_manager=source, queue_manager_address=address, flags=flags, **queues)
        format_name = header.format_name(name)
        kind = selected(_QUEUE_BITS[name], header.bit(QUEUES[name]))
        text = value_and_meaning(self.safe(with_queue_names(format_name or "")), kind)
        return QueueText(format_name, text.rstrip(), field_offsets.size(value))

    def _text(self, value: WcharText) -> str:
        """A text that needs no more than its line, else nothing."""
        node = text_node("", value, None)
        return "" if node.note else self.safe(node.value)


class _Walking:
    """Generates ``lines_of_x(_own, _around, _line, _shape, _texts, _sizes)``, a `Walk`.

    Fields that are always there, on lines of one size each, are added in runs.
    """

    def __init__(self, cls: type[WireStruct], reported: PacketLines) -> None:
        parameters = "_own, _around, _line, _shape, _texts, _sizes"
        self.code = Code(f"lines_of_{cls.stem()}", parameters, f"the declaration of {cls.__name__}")
        self._cls = cls
        self._reported = reported
        self._run: list[tuple[LayoutLine, str]] = []
        own = [field for field in fields(cls) if not field.position]
        of_headers = cls in _PACKETS and any(map(_is_structure, own))
        if not of_headers:
            self.code.line("_shape.append(_line)")
            if "%s" in _structure("", cls).form:
                self.code.line("_texts.append(None)")
        for field in own:
            if of_headers and not _is_structure(field):
                with self._where(field.name, "{}"):
                    self.code.line(f"raise TypeError({f'{field.name} in no header'!r})")
            else:
                self._field(field)
        self._end_run()
        for name, (path, inner) in getattr(cls, "INSIDE", {}).items():
            with self._where(name):
                self._add(LayoutLine("inside", path.rpartition(".")[2]), "''")
                self._structure(name, (inner,))
        if not of_headers:
            self._add(END)

    def _end_run(self) -> None:
        if self._run:
            lines = self.code.constant("lines", tuple(line for line, _ in self._run))
            self.code.line(f"_shape += {lines}")
            self.code.line(f"_texts += ({', '.join(text for _, text in self._run)},)")
            self._run.clear()

    @contextmanager
    def _where(self, name: str, test: str = "{} is not None") -> Iterator[None]:
        """Where the value of a field, ``_value``, passes a test."""
        self._end_run()
        self.code.line(f"_value = _own.{name}")
        with self.code.block(f"if {test.format('_value')}:"):
            yield

    def _add(self, line: LayoutLine, text: str = "") -> None:
        self.code.line(f"_shape.append({self.code.constant('Line', line)})")
        if text:
            self.code.line(f"_texts.append({text})")
        if line.size is None:
            self.code.line("_texts.append('')")
            self.code.line("_sizes.append(len(_value))")

    def _call(self, stem: str, function: Any, *arguments: str) -> None:
        name = self.code.constant(stem, function)
        self.code.line(f"{name}({', '.join((*arguments, '_shape', '_texts', '_sizes'))})")

    def _field(self, field: Field) -> None:
        cls, name, kinds = self._cls, field.name, _kinds(field)
        if cls.BITS is not None and cls.BITS.field == name:
            line = LayoutLine("word", name, size=field_offsets.number_size(field), cls=cls, field=field)
            self._run.append((line, f"_own.{name}"))
        elif isinstance(field.shown, ShownQueue):
            self._queue(name)
        elif kinds == (int,):
            self._number(field)
        elif GUID in kinds:
            self._kept(field, LayoutLine("value", name, size=16), self._reported.guids)
        elif kinds == (bytes,):
            self._bytes(field)
        elif get_origin(field.value_type) is tuple:
            line = LayoutLine("list", name)
            with self._where(name, "{}"):
                self._call("items", self._reported.items, self.code.constant("Line", line), "_own", "_value")
        elif kinds == (WcharText,):
            self._text(name)
        elif field.optional:
            with self._where(name):
                self._structure(name, kinds)
        else:
            self._end_run()
            self.code.line(f"_value = _own.{name}")
            self._structure(name, kinds)

    def _structure(self, name: str, kinds: tuple[Any, ...]) -> None:
        if len(kinds) == 1:
            line = self.code.constant("Line", _structure(name, kinds[0]))
            self._call(f"lines_of_{kinds[0].stem()}", self._reported.walks[kinds[0]], "_value", "_own", line)
        else:
            self._call("part", self._reported.part, repr(name), "_own", "_value")

    def _kept(self, field: Field, line: LayoutLine, kept: BoundedCache[Any, str]) -> None:
        """A field by the text that is kept of its value."""
        texts = self.code.constant(f"texts_{field.name}", kept)
        if field.optional:
            with self._where(field.name):
                self._add(line, f"{texts}[_value]")
        else:
            self._run.append((line, f"{texts}[_own.{field.name}]"))

    def _number(self, field: Field) -> None:
        def text(value: Any) -> str:
            if value.__class__ is not int:
                raise TypeError(f"a {type(value).__name__} where a number belongs")
            return value_and_meaning(*number_words(field, value, zone))

        zone, size = self._reported.zone, field_offsets.number_size(field)
        line = LayoutLine("value", field.name, size=size)
        if is_filler(field):
            with self._where(field.name, "not {}"):
                self._add(LayoutLine("skipped", size=size))
            with self.code.block("else:"):
                self._add(line, f"{self.code.constant('filler', text)}(_value)")
        elif is_bare(field) and not field.optional:
            self._run.append((line, f"f'{{_own.{field.name}:d}}'"))
        else:
            self._kept(field, line, BoundedCache(text))

    def _queue(self, name: str) -> None:
        line = LayoutLine("value", name, size=None)
        reported = self._reported

        def add(own: UserHeader, value: Any, shape: Shape, texts: Texts, sizes: Sizes) -> None:
            found = reported.queue(own, name)
            if found.name is not None:
                shape.append(line)
                texts += (found.text, "")
                sizes.append(found.size)
            elif value is not None:
                reported.part(name, own, value, shape, texts, sizes)

        with self._where(name, f"{{}} is not None or _own.flags & {_QUEUE_BITS[name].mask}"):
            self._call(name, add, "_own", "_value")

    def _bytes(self, field: Field) -> None:
        cls, name = self._cls, field.name
        if cls is MessagePropertiesHeader and name in _OPENED:
            line = LayoutLine("node", name, size=None, node=partial(self._opened, name))
            with self._where(name, "{}"):
                self._add(line, "(_own, _around)")
        elif cls is MessagePropertiesHeader and name == "correlation_id":
            with self._where(name, "{}"):
                correlations = self.code.constant("correlations", BoundedCache(correlation_text))
                self._add(LayoutLine("value", name, size=None), f"{correlations}[_value]")
        else:
            with self._where(name, "{}"):
                self._call("bytes", _adding_bytes(field), "_own", "_around", "_value")

    def _opened(self, name: str, value: tuple[MessagePropertiesHeader, Any], span: Span) -> TreeNode:
        options = NodeOptions(zone=self._reported.zone)
        return _OPENED[name](name, properties_body(*value), options, span=span)

    def _text(self, name: str) -> None:
        texts = self.code.constant("kept_texts", self._reported.texts)
        with self._where(name, "{}"):
            self.code.line(f"_text = {texts}[_value] if len(_value) <= {_LONGEST} else ''")
            with self.code.block("if _text:"):
                self._add(LayoutLine("value", name, size=None), "_text")
            with self.code.block("else:"):
                self._add(LayoutLine("node", name, size=None, node=partial(text_node, name)), "_value")


_OPENED: Mapping[str, Callable[..., TreeNode]] = {"message_body": body_node, "extension_data": extension_node}


def _kinds(field: Field) -> tuple[Any, ...]:
    """What a field may hold, if it is there."""
    return tuple(kind for kind in get_args(field.value_type) or (field.value_type,) if kind is not NoneType)


def _is_structure(field: Field) -> bool:
    return all(isinstance(kind, type) and issubclass(kind, WireStruct) for kind in _kinds(field))


def _structure(name: str, cls: type[WireStruct]) -> LayoutLine:
    """The line of a structure: its size, of a packet that of its heading, and its section."""
    size = field_offsets.constant_size(cls)
    form = f"{count_text(size, 'byte') if size else '%s'}  {cls.SPEC}"
    return LayoutLine("structure", name, form=str(cls.SPEC) if cls in _PACKETS else form)


def _guid_text(value: Any) -> str:
    if value.__class__ is not GUID:
        raise TypeError(f"a {type(value).__name__} where a GUID belongs")
    return f"{value}  none" if value == NULL_GUID else str(value)


def _adding_bytes(field: Field) -> Callable[..., None]:
    """What adds bytes: as the text that they are shown as, as nothing where they only fill, or as bytes."""
    line, skipped = LayoutLine("value", field.name, size=None), LayoutLine("skipped", size=None)
    node = LayoutLine("node", field.name, size=None, node=partial(block_node, field.name))
    filler, shown = is_filler(field), field.shown
    by = shown if isinstance(shown, ShownText) else None
    known: BoundedCache[tuple[int, bytes], str | None] = BoundedCache(
        lambda key: by.text(*key) if by else None
    )

    def add(own: Any, around: Any, value: bytes, shape: Shape, texts: Texts, sizes: Sizes) -> None:
        size = len(value)
        sizes.append(size)
        text = None if by is None or size > _LONGEST else known[by.number(own, around), value]
        if text is not None:
            shape.append(line)
            texts += (text, "")
        elif filler and is_filling(value):
            shape.append(skipped)
            texts.append("")
        elif size <= INLINE_BYTES or not any(value):
            shape.append(line)
            texts += (bytes_text(value), "")
        else:
            shape.append(node)
            texts += (value, "")

    return add
