"""A server that grants what its parameters alone forbid is found, with the rule that forbids it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc2
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.qmcomm2_scene import receiving, sending
from tests.replay.servers import LOOKUP, START, START2, Servers, rules

_ELSEWHERE = QueueFormat.of(FormatName.parse("DIRECT=OS:elsewhere\\private$\\far"))
_ASK = {"lplp_remote_queue_name": NULL_POINTEE}
_EMPTY_QUEUE = ObjectFormat(arm=QueueFormat())


def named(text: str) -> QueueFormat:
    """The QUEUE_FORMAT of a format name."""
    return QueueFormat.of(FormatName.parse(text))


def queue_object(servers: Servers) -> ObjectFormat:
    """The OBJECT_FORMAT of the first queue."""
    return ObjectFormat(arm=servers.format())


def properties(*pairs: tuple[int, int, Any]) -> dict[str, Any]:
    """Properties by number, type and value."""
    return {
        "cp": len(pairs),
        "a_prop": tuple(number for number, _, _ in pairs),
        "ap_var": tuple(PropVariant(vt=vt, arm=value) for _, vt, value in pairs),
    }


_LABEL = (108, 31, WcharText.of("label"))
_CREATE = {"lpwcs_path_name": WcharText.of(".\\private$\\new")} | properties(_LABEL)
_PLAIN: dict[str, dict[str, Any]] = {
    "R_QMCreateObjectInternal": _CREATE,
    "rpc_QMOpenQueueInternal": {"dw_desired_access": 1} | _ASK,
    "R_QMOpenRemoteQueue": {"dw_desired_access": 1},
    "R_QMSetObjectSecurityInternal": {"security_information": 4},
    "R_QMGetObjectSecurityInternal": {"requested_information": 4, "n_length": 400},
    "R_QMGetObjectProperties": properties((108, 1, None)),
    "R_QMSetObjectProperties": properties(_LABEL),
    "R_QMObjectPathToObjectFormat": {
        "lpwcs_path_name": WcharText.of(".\\private$\\orders"),
        "p_object_format": _EMPTY_QUEUE,
    },
}
"""What a request has that is not about the rule."""
_OF_QUEUES = ("rpc_QMOpenQueueInternal", "R_QMOpenRemoteQueue")
_OF_OBJECTS = (
    "R_QMSetObjectSecurityInternal",
    "R_QMGetObjectSecurityInternal",
    "R_QMDeleteObject",
    "R_QMGetObjectProperties",
    "R_QMSetObjectProperties",
)

_NO_QUEUE = QueueFormat(m_qft=3, arm=WcharText.of("no name"))
_NO_PATH = WcharText.of(".\\private$\\a,b")
_NO_DESCRIPTOR = {"p_security_descriptor": b"no descriptor at all", "sd_size": 20}
_BAD: list[tuple[str, str, dict[str, Any]]] = [
    ("MQQP-3.1.4.2-3", "RemoteQMEndReceive", {"pph_context": "receive", "dw_ack": 3}),
    ("MQQP-3.1.4.3-1", "RemoteQMOpenQueue", {"dw_mqs": 17, "p_queue": 1, "dwp_context": 1}),
    ("MQQP-3.1.4.3-5", "RemoteQMOpenQueue", {"p_queue": 0, "dwp_context": 1}),
    ("MQQP-3.1.4.3-6", "RemoteQMOpenQueue", {"p_queue": 1, "dwp_context": 0}),
    ("MQQP-3.1.4.3-7", "RemoteQMOpenQueue", {"p_queue": 1, "dwp_context": 2}),
    ("MQQP-3.1.4.6-1", "RemoteQMCancelReceive", {"h_queue": 1, "p_queue": 0}),
    ("MQQP-3.1.4.6-2", "RemoteQMCancelReceive", {"h_queue": 1, "p_queue": 2}),
    ("MQQP-3.1.4.6-3", "RemoteQMCancelReceive", {"h_queue": 0, "p_queue": 2}),
    ("MQQP-3.1.4.10-5", START2, {"lp_remote_read_desc2": RemoteReadDesc2()}),
    ("MQQP-3.1.4.11-3", LOOKUP, {"lp_remote_read_desc2": RemoteReadDesc2()}),
    ("MQMP-3.1.4.1-3", "R_QMGetRemoteQueueName", {"lplp_remote_queue_name": WcharText.of("a name")}),
    ("MQMP-3.1.5.1-3", "QMSendMessageInternalEx", {"p_queue_format": QueueFormat(), "ptb": sending()}),
    ("MQMP-3.1.4.2-3", "R_QMOpenRemoteQueue", {"p_queue_format": None}),
    ("MQMP-3.1.4.2-4", "R_QMOpenRemoteQueue", {"p_queue_format": _NO_QUEUE}),
    (
        "MQMP-3.1.4.2-6",
        "R_QMOpenRemoteQueue",
        {"p_queue_format": msgspec.structs.replace(_ELSEWHERE, m_suffix_and_flags=0x05)},
    ),
    ("MQMP-3.1.5.1-3", "QMSendMessageInternalEx", {"p_queue_format": _NO_QUEUE, "ptb": sending()}),
    ("MQMP-3.1.4.5-4", "R_QMCreateObjectInternal", {"lpwcs_path_name": _NO_PATH}),
    ("MQMP-3.1.4.8-6", "R_QMDeleteObject", {"p_object_format": ObjectFormat(arm=_NO_QUEUE)}),
    ("MQMP-3.1.4.11-3", "R_QMObjectPathToObjectFormat", {"lpwcs_path_name": _NO_PATH}),
    ("MQMP-3.1.4.2-5", "R_QMOpenRemoteQueue", {"p_queue_format": QueueFormat()}),
    ("MQMP-3.1.4.2-8", "R_QMOpenRemoteQueue", {"p_queue_format": named(f"DL={GUID(bytes(15) + b'1')}")}),
    ("MQMP-3.1.4.2-9", "R_QMOpenRemoteQueue", {"p_queue_format": named("MULTICAST=234.1.1.1:8001")}),
    ("MQMP-3.1.4.2-10", "R_QMOpenRemoteQueue", {"p_queue_format": named("DIRECT=HTTP://host/msmq/orders")}),
    ("MQMP-3.1.4.2-14", "R_QMOpenRemoteQueue", {"dw_desired_access": 2}),
    ("MQMP-3.1.4.2-14", "R_QMOpenRemoteQueue", {"dw_desired_access": 0x21}),
    ("MQMP-3.1.4.2-15", "R_QMOpenRemoteQueue", {"dw_share_mode": 2}),
    ("MQMP-3.1.4.5-3", "R_QMCreateObjectInternal", {"dw_object_type": 2}),
    ("MQMP-3.1.4.5-5", "R_QMCreateObjectInternal", {"lpwcs_path_name": WcharText.of("host\\public")}),
    ("MQMP-3.1.4.5-8", "R_QMCreateObjectInternal", {"sd_size": 524_289}),
    ("MQMP-3.1.4.5-9", "R_QMCreateObjectInternal", {"sd_size": 20}),
    ("MQMP-3.1.4.5-10", "R_QMCreateObjectInternal", _NO_DESCRIPTOR),
    ("MQMP-3.1.4.5-11", "R_QMCreateObjectInternal", properties()),
    ("MQMP-3.1.4.5-11", "R_QMCreateObjectInternal", properties(*[_LABEL] * 129)),
    ("MQMP-3.1.4.5-12", "R_QMCreateObjectInternal", {"cp": 2}),
    ("MQMP-3.1.4.5-13", "R_QMCreateObjectInternal", properties((1103, 31, WcharText.of("x")))),
    ("MQMP-3.1.4.5-14", "R_QMCreateObjectInternal", properties((109, 3, 5))),
    ("MQMP-3.1.4.5-15", "R_QMCreateObjectInternal", properties((104, 19, 1))),
    ("MQMP-3.1.4.5-16", "R_QMCreateObjectInternal", properties((104, 17, 2))),
    ("MQMP-3.1.4.5-16", "R_QMCreateObjectInternal", properties((108, 31, WcharText.of("x" * 125)))),
    ("MQMP-3.1.4.6-6", "R_QMSetObjectSecurityInternal", {"security_information": 0x10}),
    ("MQMP-3.1.4.6-7", "R_QMSetObjectSecurityInternal", {"sd_size": 524_289}),
    ("MQMP-3.1.4.6-8", "R_QMSetObjectSecurityInternal", {}),
    ("MQMP-3.1.4.6-9", "R_QMSetObjectSecurityInternal", _NO_DESCRIPTOR),
    ("MQMP-3.1.4.7-6", "R_QMGetObjectSecurityInternal", {"requested_information": 0x10}),
    ("MQMP-3.1.4.7-7", "R_QMGetObjectSecurityInternal", {"n_length": 524_289}),
    ("MQMP-3.1.4.9-6", "R_QMGetObjectProperties", properties()),
    ("MQMP-3.1.4.9-7", "R_QMGetObjectProperties", {"cp": 2}),
    ("MQMP-3.1.4.9-8", "R_QMGetObjectProperties", properties((1103, 1, None))),
    ("MQMP-3.1.4.9-9", "R_QMGetObjectProperties", properties((108, 19, 5))),
    ("MQMP-3.1.4.10-6", "R_QMSetObjectProperties", properties()),
    ("MQMP-3.1.4.10-7", "R_QMSetObjectProperties", {"a_prop": None}),
    ("MQMP-3.1.4.10-8", "R_QMSetObjectProperties", {"cp": 2}),
    ("MQMP-3.1.4.10-9", "R_QMSetObjectProperties", properties((1103, 31, WcharText.of("x")))),
    ("MQMP-3.1.4.10-10", "R_QMSetObjectProperties", properties((113, 17, 1))),
    ("MQMP-3.1.4.10-11", "R_QMSetObjectProperties", properties((104, 19, 1))),
    ("MQMP-3.1.4.10-12", "R_QMSetObjectProperties", properties((104, 1, None))),
    ("MQMP-3.1.4.10-13", "R_QMSetObjectProperties", properties((112, 19, 3))),
    ("MQMP-3.1.4.11-4", "R_QMObjectPathToObjectFormat", {"lpwcs_path_name": WcharText.of("host\\public")}),
    ("MQMP-3.1.4.11-6", "R_QMObjectPathToObjectFormat", {"p_object_format": ObjectFormat(obj_type=2)}),
    ("MQMP-3.1.4.11-7", "R_QMObjectPathToObjectFormat", {"p_object_format": ObjectFormat()}),
    ("MQMP-3.1.4.11-8", "R_QMObjectPathToObjectFormat", {"p_object_format": ObjectFormat(arm=_ELSEWHERE)}),
    ("MQMP-3.1.4.12-2", "R_QMGetTmWhereabouts", {"cb_buf_size": 131_073}),
    ("MQMP-3.1.4.13-2", "R_QMEnlistTransaction", {"cb_cookie": 131_073, "pb_cookie": bytes(131_073)}),
    ("MQMP-3.1.4.13-3", "R_QMEnlistTransaction", {"cb_cookie": 2, "pb_cookie": b"x"}),
    ("MQMP-3.1.4.17-6", "rpc_QMOpenQueueInternal", {"p_queue_format": QueueFormat()}),
    ("MQMP-3.1.4.17-12", "rpc_QMOpenQueueInternal", {"dw_desired_access": 0x21}),
    ("MQMP-3.1.4.17-13", "rpc_QMOpenQueueInternal", {"p_queue_format": named("DIRECT=HTTP://host/msmq/q")}),
    ("MQMP-3.1.4.17-13", "rpc_QMOpenQueueInternal", {"p_queue_format": named("MULTICAST=234.1.1.1:8001")}),
    (
        "MQMP-3.1.4.17-14",
        "rpc_QMOpenQueueInternal",
        {"p_queue_format": named("DIRECT=OS:host\\private$\\orders;sub"), "dw_desired_access": 2},
    ),
    (
        "MQMP-3.1.4.17-15",
        "rpc_QMOpenQueueInternal",
        {"p_queue_format": named("DIRECT=OS:host\\system$;DEADLETTER"), "dw_desired_access": 2},
    ),
    (
        "MQMP-3.1.4.17-16",
        "rpc_QMOpenQueueInternal",
        {"dw_desired_access": 2, "h_remote_queue": 7, "dwp_queue": 7, "dwp_remote_context": 7},
    ),
    ("MQMP-3.1.4.17-17", "rpc_QMOpenQueueInternal", {"dw_share_mode": 2}),
    ("MQMP-3.1.4.17-18", "rpc_QMOpenQueueInternal", {"dw_desired_access": 2, "dw_share_mode": 1}),
    ("MQMP-3.1.4.17-23", "rpc_QMOpenQueueInternal", {"dwp_queue": 7}),
    ("MQMP-3.1.4.17-24", "rpc_QMOpenQueueInternal", {"dwp_remote_context": 7}),
    ("MQMP-3.1.4.17-25", "rpc_QMOpenQueueInternal", {"h_remote_queue": 7}),
    (
        "MQMP-3.1.4.21-3",
        "rpc_ACHandleToFormatName",
        {"dw_format_name_rpc_buffer_len": 524_289, "pdw_length": 524_289},
    ),
    ("MQMP-3.1.4.21-4", "rpc_ACHandleToFormatName", {"dw_format_name_rpc_buffer_len": 9, "pdw_length": 9}),
    ("MQMP-3.1.4.21-6", "rpc_ACHandleToFormatName", {"pdw_length": 9}),
    ("MQMP-3.1.4.23-2", "R_QMQueryQMRegistryInternal", {"dw_query_type": 5}),
]
_NO_QUEUE_OBJECT, _NO_QUEUE_FORMAT = ObjectFormat(obj_type=2), ObjectFormat()
_BAD += [
    (rule, method, {"p_object_format": wrong})
    for rule, method, wrong in (
        ("MQMP-3.1.4.6-4", "R_QMSetObjectSecurityInternal", _NO_QUEUE_OBJECT),
        ("MQMP-3.1.4.6-5", "R_QMSetObjectSecurityInternal", _NO_QUEUE_FORMAT),
        ("MQMP-3.1.4.7-4", "R_QMGetObjectSecurityInternal", _NO_QUEUE_OBJECT),
        ("MQMP-3.1.4.7-5", "R_QMGetObjectSecurityInternal", _NO_QUEUE_FORMAT),
        ("MQMP-3.1.4.8-4", "R_QMDeleteObject", _NO_QUEUE_OBJECT),
        ("MQMP-3.1.4.8-5", "R_QMDeleteObject", _NO_QUEUE_FORMAT),
        ("MQMP-3.1.4.9-4", "R_QMGetObjectProperties", _NO_QUEUE_OBJECT),
        ("MQMP-3.1.4.9-5", "R_QMGetObjectProperties", _NO_QUEUE_FORMAT),
        ("MQMP-3.1.4.10-4", "R_QMSetObjectProperties", _NO_QUEUE_OBJECT),
        ("MQMP-3.1.4.10-5", "R_QMSetObjectProperties", _NO_QUEUE_FORMAT),
    )
]
_SIGNED: dict[str, Any] = {
    "pp_signature": b"signature",
    "ul_signature_size": 9,
    "pul_hash_alg": 0x8004,
    "ppwcs_prov_name": WcharText.of("provider"),
    "ul_prov_name_len": 9,
}
_SENDS: list[tuple[str, dict[str, Any]]] = [
    ("MQMP-3.1.5.2-6", {"u_transfer_type": 1}),
    ("MQMP-3.1.5.2-8", {"admin": _NO_QUEUE}),
    ("MQMP-3.1.5.2-10", {"response": _NO_QUEUE}),
    ("MQMP-3.1.5.2-14", {"p_priority": 8}),
    ("MQMP-3.1.5.2-36", {"pp_body": b"12", "ul_body_buffer_size_in_bytes": 2}),
    ("MQMP-3.1.5.2-38", _SIGNED | {"pul_hash_alg": None}),
    ("MQMP-3.1.5.2-40", _SIGNED | {"pul_hash_alg": 7}),
    ("MQMP-3.1.5.2-41", {"pul_priv_level": 0}),
    ("MQMP-3.1.5.2-43", {"pul_priv_level": 1, "pul_encrypt_alg": 7}),
    ("MQMP-3.1.5.2-46", {"ul_sender_cert_len": 2}),
    ("MQMP-3.1.5.2-47", {"u_sender_id_len": 2}),
    ("MQMP-3.1.5.2-50", {"pul_sender_id_type": 1}),
    ("MQMP-3.1.5.2-52", {"ul_symm_keys_size": 2}),
    ("MQMP-3.1.5.2-55", _SIGNED | {"ppwcs_prov_name": None, "ul_prov_name_len": 0}),
    ("MQMP-3.1.5.2-59", _SIGNED | {"f_default_provider": 1}),
    ("MQMP-3.1.5.2-65", _SIGNED | {"pul_auth_prov_name_len_prop": 99}),
    ("MQMP-2.2.3.2-37", {"p_delivery": 2}),
    ("MQMP-2.2.3.2-46", {"p_acknowledge": 0x10}),
    ("MQMP-2.2.3.2-51", {"p_auditing": 4}),
    ("MQMP-2.2.3.2-60", {"p_trace": 2}),
    ("MQMP-2.2.3.2-64", {"pul_sender_id_type": 0, "pp_sender_id": b"x", "u_sender_id_len": 1}),
    ("MQMP-2.2.3.2-65", {"pul_sender_id_type": 9, "pp_sender_id": b"x", "u_sender_id_len": 1}),
    ("MQMP-2.2.3.2-69", {"pul_priv_level": 3, "pul_encrypt_alg": 0x6602}),
]
_TEXT = WcharText.of("room")
_RECEIVES: list[tuple[str, dict[str, Any]]] = [
    ("MQMP-3.1.5.3-6", {"u_transfer_type": 0}),
    ("MQMP-3.1.5.3-48", {"ul_body_buffer_size_in_bytes": 5}),
    ("MQMP-3.1.5.3-49", {"ul_alloc_body_buffer_in_bytes": 5}),
    ("MQMP-3.1.5.3-53", {"ul_title_buffer_size_in_wchars": 5}),
    (
        "MQMP-3.1.5.3-54",
        {
            "pp_title": _TEXT,
            "ul_title_buffer_size_in_wchars": 251,
            "pul_title_buffer_size_in_wchars": 251,
        },
    ),
    ("MQMP-3.1.5.3-55", {"pp_title": _TEXT, "ul_title_buffer_size_in_wchars": 5}),
    ("MQMP-3.1.5.3-62", {"ul_msg_extension_buffer_in_bytes": 5}),
]
_RECEIVES += [
    (f"MQMP-3.1.5.3-{first + more}", {"arm": {one.format(name): value for one, value in wrong.items()}})
    for name, first in (("response", 13), ("admin", 21), ("dest", 29), ("ordering", 37))
    for more, wrong in (
        (0, {"ul_{}_format_name_len": 5}),
        (1, {"ul_{}_format_name_len": 1025, "pp_{}_format_name": _TEXT}),
        (2, {"ul_{}_format_name_len": 5, "pp_{}_format_name": _TEXT}),
    )
]


def check(rule: str, make: Callable[[Servers], Any]) -> None:
    """The server refuses the last call, and is found where it does not."""
    servers = Servers()
    make(servers)
    answer = servers.calls[-1].answer
    assert answer.status != 0 or answer.fault is not None
    assert rules(servers.found()) == []
    found = [one for one in servers.found(servers.last_granted()) if str(one.rule) == rule]
    assert [one.kind for one in found] == [ReplayKind.ACTION]


@pytest.mark.parametrize(("rule", "method", "changes"), _BAD)
def test_who_grants_what_its_parameters_forbid_is_found(
    rule: str, method: str, changes: dict[str, Any]
) -> None:
    def make(servers: Servers) -> None:
        values = dict(_PLAIN.get(method, {}))
        if method in _OF_QUEUES:
            values["p_queue_format"] = servers.format()
        elif method in _OF_OBJECTS:
            values["p_object_format"] = queue_object(servers)
        elif method == "rpc_ACHandleToFormatName":
            values["h_queue"] = servers.open()[0]
        wanted = values | changes
        if "receive" in [one for one in wanted.values() if isinstance(one, str)]:
            servers.put()
            servers.read(START, servers.open_remote())
            wanted["pph_context"] = servers.clients[0].received[0]
        servers.call(method, None, **wanted)

    check(rule, make)


@pytest.mark.parametrize(("rule", "changes"), _SENDS)
def test_who_sends_what_cannot_be_sent_is_found(rule: str, changes: dict[str, Any]) -> None:
    def make(servers: Servers) -> None:
        handle, _ = servers.open(2, p_queue_format=public_name(servers))
        servers.call("rpc_ACSendMessageEx", None, h_queue=handle, ptb=sending(**changes))

    check(rule, make)


_OPEN: list[tuple[str, dict[str, Any]]] = [
    ("K4", {"pul_priv_level": 3, "pul_encrypt_alg": 0x6602}),
    ("K4", {"pul_priv_level": 5, "pul_encrypt_alg": 0x6602}),
    ("K4", {"pul_priv_level": 1, "pul_encrypt_alg": 0x6610}),
    ("C69", {"pul_priv_level": 0}),
    ("C69", {"pul_priv_level": 1}),
    ("C69", _SIGNED | {"pul_hash_alg": None}),
    ("C70", _SIGNED | {"pul_hash_alg": 0x8005}),
    ("C70", _SIGNED | {"pul_hash_alg": 0x800D}),
    ("", {"pul_priv_level": 4, "pul_encrypt_alg": 0x6602}),
    ("", {"p_acknowledge": 0x1F}),
    ("", _SIGNED | {"pul_hash_alg": 7}),
]
"""What the documents leave open by contradicting each other, and what they do not."""


@pytest.mark.parametrize(("contradiction", "changes"), _OPEN)
def test_what_documents_contradict_is_not_certain(contradiction: str, changes: dict[str, Any]) -> None:
    servers = Servers()
    handle, _ = servers.open(2, p_queue_format=public_name(servers))
    queue = servers.format()
    buffer = sending(**changes)
    for method, asked in (
        ("rpc_ACSendMessageEx", {"h_queue": handle}),
        ("QMSendMessageInternalEx", {"p_queue_format": queue}),
    ):
        servers.call(method, None, ptb=buffer, **asked)
        (found,) = servers.found(servers.last_granted())
        assert (found.contradiction, found.certain) == (contradiction, not contradiction)


@pytest.mark.parametrize("wanted", range(16))
def test_any_acknowledgments_may_be_wanted(wanted: int) -> None:
    servers = Servers()
    handle, _ = servers.open(2)
    servers.call("rpc_ACSendMessageEx", None, h_queue=handle, ptb=sending(p_acknowledge=wanted))
    assert servers.calls[-1].answer.status == 0
    assert rules(servers.found()) == []


def public_name(servers: Servers) -> QueueFormat:
    """The private format name of a queue: one that is not direct may be encrypted for."""
    queue = servers.queues[0]
    return named(f"PRIVATE={servers.manager.identifier}\\{queue.private_queue_number:x}")


@pytest.mark.parametrize(("rule", "changes"), _SENDS)
def test_who_sends_at_once_what_cannot_be_sent_is_found(rule: str, changes: dict[str, Any]) -> None:
    def make(servers: Servers) -> None:
        asked: dict[str, Any] = {"p_queue_format": servers.format(), "ptb": sending(**changes)}
        servers.call("QMSendMessageInternalEx", None, **asked)

    assert rule
    check("MQMP-3.1.5.1-6", make)


@pytest.mark.parametrize(("rule", "changes"), _RECEIVES)
def test_who_receives_into_what_cannot_hold_it_is_found(rule: str, changes: dict[str, Any]) -> None:
    def make(servers: Servers) -> None:
        _, context = servers.open()
        servers.put()
        buffer = receiving(**changes)
        servers.call("rpc_ACReceiveMessageEx", None, h_qm_context=context, ptb=buffer)

    check(rule, make)


@pytest.mark.parametrize("method", [START, START2, LOOKUP])
def test_who_takes_a_request_with_a_packet_that_is_too_large_is_found(method: str) -> None:
    def make(servers: Servers) -> None:
        servers.put()
        more: dict[str, Any] = {"ul_action": 0x40000011} if method == LOOKUP else {}
        servers.read(method, servers.open_remote(), dw_size=0x0042_0001, **more)

    check("MQQP-2.2.2.1-1", make)


def test_a_request_that_was_not_decoded_breaks_nothing() -> None:
    servers = Servers()
    servers.open()
    call = servers.calls[-1]
    request = msgspec.structs.replace(call.request, p_queue_format=msgspec.UNSET, dw_share_mode=msgspec.UNSET)
    servers.calls[-1] = msgspec.structs.replace(call, request=request, queue=None)
    assert rules(servers.found()) == []
