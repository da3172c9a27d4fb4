"""A server whose answers contradict their status, or what was asked, is found with the rule it breaks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import pytest

from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.types.cac_transfer_buffer import CACCreateRemoteCursor, CACTransferBufferV1, TransferSend
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, ObjectId, QueueFormat
from msmq_wire.rpc.types.security_descriptor import SecurityDescriptor, default_security
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.qmcomm2_scene import ROOM, body, body_room, receiving, sending
from tests.lab.model.qmcomm.scene import OtherQueueManager
from tests.replay.servers import LOOKUP, ORDERS, START, START2, Servers, rules
from tests.replay.test_refusals import named, properties, queue_object

_NULL, _HANDLE = ContextHandle(), ContextHandle(uuid=GUID(b"another handle.."))
_ELSEWHERE = named("DIRECT=OS:elsewhere\\private$\\far")
_PEEK, _LOOKUP_PEEK, _LOOKUP_RECEIVE = 0x80000000, 0x40000011, 0x40000021
Change = Callable[[Any], Any]


class Coordinator:
    """A DTC that knows where it is, and no transaction."""

    def extended_whereabouts(self) -> bytes:
        """Seven bytes."""
        return b"here it"

    def import_transaction(self, cookie: bytes) -> Any:
        """None."""
        del cookie

    def enlist(self, transaction: Any) -> bool:
        """Always."""
        return transaction is not None


@cache
def conversation() -> tuple[Servers, dict[str, int]]:
    """Every method, done well and refused; and the place of each call by a name of its own."""
    other = OtherQueueManager()
    servers = Servers(
        bind=lambda computer: other if computer == "elsewhere" else None,
        transaction_manager=Coordinator(),
        forest=GUID(b"the whole forest"),
    )
    servers.manager.directory_server_list = ("DC01",)
    places: dict[str, int] = {}

    def call(name: str, method: str, **values: Any) -> Any:
        answer = servers.call(method, None, **values)
        assert answer is not None
        places[name] = len(servers.calls) - 1
        return answer.response

    def read(name: str, method: str, **values: Any) -> Any:
        answer = servers.read(method, number, **values)
        assert answer is not None
        places[name] = len(servers.calls) - 1
        return answer.response

    handle, context = servers.open()
    places["open"] = len(servers.calls) - 1
    asked = {"p_queue_format": _ELSEWHERE, "dw_desired_access": 1, "lplp_remote_queue_name": NULL_POINTEE}
    call("open elsewhere", "rpc_QMOpenQueueInternal", **asked)
    numbers = {"h_remote_queue": 7, "dwp_queue": 8, "dwp_remote_context": 9}
    call("open far", "rpc_QMOpenQueueInternal", **asked, **numbers)
    call(
        "open nothing", "rpc_QMOpenQueueInternal", **asked | {"p_queue_format": servers.format()}, dwp_queue=1
    )
    to_send, _ = servers.open(2)
    call("send", "rpc_ACSendMessageEx", h_queue=to_send, ptb=sending(**body(b"body")), p_message_id=ROOM)
    call("send unnamed", "rpc_ACSendMessageEx", h_queue=to_send, ptb=sending())
    call("send closed", "QMSendMessageInternalEx", p_queue_format=servers.format(), ptb=sending())
    wanted = receiving(_PEEK, **body_room())
    call("receive", "rpc_ACReceiveMessageEx", h_qm_context=context, ptb=wanted)
    call("cursor", "rpc_ACCreateCursorEx", h_queue=handle, pcc=CACCreateRemoteCursor())
    room = {"dw_format_name_rpc_buffer_len": 40, "pdw_length": 40, "lpwcs_format_name": WcharText(bytes(80))}
    call("name", "rpc_ACHandleToFormatName", h_queue=handle, **room)
    small = {"dw_format_name_rpc_buffer_len": 4, "pdw_length": 4, "lpwcs_format_name": WcharText(bytes(8))}
    none = {"dw_format_name_rpc_buffer_len": 0, "pdw_length": 0, "lpwcs_format_name": None}
    call("length of name", "rpc_ACHandleToFormatName", h_queue=handle, **none)
    call("long name", "rpc_ACHandleToFormatName", h_queue=handle, **small)
    servers.queues[0].security = default_security()
    queue = queue_object(servers)
    ask = {"p_object_format": queue, "requested_information": 4}
    call("security", "R_QMGetObjectSecurityInternal", **ask, n_length=400)
    call("group", "R_QMGetObjectSecurityInternal", **ask | {"requested_information": 2}, n_length=400)
    call("no security", "R_QMGetObjectSecurityInternal", **ask | {"requested_information": 0}, n_length=400)
    call("large security", "R_QMGetObjectSecurityInternal", **ask, n_length=4)
    call("properties", "R_QMGetObjectProperties", p_object_format=queue, **properties((108, 1, None)))
    path = WcharText.of(".\\private$\\orders")
    empty = ObjectFormat(arm=QueueFormat())
    call("format", "R_QMObjectPathToObjectFormat", lpwcs_path_name=path, p_object_format=empty)
    for kind in range(5):
        call(f"registry {kind}", "R_QMQueryQMRegistryInternal", dw_query_type=kind)
    for port in (0, 1, 9):
        call(f"port {port}", "R_QMGetRTQMServerPort", f_ip=port)
    call("port of qm2qm", "RemoteQMGetQMQMServerPort", dw_port_type=4)
    call("whereabouts", "R_QMGetTmWhereabouts", cb_buf_size=7)
    call("long whereabouts", "R_QMGetTmWhereabouts", cb_buf_size=6)
    for ending in ("Commit", "Abort"):
        begun = call("enlist", "R_QMEnlistInternalTransaction", p_uow=GUID(b"one transaction."))
        call(ending, f"R_QM{ending}Transaction", ph_int_xact=begun.ph_int_xact)
    number = servers.open_remote()
    places["open for qm2qm"], places["open over qm2qm"] = len(servers.calls) - 2, len(servers.calls) - 1
    call("open badly for qm2qm", "R_QMOpenRemoteQueue", p_queue_format=servers.format(), dw_desired_access=2)
    call("open badly over qm2qm", "RemoteQMOpenQueue")
    call(
        "remote cursor",
        "R_QMCreateRemoteCursor",
        h_queue=number,
        ptb1=CACTransferBufferV1(arm=TransferSend()),
    )
    first, second = (None, None)
    read("peek", START, ul_action=_PEEK)
    read("peek 2", START2, ul_action=_PEEK)
    read("peek by lookup", LOOKUP, ul_action=_LOOKUP_PEEK)
    first = read("receive over qm2qm", START)
    second = read("receive 2", START2, dw_request_id=2)
    read("nothing", START, dw_request_id=3)
    read("nothing 2", START2, dw_request_id=4)
    read("nothing by lookup", LOOKUP, ul_action=_LOOKUP_PEEK)
    call("end", "RemoteQMEndReceive", pph_context=first.pph_context, dw_ack=1)
    call("remove", "RemoteQMEndReceive", pph_context=second.pph_context, dw_ack=2)
    read("receive by lookup", LOOKUP, ul_action=_LOOKUP_RECEIVE)
    call("close over qm2qm", "RemoteQMCloseQueue", pph_context=servers.clients[0].sessions[0][0])
    opened = servers.calls[places["open for qm2qm"]].answer.response.pph_context
    call("close for qm2qm", "R_QMCloseRemoteQueueContext", pph_context=opened)
    call("close", "rpc_ACCloseHandle", ph_queue=handle)
    return servers, places


def put(**values: Any) -> Change:
    """Other values in a response."""
    return lambda response: msgspec.structs.replace(response, **values)


def in_buffer(**values: Any) -> Change:
    """Other values in the buffer of a response."""

    def change(response: Any) -> Any:
        old = msgspec.structs.replace(response.ptb.old, **values)
        return msgspec.structs.replace(response, ptb=msgspec.structs.replace(response.ptb, old=old))

    return change


def in_arm(**values: Any) -> Change:
    """Other values in the Receive arm of a response."""
    return lambda response: in_buffer(arm=msgspec.structs.replace(response.ptb.old.arm, **values))(response)


def around_buffer(**values: Any) -> Change:
    """Other values in the outer buffer of a response."""
    return lambda response: put(ptb=msgspec.structs.replace(response.ptb, **values))(response)


def in_descriptor(**values: Any) -> Change:
    """Other values in the REMOTEREADDESC of a response."""

    def change(response: Any) -> Any:
        if hasattr(response, "lp_remote_read_desc"):
            return put(lp_remote_read_desc=msgspec.structs.replace(response.lp_remote_read_desc, **values))(
                response
            )
        second = response.lp_remote_read_desc2
        inner = msgspec.structs.replace(second.p_remote_read_desc, **values)
        return put(lp_remote_read_desc2=msgspec.structs.replace(second, p_remote_read_desc=inner))(response)

    return change


def in_second(**values: Any) -> Change:
    """Other values in the REMOTEREADDESC2 of a response."""
    return lambda response: put(
        lp_remote_read_desc2=msgspec.structs.replace(response.lp_remote_read_desc2, **values)
    )(response)


_SID, _ACL = bytes([1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0]), bytes([2, 0, 8, 0, 0, 0, 0, 0])


def with_part(**parts: bytes) -> Change:
    """Another part in a security descriptor of a response."""

    def change(response: Any) -> Any:
        room = len(response.p_security_descriptor)
        old = SecurityDescriptor.parse(response.p_security_descriptor)
        control = old.control | (0x0004 if "dacl" in parts else 0x0010 if "sacl" in parts else 0)
        new = msgspec.structs.replace(old, control=control, **parts).to_bytes()
        filled = new + bytes(room - len(new))
        return put(p_security_descriptor=filled, lpn_length_needed=len(new))(response)

    return change


_ID = ObjectId(uniquifier=5)
_BROKEN: list[tuple[str, str, Change]] = [
    ("MQQP-2.2.2.1-5", "peek", in_descriptor(lp_buffer=b"no packet", dw_size=9)),
    ("MQQP-3.1.4.1-41", "peek", in_descriptor(lp_buffer=None, dw_size=0)),
    ("MQQP-3.1.4.1-42", "peek", in_descriptor(dw_size=5)),
    ("MQQP-3.1.4.1-45", "receive over qm2qm", put(pph_context=_NULL)),
    ("MQQP-3.1.4.1-46", "peek", put(pph_context=_HANDLE)),
    ("MQQP-3.1.4.1-47", "nothing", put(pph_context=_HANDLE)),
    ("MQQP-3.1.4.1-43", "nothing", in_descriptor(lp_buffer=b"x" * 200, dw_size=200)),
    ("MQQP-3.1.4.10-43", "peek 2", in_descriptor(lp_buffer=None, dw_size=0)),
    ("MQQP-3.1.4.10-44", "peek 2", in_descriptor(dw_size=5)),
    ("MQQP-3.1.4.10-45", "peek 2", in_second(sequential_id=1 << 56)),
    ("MQQP-3.1.4.10-46", "nothing 2", in_descriptor(lp_buffer=b"x" * 200, dw_size=200)),
    ("MQQP-3.1.4.10-48", "receive 2", put(pph_context=_NULL)),
    ("MQQP-3.1.4.10-49", "peek 2", put(pph_context=_HANDLE)),
    ("MQQP-3.1.4.10-50", "nothing 2", put(pph_context=_HANDLE)),
    ("MQQP-3.1.4.11-40", "peek by lookup", in_descriptor(lp_buffer=None, dw_size=0)),
    ("MQQP-3.1.4.11-41", "peek by lookup", in_descriptor(dw_size=5)),
    ("MQQP-3.1.4.11-42", "peek by lookup", in_second(sequential_id=1 << 56)),
    ("MQQP-3.1.4.11-43", "nothing by lookup", in_descriptor(lp_buffer=b"x" * 200, dw_size=200)),
    ("MQQP-3.1.4.11-45", "receive by lookup", put(pph_context=_NULL)),
    ("MQQP-3.1.4.11-46", "peek by lookup", put(pph_context=_HANDLE)),
    ("MQQP-3.1.4.11-47", "nothing by lookup", put(pph_context=_HANDLE)),
    ("MQQP-3.1.4.2-17", "end", put(pph_context=_HANDLE)),
    ("MQQP-3.1.4.3-15", "open over qm2qm", put(ph_context=_NULL)),
    ("MQQP-3.1.4.3-16", "open badly over qm2qm", put(ph_context=_HANDLE)),
    ("MQQP-3.1.4.4-13", "close over qm2qm", put(pph_context=_HANDLE)),
    ("MQQP-3.1.4.8-5", "port of qm2qm", put(return_value=2105)),
    ("MQMP-3.1.4.2-24", "open badly for qm2qm", put(pph_context=_HANDLE)),
    ("MQMP-3.1.4.2-31", "open for qm2qm", put(pph_context=_NULL)),
    ("MQMP-3.1.4.2-33", "open for qm2qm", put(ph_queue=5)),
    ("MQMP-3.1.4.2-34", "open for qm2qm", put(dwp_queue=5)),
    ("MQMP-3.1.4.3-5", "close for qm2qm", put(pph_context=_HANDLE)),
    ("MQMP-3.1.4.4-8", "remote cursor", put(ph_cursor=0)),
    ("MQMP-3.1.4.7-22", "security", put(lpn_length_needed=401)),
    ("MQMP-3.1.4.7-24", "large security", put(lpn_length_needed=4)),
    ("MQMP-3.1.4.9-13", "properties", put(ap_var=())),
    ("MQMP-3.1.4.9-13", "properties", put(ap_var=(PropVariant(vt=19, arm=5),))),
    ("MQMP-3.1.4.11-11", "format", put(p_object_format=ObjectFormat(arm=QueueFormat()))),
    ("MQMP-3.1.4.11-11", "format", put(p_object_format=ObjectFormat())),
    ("MQMP-3.1.4.12-8", "whereabouts", put(pcb_whereabouts=8)),
    ("MQMP-3.1.4.12-9", "long whereabouts", put(pcb_whereabouts=6)),
    ("MQMP-3.1.4.14-7", "enlist", put(ph_int_xact=_NULL)),
    ("MQMP-3.1.4.15-8", "Commit", put(ph_int_xact=_HANDLE)),
    ("MQMP-3.1.4.16-8", "Abort", put(ph_int_xact=_HANDLE)),
    ("MQMP-3.1.4.17-3", "open nothing", put(ph_queue=_HANDLE)),
    ("MQMP-3.1.4.17-46", "open far", put(lplp_remote_queue_name=WcharText.of("elsewhere\\q"))),
    ("MQMP-3.1.4.17-47", "open far", put(ph_queue=_NULL)),
    ("MQMP-3.1.4.17-48", "open far", put(pdw_qm_context=0)),
    ("MQMP-3.1.4.17-56", "open", put(ph_queue=_NULL)),
    ("MQMP-3.1.4.17-57", "open", put(pdw_qm_context=0)),
    ("MQMP-3.1.4.17-63", "open elsewhere", put(ph_queue=_HANDLE)),
    ("MQMP-3.1.4.17-64", "open elsewhere", put(pdw_qm_context=5)),
    ("MQMP-3.1.4.18-5", "close", put(ph_queue=_HANDLE)),
    ("MQMP-3.1.4.21-8", "name", put(lpwcs_format_name=WcharText.of(ORDERS[:-1] + "z"))),
    ("MQMP-3.1.4.21-12", "name", put(pdw_length=5)),
    ("MQMP-3.1.4.21-12", "long name", put(pdw_length=4)),
    ("MQMP-3.1.4.21-13", "long name", put(lpwcs_format_name=WcharText("DIRE".encode("utf-16-le")))),
    ("MQMP-3.1.4.21-13", "long name", put(lpwcs_format_name=None)),
    ("MQMP-3.1.4.21-14", "length of name", put(lpwcs_format_name=WcharText.of("DIR"))),
    ("MQMP-3.1.4.21-15", "name", put(pdw_length=41)),
    ("MQMP-3.1.4.7-16", "group", with_part(owner=_SID)),
    ("MQMP-3.1.4.7-17", "security", with_part(group=_SID)),
    ("MQMP-3.1.4.7-18", "group", with_part(dacl=_ACL)),
    ("MQMP-3.1.4.7-19", "security", with_part(sacl=_ACL)),
    ("MQMP-3.1.4.7-20", "no security", with_part(owner=_SID)),
    ("MQMP-3.1.4.7-21", "security", put(lpn_length_needed=21)),
    ("MQMP-3.1.4.23-3", "registry 0", put(lplp_mqis_server=WcharText.of("DC01, DC02"))),
    ("MQMP-3.1.4.23-5", "registry 1", put(lplp_mqis_server=WcharText.of("four days"))),
    ("MQMP-3.1.4.23-6", "registry 2", put(lplp_mqis_server=WcharText.of("{}"))),
    ("MQMP-3.1.4.23-7", "registry 3", put(lplp_mqis_server=WcharText.of("6.3"))),
    ("MQMP-3.1.4.23-8", "registry 4", put(lplp_mqis_server=WcharText.of("me"))),
    ("MQMP-3.1.4.23-10", "registry 0", put(lplp_mqis_server=None)),
    ("MQMP-3.1.4.24-1", "port 9", put(return_value=2103)),
    ("MQMP-3.1.4.24-2", "port 0", put(return_value=0)),
    ("MQMP-3.1.4.24-3", "port 1", put(return_value=0)),
    ("MQMP-3.1.5.1-7", "send closed", put(p_message_id=_ID, status=0)),
    ("MQMP-3.1.5.2-88", "send unnamed", put(p_message_id=_ID)),
    ("MQMP-3.1.5.2-104", "send", put(p_message_id=None)),
    ("MQMP-3.1.5.4-9", "cursor", put(pcc=CACCreateRemoteCursor())),
    ("MQMP-3.1.5.3-12", "receive", in_arm(cursor=5)),
    ("MQMP-3.1.5.3-46", "receive", in_buffer(p_body_size=1001)),
    ("MQMP-3.1.5.3-50", "receive", in_buffer(ul_body_buffer_size_in_bytes=5)),
    ("MQMP-3.1.5.3-52", "receive", in_buffer(p_body_size=None)),
    ("MQMP-3.1.5.3-65", "receive", in_buffer(ul_msg_extension_buffer_in_bytes=5)),
    ("MQMP-3.1.5.3-70", "receive", in_buffer(p_uow=GUID(b"one transaction."))),
]
_BROKEN += [
    ("MQQP-2.2.2.1-10", call, in_descriptor(**{member: 77}))
    for call in ("peek", "peek 2", "peek by lookup")
    for member in ("h_remote_queue", "h_cursor", "ul_action", "ul_timeout", "dw_queue", "dw_request_id")
]
_UNWANTED: dict[str, tuple[str, Any]] = {
    "MQMP-3.1.5.3-58": ("pp_title", WcharText.of("label")),
    "MQMP-3.1.5.3-61": ("pp_msg_extension", b"x"),
    "MQMP-3.1.5.3-66": ("p_msg_extension_size", 1),
    "MQMP-3.1.5.3-71": ("pp_sender_id", b"x"),
    "MQMP-3.1.5.3-75": ("ppwcs_prov_name", WcharText.of("provider")),
    "MQMP-3.1.5.3-78": ("pul_auth_prov_name_len_prop", 1),
    "MQMP-3.1.5.3-81": ("pp_sender_cert", b"x"),
    "MQMP-3.1.5.3-84": ("pul_sender_cert_len_prop", 1),
    "MQMP-3.1.5.3-87": ("pp_symm_keys", b"x"),
    "MQMP-3.1.5.3-90": ("pul_symm_keys_size_prop", 1),
    "MQMP-3.1.5.3-93": ("pp_signature", b"x"),
    "MQMP-3.1.5.3-96": ("pul_signature_size_prop", 1),
    "MQMP-3.1.5.3-99": ("p_class", 0),
    "MQMP-3.1.5.3-100": ("pp_message_id", _ID),
    "MQMP-3.1.5.3-101": ("pp_correlation_id", bytes(20)),
    "MQMP-3.1.5.3-102": ("p_sent_time", 1),
    "MQMP-3.1.5.3-103": ("p_arrived_time", 1),
    "MQMP-3.1.5.3-104": ("p_priority", 1),
    "MQMP-3.1.5.3-105": ("p_delivery", 1),
    "MQMP-3.1.5.3-106": ("p_acknowledge", 1),
    "MQMP-3.1.5.3-107": ("p_auditing", 1),
    "MQMP-3.1.5.3-108": ("p_application_tag", 1),
    "MQMP-3.1.5.3-109": ("pul_relative_time_to_queue", 1),
    "MQMP-3.1.5.3-110": ("pul_relative_time_to_live", 1),
    "MQMP-3.1.5.3-111": ("p_trace", 1),
    "MQMP-3.1.5.3-112": ("pul_priv_level", 1),
    "MQMP-3.1.5.3-113": ("p_authenticated", 1),
    "MQMP-3.1.5.3-114": ("pul_hash_alg", 1),
    "MQMP-3.1.5.3-115": ("pul_encrypt_alg", 1),
    "MQMP-3.1.5.3-116": ("pul_prov_type", 1),
    "MQMP-3.1.5.3-117": ("pul_sender_id_type", 1),
    "MQMP-3.1.5.3-118": ("pp_src_qmid", GUID(b"a queue manager.")),
    "MQMP-3.1.5.3-119": ("pp_connector_type", GUID(b"a queue manager.")),
    "MQMP-3.1.5.3-120": ("pul_body_type", 1),
    "MQMP-3.1.5.3-121": ("pul_version", 16),
}
_BROKEN += [(rule, "receive", in_buffer(**{name: value})) for rule, (name, value) in _UNWANTED.items()]
_BROKEN += [
    (rule, "receive", in_arm(**{f"pp_{name}_format_name": WcharText.of(ORDERS)}))
    for rule, name in (
        ("MQMP-3.1.5.3-18", "response"),
        ("MQMP-3.1.5.3-26", "admin"),
        ("MQMP-3.1.5.3-34", "dest"),
        ("MQMP-3.1.5.3-42", "ordering"),
    )
]
_BROKEN += [
    (rule, "receive", around_buffer(**{name: value}))
    for rule, name, value in (
        ("MQMP-3.1.5.3-122", "pb_first_in_xact", 1),
        ("MQMP-3.1.5.3-123", "pb_last_in_xact", 1),
        ("MQMP-3.1.5.3-124", "pp_xact_id", _ID),
    )
]


def test_the_conversation_breaks_no_rule_and_has_every_method_but_those_that_change_queues() -> None:
    servers, places = conversation()
    assert rules(servers.found()) == []
    assert {servers.calls[place].method for place in places.values()} >= {
        "rpc_QMOpenQueueInternal",
        "rpc_ACReceiveMessageEx",
        LOOKUP,
    }


@pytest.mark.parametrize(("rule", "name", "change"), _BROKEN)
def test_an_answer_that_contradicts_itself_is_found(rule: str, name: str, change: Change) -> None:
    servers, places = conversation()
    place = places[name]
    call = servers.calls[place]
    changed = call.records(change(call.answer.response))
    assert rule in rules(servers.found({place: changed}))


@pytest.mark.parametrize(("text", "certain"), [("2,0,6,1", False), ("me", True), ("2.0.6", True)])
def test_an_identifier_that_is_a_version_of_an_old_server_is_not_certainly_wrong(
    text: str, certain: bool
) -> None:
    servers, places = conversation()
    place = places["registry 4"]
    changed = put(lplp_mqis_server=WcharText.of(text))(servers.calls[place].answer.response)
    found = servers.found({place: servers.calls[place].records(changed)})
    assert [(str(one.rule), one.certain) for one in found] == [("MQMP-3.1.4.23-8", certain)]


def test_an_answer_to_a_body_that_is_not_wanted_is_found() -> None:
    servers = Servers()
    _, context = servers.open()
    servers.put()
    servers.call("rpc_ACReceiveMessageEx", None, h_qm_context=context, ptb=receiving(_PEEK))
    assert rules(servers.found()) == []
    response = servers.calls[-1].answer.response
    for values, rule in (({"pp_body": b"x"}, "MQMP-3.1.5.3-45"), ({"p_body_size": 1}, "MQMP-3.1.5.3-51")):
        changed = servers.calls[-1].records(in_buffer(**values)(response))
        assert rule in rules(servers.found({len(servers.calls) - 1: changed}))
