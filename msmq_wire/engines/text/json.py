"""JSON writers: the source of a function that gives the JSON text of one structure.

The rule kept here: a writer gives the text of the JSON view (`records.view`), byte for byte, or raises
TypeError or AttributeError for a value that is not whole; `json_text` then says None, and the view is asked.

Functions are made in memory, on first use of a structure and once per process. `source` shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import NoneType
from typing import Any, get_args, get_origin

from msmq_wire.engines.python_source import Code
from msmq_wire.engines.rows.engine import parse
from msmq_wire.engines.text.bounded_cache import BoundedCache
from msmq_wire.engines.text.escaping import json_string
from msmq_wire.engines.text.json_fields import base64_string, behind, shown
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.musts import BitTable
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

Writer = Callable[[Any, Any], str]


def json_text(value: WireStruct) -> str | None:
    """A structure as decoding gives it, as JSON on one line; None when a part of it was not reached."""
    write = _writer(value.__class__)
    try:
        return write(value, None)
    except (TypeError, AttributeError):
        return None


def source(cls: type[WireStruct]) -> str:
    """The function that is generated for a structure, as text."""
    return _Writing(cls).code.source


_writers: dict[type[WireStruct], Writer] = {}


def _writer(cls: type[WireStruct]) -> Writer:
    found = _writers.get(cls)
    if found is None:
        found = _writers[cls] = _Writing(cls).code.compiled()
    return found


_guids: BoundedCache[bytes, str] = BoundedCache(lambda value: f'"{GUID(value)}"')
# By the name of the field, which the key of what the text alone would lose begins with.
_texts: dict[str, BoundedCache[Any, str]] = {}


def _texts_of(name: str) -> BoundedCache[Any, str]:
    def write(value: WcharText) -> str:
        written = json_string(value.text)
        return written if value.exact else f'{written},"{name}_raw":{base64_string(bytes(value))}'

    return _texts.setdefault(name, BoundedCache(write))


def _words(table: BitTable) -> BoundedCache[Any, str]:
    def write(word: int) -> str:
        parts = [f'"raw":{word:d}']
        for bit in table.bits.values():
            number = (word & bit.mask) >> bit.shift
            shown = ("true" if number else "false") if bit.width == 1 else str(number)
            parts.append(f'"{bit.name}":{shown}')
        return f"{{{','.join(parts)}}}"

    return BoundedCache(write)


def _inside(path: str, cls: type[WireStruct]) -> Callable[[Any], str]:
    """Writes the structure in the bytes of a field, if it has all of them, as the property gives it."""
    header, _, field = path.rpartition(".")
    find, size, write = attrgetter(header), cls.schema().sizeof(), _writer(cls)

    def show(value: Any) -> str:
        found = find(value)
        data = b"" if found is None else getattr(found, field)
        return write(parse(cls, data)[0], value) if len(data) == size else "null"

    return show


class _Writing:
    """Generates ``write(_value, _around)``: one template, and an expression for each field.

    Numbers stand as ``%d``, which refuses what is no number.
    """

    def __init__(self, cls: type[WireStruct]) -> None:
        self.code = Code(f"write_{cls.stem()}", "_value, _around", f"the declaration of {cls.__name__}")
        self._template: list[str] = []
        self._parts: list[str] = []
        declared = {field.name: field for field in fields(cls)}
        for name in cls.__struct_fields__:
            self._field(cls, declared[name])
        for name, (path, inner) in getattr(cls, "INSIDE", {}).items():
            self._add(name, f"{self.code.constant(f'inside_{name}', _inside(path, inner))}(_value)")
        self._template[0] = f"{{{self._template[0]}"
        self._template[1:] = [f",{key}" for key in self._template[1:]]
        rest = behind(cls)
        if rest is not None:
            self._template.append("%s")
            self._parts.append(f"{self.code.constant('behind', rest)}(_value, _around)")
        self._template[-1] += "}"
        with self.code.block("return ("):
            for key in self._template:
                self.code.line(repr(key))
        with self.code.block(") % ("):
            for part in self._parts:
                self.code.line(f"{part},")
        self.code.line(")")

    def _add(self, name: str, part: str, form: str = "%s") -> None:
        self._template.append(f'"{name}":{form}')
        self._parts.append(part)

    def _field(self, cls: type[WireStruct], field: Field) -> None:
        name, value = field.name, f"_value.{field.name}"
        show = shown(field)
        if show is not None:
            self._add(name, f"{self.code.constant(f'show_{name}', show)}(_value, _around)")
        elif cls.BITS is not None and name == cls.BITS.field:
            self._add(name, f"{self.code.constant(f'word_{name}', _words(cls.BITS))}[{value}]")
        elif field.value_type is int:
            self._add(name, value, "%d")
        else:
            part = self._part(field, value)
            self._add(name, self._unless_absent(value, part) if field.optional else part)

    def _part(self, field: Field, value: str) -> str:
        """The text of a field that is there, as an expression."""
        if get_origin(field.value_type) is tuple:
            item = self._of(get_args(field.value_type)[0], "_item", field.name)
            return f"'[' + ','.join([{item} for _item in {value}]) + ']'"
        kinds = get_args(field.value_type) or (field.value_type,)
        *others, last = (kind for kind in kinds if kind is not NoneType)
        part = self._of(last, value, field.name)
        for kind in others:
            cls = self.code.constant(kind.__name__, kind)
            part = f"{self._of(kind, value, field.name)} if {value}.__class__ is {cls} else {part}"
        return part

    @staticmethod
    def _unless_absent(value: str, part: str) -> str:
        return f"'null' if {value} is None else {part}"

    def _of(self, kind: Any, value: str, name: str) -> str:
        """The text of a value of a type, as an expression."""
        if not isinstance(kind, type):
            raise TypeError(f"{kind!r} has no JSON text")
        if issubclass(kind, WireStruct):
            return f"{self.code.constant(f'write_{kind.stem()}', _writer(kind))}({value}, _value)"
        if issubclass(kind, GUID):
            return f"{self.code.constant('guids', _guids)}[{value}]"
        if issubclass(kind, WcharText):
            return f"{self.code.constant(f'texts_{name}', _texts_of(name))}[{value}]"
        if issubclass(kind, bytes):
            return f"{self.code.constant('base64_string', base64_string)}({value})"
        if issubclass(kind, int):
            return f"'%d' % {value}"
        raise TypeError(f"{kind!r} has no JSON text")
