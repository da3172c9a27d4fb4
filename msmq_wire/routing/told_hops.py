"""`ToldHops`: hops that only report messages tell. [MS-MQQB] 1.3.6, 3.1.5.8.9, 3.1.7.1.7

The rule kept here: a report is the word of its sender, so a hop that was observed is not told once more, and
nothing that was observed is judged by what was told.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.routing.hop import ObservedHop, Sighting
from msmq_wire.sessions.followed_message import message_key
from msmq_wire.sessions.trace_step import Trace, TraceStep, hops_on_arrival, in_order_of_path
from msmq_wire.sessions.trace_tracker import REPORT, step_of
from msmq_wire.units import SECOND
from msmq_wire.wire.names.queue_format_types import QueueFormatType
from msmq_wire.wire.partial import reached
from msmq_wire.wire.report_message import target_name
from msmq_wire.wire.types.guid import GUID

_MOST_MESSAGES = 1 << 14
_MOST_OF_ONE = 64
_TR = 1 << 8
_Key = tuple[str, int]


class ToldHop(NamedTuple):
    """A hop as a report tells it; ``record`` is the report, ``reason`` says why it cannot be judged."""

    record: Record
    sighting: Sighting
    source: GUID | None
    target: GUID | None
    told_by: GUID
    reason: str | None


class _Reports(msgspec.Struct):
    """The reports about a message, and its hops that were observed."""

    steps: list[tuple[Record, TraceStep]] = []
    observed: list[ObservedHop] = []


class _Hop(msgspec.Struct):
    """One hop that reports tell: ``source`` sent it to ``target``; one of both may be unknown."""

    step: TraceStep
    source: GUID | None
    target: GUID | None


class ToldHops:
    """Takes observed hops with their records; gives those that only reports tell."""

    def __init__(self) -> None:
        self._reports: OrderedDict[_Key, _Reports] = OrderedDict()
        self._hosts: dict[str, GUID | None] = {}

    def add(self, record: Record, hop: ObservedHop) -> None:
        """Take a hop: of a traced message, or of a report about one."""
        packet = record.packet
        class_ = reached(reached(packet, "message_properties_header"), "message_class")
        if class_ == REPORT:
            self._add_report(record, hop)
        elif (reached(reached(packet, "base_header"), "flags") or 0) & _TR:
            sighting = hop.sighting
            of = self._of((str(sighting.source_queue_manager)[:4], sighting.message_id))
            if len(of.observed) < _MOST_OF_ONE:
                of.observed.append(hop)

    def _add_report(self, record: Record, hop: ObservedHop) -> None:
        user, sighting = record.packet.user_header, hop.sighting
        key = message_key(sighting.source_queue_manager, sighting.message_id)
        step = step_of(record, key, user.sent_time, user.flags)
        if step is None:
            return
        steps = self._of((step.qm_id, step.number)).steps
        if len(steps) < _MOST_OF_ONE and not any(one.report_id == step.report_id for _, one in steps):
            steps.append((record, step))
        if not step.routed and len(self._hosts) < _MOST_MESSAGES:
            host, manager = host_of(step.src), step.queue_manager
            self._hosts[host] = manager if self._hosts.get(host, manager) == manager else None

    def _of(self, key: _Key) -> _Reports:
        known = self._reports.setdefault(key, _Reports())
        self._reports.move_to_end(key)
        if len(self._reports) > _MOST_MESSAGES:
            self._reports.popitem(last=False)
        return known

    def hops(self, at: Callable[[str], GUID | None]) -> Iterator[ToldHop]:
        """The hops that only reports tell; ``at`` gives the queue manager at an address."""
        for key, of in self._reports.items():
            captured = dict.fromkeys(hop.sighting.source_queue_manager for hop in of.observed)
            steps = tuple(step for _, step in of.steps)
            trace = Trace(*key, tuple(captured), steps)
            for source in trace.sources if steps else ():
                observed = [hop for hop in of.observed if hop.sighting.source_queue_manager == source]
                path = in_order_of_path(trace.of(source))
                for hop in _paired(path, lambda address: at(address) or self._hosts.get(address)):
                    if not any(_is_same(hop, one) for one in observed):
                        record = next(one for one, step in of.steps if step.report_id == hop.step.report_id)
                        yield _told(record, hop, source, observed)


def _paired(path: list[TraceStep], at: Callable[[str], GUID | None]) -> list[_Hop]:
    """The hops of a path: who sent it where, and who received it of those whose receiver is not known.

    A routing server counts itself when it receives a message, the destination does not.
    """
    sent = [one for one in path if one.kind == "sent"]
    hops = [_Hop(one, one.queue_manager, at(one.next_hop or "")) for one in sent]
    for step in path:
        receiver = step.queue_manager
        if step.kind == "sent" or any(hop.target == receiver for hop in hops):
            continue
        before = hops_on_arrival(step, sent)
        fitting = (
            hop for hop in hops if hop.target is None and hop.source != receiver and hop.step.hops == before
        )
        hop = next(fitting, None)
        if hop is None:
            hops.append(_Hop(step, None, receiver))
        else:
            hop.target = receiver
    return hops


def _is_same(hop: _Hop, observed: ObservedHop) -> bool:
    """Whether a hop was observed: nothing that is known of both differs, and one end is the same."""
    sighting, step = observed.sighting, hop.step
    if step.kind == "sent" and step.hops != sighting.hops:
        return False
    ends: list[tuple[object, object]] = [(hop.source, observed.source), (hop.target, observed.target)]
    if step.kind == "sent":
        ends.append((step.next_hop, host_of(sighting.dst)))
    known = [one == other for one, other in ends if one is not None and other is not None]
    return all(known) and any(known)


def _told(record: Record, hop: _Hop, source: GUID, observed: list[ObservedHop]) -> ToldHop:
    step = hop.step
    reason = None if step.sure else "the report may be about another message"
    destination = observed[0].sighting.queue_manager_address if observed else None
    if not observed:
        destination, unknown = _destination(step.target)
        reason = reason or unknown
    sighting = Sighting(
        record=record.id,
        capture=record.capture,
        frames=record.frames,
        time=step.sent_time * SECOND if step.sent_time else record.time,
        src="" if step.routed or hop.source is None else _end(host_of(step.src)),
        dst=_end(step.next_hop or ""),
        source_queue_manager=source,
        message_id=step.number,
        queue_manager_address=destination,
        hops=step.hops & 0x1F,
    )
    return ToldHop(record, sighting, hop.source, hop.target, step.queue_manager, reason)


def _end(host: str) -> str:
    """An end whose port is not known."""
    return f"[{host}]" if ":" in host else host


def _destination(queue: str) -> tuple[GUID | None, str | None]:
    """The queue manager of a queue, and what to say where the name does not have it."""
    name = target_name(queue)
    if name is None:
        return None, "a report names a queue that is none"
    if name.kind is QueueFormatType.PRIVATE and name.guid is not None:
        return GUID.parse(name.guid), None
    direct = name.kind is QueueFormatType.DIRECT
    return None, None if direct else "a report does not say which queue manager has a public queue"
