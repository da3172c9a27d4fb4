"""The table of messages: the first rows as HTML, all of them as data for the script of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msmq_wire.report.fates import outcome_text
from msmq_wire.report.markup import Markup, joined, script_json, tag
from msmq_wire.report.tables import table
from msmq_wire.report.totals import MessageRow, Totals
from msmq_wire.report.wording import count_text, date_text
from msmq_wire.sessions import Story, class_words

__all__ = ["message_section"]

_FIRST = 100
"""Rows on a page of the table, and in the HTML itself."""
_NOTHING: Mapping[str, str] = {}
_FACTS = ("Queue", "Label", "Delivery", "#Body", "Outcome", "#Frame", "Message")
_HEADS = ("#Item", "Time (UTC)", "From", "To", *_FACTS)


def message_section(totals: Totals, story: Story, gone: Mapping[str, str] = _NOTHING) -> Markup:
    """The table with its controls, which the script shows, and the data behind it.

    ``gone`` are outcomes of messages that the story does not have any more.
    """
    rows = totals.rows
    if not rows:
        return tag("p", "No message was captured.")
    outcomes = [_outcome(row, story, gone) for row in rows]
    cells = [_cells(row, outcome) for row, outcome in zip(rows[:_FIRST], outcomes, strict=False)]
    notes = []
    if totals.messages > len(rows):
        notes.append(
            f"The table has the first {len(rows):,} of {count_text(totals.messages, 'message')}; all other "
            "counts on this page are of all of them. For the others, make a report of a part of the capture: "
            "msmq-wire export writes it."
        )
    if len(rows) > _FIRST:
        notes.append(f"Without scripts, and in print, {_FIRST} rows are shown at a time.")
    shown = table("Messages", _HEADS, cells, script="message")
    data = tag("script", _data(rows, outcomes), type="application/json", id="message-data")
    return joined(*(tag("p", note, class_="note") for note in notes), _controls(), shown, data)


def _controls() -> Markup:
    return tag(
        "div",
        tag("label", "Search ", tag("input", type="search", id="message-search", autocomplete="off")),
        tag("button", "Previous", type="button", id="message-previous"),
        tag("button", "Next", type="button", id="message-next"),
        tag("span", "", id="message-status", role="status", aria_live="polite"),
        class_="controls",
        id="message-controls",
        hidden=True,
    )


def _outcome(row: MessageRow, story: Story, gone: Mapping[str, str]) -> str:
    if row.message_class is not None and row.message_class & 0xC002 and row.message_class & 0xC000 != 0:
        return f"is an acknowledgment: {class_words(row.message_class)}"
    life = story.lives.by_id(row.message_id) if row.message_id else None
    return gone.get(row.message_id, "") if life is None else outcome_text(life)


def _cells(row: MessageRow, outcome: str) -> tuple[object, ...]:
    time = date_text(row.time).removesuffix(" UTC")
    size, frame = ("" if one is None else one for one in (row.size, row.frame))
    seen = (row.id, time, row.src, row.dst, row.queue, row.label, _delivery(row))
    return (*seen, size, outcome, frame, row.message_id)


def _delivery(row: MessageRow) -> str:
    return row.delivery if row.via == "tcp" else f"{row.delivery} ({row.via})".strip()


def _data(rows: Sequence[MessageRow], outcomes: Sequence[str]) -> Markup:
    """Rows with texts that come again and again as numbers; times are microseconds since 1970."""
    words: dict[str, int] = {}

    def word(text: str) -> int:
        return words.setdefault(text, len(words))

    listed = []
    for row, outcome in zip(rows, outcomes, strict=True):
        manager, slash, number = row.message_id.rpartition("\\")
        listed.append(
            (
                row.id,
                None if row.time is None else row.time // 1000,
                word(row.src),
                word(row.dst),
                word(row.queue),
                row.label,
                word(_delivery(row)),
                row.size,
                word(outcome),
                row.frame,
                word(manager + slash),
                number,
            )
        )
    return script_json({"words": list(words), "rows": listed, "page": _FIRST})
