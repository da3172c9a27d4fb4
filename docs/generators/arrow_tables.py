"""The Arrow table of every type of record: its columns, from the schemas themselves."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from docs.generators.markers import code, table
from msmq_wire.capture.tables import schema
from msmq_wire.engines import arrow
from msmq_wire.records.composed import COMPOSED
from msmq_wire.wire.registry import PACKETS, STRUCTURES

__all__ = ["block"]


def block() -> str:
    """A section for every packet type, and one for every type of row that calls and SRMP have."""
    return "\n\n".join([*(_section(stem) for stem in PACKETS), *(_calls(type_) for type_ in COMPOSED)])


def _calls(type_: str) -> str:
    rows = []
    for field in schema(type_):
        rows.append(_row(field))
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(kind) and field.name not in ("anomalies", "error"):
            inner = [_row(one) for one in kind]
            rows += [(f"{code(field.name)} {name}", *rest) for name, *rest in inner]
    return f"### {type_}\n\n{table(('Column', 'Type', 'Null', 'Meaning'), rows)}"


def _section(stem: str) -> str:
    same = _alike(stem)
    if same is not None:
        return f"### {stem}\n\nThe columns of [{same}](#{same})."
    rows = [_row(field) for field in arrow.schema(stem)]
    return f"### {stem}\n\n{table(('Column', 'Type', 'Null', 'Meaning'), rows)}"


def _alike(stem: str) -> str | None:
    """An earlier packet type that has the same columns."""
    for other in PACKETS:
        if other == stem:
            return None
        if arrow.schema(other).equals(arrow.schema(stem)):
            return other
    return None


def _row(field: Any) -> tuple[str, ...]:
    about = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    kind = str(field.type)
    if pa.types.is_struct(field.type):
        stem = field.name
        kind = f"[struct](structures/{stem}.md)" if stem in STRUCTURES else "struct"
    elif pa.types.is_list(field.type):
        inner = field.type.value_type
        kind = "list of struct" if pa.types.is_struct(inner) else f"list of {inner}"
    names = about.get("enumeration", "")
    meaning = about.get("doc", "") + (f" [{names}](enumerations.md#{names.lower()})." if names else "")
    return code(field.name), kind, "yes" if field.nullable else "", meaning
