"""Conditions on fields as options of Suricata: what lies at a fixed place, compared with what is declared.

The rule kept here: an expression that cannot be said is refused when the file is written, and never said in
part.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from msmq_wire.detection.suricata_signature import SuricataSignature, runs
from msmq_wire.engines.field_offsets import span
from msmq_wire.wire.expressions import Expression, Operation, evaluate, parts
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import SIGNATURE, BaseHeader
from msmq_wire.wire.musts import Must

_GUARDS = ("version-number", "signature", "internal", "not-internal", "packet-type")
"""Codes of the MUSTs that say which packet this is."""
_MARK = SIGNATURE.to_bytes(4, "little")
_PLAIN = re.compile(rb"[A-Za-z0-9 _.,<>/=@$?!-]")
_COMPARISONS = {
    operator.eq: "=",
    operator.ne: "!=",
    operator.lt: "<",
    operator.gt: ">",
    operator.le: "<=",
    operator.ge: ">=",
}
_OPPOSITE = {
    operator.lt: operator.gt,
    operator.gt: operator.lt,
    operator.le: operator.ge,
    operator.ge: operator.le,
}
_LARGEST_TEST = 4


class _Bits(msgspec.Struct, frozen=True):
    """Bits of a field as a comparison sees them: ``(field & mask) >> shift``; no mask is the whole field."""

    path: tuple[str, ...]
    mask: int | None = None
    shift: int = 0


def options(signature: SuricataSignature) -> Iterator[str]:
    """The options that a signature matches by, in the order in which Suricata reads them."""
    if signature.on.flow:
        yield f"flow:{signature.on.flow}"
    yield from (f"flowbits:isset,{bit}" for bit in signature.needs)
    yield from (f"flowbits:isnotset,{bit}" for bit in signature.lacks)
    if signature.packet is not None and signature.guarded:
        yield from _guards(signature.packet, signature.anywhere)
    for one in signature.match:
        if isinstance(one, str):
            yield one
        elif isinstance(one, bytes):
            yield content(one)
        elif signature.packet is None:
            raise TypeError(f"{one!r} is a condition on a packet, and none is named")
        else:
            yield from _condition(signature.packet, one, signature.anywhere)
    yield from (f"flowbits:set,{bit}" for bit in signature.sets)
    if signature.silent:
        yield "flowbits:noalert"


def content(data: bytes) -> str:
    """A ``content`` option: text where it is plain, else hex between bars."""
    shown: list[str] = []
    hexed: list[str] = []
    for byte in data:
        if _PLAIN.fullmatch(bytes([byte])):
            if hexed:
                shown.append(f"|{' '.join(hexed)}|")
                hexed = []
            shown.append(chr(byte))
        else:
            hexed.append(f"{byte:02x}")
    if hexed:
        shown.append(f"|{' '.join(hexed)}|")
    return f'content:"{"".join(shown)}"'


def _guards(packet: type[WireStruct], anywhere: bool) -> Iterator[str]:
    """What tells the packet from all others: the signature where it stands, and the type of the packet."""
    layers = [(("base_header",), BaseHeader), ((), packet)] if _has_base(packet) else [((), packet)]
    if anywhere:
        # A size lets Suricata look at the segment at once: it looks at streams later, behind what comes next.
        yield f"dsize:>{_mark_end()}"
        # What follows is relative to it.
        yield content(_MARK)
    for prefix, cls in layers:
        for must in getattr(cls, "MUSTS", ()):
            if must.code in _GUARDS and not (anywhere and must.code == "signature"):
                yield from _must(packet, prefix, must, anywhere)


def _has_base(packet: type[WireStruct]) -> bool:
    return "base_header" in packet.__struct_fields__


def _must(packet: type[WireStruct], prefix: tuple[str, ...], must: Must, anywhere: bool) -> Iterator[str]:
    yield from _condition(packet, must.expression, anywhere, prefix)


def _condition(
    packet: type[WireStruct], expression: Expression, anywhere: bool, prefix: tuple[str, ...] = ()
) -> Iterator[str]:
    made = parts(expression)
    if not isinstance(made, Operation):
        raise TypeError(f"{expression!r} is no condition")
    if made.operator is operator.and_:
        for operand in made.operands:
            yield from _condition(packet, operand, anywhere, prefix)
        return
    if made.operator not in _COMPARISONS:
        yield _one_byte(packet, expression, prefix)
        return
    left, right = made.operands
    comparison = made.operator
    value = parts(right)
    if isinstance(value, tuple | Operation):
        left, value, comparison = right, parts(left), _OPPOSITE.get(comparison, comparison)
    bits = _bits(left)
    offset, size = span(packet(), ".".join((*prefix, *bits.path)))
    if isinstance(value, bytes) or (
        bits.mask is None and isinstance(value, int) and comparison is operator.eq and not anywhere
    ):
        data = value if isinstance(value, bytes) else value.to_bytes(size, "little")
        if anywhere or comparison not in (operator.eq, operator.ne):
            raise TypeError(f"{expression!r} cannot be said")
        negated = "!" if comparison is operator.ne else ""
        place = f"offset:{offset}; depth:{len(data)}" if offset else f"depth:{len(data)}"
        yield f"{content(data).replace(':', f':{negated}', 1)}; {place}"
        return
    if not isinstance(value, int) or size > _LARGEST_TEST:
        raise TypeError(f"{expression!r} cannot be said")
    at = f"{offset - _mark_end()},relative,little" if anywhere else f"{offset},little"
    yield _tested(bits, comparison, value, size, at)


def _mark_end() -> int:
    """How far behind the start of a packet its signature ends."""
    offset, size = span(BaseHeader(), "signature")
    return offset + size


def _tested(bits: _Bits, comparison: Any, value: int, size: int, at: str) -> str:
    if size == 1:
        at = at.removesuffix(",little")
    if bits.mask is None:
        return f"byte_test:{size},{_COMPARISONS[comparison]},{value},{at}"
    if value == 0 and comparison in (operator.eq, operator.ne):
        return f"byte_test:{size},{'!' if comparison is operator.eq else ''}&,{bits.mask:#x},{at}"
    low = (bits.mask & -bits.mask).bit_length() - 1
    # Suricata shifts by the zeros below the mask.
    value = value << bits.shift >> low
    return f"byte_test:{size},{_COMPARISONS[comparison]},{value},{at},bitmask {bits.mask:#x}"


def _bits(expression: Expression) -> _Bits:
    """A field, or some of its bits. Raises TypeError for anything else."""
    made = parts(expression)
    if isinstance(made, tuple):
        return _Bits(made)
    if isinstance(made, Operation) and made.operator is operator.and_:
        inner, mask = _bits(made.operands[0]), parts(made.operands[1])
        if isinstance(mask, int) and inner.mask is None:
            return _Bits(inner.path, mask << inner.shift, inner.shift)
    if isinstance(made, Operation) and made.operator is operator.rshift:
        inner, shift = _bits(made.operands[0]), parts(made.operands[1])
        if isinstance(shift, int) and inner.mask is None:
            return _Bits(inner.path, None, shift)
    raise TypeError(f"{expression!r} cannot be said")


def _one_byte(packet: type[WireStruct], expression: Expression, prefix: tuple[str, ...]) -> str:
    """A condition on bits of one byte: the values of the byte for which it holds."""
    asked = list(_asked(expression))
    (path,) = {bits.path for bits in asked}
    offset, size = span(packet(), ".".join((*prefix, *path)))
    mask = 0
    for bits in asked:
        mask |= (1 << 8 * size) - 1 if bits.mask is None else bits.mask
    number = ((mask & -mask).bit_length() - 1) // 8
    if mask >> 8 * number > 0xFF:
        raise TypeError(f"{expression!r} is about more than one byte")
    held = [byte for byte in range(256) if evaluate(expression, _scope(path, byte << 8 * number))]
    shown = "".join(
        f"\\x{first:02x}-\\x{last:02x}" if last > first else f"\\x{first:02x}" for first, last in runs(held)
    )
    return f'pcre:"/^.{{{offset + number}}}[{shown}]/s"'


def _asked(expression: Expression) -> Iterator[_Bits]:
    made = parts(expression)
    if isinstance(made, Operation) and made.operator in (operator.or_, operator.and_, *_COMPARISONS):
        try:
            yield _bits(expression)
        except TypeError:
            for operand in made.operands:
                yield from _asked(operand)
    elif not isinstance(made, int | bytes):
        yield _bits(expression)


def _scope(path: tuple[str, ...], value: int) -> dict[str, Any]:
    scope: Any = value
    for name in reversed(path):
        scope = {name: scope}
    found: dict[str, Any] = scope
    return found
