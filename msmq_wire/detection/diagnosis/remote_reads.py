"""Question 9: who read which queue remotely, peek or receive, and with which result.

The rule kept here: the calls name the client. The effect of a sealed call is not guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.facts import Facts
from msmq_wire.detection.diagnosis.failed_reads import failed_reads
from msmq_wire.detection.diagnosis.phrases import ASK, Phrases, count, host, listed, quoted, short, span
from msmq_wire.detection.folding import Fold
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.hresults import describe
from msmq_wire.rpc.interfaces import METHODS, Role
from msmq_wire.sessions import Moment, RemoteQueue, RemoteRead, Story
from msmq_wire.sessions.followed_message import system_queue
from msmq_wire.units import SECOND

_MOST_CLIENTS = 256
_IO_TIMEOUT = 0xC00E001B
_COMMIT = "A message received in a transaction leaves its queue at the commit, which no call shows."
"""[MS-MQRR] 3.1.4.15"""
_INFINITE = 0xFFFFFFFF
_ENDS = {
    "ack": ("taken off the queue", "taking it off the queue"),
    "acknowledged": ("acknowledged", "acknowledging it"),
    "nack": ("put back", "putting it back"),
    "cancelled": ("cancelled", "cancelling it"),
}
"""How a receive ended: the phrases for success and for failure."""

_USUAL = 10
"""A usual reader received at least so many messages."""
_USUAL_FACTOR = 3
"""A usual reader received at least so many times as many as a rare one."""
_MOST = 4096
_MOST_MOMENTS = 16


def reads(story: Story, facts: Facts, candidates: Fold, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 9, [MS-MQRR] 3.1.4, [MS-MQMP] 3.1.4 and [MS-MQQP] 3.1.4."""
    reported = [queue for queue in story.queues if not queue.sealed]
    for queue in reported[:MOST]:
        moments = queue.opened, queue.closed, queue.purged
        builder.say(_queue_text(queue, words), *moments)
    if len(reported) > MOST:
        builder.say(f"And {len(reported) - MOST:,} more openings of queues: calls lists them.")
    found = [read for read in story.reads if not _is_hidden(read)]
    for read in found:
        if read.message_id is not None and not system_queue(read.queue):
            taken = read.end == "ack" and not read.end_status and not read.transactional
            builder.claim("received" if read.removes and taken else "in_queue", read.message_id)
    again, single = _repeated_reads(found)
    for reads_ in again[:MOST]:
        builder.say(_again_text(reads_, words), *(read.at for read in reads_), attention="info")
    if len(again) > MOST:
        builder.say(f"And {count(len(again) - MOST, 'more message')} that came again: {ASK.format(15)}.")
    shown = _selected_reads(single)
    for read in shown:
        builder.say(_read_text(read, words), read.at, read.ended)
    if len(single) > len(shown):
        builder.say(f"And {count(len(single) - len(shown), 'more read')}: calls lists them.")
    if any(read.transactional and read.end == "ack" for read in found):
        builder.say(_COMMIT)
    _hidden(story, words, builder)
    failed_reads(story, candidates, builder)
    _rare_readers(found, builder)
    if facts.sealed:
        text = f"{facts.sealed:,} of {count(facts.calls, 'call')} are sealed, the first in "
        text += f"{words.frame(facts.first_sealed)}: what they do is not known without a key."
        builder.say(text, facts.first_sealed, attention="info")
    builder.facts = {
        "queues_opened": len(story.queues),
        "receives": sum(read.removes is True for read in story.reads),
        "peeks": sum(read.removes is False for read in story.reads),
        "messages": sum(read.message is not None for read in story.reads),
        "pending": sum(read.pending for read in story.reads),
        "failed": sum(bool(read.status) or read.fault for read in story.reads),
        "calls": facts.calls,
        "sealed": facts.sealed,
    }


def _is_hidden(read: RemoteRead) -> bool:
    return read.sealed and read.action is None


def _hidden(story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Statements about clients that opened and read queues in sealed calls."""
    clients: dict[tuple[str, str], tuple[int, int, Moment]] = {}

    def add(one: RemoteQueue | RemoteRead, moment: Moment, opens: int, reads_: int) -> None:
        key = _who(one.client, one.account), host(one.server)
        if key in clients or len(clients) < _MOST_CLIENTS:
            opened, read, first = clients.get(key, (0, 0, moment))
            earliest = min(first, moment, key=lambda at: at.record)
            clients[key] = opened + opens, read + reads_, earliest

    for queue in story.queues:
        if queue.sealed:
            add(queue, queue.opened, 1, 0)
    for read_ in story.reads:
        if _is_hidden(read_):
            add(read_, read_.at, 0, 1)
    for (client, server), (opened, read, first) in list(clients.items())[:MOST]:
        text = (
            f"{client} opened queues of {server} {count(opened, 'time')} and read {count(read, 'time')} in "
        )
        builder.say(f"{text}sealed calls, first in {words.frame(first)}.", first)
    if len(clients) > MOST:
        builder.say(f"And {count(len(clients) - MOST, 'more client')} with sealed calls.")


def _repeated_reads(found: list[RemoteRead]) -> tuple[list[list[RemoteRead]], list[RemoteRead]]:
    """Reads of messages that transactions received several times, by message, and all other reads."""
    by_message: dict[tuple[str, str], list[RemoteRead]] = {}
    single: list[RemoteRead] = []
    for read in found:
        if read.message_id is None or not read.transactional or read.end != "ack" or read.end_status:
            single.append(read)
        else:
            by_message.setdefault((host(read.server), read.message_id), []).append(read)
    single += (reads_[0] for reads_ in by_message.values() if len(reads_) == 1)
    again = [reads_ for reads_ in by_message.values() if len(reads_) > 1]
    return again, sorted(single, key=lambda read: read.number)


def _again_text(reads_: list[RemoteRead], words: Phrases) -> str:
    read = reads_[0]
    label = f' "{read.label}"' if read.label else ""
    queues = listed(list(dict.fromkeys(one.queue or "a queue that is not named" for one in reads_)))
    clients = listed(list(dict.fromkeys(_who(one.client, one.account) for one in reads_)))
    text = (
        f"{clients} received message {short(read.message_id or '')}{label} {count(len(reads_), 'time')} in "
    )
    text += (
        f"transactions and acknowledged it each time, from {queues} at {host(read.server)}: after each but "
    )
    text += "the last it was in a queue again"
    return f"{text}; {words.frames(one.at for one in reads_)}. For all of them {ASK.format(15)}."


def _selected_reads(found: list[RemoteRead]) -> list[RemoteRead]:
    """All reads if they are few; otherwise failed, waiting and open reads come first."""
    if len(found) <= MOST:
        return found
    odd = [read for read in found if read.pending or read.status or read.fault or not read.answered][:MOST]
    chosen = {read.number for read in odd}
    others = (read for read in found if read.number not in chosen)
    while len(odd) < MOST:
        odd.append(next(others))
    return sorted(odd, key=lambda read: read.number)


def _who(client: str, account: str) -> str:
    return f"{host(client)} ({account})" if account else host(client)


def _queue_text(queue: RemoteQueue, words: Phrases) -> str:
    name = queue.queue or "a queue that is not named"
    failed = queue.status or queue.fault
    text = f"{_who(queue.client, queue.account)} {'could not open' if failed else 'opened'} {name} at "
    text += f"{host(queue.server)} in {words.frame(queue.opened)}"
    if failed:
        return f"{text}: {_status(queue.status)}."
    done = [
        count(number, noun)
        for number, noun in (
            (queue.receives, "receive"),
            (queue.peeks, "peek"),
            (queue.moves, "move"),
            (queue.purges, "purge"),
        )
        if number
    ]
    if METHODS[queue.method].role is Role.OPEN_FOR_MOVE:
        text += " to move messages there"
        done = [f"{count(queue.arrivals, 'message')} came"] if queue.arrivals else ["none came"]
    text += f": {', '.join(done) or 'nothing was read'}"
    closed = f"closed in {words.frame(queue.closed)}" if queue.closed else "not closed in this capture"
    return f"{text}; {closed}."


def _status(status: int | None) -> str:
    if status is None:
        return "no status"
    reported = describe(status)
    meaning = reported.meaning.rstrip(".")
    return f"{reported.symbol} ({meaning[:1].lower()}{meaning[1:]})" if meaning else reported.symbol


def _read_text(read: RemoteRead, words: Phrases) -> str:
    verb = "read" if read.removes is None else "received" if read.removes else "peeked at"
    asked = " by lookup id" if read.action is not None and read.action & 0x40000000 else ""
    which = f" {read.lookup_id}" if asked and read.lookup_id is not None else ""
    where = f"{read.queue or 'a queue that is not named'} at {host(read.server)}"
    text = f"{_who(read.client, read.account)} in {words.frame(read.at)}: "
    if read.message is not None or read.message_id is not None or (read.answered and not read.status):
        named = f" {short(read.message_id)}" if read.message_id else ""
        label = f' "{read.label}"' if read.label else ""
        found = f" (lookup id {read.found_lookup_id})" if read.found_lookup_id else ""
        text += f"{verb} message{named}{label}{found}{asked}{which} from {where}"
        text += " in a transaction" if read.transactional else ""
        return f"{text}{_waited(read)}{_ended(read, words)}."
    wanted = "receive" if read.removes else "peek" if read.removes is False else "read"
    text += f"a {wanted}{asked}{which} of {where}"
    if not read.answered:
        return f"{text} had no answer in this capture{_limit(read)}."
    if read.status == _IO_TIMEOUT:
        return f"{text} found no message{_waited(read)}{_limit(read)}."
    if read.end == "cancelled":
        return f"{text} was cancelled{_waited(read)}{_limit(read)}."
    return f"{text} failed: {_status(read.status)}{_waited(read)}."


def _waited(read: RemoteRead) -> str:
    waited = read.waited or 0
    return f" after waiting {span(waited)}" if waited >= SECOND // 10 else ""


def _limit(read: RemoteRead) -> str:
    if read.action is not None and read.action in set(ReceiveAction) and ReceiveAction(read.action).lookup:
        return ""
    if read.timeout is None:
        return ""
    return ", without a time-out" if read.timeout == _INFINITE else f", time-out {read.timeout:,} ms"


def _ended(read: RemoteRead, words: Phrases) -> str:
    if read.end is not None:
        reported, doing = _ENDS["acknowledged" if read.transactional and read.end == "ack" else read.end]
        if read.end_status:
            return f"; {doing} failed in {words.frame(read.ended)}: {_status(read.end_status)}"
        return f"; {reported} in {words.frame(read.ended)}"
    return "; nothing ended it: after five minutes the server puts the message back" if read.pending else ""


class _Reader(msgspec.Struct):
    """The reads of one client from one queue."""

    peeked: int = 0
    received: int = 0
    moments: list[Moment] = []
    first: RemoteRead | None = None

    @property
    def did(self) -> str:
        """The reads in words."""
        peeked = f"peeked at {count(self.peeked, 'message')}" if self.peeked else ""
        received = f"received {count(self.received, 'message')}" if self.received else ""
        return " and ".join(one for one in (peeked, received) if one)


def _rare_readers(reads: Iterable[RemoteRead], builder: AnswerBuilder) -> None:
    """Add causes for clients that peeked or received from a queue that another client usually reads.

    The capture decides: a client is rare if another one read the same queue many times as often.
    """
    queues: dict[tuple[str, str], dict[str, _Reader]] = {}
    for read in reads:
        # Without a name nobody knows whether two clients read one queue.
        if read.queue is None or read.message_id is None or read.removes is None or system_queue(read.queue):
            continue
        key = host(read.server), read.queue
        if key not in queues and len(queues) >= _MOST:
            continue
        clients = queues.setdefault(key, {})
        name = host(read.client)
        if name not in clients and len(clients) >= _MOST:
            continue
        reader = clients.setdefault(name, _Reader())
        if not read.removes:
            reader.peeked += 1
        elif read.end != "nack":
            reader.received += 1
            reader.first = reader.first or read
        if len(reader.moments) < _MOST_MOMENTS:
            reader.moments.append(read.at)
    for (server, queue), clients in queues.items():
        name, usual = max(clients.items(), key=lambda one: one[1].received)
        if usual.received < _USUAL:
            continue
        for client, reader in clients.items():
            if client == name or _USUAL_FACTOR * max(reader.received, 1) > usual.received:
                continue
            taken = reader.first
            which = "" if taken is None else f", first {short(taken.message_id or '')}{quoted(taken.label)}"
            builder.add_cause(
                Cause(
                    text=f"{client} {reader.did} of {queue} at {server}{which}; {name} usually reads this "
                    f"queue: it received {count(usual.received, 'message')}",
                    severity="medium" if reader.received else "low",
                    confidence="likely",
                    moments=tuple(reader.moments),
                    who=(client, server, name),
                    action=f"ask who uses {client}, and whether it may read the queue",
                    count=reader.peeked + reader.received,
                    rules=("RPC-RARE",),
                )
            )
