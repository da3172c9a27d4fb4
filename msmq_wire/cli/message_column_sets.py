"""The columns of ``messages``, for captures, for live captures, and for carved files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from msmq_wire.records.column import RECORD_COLUMNS, Column
from msmq_wire.records.display import Display
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.message_rows import MESSAGE_ROW_COLUMNS
from msmq_wire.records.outcome import OUTCOME


class MessageColumnSet(msgspec.Struct, frozen=True):
    """All available columns, the default ones of JSON lines and CSV, and the default ones of tables.

    ``table_widths`` maps a column to the least terminal width at which a table shows it.
    """

    available: tuple[Column, ...]
    by_default: Sequence[str] = ()
    table_widths: Mapping[str, int] | None = None


def _carved_columns() -> MessageColumnSet:
    known = {one.name: one for one in RECORD_COLUMNS}
    found: list[Column] = [known[name] for name in ("grade", "offset", "reason", "places")]
    found[1] = msgspec.structs.replace(found[1], display=Display("offset"))
    by_default = (*(one.name for one in COLUMNS if not one.asked), *(one.name for one in found))
    table_widths = {
        "id": 0,
        "grade": 0,
        "offset": 0,
        "queue": 0,
        "label": 64,
        "message_class": 130,
        "body_size": 110,
    }
    return MessageColumnSet((*COLUMNS, *found), by_default, table_widths | {"places": 120, "body": 90})


# Each with the width of a terminal that shows it. What was done with a message and its class are one column.
_TABLE_WIDTHS = {
    "id": 0,
    "time": 72,
    "src": 0,
    "dst": 0,
    "queue": 0,
    "label": 64,
    "outcome": 50,
    "action": 90,
}
_TABLE_WIDTHS |= {"cut": 58, "seen_at": 80, "body_size": 120, "via": 140, "body": 110}
MESSAGE_COLUMNS = MessageColumnSet(
    MESSAGE_ROW_COLUMNS, tuple(one.name for one in COLUMNS if not one.asked), _TABLE_WIDTHS
)
# The outcome is known only at the end of a capture.
LIVE_MESSAGE_COLUMNS = MessageColumnSet(
    COLUMNS,
    table_widths={name: least for name, least in _TABLE_WIDTHS.items() if name != OUTCOME.name}
    | {"action": 60},
)
CARVED_MESSAGE_COLUMNS = _carved_columns()
