"""Compiles decoders, each for one parameter list in one syntax, on first use.

The rule kept here: a decoder reads regular stubs only. It gives up on padding that is not zero, on a count
that differs from the declaration, and on missing bytes. The type objects then read the stub again, so that
only they judge irregular stubs. Little-endian syntaxes only.

A type without a rule cannot be compiled, which is an error. Lists have no decoder, and are left to the type
objects, where an array in them has elements of no fixed size in place (PROPVARIANT).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, singledispatch
from typing import Any

from msmq_wire.rpc.ndr.arrays import Array, Conformant, ConformantVarying
from msmq_wire.rpc.ndr.pointers import NULL_POINTEE, Pointer, PresentEmpty
from msmq_wire.rpc.ndr.scalars import Scalar
from msmq_wire.rpc.ndr.structures import Fields, Parameters
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.rpc.ndr.unions import Union
from msmq_wire.wire.expressions import Operation, parts
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

Decoder = Callable[[bytes], tuple[Any, list[int], int]]
"""Returns the value, the referent ids and the end offset; raises `CompilerFallback` or `struct.error`."""

_GAPS = {1: "B", 2: "H", 3: "BH", 4: "I", 5: "BI", 6: "HI", 7: "BHI"}


class CompilerFallback(Exception):
    """A decoder cannot read the stub; the type objects must."""


class _NotFixed(Exception):
    """The inline part of the elements of an array has no fixed size."""


class Emitter:
    """Writes the body of a decoder; places are ``p`` and a number that is known while it is written.

    ``scope`` are the expressions for the members of the structure that is being read, for size expressions.
    """

    def __init__(self, syntax: Syntax) -> None:
        self.syntax = syntax
        self.names: dict[str, Any] = {"Irregular": CompilerFallback, "GUID": GUID, "WcharText": WcharText}
        self.lines: list[str] = []
        self.scope: dict[str, str] = {}
        self._depth = 1
        self._count = 0
        self._known = 8
        self._offset = 0
        self._letters = ""
        self._targets: list[str] = []
        self._gaps: list[str] = []
        self._referents: list[str] = []
        self._start = 0

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self._depth + text)

    def name(self, stem: str) -> str:
        """Make a new local name."""
        self._count += 1
        return f"{stem}{self._count}"

    def constant(self, stem: str, value: Any) -> str:
        """Make a global name for an object that the decoder uses."""
        for known, held in self.names.items():
            if held is value:
                return known
        name = self.name(stem)
        self.names[name] = value
        return name

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent the lines inside."""
        self._depth += 1
        yield
        self._depth -= 1

    def align(self, to: int) -> None:
        """Skip zero padding up to a multiple of ``to``."""
        if to <= self._known:
            lacking = -self._offset % to
            if lacking:
                for letter in _GAPS[lacking]:
                    gap = self.name("g")
                    self._take(letter, gap)
                    self._gaps.append(gap)
            return
        self.settle()
        gap = self.name("g")
        self.line(f"{gap} = -p & {to - 1}")
        with self.branch(gap):
            self.line(f"if any(d[p : p + {gap}]): raise Irregular")
            self.line(f"p += {gap}")
        self._known, self._offset = to, 0

    def scalar(self, letter: str, size: int, alignment: int, *, referent: bool = False) -> str:
        """Read a number or a few bytes; return the name of the variable."""
        self.align(alignment)
        target = self.name("r" if referent else "v")
        self._take(letter, target)
        if referent:
            self._referents.append(target)
        return target

    def _take(self, letter: str, target: str) -> None:
        if not self._letters:
            self._start = self._offset
        self._letters += letter
        self._targets.append(target)
        self._offset += struct.calcsize("<" + letter)

    def flush(self) -> None:
        """Write one read for all fields collected in a row."""
        if not self._letters:
            return
        unpack = self.constant("unpack", self.syntax.layout(self._letters).unpack_from)
        at = f"p + {self._start}" if self._start else "p"
        self.line(f"{', '.join(self._targets)}, = {unpack}(d, {at})")
        if self._gaps:
            self.line(f"if {' | '.join(self._gaps)}: raise Irregular")
        for referent in self._referents:
            self.line(f"if {referent}: refer({referent})")
        self._letters = ""
        self._targets, self._gaps, self._referents = [], [], []

    def settle(self) -> None:
        """Set ``p`` to the current offset."""
        self.flush()
        if self._offset:
            self.line(f"p += {self._offset}")
            while self._offset % self._known:
                self._known //= 2
            self._offset = 0

    def octets(self, count: str) -> str:
        """Read as many bytes as an expression says."""
        self.settle()
        data, stop = self.name("b"), self.name("e")
        self.line(f"{stop} = p + {count}")
        self.line(f"if {stop} > end: raise Irregular")
        self.line(f"{data} = d[p:{stop}]")
        self.line(f"p = {stop}")
        self._known = 1
        return data

    @contextmanager
    def branch(self, condition: str, word: str = "if") -> Iterator[None]:
        """Run the lines inside under a condition; less is known of the offset after it."""
        self.settle()
        before = self._known
        self.line(f"{word} {condition}:" if condition else f"{word}:")
        with self.indented():
            yield
            self.settle()
        self._known = min(before, self._known)

    @contextmanager
    def loop(self, head: str) -> Iterator[None]:
        """Run the lines inside in a loop; nothing is known of the offset after it."""
        self.settle()
        self._known = 1
        self.line(f"{head}:")
        with self.indented():
            yield
            self.settle()
        self._known = 1

    def expression(self, expression: Any) -> str:
        """A size expression in Python: a number, or a member that was read before."""
        found = parts(expression)
        if isinstance(found, int):
            return str(found)
        if isinstance(found, tuple) and len(found) == 1:
            return self.scope[found[0]]
        raise TypeError(f"{found if isinstance(found, Operation) else expression!r} as a size")

    def fixed(self, element: NdrType) -> tuple[str, list[str], list[str], list[str], Any]:
        """The layout of an element that has a fixed size in place.

        Returns `struct` letters, the names for what they give, gaps and referents among them, and the state.
        """
        inner = Emitter(self.syntax)
        inner._count = self._count
        state = flat(element, inner)
        size, alignment = inner._offset, element.alignment(self.syntax)
        self._count = inner._count
        if inner.lines or size % alignment:
            raise _NotFixed
        return inner._letters, inner._targets, inner._gaps, inner._referents, state


@singledispatch
def flat(type_: NdrType, emitter: Emitter) -> Any:
    """Write code that reads the inline part of a type; return its state for `deferred`."""
    raise TypeError(f"{type(type_).__name__} has no rule")


@singledispatch
def deferred(type_: NdrType, emitter: Emitter, state: Any) -> str:
    """Write code that reads the pointees of a type; return the expression for its value."""
    raise TypeError(f"{type(type_).__name__} has no rule")


def whole(type_: NdrType, emitter: Emitter) -> str:
    """Write both passes, as for a parameter or a pointee; return the expression for the value."""
    state = flat(type_, emitter)
    emitter.flush()
    value = deferred(type_, emitter, state)
    emitter.flush()
    return value


@flat.register
def _(type_: Scalar, emitter: Emitter) -> Any:
    syntax = emitter.syntax
    return emitter.scalar(type_.letter(syntax), type_.size(syntax), type_.alignment(syntax))


@deferred.register
def _(type_: Scalar, emitter: Emitter, state: Any) -> str:
    return str(state) if type_.plain(emitter.syntax) else f"GUID({state})"


@flat.register
def _(type_: Pointer, emitter: Emitter) -> Any:
    size = type_.alignment(emitter.syntax)
    return emitter.scalar(emitter.syntax.count, size, size, referent=True)


@deferred.register
def _(type_: Pointer, emitter: Emitter, state: Any) -> str:
    emitter.flush()
    value = emitter.name("x")
    null = emitter.constant("null", type_.null)
    with emitter.branch(str(state)):
        emitter.line(f"{value} = {whole(type_.target, emitter)}")
        if isinstance(type_.target, Pointer):
            missing = emitter.constant("null_pointee", NULL_POINTEE)
            emitter.line(f"if {value} is None: {value} = {missing}")
        if type_.null == b"":
            empty = emitter.constant("present_empty", PresentEmpty)
            emitter.line(f"if not {value}: {value} = {empty}()")
    emitter.line("else:")
    with emitter.indented():
        emitter.line(f"{value} = {null}")
    return value


def _count(emitter: Emitter) -> str:
    size = 8 if emitter.syntax.wide else 4
    return emitter.scalar(emitter.syntax.count, size, size)


@flat.register
def _(type_: Conformant, emitter: Emitter) -> Any:
    count = _count(emitter)
    emitter.flush()
    return _elements(type_, emitter, count)


@flat.register
def _(type_: ConformantVarying, emitter: Emitter) -> Any:
    maximum, offset, actual = _count(emitter), _count(emitter), _count(emitter)
    emitter.flush()
    natural = actual
    if type_.size is not None:
        natural = emitter.expression(type_.size)
    emitter.line(f"if {maximum} != {natural} or {offset}: raise Irregular")
    return _elements(type_, emitter, actual)


def _elements(type_: Array, emitter: Emitter, count: str) -> Any:
    element, syntax = type_.element, emitter.syntax
    if type_.kind is WcharText:
        emitter.align(2)
        return f"WcharText({emitter.octets(f'{count} * 2')})"
    if type_.kind is not None:
        return emitter.octets(count)
    if isinstance(element, Scalar):
        size = element.size(syntax)
        data = emitter.name("b")
        emitter.line(f"{data} = b''")
        with emitter.branch(count):
            emitter.align(element.alignment(syntax))
            emitter.line(f"{data} = {emitter.octets(f'{count} * {size}')}")
        iterate = emitter.constant("iterate", syntax.layout(element.letter(syntax)).iter_unpack)
        return f"tuple([{deferred(element, emitter, 'v')} for v, in {iterate}({data})])"
    if not isinstance(element, Fields | Pointer):
        raise _NotFixed
    return _structures(element, emitter, count)


def _structures(element: NdrType, emitter: Emitter, count: str) -> Any:
    letters, targets, gaps, referents, state = emitter.fixed(element)
    syntax = emitter.syntax
    layout = syntax.layout(letters)
    rows, row = emitter.name("rows"), f"{', '.join(targets)},"
    emitter.line(f"{rows} = ()")
    with emitter.branch(count):
        emitter.align(element.alignment(syntax))
        data = emitter.octets(f"{count} * {layout.size}")
        iterate = emitter.constant("iterate", layout.iter_unpack)
        emitter.line(f"{rows} = list({iterate}({data}))")
        if gaps or referents:
            with emitter.loop(f"for {row} in {rows}"):
                if gaps:
                    emitter.line(f"if {' | '.join(gaps)}: raise Irregular")
                for referent in referents:
                    emitter.line(f"if {referent}: refer({referent})")
    return rows, row, state


@deferred.register
def _(type_: Array, emitter: Emitter, state: Any) -> str:
    if isinstance(state, str):
        return state
    rows, row, inner = state
    values = emitter.name("values")
    emitter.line(f"{values} = []")
    with emitter.loop(f"for {row} in {rows}"):
        value = deferred(type_.element, emitter, inner)
        emitter.flush()
        emitter.line(f"{values}.append({value})")
    return f"tuple({values})"


@flat.register
def _(type_: Fields, emitter: Emitter) -> Any:
    syntax = emitter.syntax
    emitter.align(type_.alignment(syntax))
    states = _members(type_, emitter)
    if syntax.wide:
        emitter.align(type_.alignment(syntax))
    return states


def _members(type_: Fields, emitter: Emitter) -> list[Any]:
    outer, emitter.scope = emitter.scope, {}
    states = []
    for name, one in zip(type_.names, type_.types, strict=True):
        state = flat(one, emitter)
        if isinstance(state, str):
            emitter.scope[name] = state
        states.append(state)
    emitter.scope = outer
    return states


@deferred.register
def _(type_: Fields, emitter: Emitter, state: Any) -> str:
    outer = emitter.scope
    emitter.scope = {name: one for name, one in zip(type_.names, state, strict=True) if isinstance(one, str)}
    values = []
    for name, one, own in zip(type_.names, type_.types, state, strict=True):
        values.append(f"{name}={deferred(one, emitter, own)}")
    emitter.scope = outer
    return f"{emitter.constant('cls', type_.cls)}({', '.join(values)})"


@flat.register
def _(type_: Union, emitter: Emitter) -> Any:
    syntax, tag = emitter.syntax, type_.tag
    if syntax.wide:
        emitter.align(type_.alignment(syntax))
    repeated = emitter.scalar(tag.letter(syntax), tag.size(syntax), tag.alignment(syntax))
    emitter.flush()
    selected = emitter.expression(type_.selector)
    emitter.line(f"if {repeated} != {selected}: raise Irregular")
    state = emitter.name("arm")
    arms: dict[int, Any] = {}
    after: list[int] = []
    for place, (number, arm) in enumerate(type_.arms.items()):
        with emitter.branch(f"{selected} == {int(number)}", "if" if not place else "elif"):
            if syntax.wide:
                emitter.align(type_.arm_alignment(syntax))
            if arm.type is not None:
                arms[int(number)] = flat(arm.type, emitter)
            emitter.settle()
            emitter.line("pass")
        after.append(emitter._known)
    emitter.line("else: raise Irregular")
    emitter._known = min(after)
    return state, selected, arms


@deferred.register
def _(type_: Union, emitter: Emitter, state: Any) -> str:
    value, selected, arms = state
    emitter.settle()
    after = []
    for place, (number, arm) in enumerate(type_.arms.items()):
        with emitter.branch(f"{selected} == {int(number)}", "if" if not place else "elif"):
            if arm.type is None:
                emitter.line(f"{value} = None")
            else:
                own = deferred(arm.type, emitter, arms[int(number)])
                emitter.flush()
                emitter.line(f"{value} = {own}")
        after.append(emitter._known)
    emitter._known = min(after)
    return str(value)


def _body(parameters: Parameters, emitter: Emitter) -> None:
    values = []
    for name, one in zip(parameters.names, parameters.types, strict=True):
        # Numbers in a row are read at once; a pointee follows its pointer.
        value = deferred(one, emitter, flat(one, emitter)) if isinstance(one, Scalar) else whole(one, emitter)
        if isinstance(one, Scalar) and one.plain(emitter.syntax):
            emitter.scope[name] = value
        values.append(f"{name}={value}")
    emitter.settle()
    emitter.line("if p > end: raise Irregular")
    emitter.line(f"return {emitter.constant('cls', parameters.cls)}({', '.join(values)}), refs, p")


@cache
@cache
def decoder(parameters: Parameters, syntax: Syntax) -> Decoder | None:
    """The decoder of a parameter list in a syntax; None where there is none."""
    if syntax.big_endian:
        return None
    emitter = Emitter(syntax)
    try:
        _body(parameters, emitter)
    except _NotFixed:
        return None
    head = ["def decode(d):", "    p, end, refs = 0, len(d), []", "    refer = refs.append"]
    text = "\n".join([*head, *emitter.lines, ""])
    space = dict(emitter.names)
    exec(compile(text, f"<ndr decoder of {parameters.cls.__name__}>", "exec"), space)
    made: Decoder = space["decode"]
    return made
