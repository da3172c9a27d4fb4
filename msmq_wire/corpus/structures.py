"""Samples of the declared structures: valid ones, each field at the ends of its range, each cut.

The rule kept here: a field is set in the bytes, whatever else it decides. So a length, a count, a selector
and a presence bit each lie once, and nobody lists them. Where a rule needs several fields, they are declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msmq_wire.corpus.bases import bases, scalar_bases
from msmq_wire.corpus.leaves import Leaf, absent_parts, leaves, named_bits
from msmq_wire.corpus.sample import Expected, Sample, SampleEdit, SampleSequence, error_place, places
from msmq_wire.corpus.violations import VIOLATIONS, violating
from msmq_wire.engines import reference
from msmq_wire.engines.codec import InspectResult, inspect
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.registry import HEADERS, PACKETS, TYPES

GROUPS = {"types": TYPES, "headers": HEADERS, "packets": PACKETS}
"""The structures of each group, by stem."""
_MOST_CUTS = 400
_WIDEST = 8


def structure_samples(group: str, stem: str) -> Iterator[Sample]:
    """The samples of a structure, always the same."""
    cls = GROUPS[group][stem]
    sequence = SampleSequence(group, stem, {"as": stem})
    values = bases(cls) if issubclass(cls, WireStruct) else scalar_bases(cls)
    encoded = [_patterned(stem, reference.build(value)) for value in values]
    for data in encoded:
        if sequence.sees(data):
            yield sequence.sample(data, _expected(stem, data, whole=True))
    tried: set[str] = set()
    for place, data in enumerate(encoded):
        found = _leaves(stem, data)
        # Behind the first two, which are the default and the one with every part, only what is new.
        new = [leaf for leaf in found if place < 2 or leaf.path not in tried]
        tried.update(leaf.path for leaf in found)
        for leaf in new:
            for value in _numbers(leaf):
                yield from _set(sequence, stem, data, leaf, value)
        if place < 2:
            yield from _cuts(sequence, stem, data, found)
    data = encoded[0] + b"\xaa\x55"
    if sequence.sees(data):
        yield sequence.sample(
            data, _expected(stem, data), SampleEdit(how="append", offset=len(encoded[0]), length=2)
        )
    for must in cls.MUSTS if issubclass(cls, WireStruct) else ():
        rule = f"{stem}.{must.code}"
        if rule in VIOLATIONS:
            yield _broken(sequence, stem, values[0], rule)


def _patterned(stem: str, data: bytes) -> bytes:
    """The bytes with a different number in each field where that breaks nothing.

    A parser that takes one field for its neighbour, or its bytes in another order, cannot be right by chance.
    """
    for number, leaf in enumerate(_leaves(stem, data)):
        if leaf.bits or leaf.names or not isinstance(leaf.value, int):
            continue
        pattern = bytes((17 * number + 3 * at + 1) % 251 + 1 for at in range(leaf.span.length))
        changed = _replaced(data, leaf, pattern)
        result = inspect(changed, stem, engine="reference")
        if result.error is None and not result.anomalies and result.consumed == len(data):
            data = changed
    return data


def _replaced(data: bytes, leaf: Leaf, content: bytes) -> bytes:
    return data[: leaf.span.offset] + content + data[leaf.span.offset + leaf.span.length :]


def _leaves(stem: str, data: bytes) -> list[Leaf]:
    value = inspect(data, stem, engine="reference").packet
    return leaves(value) if isinstance(value, WireStruct) else []


def _numbers(leaf: Leaf) -> list[int]:
    """The ends of the range of a field, the values with a name, and each single bit of a word of bits."""
    if not isinstance(leaf.value, int) or not 0 < leaf.span.length <= _WIDEST:
        return []
    width = 8 * leaf.span.length
    top = (1 << width) - 1
    numbers = [0, 1, top >> 1, (top >> 1) + 1, top - 1, top, *leaf.names]
    near = [leaf.value - 1, leaf.value + 1]
    single = [1 << place for place in range(width)] if leaf.bits else []
    flipped = [leaf.value ^ bit for bit in single]
    return [one for one in dict.fromkeys((*numbers, *near, *single, *flipped)) if 0 <= one <= top]


def _set(sequence: SampleSequence, stem: str, data: bytes, leaf: Leaf, value: int) -> Iterator[Sample]:
    changed = _replaced(data, leaf, value.to_bytes(leaf.span.length, "little"))
    if sequence.sees(changed):
        change = SampleEdit(
            how="set", path=leaf.path, offset=leaf.span.offset, length=leaf.span.length, value=value
        )
        yield sequence.sample(changed, _expected(stem, changed, about=(leaf.path,)), change)


def _cuts(sequence: SampleSequence, stem: str, data: bytes, found: list[Leaf]) -> Iterator[Sample]:
    """The bytes cut in front of each field, and inside of it."""
    borders = {leaf.span.offset for leaf in found}
    inside = {leaf.span.offset + leaf.span.length - 1 for leaf in found if leaf.span.length > 1}
    for size in sorted(borders | inside or range(len(data)))[:_MOST_CUTS]:
        cut = data[:size]
        if size < len(data) and sequence.sees(cut):
            yield sequence.sample(cut, _expected(stem, cut), SampleEdit(how="cut", offset=size))


def _broken(sequence: SampleSequence, stem: str, value: WireStruct, rule: str) -> Sample:
    """The value with the changes that break a rule together."""
    violation = VIOLATIONS[rule]
    data = reference.build(violating(value, violation))
    paths = (*violation.fields, *violation.lies)
    edits = [
        SampleEdit(
            how="set",
            path=leaf.path,
            offset=leaf.span.offset,
            length=leaf.span.length,
            value=leaf.value if isinstance(leaf.value, int) else None,
        )
        for leaf in _leaves(stem, data)
        if _is_in(leaf.path, paths)
    ]
    change = SampleEdit(how="several", offset=edits[0].offset, breaks=rule, edits=tuple(edits))
    return sequence.sample(data, _expected(stem, data, about=paths), change)


def _is_in(path: str, parts: Sequence[str]) -> bool:
    """Whether a field is one of some parts, or in one of them."""
    return any(path == part or path.startswith((f"{part}.", f"{part}[")) for part in parts)


def _expected(stem: str, data: bytes, *, whole: bool = False, about: Sequence[str] = ()) -> Expected:
    result: InspectResult = inspect(data, stem, engine="reference")
    shown: list[Leaf] = []
    absent: list[str] = []
    if isinstance(result.packet, WireStruct):
        shown = [leaf for leaf in leaves(result.packet) if whole or _is_in(leaf.path, about)]
        absent = absent_parts(result.packet) if whole else []
    return Expected(
        type=result.type or "",
        consumed=result.consumed,
        anomalies=places(result.anomalies),
        error=error_place(result.error),
        fields={leaf.path: _shown(leaf.value) for leaf in shown},
        bits={name: bit for leaf in shown for name, bit in named_bits(leaf).items()},
        absent=tuple(absent),
    )


def _shown(value: Any) -> int | str:
    return value.hex() if isinstance(value, bytes) else int(value)
