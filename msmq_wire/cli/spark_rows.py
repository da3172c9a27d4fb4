"""Rows of a query as plain values and cells: times in UTC, bytes in base64, structures as objects.

The rule kept here: a row of any query can be printed, whatever its types are, and columns of one name stay
apart.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from msmq_wire.engines.text.escaping import json_line

_NESTED = (dict, list)


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names of columns, those that came before with a number: ``time``, ``time_2``."""
    taken = set(names)
    used: set[str] = set()
    found = []
    for name in names:
        shown, number = name, 1
        while shown in used or (number > 1 and shown in taken):
            number += 1
            shown = f"{name}_{number}"
        used.add(shown)
        found.append(shown)
    return found


def plain_value(value: Any) -> Any:
    """A value that pyspark gives, as JSON has it.

    A time is RFC 3339 in UTC (pyspark gives it in the zone of this machine), bytes are base64, a decimal is a
    number, a number that JSON lacks is text; the rest that is neither is its text.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {_key(key): plain_value(one) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "__fields__"):
        # A Row: a tuple that knows its names, which need not differ.
        return dict(zip(distinct_names(value.__fields__), map(plain_value, value), strict=True))
    if isinstance(value, Iterable):
        return [plain_value(one) for one in value]
    return str(value)


def cell_of(value: Any) -> Any:
    """A plain value as a cell of a table: what has parts as JSON."""
    return json_line(value) if isinstance(value, _NESTED) else value


def _key(key: Any) -> str:
    plain = plain_value(key)
    return plain if isinstance(plain, str) else json_line(plain)
