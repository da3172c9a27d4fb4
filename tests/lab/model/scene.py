"""A queue manager with queues and messages, and clients that call a server of it in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from msmq_wire.engines.building import build_message
from msmq_wire.engines.codec import decode, encode
from msmq_wire.errors import DecodeError
from msmq_wire.lab.model.data.elements import (
    Message,
    MessagePosition,
    OpenQueueDescriptor,
    Queue,
    QueueManager,
)
from msmq_wire.lab.model.data.enumerations import QueueAccessType, QueueShareMode
from msmq_wire.lab.model.data.timers import INFINITE, Timers
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.queue import create_queue, open_queue
from msmq_wire.lab.model.server import Answer, Association, Server
from msmq_wire.rpc.ndr import StubValue, encode_stub
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.guid import GUID

HOST = "host"
QUEUE_MANAGER = GUID(b"the queue manager"[:16])
START = 1_700_000_000
"""Seconds since 1970 when a scene begins."""


def make_manager(seed: int = 1) -> QueueManager:
    """A queue manager without queues, at `START`."""
    return QueueManager(
        identifier=QUEUE_MANAGER,
        computer_name=HOST,
        timers=Timers(),
        time_offset=START,
        randomness=random.Random(seed),
    )


def system_queue(manager: QueueManager, name: str) -> Queue:
    """A queue without a place in the queue collection, for journals and dead letters of the machine."""
    return Queue(
        queue_manager=manager,
        pathname=f"{manager.computer_name}\\{name}",
    )


def make_queue(manager: QueueManager, name: str = "orders", *, transactional: bool = False) -> Queue:
    """A private queue that was created."""
    queue = Queue(
        queue_manager=manager,
        pathname=f"{manager.computer_name}\\private$\\{name}",
        transactional=transactional,
    )
    assert create_queue(manager, queue) == Status.MQ_OK
    return queue


def open_descriptor(
    manager: QueueManager,
    name: str,
    access: QueueAccessType = QueueAccessType.RECEIVE_ACCESS,
    mode: QueueShareMode = QueueShareMode.DENY_NONE,
) -> OpenQueueDescriptor:
    """An opening of what a name stands for, which must open."""
    status, descriptor = open_queue(manager, name, access, mode)
    assert status == Status.MQ_OK
    assert descriptor is not None
    return descriptor


def format_name(queue: Queue) -> str:
    """The direct format name of a private queue or its subqueue."""
    return f"DIRECT=OS:{queue.pathname}"


def make_packet(body: bytes = b"", *, label: str = "", priority: int = 3, **more: Any) -> bytes:
    """The bytes of a user message as they are stored; ``more`` as for `build_message`."""
    return encode(
        build_message(f"DIRECT=OS:{HOST}\\private$\\orders", body, label=label, priority=priority, **more)
    )


def put(
    queue: Queue,
    body: bytes = b"",
    *,
    priority: int = 3,
    time_to_be_received: int = INFINITE,
    packet: bytes | None = None,
    srmp: bool = False,
) -> Message:
    """Enqueue a message, whose label is its body."""
    data = make_packet(body, label=body.decode("latin-1"), priority=priority) if packet is None else packet
    message = Message(
        packet=data,
        priority=priority,
        size=len(data),
        time_to_be_received=time_to_be_received,
        label=body.decode("latin-1"),
        srmp=srmp,
    )
    assert enqueue_message(queue, message) == 0
    return message


def position(message: Message) -> MessagePosition:
    """The slot that a message is in."""
    found = message.message_position_reference
    assert found is not None
    return found


def labels(queue: Queue) -> list[str]:
    """The labels of all messages of a queue that are not gone, in its order."""
    return [one.message_reference.label for one in queue.message_position_list]


def states(queue: Queue) -> list[str]:
    """The states of the slots of a queue, in its order."""
    return [one.state.value for one in queue.message_position_list]


def body_of(packet: bytes) -> bytes:
    """The body in a packet; a packet that cannot be read fails the test."""
    try:
        header = decode(packet, as_="message_packet").message_properties_header
    except DecodeError as error:
        raise AssertionError(f"no packet: {error}") from error
    return bytes(header.message_body)


class Waiting:
    """A call of a client; ``answer`` is None until it is answered."""

    def __init__(self) -> None:
        self.answer: Answer | None = None

    @property
    def status(self) -> int | None:
        """The status of the answer."""
        assert self.answer is not None, "the call still waits"
        return self.answer.status

    @property
    def response(self) -> Any:
        """The response in the answer."""
        assert self.answer is not None, "the call still waits"
        return self.answer.response


class Client:
    """A client of a server in memory. Every answer is one that can be encoded, and comes once."""

    def __init__(self, server: Server, number: int = 1, account: str = "") -> None:
        self.server = server
        self.association = Association(number=number, account=account)
        self.waiting: list[Waiting] = []

    def start(self, stem: str, request: Any) -> Waiting:
        """Call a method by its stem or its name; the answer may come later."""
        return self.start_opnum(next(self._opnums(stem)), request)

    def start_opnum(self, opnum: int, request: Any) -> Waiting:
        """Call a method by its number."""
        call = Waiting()

        def done(answer: Answer) -> None:
            assert call.answer is None, "answered twice"
            if answer.fault is None:
                encode_stub(self.server.INTERFACE.methods[opnum].response, StubValue(answer.response))
            call.answer = answer
            if call in self.waiting:
                self.waiting.remove(call)

        self.server.serve(self.association, opnum, request, done)
        if call.answer is None:
            self.waiting.append(call)
        return call

    def call(self, stem: str, request: Any) -> Answer:
        """Call a method that answers at once."""
        return self._at_once(self.start(stem, request))

    def call_opnum(self, opnum: int, request: Any) -> Answer:
        """Call a method by its number that answers at once."""
        return self._at_once(self.start_opnum(opnum, request))

    def disconnect(self) -> None:
        """The client is gone."""
        self.server.rundown(self.association)

    @staticmethod
    def _at_once(call: Waiting) -> Answer:
        assert call.answer is not None, "the call waits"
        return call.answer

    def _opnums(self, stem: str) -> Iterator[int]:
        methods = self.server.INTERFACE.methods.items()
        return (opnum for opnum, method in methods if stem in (method.stem, method.name))


def pass_time(manager: QueueManager, milliseconds: int) -> None:
    """Let time pass."""
    manager.timers.advance(manager.timers.now + milliseconds)
