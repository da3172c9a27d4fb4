"""Question 15: messages that are put back, or moved between subqueues, again and again.

The rule kept here: a message is known by its identifier, and by its lookup id where only a call names it; the
counters of a SubqueueHeader count where it has a name. [MS-MQRR] 2.2.5.3, 3.1.4.10, 3.1.4.13
"""

from __future__ import annotations

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, listed, quoted, short
from msmq_wire.detection.rereads import AGAIN, Place, Reread, place_of, take_read
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.interfaces import Role
from msmq_wire.sessions import Moment, RemoteRead
from msmq_wire.sessions.followed_message import message_key, message_name
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.partial import reached

_MOST = 4096
_LOW_56 = (1 << 56) - 1
_REREAD = (
    "A message that is put back is read again, until its reader removes it from the queue or moves it away."
)


class _Counters(msgspec.Struct):
    """The highest counters of a message, and their moment."""

    at: Moment
    aborts: int
    moves: int


class _Moves(msgspec.Struct):
    """Moves of a message by calls."""

    last: Moment
    count: int = 0
    to: str | None = None


class Returns:
    """Takes records and remote reads; keeps at most 4,096 of each kind, ``left_out`` counts the others.

    ``counted`` are counters by message, ``moved`` are moves by place, ``reads`` are repeated reads by place.
    """

    def __init__(self) -> None:
        self.counted: dict[str, _Counters] = {}
        self.moved: dict[Place, _Moves] = {}
        self.reads: dict[Place, Reread] = {}
        self.left_out = 0
        self._targets: dict[tuple[str, int], str | None] = {}

    def message(self, record: Record, moment: Moment) -> None:
        """Take a stored message."""
        header = getattr(record.packet, "subqueue_header", None)
        if not isinstance(header, SubqueueHeader):
            return
        name = reached(header, "subqueue_name")
        if name is None or not name.text or not header.abort_counter | header.move_counter:
            return
        user = record.packet.user_header
        key = message_name(message_key(user.source_queue_manager, user.message_id))
        known = self.counted.get(key)
        if known is not None:
            known.aborts = max(known.aborts, header.abort_counter)
            known.moves = max(known.moves, header.move_counter)
        elif len(self.counted) >= _MOST:
            self.left_out += 1
        else:
            self.counted[key] = _Counters(moment, header.abort_counter, header.move_counter)

    def call(self, record: Record, call: RpcCall, moment: Moment) -> None:
        """Take a call that moves a message, or opens the target queue of moves."""
        server = host(record.dst or "")
        if call.role is Role.OPEN_FOR_MOVE:
            context = call.number_at("p_move_context")
            if context is not None and len(self._targets) < _MOST:
                self._targets[server, context] = call.queue
        elif call.role is Role.MOVE and not call.status and not call.fault:
            lookup_id = call.asked(call.members.lookup_id)
            if lookup_id is None:
                return
            place = place_of(record.dst or "", call.queue, lookup_id & _LOW_56)
            moved = self.moved.get(place)
            if moved is None:
                if len(self.moved) >= _MOST:
                    self.left_out += 1
                    return
                moved = self.moved[place] = _Moves(moment)
            moved.count += 1
            moved.last = moment
            context = call.asked("ull_context_to")
            moved.to = None if context is None else self._targets.get((server, context))

    def read(self, read: RemoteRead) -> None:
        """Take a remote read."""
        self.left_out += take_read(self.reads, read, _MOST)


class _Returned(msgspec.Struct):
    """The reads, moves and counters of one message."""

    name: str | None
    read: Reread | None
    moved: _Moves | None
    counted: _Counters | None

    @property
    def again(self) -> int:
        """How often it was put back, at most; a move there and back counts once."""
        calls = 0 if self.read is None else self.read.back
        moves = 0 if self.moved is None else self.moved.count
        aborts, reported = (0, 0) if self.counted is None else (self.counted.aborts, self.counted.moves)
        return max(calls, aborts, max(moves, reported) // 2)


def returns(sums: Returns, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 15; ``sums`` have all reads."""
    named: set[str] = set()
    found: list[_Returned] = []
    for place, read in sums.reads.items():
        name = read.first.message_id
        counted = sums.counted.get(name) if name is not None else None
        if name is not None:
            named.add(name)
        found.append(_Returned(name, read, sums.moved.get(place), counted))
    found += [
        _Returned(None, None, one, None) for place, one in sums.moved.items() if place not in sums.reads
    ]
    found += [_Returned(name, None, None, one) for name, one in sums.counted.items() if name not in named]
    again = sorted((one for one in found if one.again >= AGAIN), key=lambda one: -one.again)
    for one in again[:MOST]:
        subject, text = _subject(one), _reported(one, words)
        moments = [at for at in _moments(one) if at is not None]
        builder.say(f"{subject[:1].upper()}{subject[1:]} {text}.", *moments, attention="medium")
        readers = () if one.read is None else (*one.read.clients, host(one.read.first.server))
        builder.add_cause(
            Cause(
                text=f"{subject} comes back again and again: it {text}",
                severity="medium",
                confidence="certain" if one.name else "likely",
                moments=tuple(moments),
                who=readers,
                action=f"look at its body, and at the application of {(*readers, 'its reader')[0]}",
                count=one.again,
                rules=("RPC-AGAIN", "RPC-ABORTS", "RPC-PENDING"),
            )
        )
    if len(again) > MOST:
        builder.say(f"And {count(len(again) - MOST, 'more message')}.")
    if again:
        builder.say(_REREAD)
    builder.facts = {
        "messages": [
            {
                "message_id": one.name,
                "lookup_id": None if one.read is None else one.read.first.found_lookup_id,
                "queue": None if one.read is None else one.read.first.queue,
                "received": 0 if one.read is None else one.read.received,
                "put_back": 0 if one.read is None else one.read.put_back,
                "moved": 0 if one.moved is None else one.moved.count,
                "abort_counter": None if one.counted is None else one.counted.aborts,
                "move_counter": None if one.counted is None else one.counted.moves,
            }
            for one in again[:64]
        ],
        "again": len(again),
    }
    if sums.left_out:
        builder.add_caveats(
            f"{count(sums.left_out, 'read or move', 'reads and moves')} were too many to keep"
        )


def _moments(one: _Returned) -> list[Moment | None]:
    read = () if one.read is None else (one.read.first.at, one.read.last.at)
    return [*read, one.moved and one.moved.last, one.counted and one.counted.at]


def _subject(one: _Returned) -> str:
    text = f"message {short(one.name)}" if one.name else "a message"
    if one.read is None:
        return text
    first = one.read.first
    text += quoted(first.label)
    text += f" (lookup id {first.found_lookup_id}) in {first.queue or 'a queue that is not named'} at "
    return text + host(first.server)


def _reported(one: _Returned, words: Phrases) -> str:
    read, moved, counted = one.read, one.moved, one.counted
    done: list[str] = []
    if read is not None:
        done.append(f"was {_read(read, words)}")
    if moved is not None:
        to = f" to {moved.to}" if moved.to else ""
        last = "," if moved.count == 1 else ", last"
        reported = f"moved {count(moved.count, 'time')}{last}{to} in {words.frame(moved.last)}"
        done.append(f"{'it was' if done else 'was'} {reported}")
    if counted is not None and not done:
        done.append(f"was seen in {words.frame(counted.at)}")
    text = "; ".join(done)
    if counted is not None:
        attempts = count(counted.aborts, "failed attempt")
        text += f". Its SubqueueHeader counts {attempts} in a row (AbortCounter) and "
        text += f"{count(counted.moves, 'move')} (MoveCounter)"
    return text


def _read(read: Reread, words: Phrases) -> str:
    if read.received < 2 and not read.put_back:
        return f"seen in {words.frame(read.first.at)}"
    back = f" and put back {count(read.put_back, 'time')}" if read.put_back else ""
    text = f"received {count(read.received, 'time')}{back} by {listed(list(read.clients))}"
    return f"{text}, first in {words.frame(read.first.at)}, last in {words.frame(read.last.at)}"
