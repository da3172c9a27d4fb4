"""Receiving, peeking and cursors through qmcomm2, rule by rule. [MS-MQMP] 3.1.5.3, 3.1.5.4, 3.1.7.1"""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.data.enumerations import CursorState, QueueAccessType
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.position import close_cursor
from msmq_wire.lab.model.events.queue import close_queue, delete_queue
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_abort, transaction_commit
from msmq_wire.lab.model.qmcomm.local_queue_context import forget_queue
from msmq_wire.rpc.interfaces.qmcomm2 import RpcACCreateCursorExRequest, RpcACReceiveMessageExRequest
from msmq_wire.rpc.ndr import StubValue, decode_stub, encode_stub
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.cac_transfer_buffer import CACCreateRemoteCursor, TransferSend
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.events.scene import operations, reasons
from tests.lab.model.qmcomm.qmcomm2_scene import (
    ACTION_PEEK,
    ACTION_PEEK_NEXT,
    ACTION_RECEIVE,
    PEEK,
    SEND,
    Scene,
    body,
    body_room,
    changed,
    descriptor,
    receiving,
    sending,
    taken,
)
from tests.lab.model.scene import START, labels, make_queue, pass_time, put, states
from tests.rules import rule_table

INVALID = Status.MQ_ERROR_INVALID_PARAMETER
UNKNOWN = Status.MQ_ERROR_INVALID_HANDLE
DENIED = Status.MQ_ERROR_ACCESS_DENIED
STALE = Status.MQ_ERROR_STALE_HANDLE
USAGE = Status.MQ_ERROR_TRANSACTION_USAGE
IO_TIMEOUT = Status.MQ_ERROR_IO_TIMEOUT
UOW = GUID(b"a unit of work..")
SECOND = 1000
TEXT = WcharText(b"\xdb\xdb" * 100)


def scene_with(*bodies: bytes) -> Scene:
    """A scene with messages in its queue."""
    scene = Scene()
    for one in bodies:
        put(scene.queue, one)
    return scene


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.rule("MQMP-3.1.5.3-1", "MQMP-3.1.5.3-160", "MQMP-3.1.5.3-161")
def test_a_context_that_the_client_does_not_hold_is_unknown() -> None:
    scene = scene_with(b"a")
    place = scene.open()
    for context in (0, place.open_queue_descriptor_reference.context_value, 999):
        assert scene.receive(receiving(), context).status == UNKNOWN
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQMP-3.1.1-1", "MQMP-3.1.5.3-160")
def test_the_number_of_an_open_queue_is_looked_up_in_the_one_table_of_the_server() -> None:
    scene = scene_with(b"a")
    place = scene.open()
    request = RpcACReceiveMessageExRequest(h_qm_context=descriptor(place).handle, ptb=receiving())
    assert scene.another_client().call_opnum(2, request).status == Status.MQ_OK
    assert states(scene.queue) == []


@pytest.mark.parametrize("action", [ACTION_RECEIVE, ACTION_PEEK, ACTION_PEEK_NEXT])
def test_who_is_gone_waits_no_more_in_a_queue_that_another_client_opened(scene: Scene, action: int) -> None:
    place, gone = scene.open(), scene.another_client()
    cursor = scene.cursor(place)
    if action == ACTION_PEEK_NEXT:
        put(scene.queue, b"z")
        scene.take(place, ACTION_PEEK, cursor=cursor)
    before = states(scene.queue)
    ptb = receiving(action, timeout=SECOND, cursor=cursor)
    request = RpcACReceiveMessageExRequest(h_qm_context=descriptor(place).handle, ptb=ptb)
    call = gone.start_opnum(2, request)
    assert call.answer is None
    gone.disconnect()
    assert call.status == Status.MQ_ERROR_OPERATION_CANCELLED
    put(scene.queue, b"a")
    assert states(scene.queue) == [*before, "Available"]
    assert scene.start_receive(receiving(ACTION_PEEK), place).status == Status.MQ_OK


@pytest.mark.rule("MQMP-3.1.5.3-2", "MQMP-3.1.5.3-162")
def test_nothing_is_received_through_a_queue_that_was_opened_to_send() -> None:
    scene = scene_with(b"a")
    for action in (ACTION_RECEIVE, ACTION_PEEK):
        assert scene.receive(receiving(action), scene.open(SEND)).status == DENIED
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQMP-3.1.5.3-163", "MQMP-3.1.5.3-164")
def test_who_opened_to_peek_may_peek_only() -> None:
    scene = scene_with(b"a")
    place = scene.open(PEEK)
    assert scene.take(place) == DENIED
    assert scene.take(place, ACTION_PEEK) == b"a"
    assert states(scene.queue) == ["Available"]


@rule_table(
    "access, status",
    ("MQMP-3.1.4.17-10", QueueAccessType.RECEIVE_ADMIN_ACCESS, b"one"),
    ("MQMP-3.1.4.17-11", QueueAccessType.PEEK_ADMIN_ACCESS, DENIED),
)
def test_what_waits_in_an_outgoing_queue_is_read_by_who_administers_it(
    access: QueueAccessType, status: bytes | int
) -> None:
    scene, name = Scene(), "DIRECT=OS:elsewhere\\private$\\q"
    sender = scene.open(SEND, name=name)
    assert scene.send(sending(**body(b"one")), sender.handle).status == Status.MQ_OK
    place = scene.open(access, name=name)
    assert scene.take(place, ACTION_PEEK) == b"one"
    assert scene.take(place) == status
    assert scene.send(sending(**body(b"two")), place.handle).status == DENIED


@pytest.mark.rule("MQMP-3.1.5.3-3")
def test_nothing_is_received_from_a_deleted_queue(scene: Scene) -> None:
    place = scene.open()
    delete_queue(scene.manager, scene.queue)
    assert scene.receive(receiving(), place).status == STALE


@pytest.mark.rule("MQMP-3.1.5.3-4")
def test_nothing_is_received_through_a_closed_handle(scene: Scene) -> None:
    place = scene.open()
    close_queue(scene.manager, descriptor(place))
    forget_queue(scene.manager, scene.association, place)
    assert scene.receive(receiving(), place).status == UNKNOWN


def without_length(queue: str) -> Any:
    """A buffer with room for the name of a queue, of which the length is not given."""
    return receiving(arm={f"pp_{queue}_format_name": TEXT, f"ul_{queue}_format_name_len": 100})


@rule_table(
    "buffer",
    ("MQMP-3.1.5.3-5", None),
    ("MQMP-3.1.5.3-6", sending()),
    pytest.param("", receiving(u_transfer_type=2), id="a buffer that creates a cursor"),
    ("MQMP-3.1.5.3-7", receiving(0x40000010)),
    ("MQMP-3.1.5.3-13", receiving(arm={"ul_response_format_name_len": 1})),
    ("MQMP-3.1.5.3-15", without_length("response")),
    ("MQMP-3.1.5.3-21", receiving(arm={"ul_admin_format_name_len": 1})),
    ("MQMP-3.1.5.3-23", without_length("admin")),
    ("MQMP-3.1.5.3-29", receiving(arm={"ul_dest_format_name_len": 1})),
    ("MQMP-3.1.5.3-31", without_length("dest")),
    ("MQMP-3.1.5.3-37", receiving(arm={"ul_ordering_format_name_len": 1})),
    ("MQMP-3.1.5.3-39", without_length("ordering")),
    ("MQMP-3.1.5.3-48", receiving(ul_body_buffer_size_in_bytes=1)),
    ("MQMP-3.1.5.3-49", receiving(ul_alloc_body_buffer_in_bytes=1)),
    ("MQMP-3.1.5.3-53", receiving(ul_title_buffer_size_in_wchars=1)),
    (
        "MQMP-3.1.5.3-54",
        receiving(pp_title=TEXT, ul_title_buffer_size_in_wchars=251, pul_title_buffer_size_in_wchars=251),
    ),
    ("MQMP-3.1.5.3-55", receiving(pp_title=TEXT, ul_title_buffer_size_in_wchars=100)),
    ("MQMP-3.1.5.3-62", receiving(ul_msg_extension_buffer_in_bytes=1)),
)
def test_a_buffer_in_which_nothing_is_received(buffer: Any) -> None:
    scene = scene_with(b"a")
    scene.client.encodes = False
    assert scene.receive(buffer).status == INVALID
    assert states(scene.queue) == ["Available"]


@rule_table(
    "member",
    ("MQMP-3.1.5.3-14", "ul_response_format_name_len"),
    ("MQMP-3.1.5.3-22", "ul_admin_format_name_len"),
    ("MQMP-3.1.5.3-30", "ul_dest_format_name_len"),
    ("MQMP-3.1.5.3-38", "ul_ordering_format_name_len"),
)
def test_room_beyond_its_bounds_is_not_dispatched(member: str) -> None:
    scene = scene_with(b"a")
    assert scene.receive(receiving(arm={member: 1025})).fault == 0x6F7
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQMP-3.1.5.3-8", "MQMP-3.1.5.3-12")
def test_without_a_cursor_the_first_message_is_received() -> None:
    scene = scene_with(b"a", b"b")
    place = scene.open()
    scene.take(place, ACTION_PEEK, cursor=scene.cursor(place))
    answer = scene.receive(receiving(**body_room()), place)
    assert (taken(answer), answer.response.ptb.old.arm.cursor) == (b"a", 0)
    number = scene.cursor(place)
    answer = scene.receive(receiving(ACTION_PEEK, cursor=number), place)
    assert answer.response.ptb.old.arm.cursor == number


@pytest.mark.rule("MQMP-3.1.5.3-9", "MQMP-3.1.5.3-10", "MQMP-3.1.5.3-11", "MQMP-3.1.5.3-165")
@pytest.mark.rule("MQMP-3.1.5.3-166")
def test_a_cursor_of_another_opening_or_none_reads_nothing() -> None:
    scene = scene_with(b"a")
    place, other = scene.open(), scene.open()
    closed = scene.cursor(place)
    close_cursor(scene.manager.cursors[closed])
    for number in (77777, scene.cursor(other), closed):
        for action in (ACTION_RECEIVE, ACTION_PEEK, ACTION_PEEK_NEXT):
            assert scene.take(place, action, cursor=number) == UNKNOWN
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQMP-3.1.5.3-68", "MQMP-3.1.5.3-167", "MQMP-3.1.5.3-171", "MQMP-3.1.5.3-181")
def test_a_message_is_received() -> None:
    scene = scene_with(b"a")
    reported = reasons(scene.manager)
    answer = scene.receive(receiving(**body_room()))
    assert (answer.fault, answer.status, taken(answer)) == (None, Status.MQ_OK, b"a")
    assert (labels(scene.queue), reported) == ([], [0x4000])


@pytest.mark.rule("MQMP-3.1.5.3-168")
def test_a_cursor_says_which_message_is_received() -> None:
    scene = scene_with(b"a", b"b", b"c")
    place = scene.open()
    number = scene.cursor(place)
    assert scene.take(place, ACTION_PEEK, cursor=number) == b"a"
    assert scene.take(place, ACTION_PEEK_NEXT, cursor=number) == b"b"
    assert scene.take(place, cursor=number) == b"b"
    assert scene.take(place, cursor=number) == b"c"
    assert labels(scene.queue) == ["a"]


@pytest.mark.rule("MQMP-3.1.5.3-70", "MQMP-3.1.5.3-134", "MQMP-3.1.5.3-169")
@pytest.mark.parametrize("commit", [False, True])
def test_a_message_is_received_in_a_transaction(scene: Scene, commit: bool) -> None:
    unit = create_transaction(scene.manager, bytes(UOW))
    put(scene.queue, b"a")
    answer = scene.receive(receiving(p_uow=UOW, **body_room()))
    assert (taken(answer), answer.response.ptb.old.p_uow) == (b"a", UOW)
    assert (states(scene.queue), operations(unit)) == (["Locked"], [("Dequeue", "a", 0x4000)])
    (transaction_commit if commit else transaction_abort)(scene.manager, bytes(UOW))
    assert states(scene.queue) == ["Available"] * (not commit)


@pytest.mark.rule("MQMP-3.1.5.3-69", "MQMP-3.1.5.3-135")
@pytest.mark.parametrize("action", [ACTION_RECEIVE, ACTION_PEEK])
def test_a_transaction_that_was_not_enlisted_receives_nothing(action: int) -> None:
    scene = scene_with(b"a")
    assert scene.receive(receiving(action, p_uow=UOW)).status == USAGE
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQMP-3.1.5.3-180")
def test_a_peek_leaves_its_transaction_alone(scene: Scene) -> None:
    unit = create_transaction(scene.manager, bytes(UOW))
    put(scene.queue, b"a")
    assert scene.take(scene.open(), ACTION_PEEK, p_uow=UOW) == b"a"
    assert (states(scene.queue), operations(unit)) == (["Available"], [])


@pytest.mark.rule("MQMP-3.1.5.3-170")
def test_a_receive_that_finds_nothing(scene: Scene) -> None:
    place = scene.open()
    number = scene.cursor(place)
    assert scene.take(place) == IO_TIMEOUT
    assert scene.take(place, cursor=number) == Status.MQ_ERROR_MESSAGE_NOT_FOUND
    put(scene.queue, b"a")
    assert scene.take(place, ACTION_PEEK, cursor=number) == b"a"
    assert scene.take(place) == b"a"
    assert scene.take(place, cursor=number) == Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED


@pytest.mark.rule("MQMP-3.1.5.3-172", "MQMP-3.1.5.3-173", "MQMP-3.1.5.3-175")
def test_a_message_is_peeked_at() -> None:
    scene = scene_with(b"a")
    place = scene.open()
    assert scene.take(place, ACTION_PEEK) == b"a"
    number = scene.cursor(place)
    assert scene.take(place, ACTION_PEEK, cursor=number) == b"a"
    assert scene.manager.cursors[number].cursor_state is CursorState.READ
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQMP-3.1.5.3-174")
def test_a_peek_that_finds_nothing(scene: Scene) -> None:
    place = scene.open()
    assert scene.take(place, ACTION_PEEK) == IO_TIMEOUT
    number = scene.cursor(place)
    assert scene.take(place, ACTION_PEEK, cursor=number) == IO_TIMEOUT
    put(scene.queue, b"a")
    assert scene.take(place, ACTION_PEEK, cursor=number) == b"a"
    scene.take(place)
    assert scene.take(place, ACTION_PEEK, cursor=number) == Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED


@pytest.mark.rule("MQMP-3.1.5.3-176")
def test_the_next_message_needs_a_cursor() -> None:
    scene = scene_with(b"a")
    assert scene.take(scene.open(), ACTION_PEEK_NEXT) == Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION


@pytest.mark.rule("MQMP-3.1.5.3-177", "MQMP-3.1.5.3-178", "MQMP-3.1.5.3-179")
def test_a_cursor_goes_from_message_to_message() -> None:
    scene = scene_with(b"a", b"b")
    place = scene.open()
    number = scene.cursor(place)
    assert scene.take(place, ACTION_PEEK_NEXT, cursor=number) == Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION
    assert scene.take(place, ACTION_PEEK, cursor=number) == b"a"
    assert scene.take(place, ACTION_PEEK_NEXT, cursor=number) == b"b"
    assert scene.take(place, ACTION_PEEK_NEXT, cursor=number) == IO_TIMEOUT


@pytest.mark.rule("MQMP-2.2.3.2-3", "MQMP-3.1.5.3-127")
@pytest.mark.parametrize("asynchronous", [0, 1])
@pytest.mark.parametrize("action", [ACTION_RECEIVE, ACTION_PEEK])
def test_a_call_waits_for_a_message(scene: Scene, action: int, asynchronous: int) -> None:
    buffer = receiving(action, 5 * SECOND, arm={"asynchronous": asynchronous}, **body_room())
    call = scene.start_receive(buffer, scene.open())
    pass_time(scene.manager, 5 * SECOND - 1)
    assert call.answer is None
    put(scene.queue, b"a")
    assert taken(call) == b"a"
    assert labels(scene.queue) == ["a"] * (action == ACTION_PEEK)
    assert scene.manager.timers.running == 0


@pytest.mark.parametrize("action", [ACTION_RECEIVE, ACTION_PEEK])
def test_a_call_waits_no_longer_than_it_asks_for(scene: Scene, action: int) -> None:
    call = scene.start_receive(receiving(action, 5 * SECOND), scene.open())
    pass_time(scene.manager, 5 * SECOND)
    assert call.status == IO_TIMEOUT


@rule_table(
    "old",
    ("MQMP-3.1.5.3-128", {"ul_absolute_time_to_queue": 9}),
    ("MQMP-3.1.5.3-129", {"ul_relative_time_to_live": 9}),
    ("MQMP-3.1.5.3-130", {"ul_auth_level": 9}),
    ("MQMP-3.1.5.3-131", {"b_encrypted": 1}),
    ("MQMP-3.1.5.3-132", {"b_authenticated": 1}),
    ("MQMP-3.1.5.3-133", {"f_default_provider": 9}),
)
def test_what_a_receive_does_not_look_at(old: dict[str, Any]) -> None:
    scene = scene_with(b"a")
    answer = scene.receive(receiving(**old, **body_room()))
    assert taken(answer) == b"a"
    assert {name: getattr(answer.response.ptb.old, name) for name in old} == old


@pytest.mark.rule("MQMP-3.1.5.3-125", "MQMP-3.1.5.3-126")
def test_a_receive_has_no_members_of_a_send() -> None:
    scene = scene_with(b"a")
    scene.client.encodes = False
    assert scene.receive(changed(receiving(), arm=TransferSend())).status == INVALID
    assert states(scene.queue) == ["Available"]


RICH = MessageProperties(
    response_queue_format_name="DIRECT=OS:host\\r",
    administration_queue_format_name="DIRECT=OS:host\\a",
    destination_queue_format_name="DIRECT=OS:host\\d",
    transaction_status_queue_format_name="DIRECT=OS:host\\o",
    label=WcharText("label".encode("utf-16-le")),
    body=b"the body",
    body_length=8,
    extension=b"extension",
    sender_identifier_type=1,
    sender_identifier=b"sender",
    authentication_provider_name=WcharText("CSP".encode("utf-16-le")),
    sender_certificate=b"certificate",
    symmetric_key=b"symmetric key",
    signature=b"the signature",
)

IN_ARM = ("response", "admin", "dest", "ordering")
ROOMS: dict[str, tuple[str, str, str]] = {
    # What it is: its member, who counts its room, its length.
    **{
        one: (f"pp_{one}_format_name", f"ul_{one}_format_name_len", f"pul_{one}_format_name_len_prop")
        for one in IN_ARM
    },
    "body": ("pp_body", "ul_body_buffer_size_in_bytes", "p_body_size"),
    "label": ("pp_title", "ul_title_buffer_size_in_wchars", "pul_title_buffer_size_in_wchars"),
    "extension": ("pp_msg_extension", "ul_msg_extension_buffer_in_bytes", "p_msg_extension_size"),
    "sender": ("pp_sender_id", "u_sender_id_len", "pul_sender_id_len_prop"),
    "provider": ("ppwcs_prov_name", "ul_prov_name_len", "pul_auth_prov_name_len_prop"),
    "certificate": ("pp_sender_cert", "ul_sender_cert_len", "pul_sender_cert_len_prop"),
    "key": ("pp_symm_keys", "ul_symm_keys_size", "pul_symm_keys_size_prop"),
    "signature": ("pp_signature", "ul_signature_size", "pul_signature_size_prop"),
}
CONTENT = {
    **{one: WcharText.of(f"DIRECT=OS:host\\{one[0]}") for one in IN_ARM},
    "body": b"the body",
    "label": WcharText.of("label"),
    "extension": b"extension",
    "sender": b"sender",
    "provider": WcharText.of("CSP"),
    "certificate": b"certificate",
    "key": b"symmetric key",
    "signature": b"the signature",
}
UNIT = {what: 2 if isinstance(value, WcharText) else 1 for what, value in CONTENT.items()}
COUNT = {what: len(value) // UNIT[what] for what, value in CONTENT.items()}


def room_for(what: str, count: int) -> dict[str, Any]:
    """Arguments of `receiving`: so much room for one thing."""
    member, room, length = ROOMS[what]
    value = type(CONTENT[what])(b"\xdb" * (count * UNIT[what]))
    members: dict[str, Any] = {member: value, room: count, length: count}
    if what == "body":
        members["ul_alloc_body_buffer_in_bytes"] = count
    return {"arm": members} if what in IN_ARM else members


def put_rich(scene: Scene) -> None:
    assert enqueue_message(scene.queue, ModelMessage(label="label", properties=RICH, sent_time=START)) == 0


def rich_scene() -> Scene:
    scene = Scene()
    put_rich(scene)
    return scene


def got(answer: Any, what: str) -> tuple[Any, int, int | None]:
    """The member, the room and the length in an answer."""
    old = answer.response.ptb.old
    member, room, length = ROOMS[what]
    where = old.arm if what in IN_ARM else old
    return getattr(where, member), getattr(where, room), getattr(where, length)


NAME_TOO_SMALL = Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL
OVERFLOW = Status.MQ_ERROR_BUFFER_OVERFLOW


@pytest.mark.parametrize("how", ["plain", "cursor", "transaction", "waiting", "peek"])
@rule_table(
    "what, status",
    ("MQMP-3.1.5.3-19", "response", NAME_TOO_SMALL),
    ("MQMP-3.1.5.3-27", "admin", NAME_TOO_SMALL),
    ("MQMP-3.1.5.3-35", "dest", NAME_TOO_SMALL),
    ("MQMP-3.1.5.3-43", "ordering", NAME_TOO_SMALL),
    ("MQMP-3.1.5.3-46 MQMP-2.2.3.2-53", "body", OVERFLOW),
    ("MQMP-3.1.5.3-59", "label", Status.MQ_ERROR_LABEL_BUFFER_TOO_SMALL),
    ("MQMP-3.1.5.3-63", "extension", OVERFLOW),
    ("MQMP-3.1.5.3-72", "sender", Status.MQ_ERROR_SENDERID_BUFFER_TOO_SMALL),
    ("MQMP-3.1.5.3-76", "provider", Status.MQ_ERROR_PROV_NAME_BUFFER_TOO_SMALL),
    ("MQMP-3.1.5.3-82", "certificate", Status.MQ_ERROR_SENDER_CERT_BUFFER_TOO_SMALL),
    ("MQMP-3.1.5.3-88", "key", Status.MQ_ERROR_SYMM_KEY_BUFFER_TOO_SMALL),
    ("MQMP-3.1.5.3-94", "signature", Status.MQ_ERROR_SIGNATURE_BUFFER_TOO_SMALL),
)
def test_a_message_that_does_not_fit_stays(what: str, status: int, how: str) -> None:
    scene = rich_scene()
    place = scene.open()
    number = scene.cursor(place)
    unit = create_transaction(scene.manager, bytes(UOW))
    reported = reasons(scene.manager)
    cursor = number if how == "cursor" else 0
    buffer = receiving(
        ACTION_PEEK if how == "peek" else ACTION_RECEIVE,
        SECOND if how == "waiting" else 0,
        cursor,
        p_uow=UOW if how == "transaction" else None,
        **room_for(what, COUNT[what] - 1),
    )
    if how == "waiting":
        scene.take(place)
        reported.clear()
    call = scene.start_receive(buffer, place)
    if how == "waiting":
        put_rich(scene)
    assert (call.status, call.response.ptb) == (status, buffer)
    assert (states(scene.queue), reported, operations(unit)) == (["Available"], [], [])
    assert scene.take(place, cursor=cursor) == b"the body"


@pytest.mark.rule("MQMP-3.1.5.3-182")
@pytest.mark.parametrize(
    ("room", "reported", "fits"), [(0, 50, True), (50, 0, True), (-1, 50, False), (50, -1, False)]
)
@pytest.mark.parametrize("what", [*IN_ARM, "label"])
def test_the_smaller_of_two_lengths_is_the_room(what: str, room: int, reported: int, fits: bool) -> None:
    scene = rich_scene()
    count = COUNT[what]
    members = room_for(what, count + room)
    members.get("arm", members)[ROOMS[what][2]] = count + reported
    answer = scene.receive(receiving(**members))
    assert (answer.status == Status.MQ_OK, states(scene.queue)) == (fits, [] if fits else ["Available"])
    if fits:
        assert got(answer, what) == (CONTENT[what], count, count)


@pytest.mark.parametrize("spare", [0, 3])
@rule_table(
    "what",
    ("MQMP-3.1.5.3-16 MQMP-3.1.5.3-17 MQMP-3.1.5.3-20", "response"),
    ("MQMP-3.1.5.3-24 MQMP-3.1.5.3-25 MQMP-3.1.5.3-28", "admin"),
    ("MQMP-3.1.5.3-32 MQMP-3.1.5.3-33 MQMP-3.1.5.3-36", "dest"),
    ("MQMP-3.1.5.3-40 MQMP-3.1.5.3-41 MQMP-3.1.5.3-44", "ordering"),
    ("MQMP-3.1.5.3-47 MQMP-3.1.5.3-50 MQMP-3.1.5.3-52", "body"),
    ("MQMP-3.1.5.3-56 MQMP-3.1.5.3-57 MQMP-3.1.5.3-60", "label"),
    ("MQMP-3.1.5.3-64 MQMP-3.1.5.3-65 MQMP-3.1.5.3-67", "extension"),
    ("MQMP-3.1.5.3-73 MQMP-3.1.5.3-74", "sender"),
    ("MQMP-3.1.5.3-77 MQMP-3.1.5.3-79", "provider"),
    ("MQMP-3.1.5.3-83 MQMP-3.1.5.3-85", "certificate"),
    ("MQMP-3.1.5.3-89 MQMP-3.1.5.3-91", "key"),
    ("MQMP-3.1.5.3-95 MQMP-3.1.5.3-97", "signature"),
)
def test_a_property_is_written_into_its_room(what: str, spare: int) -> None:
    scene = rich_scene()
    count, unit = COUNT[what], UNIT[what]
    answer = scene.receive(receiving(**room_for(what, count + spare)))
    assert answer.status == Status.MQ_OK
    value, room, length = got(answer, what)
    assert (value[: count * unit], length) == (CONTENT[what], count)
    if what in IN_ARM or what == "label":
        assert (len(value), room) == (count * unit, count)
    else:
        assert (value[count * unit :], room) == (b"\xdb" * (spare * unit), count + spare)


@rule_table(
    "what",
    ("MQMP-3.1.5.3-18", "response"),
    ("MQMP-3.1.5.3-26", "admin"),
    ("MQMP-3.1.5.3-34", "dest"),
    ("MQMP-3.1.5.3-42", "ordering"),
    ("MQMP-3.1.5.3-45 MQMP-3.1.5.3-51", "body"),
    ("MQMP-3.1.5.3-58", "label"),
    ("MQMP-3.1.5.3-61 MQMP-3.1.5.3-66", "extension"),
    ("MQMP-3.1.5.3-71", "sender"),
    ("MQMP-3.1.5.3-75 MQMP-3.1.5.3-78", "provider"),
    ("MQMP-3.1.5.3-81 MQMP-3.1.5.3-84", "certificate"),
    ("MQMP-3.1.5.3-87 MQMP-3.1.5.3-90", "key"),
    ("MQMP-3.1.5.3-93 MQMP-3.1.5.3-96", "signature"),
)
def test_what_is_null_stays_null(what: str) -> None:
    answer = rich_scene().receive(receiving())
    assert answer.status == Status.MQ_OK
    assert got(answer, what) == (None, 0, None)


@rule_table(
    "what",
    pytest.param("", "response", id="response"),
    pytest.param("", "sender", id="sender"),
    ("MQMP-3.1.5.3-80", "provider"),
    ("MQMP-3.1.5.3-86", "certificate"),
    ("MQMP-3.1.5.3-92", "key"),
    ("MQMP-3.1.5.3-98", "signature"),
)
def test_what_a_message_lacks_has_no_length(scene: Scene, what: str) -> None:
    enqueue_message(scene.queue, ModelMessage(properties=MessageProperties()))
    answer = scene.receive(receiving(**room_for(what, 9)))
    assert answer.status == Status.MQ_OK
    assert got(answer, what)[2] == 0


@pytest.mark.rule("MQMP-3.1.5.4-1", "MQMP-3.1.5.4-3", "MQMP-3.1.5.4-10", "MQMP-3.1.5.4-11")
def test_a_handle_that_is_not_held_has_no_cursors(scene: Scene) -> None:
    place = scene.open()
    scene.association.forget(place.handle)
    for handle in (ContextHandle(), place.handle):
        assert scene.create_cursor(handle).status == UNKNOWN
    assert scene.manager.cursors == {}


@pytest.mark.rule("MQMP-3.1.5.4-2")
def test_a_deleted_queue_has_no_cursors(scene: Scene) -> None:
    place = scene.open()
    delete_queue(scene.manager, scene.queue)
    assert scene.create_cursor(place.handle).status == STALE


@pytest.mark.rule("MQMP-3.1.5.4-4")
def test_a_cursor_needs_room(scene: Scene) -> None:
    assert scene.create_cursor(scene.open().handle, pcc=None).status == INVALID
    assert scene.manager.cursors == {}


@pytest.mark.rule("MQMP-3.1.5.4-5", "MQMP-3.1.5.4-6", "MQMP-3.1.5.4-7", "MQMP-3.1.5.4-9", "MQMP-3.1.5.4-24")
@pytest.mark.rule("MQMP-2.2.3.4-1")
def test_a_cursor_is_created_whatever_was_in_its_room(scene: Scene) -> None:
    place = scene.open()
    room = CACCreateRemoteCursor(h_cursor=5, srv_h_ac_queue=6, cli_p_qm_queue=7)
    answer = scene.client.call_opnum(3, RpcACCreateCursorExRequest(h_queue=place.handle, pcc=room))
    (cursor,) = descriptor(place).cursor_collection
    assert (answer.fault, answer.status) == (None, Status.MQ_OK)
    assert answer.response.pcc == CACCreateRemoteCursor(h_cursor=cursor.handle)


@pytest.mark.rule("MQMP-3.1.5.4-8")
def test_an_opening_of_several_queues_has_no_cursors(scene: Scene) -> None:
    other = make_queue(scene.manager, "other")
    names = ",".join(f"DIRECT=OS:{queue.pathname}" for queue in (scene.queue, other))
    assert scene.create_cursor(scene.open(SEND, name=names).handle).status == UNKNOWN


def test_a_client_that_is_gone_leaves_nothing(scene: Scene) -> None:
    place = scene.open()
    scene.cursor(place)
    call = scene.start_receive(receiving(timeout=SECOND), place)
    scene.client.disconnect()
    assert call.status == Status.MQ_ERROR_OPERATION_CANCELLED
    assert (scene.association.handles, scene.manager.descriptors, scene.manager.cursors) == (
        {},
        {},
        {},
    )
    assert (scene.queue.active, scene.manager.timers.running) == (False, 0)
    scene.client.disconnect()


@pytest.mark.parametrize("what", ROOMS)
def test_a_filled_buffer_is_the_same_on_the_wire(what: str) -> None:
    answer = rich_scene().receive(receiving(**room_for(what, COUNT[what] + 2)))
    method = Scene().server.INTERFACE.methods[2]
    stub = encode_stub(method.response, StubValue(answer.response))
    assert decode_stub(method.response, stub).value == answer.response
