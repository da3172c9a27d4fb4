"""What the specifications demand of values, as data: `Must`, `CodedMust` and the names of bits.

The rule kept here: a MUST never stops a decode. It is a line beside the fields, the same for every engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

import msgspec

from msmq_wire.arguments import out_of_range, shown
from msmq_wire.representation import line, shortened
from msmq_wire.spec import SpecRef
from msmq_wire.wire.expressions import UNDETERMINED, Expression, Undetermined

_NO_MEANING = re.compile(r"reserved|x\d*")


class Anomaly(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A value that breaks a MUST: where it lies (packet offset and length in bytes) and who says so."""

    code: str
    message: str
    path: str
    offset: int
    length: int
    spec: SpecRef

    def __repr__(self) -> str:
        return line(self, f"{shortened(self.code, 64)} at offset {self.offset}:", shortened(self.message, 96))


class Must:
    """A condition on a structure's fields, as an expression; ``at`` is the field that is wrong if it fails.

    Inside an expression ``this`` is the structure and ``this._`` the one around it. ``code`` is stable; an
    anomaly carries it behind the stem, as in ``base_header.version-number``.
    """

    __slots__ = ("at", "code", "expression", "message", "spec")

    def __init__(
        self, code: str, expression: Expression, *, at: str, message: str, spec: SpecRef | None = None
    ) -> None:
        self.code = code
        self.expression = expression
        self.at = at
        self.message = message
        self.spec = spec

    def holds(self, view: View) -> bool:
        """Whether it holds; what cannot be known holds."""
        result = self.expression(view)
        return isinstance(result, Undetermined) or bool(result)

    def __repr__(self) -> str:
        return f"Must({self.code!r}, {self.expression!r}, at={self.at!r})"


class CodedMust:
    """A condition that no expression can say: a named function, true when it holds.

    ``of`` are the fields it is about, as dotted paths from the structure: ``check`` takes their values, and
    is asked only when all of them are there. Without ``of`` it takes the `View`.
    """

    __slots__ = ("at", "check", "code", "message", "of", "spec")

    def __init__(
        self,
        code: str,
        check: Callable[..., bool],
        *of: str,
        at: str,
        message: str,
        spec: SpecRef | None = None,
    ) -> None:
        self.code = code
        self.check = check
        self.of = of
        self.at = at
        self.message = message
        self.spec = spec

    def holds(self, view: View) -> bool:
        """Whether it holds; what cannot be known holds."""
        if not self.of:
            return self.check(view)
        values = [view.find(path) for path in self.of]
        return any(value is UNDETERMINED for value in values) or self.check(*values)

    def __repr__(self) -> str:
        return f"CodedMust({self.code!r}, {self.check.__name__}, at={self.at!r})"


Musts = tuple[Must | CodedMust, ...]


class View(Mapping[str, Any]):
    """A structure as the scope of a MUST: what is absent, was not reached or is cut is undetermined.

    ``cut`` is the path, from here, of a field that a cut shortened.
    """

    __slots__ = ("cut", "cut_field", "parent", "value")

    def __init__(self, value: Any, parent: View | None = None, cut: str = "") -> None:
        self.value = value
        self.parent = parent
        self.cut = cut
        self.cut_field = cut.partition(".")[0].partition("[")[0]

    def __getitem__(self, name: str) -> Any:
        if name == "_":
            return UNDETERMINED if self.parent is None else self.parent
        value = getattr(self.value, name, None)
        if isinstance(value, msgspec.Struct):
            return self.child(name, value)
        if value is None or value is msgspec.UNSET or name == self.cut_field:
            return UNDETERMINED
        return value

    def find(self, path: str) -> Any:
        """The value at a dotted path; UNDETERMINED when it is absent, was not reached or is cut."""
        found: Any = self
        for name in path.split("."):
            found = found[name]
        if isinstance(found, View):
            whole = not found.cut and msgspec.UNSET not in msgspec.structs.astuple(found.value)
            return found.value if whole and self.cut != path else UNDETERMINED
        return found

    def child(self, name: str, value: Any, index: int | None = None) -> View:
        """The view of a structure in this one, or of an element of a list in it."""
        place = name if index is None else f"{name}[{index}]"
        return View(value, self, self.cut[len(place) + 1 :] if self.cut.startswith(f"{place}.") else "")

    def __iter__(self) -> Any:
        return iter(self.value.__struct_fields__)

    def __len__(self) -> int:
        return len(self.value.__struct_fields__)


class Bit(msgspec.Struct, frozen=True):
    """A bit or a group of bits in a word; ``names`` are the meanings of a group's values.

    ``doc`` says what it means in a few words, ``at_zero`` that its being 0 is worth saying.
    """

    name: str
    shift: int
    width: int = 1
    names: type[IntEnum] | None = None
    doc: str = ""
    at_zero: bool = False

    @property
    def mask(self) -> int:
        """The bits in place."""
        return ((1 << self.width) - 1) << self.shift

    @property
    def reserved(self) -> bool:
        """Whether it has no meaning: the specifications call such bits X, X0, X1..."""
        return _NO_MEANING.fullmatch(self.name) is not None


def unused(first: int, last: int) -> dict[str, int]:
    """Single bits that the specifications number as X: ``unused(2, 15)`` is x2 to x15."""
    return {f"x{place}": place for place in range(first, last + 1)}


def _bit(name: str, *reported: int | str | type[IntEnum]) -> Bit:
    shift, width = ([one for one in reported if isinstance(one, int) and not isinstance(one, bool)] + [1])[:2]
    names = next((one for one in reported if isinstance(one, type)), None)
    doc = next((one for one in reported if isinstance(one, str)), "")
    return Bit(name, shift, width, names=names, doc=doc, at_zero=reported[-1] is True)


class BitTable:
    """The bits of one word: ``BitTable("flags", pr=(0, 3, "priority"), in_=(3, "internal packet"), x9=6)``.

    A number is the position of a single bit. Of several things in parentheses the first is the position;
    a second number is the width, an IntEnum the meanings of the values, a text the meaning of the bit, and
    True says that 0 is worth saying. A trailing underscore keeps a Python keyword apart and is not part of
    the name.
    """

    __slots__ = ("bits", "field")

    def __init__(self, field: str, /, **bits: int | tuple[int | str | type[IntEnum], ...]) -> None:
        self.field = field
        table: dict[str, Bit] = {}
        for key, place in bits.items():
            name = key.rstrip("_")
            table[name] = _bit(name, *(place if isinstance(place, tuple) else (place,)))
        self.bits: Mapping[str, Bit] = table

    def extract(self, word: int, name: str) -> int:
        """The value of a named bit in a word; ValueError for a name that is none."""
        bit = self._bit(name)
        return (word & bit.mask) >> bit.shift

    def insert(self, word: int, name: str, value: int) -> int:
        """The word with a named bit set to a value that fits it; ValueError if it does not.

        TypeError for a value that is no integer.
        """
        bit = self._bit(name)
        problem = out_of_range(name, value, (1 << bit.width) - 1)
        if problem:
            raise ValueError(problem)
        return (word & ~bit.mask) | (value << bit.shift)

    def _bit(self, name: str) -> Bit:
        try:
            return self.bits[name]
        except KeyError:
            raise ValueError(
                f"{self.field} has no bit {shown(name)}: it has {', '.join(self.bits)}"
            ) from None
