"""`TreeNode`: one line of a tree, with its children."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Literal

import msgspec

from msmq_wire.wire.stream import Span

Kind = Literal["structure", "field", "bit", "anomaly", "error"]


class NodeOptions(msgspec.Struct, frozen=True):
    """What to show: ``everything`` adds padding, reserved and empty fields; ``zone`` None is local time."""

    everything: bool = False
    zone: tzinfo | None = UTC


class Block(msgspec.Struct, frozen=True):
    """A long value that stands below its field: bytes from a packet offset, as text where they are one.

    Of a text that is laid out, ``data`` are the bytes of the layout.
    """

    data: bytes
    offset: int
    text: str | None = None


class TreeNode(msgspec.Struct):
    """One line of a tree with what stands below it. ``wire`` are the bytes behind a field."""

    name: str
    value: str = ""
    note: str = ""
    kind: Kind = "field"
    path: str = ""
    span: Span | None = None
    wire: bytes = b""
    block: Block | None = None
    children: list[TreeNode] = msgspec.field(default_factory=list)
