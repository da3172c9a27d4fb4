"""Answers that contradict their own status, or what was asked. [MS-MQRR], [MS-MQQP], [MS-MQMP]

The rule kept here: a call and its answer are all that is needed; what was not decoded contradicts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import LOW_56, ObservedCall, handle, number
from msmq_wire.replay.rules.buffers import transfer_buffer
from msmq_wire.replay.rules.descriptors import judge_descriptor
from msmq_wire.replay.rules.lengths import judge_cut_name, judge_lengths
from msmq_wire.replay.rules.management import judge_failed_question, judge_state
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces.role import READS, Role
from msmq_wire.rpc.properties import PropertyKind, find_property
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import TransferReceive
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2, read_descriptor
from msmq_wire.wire.names import QueueFormatType
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.wchar_text import WcharText

_Contradiction: TypeAlias = tuple[str, str, str, bool]
"""The check, what is wrong, what is due, and whether that is certain."""
_Found: TypeAlias = Iterator[_Contradiction]
_GUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){2}")
_NUMBER = re.compile(r"[0-9]+")
_IDENTIFIER = 4
_OLD_VERSION = re.compile(r"[0-9]+(?:,[0-9]+)+")
"""What public checks of versions expect of old servers where the identifier is due; no document knows it."""
_SIGNATURE_AT, _SIGNATURE = slice(4, 8), b"LIOR"

_ROOMS = {
    Role.GET_SECURITY: ("n_length", "lpn_length_needed", Status.MQ_ERROR_SECURITY_DESCRIPTOR_TOO_SMALL),
    Role.ASK_COORDINATOR: ("cb_buf_size", "pcb_whereabouts", Status.MQ_ERROR_USER_BUFFER_TOO_SMALL),
    Role.ASK_OPEN_NAME: ("pdw_length", "pdw_length", Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL),
}
"""The members that say what room there was and what was needed, and the status where it did not fit."""
_PORT_TYPES = ("dw_port_type", "f_ip")
"""Members that say which port is asked for; RemoteRead has one port."""
_ECHOED = ("h_remote_queue", "h_cursor", "ul_action", "ul_timeout", "dw_queue", "dw_request_id")
_COMPUTERS = re.compile(r"(?:[!@#$%^&'()._{}~0-9A-Za-z-]{1,15}(?:,(?!$)|$))*")
_TEXTS = {
    0: (_COMPUTERS, "a list of names with commas between them"),
    1: (_NUMBER, "a number"),
    2: (_GUID, "a GUID without braces"),
    3: (_VERSION, "a version of three parts"),
    4: (_GUID, "a GUID without braces"),
}
"""dwQueryType -> form, and what it is."""

_LEFT_ALONE = (
    "pp_body",
    "p_body_size",
    "pp_title",
    "pp_msg_extension",
    "p_msg_extension_size",
    "pp_sender_id",
    "ppwcs_prov_name",
    "pul_auth_prov_name_len_prop",
    "pp_sender_cert",
    "pul_sender_cert_len_prop",
    "pp_symm_keys",
    "pul_symm_keys_size_prop",
    "pp_signature",
    "pul_signature_size_prop",
    "p_class",
    "pp_message_id",
    "pp_correlation_id",
    "p_sent_time",
    "p_arrived_time",
    "p_priority",
    "p_delivery",
    "p_acknowledge",
    "p_auditing",
    "p_application_tag",
    "pul_relative_time_to_queue",
    "pul_relative_time_to_live",
    "p_trace",
    "pul_priv_level",
    "p_authenticated",
    "pul_hash_alg",
    "pul_encrypt_alg",
    "pul_prov_type",
    "pul_sender_id_type",
    "pp_src_qmid",
    "pp_connector_type",
    "pul_body_type",
    "pul_version",
)
"""Members of a buffer to receive that stay NULL where they are NULL."""
_NAMES_LEFT_ALONE = (
    "pp_response_format_name",
    "pp_admin_format_name",
    "pp_dest_format_name",
    "pp_ordering_format_name",
)
_LEFT_ALONE_OUTSIDE = ("pb_first_in_xact", "pb_last_in_xact", "pp_xact_id")
_AS_IT_WAS = ("ul_body_buffer_size_in_bytes", "ul_msg_extension_buffer_in_bytes", "p_uow")


def judge_answer(call: ObservedCall) -> Iterator[ReplayDeviation]:
    """An answer that contradicts itself or its request; the first contradiction is told."""
    if call.ok is None or call.call.fault or call.response is None:
        return
    for check, what, expected, certain in _contradictions(call):
        row = call.row(check)
        if row is not None:
            yield call.deviation(
                ReplayKind.SECTIONS if call.role in READS else ReplayKind.STATUS,
                row,
                f"{call.method} answers {call.came} {what}",
                expected,
                certain=certain,
            )
            return


def _contradictions(call: ObservedCall) -> _Found:
    members = call.members
    if call.ok is False:
        yield from _of_handle(call, members.gives or members.receive, "handle-of-failure", null_due=True)
        yield from _of_room(call)
        yield from judge_cut_name(call)
        yield from judge_failed_question(call)
        return
    yield from _of_handle(call, members.gives, "handle-not-given", null_due=False)
    yield from _of_handle(call, members.handle, "handle-left", null_due=True)
    if members.creates and call.call.number_at(members.creates) == 0:
        yield "cursor-not-given", "without a cursor", "a number that is not 0", True
    if call.role in _ANSWERS:
        yield from _ANSWERS[call.role](call)
    yield from _of_room(call)


def _of_handle(call: ObservedCall, member: str, check: str, *, null_due: bool) -> _Found:
    given = handle(call.response, member)
    if given is not None and given.null is not null_due:
        what, expected = ("with a handle", "NULL") if null_due else ("without a handle", "a handle")
        yield check, what, expected, True


def _of_read(call: ObservedCall) -> _Found:
    asked, answered = read_descriptor(call.request), read_descriptor(call.response)
    if asked is None or answered is None:
        return
    action = number(asked, "ul_action")
    given = handle(call.response, call.members.receive)
    if given is not None and action in frozenset(ReceiveAction):
        removes = ReceiveAction(action).removes
        if removes and given.null:
            yield "receive-without-handle", "to a receive without a handle to end it by", "a handle", True
        elif not removes and not given.null:
            yield "peek-with-handle", "to a peek with a handle to end it by", "NULL", True
    size, packet = number(answered, "dw_size"), answered.lp_buffer
    if isinstance(packet, bytes) and packet and packet[_SIGNATURE_AT] != _SIGNATURE:
        yield "no-packet", "with bytes that are no packet", "a UserMessage packet", True
    elif isinstance(packet, bytes) and packet and size is not None:
        said = number(reached(getattr(call.message, "packet", None), "base_header"), "packet_size")
        due = len(packet) if said is None else said
        if size != due:
            yield "packet-size", f"with a dwSize of {size}", f"{due}", True
    second = getattr(call.response, "lp_remote_read_desc2", None)
    sequence = number(second, "sequential_id") if isinstance(second, RemoteReadDesc2) else None
    if sequence is not None and sequence > LOW_56:
        yield "sequence-high-byte", "with a SequentialId of more than seven bytes", "a high byte of 0", True
    yield from _of_echo(asked, answered)


def _of_echo(asked: RemoteReadDesc, answered: RemoteReadDesc) -> _Found:
    for member in _ECHOED:
        before, after = number(asked, member), number(answered, member)
        if before is not None and after is not None and before != after:
            yield "descriptor-changed", f"with another {member} than the client asked for", f"{before}", False


def _of_port(call: ObservedCall) -> _Found:
    port = number(call.response, "return_value")
    kinds = [number(call.request, member) for member in _PORT_TYPES if hasattr(call.request, member)]
    if not kinds and port == 0:
        yield "no-port", "without a port", "a port that is not 0", True
    for kind in kinds:
        if kind is None or port is None:
            return
        if kind > 3 and port:
            yield "port-of-no-type", f"to port type {kind} with port {port}", "0, or a fault", True
        elif kind < 2 and not port:
            yield f"no-port:{kind}", f"to port type {kind} without a port", "a port that is not 0", True


def _of_remote_queue(call: ObservedCall) -> _Found:
    numbers = [number(call.response, one) for one in ("pdw_context", "dwp_queue", "ph_queue")]
    if None in numbers:
        return
    context, again, queue = numbers
    if again != context:
        yield "queue-is-not-context", "with a dwpQueue that is not pdwContext", "the same number", False
    elif queue != context:
        yield "number-is-not-context", "with a phQueue that is not pdwContext", "the same number", False


def _of_local_queue(call: ObservedCall) -> _Found:
    given, context = handle(call.response, "ph_queue"), number(call.response, "pdw_qm_context")
    elsewhere = getattr(call.response, "lplp_remote_queue_name", None)
    where = "remote" if number(call.request, "h_remote_queue") else "local"
    if given is None or context is None or elsewhere is msgspec.UNSET:
        return
    if isinstance(elsewhere, WcharText) and elsewhere.text:
        if where == "remote":
            yield "remote-with-name", "with the name of the queue that it opens", "NULL", True
        elif not given.null:
            yield (
                "elsewhere-with-handle",
                "with a handle and the name of a queue at another server",
                "NULL",
                True,
            )
        elif context:
            yield (
                "elsewhere-with-context",
                "with a context and the name of a queue at another server",
                "0",
                True,
            )
    elif given.null:
        yield f"without-handle:{where}", "without a handle", "a handle", True
    elif not context:
        yield f"without-context:{where}", "without a context", "a number that is not 0", True


def _of_format_name(call: ObservedCall) -> _Found:
    room, length = number(call.request, "pdw_length"), number(call.response, "pdw_length")
    text = getattr(call.response, "lpwcs_format_name", None)
    if room is None or length is None:
        return
    if length > room:
        yield (
            "too-small",
            f"though there is room for {room} characters and {length} are needed",
            "too small",
            True,
        )
    elif isinstance(text, WcharText) and room:
        name = bytes(text).decode("utf-16-le", "replace").partition("\0")[0]
        if len(name.encode("utf-16-le", "surrogatepass")) // 2 + 1 != length:
            due = f"{len(name) + 1}"
            yield "name-length", f"with {length} characters, but the name has another length", due, True
        elif call.queue is not None and name.casefold() != call.queue.casefold():
            yield "other-name", "with another name than the queue was opened by", "that name", False


def _of_object_format(call: ObservedCall) -> _Found:
    found = getattr(call.response, "p_object_format", None)
    arm = found.arm if isinstance(found, ObjectFormat) else msgspec.UNSET
    if arm is msgspec.UNSET:
        return
    kinds = (QueueFormatType.PRIVATE, QueueFormatType.DIRECT)
    if arm is None or (isinstance(arm, QueueFormat) and arm.m_qft not in kinds):
        yield "no-format-name", "without a format name", "a private or a direct format name", True


def _of_properties(call: ObservedCall) -> _Found:
    names, values = getattr(call.request, "a_prop", None), getattr(call.response, "ap_var", None)
    if not isinstance(names, tuple) or not isinstance(values, tuple):
        return
    if len(values) != len(names):
        yield "properties", f"with {len(values)} values for {len(names)} properties", "a value for each", True
        return
    for name, value in zip(names, values, strict=True):
        known = find_property(name, PropertyKind.QUEUE) if isinstance(name, int) else None
        if known is not None and isinstance(value, PropVariant) and value.vt != known.vt:
            nothing = value.vt in (BodyType.VT_NULL, BodyType.VT_EMPTY)
            yield "properties", f"with another type for {known.name}", "the type of the property", not nothing


def _of_registry(call: ObservedCall) -> _Found:
    asked, text = number(call.request, "dw_query_type"), getattr(call.response, "lplp_mqis_server", None)
    if text is None:
        yield "no-text", "without a text", "a text", True
    elif isinstance(text, WcharText) and asked in _TEXTS:
        form, what = _TEXTS[asked]
        if form.fullmatch(text.text) is None:
            old = asked == _IDENTIFIER and _OLD_VERSION.fullmatch(text.text) is not None
            yield f"text:{asked}", f"with a text that is not {what}", what, not old


def _of_sending(call: ObservedCall) -> _Found:
    asked = getattr(call.request, "p_message_id", msgspec.UNSET)
    given = getattr(call.response, "p_message_id", msgspec.UNSET)
    if msgspec.UNSET in (asked, given):
        return
    if asked is None and given is not None:
        yield "unwanted-identifier", "with an identifier that was not asked for", "NULL", True
    elif asked is not None and given is None:
        yield "no-identifier", "without the identifier of the message", "the identifier", True


def _of_receiving(call: ObservedCall) -> _Found:
    asked, answered = transfer_buffer(call.request), transfer_buffer(call.response)
    if asked is None or answered is None or not isinstance(asked.arm, TransferReceive):
        return
    parts = [(_LEFT_ALONE, asked, answered), (_LEFT_ALONE_OUTSIDE, call.request.ptb, call.response.ptb)]
    if isinstance(answered.arm, TransferReceive):
        parts.append((_NAMES_LEFT_ALONE, asked.arm, answered.arm))
        if asked.arm.cursor != answered.arm.cursor:
            yield "as-asked:cursor", "with another cursor", f"{asked.arm.cursor}", True
    for members, before, after in parts:
        for member in members:
            if getattr(before, member) is None and getattr(after, member) is not None:
                yield f"left-alone:{member}", f"with {member}, which was not asked for", "NULL", True
    for member in _AS_IT_WAS:
        if getattr(asked, member) != getattr(answered, member):
            yield f"as-asked:{member}", f"with another {member} than the client asked for", "the same", False
    yield from judge_lengths(asked, answered)


def _of_room(call: ObservedCall) -> _Found:
    """What was needed and what there was, where the status says that it did not fit."""
    if call.role not in _ROOMS:
        return
    member, wanted, too_small = _ROOMS[call.role]
    room, needed = number(call.request, member), number(call.response, wanted)
    if room is None or needed is None:
        return
    if call.ok and needed > room:
        yield (
            "too-small",
            f"though there is room for {room} bytes and {needed} are needed",
            too_small.name,
            True,
        )
    elif call.status == too_small and needed <= room:
        yield "fits", f"though there is room for {room} bytes and {needed} are needed", "MQ_OK", True


_ANSWERS: Mapping[Role | None, Callable[[ObservedCall], _Found]] = {
    Role.START: _of_read,
    Role.ASK_PORT: _of_port,
    Role.OPEN_FOR_ANOTHER: _of_remote_queue,
    Role.OPEN: _of_local_queue,
    Role.ASK_OPEN_NAME: _of_format_name,
    Role.ASK_FORMAT_NAME: _of_object_format,
    Role.GET_SECURITY: judge_descriptor,
    Role.GET_PROPERTIES: _of_properties,
    Role.ASK_SETTING: _of_registry,
    Role.ASK_STATE: judge_state,
    Role.SEND: _of_sending,
    Role.RECEIVE: _of_receiving,
}
