"""R_QMGetRemoteQueueName to R_QMCreateRemoteCursor: queues that are read by other servers' clients."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.data.enumerations import QueueAccessType, QueueShareMode, RemoteReadState
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.events.queue import close_queue, delete_queue
from msmq_wire.lab.model.qmcomm.local_queue_context import LocalQueueContextHandle
from msmq_wire.rpc.interfaces.qmcomm_queues import (
    CloseRemoteQueueContext,
    GetRemoteQueueNameRequest,
    OpenRemoteQueueRequest,
)
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName, QueueFormatType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.scene import (
    ELSEWHERE,
    ORDERS,
    Scene,
    cases,
    opening,
    opening_for_others,
    remote_cursor,
)
from tests.lab.model.scene import QUEUE_MANAGER
from tests.rules import rule_table

ILLEGAL_OPERATION = 0xC00E0064
SHARING_VIOLATION = 0xC0000043
ILLEGAL_NAME = Status.MQ_ERROR_ILLEGAL_FORMATNAME
INVALID = Status.MQ_ERROR_INVALID_PARAMETER
INVALID_HANDLE = Status.MQ_ERROR_INVALID_HANDLE
NOT_FOUND = Status.MQ_ERROR_QUEUE_NOT_FOUND
UNSUPPORTED_ACCESS = Status.MQ_ERROR_UNSUPPORTED_ACCESS_MODE
UNSUPPORTED_NAME = Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION
RECEIVE, PEEK = QueueAccessType.RECEIVE_ACCESS, QueueAccessType.PEEK_ACCESS
OPEN = "r_qm_open_remote_queue"
CLOSE = "r_qm_close_remote_queue_context"
CURSOR = "r_qm_create_remote_cursor"
NAME = "r_qm_get_remote_queue_name"


@pytest.mark.rule("MQMP-3.1.4.1-2")
def test_the_name_of_a_remote_queue_is_not_told_any_more(scene: Scene) -> None:
    proxy = scene.open_far()
    assert scene.fault(NAME, GetRemoteQueueNameRequest(p_queue=proxy.context)) == ILLEGAL_OPERATION


@pytest.mark.rule("MQMP-3.1.4.1-3")
def test_the_room_for_the_name_of_a_remote_queue_has_to_be_empty() -> None:
    scene = Scene(obsolete_methods=True)
    proxy = scene.open_far()
    request = GetRemoteQueueNameRequest(
        p_queue=proxy.context, lplp_remote_queue_name=WcharText.of("something")
    )
    assert scene.refusal(NAME, request) == Status.MQ_ERROR_INVALID_PARAMETER


@pytest.mark.rule("MQMP-3.1.4.1-4")
def test_the_name_of_no_remote_queue_is_not_told() -> None:
    scene = Scene(obsolete_methods=True)
    proxy = scene.open_far()
    local = scene.open()
    with scene.unchanged():
        for number in (0, proxy.context + 1000, local.pdw_qm_context):
            request = GetRemoteQueueNameRequest(p_queue=number)
            assert scene.status(NAME, request) == Status.MQ_ERROR_INVALID_HANDLE


@pytest.mark.rule("MQMP-3.1.4.1-5", "MQMP-3.1.4.1-6")
@pytest.mark.parametrize("room", [None, NULL_POINTEE])
def test_the_name_of_a_remote_queue_is_its_path(room: Any) -> None:
    scene = Scene(obsolete_methods=True)
    proxy = scene.open_far()
    with scene.unchanged():
        response = scene.call(
            NAME, GetRemoteQueueNameRequest(p_queue=proxy.context, lplp_remote_queue_name=room)
        )
    assert response.status == Status.MQ_OK
    assert bytes(response.lplp_remote_queue_name) == "elsewhere\\private$\\far\0".encode("utf-16-le")


@pytest.mark.rule("MQMP-3.1.1-1", "MQMP-3.1.4.1-5")
def test_the_name_of_a_remote_queue_is_told_to_every_client() -> None:
    scene = Scene(obsolete_methods=True)
    proxy = scene.open_far()
    answer = scene.another_client().call(NAME, GetRemoteQueueNameRequest(p_queue=proxy.context))
    assert (answer.status, answer.response.lplp_remote_queue_name.text) == (Status.MQ_OK, proxy.path_name)


def _illegal(**parts: Any) -> OpenRemoteQueueRequest:
    return OpenRemoteQueueRequest(p_queue_format=QueueFormat(**parts), dw_desired_access=1)


BY_HTTP = [f"DIRECT={scheme}://host/msmq/private$/orders" for scheme in ("HTTP", "HTTPS")]
NO_ACCESS = [opening_for_others(access=access) for access in (0, 2, 4, 0x21, 0x81, 0xA0, 0xFFFF_FFFF)]


@pytest.mark.rule("MQMP-3.1.4.2-1", "MQMP-3.1.4.2-24")
@rule_table(
    "request_, status",
    ("MQMP-3.1.4.2-3", OpenRemoteQueueRequest(dw_desired_access=1), INVALID),
    *cases(
        "MQMP-3.1.4.2-4",
        ILLEGAL_NAME,
        _illegal(m_qft=3, arm=WcharText.of("OS:host")),
        _illegal(m_qft=3, arm=None),
    ),
    ("MQMP-3.1.4.2-5", _illegal(), ILLEGAL_NAME),
    ("MQMP-3.1.4.2-6", _illegal(m_qft=1, m_suffix_and_flags=0x82, arm=QUEUE_MANAGER), ILLEGAL_NAME),
    ("MQMP-3.1.4.2-8", opening_for_others(f"DL={QUEUE_MANAGER}"), UNSUPPORTED_NAME),
    ("MQMP-3.1.4.2-9", opening_for_others("MULTICAST=224.0.0.1:8001"), UNSUPPORTED_NAME),
    *cases("MQMP-3.1.4.2-10", UNSUPPORTED_NAME, *map(opening_for_others, BY_HTTP)),
    *cases("MQMP-3.1.4.2-14", UNSUPPORTED_ACCESS, *NO_ACCESS),
    ("MQMP-3.1.4.2-15", opening_for_others(share=2), INVALID),
    ("MQMP-3.1.4.2-15", opening_for_others(share=0xFFFF_FFFF), INVALID),
    ("MQMP-3.1.4.2-26", opening_for_others("DIRECT=OS:host\\private$\\nothing"), NOT_FOUND),
    ("MQMP-3.1.4.2-27", opening_for_others(ELSEWHERE), NOT_FOUND),
)
def test_a_queue_that_cannot_be_opened_for_others(request_: OpenRemoteQueueRequest, status: int) -> None:
    assert Scene().refusal(OPEN, request_) == status


@pytest.mark.rule("MQMP-3.1.4.2-7", "MQMP-3.1.4.2-11", "MQMP-3.1.4.2-20", "MQMP-3.1.4.2-22")
@pytest.mark.rule("MQMP-3.1.4.2-23")
@pytest.mark.parametrize("mqs", [0, 0x100, 0x200, 0x300, 0x400, 0x500, 0x501, 0xFFFF_FFFF])
def test_what_is_not_looked_at_when_a_queue_is_opened_for_others(scene: Scene, mqs: int) -> None:
    named = FormatName.parse(ORDERS)
    dirty = QueueFormat(m_qft=3, m_reserved=0xBEEF, arm=WcharText.of(named.direct_text))
    for process in (0, 0xFFFF_FFFF):
        request = OpenRemoteQueueRequest(
            p_queue_format=dirty,
            dw_calling_process_id=process,
            dw_desired_access=0x20,
            p_lic_guid=GUID(b"\xff" * 16),
            dw_mqs=mqs,
        )
        assert scene.status(OPEN, request) == Status.MQ_OK
    assert len(scene.manager.descriptors) == 2


@pytest.mark.rule("MQMP-3.1.4.2-25", "MQMP-3.1.4.2-28", "MQMP-3.1.4.2-29", "MQMP-3.1.4.2-30")
@pytest.mark.rule("MQMP-3.1.4.2-31", "MQMP-3.1.4.2-32", "MQMP-3.1.4.2-33", "MQMP-3.1.4.2-34")
@pytest.mark.rule("MQMP-3.1.4.2-35")
@rule_table(
    "access, share, opened_for, shared",
    ("MQMP-3.1.4.2-12", 1, 0, RECEIVE, QueueShareMode.DENY_NONE),
    ("MQMP-3.1.4.2-13", 0x20, 0, PEEK, QueueShareMode.DENY_NONE),
    ("", 1, 1, RECEIVE, QueueShareMode.DENY_RECEIVE),
    ("", 0x20, 1, PEEK, QueueShareMode.DENY_RECEIVE),
)
def test_a_queue_opened_for_others_is_known_by_one_number_and_a_handle(
    scene: Scene, access: int, share: int, opened_for: QueueAccessType, shared: QueueShareMode
) -> None:
    response = scene.call(OPEN, opening_for_others(access=access, share=share))
    (descriptor,) = scene.manager.descriptors.values()
    assert response.status == Status.MQ_OK
    assert (response.pdw_context, response.ph_queue, response.dwp_queue) == (descriptor.handle,) * 3
    assert (descriptor.access_type, descriptor.share_mode) == (opened_for, shared)
    assert descriptor.remote_read_state is RemoteReadState.OPENED
    assert descriptor.queue_reference is scene.queue
    handle = scene.thing(response.pph_context)
    assert (handle.handle, handle.open_queue_descriptor_reference) == (response.pph_context, descriptor)
    assert not response.pph_context.null


@pytest.mark.rule("MQMP-3.1.4.2-25")
@pytest.mark.parametrize(
    "name",
    [
        "DIRECT=OS:.\\private$\\orders",
        "DIRECT=OS:HOST\\PRIVATE$\\Orders",
        f"PRIVATE={QUEUE_MANAGER}\\00000001",
        "DIRECT=OS:host\\private$\\orders;journal",
        "DIRECT=OS:host\\private$\\orders;retry",
    ],
)
def test_every_name_of_a_local_queue_opens_it_for_others(scene: Scene, name: str) -> None:
    assert scene.status(OPEN, opening_for_others(name)) == Status.MQ_OK
    assert len(scene.manager.descriptors) == 1


@pytest.mark.rule("MQMP-3.1.4.2-16")
def test_a_queue_that_is_open_for_receive_is_not_opened_for_one_alone(scene: Scene) -> None:
    scene.open()
    assert scene.refusal(OPEN, opening_for_others(share=1)) == SHARING_VIOLATION


@pytest.mark.rule("MQMP-3.1.4.2-17", "MQMP-3.1.4.2-19")
def test_a_queue_that_is_open_for_one_alone_waits_for_that_one(scene: Scene) -> None:
    alone = scene.open_for_others(share=1)
    with scene.unchanged():
        assert scene.status(OPEN, opening_for_others()) == SHARING_VIOLATION
        answer = scene.another_client().call("rpc_qm_open_queue_internal", opening())
        assert answer.status == Status.MQ_ERROR_SHARING_VIOLATION
    scene.call(CLOSE, CloseRemoteQueueContext(pph_context=alone.pph_context))
    assert scene.status(OPEN, opening_for_others()) == Status.MQ_OK


@pytest.mark.rule("MQMP-3.1.4.2-18")
def test_a_queue_that_is_open_for_one_alone_can_be_peeked_at(scene: Scene) -> None:
    scene.open_for_others(share=1)
    assert scene.status(OPEN, opening_for_others(access=0x20)) == Status.MQ_OK


@pytest.mark.rule("MQMP-3.1.4.2-17")
def test_who_peeks_alone_keeps_others_from_receiving_but_not_from_peeking(scene: Scene) -> None:
    scene.open_for_others(access=0x20, share=1)
    assert scene.refusal(OPEN, opening_for_others()) == SHARING_VIOLATION
    assert scene.status(OPEN, opening_for_others(access=0x20)) == Status.MQ_OK


@pytest.mark.rule("MQMP-3.1.4.3-1", "MQMP-3.1.4.3-7")
def test_closing_what_is_no_remote_queue_context_changes_nothing(scene: Scene) -> None:
    local = scene.open().ph_queue
    with scene.unchanged():
        answer = scene.client.call(CLOSE, CloseRemoteQueueContext(pph_context=local))
    assert (answer.fault, answer.response.pph_context) == (None, local)
    assert isinstance(scene.thing(local), LocalQueueContextHandle)


@pytest.mark.rule("MQMP-3.1.4.3-2", "MQMP-3.1.4.3-4", "MQMP-3.1.4.3-5", "MQMP-3.1.4.3-7")
def test_a_remote_queue_context_that_nobody_reads_closes_the_queue(scene: Scene) -> None:
    opened = scene.open_for_others()
    seen: list[int] = []
    descriptor = scene.manager.descriptors[opened.ph_queue]
    dequeue_message(descriptor, lambda status, _: seen.append(status))
    answer = scene.client.call(CLOSE, CloseRemoteQueueContext(pph_context=opened.pph_context))
    assert (answer.fault, answer.response.pph_context.null) == (None, True)
    assert (scene.manager.descriptors, scene.client.association.handles) == ({}, {})
    assert seen == [Status.MQ_ERROR_OPERATION_CANCELLED]


@pytest.mark.rule("MQMP-3.1.4.3-3", "MQMP-3.1.4.3-4", "MQMP-3.1.4.3-5")
def test_a_remote_queue_context_that_somebody_reads_leaves_the_queue_open(scene: Scene) -> None:
    opened = scene.open_for_others()
    descriptor = scene.manager.descriptors[opened.ph_queue]
    descriptor.remote_read_state = RemoteReadState.READY_FOR_READ
    answer = scene.client.call(CLOSE, CloseRemoteQueueContext(pph_context=opened.pph_context))
    assert answer.response.pph_context.null
    assert scene.client.association.handles == {}
    assert scene.manager.descriptors == {descriptor.handle: descriptor}
    assert scene.queue.open_queue_descriptor_collection == [descriptor]


@pytest.mark.rule("MQMP-3.1.4.4-1")
def test_the_buffer_of_a_new_remote_cursor_is_not_looked_at(scene: Scene) -> None:
    opened = scene.open_for_others()
    request = remote_cursor(opened.ph_queue, p_class=0xFFFF, p_priority=99, ul_absolute_time_to_queue=1)
    assert scene.status(CURSOR, request) == Status.MQ_OK


@pytest.mark.rule("MQMP-3.1.4.4-3")
@pytest.mark.parametrize("number", [0, 77, 0xFFFF_FFFF])
def test_a_number_of_no_open_queue_gives_no_cursor(scene: Scene, number: int) -> None:
    scene.open_for_others()
    assert scene.refusal(CURSOR, remote_cursor(number)) == Status.MQ_ERROR_INVALID_HANDLE


@rule_table(
    "end",
    ("MQMP-3.1.4.4-4", lambda manager, one: close_queue(manager, one)),
    ("MQMP-3.1.4.4-5 MQMP-3.1.4.4-7", lambda manager, one: delete_queue(manager, one.queue_reference)),
)
def test_a_queue_that_was_closed_or_deleted_gives_no_cursor(scene: Scene, end: Any) -> None:
    opened = scene.open_for_others()
    end(scene.manager, scene.manager.descriptors[opened.ph_queue])
    assert scene.refusal(CURSOR, remote_cursor(opened.ph_queue)) == INVALID_HANDLE


@pytest.mark.rule("MQMP-3.1.4.4-6", "MQMP-3.1.4.4-8", "MQMP-3.1.4.4-9")
def test_an_open_queue_gives_a_new_cursor_each_time(scene: Scene) -> None:
    opened = scene.open_for_others()
    responses = [scene.call(CURSOR, remote_cursor(opened.ph_queue)) for _ in range(2)]
    descriptor = scene.manager.descriptors[opened.ph_queue]
    assert [one.status for one in responses] == [Status.MQ_OK] * 2
    assert [one.handle for one in descriptor.cursor_collection] == [one.ph_cursor for one in responses]
    assert len(scene.manager.cursors) == 2


def test_a_machine_queue_that_is_not_there_is_not_found(scene: Scene) -> None:
    assert FormatName.parse(f"MACHINE={QUEUE_MANAGER};DEADLETTER").kind is QueueFormatType.MACHINE
    request = opening_for_others(f"MACHINE={QUEUE_MANAGER};DEADLETTER")
    assert scene.status(OPEN, request) == Status.MQ_ERROR_QUEUE_NOT_FOUND
