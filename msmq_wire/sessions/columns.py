"""What sessions ask of the packets of a `Run`, read by column: no packet is decoded for it.

The rule kept here: what is said of a packet is what its record says. Packets that are not proven to be whole,
that say nothing of a session, or that nobody can place, are left to their records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count, repeat
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from msmq_wire.engines.columns import ProvenPackets
from msmq_wire.engines.columns.json_values import (
    among,
    coded,
    format_names,
    has,
    numbers,
    octets,
    octets_at,
    shown,
)
from msmq_wire.engines.columns.scopes import column_at
from msmq_wire.engines.columns.vectors import StructColumn, coded_numbers
from msmq_wire.records.message_values import delivery_of
from msmq_wire.records.run import Run
from msmq_wire.sessions.clocks import Sender, sender_of
from msmq_wire.sessions.followed_message import FollowedMessage, content, destination_of
from msmq_wire.sessions.message_lives import LIFE, UNIT
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.observations import (
    Observation,
    SeenAck,
    SeenFinalAck,
    SeenMessages,
    SeenOrderAck,
)
from msmq_wire.sessions.transaction_tracker import Place, StreamKey
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.types.guid import GUID

Integers: TypeAlias = NDArray[np.int64]
T = TypeVar("T")
_ADMIN = 0xE000
"""The bits of UserHeader.Flags that say that there is an administration queue."""
_GROWS = 1000
"""More bytes than a plain message adds to a session and a sequence that are there."""
_MANAGER, _NUMBER = "user_header.source_queue_manager", "user_header.message_id"
_HALVES = ("ordinal", "time_stamp")
_64_BITS = (1 << 64) - 1
_COUNTS = (
    "ack_sequence_number",
    "recoverable_msg_ack_seq_number",
    "recoverable_msg_ack_flags",
    "user_msg_sequence_number",
    "recoverable_msg_seq_number",
    "window_size",
)


def sighted(run: Run) -> tuple[list[Observation | int | None], SeenMessages]:
    """What is seen of every packet of a run; None where its record has to be asked.

    A number is the place of a message among all messages, which are beside.
    """
    found: list[Observation | int | None] = [None] * len(run)
    messages = SeenMessages([], [], [], [], [], [], [], [], np.zeros(1, np.int64))
    for proven in run.proven():
        stem = proven.cls.stem()
        if not len(proven.places) or (stem != "user_message" and stem not in _READERS):
            continue
        packets = _Packets(run, proven)
        seen: Iterable[Observation | int]
        if stem == "user_message":
            messages = _messages(packets)
            seen = range(len(packets.places))
        else:
            seen = _READERS[stem](packets)
        for place, one in zip(packets.places.tolist(), seen, strict=True):
            found[place] = one
    return found, messages


class _Packets:
    """The packets of one class that are on a connection, by column."""

    def __init__(self, run: Run, proven: ProvenPackets) -> None:
        on = (run.stream[proven.places] >= 0) & (run.last[proven.places] > run.first[proven.places])
        stem = proven.cls.stem()
        if stem != "session_ack":
            on &= has(proven.top, "message_properties_header", proven.rows)
        inside = f"{stem}_body"
        if inside in _BODIES:
            on &= has(proven.top, inside, proven.rows)
        self.run = run
        self.top = proven.top
        self.places, self.rows = proven.places[on], proven.rows[on]

    def numbers(self, path: str) -> list[int]:
        found: list[int] = numbers(self.top, path, self.rows).tolist()
        return found

    def moments(self) -> list[Moment]:
        run, places = self.run, self.places
        frames = run.carriers[run.last[places] - 1]
        times = [time or None for time in run.time[places].tolist()]
        return list(map(Moment, run.id[places].tolist(), frames.tolist(), times))

    def streams(self) -> list[int]:
        found: list[int] = self.run.stream[self.places].tolist()
        return found

    def ends(self) -> list[tuple[str, str]]:
        return _looked_up(self.run.pair[self.places], self.run.pairs.__getitem__)

    def sizes(self) -> list[int]:
        found: list[int] = (self.run.offsets[self.places + 1] - self.run.offsets[self.places]).tolist()
        return found

    def headers(self) -> list[SessionHeader | None]:
        return headers_of(self.top, self.rows)


_BODIES = frozenset(("order_ack_body", "final_ack_body"))


def keys_of(top: StructColumn, manager: str, number: str, rows: Integers) -> list[bytes]:
    """The keys that the queue managers and the numbers at two paths make, for rows that have them."""
    tails = numbers(top, number, rows).astype("<u4").tobytes()
    return [guid + tails[at : at + 4] for guid, at in zip(octets(top, manager, rows), count(0, 4))]


def headers_of(top: StructColumn, rows: Integers) -> list[SessionHeader | None]:
    """The SessionHeaders of rows, None for those without; what is reserved is left out."""
    there = has(top, "session_header", rows)
    if not there.any():
        return [None] * len(rows)
    columns = [numbers(top, f"session_header.{name}", rows[there]).tolist() for name in _COUNTS]
    values = (zip(_COUNTS, one, strict=True) for one in zip(*columns, strict=True))
    return among(there, (SessionHeader(**dict(one)) for one in values))


def sequences_of(top: StructColumn, path: str, rows: Integers) -> list[int]:
    """The numbers of sequences that the TxSequenceIDs at a path make."""
    ordinals, times = (numbers(top, f"{path}.{name}", rows).tolist() for name in _HALVES)
    return [time << 32 | ordinal for time, ordinal in zip(times, ordinals, strict=True)]


def _session_acks(packets: _Packets) -> list[Any]:
    columns: tuple[list[Any], ...] = (packets.moments(), packets.streams(), packets.ends(), packets.headers())
    return list(map(SeenAck, *columns))


def _looked_up(codes: Integers, find: Callable[[int], T]) -> list[T]:
    """What each code stands for; what is equal is one object."""
    numbers: list[int] = codes.tolist()
    known: dict[T, T] = {}
    table = {number: known.setdefault(found := find(number), found) for number in set(numbers)}
    return [table[number] for number in numbers]


def _messages(packets: _Packets) -> SeenMessages:
    top, rows, run = packets.top, packets.rows, packets.run
    header = column_at(top, "user_header")
    assert isinstance(header, StructColumn)
    managers, names = coded(top, _MANAGER, rows)
    destinations, to = coded(top, "user_header.queue_manager_address", rows)
    pairs, pair_of = run.pair[packets.places], run.pairs
    flags = numbers(top, "user_header.flags", rows)
    sent = packets.numbers("user_header.sent_time")
    traced = numbers(top, "base_header.flags.tr", rows) != 0
    classes = packets.numbers("message_properties_header.message_class")
    queues, queue_names = _names(header, "destination_queue", rows)
    admins, admin_names = _names(header, "admin_queue", rows)
    admins = np.where(flags & _ADMIN, admins, 0)
    labels = shown(top, "message_properties_header.label", rows)
    known: dict[str, str] = {}
    sizes = np.fromiter(map(len, labels), np.int64, len(rows))
    sizes += _lengths(queue_names)[queues] + _lengths(admin_names)[admins]
    charged = (LIFE + 20 + sizes) // UNIT + 1
    messages = map(
        FollowedMessage,
        keys_of(top, _MANAGER, _NUMBER, rows),
        packets.moments(),
        repeat("tcp"),
        _looked_up(pairs, lambda pair: pair_of[pair][0]),
        _looked_up(pairs, lambda pair: pair_of[pair][1]),
        packets.numbers("message_properties_header.message_size"),
        repeat(None),
        _looked_up(queues, queue_names.__getitem__),
        map(known.setdefault, labels, labels),
        classes,
        packets.numbers("base_header.flags.pr"),
        _looked_up(flags, delivery_of),
        sent,
        packets.numbers("base_header.time_to_reach_queue"),
        packets.numbers("user_header.time_to_be_received"),
        flags.tolist(),
        packets.numbers("message_properties_header.flags"),
        _looked_up(admins, admin_names.__getitem__),
        _correlations(packets, classes),
        _contents(packets, sent),
        charged.tolist(),
        _looked_up(destinations, lambda code: destination_of(GUID(to[code]))),
        has(top, "multi_queue_format_header", rows).tolist(),
        traced.tolist(),
    )
    ways = len(pair_of)

    def sender(code: int) -> Sender:
        return sender_of(names[code // ways], pair_of[code % ways][0])

    return SeenMessages(
        list(messages),
        _looked_up(run.stream[packets.places] * ways + pairs, lambda way: (way // ways, pair_of[way % ways])),
        _looked_up(managers * ways + pairs, sender),
        packets.sizes(),
        packets.headers(),
        _sequences_of(packets, (managers, names), (queues, queue_names)),
        _places(packets),
        _until(packets, (np.array(classes, np.int64) == 0) & ~traced),
        np.concatenate(([0], np.cumsum(charged * UNIT + _GROWS))),
    )


def _until(packets: _Packets, plain: NDArray[np.bool_]) -> list[int]:
    """How far each can be taken together with those behind it."""
    run, places = packets.run, packets.places
    times = run.time[places]
    # Its place among everything in the run: what is no packet may come in between.
    at = places + np.searchsorted(np.array([one.id for one in run.others], np.int64), run.id[places])
    plain &= (times > 0) & ~has(packets.top, "session_header", packets.rows)
    ends = np.ones(len(at), np.bool_)
    ends[:-1] = (np.diff(at) != 1) | ~plain[1:] | ~plain[:-1]
    last = np.flatnonzero(ends)
    until = last[np.searchsorted(last, np.arange(len(at)))] + 1
    found: list[int] = np.where(plain, until, np.arange(len(at))).tolist()
    return found


def _names(header: StructColumn, queue: str, rows: Integers) -> tuple[Integers, Sequence[str | None]]:
    """Codes of the names of queues, 0 for none, and the name of every code."""
    codes, names = format_names(header, queue)
    return codes[rows], names


def _lengths(names: Sequence[str | None]) -> Integers:
    return np.fromiter((len(name or "") for name in names), np.int64, len(names))


def _correlations(packets: _Packets, classes: list[int]) -> Any:
    if not any(classes):
        return repeat(None)
    found = shown(packets.top, "message_properties_header.correlation_id", packets.rows)
    return [one if class_ else None for one, class_ in zip(found, classes, strict=True)]


def _contents(packets: _Packets, sent: list[int]) -> list[int]:
    """What `content_of` says of them: label, extension and body lie one behind the other."""
    paths = (f"message_properties_header.{name}" for name in ("label", "extension_data", "message_body"))
    (start, first), (_, second), (_, end) = (octets_at(packets.top, path, packets.rows) for path in paths)
    with memoryview(packets.run.data) as view:  # type: ignore[arg-type]  # an array is a buffer
        return [
            content(time, label, extension, bytes(view[at:to]))
            for time, label, extension, at, to in zip(
                sent,
                (first - start).tolist(),
                (second - first).tolist(),
                start.tolist(),
                end.tolist(),
                strict=True,
            )
        ]


def _sequences_of(
    packets: _Packets, managers: tuple[Integers, list[bytes]], queues: tuple[Integers, Sequence[str | None]]
) -> list[StreamKey | None]:
    """The sequences that messages belong to, None for those that are not transactional."""
    there = has(packets.top, "transaction_header", packets.rows)
    if not there.any():
        return [None] * len(packets.rows)
    (manager, names), (queue, queue_names) = managers, queues
    path = "transaction_header.tx_sequence_id"
    ordinal, stamp = (numbers(packets.top, f"{path}.{name}", packets.rows) for name in _HALVES)
    id_, ids = coded_numbers(stamp << 32 | ordinal)
    queue_count, id_count = len(queue_names), len(ids)

    def key(code: int) -> StreamKey | None:
        if code < 0:
            return None
        rest, id_ = divmod(code, id_count)
        return names[rest // queue_count], ids[id_] & _64_BITS, queue_names[rest % queue_count]

    return _looked_up(np.where(there, (manager * queue_count + queue) * id_count + id_, -1), key)


def _places(packets: _Packets) -> list[Place]:
    """The places of messages in their sequences; of those without one they mean nothing."""
    names = ("tx_sequence_number", "previous_tx_sequence_number", "flags")
    return list(zip(*(packets.numbers(f"transaction_header.{name}") for name in names), strict=True))


def _acks(packets: _Packets, body: str) -> tuple[list[Any], ...]:
    """What OrderAcks and FinalAcks say alike."""
    top, rows = packets.top, packets.rows
    sequences = sequences_of(top, f"{body}.tx_sequence_id", rows)
    return (
        packets.moments(),
        packets.streams(),
        packets.ends(),
        packets.sizes(),
        packets.numbers("user_header.flags"),
        packets.headers(),
        packets.numbers("message_properties_header.message_class"),
        keys_of(top, _MANAGER, _NUMBER, rows),
        list(zip(sequences, packets.numbers(f"{body}.tx_sequence_number"), strict=True)),
    )


def _order_acks(packets: _Packets) -> list[Any]:
    ends = (_MANAGER, "user_header.queue_manager_address")
    source, to = (octets(packets.top, path, packets.rows) for path in ends)
    return list(map(SeenOrderAck, *_acks(packets, "order_ack_body"), source, to))


def _final_acks(packets: _Packets) -> list[Any]:
    body = "final_ack_body"
    about = keys_of(packets.top, f"{body}.source_guid", f"{body}.message_id", packets.rows)
    return list(map(SeenFinalAck, *_acks(packets, body), about))


_READERS = {
    "session_ack": _session_acks,
    "order_ack": _order_acks,
    "final_ack": _final_acks,
}
