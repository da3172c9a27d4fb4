"""The rules of the client of qm2qm, against a server of the model."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeVar

import pytest

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qm2qm.client import BIND, UNBIND, Qm2qmClient, ReadResult, Steps, answered_status
from msmq_wire.lab.model.qm2qm.entries import Qm2qmConfiguration
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces import METHODS, qm2qm
from msmq_wire.rpc.interfaces.shared_parameters import PortResponse
from msmq_wire.rpc.ndr import StubValue, encode_stub
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.qm2qm.scene import PEEK, PEEK_NEXT, RECEIVE, Scene
from tests.lab.model.scene import Waiting, labels, pass_time, put, states
from tests.rules import rule_table

_START, _END, _OPEN, _CLOSE, _CLOSE_CURSOR, _CANCEL, _PURGE, _PORT, _VERSION, _START2, _LOOKUP = (
    method.name for method in qm2qm.INTERFACE.methods.values()
)
_IDENTIFIER = GUID(b"the client's own")
_NOT_THERE = CallResult(fault=0x1C010002)
T = TypeVar("T")


class Wire:
    """Carries the steps of a client to the server of a scene; ``faults`` answers methods in its stead.

    A ``silent`` server answers no start.
    """

    def __init__(self, scene: Scene, client: Qm2qmClient | None = None) -> None:
        self.scene = scene
        self.client = Qm2qmClient(_IDENTIFIER) if client is None else client
        self.steps: list[tuple[str, Any]] = []
        self.faults: dict[str, CallResult] = {}
        self.silent = False
        # An operation that nobody holds is given up.
        self.held: list[object] = []

    def begin(self, steps: Generator[tuple[str, Any], CallResult, T]) -> Running[T]:
        """Run an operation as far as it goes without waiting."""
        running = Running(self, steps)
        self.held.append(running)
        running.go_on()
        return running

    def run(self, steps: Generator[tuple[str, Any], CallResult, T]) -> T:
        """Run an operation that does not wait."""
        running = self.begin(steps)
        assert running.results, "it waits"
        return running.results[0]

    def send(self, method: str, request: Any) -> Waiting:
        """One step."""
        self.steps.append((method, request))
        answered = Waiting()
        if method not in (BIND, UNBIND):
            # Every request is one that can be sent.
            encode_stub(METHODS[method].request, StubValue(request))
        if self.silent and method in (_START, _START2):
            return answered
        if method in self.faults:
            answered.answer = self.faults[method]
        elif method in (BIND, UNBIND):
            answered.answer = CallResult()
        else:
            answered = self.scene.client.start(method, request)
        return answered

    @property
    def pending(self) -> Any:
        """The reads that wait."""
        return self.client.pending_remote_read_entry_collection

    @property
    def methods(self) -> list[str]:
        """What was asked for, in order."""
        return [method for method, _ in self.steps]

    def requests(self, method: str) -> list[Any]:
        """The requests of a method, in order."""
        return [request for name, request in self.steps if name == method]

    def open(self) -> int:
        """Open the queue of the scene, and forget the steps."""
        status = self.run(self.client.open_queue(self.scene.handle, self.scene.handle, self.scene.handle))
        self.steps.clear()
        return status


class Running(Generic[T]):
    """An operation on its way; ``results`` has what it returned."""

    def __init__(self, wire: Wire, steps: Generator[tuple[str, Any], CallResult, T]) -> None:
        self.wire = wire
        self.steps = steps
        self.results: list[T] = []
        self.waiting: Waiting | None = None

    def go_on(self) -> None:
        """Go on until an answer is missing or it is over."""
        try:
            while not self.results:
                if self.waiting is None:
                    self.waiting = self.wire.send(*next(self.steps))
                if self.waiting.answer is None:
                    return
                self.waiting = self.wire.send(*self.steps.send(self.waiting.answer))
        except StopIteration as stop:
            self.results.append(stop.value)


def _wire(scene: Scene | None = None, **client: Any) -> Wire:
    wire = Wire(scene or Scene(opened=False), Qm2qmClient(_IDENTIFIER, **client))
    assert wire.open() == Status.MQ_OK
    return wire


@pytest.fixture
def wire() -> Wire:
    return _wire()


@pytest.fixture(params=[False, True])
def second(wire: Wire, request: pytest.FixtureRequest) -> bool:
    """Whether the server has the second method to start reads."""
    if not request.param:
        wire.faults = {_VERSION: _NOT_THERE}
    return bool(request.param)


def _reading(wire: Wire, kind: str) -> Generator[tuple[str, Any], CallResult, ReadResult]:
    """A read of a kind; one by a cursor has a cursor of its own."""
    handle = wire.scene.handle
    match kind:
        case "peek":
            return wire.client.peek(handle, 1500)
        case "receive":
            return wire.client.receive(handle, 1500)
        case "peek by cursor":
            return wire.client.peek_by_cursor(handle, wire.scene.cursor().handle, 1500)
    return wire.client.receive_by_cursor(handle, wire.scene.cursor().handle, 1500)


def _sent(wire: Wire) -> RemoteReadDesc:
    """The REMOTEREADDESC that was sent."""
    first = wire.requests(_START)
    second = wire.requests(_START2)
    sent = first[0].lp_remote_read_desc if first else second[0].lp_remote_read_desc2.p_remote_read_desc
    assert isinstance(sent, RemoteReadDesc)
    return sent


every_read = pytest.mark.parametrize("kind", ["peek", "receive", "peek by cursor", "receive by cursor"])


# Opening


@pytest.mark.rule("CMQQP-3.2.4.1-1", "CMQQP-3.2.4.1-2", "CMQQP-3.2.4.1-3", "CMQQP-3.2.4.1-5")
@pytest.mark.rule("CMQQP-3.2.4.1-6", "CMQQP-3.2.4.1-8", "CMQQP-3.2.4.1-9", "CMQQP-3.2.4.1-10")
@pytest.mark.rule("CMQQP-3.2.4.1-11", "CMQQP-3.2.4.1-13", "CMQQP-3.2.4.1-14", "CMQQP-3.1.4-2")
@pytest.mark.rule("CMQQP-3.1.4.3-2", "CMQQP-3.1.4.3-3", "CMQQP-3.1.4.3-4", "CMQQP-3.1.4.8-1", "CMQQP-2.2.1-1")
@pytest.mark.rule("CMQQP-3.2.1-2")
def test_opening_asks_for_the_port_binds_to_it_and_opens() -> None:
    scene = Scene(opened=False)
    wire = Wire(scene)
    steps = wire.client.open_queue(scene.handle, scene.handle, scene.handle)
    assert wire.run(steps) == Status.MQ_OK
    assert wire.methods == [BIND, _PORT, BIND, UNBIND, _OPEN]
    assert wire.requests(BIND) == [0, 2105]
    assert wire.requests(UNBIND) == [0]
    assert wire.requests(_PORT)[0].dw_port_type == 1
    assert wire.requests(_OPEN) == [
        qm2qm.RemoteQMOpenQueueRequest(
            p_lic_guid=_IDENTIFIER,
            dw_mqs=0,
            h_queue=scene.handle,
            p_queue=scene.handle,
            dwp_context=scene.handle,
        )
    ]
    entry = wire.client.remote_open_queue_entry_collection[scene.handle]
    assert entry.open_queue_descriptor_handle == scene.handle
    assert entry.rr_session_handle.uuid in scene.client.association.handles
    assert entry.port == 2105


@pytest.mark.rule("CMQQP-3.2.4.1-9", "CMQQP-3.2.4.1-10", "CMQQP-3.2.4.1-11")
def test_the_three_numbers_of_qmcomm_go_where_they_belong() -> None:
    wire = Wire(Scene(opened=False))
    assert wire.run(wire.client.open_queue(11, 22, 33)) == Status.MQ_ERROR_INVALID_PARAMETER
    (request,) = wire.requests(_OPEN)
    assert (request.h_queue, request.p_queue, request.dwp_context) == (11, 22, 33)


@pytest.mark.rule("CMQQP-3.2.4.1-7")
def test_a_routing_or_directory_server_says_so() -> None:
    wire = Wire(Scene(opened=False), Qm2qmClient(_IDENTIFIER, is_server=True))
    wire.run(wire.client.open_queue(1, 1, 1))
    assert wire.requests(_OPEN)[0].dw_mqs == 1


@pytest.mark.parametrize(
    ("faults", "steps"),
    [
        ({BIND: CallResult(fault=5)}, [BIND]),
        ({_PORT: CallResult(response=PortResponse(return_value=0))}, [BIND, _PORT, UNBIND]),
        ({_PORT: CallResult(fault=5)}, [BIND, _PORT, UNBIND]),
    ],
)
@pytest.mark.rule("CMQQP-3.2.4.1-4")
def test_without_a_port_nothing_is_called(faults: dict[str, CallResult], steps: list[str]) -> None:
    wire = Wire(Scene(opened=False))
    wire.faults = faults
    assert wire.run(wire.client.open_queue(1, 1, 1)) >= (5 if BIND in faults else 0x80000000)
    assert wire.methods == steps
    assert wire.client.remote_open_queue_entry_collection == {}


@pytest.mark.rule("CMQQP-3.2.4.1-4")
def test_a_port_that_cannot_be_bound_is_the_end_of_opening() -> None:
    client = Qm2qmClient(_IDENTIFIER)
    steps = client.open_queue(1, 1, 1)
    assert next(steps) == (BIND, 0)
    assert steps.send(CallResult())[0] == _PORT
    assert steps.send(CallResult(response=PortResponse(return_value=2105))) == (BIND, 2105)
    assert steps.send(CallResult(fault=5)) == (UNBIND, 0)
    with pytest.raises(StopIteration) as stop:
        steps.send(CallResult())
    assert stop.value.value == 5


@pytest.mark.rule("CMQQP-3.2.4.1-2")
def test_a_newer_client_asks_for_no_port() -> None:
    scene = Scene(opened=False)
    wire = Wire(scene, Qm2qmClient(_IDENTIFIER, ask_port=False))
    assert wire.run(wire.client.open_queue(scene.handle, scene.handle, scene.handle)) == Status.MQ_OK
    assert wire.methods == [BIND, _OPEN]


@pytest.mark.parametrize(
    "answer", [CallResult(fault=0x1C00001D), CallResult(fault=Status.MQ_ERROR_ACCESS_DENIED)]
)
@pytest.mark.rule("CMQQP-3.2.4.1-15", "CMQQP-3.1.4-1", "CMQQP-3.1.4.7-3")
def test_an_opening_that_fails_or_is_cancelled_after_five_minutes_leaves_nothing(answer: CallResult) -> None:
    assert METHODS[_OPEN].call_timeout == 5 * 60 * 1000
    wire = Wire(Scene(opened=False))
    wire.faults = {_OPEN: answer}
    assert wire.run(wire.client.open_queue(1, 1, 1)) == answer.fault
    assert wire.methods[-1] == UNBIND
    assert wire.client.remote_open_queue_entry_collection == {}


@pytest.mark.rule("CMQQP-3.1.4-1", "CMQQP-3.1.4.7-3")
def test_a_fault_a_failure_and_an_unknown_failure_are_failures() -> None:
    response = qm2qm.HandleResponse(status=0xC00E0001)
    for answer in (CallResult(fault=0xC00E0007), CallResult(response=response), CallResult(fault=0x1C010002)):
        assert answered_status(answer) != Status.MQ_OK
    assert answered_status(CallResult(response=PortResponse())) == Status.MQ_OK


# Reading


@every_read
@pytest.mark.rule("CMQQP-3.2.1-1", "CMQQP-3.2.4.2-1", "CMQQP-3.2.4.2-2", "CMQQP-3.2.4.2-3", "CMQQP-3.2.4.3-1")
@pytest.mark.rule("CMQQP-3.2.4.3-2", "CMQQP-3.2.4.3-3", "CMQQP-3.2.4.5-1", "CMQQP-3.2.4.5-2")
@pytest.mark.rule("CMQQP-3.2.4.5-3", "CMQQP-3.2.4.6-1", "CMQQP-3.2.4.6-2", "CMQQP-3.2.4.6-3")
@pytest.mark.rule("CMQQP-2.2.2.1-8", "CMQQP-2.2.2.1-9")
def test_every_read_is_pending_under_a_number_of_its_own(wire: Wire, kind: str) -> None:
    reads = [wire.begin(_reading(wire, kind)) for _ in range(3)]
    pending = wire.pending
    assert len(pending) == 3
    assert {entry.open_queue_descriptor_handle for entry in pending.values()} == {wire.scene.handle}
    assert len({entry.request_id for entry in pending.values()}) == 3
    pass_time(wire.scene.manager, 1500)
    for read in reads:
        read.go_on()
    assert pending == {}
    wire.client.last_request = 0xFFFFFFFF
    wire.begin(_reading(wire, kind))
    assert list(pending) == [(wire.scene.handle, 1)]
    wire.client.last_request = 0
    wire.begin(_reading(wire, kind))
    assert (wire.scene.handle, 2) in pending


V4 = "CMQQP-3.2.4.2-5 CMQQP-3.2.4.3-5 CMQQP-3.2.4.5-5 CMQQP-3.2.4.6-5"
V5_0 = "CMQQP-3.2.4.2-6 CMQQP-3.2.4.3-6 CMQQP-3.2.4.5-6 CMQQP-3.2.4.6-6"
V5_1 = "CMQQP-3.2.4.2-7 CMQQP-3.2.4.3-7 CMQQP-3.2.4.5-7 CMQQP-3.2.4.6-7"
V6 = "CMQQP-3.2.4.2-8 CMQQP-3.2.4.3-8 CMQQP-3.2.4.5-8 CMQQP-3.2.4.6-8"


@every_read
@rule_table(
    "version, start",
    (V4, (4, 9, 9999), _START),
    (V5_0, (5, 0, 9999), _START),
    (V5_1, (5, 1, 950), _START),
    ("", (5, 1, 951), _START2),
    ("", (5, 2, 0), _START2),
    (V6, (6, 0, 0), _START2),
)
@pytest.mark.rule("CMQQP-3.2.4.2-4", "CMQQP-3.2.4.3-4", "CMQQP-3.2.4.5-4", "CMQQP-3.2.4.6-4")
def test_the_version_of_the_server_chooses_the_method(
    wire: Wire, kind: str, version: tuple[int, int, int], start: str
) -> None:
    major, minor, build = version
    reported = qm2qm.RemoteQmGetVersionResponse(p_major=major, p_minor=minor, p_build_number=build)
    wire.faults = {_VERSION: CallResult(response=reported)}
    wire.begin(_reading(wire, kind))
    assert wire.methods == [_VERSION, start]


@every_read
@pytest.mark.rule("CMQQP-3.2.4.2-9", "CMQQP-3.2.4.3-9", "CMQQP-3.2.4.5-9", "CMQQP-3.2.4.6-9")
def test_a_server_without_a_version_is_an_old_one(wire: Wire, kind: str) -> None:
    wire.faults = {_VERSION: _NOT_THERE}
    wire.begin(_reading(wire, kind))
    assert wire.methods == [_VERSION, _START]
    never = _wire(ask_version=False)
    never.begin(_reading(never, "receive"))
    assert never.methods == [_START]


@rule_table(
    "kind, action, cursor",
    ("CMQQP-3.2.4.2-12 CMQQP-3.2.4.2-14", "peek", PEEK, False),
    ("CMQQP-3.2.4.3-12 CMQQP-3.2.4.3-14", "receive", RECEIVE, False),
    ("CMQQP-3.2.4.5-12 CMQQP-3.2.4.5-14", "peek by cursor", PEEK, True),
    ("CMQQP-3.2.4.6-12 CMQQP-3.2.4.6-14", "receive by cursor", RECEIVE, True),
)
@pytest.mark.rule("CMQQP-3.2.4.2-10", "CMQQP-3.2.4.2-11", "CMQQP-3.2.4.2-13", "CMQQP-3.2.4.2-15")
@pytest.mark.rule("CMQQP-3.2.4.2-16", "CMQQP-3.2.4.2-17", "CMQQP-3.2.4.3-10", "CMQQP-3.2.4.3-11")
@pytest.mark.rule("CMQQP-3.2.4.3-13", "CMQQP-3.2.4.3-15", "CMQQP-3.2.4.3-16", "CMQQP-3.2.4.3-17")
@pytest.mark.rule("CMQQP-3.2.4.5-10", "CMQQP-3.2.4.5-11", "CMQQP-3.2.4.5-13", "CMQQP-3.2.4.5-15")
@pytest.mark.rule("CMQQP-3.2.4.5-16", "CMQQP-3.2.4.5-17", "CMQQP-3.2.4.6-10", "CMQQP-3.2.4.6-11")
@pytest.mark.rule("CMQQP-3.2.4.6-13", "CMQQP-3.2.4.6-15", "CMQQP-3.2.4.6-16", "CMQQP-3.2.4.6-17")
@pytest.mark.rule("CMQQP-2.2.2.1-1", "CMQQP-2.2.2.1-2", "CMQQP-2.2.2.1-3", "CMQQP-2.2.2.1-5")
@pytest.mark.rule("CMQQP-2.2.2.1-6", "CMQQP-2.2.2.1-7", "CMQQP-2.2.2.1-11", "CMQQP-3.1.4.1-5")
@pytest.mark.rule("CMQQP-3.1.4.10-1", "CMQQP-3.1.4.10-2")
def test_a_start_is_filled_in_as_the_read_wants_it(
    wire: Wire, kind: str, action: int, cursor: bool, second: bool
) -> None:
    wire.client.remote_open_queue_entry_collection[wire.scene.handle].queue_descriptor = 4711
    wire.silent = True
    wire.begin(_reading(wire, kind))
    ((_, request_id),) = wire.pending
    expected = RemoteReadDesc(
        h_remote_queue=wire.scene.handle,
        h_cursor=next(iter(wire.scene.manager.cursors)) if cursor else 0,
        ul_action=action,
        ul_timeout=1500,
        dw_size=0,
        dw_queue=4711,
        dw_request_id=request_id,
        reserved=0,
        lp_buffer=None,
    )
    assert _sent(wire) == expected
    if second:
        assert wire.requests(_START2)[0].lp_remote_read_desc2.sequential_id == 0


@pytest.mark.rule("CMQQP-2.2.2.1-4")
def test_a_read_that_waits_without_an_end_says_so(wire: Wire) -> None:
    wire.begin(wire.client.receive(wire.scene.handle, 0xFFFFFFFF))
    assert _sent(wire).ul_timeout == 0xFFFFFFFF
    assert wire.scene.manager.timers.running == 0


@pytest.mark.rule("CMQQP-3.1.4.1-6", "CMQQP-3.1.4.10-3", "CMQQP-3.2.4.5-14")
def test_the_next_message_is_asked_for_with_a_cursor(wire: Wire) -> None:
    cursor = wire.scene.cursor().handle
    put(wire.scene.queue, b"a")
    put(wire.scene.queue, b"b")
    wire.run(wire.client.peek_by_cursor(wire.scene.handle, cursor, 0))
    wire.steps.clear()
    result = wire.run(wire.client.peek_by_cursor(wire.scene.handle, cursor, 0, next_one=True))
    assert (_sent(wire).ul_action, _sent(wire).h_cursor) == (PEEK_NEXT, cursor)
    assert result.message is not None
    assert result.message.label == "b"


@pytest.mark.parametrize("kind", ["peek", "peek by cursor"])
@pytest.mark.rule("CMQQP-3.2.4.2-18", "CMQQP-3.2.4.2-19", "CMQQP-3.2.4.2-20", "CMQQP-3.2.4.2-21")
@pytest.mark.rule("CMQQP-3.2.4.5-18", "CMQQP-3.2.4.5-19", "CMQQP-3.2.4.5-20", "CMQQP-3.2.4.5-21")
@pytest.mark.rule("CMQQP-3.1.4.1-7", "CMQQP-3.1.4.10-4", "CMQQP-2.2.2.1-10")
def test_a_peek_rebuilds_the_message_and_ends_nothing(wire: Wire, kind: str, second: bool) -> None:
    message = put(wire.scene.queue, b"m", priority=5)
    result = wire.run(_reading(wire, kind))
    assert wire.methods == [_VERSION, _START2 if second else _START]
    assert result.status == Status.MQ_OK
    assert result.message is not None
    rebuilt = result.message
    assert (rebuilt.packet, rebuilt.label, rebuilt.priority) == (message.packet, "m", 5)
    assert (result.arrival_time, rebuilt.arrival_time) == (message.arrival_time, message.arrival_time)
    assert result.sequential_id == (message.lookup_identifier if second else None)
    assert wire.pending == {}
    assert states(wire.scene.queue) == ["Available"]


@pytest.mark.parametrize("kind", ["receive", "receive by cursor"])
@pytest.mark.rule("CMQQP-3.2.4.3-18", "CMQQP-3.2.4.3-19", "CMQQP-3.2.4.3-20", "CMQQP-3.2.4.3-21")
@pytest.mark.rule("CMQQP-3.2.4.3-22", "CMQQP-3.2.4.6-18", "CMQQP-3.2.4.6-19", "CMQQP-3.2.4.6-20")
@pytest.mark.rule("CMQQP-3.2.4.6-21", "CMQQP-3.2.4.6-22", "CMQQP-3.1.4.1-1", "CMQQP-3.1.4.1-2")
@pytest.mark.rule("CMQQP-3.1.4.2-1", "CMQQP-3.1.4.2-2", "CMQQP-3.1.4.2-3", "CMQQP-2.2.1-2")
def test_a_receive_rebuilds_the_message_and_acknowledges_it(wire: Wire, kind: str, second: bool) -> None:
    message = put(wire.scene.queue, b"m")
    result = wire.run(_reading(wire, kind))
    assert wire.methods == [_VERSION, _START2 if second else _START, _END]
    assert result.status == Status.MQ_OK
    assert result.message is not None
    assert result.message.packet == message.packet
    assert wire.requests(_END)[0].dw_ack == 2
    assert labels(wire.scene.queue) == []
    assert wire.pending == {}


@pytest.mark.parametrize("kind", ["receive", "receive by cursor"])
@pytest.mark.parametrize("packet", [None, b"no packet"])
@pytest.mark.rule("CMQQP-3.2.4.3-21", "CMQQP-3.2.4.6-21", "CMQQP-3.1.4.2-4")
def test_a_message_that_is_not_taken_over_goes_back(kind: str, packet: bytes | None) -> None:
    wire = _wire(keep=lambda message: packet is not None)
    put(wire.scene.queue, b"m", packet=packet)
    result = wire.run(_reading(wire, kind))
    assert wire.requests(_END)[0].dw_ack == 1
    assert (result.status, result.message) == (Status.MQ_ERROR, None)
    assert states(wire.scene.queue) == ["Available"]


def test_a_message_whose_acknowledgment_fails_is_not_taken(wire: Wire) -> None:
    put(wire.scene.queue, b"m")
    wire.faults = {_END: CallResult(fault=5)}
    result = wire.run(wire.client.receive(wire.scene.handle, 0))
    assert (result.status, result.message) == (5, None)


@every_read
@pytest.mark.rule("CMQQP-3.2.4.2-22", "CMQQP-3.2.4.3-23", "CMQQP-3.2.4.5-22", "CMQQP-3.2.4.6-23")
@pytest.mark.rule("CMQQP-3.2.4.2-21", "CMQQP-3.2.4.3-22", "CMQQP-3.2.4.5-21", "CMQQP-3.2.4.6-22")
@pytest.mark.rule("CMQQP-3.1.4.1-7", "CMQQP-3.1.4.10-4")
def test_a_read_that_fails_or_is_cancelled_ends_nothing(wire: Wire, kind: str) -> None:
    read = wire.begin(_reading(wire, kind))
    pass_time(wire.scene.manager, 1500)
    read.go_on()
    assert [result.status for result in read.results] == [Status.MQ_ERROR_IO_TIMEOUT]
    assert _END not in wire.methods
    assert wire.pending == {}
    wire.faults = {_START2: CallResult(fault=5)}
    assert wire.run(_reading(wire, kind)) == ReadResult(status=5)
    assert _END not in wire.methods
    assert wire.pending == {}


# Lookup identifiers


@pytest.mark.rule("CMQQP-3.1.4.11-1", "CMQQP-3.1.4.11-2", "CMQQP-3.1.4.11-3", "CMQQP-3.1.4.11-4")
@pytest.mark.parametrize("action", list(ReceiveAction)[3:])
def test_a_lookup_has_neither_cursor_nor_time(wire: Wire, action: ReceiveAction) -> None:
    messages = [put(wire.scene.queue, body) for body in (b"a", b"b", b"c")]
    received = action >= ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT
    result = wire.run(
        wire.client.read_by_lookup_identifier(wire.scene.handle, messages[1].lookup_identifier, action)
    )
    assert result.status == Status.MQ_OK
    assert wire.methods == ([_LOOKUP, _END] if received else [_LOOKUP])
    (request,) = wire.requests(_LOOKUP)
    sent = request.lp_remote_read_desc2.p_remote_read_desc
    assert (sent.h_cursor, sent.ul_timeout, sent.ul_action) == (0, 0, action)
    assert (sent.h_remote_queue, sent.dw_queue) == (wire.scene.handle, wire.scene.handle)
    assert len(labels(wire.scene.queue)) == (2 if received else 3)


@pytest.mark.rule("CMQQP-3.1.4.11-2", "CMQQP-3.1.4.11-5")
def test_a_lookup_that_no_server_may_answer_is_not_asked_for(wire: Wire) -> None:
    current, previous = ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT, ReceiveAction.MQ_LOOKUP_PEEK_PREV
    wrong = [(0, current), (0, previous), (1, RECEIVE), (1, PEEK), (1, PEEK_NEXT)]
    for lookup_id, action in wrong:
        result = wire.run(wire.client.read_by_lookup_identifier(wire.scene.handle, lookup_id, action))
        assert result.status == Status.MQ_ERROR_INVALID_PARAMETER
    assert wire.steps == []


@pytest.mark.rule("CMQQP-3.1.4.11-6")
def test_a_lookup_that_fails_ends_nothing(wire: Wire) -> None:
    result = wire.run(wire.client.read_by_lookup_identifier(wire.scene.handle, 4711))
    assert result.status == Status.MQ_ERROR_MESSAGE_NOT_FOUND
    assert wire.methods == [_LOOKUP]
    assert wire.pending == {}


# Purge, cancel, close


@pytest.mark.rule("CMQQP-3.2.4.4-1", "CMQQP-3.1.4.7-1", "CMQQP-3.1.4.7-2")
def test_a_purge_names_the_queue(wire: Wire) -> None:
    put(wire.scene.queue, b"m")
    assert wire.run(wire.client.purge(wire.scene.handle)) == Status.MQ_OK
    assert wire.steps == [(_PURGE, qm2qm.RemoteQMPurgeQueueRequest(h_queue=wire.scene.handle))]
    assert labels(wire.scene.queue) == []


@pytest.mark.rule("CMQQP-3.1.4.3-1", "CMQQP-3.1.4.1-1", "CMQQP-3.1.4.2-1", "CMQQP-3.1.4.6-1")
@pytest.mark.rule("CMQQP-3.1.4.7-1")
def test_nothing_is_called_for_a_queue_that_is_not_open() -> None:
    wire = Wire(Scene(opened=False))
    client, handle = wire.client, wire.scene.handle
    reads = [client.receive(handle, 0), client.peek(handle, 0), client.read_by_lookup_identifier(handle, 1)]
    others: list[Steps] = [
        client.purge(handle),
        client.cancel(handle, 1),
        client.close_cursor(handle, 1),
        client.close_queue(handle),
    ]
    assert {wire.run(one).status for one in reads} == {Status.MQ_ERROR_INVALID_HANDLE}
    assert {wire.run(one) for one in others} == {Status.MQ_ERROR_INVALID_HANDLE}
    assert wire.steps == []


@every_read
@pytest.mark.rule("CMQQP-3.2.4.7-1", "CMQQP-3.2.4.7-2", "CMQQP-3.2.4.7-3", "CMQQP-3.2.4.7-4")
@pytest.mark.rule("CMQQP-3.2.4.7-5", "CMQQP-3.1.4.1-3", "CMQQP-3.1.4.1-4", "CMQQP-3.1.4.6-1")
def test_a_cancel_names_the_read_and_forgets_it(wire: Wire, kind: str) -> None:
    read = wire.begin(_reading(wire, kind))
    ((handle, request_id),) = wire.pending
    wire.steps.clear()
    assert wire.run(wire.client.cancel(handle, request_id)) == Status.MQ_OK
    assert wire.steps == [
        (
            _CANCEL,
            qm2qm.RemoteQMCancelReceiveRequest(h_queue=handle, p_queue=handle, dw_request_id=request_id),
        )
    ]
    assert wire.pending == {}
    read.go_on()
    assert read.results == [ReadResult(status=Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT)]
    assert _END not in wire.methods
    assert wire.run(wire.client.cancel(handle, request_id)) == Status.MQ_ERROR_INVALID_HANDLE


@pytest.mark.rule("CMQQP-3.2.4.7-6")
def test_a_cancel_that_comes_too_late_puts_the_message_back(wire: Wire) -> None:
    read = wire.begin(wire.client.receive(wire.scene.handle, 1500))
    ((handle, request_id),) = wire.pending
    put(wire.scene.queue, b"m")
    assert wire.run(wire.client.cancel(handle, request_id)) == Status.MQ_ERROR_INVALID_HANDLE
    read.go_on()
    assert wire.requests(_END)[0].dw_ack == 1
    assert read.results == [ReadResult(status=Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT)]
    assert states(wire.scene.queue) == ["Available"]


@pytest.mark.rule("CMQQP-3.2.4.8-1", "CMQQP-3.2.4.8-2", "CMQQP-3.1.4.5-1")
def test_a_cursor_is_closed_by_its_queue_and_number(wire: Wire) -> None:
    cursor = wire.scene.cursor().handle
    assert wire.run(wire.client.close_cursor(wire.scene.handle, cursor)) == Status.MQ_OK
    request = qm2qm.RemoteQMCloseCursorRequest(h_queue=wire.scene.handle, h_cursor=cursor)
    assert wire.steps == [(_CLOSE_CURSOR, request)]
    assert wire.scene.manager.cursors == {}


@pytest.mark.rule("CMQQP-3.2.4.9-1", "CMQQP-3.2.4.9-2", "CMQQP-3.2.4.9-3", "CMQQP-3.2.4.9-4")
@pytest.mark.rule("CMQQP-3.2.4.9-5", "CMQQP-3.1.4.4-1", "CMQQP-3.2.4.1-5")
def test_closing_cancels_what_is_pending_closes_once_and_gives_up_the_binding(wire: Wire) -> None:
    handle = wire.scene.handle
    reads = [wire.begin(wire.client.receive(handle, 1500)) for _ in range(2)]
    wire.steps.clear()
    assert wire.run(wire.client.close_queue(handle)) == Status.MQ_OK
    assert wire.methods == [_CANCEL, _CANCEL, _CLOSE, UNBIND]
    assert wire.requests(UNBIND) == [2105]
    assert wire.client.remote_open_queue_entry_collection == {}
    assert wire.scene.client.association.handles == {}
    for read in reads:
        read.go_on()
    assert [read.results[0].status for read in reads] == [Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT] * 2
    assert wire.run(wire.client.close_queue(handle)) == Status.MQ_ERROR_INVALID_HANDLE


def test_a_read_that_is_given_up_is_not_pending(wire: Wire) -> None:
    read = wire.begin(wire.client.receive(wire.scene.handle, 1500))
    read.steps.close()
    assert wire.pending == {}


def test_a_client_reads_from_a_server_of_windows_2000() -> None:
    wire = _wire(Scene(opened=False, configuration=Qm2qmConfiguration(version=(5, 0, 2195))))
    put(wire.scene.queue, b"m")
    result = wire.run(wire.client.receive(wire.scene.handle, 0))
    assert result.status == Status.MQ_OK
    assert wire.methods == [_VERSION, _START, _END]
    assert wire.run(wire.client.close_queue(wire.scene.handle)) == Status.MQ_OK
