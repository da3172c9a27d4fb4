"""The client of qmcomm against servers in memory: ports, settings, queues as objects. [MS-MQMP] 3.2.4"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from msmq_wire.errors import FormatNameError
from msmq_wire.lab.model.data.queue_attributes import get_property
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.client.client import QmcommClient
from msmq_wire.lab.model.qmcomm.client.planned_calls import Endpoint, Result, Steps
from msmq_wire.rpc.interfaces.qmcomm import INTERFACE
from msmq_wire.rpc.interfaces.qmcomm_objects import GetObjectSecurityResponse
from msmq_wire.rpc.interfaces.qmcomm_queues import QueryRegistryResponse
from msmq_wire.rpc.interfaces.shared_parameters import PortResponse
from msmq_wire.rpc.properties import QUEUE_ATTRIBUTES
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.security_descriptor import SecurityDescriptor
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.client_scene import (
    FAILURES,
    FAR,
    HANDLE,
    NOT_THERE,
    OK,
    ORDERS,
    SEND,
    World,
    message,
    new_client,
)
from tests.lab.model.scene import pass_time

PATHNAME, JOURNALING, QUOTA, LABEL, CREATE_TIME, TRANSACTIONAL = 103, 104, 105, 108, 109, 113
VT_NULL, VT_UI1, VT_UI4, VT_LPWSTR = 1, 17, 19, 31
NEW = "host\\private$\\new"
ALL_PARTS = 0x0F
FOR_LOCAL_USE = {0, 5, 13, 21, 24, 25, 29, 30, 32, 33, 34}
# A descriptor in self-relative form: revision 1, SE_SELF_RELATIVE, owner S-1-5-18 behind the 20 bytes.
SECURITY = bytes.fromhex(
    "01000080 14000000 00000000 00000000 00000000 010100000000000512000000".replace(" ", "")
)


@pytest.fixture
def world() -> World:
    return World()


def label(text: str) -> PropVariant:
    return PropVariant(vt=VT_LPWSTR, arm=WcharText.of(text))


def object_name(world: World, method: str) -> QueueFormat:
    """The QUEUE_FORMAT of the OBJECT_FORMAT that was sent, which is one of a queue."""
    sent = world.request(method).p_object_format
    assert sent.obj_type == 0x00000001
    assert isinstance(sent.arm, QueueFormat)
    return sent.arm


@pytest.mark.rule("CMQMP-3.2.4-1", "CMQMP-3.2.4-2", "CMQMP-3.1.4.24-1")
def test_calls_go_to_the_port_that_the_server_named(world: World) -> None:
    assert world.run(world.client.delete_queue(ORDERS)) == OK
    assert world.endpoint("R_QMDeleteObject") == Endpoint(computer="host")
    assert world.run(world.client.get_server_port()) == 2103
    assert world.request("R_QMGetRTQMServerPort").f_ip == 0
    assert world.endpoint("R_QMGetRTQMServerPort") == Endpoint(computer="host")
    assert world.run(world.client.create_queue(NEW)) == OK
    assert world.endpoint("R_QMCreateObjectInternal") == Endpoint(computer="host", port=2103)


@pytest.mark.rule("CMQMP-3.1.4.24-1")
def test_only_the_handshake_port_is_one_for_calls(world: World) -> None:
    assert world.run(world.client.get_server_port(1)) == 2105
    assert world.client.endpoint == Endpoint(computer="host")
    with pytest.raises(ValueError, match="4"):
        world.run(world.client.get_server_port(4))


def test_a_queue_is_used_where_it_was_opened(world: World) -> None:
    queue = world.open()
    assert world.run(world.client.get_server_port()) == 2103
    assert world.run(world.client.purge(queue)) == OK
    assert world.endpoint("rpc_ACPurgeQueue") == Endpoint(computer="host")


@pytest.mark.rule("CMQMP-3.1.4.24-2")
@pytest.mark.parametrize(
    "answer", [CallResult(PortResponse()), NOT_THERE, CallResult(PortResponse(return_value=0x10000))]
)
def test_no_port_leaves_the_client_where_it_was(world: World, answer: CallResult) -> None:
    world.answers["R_QMGetRTQMServerPort"] = answer
    assert world.run(world.client.get_server_port()) == 0
    assert world.client.endpoint == Endpoint(computer="host")


QUESTIONS = ["R_QMQueryQMRegistryInternal"] * 5
FIRST_CALLS: dict[str, Callable[[QmcommClient], Steps[Any]]] = {
    "R_QMCreateObjectInternal": lambda client: client.create_queue(NEW),
    "R_QMDeleteObject": lambda client: client.delete_queue(ORDERS),
    "R_QMSetObjectSecurityInternal": lambda client: client.set_security(ORDERS, 1, SECURITY),
    "R_QMGetObjectSecurityInternal": lambda client: client.get_security(ORDERS, 1, 1000),
    "R_QMSetObjectProperties": lambda client: client.set_properties(ORDERS, {LABEL: label("x")}),
    "R_QMGetObjectProperties": lambda client: client.get_properties(ORDERS, [LABEL]),
    "R_QMObjectPathToObjectFormat": lambda client: client.path_to_format_name("host\\private$\\orders"),
    "rpc_QMOpenQueueInternal": lambda client: client.open_queue(ORDERS),
    "R_QMGetTmWhereabouts": lambda client: client.get_tm_whereabouts(1000),
    "R_QMEnlistTransaction": lambda client: client.enlist_transaction(GUID(b"an external one."), b"cookie"),
    "R_QMEnlistInternalTransaction": lambda client: client.begin_transaction(),
}


CALLS = FIRST_CALLS | {"R_QMQueryQMRegistryInternal": lambda client: client.query_registry(3)}
OUT_PARAMETERS: dict[str, dict[str, Any]] = {
    "R_QMGetObjectSecurityInternal": {"p_security_descriptor": SECURITY, "lpn_length_needed": 32},
    "R_QMGetObjectProperties": {"ap_var": (label("secret"),)},
    "rpc_QMOpenQueueInternal": {
        "ph_queue": HANDLE,
        "pdw_qm_context": 5,
        "lplp_remote_queue_name": WcharText.of("elsewhere\\private$\\far"),
    },
    "R_QMGetTmWhereabouts": {"pb_whereabouts": b"secret", "pcb_whereabouts": 6},
    "R_QMEnlistInternalTransaction": {"ph_int_xact": HANDLE},
    "R_QMQueryQMRegistryInternal": {"lplp_mqis_server": WcharText.of("secret")},
}


@pytest.mark.rule("CMQMP-3.1.4.23-2", "CMQMP-3.1.4.9-2", "CMQMP-3.1.4.10-2", "CMQMP-3.1.4.6-1")
@pytest.mark.rule("CMQMP-3.1.4.8-1", "CMQMP-3.1.4.7-1", "CMQMP-3.1.4.7-2", "CMQMP-3.1.4.11-2")
@pytest.mark.rule("CMQMP-3.1.4.12-2", "CMQMP-3.1.4.13-2", "CMQMP-3.1.4.14-1", "CMQMP-3.1.4.17-5")
@pytest.mark.rule("CMQMP-3.2.4.7-10")
@pytest.mark.parametrize("fault", [False, True])
@pytest.mark.parametrize("status", [*FAILURES, 5, 0xC00E0025, NOT_THERE.fault])
@pytest.mark.parametrize("method", CALLS)
def test_all_failures_mean_the_same_and_nothing_is_read_from_them(
    world: World, method: str, status: int, fault: bool
) -> None:
    if fault:
        world.answers[method] = CallResult(fault=status)
    else:
        world.fails(method, status, **OUT_PARAMETERS.get(method, {}))
    assert world.run(CALLS[method](world.client)) in (status, Result(status=status))
    assert (world.names, world.client.queues, world.client.transactions) == ([method], [], [])


@pytest.mark.rule("CMQMP-3.2.4.4-5")
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("R_QMQueryQMRegistryInternal", {}),
        ("R_QMGetObjectProperties", {}),
        ("R_QMGetObjectSecurityInternal", {"p_security_descriptor": SECURITY, "lpn_length_needed": 33}),
        ("R_QMObjectPathToObjectFormat", {}),
        ("rpc_QMOpenQueueInternal", {"pdw_qm_context": 5}),
        ("R_QMEnlistInternalTransaction", {}),
        ("R_QMGetTmWhereabouts", {"pcb_whereabouts": 1}),
    ],
)
def test_a_success_without_its_whole_value_is_a_failure(
    world: World, method: str, parameters: dict[str, Any]
) -> None:
    world.fails(method, OK, **parameters)
    assert world.run(CALLS[method](world.client)).status == Status.MQ_ERROR


@pytest.mark.rule("CMQMP-3.2.4-3")
@pytest.mark.parametrize("method", FIRST_CALLS)
def test_before_its_first_operation_a_client_asks_for_every_setting_once(method: str) -> None:
    world = World(client=new_client())
    world.run(FIRST_CALLS[method](world.client))
    assert world.names == [*QUESTIONS, method]
    assert [step.request.dw_query_type for step in world.log[:5]] == [0, 1, 2, 3, 4]
    world.run(world.client.delete_queue(FAR))
    assert world.names[6:] == ["R_QMDeleteObject"]
    assert dict(world.client.settings) == {
        0: "",
        1: "345600",
        2: "66666666-6666-6666-6666-666666666666",
        3: "6.1.7601",
        4: "20656874-6d71-6820-6f73-742020202020",
    }


@pytest.mark.rule("CMQMP-3.2.4-2", "CMQMP-3.2.4-3")
def test_settings_are_asked_for_at_the_port_that_the_server_named() -> None:
    world = World(client=new_client())
    world.run(world.client.get_server_port())
    assert world.names == ["R_QMGetRTQMServerPort"]
    world.open()
    assert {step.endpoint.port for step in world.log[1:]} == {2103}


@pytest.mark.rule("CMQMP-3.2.4-3", "CMQMP-3.1.4.23-2")
@pytest.mark.parametrize("answer", [NOT_THERE, CallResult(QueryRegistryResponse(status=Status.MQ_ERROR))])
def test_an_operation_goes_on_without_the_settings_that_were_not_told(answer: CallResult) -> None:
    world = World(client=new_client())
    world.answers["R_QMQueryQMRegistryInternal"] = answer
    world.open()
    assert (world.client.settings, world.client.default_time_to_reach_queue) == ({}, None)
    world.open()
    assert world.names.count("R_QMQueryQMRegistryInternal") == len(QUESTIONS)


@pytest.mark.rule("CMQMP-3.2.4-3", "CMQMP-3.1.4.23-1")
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (0, ""),
        (1, "345600"),
        (2, "66666666-6666-6666-6666-666666666666"),
        (3, "6.1.7601"),
        (4, "20656874-6d71-6820-6f73-742020202020"),
    ],
)
def test_the_server_tells_its_settings(world: World, kind: int, text: str) -> None:
    assert world.good(world.client.query_registry(kind)) == text
    assert world.request("R_QMQueryQMRegistryInternal").dw_query_type == kind


@pytest.mark.rule("CMQMP-3.1.4.23-1")
@pytest.mark.parametrize("kind", [-1, 5])
def test_a_setting_that_does_not_exist_is_not_asked_for(world: World, kind: int) -> None:
    with pytest.raises(ValueError, match="not a valid"):
        world.run(world.client.query_registry(kind))
    assert world.log == []


@pytest.mark.rule("CMQMP-3.2.4.1-1", "CMQMP-3.2.4.1-2", "CMQMP-3.2.4.1-5")
def test_a_queue_without_properties_is_created_by_its_path_name(world: World) -> None:
    assert world.run(world.client.create_queue(NEW)) == OK
    request = world.request("R_QMCreateObjectInternal")
    assert request.dw_object_type == 1
    assert bytes(request.lpwcs_path_name) == b"h\0o\0s\0t\0\\\0p\0r\0i\0v\0a\0t\0e\0$\0\\\0n\0e\0w\0\0\0"
    assert (request.cp, request.a_prop) == (1, (PATHNAME,))
    assert request.ap_var == (label(NEW),)
    assert (request.sd_size, request.p_security_descriptor) == (0, None)


@pytest.mark.rule("CMQMP-3.2.4.1-3", "CMQMP-3.2.4.1-4", "CMQMP-3.1.1.12-1")
def test_a_queue_is_created_with_its_properties_and_security(world: World) -> None:
    properties = {LABEL: label("new"), TRANSACTIONAL: PropVariant(vt=VT_UI1, arm=1)}
    assert world.run(world.client.create_queue(NEW, properties, SECURITY)) == OK
    request = world.request("R_QMCreateObjectInternal")
    assert (request.sd_size, request.p_security_descriptor) == (32, SECURITY)
    assert (request.cp, request.a_prop) == (2, (LABEL, TRANSACTIONAL))
    made = next(one for key, one in world.host.manager.queue_collection.items() if "new" in key.lower())
    assert (made.label, made.transactional) == ("new", True)
    assert SecurityDescriptor.parse(made.security).owner == SECURITY[20:]


@pytest.mark.rule("CMQMP-3.2.4.1-6")
def test_a_new_queue_is_opened_before_it_is_used(world: World) -> None:
    assert world.run(world.client.create_queue(NEW)) == OK
    name = world.good(world.client.path_to_format_name(NEW))
    assert world.client.queues == []
    queue = world.open(name, SEND)
    world.good(world.client.send(queue, message(b"first")))
    assert world.names[-2:] == ["rpc_QMOpenQueueInternal", "rpc_ACSendMessageEx"]


@pytest.mark.rule("CMQMP-3.1.4.5-1", "CMQMP-3.1.4.5-2")
def test_a_queue_that_is_there_already_may_be_good_enough(world: World) -> None:
    create = world.client.create_queue
    assert world.run(create("host\\private$\\orders")) == Status.MQ_ERROR_QUEUE_EXISTS
    assert world.run(create("host\\private$\\orders", exists_ok=True)) == OK
    for status in FAILURES:
        world.fails("R_QMCreateObjectInternal", status)
        assert world.run(create(NEW, exists_ok=True)) == status


@pytest.mark.rule("CMQMP-3.1.1.12-1", "CMQMP-3.2.4.1-4", "CMQMP-3.2.4.5-3", "CMQMP-3.2.4.6-4")
@pytest.mark.parametrize("propid", [*range(100, 128), 1, 1101])
def test_properties_are_named_only_where_they_apply(world: World, propid: int) -> None:
    row = QUEUE_ATTRIBUTES.get(propid)
    queue = world.orders
    value = PropVariant(vt=VT_UI4) if row is None else get_property(queue, propid)
    client = world.client
    tries: tuple[tuple[bool, Steps[Any], str], ...] = (
        (bool(row and row.create), client.create_queue(NEW, {propid: value}), "R_QMCreateObjectInternal"),
        (bool(row and row.set), client.set_properties(ORDERS, {propid: value}), "R_QMSetObjectProperties"),
        (bool(row and row.get), client.get_properties(ORDERS, [propid]), "R_QMGetObjectProperties"),
    )
    for applies, steps, name in tries:
        if applies:
            world.run(steps)
            assert world.request(name).a_prop == (propid,)
        else:
            with pytest.raises(ValueError, match="needs properties"):
                world.run(steps)
            assert name not in world.names


@pytest.mark.rule("CMQMP-3.1.4.10-1")
def test_a_value_of_another_type_is_not_sent(world: World) -> None:
    with pytest.raises(ValueError, match="values of their types"):
        world.run(world.client.set_properties(ORDERS, {LABEL: PropVariant(vt=VT_UI4, arm=1)}))
    with pytest.raises(ValueError, match="values of their types"):
        world.run(world.client.set_properties(ORDERS, {LABEL: PropVariant(vt=VT_NULL)}))
    assert world.log == []
    assert world.run(world.client.set_properties(ORDERS, {QUOTA: PropVariant(vt=VT_UI4, arm=9)})) == OK
    assert world.orders.quota == 9


def test_a_value_that_a_queue_may_not_have_is_for_the_server_to_refuse(world: World) -> None:
    steps = world.client.set_properties(ORDERS, {JOURNALING: PropVariant(vt=VT_UI1, arm=7)})
    assert world.run(steps) == Status.MQ_ERROR_ILLEGAL_PROPERTY_VALUE


def test_a_call_names_from_1_to_128_properties(world: World) -> None:
    with pytest.raises(ValueError, match="1 to 128"):
        world.run(world.client.set_properties(ORDERS, {}))
    with pytest.raises(ValueError, match="1 to 128"):
        world.run(world.client.get_properties(ORDERS, [LABEL] * 129))


@pytest.mark.rule("CMQMP-3.2.4.5-1", "CMQMP-3.2.4.5-2", "CMQMP-3.2.4.5-3", "CMQMP-2.2.3.5-1")
@pytest.mark.rule("CMQMP-2.2.3.5-2")
def test_properties_are_changed(world: World) -> None:
    assert world.run(world.client.set_properties(ORDERS, {LABEL: label("changed")})) == OK
    request = world.request("R_QMSetObjectProperties")
    assert str(object_name(world, "R_QMSetObjectProperties").format_name) == ORDERS
    assert (request.cp, request.a_prop, request.ap_var) == (1, (LABEL,), (label("changed"),))
    assert world.orders.label == "changed"


@pytest.mark.rule("CMQMP-3.2.4.6-1", "CMQMP-3.2.4.6-2", "CMQMP-3.2.4.6-3", "CMQMP-3.2.4.6-4")
@pytest.mark.rule("CMQMP-3.2.4.6-5", "CMQMP-3.1.4.9-1")
def test_properties_are_read_into_room_of_any_type(world: World) -> None:
    world.orders.label = "orders"
    found = world.good(world.client.get_properties(ORDERS, [LABEL, CREATE_TIME, TRANSACTIONAL]))
    assert found == {
        LABEL: label("orders"),
        CREATE_TIME: PropVariant(vt=3, arm=1_700_000_000),
        TRANSACTIONAL: PropVariant(vt=VT_UI1, arm=0),
    }
    request = world.request("R_QMGetObjectProperties")
    assert (request.cp, request.a_prop) == (3, (LABEL, CREATE_TIME, TRANSACTIONAL))
    assert request.ap_var == (PropVariant(vt=VT_NULL),) * 3
    assert str(object_name(world, "R_QMGetObjectProperties").format_name) == ORDERS


@pytest.mark.parametrize("status", FAILURES)
def test_a_queue_that_could_not_be_deleted_is_open(world: World, status: int) -> None:
    queue = world.open()
    world.fails("R_QMDeleteObject", status)
    assert (world.run(world.client.delete_queue(ORDERS)), queue.deleted) == (status, False)


@pytest.mark.rule("CMQMP-3.2.4.2-1", "CMQMP-3.2.4.2-2", "CMQMP-2.2.3.5-1", "CMQMP-2.2.3.5-2")
def test_a_queue_is_deleted_by_a_private_or_a_direct_name(world: World) -> None:
    assert world.run(world.client.create_queue(NEW)) == OK
    private = world.good(world.client.path_to_format_name(NEW))
    assert private.startswith("PRIVATE=")
    for name in (private, ORDERS):
        assert world.run(world.client.delete_queue(name)) == OK
        assert str(object_name(world, "R_QMDeleteObject").format_name) == name
    assert not any("orders" in key.lower() for key in world.host.manager.queue_collection)


@pytest.mark.rule("CMQMP-3.2.4.2-1", "CMQMP-3.2.4.3-1", "CMQMP-3.2.4.4-1", "CMQMP-3.2.4.5-1")
@pytest.mark.rule("CMQMP-3.2.4.6-1")
@pytest.mark.parametrize(
    "name", ["PUBLIC=00000000-0000-0000-0000-000000000001", "MULTICAST=1.2.3.4:5", "nonsense"]
)
def test_other_names_are_refused_before_a_call(world: World, name: str) -> None:
    client = world.client
    tries: tuple[Callable[[], Steps[Any]], ...] = (
        lambda: client.delete_queue(name),
        lambda: client.set_security(name, 1, SECURITY),
        lambda: client.get_security(name, 1),
        lambda: client.set_properties(name, {LABEL: label("x")}),
        lambda: client.get_properties(name, [LABEL]),
    )
    for begin in tries:
        with pytest.raises(FormatNameError if name == "nonsense" else ValueError):
            world.run(begin())
    assert world.log == []


@pytest.mark.rule("CMQMP-3.2.4.3-1", "CMQMP-3.2.4.3-2", "CMQMP-3.2.4.3-3", "CMQMP-3.2.4.3-4")
def test_security_is_exchanged_in_self_relative_form(world: World) -> None:
    assert world.run(world.client.set_security(ORDERS, 1, SECURITY)) == OK
    request = world.request("R_QMSetObjectSecurityInternal")
    assert str(object_name(world, "R_QMSetObjectSecurityInternal").format_name) == ORDERS
    assert (request.security_information, request.sd_size) == (1, 32)
    assert request.p_security_descriptor == SECURITY
    assert SecurityDescriptor.parse(world.orders.security).owner == SECURITY[20:]


@pytest.mark.rule("CMQMP-3.2.4.3-2", "CMQMP-3.2.4.3-4")
@pytest.mark.parametrize(
    ("information", "security"),
    [(1, b""), (1, SECURITY[:19]), (1, b"\1\0\0\0" + SECURITY[4:]), (0x10, SECURITY), (1, bytes(524_289))],
)
def test_what_is_no_security_descriptor_is_not_sent(world: World, information: int, security: bytes) -> None:
    with pytest.raises(ValueError, match=r"descriptor|DACL"):
        world.run(world.client.set_security(ORDERS, information, security))
    assert world.log == []


@pytest.mark.rule("CMQMP-3.2.4.4-1", "CMQMP-3.2.4.4-2", "CMQMP-3.2.4.4-3", "CMQMP-3.2.4.4-5")
@pytest.mark.rule("CMQMP-3.2.4.4-6", "CMQMP-3.1.4.7-1")
def test_security_is_read_with_as_much_room_as_it_needs(world: World) -> None:
    found = world.good(world.client.get_security(ORDERS, ALL_PARTS))
    whole = SecurityDescriptor.parse(world.orders.security).parts(ALL_PARTS).to_bytes()
    assert found == whole
    asked = [step.request for step in world.log]
    assert [one.n_length for one in asked] == [0, len(whole)]
    assert all(one.requested_information == ALL_PARTS for one in asked)
    assert str(object_name(world, "R_QMGetObjectSecurityInternal").format_name) == ORDERS
    world.log.clear()
    assert world.good(world.client.get_security(ORDERS, ALL_PARTS, 4_000)) == whole
    assert [step.request.n_length for step in world.log] == [4_000]


@pytest.mark.parametrize("needed", [0, 8, 524_289, 0xFFFFFFFF])
def test_room_that_helps_nobody_is_not_made(world: World, needed: int) -> None:
    small = Status.MQ_ERROR_SECURITY_DESCRIPTOR_TOO_SMALL
    world.fails("R_QMGetObjectSecurityInternal", small, lpn_length_needed=needed)
    assert world.run(world.client.get_security(ORDERS, 1, 8)).status == small
    assert len(world.log) == 1


def test_a_server_that_always_wants_more_room_is_asked_three_times(world: World) -> None:
    small = Status.MQ_ERROR_SECURITY_DESCRIPTOR_TOO_SMALL
    steps = world.client.get_security(ORDERS, 1)
    assert next(steps).request.n_length == 0
    for size in (10, 20):
        step = steps.send(CallResult(GetObjectSecurityResponse(lpn_length_needed=size, status=small)))
        assert step.request.n_length == size
    with pytest.raises(StopIteration) as end:
        steps.send(CallResult(GetObjectSecurityResponse(lpn_length_needed=30, status=small)))
    assert end.value.value.status == small


def test_room_for_a_descriptor_is_not_negative(world: World) -> None:
    with pytest.raises(ValueError, match="room"):
        world.run(world.client.get_security(ORDERS, 1, -1))


@pytest.mark.rule("CMQMP-3.2.4.13-1", "CMQMP-3.2.4.13-2", "CMQMP-3.1.4.11-1")
def test_the_server_fills_in_the_format_name_of_a_path(world: World) -> None:
    number = f"{world.orders.private_queue_number:08x}"
    name = world.good(world.client.path_to_format_name("host\\private$\\orders"))
    assert name == f"PRIVATE=20656874-6d71-6820-6f73-742020202020\\{number}"
    request = world.request("R_QMObjectPathToObjectFormat")
    assert request.lpwcs_path_name.text == "host\\private$\\orders"
    assert object_name(world, "R_QMObjectPathToObjectFormat").m_qft == 0


@pytest.mark.parametrize("path", ["", "host\\private$\\a\0b"])
def test_a_path_name_that_no_string_holds_is_not_sent(world: World, path: str) -> None:
    with pytest.raises(ValueError, match="path name"):
        world.run(world.client.create_queue(path))
    with pytest.raises(ValueError, match="path name"):
        world.run(world.client.path_to_format_name(path))


@pytest.mark.rule("CMQMP-3.2.1.1-1", "CMQMP-3.2.1.1-2", "CMQMP-3.1.4.2-2")
def test_the_licence_guid_is_made_once(world: World) -> None:
    drawn = random.Random(7)
    world.run(world.client.delete_queue(FAR))
    assert world.client.randomness.getstate() == drawn.getstate()
    world.open()
    first = world.request("rpc_QMOpenQueueInternal").p_lic_guid
    assert first == GUID(drawn.randbytes(16))
    world.open(FAR)
    assert world.request("rpc_QMOpenQueueInternal").p_lic_guid == first
    assert world.request("R_QMOpenRemoteQueue").p_lic_guid == first
    assert world.client.licence_guid == first


@pytest.mark.rule("CMQMP-3.2.1.1-2")
def test_a_licence_guid_that_was_made_before_is_kept() -> None:
    made = GUID(b"made long before")
    world = World(client=new_client(licence_guid=made))
    world.open()
    assert world.request("rpc_QMOpenQueueInternal").p_lic_guid == made


@pytest.mark.rule("CMQMP-3.2.2-1", "CMQMP-3.2.5-1", "CMQMP-3.2.6-1")
def test_the_client_does_nothing_of_its_own(world: World) -> None:
    queue = world.open()
    waiting = world.begin(world.client.receive(queue, timeout=0xFFFFFFFF))
    calls = len(world.log)
    for computer in (world.host, world.elsewhere):
        pass_time(computer.manager, 30 * 86_400_000)
        world.run(world.client.query_registry(3))
    assert (len(world.log), waiting.results) == (calls + 2, [])
    world.send(b"at last")
    assert waiting.results[0].status == OK


@pytest.mark.rule("CMQMP-3.1.4-1")
def test_all_methods_of_the_interface_are_called_and_none_for_local_use() -> None:
    world = World(old=True)
    client = world.client
    world.run(client.get_server_port())
    world.run(client.query_registry(3))
    world.run(client.create_queue(NEW))
    name = world.good(client.path_to_format_name(NEW))
    world.run(client.set_security(name, 1, SECURITY))
    world.run(client.get_security(name, 1))
    world.run(client.set_properties(name, {LABEL: label("x")}))
    world.run(client.get_properties(name, [LABEL]))
    world.run(client.delete_queue(name))
    world.run(client.get_tm_whereabouts())
    world.run(client.enlist_transaction(GUID(b"an external one."), b"cookie"))
    world.run(client.commit(world.good(client.begin_transaction())))
    world.run(client.abort(world.good(client.begin_transaction())))
    queue = world.open(FAR)
    cursor = world.good(client.create_cursor(queue))
    world.run(client.handle_to_format_name(queue))
    world.run(client.purge(queue))
    world.run(client.close_cursor(queue, cursor))
    world.run(client.close_queue(queue))
    called = {step.opnum for step in world.log if step.interface is INTERFACE}
    assert called == set(INTERFACE.methods)
    assert called.isdisjoint(FOR_LOCAL_USE)
