"""The construct nodes that fields are declared with.

The rule kept here: a node loses no bit and hides no error. What it read it can write back; what contradicts
itself it refuses. Nodes hold expressions and classes, never code, so that engines can compile them.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import construct

from msmq_wire.arguments import misfit
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire.expressions import ABSENT, UNDETERMINED, Expression, Undetermined, evaluate
from msmq_wire.wire.generation import Generator
from msmq_wire.wire.stream import WireReader, WireWriter

if TYPE_CHECKING:
    _Construct = construct.Construct[Any, Any]
else:
    _Construct = construct.Construct


class WireConstruct(_Construct):
    """What our nodes have in common: they run on `WireReader` and `WireWriter`."""

    def parse_stream(self, stream: Any, **context: Any) -> Any:
        if not isinstance(stream, WireReader):
            stream = WireReader(stream.read())
        return self._parse(stream, dict(context), "")

    def build_stream(self, obj: Any, stream: Any, **context: Any) -> None:
        writer = WireWriter()
        self._build(obj, writer, dict(context), "")
        stream.write(writer.getvalue())

    def build(self, obj: Any, **context: Any) -> bytes:
        stream = io.BytesIO()
        self.build_stream(obj, stream, **context)
        return stream.getvalue()

    def generate(self, generator: Generator) -> Any:
        """Say what this node is made of; return the engine's handle for its value."""
        raise TypeError(f"{type(self).__name__} has no generator rule")

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        raise NotImplementedError

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        raise NotImplementedError

    def _sizeof(self, context: Any, path: Any) -> int:
        raise construct.SizeofError("size depends on the value")


def named(error: EncodeError, name: str) -> EncodeError:
    """The error with a field's name, or an element's index, in front of its path."""
    separator = "" if error.path.startswith("[") or not error.path else "."
    return EncodeError(error.message, path=f"{name}{separator}{error.path}")


def require_bytes(obj: Any, kind: type[bytes] = bytes) -> None:
    """Raises EncodeError for what is no bytes, with the class of a field and how it is made."""
    if not isinstance(obj, bytes):
        made_by = getattr(kind, "MADE_BY", "")
        wanted = f"a {kind.__name__} belongs ({made_by})" if made_by else "bytes belong"
        raise EncodeError(f"a {type(obj).__name__} where {wanted}")


class Bytes(WireConstruct):
    """``length`` bytes as ``kind``: bytes, or a subclass that gives them a meaning."""

    def __init__(self, length: Expression, kind: type[bytes] = bytes) -> None:
        super().__init__()
        self.length = length
        self.kind = kind

    def accepts(self, value: Any) -> bool:
        """Whether a value is of this kind."""
        return isinstance(value, self.kind)

    def generate(self, generator: Generator) -> Any:
        return generator.octets(self.length, self.kind)

    def _parse(self, stream: Any, context: Any, path: Any) -> bytes:
        length = evaluate(self.length, context)
        try:
            data = stream.take(length)
        except DecodeError as error:
            # A part of a fixed field (half a GUID) is no value; a part of a variable one is evidence.
            part = error.partial if callable(self.length) else None
            error.partial = self.kind(part) if part and isinstance(part, bytes) else None
            raise
        return data if self.kind is bytes else self.kind(data)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        require_bytes(obj, self.kind)
        length = evaluate(self.length, context)
        absent = 0
        if not isinstance(length, Undetermined):
            absent = stream.absent(length)
            # Laying out a partial value, its last field may be short.
            short = stream.laying_out and len(obj) < length - absent
            if len(obj) != length - absent and not short:
                raise EncodeError(f"{len(obj)} bytes where the length field says {length - absent}")
        stream.write(obj)
        stream.skip(absent)
        return obj

    def _sizeof(self, context: Any, path: Any) -> int:
        if callable(self.length):
            raise construct.SizeofError("size depends on the value")
        return int(self.length)


class Fill(Bytes):
    """Padding: the length is computed, the bytes are kept and written back.

    ``right`` is the length that it ought to have, where a size field decides what is read.
    """

    def __init__(self, length: Expression, right: Expression = None) -> None:
        super().__init__(length)
        self.right = length if right is None else right

    def generate(self, generator: Generator) -> Any:
        return generator.fill(self.length)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        unknown = isinstance(evaluate(self.length, context), Undetermined)
        if unknown and isinstance(obj, bytes) and len(obj) not in (0, -stream.tell() % 4):
            raise EncodeError(f"{len(obj)} bytes that align nothing")
        return super()._build(obj, stream, context, path)


class Rest(Bytes):
    """Bytes that no declared field claims, up to where the structure says it ends."""


class Align(WireConstruct):
    """Padding up to a multiple of ``to`` packet bytes, where a text does not say whether there is any.

    Takes what is needed if it is there before the packet's end, else nothing.
    """

    def __init__(self, to: int = 4) -> None:
        super().__init__()
        self.to = to

    def generate(self, generator: Generator) -> Any:
        return generator.align(self.to)

    def _parse(self, stream: Any, context: Any, path: Any) -> bytes:
        length = -stream.tell() % self.to
        return stream.take(length) if length and stream.remaining >= length else b""

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        require_bytes(obj)
        length = -stream.tell() % self.to
        absent = stream.absent(length)
        if len(obj) not in (0, length - absent):
            raise EncodeError(f"{len(obj)} bytes where {length} align to {self.to}")
        stream.write(obj)
        stream.skip(absent)
        return obj


class ZeroTerminated(WireConstruct):
    """UTF-16 text as bytes, up to and with its terminator; it has no length field."""

    def __init__(self, kind: type[bytes]) -> None:
        super().__init__()
        self.kind = kind

    def generate(self, generator: Generator) -> Any:
        return generator.zero_terminated(self.kind)

    def _parse(self, stream: Any, context: Any, path: Any) -> bytes:
        distance = stream.find(b"\0\0", 2)
        if distance < 0:
            start = stream.tell()
            cut = stream.end < stream.limit
            raise DecodeError(
                "missing-bytes" if cut or not stream.bounded else "past-packet-size",
                "text without a terminator",
                offset=start,
            )
        return self.kind(stream.take(distance + 2))

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        require_bytes(obj, self.kind)
        units = range(0, len(obj) - 2, 2)
        if len(obj) % 2 or obj[-2:] != b"\0\0" or any(obj[i : i + 2] == b"\0\0" for i in units):
            raise EncodeError("text that does not end with its only terminator")
        stream.write(obj)
        return obj


class Opt(WireConstruct):
    """``subcon`` when ``condition`` holds, else None."""

    def __init__(self, condition: Expression, subcon: Any) -> None:
        super().__init__()
        self.condition = condition
        self.subcon = subcon

    def generate(self, generator: Generator) -> Any:
        return generator.optional(self.condition, self.subcon)

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        return self.subcon._parse(stream, context, path) if evaluate(self.condition, context) else None

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        present = evaluate(self.condition, context)
        if present is not UNDETERMINED and bool(present) != (obj is not None):
            raise EncodeError("absent, but announced" if obj is None else "present, but not announced")
        return obj if obj is None else self.subcon._build(obj, stream, context, path)


class Choice(WireConstruct):
    """The case that ``selector`` names; a case of None takes no bytes."""

    def __init__(self, selector: Expression, cases: Mapping[int, Any]) -> None:
        super().__init__()
        self.selector = selector
        self.cases = cases

    def generate(self, generator: Generator) -> Any:
        return generator.choice(self.selector, self.cases)

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        selector = evaluate(self.selector, context)
        if selector not in self.cases:
            raise DecodeError("unknown-selector", f"no layout for type {selector}", offset=stream.tell())
        subcon = self.cases[int(selector)]
        return None if subcon is None else subcon._parse(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        selector = evaluate(self.selector, context)
        if isinstance(selector, Undetermined):
            selector = next((key for key in self.cases if self.chosen(key, obj)), None)
        if selector not in self.cases:
            raise EncodeError(f"no layout for type {selector}")
        if not self.chosen(selector, obj):
            raise EncodeError(f"a {type(obj).__name__} contradicts type {int(selector)}")
        subcon = self.cases[selector]
        return obj if subcon is None else subcon._build(obj, stream, context, path)

    def chosen(self, selector: int, value: Any) -> bool:
        """Whether a value belongs to the case of a selector."""
        subcon = self.cases[selector]
        return value is None if subcon is None else bool(subcon.accepts(value))


class Items(WireConstruct):
    """``count`` elements as a tuple.

    ``known`` are the values of the first 16-bit word that an element can begin with: the list stops before
    another one, and what follows is left to the next field, ``rest``.
    """

    def __init__(self, count: Expression, subcon: Any, known: tuple[int, ...] = (), rest: str = "") -> None:
        super().__init__()
        self.count = count
        self.subcon = subcon
        self.known = known
        self.rest = rest

    def generate(self, generator: Generator) -> Any:
        return generator.items(self.count, self.subcon, self.known)

    def _parse(self, stream: Any, context: Any, path: Any) -> tuple[Any, ...]:
        items: list[Any] = []
        count = evaluate(self.count, context)
        while len(items) < count:
            try:
                if self.known:
                    word = stream.peek(0, 2)
                    if word is not None and int.from_bytes(word, "little") not in self.known:
                        break
                items.append(self.subcon._parse(stream, context, path))
            except DecodeError as error:
                separator = "." if error.path else ""
                error.path = f"[{len(items)}]{separator}{error.path}"
                error.partial = (*items, error.partial) if error.partial is not None else tuple(items)
                raise
            except construct.StreamError:
                shortage = stream.shortage()
                shortage.path, shortage.partial = f"[{len(items)}]", tuple(items)
                raise shortage from None
        return tuple(items)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        count = evaluate(self.count, context)
        # A list that can stop before an unknown element may be shorter than its count.
        wrong = len(obj) > count if self.known or stream.laying_out else len(obj) != count
        if not isinstance(count, Undetermined) and wrong:
            raise EncodeError(f"{len(obj)} elements where the count says {count}")
        name = stream.names[-1] if stream.names else ""
        for index, item in enumerate(obj):
            if stream.names:
                stream.names[-1] = f"{name}[{index}]"
            start = stream.tell()
            try:
                self.subcon._build(item, stream, context, path)
            except EncodeError as error:
                raise named(error, f"[{index}]") from None
            except construct.ConstructError:
                raise EncodeError(misfit(item, self.subcon.sizeof()), path=f"[{index}]") from None
            stream.wrote(start)
        if stream.names:
            stream.names[-1] = name
        return obj


class Tell(WireConstruct):
    """The packet offset here."""

    def generate(self, generator: Generator) -> Any:
        return generator.tell()

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        return stream.tell()

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        return stream.tell()


class Ahead(WireConstruct):
    """Looks ``at`` bytes ahead without moving; -1 at the end of the bytes.

    ``field`` names the field of the same structure that stands there; without it, nothing is known
    while building, and what depends on it goes by the value.
    """

    def __init__(self, subcon: Any, at: int, field: str = "") -> None:
        super().__init__()
        self.subcon = subcon
        self.at = at
        self.field = field

    def generate(self, generator: Generator) -> Any:
        return generator.ahead(self.subcon, self.at, self.field)

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        # A field of this structure is read later anyway, and reports a cut where it is.
        data = stream.peek(self.at, self.subcon.sizeof(), strict=not self.field)
        return -1 if data is None else int.from_bytes(data, "little")

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        return context[self.field] if self.field else UNDETERMINED


class Value(WireConstruct):
    """What an expression says, 0 where it cannot be known, as where there is no packet around the structure.

    ``of`` are the fields that it is taken from, all of which may say the same. Where ``without`` names a
    field, the expression is for reading only: while building it is whether that field is not present.
    """

    def __init__(self, expression: Expression, *, of: tuple[str, ...] = (), without: str = "") -> None:
        super().__init__()
        self.expression = expression
        self.of = of
        self.without = without

    def generate(self, generator: Generator) -> Any:
        return generator.value(self.expression, self.without)

    def known(self, context: Any) -> int:
        """The value in a scope."""
        try:
            value = evaluate(self.expression, context)
        except KeyError:
            return 0
        return 0 if isinstance(value, Undetermined) else int(value)

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        return self.known(context)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        return int(context[self.without] is ABSENT) if self.without else self.known(context)


class Limit(WireConstruct):
    """From here on nothing is read past packet offset ``end``; None, or ``unless``, lifts the limit."""

    def __init__(self, end: Expression, unless: Expression = False) -> None:
        super().__init__()
        self.end = end
        self.unless = unless

    def generate(self, generator: Generator) -> Any:
        return generator.limit(self.end, self.unless)

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        if self.end is None or evaluate(self.unless, context):
            stream.unbound()
        else:
            stream.bound(evaluate(self.end, context))
        return stream.limit

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        return UNDETERMINED
