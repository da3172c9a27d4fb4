# SPDX-License-Identifier: GPL-2.0-or-later
"""Structures as Lua functions: one that decodes each, one that judges it.

The rule kept here: a decoder stops where the reference engine stops, with the same fields reached. In Lua a
structure is a table: a field that was not reached is nil, one that is not present is false; of bytes and text
the length is kept, under ``@name`` where they begin; a list counts its elements in ``n``. What a cut
shortened is ``_part`` of the field ``_cut``, so that no rule sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from msmq_wire.wire.expressions import Expression
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.generation import generate
from msmq_wire.wire.musts import Must
from msmq_wire.wire.types.guid import GUID
from msmq_wireshark.lua_expressions import Term, literal, quoted, translate

__all__ = ["Decoder", "decoder_name", "judge"]

_LETTERS = {1: "B", 2: "H", 4: "I4"}


class _Handle(msgspec.Struct):
    """What a field is to expressions: text, upper bound in bits, text of its length, class of its value."""

    text: str
    bits: int | None = None
    length: str = ""
    cls: Any = None
    optional: bool = False


class _Read(msgspec.Struct):
    """A field of fixed size that waits for its run: a letter of Struct, or bytes that are passed over."""

    name: str
    size: int
    letter: str


def decoder_name(cls: Any, context: Mapping[str, int]) -> str:
    """The name of a structure's decoder; a context of its own gives one of its own."""
    changed = {k: v for k, v in context.items() if getattr(cls, "CONTEXT", {}).get(k) != v}
    return "_".join((cls.stem(), *(f"{name}_{value}" for name, value in changed.items())))


class Decoder:
    """Generates ``D.<name>(p, parent)``, which returns the table and the offset behind it, nil on failure.

    ``needed`` are the structures with their contexts that it calls.
    """

    def __init__(self, cls: Any, context: Mapping[str, int]) -> None:
        self.cls = cls
        self.context = {**getattr(cls, "CONTEXT", {}), **context}
        self.needed: list[tuple[Any, Mapping[str, int]]] = []
        self._lines: list[str] = []
        self._depth = 1
        self._run: list[_Read] = []
        self._found: dict[str, _Handle] = {}
        self._field = Field("", None, None)
        self._name = ""
        self._keys: dict[str, None] = {}

    def source(self) -> str:
        """The function as text."""
        if issubclass(self.cls, WireStruct):
            for field in fields(self.cls):
                self._field, self._name = field, field.name
                self._found[field.name] = generate(field.subcon, self)
        else:
            self._name = "value"
            self._field = Field("value", None, self.cls)
            generate(self.cls.schema(), self)
        self._flush()
        self._line("v._size = p - v._at")
        self._line("return v, p")
        body = "\n".join((self._table(), *self._lines))
        return f"D.{decoder_name(self.cls, self.context)} = function(p, parent)\n{body}\nend\n"

    def _table(self) -> str:
        """The line that makes the table, with room for all of it: growing takes longer than reading."""
        constants = {
            name: value
            for cls in reversed(self.cls.__mro__)
            for name, value in vars(cls).items()
            if name.islower() and isinstance(value, int) and not name.startswith("_")
        }
        filled = {"_": "parent", "_stem": quoted(self.cls.stem()), "_at": "p", "_size": "nil", **constants}
        shown = [f"{name} = {value}" for name, value in filled.items()]
        shown += (f"{key} = nil" for key in self._keys)
        return f"  local v, data, stop = {{{', '.join(shown)}}}, r.data, r.stop"

    # Lines, runs and expressions.

    def _line(self, text: str) -> None:
        self._lines.append("  " * self._depth + text)

    @contextmanager
    def _block(self, opening: str) -> Iterator[None]:
        self._line(opening)
        self._depth += 1
        yield
        self._depth -= 1

    @property
    def _value(self) -> str:
        self._keys.setdefault(self._name)
        return f"v.{self._name}"

    def _place(self, name: str) -> str:
        """Where the bytes of a field begin."""
        self._keys.setdefault(f'["@{name}"]')
        return f'v["@{name}"]'

    def _flush(self) -> None:
        """Read the fields of fixed size that were collected, all or those that are there."""
        run, self._run = self._run, []
        if not run:
            return
        total = sum(read.size for read in run)
        shown = ", ".join(f"{{{quoted(read.name)}, {read.size}, {quoted(read.letter)}}}" for read in run)
        self._line(f"if p + {total} > stop then return r.short(v, p, {{{shown}}}) end")
        at = 0
        while run:
            count = next((i for i, read in enumerate(run) if not read.letter), len(run))
            if count:
                names = ", ".join(f"v.{read.name}" for read in run[:count])
                letters = "".join(read.letter for read in run[:count])
                self._line(f'{names} = unpack("<{letters}", data, p + {at + 1})')
                at += sum(read.size for read in run[:count])
            else:
                read, count = run[0], 1
                self._line(f"v.{read.name}, {self._place(read.name)} = {read.size}, p + {at}")
                at += read.size
            del run[:count]
        self._line(f"p = p + {total}")

    def _term(self, expression: Expression) -> Term:
        return translate(expression, self._resolve, self._measure)

    def _condition(self, expression: Expression) -> str:
        """As `_term`, for a condition, which does not hold when a part it looks into is absent."""
        term = self._term(expression)
        if term.value is not None:
            return "true" if term.value else "false"
        text = term.text if term.boolean else f"({term.text}) ~= 0"
        return " and ".join((*term.guards, f"({text})"))

    def _resolve(self, path: tuple[str, ...]) -> Term:
        name = path[0]
        if name == "_":
            return Term(f"v.{'.'.join(path)}", bits=32)
        if path == ("size",) and name not in self._found:
            return Term("r.fin", bits=32)
        if len(path) == 1 and name in self.context and name not in self._found:
            value = self.context[name]
            return Term(str(value), value=value)
        found = self._found[name]
        text, guards, cls = found.text, [], found.cls
        for inner in path[1:]:
            if found.optional and text == found.text:
                guards.append(text)
            text = f"{text}.{inner}"
            cls = next((f for f in fields(cls) if f.name == inner), None) if cls is not None else None
        bits = found.bits if len(path) == 1 else _bits(cls)
        return Term(text, guards=tuple(guards), bits=bits)

    def _measure(self, path: tuple[str, ...]) -> Term:
        if len(path) == 1 and self._found[path[0]].length:
            return Term(self._found[path[0]].length, bits=32)
        raise TypeError(f"the length of {'.'.join(path)} is not known here")

    # The operations of a generator.

    def integer(self, size: int, *, signed: bool, big_endian: bool) -> _Handle:
        letter = _LETTERS.get(size)
        if letter is None or signed or big_endian:
            if not big_endian or signed or size > 6:
                raise TypeError(f"no number of {size} bytes is read in Lua")
            self._flush()
            self._line(
                f"if p + {size} > stop then return r.short(v, p, {{{{{quoted(self._name)}, {size}, "
                f'""}}}}) end'
            )
            self._line(f"{self._value} = r.big(p, {size})")
            self._line(f"p = p + {size}")
            return _Handle(self._value, bits=size * 8)
        self._run.append(_Read(self._name, size, letter))
        return _Handle(self._value, bits=size * 8)

    def octets(self, length: Expression, kind: type[bytes]) -> _Handle:
        term = self._term(length)
        if term.value is not None:
            letter = f"c{term.value}" if issubclass(kind, GUID) else ""
            self._run.append(_Read(self._name, term.value, letter))
            return _Handle(self._value, length=str(term.value))
        self._flush()
        with self._block("do"):
            self._line(f"local n = {term.text}")
            self._line(f"if n < 0 or p + n > stop then return r.lacking(v, {quoted(self._name)}, p, n) end")
            self._line(f"{self._value}, {self._place(self._name)} = n, p")
            self._line("p = p + n")
        self._line("end")
        return _Handle(self._value, length=self._value)

    def fill(self, length: Expression) -> _Handle:
        return self.octets(length, bytes)

    def align(self, to: int) -> _Handle:
        self._flush()
        with self._block("do"):
            self._line(f"local n = -p % {to}")
            # Bytes that the packet counts and the capture lacks are a cut, not an end.
            self._line("if n > r.limit - p then n = 0 end")
            self._line(f"if n > 0 and p + n > stop then return r.lacking(v, {quoted(self._name)}, p, n) end")
            self._line(f"{self._value}, {self._place(self._name)} = n, p")
            self._line("p = p + n")
        self._line("end")
        return _Handle(self._value, length=self._value)

    def zero_terminated(self, kind: type[bytes]) -> _Handle:
        self._flush()
        with self._block("do"):
            self._line("local n = r.terminated(p)")
            self._line(f"if not n then return r.unterminated(v, {quoted(self._name)}, p) end")
            self._line(f"{self._value}, {self._place(self._name)} = n, p")
            self._line("p = p + n")
        self._line("end")
        return _Handle(self._value, length=self._value)

    def optional(self, condition: Expression, subcon: Any) -> _Handle:
        self._flush()
        with self._block(f"if {self._condition(condition)} then"):
            found: _Handle = generate(subcon, self)
            self._flush()
        with self._block("else"):
            self._line(f"{self._value} = false")
        self._line("end")
        return _Handle(self._value, cls=found.cls, optional=True)

    def choice(self, selector: Expression, cases: Mapping[int, Any]) -> _Handle:
        term = self._term(selector)
        self._flush()
        text = f"(({term.text}) and 1 or 0)" if term.boolean else term.text
        with self._block("do"):
            self._line(f"local selector = {text}")
            keys: dict[int, list[int]] = {}
            for key, subcon in cases.items():
                keys.setdefault(id(subcon), []).append(int(key))
            word = "if"
            for group in keys.values():
                subcon = cases[group[0]]
                with self._block(f"{word} {' or '.join(f'selector == {key}' for key in group)} then"):
                    if subcon is None:
                        self._line(f"{self._value} = false")
                    else:
                        generate(subcon, self)
                        self._flush()
                word = "elseif"
            with self._block("else"):
                self._line(f'return r.fail(v, {quoted(self._name)}, "unknown-selector", p)')
            self._line("end")
        self._line("end")
        return _Handle(self._value, optional=True)

    def items(self, count: Expression, subcon: Any, known: tuple[int, ...]) -> _Handle:
        term, name = self._term(count), self._name
        self._flush()
        with self._block("do"):
            words = literal(dict.fromkeys(known, True)) if known else "nil"
            inner = "nil"
            if isinstance(getattr(subcon, "cls", None), type):
                inner = f"D.{decoder_name(subcon.cls, subcon.context)}"
                self.needed.append((subcon.cls, subcon.context))
            size = 0 if inner != "nil" else int(subcon.sizeof())
            self._line(f"p = r.items(v, {quoted(name)}, p, {term.text}, {inner}, {size}, {words})")
            self._line("if not p then return r.partial(v) end")
        self._line("end")
        return _Handle(self._value, length=f"{self._value}.n")

    def tell(self) -> _Handle:
        self._flush()
        self._line(f"local at{self._name} = p")
        return _Handle(f"at{self._name}", bits=32)

    def ahead(self, subcon: Any, at: int, field: str) -> _Handle:
        self._flush()
        name = f"ahead{self._name}"
        self._line(f"local {name} = r.ahead(p + {at}, {subcon.sizeof()})")
        own = fields(self.cls)
        follows = next((f.name for f in own[own.index(self._field) :] if not f.position), "")
        if not field:
            self._line(f'if not {name} then return r.fail(v, {quoted(follows)}, "missing-bytes", p) end')
        else:
            self._line(f"{name} = {name} or -1")
        return _Handle(name, bits=32)

    def value(self, expression: Expression, without: str) -> _Handle:
        self._flush()
        term = translate(expression, self._around, self._measure)
        name = f"value{self._name}"
        if term.boolean:
            text = " and ".join((*term.guards, f"({term.text})"))
            self._line(f"local {name} = {text} and 1 or 0")
            return _Handle(name, bits=1)
        if term.guards:
            raise TypeError(f"{expression!r} is a number of a part that may be absent")
        self._line(f"local {name} = {term.text}")
        return _Handle(name, bits=32)

    def _around(self, path: tuple[str, ...]) -> Term:
        """As `_resolve`; what is around the structure may lack the part, or not be there."""
        found = self._resolve(path)
        if path[0] != "_":
            return found
        guards = tuple(f"v.{'.'.join(path[:count])}" for count in range(1, len(path)))
        return msgspec.structs.replace(found, guards=guards)

    def limit(self, end: Expression, unless: Expression) -> _Handle:
        self._flush()
        if end is None:
            self._line("r.unbind()")
        else:
            lifted = self._condition(unless)
            bound = f"r.bind({self._term(end).text})"
            self._line(bound if lifted == "false" else f"if {lifted} then r.unbind() else {bound} end")
        self._line("stop = r.stop")
        return _Handle("r.limit", bits=32)

    def structure(self, cls: type[WireStruct], context: Mapping[str, int]) -> _Handle:
        self._flush()
        self.needed.append((cls, context))
        self._line(f"{self._value}, p = D.{decoder_name(cls, context)}(p, v)")
        self._line(f"if not p then return r.within(v, {quoted(self._name)}) end")
        return _Handle(self._value, cls=cls)


def _bits(field: Field | None) -> int:
    size = getattr(field.subcon, "length", 4) if field is not None else 4
    return size * 8 if isinstance(size, int) else 32


def judge(cls: type[WireStruct], number: Mapping[str, int]) -> str:
    """``J.<stem>(v, found)``: appends v and the number of each rule that v breaks; "" without rules.

    ``number`` gives the place of a rule's code in the table of rules.
    """
    musts = [must for must in cls.MUSTS if isinstance(must, Must)]
    if not musts:
        return ""
    values: dict[tuple[str, ...], str] = {}
    lines: list[str] = []

    def reach(path: tuple[str, ...]) -> str:
        if path not in values:
            outer = reach(path[:-1]) if len(path) > 1 else "v"
            name = f"x{len(values) + 1}"
            values[path] = name
            text = f"{outer}.{path[-1]}"
            lines.append(f"  local {name} = {text if outer == 'v' else f'{outer} and {text}'}")
        return values[path]

    def resolve(path: tuple[str, ...]) -> Term:
        return Term(reach(path), guards=(reach(path),), bits=_width(cls, path))

    def measure(path: tuple[str, ...]) -> Term:
        name = reach(path)
        field = next(f for f in fields(cls) if f.name == path[0])
        listed = str(field.value_type).startswith("tuple")
        return Term(f"{name}.n" if listed else name, guards=(name,), bits=32)

    for must in musts:
        term = translate(must.expression, resolve, measure)
        guards = " and ".join(term.guards)
        text = term.text if term.boolean else f"({term.text}) ~= 0"
        code = number[f"{cls.stem()}.{must.code}"]
        lines.append(f"  if {guards} and not ({text}) then found[#found + 1] = {{v, {code}}} end")
    body = "\n".join(lines)
    return f"J.{cls.stem()} = function(v, found)\n{body}\nend\n"


def _width(cls: Any, path: tuple[str, ...]) -> int:
    """The bits of a number at a path; what lies outside the structure has at most 32."""
    found: Field | None = None
    for name in path:
        found = next((f for f in fields(cls) if f.name == name), None) if cls is not None else None
        if found is None:
            return 32
        cls = getattr(found.subcon, "cls", getattr(getattr(found.subcon, "subcon", None), "cls", None))
    return _bits(found) if found is not None and isinstance(found.value_type, type) else 32
