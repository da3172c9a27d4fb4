"""The page of enumerations."""

from __future__ import annotations

import inspect

from docs.generators.markers import code, table
from docs.generators.structures import structures_of
from msmq_wire.wire.fields import fields
from msmq_wire.wire.registry import ENUMERATIONS, STRUCTURES

__all__ = ["block"]


def _users() -> dict[str, list[str]]:
    """Links to the fields and bits that take their names from an enumeration, by its name."""
    users: dict[str, list[str]] = {name: [] for name in ENUMERATIONS}
    for stem, cls in STRUCTURES.items():
        for structure in structures_of(cls):
            paths = [(f.names, f.name) for f in fields(structure)]
            if structure.BITS is not None:
                field = structure.BITS.field
                paths += [(bit.names, f"{field}.{bit.name}") for bit in structure.BITS.bits.values()]
            for names, path in paths:
                link = f"[{structure.stem()}.{path}](structures/{stem}.md)"
                if names is not None and link not in users[names.__name__]:
                    users[names.__name__].append(link)
    return users


def block() -> str:
    """Every enumeration with its values and where they stand."""
    used_by = _users()
    parts = []
    for name, members in sorted(ENUMERATIONS.items()):
        rows = [(code(f"0x{int(member):04X}"), int(member), code(member.name)) for member in members]
        text = inspect.cleandoc(members.__doc__ or "")
        used = f"Used by {', '.join(used_by[name])}." if used_by[name] else ""
        parts += [f"## {name} {{ #{name.lower()} }}", f"{text} {used}", table(("Hex", "Value", "Name"), rows)]
    return "\n\n".join(parts)
