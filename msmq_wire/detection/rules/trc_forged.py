"""TRC-FORGED: a report message that packets of the capture contradict."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.queue_manager_hosts import QueueManagerHosts, queue_manager_hosts
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_at
from msmq_wire.records.coverage import Need
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Session, Story, Trace, TraceStep
from msmq_wire.sessions.followed_message import FollowedMessage, message_key, message_name
from msmq_wire.sessions.trace_step import hops_on_arrival
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND

_NEEDS: tuple[Need, ...] = (
    "opening",
    "both_sides",
    "whole",
    "order",
    "read",
    "counted",
    "nothing_lost",
    "kept",
)
"""What must be captured of all connections between two hosts to say that a message was not sent there."""


def _check(story: Story, context: Context) -> Iterator[Detection]:
    hosts = queue_manager_hosts(story) if story.traces else {}
    for trace in story.traces:
        names = [message_name(message_key(one, trace.number)) for one in trace.sources]
        kept = (story.lives.kept(one) for one in names)
        known = [one for one in kept if one is not None and one.via != "report"]
        for step in trace.steps:
            yield from _from_another_host(story, step, hosts)
            if not trace.captured and len(known) == len(names) == 1:
                yield from _unasked(step, names[0], known[0])
            if not trace.captured and not known:
                yield from _unsent(story, trace, step, hosts)


def _from_another_host(story: Story, step: TraceStep, hosts: QueueManagerHosts) -> Iterator[Detection]:
    """A report that comes from its queue manager, but not from its address."""
    own, report, src = hosts.get(step.queue_manager, {}), story.lives.kept(step.report_id), host_of(step.src)
    if step.routed or not own or src in own or report is None or report.via != "tcp":
        return
    where = " and ".join(own)
    yield _detection(
        f"{src} sent it in the name of queue manager {step.queue_manager}, which is at {where}",
        step,
        *own.values(),
    )


def _unasked(step: TraceStep, name: str, message: FollowedMessage) -> Iterator[Detection]:
    """A report about a message that was captured, and does not ask for reports."""
    if message.content is not None and message.via == "tcp":
        yield _detection(
            f"message {name} does not ask for reports: TR is not set in its packet",
            step,
            place_at(message.first, message.src, message.dst),
        )


def _unsent(story: Story, trace: Trace, step: TraceStep, hosts: QueueManagerHosts) -> Iterator[Detection]:
    """A report that a message went from one host to another, though no connection of the two carried it."""
    if not step.sent_time or story.first is None or story.last is None or story.left_out.lives:
        return
    if not story.first <= step.sent_time * SECOND <= story.last:
        # It may have been sent before the capture began, or its clock is wrong.
        return
    way = _way(trace, step, hosts)
    for sender, receiver in product(*way[:2]):
        sessions = [one for one in story.sessions if _is_between(one, sender, receiver)]
        if not sessions or not all(one.started and one.reached == "open" for one in sessions):
            continue
        first, frame = sessions[0], step.at.frame or 0
        before = first.first.record < step.at.record
        if before and not story.visibility.lacking_between(_NEEDS, frame, sender, receiver):
            yield _detection(
                f"queue manager {step.queue_manager} says that {way[2]}, and no connection between "
                f"{sender} and {receiver} carried it",
                step,
                place_at(first.first, first.client, first.server, first.capture),
                caveats=("the two may have another connection that was not captured",),
            )
            return


def _way(
    trace: Trace, step: TraceStep, hosts: QueueManagerHosts
) -> tuple[Collection[str], Collection[str], str]:
    """Between which addresses a message went, as far as a report says it, and how it says it.

    Who received it got it from its source if no routing server counted itself before.
    """
    name = f"message {trace.qm_id}\\{trace.number}"
    if step.kind == "sent":
        to = [step.next_hop] if step.next_hop else []
        return hosts.get(step.queue_manager, ()), to, f"it sent {name} to {step.next_hop}"
    from_source = len(trace.sources) == 1 and not hops_on_arrival(step, trace.steps)
    own = hosts.get(step.queue_manager, ()) if from_source else ()
    source = hosts.get(trace.sources[0], ()) if from_source else ()
    return source, own, f"it received {name}"


def _is_between(session: Session, host: str, other: str) -> bool:
    return {host_of(session.client), host_of(session.server)} == {host, other}


def _detection(text: str, step: TraceStep, *evidence: Evidence, caveats: tuple[str, ...] = ()) -> Detection:
    return Detection(
        message=f"a report message looks forged: {text}",
        evidence=(place_at(step.at, step.src, step.dst), *evidence),
        caveats=caveats,
    )


RULE = Rule(
    id="TRC-FORGED",
    title="A report message that other packets contradict",
    severity="medium",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "1.3.6"), SpecRef("MS-MQQB", "3.1.5.8.9"), SpecRef("MS-MQQB", "3.1.7.1.7")),
    meaning="A report message says that a queue manager received a message or sent it on. Packets of the "
    "capture say otherwise: the queue manager that reports is at another address, the message did not ask "
    "for reports, or the connections to the next hop were captured whole and did not carry it. Nobody signs "
    "report messages, so any host that reaches the queue of the reports can forge one.",
    action="Find out what the host that sent the report is, and whether it is the queue manager that the "
    "report names. Until then do not rely on the path that reports tell.",
    harmless="Network address translation, a cluster, a host with several addresses or a new one, or a path "
    "that the capture does not see.",
    over="story",
    needs=("one_network",),
    check=_check,
)
