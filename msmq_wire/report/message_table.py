"""The table of messages: the first rows as HTML, all of them as data for the script of the page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msmq_wire.detection.diagnosis.whereabouts import Whereabouts
from msmq_wire.markup import Markup, joined, script_json, tag, visible
from msmq_wire.report.html_tables import table
from msmq_wire.report.outcome_totals import outcome_text
from msmq_wire.report.row_maker import MessageRow
from msmq_wire.report.totals import Totals
from msmq_wire.report.wording import count_text, date_text
from msmq_wire.sessions import MessageLife, Moment, Story, class_words

_FIRST = 100
"""Rows on a page of the table, and in the HTML itself."""
_MOST_STEPS = 400_000
"""Numbers that tell what became of messages; the lives behind them have their outcome and its reason."""
_NOTHING: Mapping[str, str] = {}
_NONE: Mapping[int, Sequence[tuple[str, str]]] = {}
_HEADS = (
    "#Item",
    "Time (UTC)",
    "From-",
    "To-",
    "Queue",
    "Label",
    "Delivery-",
    "#Body-",
    "Outcome",
    "#Frame-",
)

_MOST = 8
"""Steps of one kind."""
_KINDS = {
    "final_ack": "FinalAck",
    "administration_ack": "administration acknowledgment",
    "receipt": "SRMP receipt",
}


def message_section(
    totals: Totals,
    story: Story,
    gone: Mapping[str, str] = _NOTHING,
    *,
    found: Mapping[int, Sequence[tuple[str, str]]] = _NONE,
    sessions: Collection[int] = (),
) -> Markup:
    """The table with its controls, which the script shows, and the data behind it.

    ``gone`` are outcomes of messages that the story does not have any more, ``found`` the findings about a
    record (anchor and words), ``sessions`` those that the page has a row of.
    """
    rows = totals.rows
    if not rows:
        return tag("p", "No message was captured.")
    where = Whereabouts(story)
    reported = [_reported(row, story, gone, where) for row in rows]
    cells = [_cells(row, outcome) for row, (outcome, _) in zip(rows[:_FIRST], reported, strict=False)]
    notes = []
    if totals.messages > len(rows):
        notes.append(
            f"The table has the first {len(rows):,} of {count_text(totals.messages, 'message')}; all other "
            "counts on this page are of all of them. For the others, make a report of a part of the capture: "
            "msmq-wire export writes it."
        )
    if len(rows) > _FIRST:
        notes.append(f"Without scripts, and in print, {_FIRST} rows are shown at a time.")
    ids = [f"message-{row.id}" for row in rows[:_FIRST]]
    shown = table("Messages", _HEADS, cells, script="message", ids=ids)
    data = tag("script", _data(rows, reported, found, sessions), type="application/json", id="message-data")
    return joined(*(tag("p", note, class_="note") for note in notes), _controls(), shown, data)


def _controls() -> Markup:
    return tag(
        "div",
        tag("label", "Search ", tag("input", type="search", id="message-search", autocomplete="off")),
        tag("label", "Outcome ", tag("select", tag("option", "any", value=""), id="message-outcome")),
        tag("button", "Previous", type="button", id="message-previous"),
        tag("button", "Next", type="button", id="message-next"),
        tag("span", "", id="message-status", role="status", aria_live="polite"),
        class_="controls",
        id="message-controls",
        hidden=True,
    )


def _reported(
    row: MessageRow, story: Story, gone: Mapping[str, str], where: Whereabouts
) -> tuple[str, MessageLife | None]:
    life = story.lives.of(row.id, row.message_id) if row.message_id else None
    if row.lies:
        return row.lies, None
    if row.message_class is not None and row.message_class & 0xC002 and row.message_class & 0xC000 != 0:
        return f"is an acknowledgment: {class_words(row.message_class)}", life
    if life is not None and life.reports_on:
        return f"is a report about {' or '.join(map(visible, life.reports_on))}", life
    if life is None:
        return gone.get(row.message_id, ""), life
    loss = where.loss_of(life) if life.outcome == "unknown" else None
    return outcome_text(life) if loss is None else f"lost on its way: {loss.text}", life


def _cells(row: MessageRow, outcome: str) -> tuple[object, ...]:
    time = date_text(row.time).removesuffix(" UTC")
    size, frame = ("" if one is None else one for one in (row.size, row.frame))
    return row.id, time, row.src, row.dst, row.queue, row.label, _delivery(row), size, outcome, frame


def _delivery(row: MessageRow) -> str:
    return row.delivery if row.via in ("tcp", "file") else f"{row.delivery} ({row.via})".strip()


def _data(
    rows: Sequence[MessageRow],
    reported: Sequence[tuple[str, MessageLife | None]],
    found: Mapping[int, Sequence[tuple[str, str]]],
    sessions: Collection[int],
) -> Markup:
    """Rows with texts that come again and again as numbers; times are microseconds since 1970.

    A life is there once, whatever rows are about it: its reason, then a flat list of what happened, how many
    microseconds after it was seen first, and in which frame.
    """
    words: dict[str, int] = {}
    lives: dict[tuple[str, int], int] = {}
    told_lives: list[tuple[int, tuple[int | None, ...]]] = []
    left = _MOST_STEPS

    def word(text: str) -> int:
        return words.setdefault(text, len(words))

    def steps(life: MessageLife) -> Iterator[int | None]:
        first = life.first.time
        for text, moment in _steps_of(life):
            yield word(text)
            yield None if moment.time is None or first is None else (moment.time - first) // 1000
            yield moment.frame

    listed = []
    for row, (outcome, life) in zip(rows, reported, strict=True):
        # Several messages may have one identifier.
        key = None if life is None else (life.message_id, life.first.record)
        if life is not None and key is not None and key not in lives:
            lives[key] = len(told_lives)
            happened = tuple(steps(life)) if left > 0 else ()
            left -= len(happened)
            told_lives.append((word(life.reason), happened))
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
                word(row.facts),
                row.preview,
                row.sent,
                None if key is None else lives[key],
                None if life is None or life.session not in sessions else life.session,
            )
        )
    listed_ids = {row.id for row in rows}
    marks = {id_: found[id_] for id_ in sorted(listed_ids & found.keys())}
    data = {"words": list(words), "lives": told_lives, "rows": listed, "page": _FIRST, "found": marks}
    return script_json(data)


def _steps_of(life: MessageLife) -> tuple[tuple[str, Moment], ...]:
    """What happened to it, in order of time."""
    steps = [(words, moment) for words, moment in _steps(life) if moment is not None]
    if len(steps) > 1:
        steps.sort(key=lambda step: step[1].time or 0)
    return tuple(steps)


def _steps(life: MessageLife) -> Iterator[tuple[str, Moment | None]]:
    yield "session acknowledgment", life.acknowledged
    yield "written to disk by the next host", life.stored
    yield "OrderAck", life.order_ack
    yield f"HTTP {life.http_status}", life.accepted
    yield from (("sent again", moment) for moment in life.resent_at[:_MOST])
    yield from ((f"went on to {visible(hop.dst)}", hop.at) for hop in life.route[:_MOST])
    for one in life.acknowledgments[:_MOST]:
        yield f"{_KINDS[one.kind]}: {_class(one.message_class)}", one.at
    yield "peeked by remote read", life.peeked
    yield f"received by {visible(life.received_by or 'remote read')}", life.received
    yield from (("moved to another queue", moment) for moment in life.moved[:_MOST])
    yield "given back by its reader", life.rejected
    for report in life.reports[:_MOST]:
        may = "" if report.sure else ", may belong to this message"
        yield f"told by a queue manager{may}: {visible(report.said)}", report.at
    yield from ((f"found in the {queue.replace('_', ' ')} queue", at) for queue, at in life.copies[:_MOST])


def _class(message_class: int) -> str:
    return _POSITIVE.get(message_class) or class_words(message_class)


_POSITIVE = {0x0002: "it reached its queue", 0x4000: "an application received it"}
