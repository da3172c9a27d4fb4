# SPDX-License-Identifier: GPL-2.0-or-later
"""One line that tells the story of a packet: its kind, and for a message its queue and its label."""

from __future__ import annotations

from msmq_wire.records.message import message_view
from msmq_wire.records.record import Record
from msmq_wire.wire.fields import WireStruct

__all__ = ["story"]

_MOST = 60


def story(name: str, value: WireStruct) -> str:
    """The summary of a packet; ``value`` may be partial."""
    row = message_view(Record(id=1, type=type(value).stem(), packet=value), acknowledgments=True)
    if row is None:
        return name
    reported = [name]
    if row["queue"]:
        reported.append(f"> {_short(row['queue'])}")
    if row["label"]:
        reported.append(repr(_short(row["label"])))
    if row["body_size"] is not None:
        reported.append(f"body {row['body_size']}")
    return " ".join(reported)


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."
