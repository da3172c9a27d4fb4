"""Event logs of computers beside a story: whose log each is, what it covers, and the messages in both.

The rule kept here: a log is a witness, and may be wrong or silent. Which host of the capture wrote it follows
from the messages in both, and from names that say so; where these leave a choice, no host is named. A log
covers a time where it has events before and after it, and no EventRecordID is missing between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.log_event import EventLogFile, LogClearing, LogEvent
from msmq_wire.sessions.life import MessageLife
from msmq_wire.sessions.log_clock import Bounds, LogClock, clocks_of
from msmq_wire.sessions.message_lives import MessageLives
from msmq_wire.units import SECOND

Side: TypeAlias = Literal["sender", "receiver"]
"""Where a message was put into a queue: the outgoing queue of its sender, or the queue of its receiver."""
_BACK = 2 * SECOND
"""A clock that goes back by more was set."""
_SLACK = SECOND // 10
"""What a queue manager may take between an event and what it logs and sends."""
_MOST_OTHERS = 1000
_COPIES = (";DEADLETTER", ";DEADXACT", ";JOURNAL")
"""How the names of queues end that hold copies of messages."""


class LoggedPut(NamedTuple):
    """An event that says that a message was put into a queue, and how it stands to the capture.

    ``side`` is None where it is not clear. ``at`` is its time by the clock of the capture (ns), None where
    the clock of the log is not known.
    """

    log: ComputerLog
    event: LogEvent
    side: Side | None
    at: int | None


class ComputerLog(msgspec.Struct, frozen=True, kw_only=True):
    """The log of one computer, put together from its files.

    ``host`` is its address in the capture, empty where that is not clear. ``events`` are in order,
    ``others`` those that put no message into a queue. ``clocks`` say how its clock stands to that of the
    capture, several if it was set. ``stretches`` are the times (ns, by its own clock) from and to which no
    event is missing, ``missing`` counts the EventRecordIDs between them. ``joined`` counts its messages that
    the capture has, too.
    """

    computer: str
    files: tuple[str, ...]
    host: str
    clocks: tuple[LogClock, ...]
    events: tuple[LogEvent, ...]
    others: tuple[LogEvent, ...]
    stretches: tuple[tuple[int, int], ...]
    missing: int
    clearings: tuple[LogClearing, ...]
    joined: int
    sides: frozenset[Side]

    @property
    def margin(self) -> int:
        """Nanoseconds that a time may be off when it is taken from one clock to the other."""
        widths = (SECOND + one.spread if one.width is None else one.width for one in self.clocks)
        return _SLACK + max(widths, default=0)

    def captured(self, event: LogEvent) -> int | None:
        """The time of an event by the clock of the capture."""
        if event.time is None or not self.clocks:
            return None
        record = event.record_id
        known = [
            one for one in self.clocks if one.since is None or (record is not None and record >= one.since)
        ]
        return event.time - known[-1].offset

    def covers(self, since: int, until: int) -> bool:
        """Whether it would have an event of a time of the capture (ns); False where nobody knows."""
        if len(self.clocks) != 1:
            return False
        offset = self.clocks[0].offset
        begun, ended = since + offset - self.margin, until + offset + self.margin
        return any(first <= begun and ended <= last for first, last in self.stretches)

    def side_of(self, event: LogEvent, life: MessageLife | None) -> Side | None:
        """Where an event put its message."""
        if event.local:
            return "receiver"
        if life is not None and self.host:
            src, dst = host_of(life.src), _receiver(life)
            if (src == self.host) != (dst == self.host):
                return "sender" if src == self.host else "receiver"
        if event.local is False:
            return "sender"
        return next(iter(self.sides)) if life is None and len(self.sides) == 1 else None


class ComputerLogs:
    """The logs of computers beside the messages of a capture.

    ``files`` are what was read, ``logs`` one for each computer. ``first`` and ``last`` are the times of the
    capture (ns).
    """

    def __init__(
        self, files: Sequence[EventLogFile], lives: MessageLives, first: int | None, last: int | None
    ) -> None:
        self.files = tuple(files)
        self.first, self.last = first, last
        self._lives = lives
        self.logs = tuple(_logs(files, lives))
        self._puts: dict[str, list[LoggedPut]] = {}
        for log in self.logs:
            for event in log.events:
                name = event.message_id
                if name is None:
                    continue
                side = log.side_of(event, lives.by_id(name))
                self._puts.setdefault(name, []).append(LoggedPut(log, event, side, log.captured(event)))

    def of(self, message_id: str) -> tuple[LoggedPut, ...]:
        """What the logs say of a message."""
        return tuple(self._puts.get(message_id, ()))

    def named(self, text: str) -> LoggedPut | None:
        """The first event about a message that a text names: ``GUID\\NUMBER``, or its first digits."""
        guid, _, number = text.lower().rpartition("\\")
        for name, puts in self._puts.items():
            manager, _, own = name.rpartition("\\")
            if own == number and manager.startswith(guid):
                return puts[0]
        return None

    def arrival(self, message_id: str) -> LoggedPut | None:
        """The first event that put a message into the queue of its receiver."""
        puts = self._puts.get(message_id, ())
        return next((one for one in puts if one.side == "receiver" and not is_copy(one.event)), None)

    def unseen(self) -> Iterator[LoggedPut]:
        """What was put into queues of messages that are not among those kept of the capture."""
        for name, puts in self._puts.items():
            kept = self._lives.kept(name)
            if kept is None or kept.via == "report":
                yield from puts

    def of_host(self, host: str) -> ComputerLog | None:
        """The log of a host of the capture, None without one; of several files of it there is one log."""
        return next((log for log in self.logs if log.host and log.host == host), None)

    def is_captured(self, put: LoggedPut) -> bool | None:
        """Whether the capture goes on at the time of an event; None where nobody knows."""
        if put.at is None or self.first is None or self.last is None:
            return None
        if self.first + put.log.margin <= put.at <= self.last - put.log.margin:
            return True
        return False if put.at < self.first - put.log.margin or put.at > self.last + put.log.margin else None


class _Pair(NamedTuple):
    event: LogEvent
    life: MessageLife


def _logs(files: Sequence[EventLogFile], lives: MessageLives) -> Iterator[ComputerLog]:
    groups: dict[str, list[tuple[str, LogEvent]]] = {}
    names: dict[str, str] = {}
    for file in files:
        for event in file.events:
            key = event.computer.lower()
            names.setdefault(key, event.computer)
            groups.setdefault(key, []).append((file.file, event))
    events = {key: _once(event for _, event in found) for key, found in groups.items()}
    pairs = {key: list(_paired(found, lives)) for key, found in events.items()}
    hosts = _hosts(pairs)
    for key, found in events.items():
        clearings = tuple(one for file in files for one in file.clearings if one.computer.lower() == key)
        others = [event for event in found if event.message_id is None]
        stretches, missing = _stretches(found, clearings)
        log = ComputerLog(
            computer=names[key],
            files=tuple(dict.fromkeys(file for file, _ in groups[key])),
            host=hosts[key],
            clocks=(),
            events=tuple(found),
            others=tuple(others[:_MOST_OTHERS]),
            stretches=tuple(stretches),
            missing=missing,
            clearings=clearings,
            joined=len({one.life.message_id for one in pairs[key]}),
            sides=frozenset(),
        )
        sides = {side for one in pairs[key] if (side := log.side_of(*one)) is not None}
        clocks = clocks_of(list(_bounds(log, pairs[key])))
        yield msgspec.structs.replace(log, sides=frozenset(sides), clocks=clocks)


def _once(events: Iterable[LogEvent]) -> list[LogEvent]:
    """Events in the order of the log; what two files have counts once.

    Files have more or fewer digits of a time, so that it does not tell.
    """
    known: dict[object, LogEvent] = {}
    for number, event in enumerate(events):
        what = event.message_id or event.data
        same = number if event.record_id is None else (event.record_id, event.event_id, what)
        known.setdefault(same, event)
    found = list(known.values())
    if any(event.record_id is None for event in found):
        return sorted(found, key=lambda event: event.time or 0)
    return sorted(found, key=lambda event: (event.record_id or 0, event.time or 0))


def _paired(events: Iterable[LogEvent], lives: MessageLives) -> Iterator[_Pair]:
    for event in events:
        life = None if event.message_id is None else lives.by_id(event.message_id)
        if life is not None and life.via in ("tcp", "http"):
            yield _Pair(event, life)


def _hosts(pairs: dict[str, list[_Pair]]) -> dict[str, str]:
    """The host of each log, empty where that is not clear."""
    choices: dict[str, frozenset[str]] = {}
    found: dict[str, str] = {}
    for key, some in pairs.items():
        parties = [_parties(one.life) for one in some]
        choices[key] = frozenset.intersection(*parties) if parties else frozenset()
        found[key] = next(iter(choices[key])) if len(choices[key]) == 1 else _named(some, choices[key])
    for key, hosts in choices.items():
        if found[key] or len(hosts) != 2:
            continue
        # Two computers do not have one address.
        left = hosts - set(found.values())
        if len(left) == 1 and len(hosts & set(found.values())) == 1:
            found[key] = next(iter(left))
    return found


def _named(pairs: list[_Pair], choices: frozenset[str]) -> str:
    """The host that the names of queues show: where they name the computer, the receiver has it."""
    for local, host in ((True, _receiver), (False, lambda life: host_of(life.src))):
        votes = Counter(host(one.life) for one in pairs if one.event.local is local)
        if votes:
            first = next(iter(votes))
            return first if len(votes) == 1 and (not choices or first in choices) else ""
    return ""


def _parties(life: MessageLife) -> frozenset[str]:
    ends = (life.src, life.dst, *(end for hop in life.route for end in (hop.src, hop.dst)))
    return frozenset(map(host_of, ends)) - {""}


def _receiver(life: MessageLife) -> str:
    return host_of(life.route[-1].dst if life.route else life.dst)


def _bounds(log: ComputerLog, pairs: Iterable[_Pair]) -> Iterator[Bounds]:
    """What each message says of the clock."""
    seen: set[tuple[str, Side]] = set()
    for event, life in pairs:
        side = log.side_of(event, life)
        if event.time is None or life.first.time is None or side is None or life.twin or life.route:
            continue
        if (life.message_id, side) in seen:
            continue
        seen.add((life.message_id, side))
        lead = event.time - life.first.time
        if side == "sender":
            yield Bounds(lead, None, event.record_id)
        elif not is_copy(event):
            ack = acknowledged_at(life)
            yield Bounds(None if ack is None else event.time - ack, lead, event.record_id)


def is_copy(event: LogEvent) -> bool:
    """Whether a queue holds copies: a dead-letter queue or a journal."""
    return event.queue.upper().endswith(_COPIES)


def acknowledged_at(life: MessageLife) -> int | None:
    """When the first acknowledgment by the receiver was seen (ns)."""
    moments = (life.acknowledged, life.stored, life.order_ack, life.accepted)
    return min((one.time for one in moments if one is not None and one.time is not None), default=None)


def _stretches(
    events: Sequence[LogEvent], clearings: Sequence[LogClearing]
) -> tuple[list[tuple[int, int]], int]:
    """Times between which no event of the log is missing, and how many EventRecordIDs are."""
    found: list[tuple[int, int]] = []
    missing = 0
    cleared = max((one.time for one in clearings if one.time is not None), default=None)
    begun: LogEvent | None = None
    last: LogEvent | None = None
    for event in (*events, None):
        follows = (
            event is not None
            and last is not None
            and event.record_id is not None
            and last.record_id is not None
            and event.record_id == last.record_id + 1
            and event.time is not None
            and last.time is not None
            and event.time >= last.time - _BACK
        )
        if not follows:
            if begun is not None and last is not None and begun.time is not None and last.time is not None:
                since = begun.time if cleared is None else max(begun.time, cleared)
                if since < last.time:
                    found.append((since, last.time))
            if event is not None and last is not None and event.record_id and last.record_id:
                missing += max(event.record_id - last.record_id - 1, 0)
            begun = event
        last = event
    return found, missing
