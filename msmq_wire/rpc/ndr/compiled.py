"""Compiles decoders, each for one parameter list in one syntax, on first use.

The rule kept here: a decoder reads regular stubs only, which have no anomaly. It gives up on padding that is
not zero, on a count that differs from the declaration, on NULL where an array has a size, on a number outside
its range, on a broken MUST, and on missing bytes. The type objects then read the stub again, so that only
they judge irregular stubs.
Little-endian syntaxes only.

A type without a rule cannot be compiled, which is an error. Lists have no decoder, and are left to the type
objects, where an array in them has elements of no fixed size in place (PROPVARIANT).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, singledispatch
from typing import Any

from msmq_wire.engines.python_source import Code, Term, nested, translate
from msmq_wire.rpc.ndr.arrays import Array, Conformant, ConformantVarying, String
from msmq_wire.rpc.ndr.pointers import NULL_POINTEE, EmbeddedRef, Pointer, PresentEmpty
from msmq_wire.rpc.ndr.scalars import Ranged, Scalar
from msmq_wire.rpc.ndr.structures import Fields, Parameters
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.rpc.ndr.unions import Union
from msmq_wire.wire.expressions import Expression
from msmq_wire.wire.musts import CodedMust, Must, View
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

    ``scope`` has the variables of the numbers in the structure that is being read, for size expressions.
    """

    def __init__(self, syntax: Syntax, code: Code) -> None:
        self.syntax = syntax
        self.code = code
        self.line = code.line
        self.constant = code.constant
        self.scope: dict[str, str] = {}
        self._count = 0
        self._known = 8
        self._offset = 0
        self._letters = ""
        self._targets: list[str] = []
        self._conditions: list[str] = []
        self._referents: list[str] = []
        self._start = 0

    def name(self, stem: str) -> str:
        """Make a new local name."""
        self._count += 1
        return f"{stem}{self._count}"

    def irregular(self, *conditions: str) -> None:
        """Give up where one of the conditions holds."""
        if conditions:
            self.line(f"if {' or '.join(conditions)}: raise {self.constant('Irregular', CompilerFallback)}")

    def align(self, to: int) -> None:
        """Skip zero padding up to a multiple of ``to``."""
        if to <= self._known:
            lacking = -self._offset % to
            if lacking:
                for letter in _GAPS[lacking]:
                    gap = self.name("g")
                    self._take(letter, gap)
                    self._conditions.append(gap)
            return
        self.settle()
        gap = self.name("g")
        self.line(f"{gap} = -p & {to - 1}")
        with self.branch(gap):
            self.irregular(f"any(d[p : p + {gap}])")
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

    def limit(self, target: str, first: int, last: int) -> None:
        """Limit a number to a range."""
        self._conditions.append(f"not {first} <= {target} <= {last}")

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
        self._check(self)
        self._letters = ""
        self._targets, self._conditions, self._referents = [], [], []

    def _check(self, fields: Emitter) -> None:
        """Check the fields that were read, which ``fields`` collected."""
        self.irregular(*fields._conditions)
        for referent in fields._referents:
            self.line(f"if {referent}: refer({referent})")

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
        self.irregular(f"{stop} > end")
        self.line(f"{data} = d[p:{stop}]")
        self.line(f"p = {stop}")
        self._known = 1
        return data

    @contextmanager
    def branch(self, condition: str, word: str = "if") -> Iterator[None]:
        """Run the lines inside under a condition; less is known of the offset after it."""
        self.settle()
        before = self._known
        with self.code.block(f"{word} {condition}:"):
            yield
            self.settle()
        self._known = min(before, self._known)

    @contextmanager
    def loop(self, head: str) -> Iterator[None]:
        """Run the lines inside in a loop; nothing is known of the offset after it."""
        self.settle()
        self._known = 1
        with self.code.block(f"{head}:"):
            yield
            self.settle()
        self._known = 1

    def expression(self, expression: Expression) -> str:
        """A size expression or a MUST in Python, on numbers that were read before."""

        def length(path: tuple[str, ...]) -> Term:
            raise TypeError(f"the length of {'.'.join(path)} in an expression")

        return translate(expression, lambda path: Term(self.scope[".".join(path)]), length).text

    def rows(self, element: NdrType, count: str) -> tuple[str, str, Any]:
        """Read the inline part of ``count`` elements of a fixed size.

        Returns the variable that holds the rows, the variables of one row, and the state of an element.
        """
        inner = Emitter(self.syntax, Code("", "", ""))
        inner._count = self._count
        state = flat(element, inner)
        alignment = element.alignment(self.syntax)
        self._count = inner._count
        if not inner.code.empty or inner._offset % alignment:
            raise _NotFixed
        layout = self.syntax.layout(inner._letters)
        rows, row = self.name("rows"), f"{', '.join(inner._targets)},"
        self.line(f"{rows} = ()")
        with self.branch(count):
            self.align(alignment)
            data = self.octets(f"{count} * {layout.size}")
            self.line(f"{rows} = list({self.constant('iterate', layout.iter_unpack)}({data}))")
            if inner._conditions or inner._referents:
                with self.loop(f"for {row} in {rows}"):
                    self._check(inner)
        return rows, row, state


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
    target = emitter.scalar(type_.letter(syntax), type_.size(syntax), type_.alignment(syntax))
    if isinstance(type_, Ranged):
        emitter.limit(target, type_.first, type_.last)
    return target


@deferred.register
def _(type_: Scalar, emitter: Emitter, state: Any) -> str:
    return str(state) if type_.plain(emitter.syntax) else f"{emitter.constant('GUID', GUID)}({state})"


@flat.register
def _(type_: Pointer, emitter: Emitter) -> Any:
    size = type_.alignment(emitter.syntax)
    return emitter.scalar(emitter.syntax.count, size, size, referent=True)


@deferred.register
def _(type_: Pointer, emitter: Emitter, state: Any) -> str:
    emitter.flush()
    value = emitter.name("x")
    if isinstance(type_, EmbeddedRef):
        emitter.irregular(f"not {state}")
    emitter.line(f"{value} = {emitter.constant('null', type_.null)}")
    with emitter.branch(str(state)):
        emitter.line(f"{value} = {whole(type_.target, emitter)}")
        if isinstance(type_.target, Pointer):
            missing = emitter.constant("null_pointee", NULL_POINTEE)
            emitter.line(f"if {value} is None: {value} = {missing}")
        if type_.null == b"":
            empty = emitter.constant("PresentEmpty", PresentEmpty)
            emitter.line(f"if not {value}: {value} = {empty}()")
    if type_.size is not None and not type_.late:
        with emitter.branch(emitter.expression(type_.size), "elif"):
            emitter.irregular("True")
    return value


def _count(emitter: Emitter) -> str:
    size = 8 if emitter.syntax.wide else 4
    return emitter.scalar(emitter.syntax.count, size, size)


@flat.register
def _(type_: Conformant, emitter: Emitter) -> Any:
    count = _count(emitter)
    emitter.flush()
    if type_.size is not None:
        emitter.irregular(f"{count} != {nested(emitter.expression(type_.size))}")
    return _elements(type_, emitter, count)


@flat.register
def _(type_: ConformantVarying, emitter: Emitter) -> Any:
    maximum, offset, actual = _count(emitter), _count(emitter), _count(emitter)
    emitter.flush()
    natural = actual if type_.size is None else nested(emitter.expression(type_.size))
    emitter.irregular(f"{maximum} != {natural}", offset, f"{actual} > {maximum}")
    if type_.length_is is not None:
        emitter.irregular(f"{actual} != {nested(emitter.expression(type_.length_is))}")
    return _elements(type_, emitter, actual)


@flat.register
def _(type_: String, emitter: Emitter) -> Any:
    text = emitter.name("t")
    emitter.line(f"{text} = {flat.dispatch(ConformantVarying)(type_, emitter)}")
    emitter.irregular(f"{text}[-2:] != b'\\0\\0'")
    return text


def _elements(type_: Array, emitter: Emitter, count: str) -> Any:
    element, syntax = type_.element, emitter.syntax
    if type_.kind is WcharText:
        emitter.align(2)
        data = emitter.octets(f"{count} * 2")
        return f"{emitter.constant('WcharText', WcharText)}({data})"
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
    return emitter.rows(element, count)


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
        states.append(flat(one, emitter))
        if _is_number(one, emitter):
            emitter.scope[name] = states[-1]
    emitter.scope = outer
    return states


def _is_number(type_: NdrType, emitter: Emitter) -> bool:
    return isinstance(type_, Scalar) and type_.plain(emitter.syntax)


@deferred.register
def _(type_: Fields, emitter: Emitter, state: Any) -> str:
    outer, members = emitter.scope, list(zip(type_.names, type_.types, state, strict=True))
    emitter.scope = {name: own for name, one, own in members if _is_number(one, emitter)}
    made = _made(type_, emitter, [f"{name}={deferred(one, emitter, own)}" for name, one, own in members])
    emitter.scope = outer
    return made


def _made(type_: Fields, emitter: Emitter, values: list[str]) -> str:
    """The expression for a structure; it is made here where its MUSTs are judged."""
    cls = type_.cls
    made = f"{emitter.constant(cls.__name__, cls)}({', '.join(values)})"
    if not cls.MUSTS:
        return made
    value = emitter.name("s")
    emitter.line(f"{value} = {made}")
    emitter.irregular(*(f"not {nested(_condition(must, emitter, value))}" for must in cls.MUSTS))
    return value


def _condition(must: Must | CodedMust, emitter: Emitter, value: str) -> str:
    if isinstance(must, Must):
        return emitter.expression(must.expression)
    view = f"{emitter.constant('View', View)}({value})"
    arguments = ", ".join(emitter.scope[name] for name in must.of) or view
    return f"{emitter.constant('check', must.check)}({arguments})"


@flat.register
def _(type_: Union, emitter: Emitter) -> Any:
    syntax, tag = emitter.syntax, type_.tag
    if syntax.wide:
        emitter.align(type_.alignment(syntax))
    repeated = flat(tag, emitter)
    emitter.flush()
    selected = emitter.expression(type_.selector)
    emitter.irregular(f"{repeated} != {selected}", f"{selected} not in {tuple(map(int, type_.arms))}")
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
    values: list[str] = []
    later: list[tuple[str, Expression]] = []
    for name, one in zip(parameters.names, parameters.types, strict=True):
        # Numbers in a row are read at once; a pointee follows its pointer.
        value = deferred(one, emitter, flat(one, emitter)) if isinstance(one, Scalar) else whole(one, emitter)
        if _is_number(one, emitter):
            emitter.scope[name] = value
        if isinstance(one, Pointer) and one.late:
            later.append((value, one.size))
        values.append(f"{name}={value}")
    emitter.settle()
    nulls = [f"{value} is None and {emitter.expression(size)}" for value, size in later]
    emitter.irregular("p > end", *nulls)
    emitter.line(f"return {_made(parameters, emitter, values)}, refs, p")


@cache
def decoder(parameters: Parameters, syntax: Syntax) -> Decoder | None:
    """The decoder of a parameter list in a syntax; None where there is none."""
    if syntax.big_endian:
        return None
    cls = parameters.cls
    about = f"the declaration of {cls.__name__} in {syntax.name.upper()}"
    emitter = Emitter(syntax, Code(f"decode_{cls.stem()}_{syntax.name}", "d", about))
    emitter.line("p, end, refs = 0, len(d), []")
    emitter.line("refer = refs.append")
    try:
        _body(parameters, emitter)
    except _NotFixed:
        return None
    made: Decoder = emitter.code.compiled()
    return made
