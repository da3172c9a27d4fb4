"""The client of qmcomm2 sends, peeks and receives, also in transactions. [MS-MQMP] 3.2.4.10 to 3.2.4.12"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.client.planned_calls import Endpoint, EnlistedTransaction, OpenQueueContext
from msmq_wire.lab.model.qmcomm.client.request_buffers import Room, receiving_buffer, sending_buffer
from msmq_wire.lab.model.qmcomm.transfer_checks import check_receive, check_send
from msmq_wire.rpc.interfaces import qmcomm2
from msmq_wire.rpc.interfaces.qmcomm2 import MessageIdResponse, RpcACReceiveMessageExResponse
from msmq_wire.rpc.ndr import StubValue, encode_stub
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties, member_at, message_properties
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV2
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.client_scene import (
    FAILURES,
    FAR,
    OK,
    ORDERS,
    PEEK,
    SEND,
    WHEREABOUTS,
    World,
    message,
    new_client,
)
from tests.lab.model.scene import labels

RECEIVE_ACTION, PEEK_CURRENT, PEEK_NEXT = 0x00000000, 0x80000000, 0x80000001
FOR_EVER = 0xFFFFFFFF
PORT = Endpoint(computer="host", port=2103)
EXTERNAL = GUID(b"an external one.")
IDENTIFIER = ObjectId(lineage=GUID(b"somebody's queue"), uniquifier=7)
NAMES = ("response", "admin", "dest", "ordering")


@pytest.fixture
def world() -> World:
    return World()


def sent(world: World, **properties: Any) -> Any:
    """The CACTransferBufferV1 in which a message with these properties is sent."""
    world.good(world.client.send(world.open(access=SEND), MessageProperties(**properties)))
    return world.sent().ptb.old


def asked(world: World) -> Any:
    """The CACTransferBufferV1 of the last receive or peek."""
    return world.request("rpc_ACReceiveMessageEx").ptb.old


@pytest.mark.rule("CMQMP-3.2.4.10-1", "CMQMP-3.2.4.10-2", "CMQMP-3.2.4.10-3", "CMQMP-3.2.4.10-5")
def test_a_message_is_sent_to_an_open_queue(world: World) -> None:
    queue = world.open(access=SEND)
    identifier = world.good(world.client.send(queue, message(b"content", "a label")))
    assert world.names[-1] == "rpc_ACSendMessageEx"
    request = world.sent()
    assert request.h_queue == queue.handle
    assert (request.ptb.old.u_transfer_type, request.ptb.old.p_uow) == (0, None)
    assert request.p_message_id == ObjectId()
    (slot,) = world.orders.message_position_list
    assert slot.message_reference.label == "a label"
    assert slot.message_reference.identifier == bytes(identifier.lineage) + identifier.uniquifier.to_bytes(
        4, "little"
    )


@pytest.mark.rule("CMQMP-3.2.4.10-5")
def test_the_identifier_of_a_message_need_not_be_wanted(world: World) -> None:
    queue = world.open(access=SEND)
    result = world.run(world.client.send(queue, message(b"content"), identifier_wanted=False))
    assert (result.status, result.value, world.sent().p_message_id) == (OK, None, None)


@pytest.mark.rule("CMQMP-3.2.4.10-4", "CMQMP-3.1.5.2-2")
def test_what_a_message_does_not_have_is_null(world: World) -> None:
    old = sent(world)
    lengths = (
        old.ul_body_buffer_size_in_bytes,
        old.ul_alloc_body_buffer_in_bytes,
        old.ul_title_buffer_size_in_wchars,
        old.u_sender_id_len,
        old.ul_signature_size,
        old.ul_msg_extension_buffer_in_bytes,
    )
    assert set(lengths) == {0}
    assert (old.ul_absolute_time_to_queue, old.ul_relative_time_to_live) == (FOR_EVER, FOR_EVER)
    given = {name: getattr(old, name) for name in old.__struct_fields__ if name.startswith("p")}
    assert set(given.values()) == {None}
    assert (old.arm.p_admin_queue_format, old.arm.p_response_queue_format) == (None, None)


@pytest.mark.rule("CMQMP-3.2.4-3", "CMQMP-3.2.4.10-4")
@pytest.mark.parametrize(
    ("reported", "seconds"),
    [
        ({1: "345600"}, 345_600),
        ({1: "0"}, 0),
        ({1: "4294967295"}, FOR_EVER),
        ({1: "4294967296"}, FOR_EVER),
        ({1: "9" * 5000}, FOR_EVER),
        ({1: "-1"}, FOR_EVER),
        ({1: ""}, FOR_EVER),
        ({}, FOR_EVER),
    ],
)
def test_a_message_has_the_time_to_reach_its_queue_that_the_server_told(
    reported: dict[int, str], seconds: int
) -> None:
    old = sent(World(client=new_client(settings=reported)))
    assert old.ul_absolute_time_to_queue == seconds
    assert (
        sent(World(client=new_client(settings=reported)), time_to_reach_queue=9).ul_absolute_time_to_queue
        == 9
    )


@pytest.mark.rule("CMQMP-3.2.4.10-4", "CMQMP-3.1.5.2-2")
def test_the_members_of_a_message_are_those_of_its_properties(world: World) -> None:
    old = sent(
        world,
        body=b"content",
        label=WcharText.of("abc"),
        priority=5,
        delivery_guarantee=1,
        acknowledgements_requested=0x0E,
        positive_journaling_requested=True,
        negative_journaling_requested=True,
        application_tag=9,
        correlation_identifier=b"c" * 20,
        time_to_reach_queue=60,
        time_to_be_received=70,
        extension=b"more",
        response_queue_format_name=FAR,
        body_type=8,
        tracing_requested=True,
        sender_identifier_type=1,
        sender_identifier=b"sid",
    )
    assert (old.pp_body, old.ul_body_buffer_size_in_bytes, old.ul_alloc_body_buffer_in_bytes) == (
        b"content",
        7,
        7,
    )
    assert (bytes(old.pp_title), old.ul_title_buffer_size_in_wchars) == (b"a\0b\0c\0\0\0", 4)
    assert (old.p_priority, old.p_delivery, old.p_acknowledge, old.p_auditing) == (5, 1, 0x0E, 3)
    assert (old.p_application_tag, old.pp_correlation_id, old.pul_body_type) == (9, b"c" * 20, 8)
    assert (old.ul_absolute_time_to_queue, old.ul_relative_time_to_live, old.p_trace) == (60, 70, 1)
    assert (old.pp_msg_extension, old.ul_msg_extension_buffer_in_bytes) == (b"more", 4)
    assert (old.pul_sender_id_type, old.pp_sender_id, old.u_sender_id_len) == (1, b"sid", 3)
    assert str(old.arm.p_response_queue_format.format_name) == FAR


PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "body": st.binary(max_size=60),
    "label": st.text("aB \u00e4\u20ac\U0001f4e8", max_size=20).map(WcharText.of),
    "priority": st.integers(0, 7),
    "positive_journaling_requested": st.booleans(),
    "extension": st.binary(min_size=1, max_size=20),
    "authentication_provider_name": st.just(WcharText.of("a provider")),
}
SIGNATURE = {"signature": st.binary(min_size=1, max_size=20), "hash_algorithm": st.just(0x8004)}
LEADING = {"leading_signature": st.binary(min_size=1, max_size=20)}


@given(
    st.fixed_dictionaries({}, optional=PLAIN),
    st.just({}) | st.fixed_dictionaries(SIGNATURE, optional=LEADING),
)
def test_a_buffer_says_what_its_properties_say(plain: dict[str, Any], signed: dict[str, Any]) -> None:
    given_properties = {"time_to_reach_queue": 5, "time_to_be_received": 6, **plain, **signed}
    buffer = sending_buffer(MessageProperties(body_encrypted=False, **given_properties))
    assert check_send(buffer, direct=True) == OK
    encode_stub(
        qmcomm2.INTERFACE.methods[1].request, StubValue(qmcomm2.RpcACSendMessageExRequest(ptb=buffer))
    )
    read = message_properties(buffer)
    assert read.problems == ()
    # Texts are read without their terminator; what is empty may be read as nothing.
    for name in ("label", "authentication_provider_name"):
        if name in given_properties:
            given_properties[name] = given_properties[name][:-2]
    kept = {name: value for name, value in given_properties.items() if value or name == "label"}
    assert {name: getattr(read, name) for name in kept} == kept


@pytest.mark.rule("CMQMP-3.1.5.2-5")
def test_a_signature_without_a_provider_is_one_of_the_default_provider(world: World) -> None:
    old = sent(world, signature=b"signed", hash_algorithm=0x8004)
    assert (old.f_default_provider, old.pul_prov_type) == (1, 1)
    assert (old.pp_signature, old.ul_signature_size, old.pul_auth_prov_name_len_prop) == (b"signed", 6, None)
    named = {"authentication_provider_name": WcharText.of("other"), "authentication_provider_type": 12}
    old = sent(world, signature=b"signed", hash_algorithm=0x8004, **named)
    assert (old.f_default_provider, old.pul_prov_type, old.ul_prov_name_len) == (0, 12, 6)
    with pytest.raises(ValueError, match="no server takes"):
        sent(world, signature=b"signed", hash_algorithm=0x8004, authentication_provider_type=12)


def test_the_second_of_two_signatures_is_found_by_the_length_of_the_name(world: World) -> None:
    properties = {
        "authentication_provider_name": WcharText.of("other"),
        "signature": b"the second",
        "leading_signature": b"first",
        "hash_algorithm": 0x8004,
    }
    old = sent(world, **properties)
    assert (old.pp_signature, old.ul_signature_size) == (b"firstthe second", 15)
    assert old.pul_auth_prov_name_len_prop == 6 + 10


@pytest.mark.rule("CMQMP-3.1.5.2-3", "CMQMP-3.1.5.2-2")
@pytest.mark.parametrize(
    "properties",
    [
        {"privacy_level": 1, "encryption_algorithm": 0x6602},
        {"priority": 8},
        {"delivery_guarantee": 2},
        {"acknowledgements_requested": 0x10},
        {"signature": b"signed"},
        {"sender_identifier": b"sid"},
        {"sender_identifier": bytes(0x10000), "sender_identifier_type": 1},
        {"correlation_identifier": b"short"},
        {"response_queue_format_name": "nonsense"},
    ],
)
def test_what_no_server_takes_is_not_sent(world: World, properties: dict[str, Any]) -> None:
    queue = world.open(access=SEND)
    with pytest.raises(ValueError, match=r"no server takes|sender identifier|no format name"):
        world.run(world.client.send(queue, MessageProperties(**properties)))
    assert world.names == ["rpc_QMOpenQueueInternal"]


@pytest.mark.rule("CMQMP-3.1.5.2-3")
def test_encryption_is_for_queues_that_were_not_opened_by_a_direct_name(world: World) -> None:
    private = world.good(world.client.path_to_format_name("host\\private$\\orders"))
    queue = world.open(private, SEND)
    world.good(world.client.send(queue, message(b"x", privacy_level=1, encryption_algorithm=0x6602)))
    assert (world.sent().ptb.old.pul_priv_level, world.sent().ptb.old.pul_encrypt_alg) == (1, 0x6602)


@pytest.mark.rule("CMQMP-3.1.5.2-1")
@pytest.mark.parametrize("how", ["to read", "closed", "deleted"])
def test_only_a_queue_that_is_open_to_send_is_sent_to(world: World, how: str) -> None:
    queue = world.open(access=1 if how == "to read" else SEND)
    if how == "closed":
        world.run(world.client.close_queue(queue))
    elif how == "deleted":
        world.run(world.client.delete_queue(ORDERS))
    with pytest.raises(ValueError, match=r"not opened to send|closed|deleted"):
        world.run(world.client.send(queue, message(b"x")))
    assert "rpc_ACSendMessageEx" not in world.names


@pytest.mark.rule("CMQMP-3.1.5.2-7")
@pytest.mark.parametrize("status", FAILURES)
def test_an_identifier_in_a_failure_is_not_read(world: World, status: int) -> None:
    queue = world.open(access=SEND)
    world.fails("rpc_ACSendMessageEx", status, p_message_id=IDENTIFIER)
    result = world.run(world.client.send(queue, message(b"x")))
    assert (result.status, result.value) == (status, None)
    assert world.names[-1] == "rpc_ACSendMessageEx"


@pytest.mark.rule("CMQMP-3.1.5.1-1", "CMQMP-3.1.5.1-2", "CMQMP-3.1.5.1-3", "CMQMP-3.1.5.2-6")
def test_a_server_that_says_so_gets_the_message_by_the_name_of_its_queue() -> None:
    world = World(answers_retry=True)
    world.run(world.client.get_server_port())
    private = world.good(world.client.path_to_format_name("host\\private$\\orders"))
    queue = world.open(private, SEND)
    world.good(world.client.send(queue, message(b"clear")))
    assert world.names[-1] == "rpc_ACSendMessageEx"
    identifier = world.good(world.client.send(queue, message(b"secret", "s", body_encrypted=True)))
    assert world.names[-2:] == ["rpc_ACSendMessageEx", "QMSendMessageInternalEx"]
    request = world.request("QMSendMessageInternalEx")
    assert str(request.p_queue_format.format_name) == private
    assert (request.ptb, request.p_message_id) == (world.sent().ptb, ObjectId())
    assert identifier.lineage == world.host.manager.identifier
    assert world.endpoint("rpc_ACSendMessageEx") == world.endpoint("QMSendMessageInternalEx") == PORT
    assert labels(world.orders) == ["a label", "s"]


@pytest.mark.rule("CMQMP-3.1.5.1-1", "CMQMP-3.1.5.1-4")
@pytest.mark.parametrize("status", FAILURES)
def test_a_failure_of_the_second_call_is_the_end(world: World, status: int) -> None:
    queue = world.open(access=SEND)
    world.fails("rpc_ACSendMessageEx", Status.STATUS_RETRY)
    world.fails("QMSendMessageInternalEx", status, p_message_id=IDENTIFIER)
    result = world.run(world.client.send(queue, message(b"x")))
    assert (result.status, result.value) == (status, None)
    world.answers["rpc_ACSendMessageEx"] = CallResult(fault=int(Status.STATUS_RETRY))
    world.log.clear()
    assert world.run(world.client.send(queue, message(b"x"))).status == Status.STATUS_RETRY
    assert world.names == ["rpc_ACSendMessageEx"]


@pytest.mark.rule("CMQMP-3.2.4.11-1", "CMQMP-3.2.4.11-2", "CMQMP-3.2.4.11-3", "CMQMP-3.2.4.11-5")
@pytest.mark.rule("CMQMP-3.1.5.3-1", "CMQMP-3.1.5.3-12")
def test_a_message_is_peeked(world: World) -> None:
    world.run(world.client.get_server_port())
    world.send(b"one", priority=4)
    queue = world.open(access=PEEK)
    found = world.good(world.client.peek(queue, timeout=250))
    assert (found.body, found.body_length, found.priority, found.problems) == (b"one", 3, 4, ())
    assert found.label is not None
    assert found.label.text == "a label"
    request = world.request("rpc_ACReceiveMessageEx")
    assert request.h_qm_context == queue.context
    old = request.ptb.old
    assert (old.u_transfer_type, old.arm.action, old.arm.cursor) == (1, PEEK_CURRENT, 0)
    assert (old.arm.request_timeout, old.p_uow) == (250, None)
    assert check_receive(request.ptb) == OK
    assert world.endpoint("rpc_ACReceiveMessageEx") == PORT
    assert labels(world.orders) == ["a label"]


@pytest.mark.rule("CMQMP-3.2.4.11-4", "CMQMP-3.1.5.3-2")
def test_messages_are_peeked_with_a_cursor(world: World) -> None:
    world.send(b"one")
    world.send(b"two")
    queue = world.open(access=PEEK)
    cursor = world.good(world.client.create_cursor(queue))
    assert world.good(world.client.peek(queue, cursor=cursor)).body == b"one"
    assert (asked(world).arm.cursor, asked(world).arm.action) == (cursor, PEEK_CURRENT)
    assert world.good(world.client.peek(queue, cursor=cursor, next_one=True)).body == b"two"
    assert (asked(world).arm.cursor, asked(world).arm.action) == (cursor, PEEK_NEXT)


@pytest.mark.rule("CMQMP-3.2.4.11-4", "CMQMP-3.1.5.3-2")
def test_a_cursor_is_one_of_the_opening(world: World) -> None:
    one, other = world.open(), world.open()
    cursor = world.good(world.client.create_cursor(one))
    calls = len(world.log)
    with pytest.raises(ValueError, match="is that of a cursor"):
        world.run(world.client.peek(one, next_one=True))
    with pytest.raises(ValueError, match="is no cursor"):
        world.run(world.client.receive(other, cursor=cursor))
    assert len(world.log) == calls
    assert world.run(world.client.close_cursor(one, cursor)) == OK
    with pytest.raises(ValueError, match="is no cursor"):
        world.run(world.client.peek(one, cursor=cursor))


@pytest.mark.rule("CMQMP-3.2.4.12-1", "CMQMP-3.2.4.12-2", "CMQMP-3.2.4.12-3", "CMQMP-3.2.4.12-4")
@pytest.mark.rule("CMQMP-3.2.4.12-5")
def test_a_message_is_received(world: World) -> None:
    world.send(b"one")
    queue = world.open()
    assert world.good(world.client.receive(queue)).body == b"one"
    request = world.request("rpc_ACReceiveMessageEx")
    assert request.h_qm_context == queue.context
    old = request.ptb.old
    assert (old.u_transfer_type, old.arm.action, old.p_uow) == (1, RECEIVE_ACTION, None)
    assert check_receive(request.ptb) == OK
    assert labels(world.orders) == []
    assert world.run(world.client.receive(queue)).status == Status.MQ_ERROR_IO_TIMEOUT


@pytest.mark.rule("CMQMP-3.1.5.3-1")
def test_a_queue_is_read_only_as_it_was_opened(world: World) -> None:
    sender, peeker = world.open(access=SEND), world.open(access=PEEK)
    for steps in (world.client.peek(sender), world.client.receive(sender)):
        with pytest.raises(ValueError, match="opened to send"):
            world.run(steps)
    with pytest.raises(ValueError, match="opened to peek"):
        world.run(world.client.receive(peeker))
    with pytest.raises(ValueError, match="no time-out"):
        world.run(world.client.peek(peeker, timeout=1 << 32))
    assert "rpc_ACReceiveMessageEx" not in world.names


@pytest.mark.rule("CMQMP-3.1.5.3-13")
@pytest.mark.parametrize(
    "room",
    [Room(body=2), Room(label=3), Room(destination_queue_format_name=4)],
    ids=["body", "label", "name"],
)
def test_a_message_without_room_is_a_failure_and_stays(world: World, room: Room) -> None:
    world.send(b"one")
    queue = world.open()
    result = world.run(world.client.receive(queue, room=room))
    assert (result.status >= 0x80000000, result.value) == (True, None)
    assert world.names.count("rpc_ACReceiveMessageEx") == 1
    assert world.good(world.client.receive(queue)).body == b"one"


@pytest.mark.rule("CMQMP-3.1.5.3-3", "CMQMP-3.1.5.3-4", "CMQMP-3.1.5.3-5", "CMQMP-3.1.5.3-6")
@pytest.mark.rule("CMQMP-3.1.5.3-8")
@pytest.mark.parametrize(("size", "length"), [(0, 0), (1, 1), (1023, 1023), (1024, 1024), (5000, 1024)])
def test_room_for_names_is_at_most_1024_characters(size: int, length: int) -> None:
    room = Room(
        response_queue_format_name=size,
        administration_queue_format_name=size,
        destination_queue_format_name=size,
        transaction_status_queue_format_name=size,
    )
    arm = receiving_buffer(room, RECEIVE_ACTION).old.arm
    for name in NAMES:
        assert getattr(arm, f"ul_{name}_format_name_len") == length
        assert getattr(arm, f"pul_{name}_format_name_len_prop") == size
        assert getattr(arm, f"pp_{name}_format_name") == WcharText(bytes(2 * length))


@pytest.mark.rule("CMQMP-3.1.5.3-7")
@pytest.mark.parametrize(("size", "length"), [(0, 0), (249, 249), (250, 250), (251, 250), (9999, 250)])
def test_room_for_a_label_is_at_most_250_characters(size: int, length: int) -> None:
    old = receiving_buffer(Room(label=size), RECEIVE_ACTION).old
    assert (old.ul_title_buffer_size_in_wchars, old.pul_title_buffer_size_in_wchars) == (length, size)
    assert old.pp_title == WcharText(bytes(2 * length))


@pytest.mark.rule("CMQMP-3.1.5.3-8", "CMQMP-3.1.5.3-9", "CMQMP-3.1.5.3-10")
def test_what_is_not_wanted_is_null_and_has_no_length(world: World) -> None:
    world.send(b"one")
    nothing = Room(**dict.fromkeys(Room.__struct_fields__))
    found = world.good(world.client.peek(world.open(), room=nothing))
    assert (found.body, found.label, found.extension) == (None, None, None)
    assert (found.message_class, found.priority) == (0, 3)
    old = asked(world)
    for name in NAMES:
        assert getattr(old.arm, f"pp_{name}_format_name") is None
        assert getattr(old.arm, f"ul_{name}_format_name_len") == 0
    assert (old.pp_title, old.ul_title_buffer_size_in_wchars) == (None, 0)
    assert (old.pp_body, old.ul_body_buffer_size_in_bytes, old.ul_alloc_body_buffer_in_bytes) == (None, 0, 0)
    assert (old.pp_msg_extension, old.ul_msg_extension_buffer_in_bytes) == (None, 0)


@given(st.dictionaries(st.sampled_from(Room.__struct_fields__), st.none() | st.integers(0, 2000)))
def test_any_room_makes_a_buffer_that_can_be_sent_and_is_taken(sizes: dict[str, int | None]) -> None:
    buffer = receiving_buffer(Room(**sizes), RECEIVE_ACTION)
    assert check_receive(buffer) == OK
    request = qmcomm2.RpcACReceiveMessageExRequest(ptb=buffer)
    assert encode_stub(qmcomm2.INTERFACE.methods[2].request, StubValue(request))
    for name, size in sizes.items():
        member = {"body": "old.pp_body", "label": "old.pp_title", "extension": "old.pp_msg_extension"}.get(
            name
        )
        if member is not None:
            assert (member_at(buffer, member) is None) == (size is None)


@pytest.mark.parametrize("room", [{"body": -1}, {"body": 0x400001}, {"sender_identifier": 0x10000}])
def test_room_has_bounds(room: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="room for"):
        Room(**room)


def test_an_answer_that_holds_no_message_gives_none_of_its_properties(world: World) -> None:
    answer = RpcACReceiveMessageExResponse(ptb=CACTransferBufferV2(old=receiving_buffer(Room(), 0).old))
    empty = msgspec.structs.replace(answer.ptb.old, u_transfer_type=2, arm=None)
    world.answers["rpc_ACReceiveMessageEx"] = CallResult(
        RpcACReceiveMessageExResponse(ptb=CACTransferBufferV2(old=empty))
    )
    assert world.good(world.client.peek(world.open())) == MessageProperties()


@pytest.mark.rule("CMQMP-3.1.5.3-14")
def test_a_receive_that_waits_keeps_no_other_operation_from_going_on(world: World) -> None:
    queue = world.open()
    waiting = world.begin(world.client.receive(queue, timeout=FOR_EVER, asynchronous=True))
    assert (asked(world).arm.asynchronous, waiting.results) == (1, [])
    world.send(b"at last")
    (result,) = waiting.results
    assert result.value is not None
    assert result.value.body == b"at last"
    world.run(world.client.peek(queue))
    assert asked(world).arm.asynchronous == 0


def begin(world: World) -> EnlistedTransaction:
    return world.good(world.client.begin_transaction())


@pytest.mark.rule("CMQMP-2.2.1.1.1-1", "CMQMP-2.2.3.1-2")
def test_each_internal_transaction_has_a_random_identifier_of_its_own(world: World) -> None:
    begun = [begin(world) for _ in range(3)]
    sent = [step.request.p_uow for step in world.log]
    assert sent == [one.identifier for one in begun]
    assert len(set(sent)) == 3
    assert world.names == ["R_QMEnlistInternalTransaction"] * 3
    assert {one.handle.uuid for one in begun} == set(world.host.associations[0].handles)
    assert world.client.transactions == begun


@pytest.mark.rule("CMQMP-2.2.1.1.1-2", "CMQMP-3.1.4.15-1", "CMQMP-3.2.4.10-3", "CMQMP-3.2.4.12-3")
@pytest.mark.rule("CMQMP-3.1.5.3-11")
def test_what_a_transaction_holds_happens_when_it_is_committed(world: World) -> None:
    world.send(b"zero")
    transaction = begin(world)
    world.send(b"one", transaction)
    assert world.sent().ptb.old.p_uow == transaction.identifier
    queue = world.open()
    assert world.good(world.client.receive(queue, transaction)).body == b"zero"
    assert asked(world).p_uow == transaction.identifier
    assert world.run(world.client.commit(transaction)) == OK
    assert world.request("R_QMCommitTransaction").ph_int_xact == transaction.handle
    assert world.good(world.client.receive(queue)).body == b"one"
    assert (world.client.transactions, world.host.manager.transaction_collection) == ([], {})


@pytest.mark.rule("MQMP-2.2.3.3-1", "MQMP-2.2.3.3-2", "MQMP-3.1.4.15-5")
@pytest.mark.parametrize(
    "bodies",
    [
        {b"1": (True, True)},
        {b"1": (True, False), b"2": (False, True)},
        {b"1": (True, False), b"2": (False, False), b"3": (False, True)},
    ],
)
def test_a_message_says_whether_it_is_the_first_or_the_last_of_its_transaction(
    world: World, bodies: dict[bytes, tuple[bool, bool]]
) -> None:
    world.send(b"0")
    transaction = begin(world)
    queue = world.open()
    # The message that the transaction receives is neither.
    assert world.good(world.client.receive(queue, transaction)).body == b"0"
    for content in bodies:
        world.send(content, transaction)
    assert world.run(world.client.commit(transaction)) == OK
    found = [world.good(world.client.receive(queue)) for _ in bodies]
    assert {one.body: (one.first_in_transaction, one.last_in_transaction) for one in found} == bodies


@pytest.mark.rule("CMQMP-2.2.1.1.1-2", "CMQMP-3.1.4.16-1")
def test_nothing_of_a_transaction_happens_when_it_is_aborted(world: World) -> None:
    world.send(b"zero")
    transaction = begin(world)
    world.send(b"one", transaction)
    queue = world.open()
    assert world.good(world.client.receive(queue, transaction)).body == b"zero"
    assert world.run(world.client.abort(transaction)) == OK
    assert world.request("R_QMAbortTransaction").ph_int_xact == transaction.handle
    assert world.good(world.client.receive(queue)).body == b"zero"
    assert labels(world.orders) == []


@pytest.mark.rule("CMQMP-3.1.4.15-1", "CMQMP-3.1.4.16-1", "CMQMP-3.1.5.3-11")
def test_a_transaction_that_has_ended_is_not_used(world: World) -> None:
    transaction = begin(world)
    queue = world.open()
    assert world.run(world.client.commit(transaction)) == OK
    calls = len(world.log)
    for steps in (
        world.client.receive(queue, transaction),
        world.client.commit(transaction),
        world.client.abort(transaction),
    ):
        with pytest.raises(ValueError, match="has ended"):
            world.run(steps)
    elsewhere = EnlistedTransaction(identifier=EXTERNAL, endpoint=Endpoint(computer="elsewhere"))
    with pytest.raises(ValueError, match="another server"):
        world.run(world.client.receive(queue, elsewhere))
    assert len(world.log) == calls


@pytest.mark.rule("CMQMP-3.1.4.15-2", "CMQMP-3.1.4.16-2")
@pytest.mark.parametrize("status", FAILURES)
def test_a_transaction_has_ended_whatever_the_end_comes_to(world: World, status: int) -> None:
    one, other = begin(world), begin(world)
    world.fails("R_QMCommitTransaction", status)
    assert world.run(world.client.commit(one)) == status
    world.answers["R_QMAbortTransaction"] = CallResult(fault=5)
    assert world.run(world.client.abort(other)) == 5
    assert (one.ended, other.ended, world.client.transactions) == (True, True, [])


@pytest.mark.rule("CMQMP-3.1.4.12-1")
@pytest.mark.parametrize(("room", "rooms"), [(0, [0, 24]), (23, [23, 24]), (24, [24]), (131_072, [131_072])])
def test_whereabouts_get_the_room_they_need(world: World, room: int, rooms: list[int]) -> None:
    assert world.good(world.client.get_tm_whereabouts(room)) == WHEREABOUTS
    assert [step.request.cb_buf_size for step in world.log] == rooms


@pytest.mark.parametrize("length", [0, 5, 131_073])
def test_whereabouts_that_cannot_be_had_are_not_asked_for_again(world: World, length: int) -> None:
    small = Status.MQ_ERROR_USER_BUFFER_TOO_SMALL
    world.fails("R_QMGetTmWhereabouts", small, pcb_whereabouts=length)
    assert world.run(world.client.get_tm_whereabouts(5)).status == small
    assert len(world.log) == 1
    with pytest.raises(ValueError, match="room"):
        world.run(world.client.get_tm_whereabouts(-1))


def enlist(world: World) -> tuple[EnlistedTransaction, OpenQueueContext]:
    transaction = world.good(world.client.enlist_transaction(EXTERNAL, b"cookie"))
    return transaction, world.open()


@pytest.mark.rule("CMQMP-2.2.3.1-1", "CMQMP-3.1.4.13-1", "CMQMP-3.1.5.3-11")
def test_an_external_transaction_is_the_one_that_its_coordinator_named(world: World) -> None:
    world.send(b"zero")
    transaction, queue = enlist(world)
    request = world.request("R_QMEnlistTransaction")
    assert (request.p_uow, request.cb_cookie, request.pb_cookie) == (EXTERNAL, 6, b"cookie")
    assert world.good(world.client.receive(queue, transaction)).body == b"zero"
    assert asked(world).p_uow == EXTERNAL
    for steps in (world.client.commit(transaction), world.client.abort(transaction)):
        with pytest.raises(ValueError, match="coordinator"):
            world.run(steps)
    world.client.ended(transaction)
    with pytest.raises(ValueError, match="has ended"):
        world.run(world.client.receive(queue, transaction))


@pytest.mark.rule("CMQMP-3.2.4.10-6", "CMQMP-3.2.4.10-7", "CMQMP-3.2.4.12-6", "CMQMP-3.2.4.12-7")
@pytest.mark.rule("CMQMP-3.2.4.12-5")
def test_a_transaction_of_a_coordinator_is_enlisted_before_anything_is_done_in_it(world: World) -> None:
    sending, receiving = world.open(access=SEND), world.open()
    stranger = EnlistedTransaction(identifier=EXTERNAL, endpoint=sending.endpoint)
    sent = world.run(world.client.send(sending, message(b"one"), stranger))
    received = world.run(world.client.receive(receiving, stranger))
    assert min(sent.status, received.status) >= 0x80000000
    assert world.names[-2:] == ["rpc_ACSendMessageEx", "rpc_ACReceiveMessageEx"]
    world.log.clear()
    assert world.good(world.client.get_tm_whereabouts(len(WHEREABOUTS))) == WHEREABOUTS
    transaction = world.good(world.client.enlist_transaction(EXTERNAL, b"cookie"))
    world.good(world.client.send(sending, message(b"one"), transaction))
    assert world.run(world.client.receive(receiving, transaction)).status == Status.MQ_ERROR_IO_TIMEOUT
    assert world.names == [
        "R_QMGetTmWhereabouts",
        "R_QMEnlistTransaction",
        "rpc_ACSendMessageEx",
        "rpc_ACReceiveMessageEx",
    ]
    assert [step.request.ptb.old.p_uow for step in world.log[2:]] == [EXTERNAL, EXTERNAL]


@pytest.mark.rule("CMQMP-3.1.4.13-1")
@pytest.mark.parametrize("cookie", [b"", bytes(131_073)])
def test_a_cookie_has_bounds(world: World, cookie: bytes) -> None:
    with pytest.raises(ValueError, match="cookie"):
        world.run(world.client.enlist_transaction(EXTERNAL, cookie))
    assert world.log == []


@pytest.mark.rule("CMQMP-3.1.4.13-2")
def test_a_server_that_takes_no_part_leaves_no_transaction(world: World) -> None:
    refused = world.run(world.client.enlist_transaction(EXTERNAL, b"another cookie"))
    assert (refused.status, world.client.transactions) == (Status.MQ_ERROR_TRANSACTION_ENLIST, [])


def test_a_success_without_an_identifier_gives_none(world: World) -> None:
    world.answers["rpc_ACSendMessageEx"] = CallResult(MessageIdResponse())
    result = world.run(world.client.send(world.open(access=SEND), message(b"x")))
    assert (result.status, result.value) == (OK, None)
