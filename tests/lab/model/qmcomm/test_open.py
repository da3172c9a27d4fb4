"""rpc_QMOpenQueueInternal: queues of this server, queues of others, and how they are named."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.data.elements import OutgoingQueue
from msmq_wire.lab.model.data.enumerations import QueueAccessType, QueueShareMode
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.rpc.interfaces.qm2qm import RemoteQMOpenQueueResponse
from msmq_wire.rpc.interfaces.qmcomm_queues import OpenQueueInternalRequest, QueueHandleRequest, QueueRequest
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.queue_format import ObjectId, QueueFormat
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.scene import (
    ELSEWHERE,
    ORDERS,
    OTHER_MANAGER,
    PATH,
    PUBLIC,
    REMOTE_HANDLE,
    Directory,
    Scene,
    cases,
    denied,
    opening,
)
from tests.lab.model.scene import QUEUE_MANAGER, labels, pass_time, put, system_queue
from tests.rules import rule_table

OPEN = "rpc_qm_open_queue_internal"
NOT_AVAILABLE = 0xC00E0069
ILLEGAL_NAME = Status.MQ_ERROR_ILLEGAL_FORMATNAME
INVALID = Status.MQ_ERROR_INVALID_PARAMETER
NOT_FOUND = Status.MQ_ERROR_QUEUE_NOT_FOUND
REFUSED = Status.MQ_ERROR_INVALID_HANDLE
NOT_OPENED = RemoteQMOpenQueueResponse(status=REFUSED)
UNSUPPORTED_ACCESS = Status.MQ_ERROR_UNSUPPORTED_ACCESS_MODE
UNSUPPORTED_NAME = Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION
FAR: dict[str, Any] = {"h_remote_queue": 7, "dwp_queue": 8, "dwp_remote_context": 9}
DIRECTORY = Directory({PUBLIC: ("elsewhere\\far", "elsewhere")}, {OTHER_MANAGER: "elsewhere"})


def _named(**parts: Any) -> OpenQueueInternalRequest:
    return OpenQueueInternalRequest(p_queue_format=QueueFormat(**parts), dw_desired_access=1)


NO_NAMES = (
    _named(),
    _named(m_qft=3, arm=WcharText.of("OS:host")),
    _named(m_qft=3, arm=None),
    _named(m_qft=2, m_suffix_and_flags=1, arm=ObjectId(lineage=QUEUE_MANAGER, uniquifier=1)),
    _named(m_qft=1, m_suffix_and_flags=0x83, arm=QUEUE_MANAGER),
)
NO_ACCESS = [opening(access=access) for access in (0, 0x80, 0x82, 0x21, 4, 0x101, 0xFFFF_FFFF)]
NOT_READ = [
    opening(name, access)
    for name in ("DIRECT=HTTP://host/msmq/private$/orders", "MULTICAST=224.0.0.1:8001")
    for access in (1, 0x20, 0x81, 0xA0)
]
NOT_SENT_TO = [
    opening(name, access)
    for name in (
        "DIRECT=OS:host\\system$;deadletter",
        ORDERS + ";journal",
        f"MACHINE={QUEUE_MANAGER};journal",
        f"CONNECTOR={QUEUE_MANAGER}",
    )
    for access in (2, 0x81, 0xA0)
]
NOT_ELSEWHERE = [opening(ELSEWHERE, access, **FAR) for access in (2, 0x81, 0xA0)]
HALF_ELSEWHERE = [opening(ELSEWHERE, **FAR | {lacking: 0}) for lacking in ("dwp_queue", "dwp_remote_context")]
UNKNOWN = f"PRIVATE={OTHER_MANAGER}\\00000009"
NOWHERE, NOTHING = "DIRECT=OS:nowhere\\private$\\far", "DIRECT=OS:host\\private$\\nothing"


@pytest.mark.rule("MQMP-3.1.4.17-2", "MQMP-3.1.4.17-3")
@rule_table(
    "request_, status",
    ("MQMP-3.1.4.17-4 MQMP-3.1.4.17-17", opening(share=9), INVALID),
    *cases("MQMP-3.1.4.17-6", ILLEGAL_NAME, *NO_NAMES),
    *cases("MQMP-3.1.4.17-12", UNSUPPORTED_ACCESS, *NO_ACCESS),
    *cases("MQMP-3.1.4.17-13", UNSUPPORTED_NAME, *NOT_READ),
    ("MQMP-3.1.4.17-14", opening(ORDERS + ";retry", 2), UNSUPPORTED_NAME),
    *cases("MQMP-3.1.4.17-15", UNSUPPORTED_NAME, *NOT_SENT_TO),
    *cases("MQMP-3.1.4.17-16", UNSUPPORTED_ACCESS, *NOT_ELSEWHERE),
    ("MQMP-3.1.4.17-18", opening(access=2, share=1), INVALID),
    ("MQMP-3.1.4.17-23", opening(dwp_queue=1), INVALID),
    ("MQMP-3.1.4.17-24", opening(dwp_remote_context=1), INVALID),
    *cases("MQMP-3.1.4.17-25", INVALID, *HALF_ELSEWHERE),
    ("MQMP-3.1.4.17-32", opening(f"PUBLIC={QUEUE_MANAGER}", **FAR), ILLEGAL_NAME),
    ("MQMP-3.1.4.17-33", opening(UNKNOWN, **FAR), NOT_FOUND),
    ("MQMP-3.1.4.17-37", opening(NOWHERE, **FAR), NOT_AVAILABLE),
    ("MQMP-3.1.4.17-59", opening(f"PUBLIC={QUEUE_MANAGER}"), ILLEGAL_NAME),
    ("MQMP-3.1.4.17-60", opening(UNKNOWN), NOT_FOUND),
    ("MQMP-3.1.4.17-61", opening(NOTHING), NOT_FOUND),
    ("MQMP-3.1.4.17-65", opening(NOTHING, 2), NOT_FOUND),
    ("MQMP-3.1.4.17-66", opening(f"DL={QUEUE_MANAGER}", 2), ILLEGAL_NAME),
)
def test_a_queue_that_cannot_be_opened(request_: OpenQueueInternalRequest, status: int) -> None:
    scene = Scene(directory=DIRECTORY)
    with scene.unchanged():
        answer = scene.client.call(OPEN, request_)
    assert (answer.fault, answer.status) == (None, status)
    assert answer.response.ph_queue.null
    assert answer.response.pdw_qm_context == 0


@pytest.mark.rule("MQMP-3.1.4.17-49", "MQMP-3.1.4.17-52", "MQMP-3.1.4.17-53", "MQMP-3.1.4.17-54")
@pytest.mark.rule("MQMP-3.1.4.17-55", "MQMP-3.1.4.17-56", "MQMP-3.1.4.17-57")
@rule_table(
    "access, share, opened_for",
    ("MQMP-3.1.4.17-50", 1, 0, QueueAccessType.RECEIVE_ACCESS),
    ("", 1, 1, QueueAccessType.RECEIVE_ACCESS),
    ("MQMP-3.1.4.17-50", 2, 0, QueueAccessType.SEND_ACCESS),
    ("MQMP-3.1.4.17-50", 0x20, 0, QueueAccessType.PEEK_ACCESS),
    ("", 0x20, 1, QueueAccessType.PEEK_ACCESS),
)
def test_a_local_queue_is_opened(scene: Scene, access: int, share: int, opened_for: QueueAccessType) -> None:
    response = scene.open(access=access, share=share)
    (descriptor,) = scene.manager.descriptors.values()
    assert response.lplp_remote_queue_name is NULL_POINTEE
    assert response.pdw_qm_context == descriptor.handle
    entry = scene.thing(response.ph_queue)
    assert (entry.handle, entry.open_queue_descriptor_reference) == (response.ph_queue, descriptor)
    assert (descriptor.access_type, descriptor.queue_reference) == (opened_for, scene.queue)
    assert descriptor.format_name == ORDERS
    expected = QueueShareMode.DENY_RECEIVE if share else QueueShareMode.DENY_NONE
    assert descriptor.share_mode is expected


@pytest.mark.rule("MQMP-3.1.4.17-51")
@pytest.mark.parametrize(
    ("access", "opened_for"),
    [(0x81, QueueAccessType.RECEIVE_ADMIN_ACCESS), (0xA0, QueueAccessType.PEEK_ADMIN_ACCESS)],
)
def test_admin_access_is_asked_of_the_queue_manager_as_such(
    access: int, opened_for: QueueAccessType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[QueueAccessType] = []

    def noted(_: Any, __: str, required_access: QueueAccessType, ___: Any) -> tuple[int, None]:
        asked.append(required_access)
        return Status.MQ_ERROR_SHARING_VIOLATION, None

    monkeypatch.setattr("msmq_wire.lab.model.qmcomm.queues.open_queue", noted)
    scene = Scene()
    assert scene.status(OPEN, opening(access=access)) == Status.MQ_ERROR_SHARING_VIOLATION
    assert asked == [opened_for]


@rule_table(
    "access, status",
    ("MQMP-3.1.4.17-7", 1, Status.MQ_OK),
    ("MQMP-3.1.4.17-8", 2, Status.MQ_ERROR_ACCESS_DENIED),
    ("MQMP-3.1.4.17-9", 0x20, Status.MQ_ERROR_ACCESS_DENIED),
)
def test_a_handle_lets_its_holder_do_what_it_was_opened_for(scene: Scene, access: int, status: int) -> None:
    put(scene.queue, b"one")
    handle = scene.open(access=access).ph_queue
    assert scene.status("rpc_ac_purge_queue", QueueRequest(h_queue=handle)) == status
    assert labels(scene.queue) == ([] if status == Status.MQ_OK else ["one"])


@pytest.mark.rule("MQMP-3.1.4.17-8", "MQMP-3.1.4.17-53", "MQMP-3.1.4.17-55", "MQMP-3.1.4.17-57")
def test_a_queue_elsewhere_is_opened_to_send_here(scene: Scene) -> None:
    response = scene.open(ELSEWHERE, access=2)
    descriptor = scene.descriptor(response.ph_queue)
    queue = descriptor.queue_reference
    assert isinstance(queue, OutgoingQueue)
    assert (queue.destination_format_name, response.pdw_qm_context) == (ELSEWHERE, descriptor.handle)
    assert response.lplp_remote_queue_name is NULL_POINTEE
    assert scene.other.calls == []


@rule_table(
    "access, status, left",
    ("MQMP-3.1.4.17-10", 0x81, Status.MQ_OK, []),
    ("MQMP-3.1.4.17-11", 0xA0, Status.MQ_ERROR_ACCESS_DENIED, ["one"]),
)
def test_who_administers_a_queue_elsewhere_works_on_its_outgoing_queue(
    scene: Scene, access: int, status: int, left: list[str]
) -> None:
    queue = scene.descriptor(scene.open(ELSEWHERE, access=2).ph_queue).queue_reference
    assert queue is not None
    put(queue, b"one")
    handle = scene.open(ELSEWHERE, access=access).ph_queue
    assert scene.descriptor(handle).queue_reference is queue
    assert scene.status("rpc_ac_purge_queue", QueueRequest(h_queue=handle)) == status
    assert labels(queue) == left


@pytest.mark.rule("MQMP-3.1.4.17-19")
def test_a_queue_that_is_received_from_is_not_opened_for_one_alone(scene: Scene) -> None:
    scene.open()
    assert scene.refusal(OPEN, opening(share=1)) == Status.MQ_ERROR_SHARING_VIOLATION


@pytest.mark.rule("MQMP-3.1.4.17-20", "MQMP-3.1.4.17-21", "MQMP-3.1.4.17-66")
def test_a_queue_that_one_alone_receives_from_waits_for_that_one(scene: Scene) -> None:
    alone = scene.open(share=1).ph_queue
    for client in (scene.client, scene.another_client()):
        with scene.unchanged():
            assert client.call(OPEN, opening()).status == Status.MQ_ERROR_SHARING_VIOLATION
    assert scene.open(access=2).status == Status.MQ_OK
    scene.call("rpc_ac_close_handle", QueueHandleRequest(ph_queue=alone))
    assert scene.open().status == Status.MQ_OK


@pytest.mark.rule("MQMP-3.1.4.17-22", "MQMP-3.1.4.17-26", "MQMP-3.1.4.17-29", "MQMP-3.1.4.17-55")
@pytest.mark.parametrize(
    ("room", "given"), [(WcharText.of("what"), NULL_POINTEE), (NULL_POINTEE, NULL_POINTEE), (None, None)]
)
def test_what_is_not_looked_at_when_a_queue_is_opened(room: Any, given: Any) -> None:
    scene = Scene()
    response = scene.open(
        lplp_remote_queue_name=room,
        p_lic_guid=GUID(b"\xff" * 16),
        lp_client_name=WcharText.of("somebody's computer"),
        dw_remote_protocol=3,
    )
    assert response.lplp_remote_queue_name is given


@pytest.mark.rule("MQMP-3.1.4.17-30", "MQMP-3.1.4.17-31", "MQMP-3.1.4.17-34", "MQMP-3.1.4.17-35")
@pytest.mark.parametrize(
    ("name", "computer"), [(ELSEWHERE, "elsewhere"), (f"PUBLIC={PUBLIC}", "elsewhere"), (ORDERS, "host")]
)
def test_a_queue_that_the_client_opened_elsewhere_is_opened_there(name: str, computer: str) -> None:
    scene = Scene(directory=DIRECTORY)
    response = scene.call(OPEN, opening(name, **FAR))
    assert (response.status, scene.bound) == (Status.MQ_OK, [computer])
    assert scene.manager.descriptors == {}
    ((method, request),) = scene.other.calls
    assert method == "RemoteQMOpenQueue"
    assert (request.h_queue, request.p_queue, request.dwp_context) == (7, 8, 9)
    assert (request.p_lic_guid, request.dw_mqs) == (QUEUE_MANAGER, 0)


@pytest.mark.rule("MQMP-3.1.4.17-38", "MQMP-3.1.4.17-39", "MQMP-3.1.4.17-40", "MQMP-3.1.4.17-41")
@pytest.mark.rule("MQMP-3.1.4.17-42", "MQMP-3.1.4.17-43", "MQMP-3.1.4.17-44", "MQMP-3.1.4.17-45")
@pytest.mark.rule("MQMP-3.1.4.17-46", "MQMP-3.1.4.17-47", "MQMP-3.1.4.17-48")
def test_a_queue_that_is_open_elsewhere_gets_a_handle_and_a_number(scene: Scene) -> None:
    first, second = (scene.open(ELSEWHERE, **FAR) for _ in range(2))
    proxy = scene.thing(first.ph_queue)
    assert (proxy.handle, proxy.context) == (first.ph_queue, first.pdw_qm_context)
    assert (proxy.remote_handle, proxy.remote_binding_handle) == (REMOTE_HANDLE, scene.other)
    assert (proxy.remote_context, proxy.format_name) == (7, ELSEWHERE)
    assert proxy.path_name == "elsewhere\\private$\\far"
    assert first.lplp_remote_queue_name is NULL_POINTEE
    assert (first.ph_queue, first.pdw_qm_context) != (second.ph_queue, second.pdw_qm_context)
    assert first.pdw_qm_context != second.pdw_qm_context
    assert scene.manager.timers.running == 0


@pytest.mark.rule("MQMP-3.1.4.17-3")
@rule_table(
    "answer, status",
    ("MQMP-3.1.4.17-36", CallResult(NOT_OPENED), REFUSED),
    ("MQMP-3.1.4.17-36", CallResult(fault=REFUSED), REFUSED),
    ("MQMP-3.1.4.17-37", CallResult(fault=0x000006BA), NOT_AVAILABLE),
)
def test_what_the_other_queue_manager_refuses_or_breaks_is_told(answer: CallResult, status: int) -> None:
    scene = Scene()
    scene.other.answers["RemoteQMOpenQueue"] = answer
    assert scene.status(OPEN, opening(ELSEWHERE, **FAR)) == status
    assert (scene.client.association.handles, scene.manager.timers.running) == ({}, 0)


@pytest.mark.rule("MQMP-3.1.4.17-37", "MQMP-3.1.4.17-3")
def test_a_queue_manager_that_says_yes_too_late_is_told_to_close(scene: Scene) -> None:
    del scene.other.answers["RemoteQMOpenQueue"]
    waiting = scene.start(OPEN, opening(ELSEWHERE, **FAR))
    pass_time(scene.manager, 299_999)
    assert waiting.answer is None
    pass_time(scene.manager, 1)
    assert waiting.status == NOT_AVAILABLE
    (late,) = scene.other.waiting
    late(CallResult(RemoteQMOpenQueueResponse(ph_context=REMOTE_HANDLE)))
    assert scene.other.names == ["RemoteQMOpenQueue", "RemoteQMCloseQueue"]
    assert scene.other.calls[1][1].pph_context == REMOTE_HANDLE
    assert scene.client.association.handles == {}


def test_a_client_that_goes_while_a_queue_is_opened_elsewhere_leaves_nothing(scene: Scene) -> None:
    del scene.other.answers["RemoteQMOpenQueue"]
    scene.start(OPEN, opening(ELSEWHERE, **FAR))
    scene.client.disconnect()
    assert scene.manager.timers.running == 0
    (late,) = scene.other.waiting
    late(CallResult(RemoteQMOpenQueueResponse(status=Status.MQ_ERROR)))
    assert scene.other.names == ["RemoteQMOpenQueue"]
    late(CallResult(RemoteQMOpenQueueResponse(ph_context=REMOTE_HANDLE)))
    assert scene.other.names == ["RemoteQMOpenQueue", "RemoteQMCloseQueue"]
    assert scene.client.association.handles == {}


@pytest.mark.rule("MQMP-3.1.4.17-58", "MQMP-3.1.4.17-62", "MQMP-3.1.4.17-63", "MQMP-3.1.4.17-64")
@pytest.mark.parametrize(
    ("name", "path"),
    [
        (ELSEWHERE, "elsewhere\\private$\\far"),
        ("DIRECT=TCP:192.0.2.9\\private$\\far;retry", "192.0.2.9\\private$\\far;retry"),
        (f"PUBLIC={PUBLIC}", "elsewhere\\far"),
    ],
)
@pytest.mark.parametrize("access", [1, 0x20])
def test_a_queue_of_another_queue_manager_is_pointed_at(name: str, path: str, access: int) -> None:
    scene = Scene(directory=DIRECTORY)
    with scene.unchanged():
        response = scene.call(OPEN, opening(name, access))
    assert response.status == Status.MQ_OK
    assert bytes(response.lplp_remote_queue_name) == (path + "\0").encode("utf-16-le")
    assert (response.ph_queue.null, response.pdw_qm_context) == (True, 0)


@pytest.mark.rule("MQMP-3.1.4.17-67")
def test_who_may_not_open_a_queue_does_not() -> None:
    assert denied(OPEN, opening()) == [("open", PATH)]


def test_queues_of_the_system_are_opened_to_read(scene: Scene) -> None:
    scene.manager.system_deadletter_queue = system_queue(scene.manager, "system$;deadletter")
    for name in (
        "DIRECT=OS:host\\system$;deadletter",
        f"MACHINE={QUEUE_MANAGER};deadletter",
        ORDERS + ";journal",
        ORDERS + ";retry",
    ):
        for access in (1, 0x20):
            assert scene.open(name, access).status == Status.MQ_OK


def test_a_public_queue_of_this_queue_manager_is_opened_by_its_identifier(scene: Scene) -> None:
    queue = scene.add_public_queue()
    assert scene.descriptor(scene.open(f"PUBLIC={PUBLIC}").ph_queue).queue_reference is queue
