"""What each step of a scenario does in a lab: one function for each action.

The rules kept here: an application on ``own`` does it, with its own queue manager by qmcomm, which is not on
the wire, and with queues of ``other`` through that queue manager: what is sent goes over TCP 1801, what is
read comes by RemoteRead. What a step names and its action does not support has a reason in `NOT_HERE`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias
from uuid import UUID

import msgspec

from msmq_wire.lab import remote_actions
from msmq_wire.lab.model.qmcomm.client.planned_calls import EnlistedTransaction, OpenQueueContext
from msmq_wire.lab.model.qmcomm.client.request_buffers import Room
from msmq_wire.lab.recorded_hosts import RecordedHosts
from msmq_wire.lab.recorded_messages import (
    acknowledge_of,
    body_of,
    labels_of,
    received_message,
    sent_message,
)
from msmq_wire.lab.recordings.recording import RecordedMessage
from msmq_wire.lab.recordings.scenario import Need, Step, StepAction
from msmq_wire.lab.step_outcome import StepOutcome, refused
from msmq_wire.rpc.constants import AccessMode
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.srmp.building import build_srmp
from msmq_wire.units import SECOND
from msmq_wire.wire.types.wchar_text import WcharText

Do: TypeAlias = Callable[[RecordedHosts, Step], Awaitable[StepOutcome]]

_OK = 200
_ROOM = Room(body=1 << 20)
_MILLISECONDS = 1000
_OF_EVERY_STEP = frozenset({"name", "do", "why", "needs", "queue"})
_OF_A_BODY = frozenset({"label", "body", "repeat", "count", "extension"})
_OF_A_MESSAGE = frozenset({"priority", "app_specific", "correlation_id", "journal", "dead_letter"})

NEEDS_NOT_HERE: Mapping[Need, str] = {
    "domain": "the lab has no directory, and so neither certificates nor keys",
    "management": "the lab serves no management of queues ([MS-MQMR])",
}
"""What a lab does not have of what steps need."""

NOT_HERE: Mapping[str, str] = {
    "authenticated": "the lab signs nothing",
    "encrypted": "the lab encrypts nothing",
}
"""Properties of steps that no deed here can heed."""

SUPPORTED_OVER_HTTP = _OF_EVERY_STEP | _OF_A_BODY | _OF_A_MESSAGE | {"via", "delivery"}
"""What a message that is sent over HTTP has of its step; streams of transactions need receipts."""

SUPPORTED: Mapping[StepAction, frozenset[str]] = {
    "send": _OF_EVERY_STEP
    | _OF_A_BODY
    | _OF_A_MESSAGE
    | {
        "delivery",
        "via",
        "acknowledge",
        "admin_queue",
        "response_queue",
        "time_to_reach_queue",
        "time_to_be_received",
        "commit",
    },
    "peek": _OF_EVERY_STEP | {"label", "by", "timeout"},
    "receive": _OF_EVERY_STEP | {"label", "by", "timeout", "transaction", "commit"},
    "purge": _OF_EVERY_STEP,
    "move": _OF_EVERY_STEP | {"label", "by", "target"},
    "wait": _OF_EVERY_STEP | {"seconds"},
    "properties": _OF_EVERY_STEP,
    "create": _OF_EVERY_STEP,
    "delete": _OF_EVERY_STEP,
}
"""The properties of a step that its deed heeds."""

_NOT_LOCALLY: Mapping[StepAction, str] = {
    "move": "an application of the lab moves nothing in queues of its own host",
}
_NOT_REMOTELY: Mapping[StepAction, str] = {
    "create": "a private queue is made by its own computer",
    "delete": "a private queue is deleted by its own computer",
}


def unsupported(hosts: RecordedHosts, step: Step) -> str | None:
    """Why a step cannot be done here; None for one that can."""
    for need in step.needs:
        if need in NEEDS_NOT_HERE:
            return NEEDS_NOT_HERE[need]
    plain = Step(name=step.name, do=step.do)
    given = {name for name in step.__struct_fields__ if getattr(step, name) != getattr(plain, name)}
    for name, reason in NOT_HERE.items():
        if name in given:
            return reason
    over_http = step.do == "send" and step.via == "http"
    unheeded = sorted(given - (SUPPORTED_OVER_HTTP if over_http else SUPPORTED[step.do]))
    if unheeded or (over_http and step.delivery == "transactional"):
        way = "over HTTP " if over_http else ""
        return f"the lab does not {step.do} {way}with {unheeded[0] if unheeded else step.delivery}"
    if step.do == "properties":
        return NEEDS_NOT_HERE["management"]
    if step.do == "wait":
        return None
    remote = hosts.is_remote(step.queue)
    if not remote and (step.by == "lookup" or step.transaction):
        return "an application of the lab reads its own queues in their order, one by one"
    return (_NOT_REMOTELY if remote else _NOT_LOCALLY).get(step.do)


async def send(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Send messages, in one transaction where they are transactional."""
    if step.via == "http":
        return await _post(hosts, step)
    application = hosts.application
    opened = await application.run(
        application.calls.open_queue(hosts.format_name(step.queue), AccessMode.MQ_SEND_ACCESS)
    )
    if opened.value is None:
        return refused(opened.status)
    transaction = None
    if step.delivery == "transactional":
        begun = await application.run(application.calls.begin_transaction())
        transaction = begun.value
    outcome = await _send_all(hosts, step, opened.value, transaction)
    if transaction is not None:
        whole = outcome.status == Status.MQ_OK
        end = application.calls.commit if whole and step.commit else application.calls.abort
        status = await application.run(end(transaction))
        if whole:
            outcome = msgspec.structs.replace(outcome, status=status)
    await application.run(application.calls.close_queue(opened.value))
    return outcome


async def _send_all(
    hosts: RecordedHosts, step: Step, queue: OpenQueueContext, transaction: EnlistedTransaction | None
) -> StepOutcome:
    admin = hosts.format_name(step.admin_queue) if step.admin_queue else None
    response = hosts.format_name(step.response_queue) if step.response_queue else None
    application, sent = hosts.application, list[RecordedMessage]()
    for label in labels_of(step):
        properties = MessageProperties(
            body=body_of(step),
            label=WcharText.of(label),
            extension=step.extension.encode() or None,
            priority=step.priority,
            application_tag=step.app_specific,
            correlation_identifier=bytes.fromhex(step.correlation_id) or None,
            delivery_guarantee=int(step.delivery != "express"),
            acknowledgements_requested=acknowledge_of(step),
            administration_queue_format_name=admin,
            response_queue_format_name=response,
            time_to_reach_queue=step.time_to_reach_queue,
            time_to_be_received=step.time_to_be_received,
            positive_journaling_requested=step.journal,
            negative_journaling_requested=step.dead_letter,
        )
        result = await application.run(application.calls.send(queue, properties, transaction))
        if result.value is None:
            return refused(result.status, tuple(sent))
        name = f"{result.value.lineage}\\{result.value.uniquifier}"
        sent.append(sent_message(step, label, name, admin_queue=admin, response_queue=response))
    return StepOutcome(messages=tuple(sent))


async def _post(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Send over HTTP: the model of a queue manager has no SRMP to send with, so that it is done for it."""
    manager, url, sent = hosts.own.manager, hosts.url(step.queue), list[RecordedMessage]()
    async with hosts.poster() as poster:
        for label in labels_of(step):
            number = manager.new_message_id()
            request = build_srmp(
                url,
                body_of(step),
                source_qm_guid=UUID(str(manager.identifier)),
                message_number=number,
                sent_at=hosts.now() // SECOND,
                label=label,
                extension=step.extension.encode(),
                priority=step.priority,
                app=step.app_specific,
                correlation=bytes.fromhex(step.correlation_id) or bytes(20),
                journal=step.journal,
                dead_letter=step.dead_letter,
                durable=step.delivery == "recoverable",
            )
            if (await poster.request(request)).status != _OK:
                return refused(Status.MQ_ERROR, tuple(sent))
            name = f"{manager.identifier}\\{number}"
            sent.append(sent_message(step, label, name, admin_queue=None, response_queue=None))
    return StepOutcome(messages=tuple(sent))


async def peek(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Read a message and leave it in its queue."""
    if hosts.is_remote(step.queue):
        return await remote_actions.peek(hosts, step)
    return await _read(hosts, step, receive=False)


async def receive(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Take a message off its queue."""
    if hosts.is_remote(step.queue):
        return await remote_actions.receive(hosts, step)
    return await _read(hosts, step, receive=True)


async def _read(hosts: RecordedHosts, step: Step, *, receive: bool) -> StepOutcome:
    application, calls = hosts.application, hosts.application.calls
    access = AccessMode.MQ_RECEIVE_ACCESS if receive else AccessMode.MQ_PEEK_ACCESS
    opened = await application.run(calls.open_queue(hosts.format_name(step.queue), access))
    queue = opened.value
    if queue is None:
        return refused(opened.status)
    timeout, cursor = step.timeout * _MILLISECONDS, 0
    if step.by == "cursor":
        cursor = (await application.run(calls.create_cursor(queue))).value or 0
        read = await application.run(calls.peek(queue, cursor=cursor, timeout=timeout, room=_ROOM))
    if receive:
        read = await application.run(calls.receive(queue, cursor=cursor, timeout=timeout, room=_ROOM))
    elif step.by == "first":
        read = await application.run(calls.peek(queue, timeout=timeout, room=_ROOM))
    await application.run(calls.close_queue(queue))
    if read.value is None:
        return refused(read.status)
    return StepOutcome(messages=(received_message(read.value),))


async def purge(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Remove all messages of a queue."""
    if hosts.is_remote(step.queue):
        return await remote_actions.purge(hosts, step)
    application, calls = hosts.application, hosts.application.calls
    opened = await application.run(calls.open_queue(hosts.format_name(step.queue)))
    if opened.value is None:
        return refused(opened.status)
    status = await application.run(calls.purge(opened.value))
    await application.run(calls.close_queue(opened.value))
    return StepOutcome(status=status)


async def move(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Move a message between a queue and its subqueue."""
    return await remote_actions.move(hosts, step)


async def wait(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Let time pass."""
    await hosts.pass_time(step.seconds)
    return StepOutcome()


async def properties(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Nothing: management tells them, and `unsupported` says so."""
    raise NotImplementedError(NEEDS_NOT_HERE["management"])


async def create(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Make a queue of ``own``."""
    calls = hosts.application.calls
    return StepOutcome(status=await hosts.application.run(calls.create_queue(hosts.path_name(step.queue))))


async def delete(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Delete a queue of ``own``."""
    calls = hosts.application.calls
    return StepOutcome(status=await hosts.application.run(calls.delete_queue(hosts.format_name(step.queue))))


STEP_ACTIONS: Mapping[StepAction, Do] = {
    "send": send,
    "peek": peek,
    "receive": receive,
    "purge": purge,
    "move": move,
    "wait": wait,
    "properties": properties,
    "create": create,
    "delete": delete,
}
