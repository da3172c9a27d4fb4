"""What a node tells the generated engines about itself.

The rule kept here: a node says what it is made of, in the operations of `Generator` and with its
expressions as data. An engine is a `Generator` and imports no node, so nodes that later layers add compile
as well. A node without a rule cannot be compiled at all: `generate` raises TypeError, there is no slow path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import construct

from msmq_wire.wire.expressions import Expression


class Generator(Protocol):
    """The operations of a generated engine: one for every way that a node uses bytes.

    What a method returns is the engine's own handle for the value of the field that is being compiled; a node
    passes it on. Lengths, conditions and selectors are expressions over the scope of the structure that the
    field is in. For an engine that inherits this, what uses no bytes by itself
    gives nothing.
    """

    def integer(self, size: int, *, signed: bool, big_endian: bool) -> Any:
        """A number of ``size`` bytes."""

    def octets(self, length: Expression, kind: type[bytes]) -> Any:
        """``length`` bytes as a value of ``kind``."""

    def fill(self, length: Expression) -> Any:
        """Padding: ``length`` bytes, 0 or up to a multiple of 4 where that cannot be known while building."""

    def align(self, to: int) -> Any:
        """What is lacking to a multiple of ``to`` packet bytes, if it is there before the limit."""

    def zero_terminated(self, kind: type[bytes]) -> Any:
        """16-bit units up to and with the first that is 0."""

    def optional(self, condition: Expression, subcon: Any) -> Any:
        """The node ``subcon`` when the condition holds, else None."""

    def choice(self, selector: Expression, cases: Mapping[int, Any]) -> Any:
        """The node of the case that the selector names; a case of None takes no bytes."""

    def items(self, count: Expression, subcon: Any, known: tuple[int, ...]) -> Any:
        """``count`` elements; fewer when one begins with a 16-bit word that is not in ``known``."""
        return None

    def tell(self) -> Any:
        """The packet offset here."""
        return None

    def ahead(self, subcon: Any, at: int, field: str) -> Any:
        """The number ``at`` bytes ahead, -1 past the limit; ``field`` names it if it is declared."""
        return None

    def value(self, expression: Expression, without: str) -> Any:
        """What the expression says, 0 if not known; while building, whether ``without`` is not present."""
        return None

    def limit(self, end: Expression, unless: Expression) -> Any:
        """Nothing is read past packet offset ``end`` from here on; None or ``unless`` lifts the limit."""
        return None

    def structure(self, cls: type[Any], context: Mapping[str, int]) -> Any:
        """The fields of a structure."""


def generate(subcon: Any, generator: Generator) -> Any:
    """Hand a node, or an integer of construct, to an engine; return the engine's handle for its value."""
    rule = getattr(subcon, "generate", None)
    if rule is not None:
        return rule(generator)
    if isinstance(subcon, construct.FormatField):
        order, letter = subcon.fmtstr[0], subcon.fmtstr[1:]
        if letter.lower() in ("b", "h", "l", "i", "q"):
            return generator.integer(
                subcon.length, signed=letter.islower(), big_endian=order == ">" and subcon.length > 1
            )
    if isinstance(subcon, construct.BytesInteger) and isinstance(subcon.length, int):
        return generator.integer(subcon.length, signed=subcon.signed, big_endian=not subcon.swapped)
    raise TypeError(f"{type(subcon).__name__} has no generator rule")
