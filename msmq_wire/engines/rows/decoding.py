"""Generated decoders: the source of a function that reads one structure.

The rule kept here: a decoder reads what is regular, or returns None (or raises struct.error, where bytes are
lacking); it never returns what the reference engine would not.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import msgspec

from msmq_wire.engines.python_source import (
    FORMATS,
    Code,
    Term,
    empty,
    end_of_text,
    layout,
    local_name,
    nested,
    translate,
)
from msmq_wire.wire.expressions import Expression, Operation, length_target, parts
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.generation import generate

_INTERNED = 4096
# A call with more keywords than this goes through a dictionary, which takes four times as long.
_KEYWORDS = 15


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


class Decoding:
    """Generates ``decode(_data, _end)``, which returns the value and its end, or None.

    ``_p`` is the last position that was computed; what is read since lies at a constant distance from it.
    Reads of fixed size are collected, across structures, and done in one go.
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
        return local_name(self._path)

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
        letters = "".join(letters for letters, _ in self._run)
        unpack = self.code.constant(f"unpack_{letters}", layout(letters).unpack_from)
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
        letter = FORMATS.get(size)
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
        taken = (
            "_data[_q:_p]" if kind is bytes else f"{self.code.constant(kind.__name__, kind)}(_data[_q:_p])"
        )
        self.code.line(f"{name} = {taken}")
        self._open.names.append((name, self.code.constant(f"empty_{kind.__name__}", empty(kind))))
        return _Field(name, length=f"len({name})")

    def _close(self) -> None:
        """End the block of bytes that share a length field: without a length they are empty."""
        if self._open is not None:
            names, self._open = self._open.names, None
            self.code.depth -= 1
            with self.code.block("else:"):
                for name, nothing in names:
                    self.code.line(f"{name} = {nothing}")

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
        nothing = self.code.constant(f"empty_{kind.__name__}", empty(kind))
        taken = (
            "_data[_q:_p]" if kind is bytes else f"{self.code.constant(kind.__name__, kind)}(_data[_q:_p])"
        )
        self.code.line(f"{name} = {taken} if _p != _q else {nothing}")
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
        find = self.code.constant("end_of_text", end_of_text)
        self.code.line(f"_p = {find}(_data, _q, {self._limit()})")
        self.code.line("if _p < _q: return None")
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

    def value(self, expression: Expression, without: str) -> _Field:
        self._close()
        try:
            term = self._condition(expression)
        except KeyError:
            # The structure stands by itself: nothing is around it.
            return _Field("0", number=0)
        if term.value is not None:
            return _Field(term.text, number=term.value)
        name = f"value_{self._name()}"
        self.code.line(f"{name} = {term.text}", defines=name)
        return _Field(name)

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
                arguments.append((field.name, value.text))
        self._close()
        self._scope = outer
        name = self._name()
        made = self.code.constant(cls.__name__, cls)
        self.code.line(
            f"{name} = {made}({', '.join(f'{one}={text}' for one, text in arguments[:_KEYWORDS])})"
        )
        for one, text in arguments[_KEYWORDS:]:
            put = self.code.constant("put", msgspec.structs.force_setattr)
            self.code.line(f"{put}({name}, {one!r}, {text})")
        return _Field(name, parts=found)
