"""`Replayer`: holds the calls and sessions of a capture against the processing rules of the servers.

The rule kept here: a reply is wrong only where no rule allows it in any world that fits what was captured.
Sealed calls, lost bytes and the end of a connection take away what was known of a client; what was before the
capture is not known. A deviation that a call still in flight may explain waits for it.

Memory is bounded: 65,536 handles, cursors, receives and messages, 16 messages of a queue whose order is
watched, 1,024 deviations that wait. Time is constant for a record.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import chain

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.rpc_packets import RpcBind
from msmq_wire.records.run import Run
from msmq_wire.replay.com import ComReplayer
from msmq_wire.replay.deviation import ReplayDeviation
from msmq_wire.replay.observed_call import observe
from msmq_wire.replay.rules.contents import judge_packet, judge_shown
from msmq_wire.replay.session_rules import SessionRules
from msmq_wire.replay.state import PendingDeviation, ServerState
from msmq_wire.sessions import StoryFollower
from msmq_wire.units import SECOND

_IN_FLIGHT = 5 * SECOND
"""Nanoseconds after which a call that was in flight is taken to have ended."""
_MOST_DOUBTS = 1024
_MOST_STREAMS = 1 << 16
_HARMLESS = ("syn", "syn_ack", "established", "proxied", "packet_too_big", "capture_end")


class Replayer:
    """Feed records in the order of their ids, then call `finish`. Nothing is raised on any record.

    Deviations come in the order in which they can be told, some seconds of the capture after their call.
    With another capture everything begins anew. A ``follower`` of sessions is that of whoever feeds it: each
    record, and each run, before it comes here.
    """

    def __init__(self, follower: StoryFollower | None = None) -> None:
        # Without one it has its own.
        self._own = StoryFollower(lives=False) if follower is None else None
        following = follower or self._own
        assert following is not None
        self._rules = SessionRules(following.record)
        following.listen(self._rules)
        self._begin("")

    def _begin(self, capture: str) -> None:
        self._capture = capture
        self._known = ServerState()
        self._com = ComReplayer()
        self._doubts: deque[PendingDeviation] = deque()
        self._held: tuple[Record, Record | None] | None = None
        # The ends of connections that calls were seen on.
        self._ends: OrderedDict[int | None, tuple[str, str]] = OrderedDict()

    def feed(self, record: Record) -> list[ReplayDeviation]:
        """Take a record; return what is wrong with it, or with replies before it."""
        if self._own is not None:
            self._own.feed(record)
        return self._feed(record)

    def _feed(self, record: Record) -> list[ReplayDeviation]:
        found: list[ReplayDeviation] = []
        if record.capture != self._capture:
            found += self._finish()
            self._begin(record.capture)
        held = self._held
        if held is not None and record.parent == held[0].id:
            if held[1] is None and (is_read(record) or record.type == "transfer_buffer"):
                self._held = (held[0], record)
            return found
        found += self._release()
        if record.type == "rpc_call":
            self._held = (record, None)
        elif record.type == "user_message":
            found += judge_packet(self._known, record)
        elif record.type == "com_call":
            found += self._com.feed(record)
        elif record.type == "rpc_bind":
            self._bound(record)
        elif record.type == "gap" or (record.type == "tcp_stream" and record.event not in _HARMLESS):
            self._lost(record)
        found += self._rules.of(record.id)
        if record.time is not None:
            found += self._settle(record.time)
        return found

    def take(self, run: Run) -> list[tuple[int, ReplayDeviation]]:
        """Take everything of a run, in order; return what is wrong, each with the id of its record."""
        if self._own is not None:
            self._own.take(run)
        found: list[tuple[int, ReplayDeviation]] = []
        if not len(run):
            return [(other.id, one) for other in run.others for one in self._feed(other)]
        # Whoever has a run with packets has numpy.
        from msmq_wire.replay.columns import shown_messages

        others = iter(run.others)
        other = next(others, None)
        place = -1
        messages, whole = shown_messages(run)
        columns = (run.id, run.time, messages, whole)

        def record() -> Record:
            return run.record(place)

        for number, time, shown, is_whole in zip(*(column.tolist() for column in columns), strict=True):
            place += 1
            while other is not None and other.id < number:
                found += [(other.id, one) for one in self._feed(other)]
                other = next(others, None)
            if not is_whole or run.capture != self._capture:
                found += [(number, one) for one in self._feed(record())]
                continue
            reported: list[ReplayDeviation] = [] if self._held is None else self._release()
            if shown is not None:
                reported += judge_shown(self._known, shown, record)
            reported += self._rules.of(number)
            if self._doubts and time:
                reported += self._settle(time)
            if reported:
                found += [(number, one) for one in reported]
        if other is not None:
            others = chain((other,), others)
        return [*found, *((one.id, deviation) for one in others for deviation in self._feed(one))]

    def finish(self) -> list[ReplayDeviation]:
        """Return what is wrong with the last replies."""
        self._rules.begin()
        return self._finish()

    def _finish(self) -> list[ReplayDeviation]:
        return [*self._release(), *self._rules.at_end(), *self._settle(None)]

    def _release(self) -> list[ReplayDeviation]:
        """Judge the call that was held until its message came."""
        if self._held is None:
            return []
        record, carried = self._held
        self._held = None
        self._ends[record.stream] = host_of(record.dst), host_of(record.src)
        if len(self._ends) > _MOST_STREAMS:
            self._ends.popitem(last=False)
        call = observe(record, carried)
        if call is None or (call.response is None and not call.call.fault):
            ended = record.time or 0
            latency = getattr(record.packet, "latency", None)
            # How long one without an answer took is not known.
            begun = ended - latency if isinstance(latency, int) else 0
            self._known.miss(host_of(record.dst), host_of(record.src), begun, ended)
        if call is None:
            return []
        # A capture without calls does not import their rules.
        from msmq_wire.replay.call_rules import judge_call

        found: list[ReplayDeviation] = []
        for one in judge_call(self._known, call):
            if isinstance(one, PendingDeviation):
                self._doubts.append(one)
                if len(self._doubts) > _MOST_DOUBTS:
                    self._doubts.popleft()
            else:
                found.append(one)
        return found

    def _settle(self, now: int | None) -> Iterator[ReplayDeviation]:
        """The doubts that no call can explain any more."""
        while self._doubts and (now is None or self._doubts[0].until + _IN_FLIGHT < now):
            doubt = self._doubts.popleft()
            if doubt.stands():
                yield doubt.deviation

    def _bound(self, record: Record) -> None:
        bind = record.packet
        if isinstance(bind, RpcBind) and bind.answered and bind.nak_reason is None:
            self._known.groups.put(record.stream, bind.association_group)

    def _lost(self, record: Record) -> None:
        ends = self._ends.get(record.stream)
        if ends is not None:
            self._known.miss(*ends, record.time or 0, record.time or 0)


def replay(records: Iterable[Record]) -> Iterator[ReplayDeviation]:
    """The deviations in records, which should come with the steps of connections."""
    replayer = Replayer()
    for record in records:
        yield from replayer.feed(record)
    yield from replayer.finish()
