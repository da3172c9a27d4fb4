"""The rows engine: Python functions generated from the declarations, one value at a time.

The rule kept here: what is regular is done here, what is not is done by the reference engine. A generated
function returns None as soon as anything is out of the ordinary (bytes that are lacking, an unknown type, parts
that contradict their flags), and then the reference engine says what it is. So both give the same values and
the same errors, and a generated function has no error handling at all.

Functions are made in memory, on first use of a structure and once per process: so they cannot be out of date,
and structures that later layers declare need no step of their own. `source` shows them.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from msmq_wire.engines import reference
from msmq_wire.engines.source import Code, Term, nested, translate
from msmq_wire.wire.expressions import Expression, Operation, length_target, parts
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.generation import generate
from msmq_wire.wire.stream import Range

__all__ = ["build", "parse", "source"]

_IRREGULAR = (struct.error, OverflowError)
_UNFIT = (struct.error, OverflowError, TypeError, AttributeError, ValueError)
_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_INTERNED = 4096

_decoders: dict[Any, Any] = {}
_encoders: dict[Any, Any] = {}


def parse(cls: Any, data: bytes, missing: Sequence[Range] = ()) -> tuple[Any, int]:
    """Decode one structure from the start of ``data``: the value and the bytes it took.

    Same results and errors as `reference.parse`.
    """
    if not missing:
        decode = _decoders.get(cls) or _compile(cls, _decoders, _Decoding)
        try:
            found: tuple[Any, int] | None = decode(data, len(data))
        except _IRREGULAR:
            found = None
        if found is not None:
            return found
    return reference.parse(cls, data, missing)


def build(value: Any, missing: Sequence[Range] = ()) -> bytes:
    """Encode a structure; same results and errors as `reference.build`."""
    cls = value.__class__
    if not missing and hasattr(cls, "schema"):
        encode = _encoders.get(cls) or _compile(cls, _encoders, _Encoding)
        try:
            data: bytes | None = encode(value)
        except _UNFIT:
            data = None
        if data is not None:
            return data
    return reference.build(value, missing)


def source(cls: Any) -> str:
    """The functions that are generated for a structure, as text."""
    return f"{_Decoding(cls).code.source}\n\n{_Encoding(cls).code.source}"


def _compile(cls: Any, functions: dict[Any, Any], generator: Any) -> Any:
    function = functions[cls] = generator(cls).code.compiled()
    return function


class _Interned(dict[bytes, Any]):
    """Values of a fixed-size type by their bytes: traffic repeats its GUIDs."""

    def __init__(self, kind: type[bytes]) -> None:
        super().__init__()
        self.kind = kind

    def __missing__(self, data: bytes) -> Any:
        if len(self) >= _INTERNED:
            self.clear()
        value = self[data] = self.kind(data)
        return value


_interned: dict[type[bytes], _Interned] = {}


def _end_of_text(data: bytes, start: int, limit: int) -> int:
    """Where the zero-terminated text at ``start`` ends, its terminator included; 1 when it does not."""
    found = data.find(b"\0\0", start, limit)
    while found > 0 and (found - start) & 1:
        found = data.find(b"\0\0", found + 1, limit)
    return found + 2


@cache
def _layout(layout: str) -> struct.Struct:
    return struct.Struct(layout)


@cache
def _empty(kind: type[bytes]) -> bytes:
    return kind()


class _Field(msgspec.Struct):
    """The handle of a decoded field: its value as text, and what expressions may see of it."""

    text: str
    number: int | None = None
    length: str = ""
    parts: dict[str, Any] | None = None
    guard: str = ""
    negative: bool = False


class _Open(msgspec.Struct):
    """A block that is entered when the number at ``path`` is not 0; ``names`` are empty otherwise."""

    path: tuple[str, ...]
    names: list[tuple[str, str]] = []


class _Decoding:
    """Generates ``decode(_data, _end)``, which returns the value and its end, or None.

    ``_p`` is the last position that was computed; what is read since lies at a constant distance from it. Reads of
    fixed size are collected, across structures, and done in one go.
    """

    def __init__(self, cls: Any) -> None:
        self.code = Code(f"decode_{cls.stem()}", "_data, _end", f"the declaration of {cls.__name__}")
        self._scope: dict[str, Any] = {"size": _Field("_end")}
        self._path: list[str] = []
        self._run: list[tuple[str, str]] = []
        self._run_at = ""
        self._based = False
        self._at = 0
        self._limited = False
        self._open: _Open | None = None
        found = generate(cls.schema(), self)
        self._flush()
        if self._based or self._limited:
            self._check(self._position(), "_limit" if self._limited else "_end")
        self.code.line(f"return {found.text}, {self._position()}")

    # Names, positions and runs.

    def _name(self) -> str:
        return "__".join(self._path) or "_value"

    def _position(self) -> str:
        if not self._based:
            return str(self._at)
        return f"_p + {self._at}" if self._at else "_p"

    def _flush(self) -> None:
        """Read what was collected, then do what waited for it."""
        self._close()
        if not self._run:
            self.code.release()
            return
        layout = "<" + "".join(letters for letters, _ in self._run)
        unpack = self.code.constant(f"unpack_{layout[1:]}", _layout(layout).unpack_from)
        names = ", ".join(name for _, name in self._run)
        comma = "," if len(self._run) == 1 else ""
        self.code.line(f"{names}{comma} = {unpack}(_data, {self._run_at})", first=True)
        self._run = []
        self.code.release()

    def _collect(self, letters: str, size: int, name: str) -> None:
        self._close()
        if not self._run:
            self._run_at = self._position()
            self.code.hold()
        self._run.append((letters, name))
        self._at += size

    def _settle(self) -> None:
        """Have ``_p`` be the position."""
        self._flush()
        if self._based and self._at:
            self.code.line(f"_p += {self._at}")
        elif not self._based:
            self.code.line(f"_p = {self._at}")
        self._based, self._at = True, 0

    def _check(self, position: str, limit: str) -> None:
        self.code.line(f"if {position} > {limit}: return None")

    # Expressions.

    def _resolve(self, path: tuple[str, ...]) -> Term:
        scope: Any = self._scope
        guards: list[str] = []
        found: Any = None
        for name in path:
            found = scope[name]
            if isinstance(found, dict):
                scope = found
                continue
            if found.guard:
                guards.append(found.guard)
            scope = found.parts
        if found.number is not None:
            return Term(str(found.number), value=found.number, negative=found.number < 0)
        if not found.text:
            raise TypeError(f"{'.'.join(path)} has no value while decoding")
        self.code.use(found.text)
        return Term(found.text, guards=tuple(guards), negative=found.negative)

    def _measure(self, path: tuple[str, ...]) -> Term:
        found = self._scope[path[0]]
        for name in path[1:]:
            found = found.parts[name]
        return Term(found.length)

    def _term(self, expression: Expression) -> Term:
        return translate(expression, self._resolve, self._measure)

    def _condition(self, expression: Expression) -> Term:
        """As `_term`, for a condition, which does not hold when a part it looks into is absent."""
        made = parts(expression)
        if isinstance(made, Operation) and made.operator is operator.ne and made.operands[1] == 0:
            expression = made.operands[0]
        term = self._term(expression)
        if not term.guards:
            return term
        present = " and ".join(f"{guard} is not None" for guard in term.guards)
        return Term(f"{present} and ({term.text})")

    # The operations of a generator.

    def integer(self, size: int, *, signed: bool, big_endian: bool) -> _Field:
        name = self._name()
        letter = _FORMATS.get(size)
        if letter is not None and not big_endian:
            self._collect(letter.lower() if signed else letter, size, name)
        else:
            self._collect(f"{size}s", size, name)
            order = "big" if big_endian else "little"
            self.code.line(f"{name} = int.from_bytes({name}, {order!r}, signed={signed})")
        return _Field(name, negative=signed)

    def octets(self, length: Expression, kind: type[bytes]) -> _Field:
        term = self._term(length)
        name = self._name()
        made = self.code.constant(kind.__name__, kind)
        if term.value is not None:
            self._collect(f"{term.value}s", term.value, name)
            if kind is not bytes:
                if term.value <= 16:
                    made = self.code.constant(
                        f"interned_{kind.__name__}", _interned.setdefault(kind, _Interned(kind))
                    )
                    self.code.line(f"{name} = {made}[{name}]")
                else:
                    self.code.line(f"{name} = {made}({name})")
            return _Field(name, length=str(term.value))
        target = length_target(length)
        if target is not None and not target.constant:
            number = self._resolve(target.path)
            self._settle()
            self.code.line(f"if {number.text}:")
            self.code.depth += 1
            self._open = _Open(target.path)
            return self._take(name, term, kind)
        self._flush()
        self.code.line(f"_q = {self._position()}")
        self._based, self._at = True, 0
        self.code.line(f"_p = _q + {nested(term.text)}")
        if term.negative:
            self.code.line("if _p < _q: return None")
        return self._slice(name, kind)

    def _take(self, name: str, term: Term, kind: type[bytes]) -> _Field:
        """Bytes in the open block, of a length that is not 0."""
        assert self._open is not None
        self.code.line("_q = _p")
        self.code.line(f"_p += {term.text}")
        taken = "_data[_q:_p]" if kind is bytes else f"{self.code.constant(kind.__name__, kind)}(_data[_q:_p])"
        self.code.line(f"{name} = {taken}")
        self._open.names.append((name, self.code.constant(f"empty_{kind.__name__}", _empty(kind))))
        return _Field(name, length=f"len({name})")

    def _close(self) -> None:
        """End the block of bytes that share a length field: without a length they are empty."""
        if self._open is not None:
            names, self._open = self._open.names, None
            self.code.depth -= 1
            with self.code.block("else:"):
                for name, empty in names:
                    self.code.line(f"{name} = {empty}")

    def _vanishes(self, length: Expression) -> bool:
        """Whether a length is 0 when the field is that the open block asks for."""
        if self._open is None:
            return False
        path = self._open.path
        nothing = Term("0", value=0)

        def resolve(other: tuple[str, ...]) -> Term:
            return nothing if other == path else Term("other")

        return translate(length, resolve, lambda _: Term("other")).value == 0

    def _slice(self, name: str, kind: type[bytes]) -> _Field:
        """The bytes from ``_q`` to ``_p``."""
        empty = self.code.constant(f"empty_{kind.__name__}", _empty(kind))
        taken = "_data[_q:_p]" if kind is bytes else f"{self.code.constant(kind.__name__, kind)}(_data[_q:_p])"
        self.code.line(f"{name} = {taken} if _p != _q else {empty}")
        return _Field(name, length=f"len({name})")

    def fill(self, length: Expression) -> _Field:
        if not self._vanishes(length):
            return self.octets(length, bytes)
        # Padding that goes with what stands before it.
        name = self._name()
        assert self._open is not None
        self._open.names.append((name, self.code.constant("empty_bytes", b"")))
        self.code.line("_q = _p")
        self.code.line(f"_p += {self._term(length).text}")
        return self._slice(name, bytes)

    def align(self, to: int) -> _Field:
        self._flush()
        self.code.line(f"_q = {self._position()}")
        self._based, self._at = True, 0
        self.code.line(f"_p = _q + (-_q & {to - 1})")
        self.code.line(f"if _p > {self._limit()}: _p = _q")
        return self._slice(self._name(), bytes)

    def zero_terminated(self, kind: type[bytes]) -> _Field:
        self._flush()
        self.code.line(f"_q = {self._position()}")
        self._based, self._at = True, 0
        find = self.code.constant("end_of_text", _end_of_text)
        self.code.line(f"_p = {find}(_data, _q, {self._limit()})")
        self.code.line("if _p < 2: return None")
        return self._slice(self._name(), kind)

    def optional(self, condition: Expression, subcon: Any) -> _Field:
        term = self._condition(condition)
        if term.value is not None:
            return generate(subcon, self) if term.value else _Field("None")
        name = self._name()
        self._settle()
        with self.code.block(f"if {term.text}:"):
            found = self._arm(name, subcon)
        with self.code.block("else:"):
            self.code.line(f"{name} = None")
        return _Field(name, parts=found.parts, guard=name)

    def _arm(self, name: str, subcon: Any) -> _Field:
        found: _Field = generate(subcon, self)
        self._settle()
        if found.text != name:
            self.code.line(f"{name} = {found.text}")
        return found

    def choice(self, selector: Expression, cases: Mapping[int, Any]) -> _Field:
        term = self._term(selector)
        if term.guards:
            raise TypeError(f"{selector!r} selects by a part that may be absent")
        if term.value is not None:
            subcon = cases[term.value]
            return _Field("None") if subcon is None else generate(subcon, self)
        name = self._name()
        self._settle()
        self.code.line(f"_selector = {term.text}")
        keys: dict[int, list[int]] = {}
        for key, subcon in cases.items():
            keys.setdefault(id(subcon), []).append(int(key))
        word = "if"
        for group in sorted(keys.values(), key=lambda group: (cases[group[0]] is not None, -group[-1])):
            condition = f"== {group[0]}" if len(group) == 1 else f"in {tuple(group)}"
            with self.code.block(f"{word} _selector {condition}:"):
                subcon = cases[group[0]]
                if subcon is None:
                    self.code.line(f"{name} = None")
                else:
                    self._arm(name, subcon)
            word = "elif"
        self.code.line("else: return None")
        return _Field(name, guard=name)

    def items(self, count: Expression, subcon: Any, known: tuple[int, ...]) -> _Field:
        term = self._term(count)
        name = self._name()
        self._settle()
        self.code.line(f"{name}__list = []")
        with self.code.block(f"for _ in range({term.text}):"):
            if known:
                self._check("_p + 2", self._limit())
                values = self.code.constant("known", frozenset(known))
                self.code.line(f"if _data[_p] | _data[_p + 1] << 8 not in {values}: break")
            self._path.append("item")
            found = generate(subcon, self)
            self._path.pop()
            self._settle()
            self.code.line(f"{name}__list.append({found.text})")
        self.code.line(f"{name} = tuple({name}__list)")
        return _Field(name, length=f"len({name})")

    def tell(self) -> _Field:
        self._close()
        name = f"at_{self._name()}"
        self.code.line(f"{name} = {self._position()}", defines=name)
        return _Field(name)

    def ahead(self, subcon: Any, at: int, field: str) -> _Field:
        self._close()
        name, size = f"ahead_{self._name()}", subcon.sizeof()
        # Only what is referred to is read, so this must not be part of a run.
        where = f"_p + {self._at + at}" if self._based else str(self._at + at)
        stop = f"_p + {self._at + at + size}" if self._based else str(self._at + at + size)
        read = f"int.from_bytes(_data[{where}:{stop}], 'little')"
        self.code.line(f"{name} = {read} if {stop} <= {self._limit()} else -1", defines=name)
        return _Field(name, negative=True)

    def _limit(self) -> str:
        return "_limit" if self._limited else "_end"

    def limit(self, end: Expression, unless: Expression) -> _Field:
        self._close()
        if self._based:
            self._check(self._position(), self._limit())
        self._limited = True
        if end is None:
            self.code.line("_limit = _end")
            return _Field("")
        lifted, stop = self._condition(unless), self._term(end)
        if lifted.value is None:
            self.code.line(f"_limit = _end if {lifted.text} else {stop.text}")
        else:
            self.code.line(f"_limit = {'_end' if lifted.value else stop.text}")
        self._check("_limit", "_end")
        return _Field("")

    def structure(self, cls: type[WireStruct], context: Mapping[str, int]) -> _Field:
        outer = self._scope
        own: dict[str, Any] = {
            name: _Field(str(number), number=number) for name, number in {**cls.CONTEXT, **context}.items()
        }
        self._scope = {"_": outer, **own}
        arguments = []
        found: dict[str, Any] = {}
        for field in fields(cls):
            self._path.append(field.name)
            value = self._scope[field.name] = found[field.name] = generate(field.subcon, self)
            self._path.pop()
            if not field.position:
                arguments.append(f"{field.name}={value.text}")
        self._close()
        self._scope = outer
        name = self._name()
        made = self.code.constant(cls.__name__, cls)
        self.code.line(f"{name} = {made}({', '.join(arguments)})")
        return _Field(name, parts=found)


class _Encoding:
    """Generates ``encode(_value)``, which returns the bytes, or None.

    ``_p`` counts the bytes of the parts that have no constant size. Numbers and bytes of fixed size are collected,
    across structures, and packed in one go.
    """

    def __init__(self, cls: Any) -> None:
        self.code = Code(f"encode_{cls.stem()}", "_value", f"the declaration of {cls.__name__}")
        self._value = "_value"
        self._scope: dict[str, Any] = {"size": Term("len(_value)")}
        self._path: list[str] = []
        self._run: list[tuple[str, str]] = []
        self._at = 0
        self.code.line("_parts = []")
        self.code.line("_append = _parts.append")
        self.code.line("_p = 0", defines="_p")
        generate(cls.schema(), self)
        self._flush()
        self.code.line("return b''.join(_parts)")

    def _name(self) -> str:
        return "__".join(self._path) or "_value"

    def _position(self) -> str:
        return f"{self.code.use('_p')} + {self._at}"

    def _flush(self) -> None:
        if self._run:
            layout = "<" + "".join(letters for letters, _ in self._run)
            pack = self.code.constant(f"pack_{layout[1:]}", _layout(layout).pack)
            self.code.line(f"_append({pack}({', '.join(text for _, text in self._run)}))")
            self._run = []

    def _settle(self) -> None:
        """Have ``_p`` be the position."""
        self._flush()
        if self._at:
            self.code.line(f"_p += {self._at}", defines="_p")
        self._at = 0

    def _local(self) -> str:
        """A name for the value of the current field."""
        name = self._name()
        if name != self._value:
            self.code.line(f"{name} = {self._value}")
        return name

    # Expressions.

    def _resolve(self, path: tuple[str, ...]) -> Term:
        scope: Any = self._scope
        names = list(path)
        while names[0] == "_":
            scope = scope["_"]
            names.pop(0)
        found: Term = scope[names[0]]
        if len(names) > 1:
            return Term(".".join([found.text, *names[1:]]), guards=found.guards)
        if not found.text and not found.unknown:
            raise TypeError(f"{'.'.join(path)} has no value while encoding")
        self.code.use(found.text)
        return Term(found.text, value=found.value, negative=found.negative, unknown=found.unknown)

    def _measure(self, path: tuple[str, ...]) -> Term:
        return Term(f"len({self._resolve(path).text})")

    def _term(self, expression: Expression) -> Term:
        return translate(expression, self._resolve, self._measure)

    # The operations of a generator.

    def integer(self, size: int, *, signed: bool, big_endian: bool) -> Term:
        letter = _FORMATS.get(size)
        if letter is not None and not big_endian:
            self._run.append((letter.lower() if signed else letter, self._value))
        else:
            order = "big" if big_endian else "little"
            self._run.append((f"{size}s", f"{self._value}.to_bytes({size}, {order!r}, signed={signed})"))
        self._at += size
        return Term(self._value)

    def octets(self, length: Expression, kind: type[bytes]) -> Term:
        term = self._term(length)
        if term.unknown:
            raise TypeError("a length that cannot be known while encoding")
        name = self._local()
        if term.value is not None:
            self.code.line(f"if len({name}) != {term.value} or not isinstance({name}, bytes): return None")
            self._run.append((f"{term.value}s", name))
            self._at += term.value
            return Term(name)
        self._flush()
        # What decodes as nothing is this one object.
        empty = self.code.constant(f"empty_{kind.__name__}", _empty(kind))
        with self.code.block(f"if {name} is not {empty} or {term.text}:"):
            self._piece(name, f"len({name}) != ({term.text})")
        return Term(name)

    def _piece(self, name: str, wrong: str) -> None:
        self.code.line(f"if {wrong} or not isinstance({name}, bytes): return None")
        self.code.line(f"_append({name})")
        self.code.line(f"_p += len({name})", defines="_p")

    def fill(self, length: Expression) -> Term:
        if not self._term(length).unknown:
            return self.octets(length, bytes)
        return self.align(4)

    def align(self, to: int) -> Term:
        self._flush()
        name = self._local()
        self._piece(name, f"len({name}) not in (0, -({self._position()}) & {to - 1})")
        return Term(name)

    def zero_terminated(self, kind: type[bytes]) -> Term:
        self._flush()
        name = self._local()
        find = self.code.constant("end_of_text", _end_of_text)
        self._piece(name, f"{find}({name}, 0, len({name})) != len({name})")
        return Term(name)

    def optional(self, condition: Expression, subcon: Any) -> Term:
        term = self._term(condition)
        if term.value is not None and not term.unknown:
            raise TypeError(f"{condition!r} is no condition")
        name = self._local()
        self._settle()
        present = " and ".join([*(f"{guard} is not None" for guard in term.guards), f"({term.text})"])
        with self.code.block(f"if {name} is not None:" if term.unknown else f"if {present}:"):
            self._arm(name, subcon)
        if not term.unknown:
            self.code.line(f"elif {name} is not None: return None")
        return Term(name)

    def _arm(self, name: str, subcon: Any) -> None:
        outer, self._value = self._value, name
        generate(subcon, self)
        self._settle()
        self._value = outer

    def choice(self, selector: Expression, cases: Mapping[int, Any]) -> Term:
        term = self._term(selector)
        if term.unknown or term.guards:
            raise TypeError(f"{selector!r} cannot be known while encoding")
        name = self._local()
        if term.value is not None:
            self._accept(name, cases[term.value])
            outer, self._value = self._value, name
            generate(cases[term.value], self)
            self._value = outer
            return Term(name)
        self._settle()
        self.code.line(f"_selector = {term.text}")
        word = "if"
        keys: dict[int, list[int]] = {}
        for key, subcon in cases.items():
            keys.setdefault(id(subcon), []).append(int(key))
        for group in sorted(keys.values(), key=lambda group: (cases[group[0]] is not None, -group[-1])):
            condition = f"== {group[0]}" if len(group) == 1 else f"in {tuple(group)}"
            with self.code.block(f"{word} _selector {condition}:"):
                subcon = cases[group[0]]
                if subcon is None:
                    self.code.line(f"if {name} is not None: return None")
                else:
                    self._accept(name, subcon)
                    self._arm(name, subcon)
            word = "elif"
        self.code.line("else: return None")
        return Term(name)

    def _accept(self, name: str, subcon: Any) -> None:
        accepts = self.code.constant("accepts", subcon.accepts)
        self.code.line(f"if not {accepts}({name}): return None")

    def items(self, count: Expression, subcon: Any, known: tuple[int, ...]) -> Term:
        term = self._term(count)
        name = self._local()
        self.code.line(f"if len({name}) {'>' if known else '!='} {term.text}: return None")
        self._settle()
        self._path.append("item")
        item = self._name()
        with self.code.block(f"for {item} in {name}:"):
            self._arm(item, subcon)
        self._path.pop()
        return Term(name)

    def tell(self) -> Term:
        name = f"at_{self._name()}"
        self.code.line(f"{name} = {self._position()}", defines=name)
        return Term(name)

    def ahead(self, subcon: Any, at: int, field: str) -> Term:
        return self._resolve((field,)) if field else Term("", unknown=True)

    def limit(self, end: Expression, unless: Expression) -> Term:
        return Term("", unknown=True)

    def structure(self, cls: type[WireStruct], context: Mapping[str, int]) -> Term:
        value = self._local()
        made = self.code.constant(cls.__name__, cls)
        self.code.line(f"if {value}.__class__ is not {made}: return None")
        scope: dict[str, Any] = {"_": self._scope}
        for name, number in {**cls.CONTEXT, **context}.items():
            scope[name] = Term(str(number), value=number)
        for field in fields(cls):
            if not field.position:
                text = f"{value}.{field.name}"
                scope[field.name] = Term(text, guards=(text,) if field.optional else ())
        outer, self._scope, outer_value = self._scope, scope, self._value
        for field in fields(cls):
            self._path.append(field.name)
            self._value = f"{value}.{field.name}"
            handle = generate(field.subcon, self)
            self._path.pop()
            if field.position:
                scope[field.name] = handle
        self._scope, self._value = outer, outer_value
        return Term(value)

