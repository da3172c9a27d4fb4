"""Non-encapsulated unions: `Union` and its `Arm`s. [C706] 14.3.8, [MS-RPCE] 2.2.5.3.4.4.

The discriminant is on the wire twice: as the member that switches, and in front of the arm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr.scalars import Number
from msmq_wire.rpc.ndr.stub_stream import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType, Scope, size_evaluator
from msmq_wire.wire.expressions import Expression


class Arm(msgspec.Struct, frozen=True):
    """One case: the IDL's name of the member and its type; ``type`` None is a case without a member."""

    name: str = ""
    type: Any = None


class _Pending:
    """An arm of a union and its state."""

    __slots__ = ("arm", "state")

    def __init__(self, arm: Arm, state: Any) -> None:
        self.arm = arm
        self.state = state


class Union(NdrType):
    """A union whose arm ``selector`` selects; its value is the value of the arm, None for an empty arm.

    ``tag`` is the type of the discriminant. A discriminant without an arm is a DecodeError
    (``unknown-selector``). If it differs from the switching member, that is a problem, and the member counts.
    """

    __slots__ = ("_alignments", "_selected", "arms", "selector", "tag")

    def __init__(self, selector: Expression, tag: Number, arms: Mapping[int, Arm]) -> None:
        self.selector = selector
        self._selected = size_evaluator(selector)
        self.tag = tag
        self.arms = arms
        self._alignments: dict[Syntax, int] = {}

    def arm_alignment(self, syntax: Syntax) -> int:
        """The strictest alignment of all arms."""
        found = self._alignments.get(syntax)
        if found is None:
            # An arm may hold this union again, through an array behind a pointer: that does not count.
            self._alignments[syntax] = 1
            found = max((arm.type.alignment(syntax) for arm in self.arms.values() if arm.type), default=1)
            self._alignments[syntax] = found
        return found

    def alignment(self, syntax: Syntax) -> int:
        return max(self.tag.alignment(syntax), self.arm_alignment(syntax))

    def minimum_size(self, syntax: Syntax) -> int:
        return self.tag.size(syntax)

    def has_deferred(self) -> bool:
        return True

    def uses_scope(self) -> bool:
        return True

    def arm(self, scope: Any) -> tuple[int, Arm | None]:
        """The discriminant and its arm, None if there is no such arm."""
        selected = self._selected(scope)
        return (0, None) if selected is None else (selected, self.arms.get(selected))

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        syntax, tag = reader.syntax, self.tag
        reader.align(self.alignment(syntax) if syntax.wide else tag.alignment(syntax))
        start = reader.pos
        repeated = tag.read_flat(reader, scope)
        selected, arm = self.arm(scope)
        reader.unions += 1
        if repeated != selected:
            reader.tags.append((reader.unions - 1, repeated))
            message = f"the union has tag {repeated}, but the member that selects it is {selected}"
            reader.problem("union-tag", message, start, reader.pos - start)
        if arm is None:
            raise DecodeError("unknown-selector", f"{selected} selects nothing", offset=start)
        if arm.type is None:
            if syntax.wide:
                reader.align(self.arm_alignment(syntax))
            return _Pending(arm, None)
        reader.align(self.arm_alignment(syntax) if syntax.wide else arm.type.alignment(syntax))
        return _Pending(arm, arm.type.read_flat(reader, scope))

    def read_deferred(self, reader: NdrReader, state: Any, scope: Scope) -> Any:
        arm = state.arm
        if arm.type is None or not arm.type.has_deferred():
            return state.state
        return arm.type.read_deferred(reader, state.state, scope)

    def partial_value(self, state: Any) -> Any:
        return state.state if state.arm.type is None else state.arm.type.partial_value(state.state)

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        syntax, tag = writer.syntax, self.tag
        selected, arm = self.arm(scope)
        if arm is None:
            raise EncodeError(f"{selected} selects nothing")
        writer.align(self.alignment(syntax) if syntax.wide else tag.alignment(syntax))
        tag.write_flat(writer, writer.tag(selected), scope)
        if arm.type is None:
            if value is not None:
                raise EncodeError(f"a value where {selected} selects none")
            if syntax.wide:
                writer.align(self.arm_alignment(syntax))
            return
        writer.align(self.arm_alignment(syntax) if syntax.wide else arm.type.alignment(syntax))
        arm.type.write_flat(writer, value, scope)

    def write_deferred(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        arm = self.arm(scope)[1]
        if arm is not None and arm.type is not None and arm.type.has_deferred():
            arm.type.write_deferred(writer, value, scope)
