"""HTML tables with a caption, scoped headings, and room to scroll on a small screen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, islice, repeat

from msmq_wire.markup import Markup, joined, scrolling, tag, visible
from msmq_wire.records.outcome import OUTCOMES
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.report.outcome_totals import OutcomeTotals, QueueLine
from msmq_wire.report.wording import bytes_text, count_text, date_text, duration_text, host_of
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.sessions import Story
from msmq_wire.units import MILLISECOND

_MOST_LISTED = 200
_MOST_NAMED = 3
"""Hosts that a cell names."""
_FOREVER = 0xFFFFFFFF


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    more: int = 0,
    script: str = "",
    ids: Iterable[str] = (),
) -> Markup:
    """A table; a head that begins with ``#`` is of numbers, one that ends with ``-`` needs a wide screen.

    ``more`` rows are not in it, and that is said. A ``script`` finds the table and its rows by names that
    begin with this one; ``ids`` are the anchors of the first rows.
    """
    kinds = [
        " ".join((*(["number"] if head.startswith("#") else []), *(["spare"] if head.endswith("-") else [])))
        for head in heads
    ]
    classes = [kind or None for kind in kinds]
    columns = [
        tag("th", head.lstrip("#").removesuffix("-"), scope="col", class_=class_)
        for head, class_ in zip(heads, classes, strict=True)
    ]
    lines = [
        tag(
            "tr",
            *(
                tag("td", value, class_=class_) if at else tag("th", value, scope="row", class_=class_)
                for at, (value, class_) in enumerate(zip(row, classes, strict=True))
            ),
            id=id_,
        )
        for row, id_ in zip(rows, chain(ids, repeat(None)), strict=False)
    ]
    body = tag("tbody", *lines, id=f"{script}-rows" if script else None)
    shown = scrolling(
        caption,
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", *columns)),
            body,
            id=f"{script}s-table" if script else None,
        ),
    )
    return joined(shown, tag("p", f"And {more:,} more.", class_="note") if more > 0 else None)


def when(nanoseconds: int | None) -> Markup:
    """A time for a column whose head says that it is in UTC."""
    return tag("span", date_text(nanoseconds).removesuffix(" UTC"), class_="nowrap")


def queue_section(outcome_totals: OutcomeTotals, story: Story) -> Markup:
    """The queues that messages went to or came from, the busiest first, with who sent and who read."""
    readers: dict[str, dict[str, None]] = {}
    clients = [(one.queue, one.client) for one in story.queues]
    clients += [(one.queue, one.client) for one in story.reads]
    for queue, client in clients:
        readers.setdefault(queue or "", {})[host_of(client)] = None
    lines = {
        name: outcome_totals.queues.get(name) or QueueLine() for name in (*outcome_totals.queues, *readers)
    }
    if not lines:
        return tag("p", "No message named a queue, and none was read remotely.")
    busiest = sorted(lines.items(), key=lambda item: (-item[1].messages, item[0]))
    seen = [name for name in OUTCOMES if outcome_totals.outcomes[name]]
    rows = [
        (
            tag("code", visible(with_queue_names(name), 400)) if name else "not named",
            _hosts(line.senders),
            _hosts(readers.get(name, ())),
            f"{line.messages:,}",
            bytes_text(line.bytes),
            f"{line.transactional:,}",
            f"{line.recoverable:,}",
            f"{line.resends:,}",
            *(f"{line.outcomes[outcome]:,}" for outcome in seen),
        )
        for name, line in busiest[:_MOST_LISTED]
    ]
    heads = (
        "Queue",
        "Senders",
        "Remote readers",
        "#Messages",
        "#Bodies",
        "#Transactional",
        "#Recoverable",
    )
    listed = table(
        "Queues, who sent to them and read them, and what became of their messages",
        (*heads, "#Sent again", *(f"#{name.capitalize()}" for name in seen)),
        rows,
        more=len(busiest) - len(rows),
    )
    notes = []
    if outcome_totals.every > 1:
        notes.append(
            f"One in {outcome_totals.every} messages was looked at: the counts are of these messages."
        )
    if outcome_totals.queues_left_out:
        notes.append(
            f"{count_text(outcome_totals.queues_left_out, 'message')} to further queues are not shown "
            "by queue."
        )
    return joined(listed, *(tag("p", note, class_="note") for note in notes))


def _hosts(hosts: Collection[str]) -> str:
    shown = ", ".join(islice(hosts, _MOST_NAMED)) or "-"
    rest = len(hosts) - _MOST_NAMED
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def read_section(story: Story) -> Markup:
    """Remote reads, and the queues that were opened for them."""
    if not story.reads and not story.queues:
        return tag("p", "No queue was read remotely in what was captured.")
    parts = []
    if story.queues:
        queues = story.queues[:_MOST_LISTED]
        opened = [
            (
                tag("code", visible(with_queue_names(one.queue or "not known"), 400)),
                one.client,
                one.account or "not known",
                one.server,
                f"{one.receives:,}",
                f"{one.peeks:,}",
                f"{one.purges:,}",
                when(one.opened.time),
                one.opened.frame or "-",
            )
            for one in queues
        ]
        of_reads = ("#Receives", "#Peeks", "#Purges", "Opened (UTC)", "#Frame")
        heads = ("Queue", "Client", "Account", "Server", *of_reads)
        parts.append(table("Queues opened over RPC", heads, opened, more=len(story.queues) - len(opened)))
    if story.reads:
        rows = [
            (
                when(read.at.time),
                read.client,
                tag("code", visible(with_queue_names(read.queue or "not known"), 400)),
                _action(read.action, read.removes),
                "-" if read.timeout is None else _timeout(read.timeout),
                "-" if read.waited is None else duration_text(read.waited),
                _result(read.status, read.answered, read.fault, read.sealed),
                read.message_id or "-",
                _end(read.end, read.pending),
                read.at.frame or "-",
            )
            for read in story.reads[:_MOST_LISTED]
        ]
        answers = ("#Would wait", "#Waited", "Result", "Message", "End", "#Frame")
        read_heads = ("Time (UTC)", "Client", "Queue", "Action", *answers)
        parts.append(table("Remote reads", read_heads, rows, more=len(story.reads) - len(rows)))
    return joined(*parts)


def _action(action: int | None, removes: bool | None) -> str:
    if action is None:
        return "not known" if removes is None else "receive" if removes else "peek"
    try:
        name = ReceiveAction(action).name.removeprefix("MQ_").removeprefix("ACTION_")
    except ValueError:
        return f"0x{action:x}"
    return name.lower().replace("_", " ")


def _timeout(milliseconds: int) -> str:
    return "for ever" if milliseconds == _FOREVER else duration_text(milliseconds * MILLISECOND)


def _result(status: int | None, answered: bool, fault: bool, sealed: bool) -> str:
    if not answered:
        return "no answer"
    if fault:
        return "fault"
    if status is None:
        return "sealed" if sealed else "not known"
    return "done" if status == 0 else f"0x{status:08X}"


def _end(end: str | None, pending: bool) -> str:
    if pending:
        return "pending"
    return {"ack": "taken", "nack": "put back", "cancelled": "cancelled"}.get(end or "", "-")
