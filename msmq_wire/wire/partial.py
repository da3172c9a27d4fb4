"""Fields of values that may be there in part: `reached`, `reached_at` and `reached_number`."""

from __future__ import annotations

from typing import Any

import msgspec


def reached(part: Any, name: str) -> Any:
    """A field of a part; None where either is absent or was not reached."""
    value = getattr(part, name, None)
    return None if value is msgspec.UNSET else value


def reached_at(part: Any, path: str) -> Any:
    """What is at a dotted path; None where something on it is absent or was not reached."""
    for name in path.split("."):
        part = reached(part, name)
    return part


def reached_number(part: Any, path: str) -> int | None:
    """The number at a dotted path; None where there is none, or something else."""
    for name in path.split("."):
        part = getattr(part, name, None)
    return part if isinstance(part, int) else None
