"""A queue manager with queues and messages, and clients that call a server of it in memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from msmq_wire.engines.codec import decode, encode
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import DecodeError
from msmq_wire.lab.model.data.elements import (
    MessagePosition,
    ModelMessage,
    ModelQueueManager,
    OpenQueueDescriptor,
    Queue,
)
from msmq_wire.lab.model.data.enumerations import QueueAccessType, QueueShareMode
from msmq_wire.lab.model.data.timers import INFINITE, Timers
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.queue import create_queue, open_queue
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation, InterfaceServer
from msmq_wire.rpc.ndr import StubValue, encode_stub
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID

T = TypeVar("T")
S = TypeVar("S", bound=InterfaceServer)
HOST = "host"
QUEUE_MANAGER = GUID(b"the queue manager"[:16])
START = 1_700_000_000
"""Seconds since 1970 when a scene begins."""


def make_manager(
    seed: int | str = 1,
    *,
    name: str = HOST,
    identifier: GUID = QUEUE_MANAGER,
    start: int = START,
    timers: Timers | None = None,
) -> ModelQueueManager:
    """A queue manager without queues, at `START`."""
    return ModelQueueManager(
        identifier=identifier,
        computer_name=name,
        timers=timers or Timers(),
        time_offset=start,
        randomness=random.Random(seed),
    )


def system_queue(manager: ModelQueueManager, name: str) -> Queue:
    """A queue without a place in the queue collection, for journals and dead letters of the machine."""
    return Queue(
        queue_manager=manager,
        pathname=f"{manager.computer_name}\\{name}",
    )


def make_queue(manager: ModelQueueManager, name: str = "orders", *, transactional: bool = False) -> Queue:
    """A private queue that was created."""
    queue = Queue(
        queue_manager=manager,
        pathname=f"{manager.computer_name}\\private$\\{name}",
        transactional=transactional,
    )
    assert create_queue(manager, queue) == Status.MQ_OK
    return queue


def open_descriptor(
    manager: ModelQueueManager,
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
) -> ModelMessage:
    """Enqueue a message, whose label is its body."""
    data = make_packet(body, label=body.decode("latin-1"), priority=priority) if packet is None else packet
    message = ModelMessage(
        packet=data,
        priority=priority,
        size=len(data),
        time_to_be_received=time_to_be_received,
        label=body.decode("latin-1"),
        srmp=srmp,
    )
    assert enqueue_message(queue, message) == 0
    return message


def position(message: ModelMessage) -> MessagePosition:
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
        self.answer: CallResult | None = None

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
    """A client of a server in memory. Every answer comes once, and is one that can be encoded.

    ``encodes`` is False for requests that cannot be, some of which come back in the answer.
    """

    def __init__(self, server: InterfaceServer, number: int = 1, account: str = "") -> None:
        self.server = server
        self.encodes = True
        self.association = ClientAssociation(number=number, account=account)
        self.waiting: list[Waiting] = []

    def start(self, stem: str, request: Any) -> Waiting:
        """Call a method by its stem or its name; the answer may come later."""
        return self.start_opnum(next(self._opnums(stem)), request)

    def start_opnum(self, opnum: int, request: Any) -> Waiting:
        """Call a method by its number."""
        call = Waiting()

        def done(answer: CallResult) -> None:
            assert call.answer is None, "answered twice"
            if answer.fault is None and self.encodes:
                encode_stub(self.server.INTERFACE.methods[opnum].response, StubValue(answer.response))
            call.answer = answer
            if call in self.waiting:
                self.waiting.remove(call)

        self.server.serve(self.association, opnum, request, done)
        if call.answer is None:
            self.waiting.append(call)
        return call

    def call(self, stem: str, request: Any) -> CallResult:
        """Call a method that answers at once."""
        return self._at_once(self.start(stem, request))

    def call_opnum(self, opnum: int, request: Any) -> CallResult:
        """Call a method by its number that answers at once."""
        return self._at_once(self.start_opnum(opnum, request))

    def disconnect(self) -> None:
        """The client is gone."""
        self.server.rundown(self.association)

    @staticmethod
    def _at_once(call: Waiting) -> CallResult:
        assert call.answer is not None, "the call waits"
        return call.answer

    def _opnums(self, stem: str) -> Iterator[int]:
        methods = self.server.INTERFACE.methods.items()
        return (opnum for opnum, method in methods if stem in (method.stem, method.name))


def pass_time(manager: ModelQueueManager, milliseconds: int) -> None:
    """Let time pass."""
    manager.timers.advance(manager.timers.now + milliseconds)


def run(call: Callable[..., CallResult], steps: Generator[tuple[Any, ...], CallResult, T]) -> T:
    """What an operation of a client comes to whose calls are all answered at once."""
    try:
        step = next(steps)
        while True:
            step = steps.send(call(*step))
    except StopIteration as end:
        result: T = end.value
        return result


class Scene:
    """A queue manager with the queue ``orders`` and its ``messages``.

    ``deleted`` are the labels and reasons of messages that left their queues.
    """

    def __init__(self, *bodies: bytes, transactional: bool = False) -> None:
        self.manager = make_manager()
        self.queue = make_queue(self.manager, transactional=transactional)
        self.messages = self.put(*bodies)
        self.deleted: list[tuple[str, int]] = []
        self.manager.position_deleted.append(
            lambda queue, position, reason: self.deleted.append((position.message_reference.label, reason))
        )

    def put(self, *bodies: bytes) -> list[ModelMessage]:
        """Enqueue messages in ``orders``."""
        return [put(self.queue, body) for body in bodies]

    def opened(
        self, access: QueueAccessType = QueueAccessType.RECEIVE_ACCESS, name: str | None = None
    ) -> OpenQueueDescriptor:
        """An opening of ``orders``, or of what a name stands for."""
        return open_descriptor(self.manager, name or format_name(self.queue), access)

    def state(self) -> dict[str, Any]:
        """All that a call could have changed."""
        manager = self.manager
        parents = manager.queue_collection.values()
        return {
            "queues": [
                (
                    queue.pathname,
                    *(queue.label, queue.security, queue.quota, queue.journaling, queue.modify_time),
                    *(queue.type, queue.total_bytes, labels(queue), states(queue)),
                    len(queue.open_queue_descriptor_collection),
                )
                for parent in parents
                for queue in (parent, *parent.subqueue_collection)
            ],
            "descriptors": sorted(manager.descriptors),
            "cursors": {
                number: (cursor.cursor_state, cursor.message_position_reference)
                for number, cursor in manager.cursors.items()
            },
            "transactions": {
                identifier: len(one.transactional_operation_collection)
                for identifier, one in manager.transaction_collection.items()
            },
            "timers": manager.timers.running,
            "waiting": sum(
                len(one.waiting_message_read_operation_collection) for one in manager.descriptors.values()
            ),
        }

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """What is called here changes nothing."""
        before = self.state()
        yield
        assert self.state() == before


class ServerScene(Scene, Generic[S]):
    """A scene with a server, which options go to, and a client of it."""

    def __init__(
        self, server: Callable[..., S], *bodies: bytes, transactional: bool = False, **how: Any
    ) -> None:
        super().__init__(*bodies, transactional=transactional)
        self.server = server(self.manager, **how)
        self.client = Client(self.server)

    @property
    def association(self) -> ClientAssociation:
        """That of the client."""
        return self.client.association

    def another_client(self) -> Client:
        """One more client."""
        return Client(self.server, 2)

    def call(self, method: str, request: Any) -> Any:
        """What a call of the client gives: the response; a fault fails the test."""
        answer = self.client.call(method, request)
        assert answer.fault is None, f"fault 0x{answer.fault:08X}"
        return answer.response

    def status(self, method: str, request: Any) -> int | None:
        """The status of a call of the client, of a response or of a fault."""
        return self.client.call(method, request).status

    def refusal(self, method: str, request: Any) -> int | None:
        """The status of a call of the client that leaves everything as it was."""
        with self.unchanged():
            return self.status(method, request)

    def fault(self, method: str, request: Any) -> int | None:
        """The status of the fault that a call of the client gives, which leaves everything as it was."""
        with self.unchanged():
            return self.client.call(method, request).fault

    def thing(self, handle: ContextHandle) -> Any:
        """What a handle of the client stands for."""
        return self.association.handles.get(handle.uuid)

    def state(self) -> dict[str, Any]:
        """All that a call could have changed, and the handles of the client."""
        return super().state() | {"handles": dict(self.association.handles)}
