"""Which columns rows of messages have: of captures, and of what lies in files that are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from msmq_wire.records.column import RECORD_COLUMNS
from msmq_wire.records.display import ColumnDeclaration, Display
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.outcome import OUTCOME


class MessageRows(msgspec.Struct, frozen=True):
    """Columns that there are, those of JSON lines and CSV, and those of a table with their widths."""

    declared: tuple[ColumnDeclaration, ...]
    usual: Sequence[str] = ()
    shown: Mapping[str, int] | None = None


def _at_rest() -> MessageRows:
    known = {one.name: one for one in RECORD_COLUMNS}
    found: list[ColumnDeclaration] = [known[name] for name in ("grade", "offset", "reason", "places")]
    found[1] = msgspec.structs.replace(found[1], display=Display("offset"))
    usual = (*(one.name for one in COLUMNS if not one.asked), *(one.name for one in found))
    shown = {
        "id": 0,
        "grade": 0,
        "offset": 0,
        "queue": 0,
        "label": 64,
        "message_class": 130,
        "body_size": 110,
    }
    return MessageRows((*COLUMNS, *found), usual, shown | {"places": 120, "body": 90})


# Each with the width of a terminal that shows it. What was done with a message and its class are one column.
_SHOWN = {"id": 0, "time": 72, "src": 0, "dst": 0, "queue": 0, "label": 64, "outcome": 50, "action": 90}
_SHOWN |= {"cut": 58, "body_size": 120, "via": 140, "body": 110}
MESSAGES = MessageRows((*COLUMNS, OUTCOME), tuple(one.name for one in COLUMNS if not one.asked), _SHOWN)
# What is still written has no end that could be known.
MESSAGES_AS_THEY_COME = MessageRows(
    COLUMNS, shown={name: least for name, least in _SHOWN.items() if name != OUTCOME.name} | {"action": 60}
)
MESSAGES_AT_REST = _at_rest()
