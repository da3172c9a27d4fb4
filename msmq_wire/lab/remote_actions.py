"""Steps with queues of ``other``: RemoteRead calls as a queue manager makes them. [MS-MQRR]

The rule kept here: each step opens the queue and closes it again; a transaction is one that the coordinator
of both computers ends, which is not on the wire of RemoteRead.
"""

from __future__ import annotations

from msmq_wire.lab.model.events.transaction import transaction_abort, transaction_commit
from msmq_wire.lab.model.remote_read.client_values import ClientTransaction, OpenRemoteQueue, ReceiveResult
from msmq_wire.lab.queue_reader import RemoteReadReader
from msmq_wire.lab.recorded_hosts import RecordedHosts
from msmq_wire.lab.recorded_messages import lookup_id_of, properties_received, received_message
from msmq_wire.lab.recordings.scenario import Step
from msmq_wire.lab.step_outcome import StepOutcome, refused
from msmq_wire.rpc.constants import AccessMode, ReceiveAction
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.guid import GUID

_MILLISECONDS = 1000
_TOKEN_SIZE = 64


async def peek(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Read a message: the first, the one at a cursor, or the one with a label by its lookup identifier."""
    reader = await hosts.reader()
    opened = await reader.run(
        reader.calls.open_queue(hosts.format_name(step.queue), AccessMode.MQ_PEEK_ACCESS)
    )
    if opened.queue is None:
        return refused(opened.status)
    outcome = await _peek(reader, opened.queue, step)
    await reader.close_queue(opened.queue)
    return outcome


async def _peek(reader: RemoteReadReader, queue: OpenRemoteQueue, step: Step) -> StepOutcome:
    timeout = step.timeout * _MILLISECONDS
    if step.by == "lookup":
        found = await _find(reader, queue, step.label)
        if found.status != Status.MQ_OK:
            return refused(found.status)
        action, lookup_id = ReceiveAction.MQ_LOOKUP_PEEK_CURRENT, lookup_id_of(found)
        return _read(await reader.run(reader.calls.peek(queue, action, lookup_id=lookup_id)))
    cursor = await reader.run(reader.calls.create_cursor(queue)) if step.by == "cursor" else 0
    return _read(await reader.run(reader.calls.peek(queue, cursor=cursor, timeout=timeout)))


async def receive(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Take a message off its queue: which one, as for `peek`; perhaps in a transaction."""
    reader = await hosts.reader()
    opened = await reader.run(reader.calls.open_queue(hosts.format_name(step.queue)))
    if opened.queue is None:
        return refused(opened.status)
    transaction = _new_transaction(hosts) if step.transaction else None
    outcome = await _receive(reader, opened.queue, step, transaction)
    if transaction is not None:
        _end(hosts, reader, transaction, commit=step.commit)
    await reader.close_queue(opened.queue)
    return outcome


async def _receive(
    reader: RemoteReadReader, queue: OpenRemoteQueue, step: Step, transaction: ClientTransaction | None
) -> StepOutcome:
    calls, timeout = reader.calls, step.timeout * _MILLISECONDS
    if step.by == "lookup":
        found = await _find(reader, queue, step.label)
        if found.status != Status.MQ_OK:
            return refused(found.status)
        action, lookup_id = ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT, lookup_id_of(found)
        return _read(
            await reader.run(calls.receive(queue, action, lookup_id=lookup_id, transaction=transaction))
        )
    cursor = 0
    if step.by == "cursor":
        cursor = await reader.run(reader.calls.create_cursor(queue))
        peeked = await reader.run(calls.peek(queue, cursor=cursor, timeout=timeout))
        if peeked.status != Status.MQ_OK:
            return refused(peeked.status)
    return _read(
        await reader.run(calls.receive(queue, cursor=cursor, timeout=timeout, transaction=transaction))
    )


async def purge(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Remove all messages of a queue."""
    reader = await hosts.reader()
    opened = await reader.run(reader.calls.open_queue(hosts.format_name(step.queue)))
    if opened.queue is None:
        return refused(opened.status)
    status = await reader.run(reader.calls.purge(opened.queue))
    await reader.close_queue(opened.queue)
    return refused(status)


async def move(hosts: RecordedHosts, step: Step) -> StepOutcome:
    """Move a message into a subqueue, or out of it: the first, or the one with a label."""
    reader = await hosts.reader()
    source = await reader.run(reader.calls.open_queue(hosts.format_name(step.queue)))
    if source.queue is None:
        return refused(source.status)
    target = await reader.run(reader.calls.open_queue_for_move(hosts.format_name(step.target)))
    if target.queue is None:
        await reader.close_queue(source.queue)
        return refused(target.status)
    found = await _find(reader, source.queue, step.label if step.by == "lookup" else None)
    outcome = refused(found.status)
    if found.status == Status.MQ_OK:
        status = await reader.run(reader.calls.move(source.queue, target.queue, lookup_id_of(found)))
        outcome = refused(status, _read(found).messages if status == Status.MQ_OK else ())
    await reader.close_queue(target.queue)
    await reader.close_queue(source.queue)
    return outcome


async def _find(reader: RemoteReadReader, queue: OpenRemoteQueue, label: str | None) -> ReceiveResult:
    """Peek through a queue up to the message with a label, the first for None."""
    cursor = await reader.run(reader.calls.create_cursor(queue))
    action = ReceiveAction.MQ_ACTION_PEEK_CURRENT
    while True:
        peeked = await reader.run(reader.calls.peek(queue, action, cursor=cursor))
        properties = properties_received(peeked)
        if properties is None:
            return peeked
        if label is None or (properties.label is not None and properties.label.text == label):
            return peeked
        action = ReceiveAction.MQ_ACTION_PEEK_NEXT


def _read(received: ReceiveResult) -> StepOutcome:
    properties = properties_received(received)
    if properties is None:
        return refused(received.status)
    return StepOutcome(messages=(received_message(properties, lookup_id_of(received)),))


def _new_transaction(hosts: RecordedHosts) -> ClientTransaction:
    """An external transaction; its propagation token is made up, since nobody here reads one."""
    return ClientTransaction(
        identifier=GUID(hosts.randomness.randbytes(16)),
        propagation_token=hosts.randomness.randbytes(_TOKEN_SIZE),
    )


def _end(
    hosts: RecordedHosts, reader: RemoteReadReader, transaction: ClientTransaction, *, commit: bool
) -> None:
    """Tell ``other`` how the transaction ended, as its coordinator does. [MS-MQDMPR] 3.1.4.4, 3.1.4.5"""
    end = transaction_commit if commit else transaction_abort
    with hosts.other.clock.event():
        end(hosts.other.manager, bytes(transaction.identifier))
    reader.calls.ended(transaction)
