"""How many bytes of a structure can be copied at once.

The rule kept here: what is counted follows in every packet that is whole, whatever the packet claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from msmq_wire.wire.expressions import Expression
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.generation import Generator, generate

GATHERED = 32
"""Fixed byte strings up to this size are copied with the numbers around them."""


class _Plan(Generator):
    """A `Generator` that measures: how many bytes are sure to follow from each field on."""

    def __init__(self) -> None:
        self.sure: dict[tuple[str, ...], int] = {}
        self.path: tuple[str, ...] = ()
        self.total = 0
        self.fixed = True
        self._run: list[tuple[tuple[str, ...], int]] = []

    def _take(self, size: int) -> None:
        self.total += size
        self._run.append((self.path, size))

    def close(self) -> None:
        """End a run of fixed fields: what follows depends on the packet."""
        size = 0
        for path, own in reversed(self._run):
            size += own
            # Layouts of one name share its path; only what all of them have is sure.
            self.sure[path] = min(size, self.sure.get(path, size))
        self._run = []

    def _break(self) -> None:
        self.close()
        self.fixed = False

    def _arm(self, subcon: Any) -> _Plan:
        arm = _Plan()
        arm.sure, arm.path = self.sure, self.path
        if subcon is not None:
            generate(subcon, arm)
        arm.close()
        return arm

    def integer(self, size: int, *, signed: bool, big_endian: bool) -> None:
        self._take(size)

    def octets(self, length: Expression, kind: type[bytes]) -> None:
        if isinstance(length, int) and length <= GATHERED:
            self._take(length)
        else:
            self._break()

    def fill(self, length: Expression) -> None:
        self._break()

    def align(self, to: int) -> None:
        self._break()

    def zero_terminated(self, kind: type[bytes]) -> None:
        self._break()

    def optional(self, condition: Expression, subcon: Any) -> None:
        self._break()
        self._arm(subcon)

    def choice(self, selector: Expression, cases: Mapping[int, Any]) -> None:
        arms = [self._arm(subcon) for subcon in cases.values()]
        if all(arm.fixed for arm in arms) and len({arm.total for arm in arms}) == 1:
            self._take(arms[0].total)
        else:
            self._break()

    def items(self, count: Expression, subcon: Any, known: tuple[int, ...]) -> None:
        self._break()
        self._arm(subcon)

    def structure(self, cls: type[WireStruct], context: Mapping[str, int]) -> None:
        outer = self.path
        for field in fields(cls):
            self.path = (*outer, field.name)
            generate(field.subcon, self)
        self.path = outer


@cache
def sure_bytes(cls: type[WireStruct]) -> Mapping[tuple[str, ...], int]:
    """Bytes that follow from each field of a structure in every packet that is whole, by path."""
    plan = _Plan()
    plan.structure(cls, {})
    plan.close()
    return plan.sure
