"""TRC-CONFLICT: report messages about one message that contradict each other, or the message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.queue_manager_hosts import QueueManagerHosts, queue_manager_hosts
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_at
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Story, TraceStep
from msmq_wire.sessions.followed_message import FollowedMessage, message_key, message_name
from msmq_wire.sessions.trace_step import hops_on_arrival, in_order_of_path
from msmq_wire.spec import SpecRef
from msmq_wire.wire.report_message import target_name
from msmq_wire.wire.types.guid import GUID

_MOST = 8


class _Reported(NamedTuple):
    """The reports about one message, in the order of its path; what was kept of it, if it was captured."""

    name: str
    message: FollowedMessage | None
    steps: Sequence[TraceStep]
    hosts: QueueManagerHosts

    def hops(self, kind: str) -> dict[int, dict[GUID, TraceStep]]:
        """The first step of a kind of each queue manager, by hop count."""
        found: dict[int, dict[GUID, TraceStep]] = {}
        for step in self.steps:
            if step.kind == kind:
                found.setdefault(step.hops, {}).setdefault(step.queue_manager, step)
        return found


_Conflict = tuple[str, tuple[TraceStep, ...]]


def _check(story: Story, context: Context) -> Iterator[Detection]:
    hosts = queue_manager_hosts(story) if story.traces else {}
    for trace in story.traces:
        for source in trace.sources:
            name = message_name(message_key(source, trace.number))
            message = story.lives.kept(name)
            steps = [one for one in in_order_of_path(trace.of(source)) if one.sure]
            # Each copy of a message for several queues takes a path of its own.
            if message is None or not message.several:
                yield from _detections(_Reported(name, message, steps, hosts))


def _detections(reported: _Reported) -> Iterator[Detection]:
    for text, steps in (
        *_at_one_count(reported),
        *_elsewhere(reported),
        *_going_down(reported),
        *_other_queue(reported),
    ):
        yield Detection(
            message=f"reports about message {reported.name} contradict each other: {text}",
            evidence=tuple(_place(step) for step in steps[:_MOST]),
        )


def _at_one_count(reported: _Reported) -> Iterator[_Conflict]:
    """A routing server counts itself and the destination does not: two at most receive with one count."""
    sent = reported.hops("sent")
    destination = reported.message.destination if reported.message is not None else None
    for hops, receivers in reported.hops("received").items():
        passed_on = receivers.keys() & sent.get(hops, {}).keys()
        one_arrived = destination is None or destination in receivers
        allowed = 2 if hops and one_arrived and len(passed_on) < 2 else 1
        if len(receivers) > allowed:
            names = ", ".join(map(str, list(receivers)[:_MOST]))
            text = f"queue managers {names} all received it with hop count {hops}"
            yield text, tuple(receivers.values())


def _elsewhere(reported: _Reported) -> Iterator[_Conflict]:
    """Who surely received it from the one before, and is at another address than that one sent it to."""
    for step in reported.steps:
        if step.kind == "sent":
            continue
        receiver, before = step.queue_manager, hops_on_arrival(step, reported.steps)
        senders = [
            one
            for one in reported.steps
            if one.kind == "sent" and one.hops == before and one.queue_manager != receiver
        ]
        hosts = set(reported.hosts.get(receiver, ()))
        if not step.routed:
            hosts.add(host_of(step.src))
        next_hops = {one.next_hop for one in senders}
        if senders and hosts and hosts.isdisjoint(next_hops):
            to = " and ".join(sorted(filter(None, next_hops)))
            text = (
                f"it was sent to {to}, and queue manager {receiver} at {', '.join(sorted(hosts))} received it"
            )
            yield text, (*senders, step)


def _going_down(reported: _Reported) -> Iterator[_Conflict]:
    received = {one.queue_manager: one for one in reversed(reported.steps) if one.kind == "received"}
    sent = {one.queue_manager: one for one in reversed(reported.steps) if one.kind == "sent"}
    for manager, first in received.items():
        then = sent.get(manager)
        if then is not None and then.hops < first.hops:
            text = (
                f"queue manager {manager} received it with hop count {first.hops} and sent it on with "
                f"{then.hops}"
            )
            yield text, (first, then)


def _other_queue(reported: _Reported) -> Iterator[_Conflict]:
    known = reported.message
    queue = None if known is None or known.via != "tcp" else known.queue
    for step in reported.steps:
        expected = queue or reported.steps[0].target
        if not _is_same(step.target, expected):
            where = "the captured message is" if queue else "another report says it is"
            yield f"queue manager {step.queue_manager} names {step.target}, {where} for {expected}", (step,)


def _is_same(one: str, other: str) -> bool:
    """Whether two texts name one queue: a queue manager may write a name in another form than its sender."""
    names = [target_name(text) for text in (one, other)]
    keys = [None if name is None else name.compare_key for name in names]
    return one.casefold() == other.casefold() or (keys[0] is not None and keys[0] == keys[1])


def _place(step: TraceStep) -> Evidence:
    return place_at(step.at, step.src, step.dst)


RULE = Rule(
    id="TRC-CONFLICT",
    title="Report messages that contradict each other",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.9"), SpecRef("MS-MQQB", "3.1.7.1.7"), SpecRef("MS-MQQB", "3.1.5.8.2")),
    meaning="Queue managers on the path of a traced message report that they received it and where they sent "
    "it. Here two reports cannot both be true: two queue managers received the message with one hop count, "
    "the message went to another address than that of the next queue manager, the hop count went down, or "
    "the queues differ. One of the reports may be forged, as no report message is signed.",
    action="List the reports with msmq-wire why and the number of the message. Ask the queue managers that "
    "the finding names, and compare the addresses from which their reports came.",
    harmless="A host with several addresses. A sender that got no acknowledgment sends a message again, "
    "maybe over another routing server.",
    over="story",
    needs=("one_network",),
    check=_check,
)
