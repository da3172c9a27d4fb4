"""The kinds of message bodies, from the modules that read them."""

from __future__ import annotations

from docs.generators.markers import code, table
from msmq_wire.records.bodies.body_decoder import KINDS

__all__ = ["kinds_block"]


def kinds_block() -> str:
    """Every kind with what it is recognised by and what is shown of it."""
    rows = ((", ".join(map(code, one.kinds)), one.recognised, one.shown) for one in KINDS)
    return table(("`kind`", "Recognised by", "Shown"), rows)
