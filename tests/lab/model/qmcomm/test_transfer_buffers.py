"""The table between messages and buffers, both ways, row by row. [MS-MQMP] 2.2.3.2, 2.2.3.3, 3.1.1.11"""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.qmcomm.transfer_buffers import filled_buffer, properties_to_receive
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import TRANSLATIONS, MessageProperties, member_at, message_properties
from msmq_wire.rpc.types.queue_format import ObjectId, QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.qmcomm2_scene import Scene, body_room, receiving, sending
from tests.lab.model.scene import START, make_packet, make_queue, pass_time, put
from tests.rules import rule_table

SOME = GUID(b"some identifier.")
NAME = "DIRECT=OS:host\\private$\\answers"
QUEUE = QueueFormat.of(FormatName.parse(NAME))
IDENTIFIER = ObjectId(lineage=SOME, uniquifier=7)


def value_of(member: str) -> Any:
    """What lies in a room before it is filled."""
    return {
        "pp_message_id": ObjectId(),
        "pp_xact_id": ObjectId(),
        "pp_correlation_id": bytes(20),
        "pp_src_qmid": SOME,
        "pp_connector_type": SOME,
    }.get(member, 0xDB)


def given_back(member: str, properties: MessageProperties) -> Any:
    """A member of the buffer that a message was put into."""
    outer = member in ("pb_first_in_xact", "pb_last_in_xact", "pp_xact_id")
    wanted = {member: value_of(member)}
    buffer = receiving(outer=wanted) if outer else receiving(**wanted)
    status, filled = filled_buffer(buffer, properties)
    assert status == Status.MQ_OK
    return getattr(filled if outer else filled.old, member)


def having(attribute: str, value: Any) -> MessageProperties:
    """A message with one attribute."""
    return MessageProperties(**{attribute: value})


def octets(attribute: str, member: str, size: str, length: str, **more: Any) -> tuple[Any, ...]:
    """A row of SIZED for a member of six octets."""
    to_send = {member: b"octets", size: 6, **more}
    room = {member: bytes(6), size: 6, length: 0}
    return attribute, b"octets", to_send, room, f"old.{member}", f"old.{length}"


def sent(**old: Any) -> MessageProperties:
    """What a message that is sent is."""
    return message_properties(sending(**old))


Table: TypeAlias = dict[tuple[str, str], dict[Any, str]]


def rows(table: Table) -> list[Any]:
    """Member, attribute and value, with the rules of the value before them."""
    return [(rules, *names, value) for names, values in table.items() for value, rules in values.items()]


# Sent and received alike: the values of a member and an attribute.
BOTH: Table = {
    ("p_class", "message_class"): {
        0x0000: "MQMP-2.2.3.2-9 MQMP-3.1.1.11-15 MQMP-3.1.5.3-99",
        0x0001: "MQMP-2.2.3.2-10",
        0x0002: "MQMP-2.2.3.2-11",
        0x4000: "MQMP-2.2.3.2-12",
        0x8000: "MQMP-2.2.3.2-13",
        0x8001: "MQMP-2.2.3.2-14",
        0x8002: "MQMP-2.2.3.2-15",
        0x8003: "MQMP-2.2.3.2-16",
        0x8004: "MQMP-2.2.3.2-17",
        0x8005: "MQMP-2.2.3.2-18",
        0x8006: "MQMP-2.2.3.2-19",
        0x8007: "MQMP-2.2.3.2-20",
        0x8009: "MQMP-2.2.3.2-21",
        0x800A: "MQMP-2.2.3.2-22",
        0x800B: "MQMP-2.2.3.2-23",
        0xC000: "MQMP-2.2.3.2-24",
        0xC001: "MQMP-2.2.3.2-25",
        0xC002: "MQMP-2.2.3.2-26",
        0xC004: "MQMP-2.2.3.2-27",
        0x00FF: "MQMP-2.2.3.2-28",
        0x1234: "MQMP-2.2.3.2-29",
    },
    ("pp_correlation_id", "correlation_identifier"): {
        bytes(range(20)): "MQMP-2.2.3.2-30 MQMP-3.1.1.11-17 MQMP-3.1.5.3-101"
    },
    ("p_priority", "priority"): {5: "MQMP-3.1.1.11-20 MQMP-3.1.5.3-104"},
    ("p_delivery", "delivery_guarantee"): {
        0: "MQMP-2.2.3.2-35 MQMP-3.1.1.11-21 MQMP-3.1.5.3-105",
        1: "MQMP-2.2.3.2-36",
    },
    ("p_acknowledge", "acknowledgements_requested"): {
        0x00: "MQMP-2.2.3.2-38 MQMP-3.1.1.11-22 MQMP-3.1.5.3-106",
        0x01: "MQMP-2.2.3.2-39",
        0x02: "MQMP-2.2.3.2-40",
        0x04: "MQMP-2.2.3.2-41",
        0x05: "MQMP-2.2.3.2-42",
        0x08: "MQMP-2.2.3.2-43",
        0x0C: "MQMP-2.2.3.2-44",
        0x0E: "MQMP-2.2.3.2-45",
    },
    ("p_application_tag", "application_tag"): {
        0xDEADBEEF: "MQMP-2.2.3.2-52 MQMP-3.1.1.11-24 MQMP-3.1.5.3-108"
    },
    ("p_trace", "tracing_requested"): {
        False: "MQMP-2.2.3.2-58 MQMP-3.1.1.11-36 MQMP-3.1.5.3-111",
        True: "MQMP-2.2.3.2-59",
    },
    ("pul_sender_id_type", "sender_identifier_type"): {
        0: "MQMP-2.2.3.2-61 MQMP-3.1.1.11-37 MQMP-3.1.5.3-117",
        1: "MQMP-2.2.3.2-62",
        2: "MQMP-2.2.3.2-63",
    },
    ("pul_priv_level", "privacy_level"): {
        0: "MQMP-2.2.3.2-66 MQMP-3.1.1.11-40 MQMP-3.1.5.3-112",
        1: "MQMP-2.2.3.2-67",
    },
    ("pul_hash_alg", "hash_algorithm"): {
        0x8001: "MQMP-2.2.3.2-76 MQMP-3.1.1.11-42 MQMP-3.1.5.3-114",
        0x8002: "MQMP-2.2.3.2-77",
        0x8003: "MQMP-2.2.3.2-78",
        0x8004: "MQMP-2.2.3.2-79",
        0x800C: "MQMP-2.2.3.2-80",
        0x800E: "MQMP-2.2.3.2-81",
    },
    ("pul_encrypt_alg", "encryption_algorithm"): {
        0x6602: "MQMP-2.2.3.2-82 MQMP-3.1.1.11-43 MQMP-3.1.5.3-115",
        0x6801: "MQMP-2.2.3.2-83",
    },
    ("pul_prov_type", "authentication_provider_type"): {24: "MQMP-3.1.1.11-50 MQMP-3.1.5.3-116"},
    ("pp_connector_type", "connector_type_identifier"): {
        GUID(b"another one....."): "MQMP-3.1.1.11-62 MQMP-3.1.5.3-119"
    },
    ("pul_body_type", "body_type"): {
        0x1F: "MQMP-3.1.1.11-63 MQMP-3.1.5.3-120",
        0xBAD: "MQMP-2.2.3.2-88",
    },
}


@rule_table("member, attribute, value", *rows(BOTH))
def test_a_member_is_an_attribute_both_ways(member: str, attribute: str, value: Any) -> None:
    assert getattr(sent(**{member: value}), attribute) == value
    assert given_back(member, having(attribute, value)) == value


@pytest.mark.rule("MQMP-2.2.3.2-68")
def test_the_second_privacy_level_is_3_in_the_message() -> None:
    assert sent(pul_priv_level=2).privacy_level == 3
    assert given_back("pul_priv_level", MessageProperties(privacy_level=3)) == 2


@rule_table(
    "value, journal, dead_letter",
    ("MQMP-2.2.3.2-47 MQMP-3.1.1.11-23 MQMP-3.1.5.3-107", 0, False, False),
    ("MQMP-2.2.3.2-48", 1, False, True),
    ("MQMP-2.2.3.2-49", 2, True, False),
    ("MQMP-2.2.3.2-50", 3, True, True),
)
def test_one_member_says_which_copies_are_kept(value: int, journal: bool, dead_letter: bool) -> None:
    properties = sent(p_auditing=value)
    assert properties.positive_journaling_requested is journal
    assert properties.negative_journaling_requested is dead_letter
    kept = MessageProperties(positive_journaling_requested=journal, negative_journaling_requested=dead_letter)
    assert given_back("p_auditing", kept) == value


# Received only.
RECEIVED: Table = {
    ("pp_message_id", "identifier"): {IDENTIFIER: "MQMP-3.1.1.11-16 MQMP-3.1.5.3-100"},
    ("p_sent_time", "sent_time"): {START: "MQMP-2.2.3.2-32 MQMP-3.1.1.11-18 MQMP-3.1.5.3-102"},
    ("p_arrived_time", "arrival_time"): {START: "MQMP-3.1.1.11-19 MQMP-3.1.5.3-103"},
    ("pul_relative_time_to_queue", "time_to_reach_queue"): {9: "MQMP-3.1.1.11-33 MQMP-3.1.5.3-109"},
    ("pul_relative_time_to_live", "time_to_be_received"): {9: "MQMP-3.1.1.11-35 MQMP-3.1.5.3-110"},
    ("p_authenticated", "authentication_level"): {
        0: "MQMP-2.2.3.2-71 MQMP-3.1.1.11-41 MQMP-3.1.5.3-113",
        1: "MQMP-2.2.3.2-72",
        3: "MQMP-2.2.3.2-73",
        5: "MQMP-2.2.3.2-74",
        9: "MQMP-2.2.3.2-75",
    },
    ("pp_src_qmid", "source_machine_identifier"): {SOME: "MQMP-3.1.1.11-58 MQMP-3.1.5.3-118"},
    ("pb_first_in_xact", "first_in_transaction"): {True: "MQMP-3.1.1.11-64 MQMP-3.1.5.3-122 MQMP-2.2.3.3-1"},
    ("pb_last_in_xact", "last_in_transaction"): {True: "MQMP-3.1.1.11-65 MQMP-3.1.5.3-123 MQMP-2.2.3.3-2"},
    ("pp_xact_id", "transaction_identifier"): {
        IDENTIFIER: "MQMP-3.1.1.11-66 MQMP-3.1.5.3-124 MQMP-2.2.3.3-3"
    },
}


@rule_table(
    "member, attribute, value",
    *rows(RECEIVED),
    pytest.param("", "pb_first_in_xact", "first_in_transaction", False, id="not the first one"),
    pytest.param("", "pb_last_in_xact", "last_in_transaction", False, id="not the last one"),
)
def test_an_attribute_is_given_back(member: str, attribute: str, value: Any) -> None:
    assert given_back(member, having(attribute, value)) == value
    assert filled_buffer(receiving(), having(attribute, value)) == (Status.MQ_OK, receiving())


@pytest.mark.rule("MQMP-3.1.5.3-121", "MQMP-2.2.3.2-89")
def test_the_version_is_that_of_the_packets() -> None:
    assert given_back("pul_version", MessageProperties()) == 0x10
    assert filled_buffer(receiving(), MessageProperties())[1].old.pul_version is None


TEXT = WcharText("text".encode("utf-16-le"))

# Sized: attribute, its value, what is sent, the room to receive, the member and the length in the answer.
SIZED = [
    (
        "MQMP-3.1.1.11-25 MQMP-3.1.1.11-26 MQMP-3.1.1.11-27 MQMP-3.1.1.11-28",
        "body",
        b"octets",
        {"pp_body": b"octets", "ul_body_buffer_size_in_bytes": 6, "ul_alloc_body_buffer_in_bytes": 6},
        body_room(6),
        "old.pp_body",
        "old.p_body_size",
    ),
    (
        "MQMP-3.1.1.11-29 MQMP-3.1.1.11-30 MQMP-3.1.1.11-31",
        "label",
        TEXT,
        {"pp_title": TEXT, "ul_title_buffer_size_in_wchars": 4},
        {"pp_title": TEXT, "ul_title_buffer_size_in_wchars": 9, "pul_title_buffer_size_in_wchars": 9},
        "old.pp_title",
        "old.pul_title_buffer_size_in_wchars",
    ),
    (
        "MQMP-3.1.1.11-38 MQMP-3.1.1.11-39 MQMP-3.1.1.11-54",
        *octets(
            "sender_identifier",
            "pp_sender_id",
            "u_sender_id_len",
            "pul_sender_id_len_prop",
            pul_sender_id_type=1,
        ),
    ),
    (
        "MQMP-3.1.1.11-44 MQMP-3.1.1.11-45 MQMP-3.1.1.11-46",
        *octets("sender_certificate", "pp_sender_cert", "ul_sender_cert_len", "pul_sender_cert_len_prop"),
    ),
    (
        "MQMP-3.1.1.11-47 MQMP-3.1.1.11-48 MQMP-3.1.1.11-49 MQMP-2.2.3.2-84",
        "authentication_provider_name",
        TEXT,
        {"ppwcs_prov_name": WcharText(TEXT + bytes(2)), "ul_prov_name_len": 5},
        {"ppwcs_prov_name": WcharText(bytes(10)), "ul_prov_name_len": 5, "pul_auth_prov_name_len_prop": 0},
        "old.ppwcs_prov_name",
        "old.pul_auth_prov_name_len_prop",
    ),
    (
        "MQMP-3.1.1.11-51 MQMP-3.1.1.11-52 MQMP-3.1.1.11-53",
        *octets("symmetric_key", "pp_symm_keys", "ul_symm_keys_size", "pul_symm_keys_size_prop"),
    ),
    (
        "MQMP-3.1.1.11-55 MQMP-3.1.1.11-56 MQMP-3.1.1.11-57",
        *octets("signature", "pp_signature", "ul_signature_size", "pul_signature_size_prop"),
    ),
    (
        "MQMP-3.1.1.11-59 MQMP-3.1.1.11-60 MQMP-3.1.1.11-61",
        *octets("extension", "pp_msg_extension", "ul_msg_extension_buffer_in_bytes", "p_msg_extension_size"),
    ),
]


@rule_table("attribute, value, to_send, room, member, length", *SIZED)
def test_a_sized_member_is_an_attribute_both_ways(
    attribute: str, value: bytes, to_send: dict[str, Any], room: dict[str, Any], member: str, length: str
) -> None:
    assert getattr(sent(**to_send), attribute) == value
    status, filled = filled_buffer(receiving(**room), having(attribute, value))
    content = value + bytes(2) if isinstance(value, WcharText) else value
    unit = 2 if isinstance(value, WcharText) else 1
    assert status == Status.MQ_OK
    assert (member_at(filled, member), member_at(filled, length)) == (content, len(content) // unit)
    assert getattr(message_properties(filled), attribute) == value


@rule_table(
    "attribute, queue",
    (
        "MQMP-3.1.1.11-3 MQMP-3.1.1.11-4 MQMP-3.1.1.11-5 MQMP-2.2.3.2-4",
        "response_queue_format_name",
        "response",
    ),
    ("MQMP-3.1.1.11-6 MQMP-3.1.1.11-7 MQMP-3.1.1.11-8", "administration_queue_format_name", "admin"),
    ("MQMP-3.1.1.11-9 MQMP-3.1.1.11-10 MQMP-3.1.1.11-11", "destination_queue_format_name", "dest"),
    (
        "MQMP-3.1.1.11-12 MQMP-3.1.1.11-13 MQMP-3.1.1.11-14",
        "transaction_status_queue_format_name",
        "ordering",
    ),
)
def test_the_name_of_a_queue_is_given_back(attribute: str, queue: str) -> None:
    length = f"pul_{queue}_format_name_len_prop"
    arm = {
        f"pp_{queue}_format_name": WcharText(b"\xdb\xdb" * 99),
        f"ul_{queue}_format_name_len": 99,
        length: 99,
    }
    status, filled = filled_buffer(receiving(arm=arm), having(attribute, NAME))
    assert status == Status.MQ_OK
    assert getattr(filled.old.arm, f"pp_{queue}_format_name") == WcharText.of(NAME)
    assert getattr(filled.old.arm, length) == len(NAME) + 1
    assert getattr(message_properties(filled), attribute) == NAME


@rule_table(
    "argument, attribute",
    ("MQMP-3.1.1.11-1", "admin", "administration_queue_format_name"),
    ("MQMP-3.1.1.11-2", "response", "response_queue_format_name"),
)
def test_the_name_of_a_queue_is_sent(argument: str, attribute: str) -> None:
    assert getattr(sent(**{argument: QUEUE}), attribute) == NAME


@pytest.mark.rule("MQMP-3.1.1.11-32", "MQMP-3.1.1.11-34")
def test_times_are_sent_as_seconds() -> None:
    properties = sent(ul_absolute_time_to_queue=20, ul_relative_time_to_live=10)
    assert (properties.time_to_reach_queue, properties.time_to_be_received) == (20, 10)


@pytest.mark.rule("MQMP-2.2.3.2-55", "MQMP-2.2.3.2-57")
def test_times_are_received_as_what_is_left_of_them() -> None:
    scene = Scene()
    scene.sent(ul_absolute_time_to_queue=20, ul_relative_time_to_live=100)
    pass_time(scene.manager, 30_000)
    answer = scene.receive(receiving(pul_relative_time_to_queue=1, pul_relative_time_to_live=1))
    old = answer.response.ptb.old
    assert (old.pul_relative_time_to_queue, old.pul_relative_time_to_live) == (0, 70)


def test_a_message_without_properties_is_read_from_its_packet() -> None:
    scene = Scene()
    message = put(scene.queue, b"content", packet=make_packet(b"content", label="its label", priority=6))
    properties = properties_to_receive(message, START)
    assert (properties.body, properties.priority) == (b"content", 6)
    assert properties.label is not None
    assert properties.label.text == "its label"
    assert properties.arrival_time == START


def test_a_message_without_a_packet_has_what_stands_in_it() -> None:
    queue = make_queue(Scene().manager, "other")
    message = ModelMessage(label="a", priority=2, message_class=0x8001, identifier=bytes(SOME) + b"\7\0\0\0")
    enqueue_message(queue, message)
    properties = properties_to_receive(message, START)
    assert (properties.priority, properties.message_class) == (2, 0x8001)
    assert (properties.identifier, properties.body) == (IDENTIFIER, None)


def test_a_pointer_to_nothing_is_no_room() -> None:
    buffer = receiving(pp_message_id=NULL_POINTEE, pp_body=NULL_POINTEE)
    assert filled_buffer(buffer, MessageProperties(body=b"x", identifier=IDENTIFIER)) == (
        Status.MQ_OK,
        buffer,
    )


@given(st.sampled_from([one for one in TRANSLATIONS if one.received and not one.room]))
def test_what_a_message_lacks_is_given_back_as_nothing(row: Any) -> None:
    member = row.member.rpartition(".")[2]
    assert given_back(member, MessageProperties()) == row.absent


@pytest.mark.slow
@given(st.data())
def test_what_is_sent_is_what_is_received(data: st.DataObject) -> None:
    members: dict[str, st.SearchStrategy[Any]] = {
        "p_class": st.integers(0, 0xFFFF),
        "p_priority": st.integers(0, 7),
        "p_delivery": st.integers(0, 1),
        "p_acknowledge": st.sampled_from([0, 1, 2, 4, 5, 8, 12, 14]),
        "p_auditing": st.integers(0, 3),
        "p_application_tag": st.integers(0, 0xFFFFFFFF),
        "pul_body_type": st.integers(0, 0xFFFFFFFF),
        "pp_correlation_id": st.binary(min_size=20, max_size=20),
        "pp_connector_type": st.binary(min_size=16, max_size=16).map(GUID),
    }
    given_members: dict[str, Any] = {name: data.draw(values) for name, values in members.items()}
    content = data.draw(st.binary(max_size=300))
    scene = Scene()
    scene.sent(
        pp_body=content,
        ul_body_buffer_size_in_bytes=len(content),
        ul_alloc_body_buffer_in_bytes=len(content),
        **given_members,
    )
    answer = scene.receive(receiving(**body_room(300), **given_members))
    old = answer.response.ptb.old
    assert answer.status == Status.MQ_OK
    assert old.pp_body[: old.p_body_size] == content
    assert {name: getattr(old, name) for name in members} == given_members
