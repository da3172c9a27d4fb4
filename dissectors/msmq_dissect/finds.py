# SPDX-License-Identifier: AGPL-3.0-or-later
"""What a find says of its message: the columns of messages that speak of the message alone.

The rule kept here: names, meanings and places of columns are those of `msmq_wire.records.message`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msmq_wire.capture.carve.reader import record_of
from msmq_wire.capture.carve.search import CarvedItem
from msmq_wire.records.message import ROW, MessageColumn, message_of
from msmq_wire.units import MILLISECOND

__all__ = ["FIELDS", "message_fields"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TYPES = {"number": "varint", "text": "string", "time": "datetime"}
"""Types of flow.record by the kinds of columns."""
_OF_A_CAPTURE = frozenset(("via",))
"""Columns that say how a packet travelled, though they are read in it."""
_COLUMNS: tuple[MessageColumn, ...] = tuple(
    one for one in ROW if not one.where and one.name not in _OF_A_CAPTURE
)
FIELDS: tuple[tuple[str, str], ...] = tuple((_TYPES[one.kind], one.name) for one in _COLUMNS)
"""Types and names, as flow.record takes them."""


def message_fields(find: CarvedItem) -> Mapping[str, Any]:
    """The values of `FIELDS`, as far as there is a message and its bytes are there."""
    message = message_of(record_of(find, number=1, capture=""))
    if message is None:
        return {}
    return {
        one.name: _time(message[one.name]) if one.kind == "time" else message[one.name] for one in _COLUMNS
    }


def _time(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + timedelta(microseconds=value // (MILLISECOND // 1000))
