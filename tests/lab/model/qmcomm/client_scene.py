"""Two computers with all servers of the model, and a client of qmcomm at the first of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from msmq_wire.lab.model.data.elements import Queue
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation, InterfaceServer
from msmq_wire.lab.model.qm2qm.server import Qm2qmServer
from msmq_wire.lab.model.qmcomm.client.client import QmcommClient
from msmq_wire.lab.model.qmcomm.client.planned_calls import (
    Endpoint,
    EnlistedTransaction,
    OpenQueueContext,
    PlannedCall,
    Result,
)
from msmq_wire.lab.model.qmcomm.environment import QmcommEnvironment
from msmq_wire.lab.model.qmcomm.local_queue_context import RemoteBinding
from msmq_wire.lab.model.qmcomm.qmcomm2 import Qmcomm2Server
from msmq_wire.lab.model.qmcomm.server import QmcommServer
from msmq_wire.rpc.interfaces import qmcomm
from msmq_wire.rpc.interfaces.qmcomm2 import RpcACSendMessageExRequest
from msmq_wire.rpc.ndr import StubValue, encode_stub, inspect_stub
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.scene import Coordinator
from tests.lab.model.scene import make_manager, make_queue

T = TypeVar("T")
ORDERS = "DIRECT=OS:host\\private$\\orders"
FAR = "DIRECT=OS:elsewhere\\private$\\far"
RECEIVE, SEND, PEEK = 0x01, 0x02, 0x20
OK = 0
NOT_THERE = CallResult(fault=0x1C010002)
FAILURES = (Status.MQ_ERROR, Status.MQ_ERROR_ACCESS_DENIED, 0x80070005, 0xC0000001)
HANDLE = ContextHandle(uuid=GUID(b"a handle of some"))
WHEREABOUTS = b"where the coordinator is"


class Computer:
    """A queue manager and its servers; each binding of a client is an association of its own."""

    def __init__(self, name: str, bind: Callable[[str], RemoteBinding | None], old: bool, **how: Any) -> None:
        identifier = GUID(f"the qm {name}".ljust(16).encode())
        self.manager = make_manager(name, name=name, identifier=identifier)
        environment = QmcommEnvironment(
            bind=bind,
            obsolete_methods=old,
            transaction_manager=Coordinator(WHEREABOUTS),
            forest=GUID(b"f" * 16),
        )
        self.servers: dict[str, InterfaceServer] = {
            "qmcomm": QmcommServer(self.manager, environment),
            "qmcomm2": Qmcomm2Server(self.manager, makes_local_cursors=old, **how),
            "qm2qm": Qm2qmServer(self.manager),
        }
        self.associations: dict[int, ClientAssociation] = {}

    def serve(
        self, interface: str, port: int, opnum: int, request: Any, done: Callable[[CallResult], None]
    ) -> None:
        association = self.associations.setdefault(port, ClientAssociation(number=port))
        self.servers[interface].serve(association, opnum, request, done)

    def call_by_name(self, name: str, request: Any, done: Callable[[CallResult], None]) -> None:
        """A call of another queue manager."""
        for interface, server in self.servers.items():
            for opnum, method in server.INTERFACE.methods.items():
                if method.name == name:
                    return self.serve(interface, 2105, opnum, request, done)
        raise AssertionError(f"there is no {name}")


class Running(Generic[T]):
    """An operation that goes on when its call is answered; ``results`` has what it came to."""

    def __init__(self, world: World, steps: Generator[PlannedCall, CallResult, T]) -> None:
        self.world = world
        self.steps = steps
        self.results: list[T] = []

    def go_on(self, answer: CallResult | None = None) -> None:
        try:
            step = next(self.steps) if answer is None else self.steps.send(answer)
        except StopIteration as end:
            self.results.append(end.value)
            return
        self.world.take(step, self.go_on)


def new_client(**how: Any) -> QmcommClient:
    """A client of ``host``; without ``settings`` it asks for them before its first call."""
    return QmcommClient("host", computer_name="desk", randomness=random.Random(7), **how)


class World:
    """``host`` with the queue ``orders``, ``elsewhere`` with the queue ``far``, and a client of ``host``.

    The client was told settings before, if it is not another ``client``.
    ``log`` holds the calls that were made, ``answers`` what is answered by method in a server's stead.
    """

    def __init__(self, *, old: bool = False, client: QmcommClient | None = None, **how: Any) -> None:
        self.host = Computer("host", self._bind, old, **how)
        self.elsewhere = Computer("elsewhere", self._bind, old)
        self.orders: Queue = make_queue(self.host.manager)
        self.far: Queue = make_queue(self.elsewhere.manager, "far")
        self.client = client or new_client(settings={})
        self.log: list[PlannedCall] = []
        self.answers: dict[str, CallResult] = {}
        # An operation that nobody holds is given up.
        self.held: list[object] = []

    def _bind(self, computer: str) -> RemoteBinding | None:
        there = {"host": self.host, "elsewhere": self.elsewhere}.get(computer)
        return None if there is None else there.call_by_name

    def take(self, step: PlannedCall, done: Callable[[CallResult], None]) -> None:
        """One call, as a stub can hold it."""
        self.log.append(step)
        method = step.interface.methods[step.opnum]
        data = encode_stub(method.request, StubValue(step.request))
        found = inspect_stub(method.request, data)
        assert found.error is None
        assert not found.anomalies
        if method.name in self.answers:
            return done(self.answers[method.name])
        computer = {"host": self.host, "elsewhere": self.elsewhere}[step.endpoint.computer]
        assert step.endpoint.port in (0, 2103)
        computer.serve(step.interface.name, step.endpoint.port, step.opnum, step.request, done)

    def begin(self, steps: Generator[PlannedCall, CallResult, T]) -> Running[T]:
        """Run an operation as far as it goes without waiting."""
        running = Running(self, steps)
        self.held.append(running)
        running.go_on()
        return running

    def run(self, steps: Generator[PlannedCall, CallResult, T]) -> T:
        """Run an operation that does not wait."""
        running = self.begin(steps)
        assert running.results, "it waits"
        return running.results[0]

    def good(self, steps: Generator[PlannedCall, CallResult, Result[T]]) -> T:
        """The value of an operation that succeeds."""
        result = self.run(steps)
        assert result.status == OK, hex(result.status)
        assert result.value is not None
        return result.value

    def open(self, name: str = ORDERS, access: int = RECEIVE, share: int = 0) -> OpenQueueContext:
        return self.good(self.client.open_queue(name, access, share))

    def send(self, content: bytes, transaction: EnlistedTransaction | None = None, **more: Any) -> None:
        """Send a message to ``orders``."""
        queue = self.open(access=SEND)
        self.good(self.client.send(queue, message(content, **more), transaction))
        self.run(self.client.close_queue(queue))

    def fails(self, name: str, status: int = 0xC00E0027, **parameters: Any) -> None:
        """Have a method answer with a failure, with out parameters that must not be read."""
        method = next(
            method
            for interface in (qmcomm.INTERFACE, self.host.servers["qmcomm2"].INTERFACE)
            for method in interface.methods.values()
            if method.name == name
        )
        self.answers[name] = CallResult(method.response.cls(status=status, **parameters))

    @property
    def names(self) -> list[str]:
        """The methods that were called, in order."""
        return [step.name for step in self.log]

    def request(self, name: str) -> Any:
        """The last request of a method."""
        return next(step.request for step in reversed(self.log) if step.name == name)

    def endpoint(self, name: str) -> Endpoint:
        """Where the last call of a method went."""
        return next(step.endpoint for step in reversed(self.log) if step.name == name)

    def sent(self) -> RpcACSendMessageExRequest:
        """The last message that was sent."""
        request = self.request("rpc_ACSendMessageEx")
        assert isinstance(request, RpcACSendMessageExRequest)
        return request


def message(content: bytes, label: str = "a label", **more: Any) -> MessageProperties:
    """The properties of a message that is sent."""
    return MessageProperties(body=content, label=WcharText.of(label), **more)
