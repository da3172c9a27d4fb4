"""Generated encoders: the source of a function that writes one structure.

The rule kept here: an encoder writes what does not contradict itself, or returns None; it never writes what
the reference engine would refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msmq_wire.engines.python_source import (
    FORMATS,
    Code,
    Term,
    empty,
    end_of_text,
    layout,
    local_name,
    translate,
)
from msmq_wire.wire.expressions import Expression
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.generation import generate


class Encoding:
    """Generates ``encode(_value)``, which returns the bytes, or None.

    ``_p`` counts the bytes of the parts that have no constant size. Numbers and bytes of fixed size are
    collected, across structures, and packed in one go.
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
        return local_name(self._path)

    def _position(self) -> str:
        return f"{self.code.use('_p')} + {self._at}"

    def _flush(self) -> None:
        if self._run:
            letters = "".join(letters for letters, _ in self._run)
            pack = self.code.constant(f"pack_{letters}", layout(letters).pack)
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
        letter = FORMATS.get(size)
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
        nothing = self.code.constant(f"empty_{kind.__name__}", empty(kind))
        with self.code.block(f"if {name} is not {nothing} or {term.text}:"):
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
        find = self.code.constant("end_of_text", end_of_text)
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

    def value(self, expression: Expression, without: str) -> Term:
        if without:
            return Term(f"({self._resolve((without,)).text} is None)")
        try:
            term = self._term(expression)
        except KeyError:
            # The structure stands by itself: nothing is around it.
            return Term("0", value=0)
        if term.value is not None:
            return Term(term.text, value=term.value)
        name = f"value_{self._name()}"
        present = "".join(f"{guard} is not None and " for guard in term.guards)
        self.code.line(f"{name} = {present}({term.text})", defines=name)
        return Term(name)

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
