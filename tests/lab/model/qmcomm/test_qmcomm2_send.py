"""Sending through qmcomm2, rule by rule. [MS-MQMP] 3.1.5, 3.1.5.1, 3.1.5.2"""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.engines.codec import decode
from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.events.queue import close_queue, delete_queue
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_abort, transaction_commit
from msmq_wire.rpc.interfaces.qmcomm2 import (
    QMSendMessageInternalExRequest,
    RpcACReceiveMessageExRequest,
    RpcACSendMessageExRequest,
)
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import TransferReceive
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import ObjectId, QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.events.scene import Told, opened, operations
from tests.lab.model.qmcomm.qmcomm2_scene import RECEIVE, ROOM, SEND, Scene, body, receiving, sending
from tests.lab.model.scene import START, format_name, labels, make_queue, pass_time, states
from tests.rules import rule_table

INVALID = Status.MQ_ERROR_INVALID_PARAMETER
PROPERTY = Status.MQ_ERROR_PROPERTY
ILLEGAL = Status.MQ_ERROR_ILLEGAL_FORMATNAME
NO_CERTIFICATE = Status.MQ_ERROR_CERTIFICATE_NOT_PROVIDED
CORRUPTED = Status.MQ_ERROR_CORRUPTED_SECURITY_DATA
UOW = GUID(b"a unit of work.."[:16])
NO_QUEUE = QueueFormat(m_qft=3, arm=WcharText.of("nonsense"))
ANSWERS = QueueFormat.of(FormatName.parse("DIRECT=OS:host\\private$\\answers"))
SIGNED: dict[str, Any] = {
    "pp_signature": b"s" * 8,
    "ul_signature_size": 8,
    "pul_hash_alg": 0x8004,
    "f_default_provider": 1,
    "pul_prov_type": 1,
}
NAMED: dict[str, Any] = {
    **SIGNED,
    "f_default_provider": 0,
    "pul_prov_type": 24,
    "ppwcs_prov_name": WcharText.of("CSP"),
    "ul_prov_name_len": 4,
}


@pytest.fixture
def scene() -> Scene:
    return Scene()


@rule_table(
    "opnum, request_",
    ("MQMP-3.1.5-1", 0, QMSendMessageInternalExRequest()),
    ("MQMP-3.1.5-2", 1, RpcACSendMessageExRequest()),
    ("MQMP-3.1.5-3", 2, RpcACReceiveMessageExRequest(ptb=receiving())),
)
def test_who_is_no_supporting_server_serves_nobody(opnum: int, request_: Any) -> None:
    scene = Scene(supporting_server=False, answers_retry=True)
    assert scene.client.call_opnum(opnum, request_).status == Status.MQ_ERROR


@pytest.mark.rule("MQMP-3.1.5-4")
def test_who_is_no_supporting_server_makes_no_cursors() -> None:
    scene = Scene(supporting_server=False)
    place = scene.open()
    assert scene.create_cursor(place.handle).status == Status.MQ_ERROR
    assert scene.manager.cursors == {}


def internal(scene: Scene, name: Any, buffer: Any = None, room: ObjectId | None = ROOM) -> Any:
    queue_format = QueueFormat.of(FormatName.parse(name)) if isinstance(name, str) else name
    ptb = sending() if buffer is None else buffer
    return scene.client.call_opnum(
        0, QMSendMessageInternalExRequest(p_queue_format=queue_format, ptb=ptb, p_message_id=room)
    )


ORDERS = "DIRECT=OS:host\\private$\\orders"


@pytest.mark.rule("MQMP-3.1.5.1-1")
def test_who_never_answers_retry_refuses_what_would_follow(scene: Scene) -> None:
    answer = internal(scene, ORDERS)
    assert answer.fault is None
    assert answer.status == Status.MQ_ERROR_ILLEGAL_OPERATION
    assert labels(scene.queue) == []


@rule_table(
    "name, buffer, status",
    ("MQMP-3.1.5.1-2", None, None, INVALID),
    ("MQMP-3.1.5.1-3", NO_QUEUE, None, ILLEGAL),
    ("MQMP-3.1.5.1-4", "DIRECT=OS:elsewhere\\q", None, Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION),
    ("MQMP-3.1.5.1-5", ORDERS + ";JOURNAL", None, Status.MQ_ERROR_ACCESS_DENIED),
    ("MQMP-3.1.5.1-6", ORDERS, sending(p_priority=9), INVALID),
    ("MQMP-3.1.5.1-9", "DIRECT=OS:host\\private$\\zzz", None, Status.MQ_ERROR_QUEUE_NOT_FOUND),
)
def test_what_is_not_sent_without_an_open_queue(name: Any, buffer: Any, status: int) -> None:
    scene = Scene(answers_retry=True)
    answer = internal(scene, name, buffer)
    assert (answer.status, answer.response.p_message_id) == (status, ROOM)
    assert (labels(scene.queue), scene.manager.descriptors) == ([], {})


@pytest.mark.rule("MQMP-3.1.5.1-8", "MQMP-3.1.5.1-10", "MQMP-3.1.5.1-11", "MQMP-3.1.5.1-12")
@pytest.mark.rule("MQMP-3.1.5.1-13", "MQMP-3.1.5.1-14")
def test_a_message_for_a_queue_that_is_not_open_opens_and_closes_it() -> None:
    scene = Scene(answers_retry=True)
    answer = internal(scene, ORDERS, sending(**body(b"x", "a")))
    assert (answer.fault, answer.status) == (None, Status.MQ_OK)
    (slot,) = scene.queue.message_position_list
    assert slot.message_reference.properties.identifier == answer.response.p_message_id != ROOM
    assert (scene.manager.descriptors, scene.queue.open_queue_descriptor_collection) == ({}, [])
    scene.queue.quota = 0
    assert internal(scene, ORDERS).status == Status.MQ_ERROR_INSUFFICIENT_RESOURCES
    assert scene.manager.descriptors == {}


@pytest.mark.rule("MQMP-3.1.5.1-7")
def test_who_wants_no_identifier_gets_none() -> None:
    scene = Scene(answers_retry=True)
    answer = internal(scene, ORDERS, room=None)
    assert (answer.status, answer.response.p_message_id) == (Status.MQ_OK, None)


@pytest.mark.rule("MQMP-3.1.5.2-1", "MQMP-3.1.5.2-90")
def test_nothing_is_sent_through_an_unknown_handle(scene: Scene) -> None:
    foreign = Scene()
    for handle in (ContextHandle(), ContextHandle(uuid=UOW), foreign.open(SEND).handle):
        assert scene.send(handle=handle).status == Status.MQ_ERROR_INVALID_HANDLE
    assert labels(scene.queue) == []


@pytest.mark.rule("MQMP-3.1.5.2-2")
def test_nothing_is_sent_through_a_queue_that_was_opened_to_receive(scene: Scene) -> None:
    assert scene.send(handle=scene.open(RECEIVE).handle).status == Status.MQ_ERROR_ACCESS_DENIED
    assert labels(scene.queue) == []


@pytest.mark.rule("MQMP-3.1.5.2-3")
def test_nothing_is_sent_to_a_deleted_queue(scene: Scene) -> None:
    place = scene.open(SEND)
    delete_queue(scene.manager, scene.queue)
    assert scene.send(handle=place.handle).status == Status.MQ_ERROR_STALE_HANDLE


@pytest.mark.rule("MQMP-3.1.5.2-4")
def test_nothing_is_sent_through_a_closed_handle(scene: Scene) -> None:
    place = scene.open(SEND)
    close_queue(scene.manager, place.open_queue_descriptor_reference)
    scene.association.forget(place.handle)
    assert scene.send(handle=place.handle).status == Status.MQ_ERROR_INVALID_HANDLE


@pytest.mark.rule("MQMP-3.1.5.2-5")
def test_a_send_needs_a_buffer(scene: Scene) -> None:
    request = RpcACSendMessageExRequest(h_queue=scene.open(SEND).handle, ptb=None)  # type: ignore[arg-type]  # a caller of the model may
    assert scene.client.call_opnum(1, request).status == INVALID


SENDER: dict[str, Any] = {"pp_sender_id": b"x", "u_sender_id_len": 1}


@rule_table(
    "old, status",
    ("MQMP-3.1.5.2-6", {"u_transfer_type": 1}, INVALID),
    ("MQMP-2.2.3.2-2", {"u_transfer_type": 2}, INVALID),
    ("MQMP-3.1.5.2-8", {"admin": NO_QUEUE}, ILLEGAL),
    ("MQMP-3.1.5.2-10", {"response": NO_QUEUE}, ILLEGAL),
    ("MQMP-3.1.5.2-11", {"pul_priv_level": 1, "pul_encrypt_alg": 0x6602}, INVALID),
    ("MQMP-3.1.5.2-14", {"p_priority": 8}, PROPERTY),
    ("MQMP-3.1.5.2-36", body(b"x") | {"ul_body_buffer_size_in_bytes": 2}, INVALID),
    ("MQMP-3.1.5.2-38", SIGNED | {"pul_hash_alg": None}, PROPERTY),
    ("MQMP-3.1.5.2-40", SIGNED | {"pul_hash_alg": 0x8005}, PROPERTY),
    ("MQMP-3.1.5.2-41", {"pul_priv_level": 0}, PROPERTY),
    ("MQMP-3.1.5.2-46", {"ul_sender_cert_len": 1}, NO_CERTIFICATE),
    ("MQMP-3.1.5.2-47", {"u_sender_id_len": 1}, PROPERTY),
    ("MQMP-3.1.5.2-50", {"u_sender_id_len": 1, "pul_sender_id_type": 0}, PROPERTY),
    pytest.param("", {"pul_sender_id_type": 1}, PROPERTY, id="a type of sender without a sender"),
    ("MQMP-3.1.5.2-52", {"ul_symm_keys_size": 1}, CORRUPTED),
    ("MQMP-3.1.5.2-55", NAMED | {"ppwcs_prov_name": None}, PROPERTY),
    ("MQMP-3.1.5.2-59", SIGNED | {"pul_prov_type": None}, PROPERTY),
    pytest.param("", SIGNED | {"pul_prov_type": 24}, PROPERTY, id="not the type of the default provider"),
    ("MQMP-3.1.5.2-65", NAMED | {"pul_auth_prov_name_len_prop": 13}, INVALID),
    pytest.param("", NAMED | {"pul_auth_prov_name_len_prop": 3}, INVALID, id="a negative length"),
    ("MQMP-2.2.3.2-37", {"p_delivery": 2}, PROPERTY),
    ("MQMP-2.2.3.2-46", {"p_acknowledge": 0x10}, PROPERTY),
    ("MQMP-2.2.3.2-51", {"p_auditing": 4}, PROPERTY),
    ("MQMP-2.2.3.2-60", {"p_trace": 2}, PROPERTY),
    ("MQMP-2.2.3.2-64", SENDER | {"pul_sender_id_type": 0}, PROPERTY),
    ("MQMP-2.2.3.2-65", SENDER | {"pul_sender_id_type": 3}, PROPERTY),
)
def test_a_buffer_that_is_not_sent(scene: Scene, old: dict[str, Any], status: int) -> None:
    answer = scene.send(sending(**old))
    assert (answer.fault, answer.status, answer.response.p_message_id) == (None, status, ROOM)
    assert (labels(scene.queue), scene.manager.sequential_id) == ([], 0)


@rule_table(
    "old, status",
    ("MQMP-3.1.5.2-43", {"pul_priv_level": 1, "pul_encrypt_alg": 0x6610}, PROPERTY),
    ("MQMP-2.2.3.2-69", {"pul_priv_level": 5, "pul_encrypt_alg": 0x6602}, PROPERTY),
    pytest.param("", {"pul_priv_level": 2, "pul_encrypt_alg": 0x6801}, Status.MQ_OK, id="allowed"),
)
def test_encryption_is_for_queues_that_have_an_identifier(old: dict[str, Any], status: int) -> None:
    scene = Scene()
    name = f"PRIVATE={scene.manager.identifier}\\{scene.queue.private_queue_number:08x}"
    answer = scene.send(sending(**old), scene.open(SEND, name=name).handle)
    assert answer.status == status
    assert len(states(scene.queue)) == (status == Status.MQ_OK)


@pytest.mark.rule("MQMP-2.2.3.2-1", "MQMP-2.2.3.2-31")
@pytest.mark.parametrize("old", [{"u_transfer_type": 3}, {"pp_correlation_id": bytes(19)}])
def test_a_buffer_beyond_its_bounds_is_not_dispatched(scene: Scene, old: dict[str, Any]) -> None:
    assert scene.send(sending(**old)).fault == 0x6F7
    assert labels(scene.queue) == []


@pytest.mark.rule("MQMP-3.1.5.2-12")
def test_who_answers_retry_does_so_for_encrypted_messages() -> None:
    scene = Scene(answers_retry=True)
    old = {"b_encrypted": 1, **body(b"x", "a")}
    assert scene.send(sending(**old)).status == Status.STATUS_RETRY
    assert labels(scene.queue) == []
    assert internal(scene, ORDERS, sending(**old)).status == Status.MQ_OK
    assert labels(scene.queue) == ["a"]


def titled(text: WcharText, count: int) -> dict[str, Any]:
    """The members of a label of which so many characters are told."""
    return {"pp_title": text, "ul_title_buffer_size_in_wchars": count}


LONG = WcharText(b"a\0" * 300)
TWO_SIGNATURES = NAMED | {"pp_signature": b"11122222", "pul_auth_prov_name_len_prop": 9}
EXTENDED = {"pp_msg_extension": b"a\0b\0c", "ul_msg_extension_buffer_in_bytes": 4}
UNDYING = {"ul_absolute_time_to_queue": 0}
WITH_KEY = {"pp_symm_keys": b"key", "ul_symm_keys_size": 3}
LONG_NAME = NAMED | {"ppwcs_prov_name": WcharText.of("CSP") + b"x\0" * 9, "ul_prov_name_len": 13}


@rule_table(
    "old, attribute, value",
    ("MQMP-3.1.5.2-7", {}, "administration_queue_format_name", None),
    ("MQMP-3.1.5.2-9", {}, "response_queue_format_name", None),
    ("MQMP-3.1.5.2-13", {}, "priority", 3),
    ("MQMP-3.1.5.2-15", {}, "tracing_requested", False),
    ("MQMP-3.1.5.2-16", UNDYING, "time_to_reach_queue", 0xFFFFFFFF),
    ("MQMP-3.1.5.2-18", {}, "connector_type_identifier", None),
    ("MQMP-3.1.5.2-19", {}, "delivery_guarantee", 0),
    ("MQMP-3.1.5.2-21", {}, "positive_journaling_requested", False),
    pytest.param("", {}, "negative_journaling_requested", False, id="no dead letter"),
    ("MQMP-3.1.5.2-22", {}, "message_class", 0),
    ("MQMP-3.1.5.2-23", {"p_class": 0x1234}, "message_class", 0x1234),
    ("MQMP-2.2.3.2-5", {"p_class": 0x1E00}, "message_class", 0x1E00),
    ("MQMP-3.1.5.2-24", {}, "correlation_identifier", bytes(20)),
    ("MQMP-3.1.5.2-25", {}, "acknowledgements_requested", 0),
    ("MQMP-3.1.5.2-26", {}, "application_tag", 0),
    ("MQMP-3.1.5.2-27", {"ul_title_buffer_size_in_wchars": 9}, "label", b""),
    ("MQMP-3.1.5.2-28", titled(WcharText.of("abcdef"), 3), "label", b"a\0b\0c\0"),
    ("MQMP-3.1.5.2-29 MQMP-3.1.5.2-30", titled(LONG, 300), "label", b"a\0" * 249),
    ("MQMP-3.1.5.2-31", {"ul_msg_extension_buffer_in_bytes": 9}, "extension", None),
    ("MQMP-3.1.5.2-32", EXTENDED, "extension", b"a\0b\0"),
    (
        "MQMP-3.1.5.2-33",
        {"ul_body_buffer_size_in_bytes": 9, "ul_alloc_body_buffer_in_bytes": 5},
        "body",
        None,
    ),
    (
        "MQMP-3.1.5.2-34 MQMP-3.1.5.2-35",
        {
            "pp_body": b"a\0b\0c",
            "ul_body_buffer_size_in_bytes": 4,
            "ul_alloc_body_buffer_in_bytes": 0xFFFFFFFF,
        },
        "body",
        b"a\0b\0",
    ),
    ("MQMP-3.1.5.2-37", {}, "privacy_level", 0),
    ("MQMP-3.1.5.2-39", {}, "hash_algorithm", 0),
    ("MQMP-3.1.5.2-42", {}, "encryption_algorithm", 0),
    ("MQMP-3.1.5.2-44", {}, "body_type", 0),
    ("MQMP-3.1.5.2-45", {}, "sender_certificate", None),
    ("MQMP-3.1.5.2-48", {}, "sender_identifier_type", 0),
    ("MQMP-3.1.5.2-49", {"pul_sender_id_type": 0}, "sender_identifier", None),
    ("MQMP-3.1.5.2-51", {}, "symmetric_key", None),
    ("MQMP-3.1.5.2-53", WITH_KEY, "symmetric_key", b"key"),
    ("MQMP-3.1.5.2-54", {"pp_signature": b"s"}, "signature", None),
    ("MQMP-3.1.5.2-106", SIGNED | {"pp_signature": None}, "signature", None),
    pytest.param(
        "", SIGNED | {"pp_signature": None}, "authentication_level", 0, id="a size without a signature"
    ),
    ("MQMP-3.1.5.2-56", NAMED, "authentication_provider_type", 24),
    ("MQMP-3.1.5.2-57", NAMED | {"pul_prov_type": None}, "authentication_provider_type", 0),
    ("MQMP-3.1.5.2-58", LONG_NAME, "authentication_provider_name", b"C\0S\0P\0"),
    ("MQMP-3.1.5.2-60", SIGNED, "signature", b"s" * 8),
    pytest.param("", SIGNED, "authentication_level", 1, id="a signature of MSMQ 1.0"),
    (
        "MQMP-3.1.5.2-61 MQMP-3.1.5.2-62 MQMP-3.1.5.2-63 MQMP-3.1.5.2-64",
        TWO_SIGNATURES,
        "signature",
        b"22222",
    ),
    ("MQMP-3.1.1.11-67", TWO_SIGNATURES, "authentication_level", 3),
    ("MQMP-3.1.5.2-66", {"pul_auth_prov_name_len_prop": 77}, "authentication_level", 0),
)
def test_what_a_message_gets_from_its_buffer(old: dict[str, Any], attribute: str, value: Any) -> None:
    message = Scene().sent(**old)
    assert getattr(message.properties, attribute) == value
    assert decode(message.packet, as_="user_message").base_header.packet_size == len(message.packet)


@rule_table(
    "old",
    ("MQMP-3.1.5.2-17", {"pp_message_id": ObjectId(uniquifier=9)}),
    ("MQMP-3.1.5.2-69", {"p_sent_time": 9}),
    ("MQMP-3.1.5.2-70", {"p_arrived_time": 9}),
    ("MQMP-3.1.5.2-71", {"p_body_size": 9}),
    ("MQMP-3.1.5.2-72", {"pul_title_buffer_size_in_wchars": 9}),
    ("MQMP-3.1.5.2-73", {"pul_relative_time_to_queue": 9}),
    ("MQMP-3.1.5.2-74", {"pul_relative_time_to_live": 9}),
    ("MQMP-3.1.5.2-75", {"pul_sender_id_len_prop": 9}),
    ("MQMP-3.1.5.2-76 MQMP-2.2.3.2-70", {"ul_auth_level": 9}),
    ("MQMP-3.1.5.2-77", {"p_authenticated": 9}),
    ("MQMP-3.1.5.2-78 MQMP-2.2.3.2-86", {"b_authenticated": 1}),
    ("MQMP-3.1.5.2-79", {"pul_sender_cert_len_prop": 9}),
    ("MQMP-3.1.5.2-80", {"pul_symm_keys_size_prop": 9}),
    ("MQMP-3.1.5.2-81", {"pul_signature_size_prop": 9}),
    ("MQMP-3.1.5.2-82", {"pp_src_qmid": UOW}),
    ("MQMP-3.1.5.2-83", {"p_msg_extension_size": 9}),
    ("MQMP-3.1.5.2-84", {"pul_version": 9}),
    ("MQMP-3.1.5.2-85", {"outer": {"pb_first_in_xact": 1}}),
    ("MQMP-3.1.5.2-86", {"outer": {"pb_last_in_xact": 1}}),
    ("MQMP-3.1.5.2-87", {"outer": {"pp_xact_id": ObjectId(uniquifier=9)}}),
)
def test_what_a_send_does_not_look_at(old: dict[str, Any]) -> None:
    plain, with_it = Scene().sent(**body(b"x", "a")), Scene().sent(**body(b"x", "a"), **old)
    assert with_it.properties == plain.properties
    assert with_it.packet == plain.packet


@pytest.mark.rule("MQMP-3.1.5.2-67", "MQMP-3.1.5.2-68")
def test_a_send_has_no_members_of_a_receive(scene: Scene) -> None:
    answer = scene.send(sending(arm=TransferReceive()))
    assert (answer.status, labels(scene.queue)) == (INVALID, [])


@pytest.mark.rule("MQMP-3.1.5.2-88")
def test_a_send_without_room_for_the_identifier(scene: Scene) -> None:
    answer = scene.send(room=None)
    assert (answer.status, answer.response.p_message_id) == (Status.MQ_OK, None)
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQMP-3.1.5.2-89", "MQMP-3.1.5.2-93", "MQMP-3.1.5.2-94", "MQMP-3.1.5.2-99")
@pytest.mark.rule("MQMP-3.1.5.2-101", "MQMP-3.1.5.2-103", "MQMP-3.1.5.2-104", "MQMP-3.1.5.2-105")
@pytest.mark.rule("MQDMPR-3.1.7.1.30-1", "MQDMPR-3.1.7.1.30-4", "MQDMPR-3.1.7.1.30-7")
def test_a_message_is_sent_with_an_identifier_of_its_own(scene: Scene) -> None:
    pass_time(scene.manager, 7000)
    buffer = sending(admin=ANSWERS, response=ANSWERS, p_priority=5, **body(b"content", "a label"))
    answer = scene.send(buffer)
    assert (answer.fault, answer.status) == (None, Status.MQ_OK)
    (slot,) = scene.queue.message_position_list
    message: ModelMessage = slot.message_reference
    name = answer.response.p_message_id
    assert name.lineage == scene.manager.identifier
    assert message.identifier == bytes(name.lineage) + name.uniquifier.to_bytes(4, "little")
    assert (message.sent_time, message.label, message.priority) == (START + 7, "a label", 5)
    packet = decode(message.packet, as_="user_message")
    assert packet.user_header.source_queue_manager == scene.manager.identifier
    assert packet.user_header.message_id == name.uniquifier
    assert packet.user_header.format_name("destination_queue") == format_name(scene.queue)
    assert packet.user_header.format_name("response_queue") == "DIRECT=OS:host\\private$\\answers"
    assert packet.message_properties_header.message_body == b"content"
    assert packet.message_properties_header.label.text == "a label"
    assert (packet.transaction_header, packet.security_header) == (None, None)
    assert scene.send().response.p_message_id != name


@pytest.mark.rule("MQDMPR-3.1.7.1.30-3")
def test_a_signed_message_has_a_security_header() -> None:
    packet = decode(Scene().sent(**NAMED).packet, as_="user_message")
    assert packet.user_header.bit("sh") == 1
    assert packet.security_header.security_data.signature == b"s" * 8
    assert packet.security_header.security_data.provider_info.provider_name.text == "CSP"


@pytest.mark.rule("MQMP-3.1.5.2-20", "MQMP-3.1.5.2-91", "MQMP-3.1.5.2-100", "MQMP-2.2.3.2-33")
@pytest.mark.rule("MQDMPR-3.1.7.1.30-2")
@pytest.mark.parametrize("commit", [False, True])
def test_a_message_is_sent_in_a_transaction(scene: Scene, commit: bool) -> None:
    unit = create_transaction(scene.manager, bytes(UOW))
    reported = Told()
    dequeue_message(opened(scene.queue), reported)
    answer = scene.send(sending(p_uow=UOW, p_delivery=0, p_priority=7, **body(b"x", "a")))
    assert answer.status == Status.MQ_OK
    assert (states(scene.queue), operations(unit)) == (["Locked"], [("Enqueue", "a", None)])
    (slot,) = scene.queue.message_position_list
    message = slot.message_reference
    assert (message.priority, message.recoverable, message.transactional) == (0, True, True)
    packet = decode(message.packet, as_="user_message")
    assert (packet.user_header.bit("th"), packet.user_header.bit("dm")) == (1, 1)
    (transaction_commit if commit else transaction_abort)(scene.manager, bytes(UOW))
    assert reported.got == [(Status.MQ_OK, "a")] * commit
    assert labels(scene.queue) == []


@pytest.mark.rule("MQMP-3.1.5.2-92")
@pytest.mark.parametrize("uow", [UOW, GUID(bytes(16))])
def test_a_transaction_that_was_not_enlisted_sends_nothing(scene: Scene, uow: GUID) -> None:
    assert scene.send(sending(p_uow=uow)).status == Status.MQ_ERROR_TRANSACTION_ENLIST
    assert labels(scene.queue) == []


ENCRYPTED: dict[str, Any] = {"b_encrypted": 1, **WITH_KEY, **body(b"secret", "a")}


@pytest.mark.rule("MQMP-3.1.5.2-95", "MQMP-3.1.5.2-96", "MQMP-2.2.3.2-85")
def test_an_encrypted_body_is_stored_clear() -> None:
    asked: list[Any] = []

    def decrypt(properties: Any) -> bytes:
        asked.append((properties.symmetric_key, properties.body))
        return b"clear!"

    scene = Scene(decrypt=decrypt)
    message = scene.sent(**ENCRYPTED)
    assert asked == [(b"key", b"secret")]
    assert message.properties.body == b"clear!"
    assert decode(message.packet, as_="user_message").message_properties_header.message_body == b"clear!"


@pytest.mark.rule("MQMP-3.1.5.2-98")
def test_a_body_for_an_outgoing_queue_stays_encrypted() -> None:
    scene = Scene(decrypt=lambda _: b"clear!")
    handle = scene.open(SEND, name="DIRECT=OS:elsewhere\\private$\\q").handle
    assert scene.send(sending(**ENCRYPTED), handle).status == Status.MQ_OK
    (queue,) = scene.manager.outgoing_queue_collection.values()
    (slot,) = queue.message_position_list
    assert (slot.message_reference.properties.body, labels(queue)) == (b"secret", ["a"])


@pytest.mark.rule("MQMP-3.1.5.2-97")
def test_what_cannot_be_decrypted_is_not_sent(scene: Scene) -> None:
    assert scene.send(sending(**ENCRYPTED)).status == CORRUPTED
    assert labels(scene.queue) == []


@pytest.mark.rule("MQMP-3.1.5.2-102")
def test_a_full_queue_takes_nothing(scene: Scene) -> None:
    scene.queue.quota = 0
    answer = scene.send()
    assert answer.status == Status.MQ_ERROR_INSUFFICIENT_RESOURCES
    assert (answer.response.p_message_id, labels(scene.queue)) == (ROOM, [])


def test_every_queue_of_several_gets_the_message(scene: Scene) -> None:
    other = make_queue(scene.manager, "other")
    place = scene.open(SEND, name=f"{format_name(scene.queue)},{format_name(other)}")
    assert scene.send(sending(**body(b"x", "a")), place.handle).status == Status.MQ_OK
    assert (labels(scene.queue), labels(other)) == (["a"], ["a"])


@pytest.mark.rule("MQMP-2.2.3.2-34")
def test_messages_of_one_priority_stand_as_they_were_sent(scene: Scene) -> None:
    place = scene.open(SEND)
    for label, priority in [("a", 3), ("b", 7), ("c", 3)]:
        scene.send(sending(p_priority=priority, **body(b"", label)), place.handle)
    assert labels(scene.queue) == ["b", "a", "c"]


@pytest.mark.rule("MQMP-2.2.3.2-54", "MQMP-2.2.3.2-56")
def test_times_count_from_the_send(scene: Scene) -> None:
    message = scene.sent(ul_absolute_time_to_queue=20, ul_relative_time_to_live=10)
    packet = decode(message.packet, as_="user_message")
    assert packet.base_header.time_to_reach_queue == 20
    assert (packet.user_header.time_to_be_received, packet.user_header.sent_time) == (10, START)
    pass_time(scene.manager, 9_999)
    assert states(scene.queue) == ["Available"]
    pass_time(scene.manager, 1)
    assert states(scene.queue) == []


def test_a_pointer_to_nothing_is_as_good_as_null() -> None:
    message = Scene().sent(pp_connector_type=NULL_POINTEE, pp_body=NULL_POINTEE, pp_title=NULL_POINTEE)
    assert (message.properties.connector_type_identifier, message.properties.body) == (None, None)
