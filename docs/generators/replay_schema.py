"""The JSON Schema of a row of replay."""

from __future__ import annotations

from msgspec.structs import replace

from docs.generators.schema_parts import Json, columns_object
from msmq_wire.detection.columns import JSON_COLUMNS
from msmq_wire.detection.conduct import CONDUCT
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.replay.deviation_view import DEVIATION_COLUMNS

__all__ = ["replay_object"]

_KINDS = (*(one.value for one in ReplayKind), *map(str.lower, CONDUCT))


def replay_object() -> Json:
    """A row of ``replay --format jsonl``: what it has of its rule, and the columns of the deviation."""
    of_rule = (one for one in JSON_COLUMNS if one.name in ("id", "severity"))
    kind, *others = DEVIATION_COLUMNS
    return columns_object((*of_rule, replace(kind, choices=_KINDS), *others))
