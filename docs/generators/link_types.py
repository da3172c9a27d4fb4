"""The link types of captures, from the walk through their headers."""

from __future__ import annotations

from docs.generators.markers import table
from msmq_wire.capture.link import LINK_TYPES

__all__ = ["block"]


def block() -> str:
    """Every link type with its name."""
    return table(("LINKTYPE", "Name"), ((number, name) for number, (name, _) in LINK_TYPES.items()))
