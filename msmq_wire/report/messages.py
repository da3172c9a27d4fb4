"""The table of messages: the first rows as HTML, all of them as data for the script of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msmq_wire.report.fates import outcome_text
from msmq_wire.report.markup import Markup, joined, script_json, tag
from msmq_wire.report.totals import MessageRow, Totals
from msmq_wire.report.wording import count_text, date_text
from msmq_wire.sessions import Story, class_words

__all__ = ["message_section"]

_FIRST = 100
"""Rows on a page of the table, and in the HTML itself."""
_NOTHING: Mapping[str, str] = {}
_HEADS = (
    ("#Item", "number"),
    ("Time (UTC)", "text"),
    ("From", "text"),
    ("To", "text"),
    ("Queue", "text"),
    ("Label", "text"),
    ("Delivery", "text"),
    ("#Body", "number"),
    ("Outcome", "text"),
    ("#Frame", "number"),
    ("Message", "text"),
)


def message_section(totals: Totals, story: Story, gone: Mapping[str, str] = _NOTHING) -> Markup:
    """The table with its controls, which the script shows, and the data behind it.

    ``gone`` are outcomes of messages that the story does not have any more.
    """
    rows = totals.rows
    if not rows:
        return tag("p", "No message was captured.")
    outcomes = [_outcome(row, story, gone) for row in rows]
    lines = [tag("tr", *_cells(row, outcome)) for row, outcome in zip(rows[:_FIRST], outcomes, strict=False)]
    heads = [
        tag(
            "th",
            name.lstrip("#"),
            scope="col",
            class_="number" if name.startswith("#") else None,
            data_kind=kind,
        )
        for name, kind in _HEADS
    ]
    notes = []
    if totals.messages > len(rows):
        notes.append(
            f"The table has the first {len(rows):,} of {count_text(totals.messages, 'message')}; all other "
            "counts on this page are of all of them. For the others, make a report of a part of the capture: "
            "msmq-wire export writes it."
        )
    if len(rows) > _FIRST:
        notes.append(f"Without scripts, and in print, {_FIRST} rows are shown at a time.")
    shown = tag(
        "div",
        tag(
            "table",
            tag("caption", "Messages"),
            tag("thead", tag("tr", *heads)),
            tag("tbody", *lines, id="message-rows"),
            id="messages-table",
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Messages, scrolls sideways",
    )
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


def _cells(row: MessageRow, outcome: str) -> list[Markup]:
    return [
        tag("th", row.id, scope="row", class_="number"),
        tag("td", date_text(row.time).removesuffix(" UTC")),
        tag("td", row.src),
        tag("td", row.dst),
        tag("td", row.queue),
        tag("td", row.label),
        tag("td", _delivery(row)),
        tag("td", "" if row.size is None else f"{row.size}", class_="number"),
        tag("td", outcome),
        tag("td", "" if row.frame is None else f"{row.frame}", class_="number"),
        tag("td", row.message_id),
    ]


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
