"""A server that gives another message than was sent is found, with the rule of what is different."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.qmcomm2_scene import ROOM, body, body_room, receiving, sending
from tests.replay.servers import Servers, rules
from tests.replay.test_answers import in_arm, in_buffer, put
from tests.replay.test_refusals import named, public_name

_PEEK = 0x80000000
_TEXT_ROOM: dict[str, Any] = {
    "pp_title": WcharText(bytes(60)),
    "ul_title_buffer_size_in_wchars": 30,
    "pul_title_buffer_size_in_wchars": 30,
}
_OCTET_ROOM: dict[str, Any] = {
    "pp_msg_extension": bytes(20),
    "ul_msg_extension_buffer_in_bytes": 20,
    "p_msg_extension_size": 20,
    "pp_sender_id": bytes(20),
    "u_sender_id_len": 20,
    "pul_sender_id_len_prop": 20,
    "ppwcs_prov_name": WcharText(bytes(40)),
    "ul_prov_name_len": 20,
    "pul_auth_prov_name_len_prop": 20,
    "pp_sender_cert": bytes(20),
    "ul_sender_cert_len": 20,
    "pul_sender_cert_len_prop": 20,
    "pp_symm_keys": bytes(20),
    "ul_symm_keys_size": 20,
    "pul_symm_keys_size_prop": 20,
    "pp_signature": bytes(20),
    "ul_signature_size": 20,
    "pul_signature_size_prop": 20,
}
_NUMBERS = (
    "p_class",
    "p_priority",
    "p_delivery",
    "p_acknowledge",
    "p_auditing",
    "p_application_tag",
    "p_trace",
    "pul_priv_level",
    "pul_sender_id_type",
    "pul_body_type",
    "pul_version",
)
ROOM_FOR_ALL: dict[str, Any] = {
    **body_room(),
    **_TEXT_ROOM,
    **_OCTET_ROOM,
    **dict.fromkeys(_NUMBERS, 0),
    "pp_message_id": ROOM,
    "pp_correlation_id": bytes(20),
    "pp_connector_type": GUID(bytes(16)),
}
_NAMES = ("response", "admin", "dest", "ordering")
ROOM_FOR_NAMES: dict[str, Any] = {}
for _name in _NAMES:
    ROOM_FOR_NAMES |= {
        f"pp_{_name}_format_name": WcharText(bytes(200)),
        f"ul_{_name}_format_name_len": 100,
        f"pul_{_name}_format_name_len_prop": 100,
    }
FULL_MESSAGE: dict[str, Any] = {
    "p_class": 0,
    "p_priority": 5,
    "p_delivery": 1,
    "p_acknowledge": 2,
    "p_auditing": 3,
    "p_application_tag": 77,
    "p_trace": 0,
    "pul_body_type": 8,
    "pp_correlation_id": b"twenty bytes of it..",
    "pp_connector_type": GUID(b"a connector type"),
    "pp_msg_extension": b"more",
    "ul_msg_extension_buffer_in_bytes": 4,
    "pp_sender_cert": b"certificate",
    "ul_sender_cert_len": 11,
    "pp_symm_keys": b"key",
    "ul_symm_keys_size": 3,
} | body(b"the body", "label")


def exchanged(unit: GUID | None = None, *, private: bool = False, **members: Any) -> Servers:
    """A message that is sent and peeked at by who wants to know everything."""
    servers = Servers()
    name = public_name(servers) if private else servers.format()
    handle, _ = servers.open(2, p_queue_format=name)
    _, context = servers.open(p_queue_format=name)
    if unit is not None:
        members["p_uow"] = unit
        servers.call("R_QMEnlistInternalTransaction", None, p_uow=unit)
    begun = servers.calls[-1].answer.response
    buffer = sending(**members)
    servers.call("rpc_ACSendMessageEx", None, h_queue=handle, ptb=buffer, p_message_id=ROOM)
    if unit is not None:
        servers.call("R_QMCommitTransaction", None, ph_int_xact=begun.ph_int_xact)
    servers.wait(10)
    wanted = receiving(_PEEK, arm=ROOM_FOR_NAMES, **ROOM_FOR_ALL)
    servers.call("rpc_ACReceiveMessageEx", None, h_qm_context=context, ptb=wanted)
    assert servers.calls[-1].answer.status == 0
    assert rules(servers.found()) == []
    return servers


def reported(servers: Servers, change: Any) -> list[str]:
    """What is found where the last answer is another."""
    call = servers.calls[-1]
    return rules(servers.found({len(servers.calls) - 1: call.records(change(call.answer.response))}))


_OF_FULL: list[tuple[str, Any]] = [
    ("MQMP-3.1.1.11-15", in_buffer(p_class=2)),
    ("MQMP-3.1.1.11-17", in_buffer(pp_correlation_id=bytes(20))),
    ("MQMP-3.1.1.11-20", in_buffer(p_priority=3)),
    ("MQMP-3.1.1.11-21", in_buffer(p_delivery=0)),
    ("MQMP-3.1.1.11-22", in_buffer(p_acknowledge=0)),
    ("MQMP-3.1.1.11-23", in_buffer(p_auditing=1)),
    ("MQMP-3.1.1.11-23", in_buffer(p_auditing=2)),
    ("MQMP-3.1.1.11-24", in_buffer(p_application_tag=0)),
    ("MQMP-3.1.1.11-25", in_buffer(pp_body=b"The body" + bytes(992))),
    ("MQMP-3.1.1.11-28", in_buffer(p_body_size=7)),
    ("MQMP-3.1.1.11-29", in_buffer(pp_title=WcharText.of("LABEL"), ul_title_buffer_size_in_wchars=6)),
    ("MQMP-3.1.1.11-36", in_buffer(p_trace=1)),
    ("MQMP-3.1.1.11-44", in_buffer(pp_sender_cert=b"certificatE" + bytes(9))),
    ("MQMP-3.1.1.11-51", in_buffer(pp_symm_keys=b"Key" + bytes(17))),
    ("MQMP-3.1.1.11-59", in_buffer(pp_msg_extension=b"less" + bytes(16))),
    ("MQMP-3.1.1.11-62", in_buffer(pp_connector_type=GUID(bytes(16)))),
    ("MQMP-3.1.1.11-63", in_buffer(pul_body_type=0)),
]
_OF_EMPTY: list[tuple[str, Any]] = [
    ("MQMP-3.1.5.2-27", in_buffer(pp_title=WcharText.of("label"), pul_title_buffer_size_in_wchars=6)),
    ("MQMP-3.1.5.2-31", in_buffer(p_msg_extension_size=4)),
    ("MQMP-3.1.5.2-33", in_buffer(p_body_size=4)),
    ("MQMP-3.1.5.2-13", in_buffer(p_priority=0)),
    ("MQMP-3.1.5.2-15", in_buffer(p_trace=1)),
    ("MQMP-3.1.5.2-18", in_buffer(pp_connector_type=GUID(b"a connector type"))),
    ("MQMP-3.1.5.2-19", in_buffer(p_delivery=1)),
    ("MQMP-3.1.5.2-21", in_buffer(p_auditing=2)),
    ("MQMP-3.1.5.2-22", in_buffer(p_class=1)),
    ("MQMP-3.1.5.2-24", in_buffer(pp_correlation_id=b"twenty bytes of it..")),
    ("MQMP-3.1.5.2-25", in_buffer(p_acknowledge=2)),
    ("MQMP-3.1.5.2-26", in_buffer(p_application_tag=7)),
    ("MQMP-3.1.5.2-37", in_buffer(pul_priv_level=1)),
    ("MQMP-3.1.5.2-44", in_buffer(pul_body_type=8)),
    ("MQMP-3.1.5.2-45", in_buffer(pp_sender_cert=bytes(20), pul_sender_cert_len_prop=5)),
    ("MQMP-3.1.5.2-51", in_buffer(pp_symm_keys=bytes(20), pul_symm_keys_size_prop=5)),
    ("MQMP-3.1.5.2-54", in_buffer(pp_signature=bytes(20), pul_signature_size_prop=5)),
]


@pytest.mark.parametrize(("rule", "change"), _OF_FULL)
def test_a_message_that_comes_otherwise_than_it_was_sent_is_found(rule: str, change: Any) -> None:
    assert rule in reported(exchanged(**FULL_MESSAGE), change)


def test_a_signature_that_comes_otherwise_is_found() -> None:
    servers = exchanged(
        pp_signature=b"signature",
        ul_signature_size=9,
        pul_hash_alg=0x8004,
        ppwcs_prov_name=WcharText.of("provider"),
        ul_prov_name_len=9,
    )
    assert "MQMP-3.1.1.11-55" in reported(servers, in_buffer(pp_signature=b"Signature" + bytes(11)))


def test_a_privacy_that_comes_otherwise_is_found() -> None:
    servers = exchanged(private=True, pul_priv_level=1, pul_encrypt_alg=0x6602)
    assert "MQMP-3.1.1.11-40" in reported(servers, in_buffer(pul_priv_level=0))


@pytest.mark.parametrize(("rule", "change"), _OF_EMPTY)
def test_a_message_that_does_not_have_what_is_due_by_default_is_found(rule: str, change: Any) -> None:
    assert rule in reported(exchanged(), change)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("MQMP-2.2.3.2-33", in_buffer(p_priority=5)),
        ("MQMP-3.1.5.2-20", in_buffer(p_delivery=0)),
    ],
)
def test_a_message_of_a_transaction_that_is_as_another_is_found(rule: str, change: Any) -> None:
    assert rule in reported(exchanged(unit=GUID(b"one transaction."), p_priority=5), change)


@pytest.mark.parametrize(
    ("rule", "queue"),
    [("MQMP-3.1.5.2-7", "admin"), ("MQMP-3.1.5.2-9", "response")],
    ids=["admin", "response"],
)
def test_a_queue_that_nobody_named_is_found(rule: str, queue: str) -> None:
    name = WcharText.of("DIRECT=OS:x\\q")
    more = {
        f"pp_{queue}_format_name": name,
        f"ul_{queue}_format_name_len": len(name) // 2,
        f"pul_{queue}_format_name_len_prop": len(name) // 2,
    }
    assert rule in reported(exchanged(), in_arm(**more))


@pytest.mark.parametrize(
    ("rule", "queue"),
    [("MQMP-3.1.1.11-1", "admin"), ("MQMP-3.1.1.11-2", "response")],
    ids=["admin", "response"],
)
def test_a_queue_that_is_lost_is_found(rule: str, queue: str) -> None:
    members: dict[str, Any] = {queue: named("DIRECT=OS:host\\private$\\bills")}
    servers = exchanged(**members)
    less = {
        f"pp_{queue}_format_name": WcharText(),
        f"ul_{queue}_format_name_len": 0,
        f"pul_{queue}_format_name_len_prop": 0,
    }
    assert rule in reported(servers, in_arm(**less))


_LENGTHS: list[tuple[str, Any]] = [
    ("MQMP-3.1.5.3-56", in_buffer(ul_title_buffer_size_in_wchars=29)),
    ("MQMP-3.1.5.3-57", in_buffer(pul_title_buffer_size_in_wchars=None)),
    ("MQMP-3.1.5.3-57", in_buffer(pul_title_buffer_size_in_wchars=9, ul_title_buffer_size_in_wchars=9)),
    ("MQMP-3.1.5.3-59", in_buffer(pul_title_buffer_size_in_wchars=31)),
    ("MQMP-3.1.5.3-60", in_buffer(pp_title=NULL_POINTEE)),
    ("MQMP-3.1.5.3-60", in_buffer(pp_title=WcharText("labels".encode("utf-16-le")))),
    ("MQMP-3.1.5.3-47", in_buffer(pp_body=NULL_POINTEE)),
    ("MQMP-3.1.5.3-63", in_buffer(p_msg_extension_size=21)),
    ("MQMP-3.1.5.3-64", in_buffer(pp_msg_extension=NULL_POINTEE)),
    ("MQMP-3.1.5.3-67", in_buffer(p_msg_extension_size=None)),
    ("MQMP-3.1.5.3-72", in_buffer(pul_sender_id_len_prop=21)),
    ("MQMP-3.1.5.3-73", in_buffer(pp_sender_id=NULL_POINTEE, pul_sender_id_len_prop=5)),
    ("MQMP-3.1.5.3-74", in_buffer(pul_sender_id_len_prop=None)),
    ("MQMP-3.1.5.3-76", in_buffer(pul_auth_prov_name_len_prop=21)),
    ("MQMP-3.1.5.3-77", in_buffer(ppwcs_prov_name=NULL_POINTEE, pul_auth_prov_name_len_prop=5)),
    ("MQMP-3.1.5.3-79", in_buffer(pul_auth_prov_name_len_prop=None)),
    (
        "MQMP-3.1.5.3-79",
        in_buffer(ppwcs_prov_name=WcharText.of("provider"), pul_auth_prov_name_len_prop=5),
    ),
    ("MQMP-3.1.5.3-82", in_buffer(pul_sender_cert_len_prop=21)),
    ("MQMP-3.1.5.3-83", in_buffer(pp_sender_cert=NULL_POINTEE)),
    ("MQMP-3.1.5.3-85", in_buffer(pul_sender_cert_len_prop=None)),
    ("MQMP-3.1.5.3-88", in_buffer(pul_symm_keys_size_prop=21)),
    ("MQMP-3.1.5.3-89", in_buffer(pp_symm_keys=NULL_POINTEE, pul_symm_keys_size_prop=5)),
    ("MQMP-3.1.5.3-91", in_buffer(pul_symm_keys_size_prop=None)),
    ("MQMP-3.1.5.3-94", in_buffer(pul_signature_size_prop=21)),
    ("MQMP-3.1.5.3-95", in_buffer(pp_signature=NULL_POINTEE, pul_signature_size_prop=5)),
    ("MQMP-3.1.5.3-97", in_buffer(pul_signature_size_prop=None)),
    ("MQMP-2.2.3.2-89", in_buffer(pul_version=17)),
]
for _first, _name in zip((16, 24, 32, 40), _NAMES, strict=True):
    _reported, _text = f"pul_{_name}_format_name_len_prop", f"pp_{_name}_format_name"
    _LENGTHS += [
        (f"MQMP-3.1.5.3-{_first}", in_arm(**{f"ul_{_name}_format_name_len": 99})),
        (f"MQMP-3.1.5.3-{_first + 1}", in_arm(**{_reported: None})),
        (f"MQMP-3.1.5.3-{_first + 3}", in_arm(**{_reported: 101})),
        (f"MQMP-3.1.5.3-{_first + 4}", in_arm(**{_reported: 9, _text: NULL_POINTEE})),
    ]


@pytest.mark.parametrize(("rule", "change"), _LENGTHS)
def test_a_length_that_contradicts_its_room_or_its_content_is_found(rule: str, change: Any) -> None:
    assert rule in reported(exchanged(**FULL_MESSAGE), change)


def test_another_message_is_not_compared() -> None:
    other = ObjectId(lineage=GUID(b"another machine."), uniquifier=1)
    assert reported(exchanged(**FULL_MESSAGE), in_buffer(pp_message_id=other, p_priority=0)) == []


def test_a_message_in_another_queue_is_not_compared() -> None:
    servers = exchanged(**FULL_MESSAGE)
    call = servers.calls[-1]
    servers.calls[-1] = msgspec.structs.replace(call, queue="DIRECT=OS:host\\system$;deadletter")
    assert reported(servers, in_buffer(p_class=0x8000)) == []


def test_an_identifier_that_is_given_twice_is_found() -> None:
    servers = Servers()
    handle, _ = servers.open(2)
    for _ in range(2):
        servers.call("rpc_ACSendMessageEx", None, h_queue=handle, ptb=sending(), p_message_id=ROOM)
        servers.wait(10)
    first = servers.calls[-2].answer.response.p_message_id
    assert reported(servers, put(p_message_id=first)) == ["MQMP-3.1.5.2-94"]
