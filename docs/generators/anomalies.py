"""The index of anomaly codes."""

from __future__ import annotations

from docs.generators.markers import code, table
from docs.generators.structures import structures_of
from msmq_wire.wire.registry import STRUCTURES

__all__ = ["block"]


def block() -> str:
    """Every anomaly code in alphabetical order."""
    rows = {}
    for stem, cls in STRUCTURES.items():
        for structure in structures_of(cls):
            for must in structure.MUSTS:
                name = f"{structure.stem()}.{must.code}"
                link = f"[{stem}](structures/{stem}.md)"
                rows[name] = (code(name), must.message, must.spec or structure.SPEC, link)
    return f"{len(rows)} codes.\n\n" + table(
        ("Code", "Says", "Section", "Structure"), [rows[name] for name in sorted(rows)]
    )
