"""Answers that contradict their own status, or what was asked. [MS-MQRR], [MS-MQQP], [MS-MQMP]

The rule kept here: a call and its answer are all that is needed; what was not decoded contradicts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from msmq_wire.names import QueueFormatType
from msmq_wire.records.open_queues import read_descriptor
from msmq_wire.replay.call import ObservedCall, handle, number
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.rules.buffers import transfer_buffer
from msmq_wire.replay.rules.descriptors import judge_descriptor
from msmq_wire.replay.rules.lengths import judge_cut_name, judge_lengths
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.properties import PropertyKind, find_property
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import TransferReceive
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2
from msmq_wire.sessions.message import reached
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["judge_answer"]

_Contradiction: TypeAlias = tuple[int | ProcessingRule, str, str, bool]
"""The row, what is wrong, what is due, and whether that is certain."""
_Found: TypeAlias = Iterator[_Contradiction]
_GUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){2}")
_NUMBER = re.compile(r"[0-9]+")
_IDENTIFIER = 4
_OLD_VERSION = re.compile(r"[0-9]+(?:,[0-9]+)+")
"""What public checks of versions expect of old servers where the identifier is due; no document knows it."""
_LOW_56 = (1 << 56) - 1
_SIGNATURE_AT, _SIGNATURE = slice(4, 8), b"LIOR"

_GIVEN = {
    "R_OpenQueue": ("pph_context", 37),
    "R_OpenQueueForMove": ("pph_context", 19),
    "R_QMOpenRemoteQueue": ("pph_context", 31),
    "RemoteQMOpenQueue": ("ph_context", 15),
    "R_QMEnlistInternalTransaction": ("ph_int_xact", 7),
}
"""The handle that a success gives, and its row."""
_TAKEN = {
    "R_CloseQueue": ("pph_context", 10),
    "RemoteQMCloseQueue": ("pph_context", 13),
    "RemoteQMEndReceive": ("pph_context", 17),
    "R_QMCommitTransaction": ("ph_int_xact", 8),
    "R_QMAbortTransaction": ("ph_int_xact", 8),
    "rpc_ACCloseHandle": ("ph_queue", 5),
}
"""The handle that a success takes back, and its row."""
_WITHHELD = {
    "R_QMOpenRemoteQueue": ("pph_context", 24),
    "RemoteQMOpenQueue": ("ph_context", 16),
    "rpc_QMOpenQueueInternal": ("ph_queue", 3),
    "RemoteQMStartReceive": ("pph_context", 47),
    "RemoteQMStartReceive2": ("pph_context", 50),
    "RemoteQMStartReceiveByLookupId": ("pph_context", 47),
}
"""The handle that a failure does not give, and its row."""
_CURSORS = {"R_CreateCursor": 7, "R_QMCreateRemoteCursor": 8, "rpc_ACCreateCursorEx": 9}
_READS = {
    "RemoteQMStartReceive": (45, 46, 42, 0),
    "RemoteQMStartReceive2": (48, 49, 44, 45),
    "RemoteQMStartReceiveByLookupId": (45, 46, 41, 42),
}
"""The rows about the handle of a receive and of a peek, dwSize, and SequentialId."""
_PORTS = {
    "RemoteQMGetQMQMServerPort": ("dw_port_type", None, None, 5),
    "R_QMGetRTQMServerPort": ("f_ip", 2, 3, 1),
}
"""The member that says which port, and the rows about the two of TCP and about what there is not."""
_ECHOED = ("h_remote_queue", "h_cursor", "ul_action", "ul_timeout", "dw_queue", "dw_request_id")
_COMPUTERS = re.compile(r"(?:[!@#$%^&'()._{}~0-9A-Za-z-]{1,15}(?:,(?!$)|$))*")
_TEXTS = {
    0: (3, _COMPUTERS, "a list of names with commas between them"),
    1: (5, _NUMBER, "a number"),
    2: (6, _GUID, "a GUID without braces"),
    3: (7, _VERSION, "a version of three parts"),
    4: (8, _GUID, "a GUID without braces"),
}
"""dwQueryType -> row, form, and what it is."""

_LEFT_ALONE = {
    "pp_body": 45,
    "p_body_size": 51,
    "pp_title": 58,
    "pp_msg_extension": 61,
    "p_msg_extension_size": 66,
    "pp_sender_id": 71,
    "ppwcs_prov_name": 75,
    "pul_auth_prov_name_len_prop": 78,
    "pp_sender_cert": 81,
    "pul_sender_cert_len_prop": 84,
    "pp_symm_keys": 87,
    "pul_symm_keys_size_prop": 90,
    "pp_signature": 93,
    "pul_signature_size_prop": 96,
    "p_class": 99,
    "pp_message_id": 100,
    "pp_correlation_id": 101,
    "p_sent_time": 102,
    "p_arrived_time": 103,
    "p_priority": 104,
    "p_delivery": 105,
    "p_acknowledge": 106,
    "p_auditing": 107,
    "p_application_tag": 108,
    "pul_relative_time_to_queue": 109,
    "pul_relative_time_to_live": 110,
    "p_trace": 111,
    "pul_priv_level": 112,
    "p_authenticated": 113,
    "pul_hash_alg": 114,
    "pul_encrypt_alg": 115,
    "pul_prov_type": 116,
    "pul_sender_id_type": 117,
    "pp_src_qmid": 118,
    "pp_connector_type": 119,
    "pul_body_type": 120,
    "pul_version": 121,
}
"""Members of a buffer to receive that stay NULL where they are NULL, and their rows."""
_NAMES_LEFT_ALONE = {
    "pp_response_format_name": 18,
    "pp_admin_format_name": 26,
    "pp_dest_format_name": 34,
    "pp_ordering_format_name": 42,
}
_LEFT_ALONE_OUTSIDE = {"pb_first_in_xact": 122, "pb_last_in_xact": 123, "pp_xact_id": 124}
_AS_IT_WAS = {"ul_body_buffer_size_in_bytes": 50, "ul_msg_extension_buffer_in_bytes": 65, "p_uow": 70}
_CURSOR_AS_IT_WAS = 12


def _wire_type(row: int) -> ProcessingRule:
    return ProcessingRule("MQQP", "2.2.2.1", row)


def judge_answer(call: ObservedCall) -> Iterator[ReplayDeviation]:
    """An answer that contradicts itself or its request; the first contradiction is told."""
    if call.ok is None or call.call.fault or call.response is None:
        return
    for row, what, expected, certain in _contradictions(call):
        carries = call.method in _READS or call.method == "rpc_ACReceiveMessageEx"
        yield call.deviation(
            ReplayKind.SECTIONS if carries else ReplayKind.STATUS,
            row,
            f"{call.method} answers {call.came} {what}",
            expected,
            certain=certain,
        )
        return


def _contradictions(call: ObservedCall) -> _Found:
    if call.ok is False:
        yield from _of_handle(call, _WITHHELD, null_due=True)
        yield from _of_room(call)
        yield from judge_cut_name(call)
        return
    yield from _of_handle(call, _GIVEN, null_due=False)
    yield from _of_handle(call, _TAKEN, null_due=True)
    if call.method in _CURSORS:
        made = number(getattr(call.response, "pcc", call.response), "h_cursor")
        made = number(call.response, "ph_cursor") if made is None else made
        if made == 0:
            yield _CURSORS[call.method], "without a cursor", "a number that is not 0", True
    elif call.method in _READS:
        yield from _of_read(call)
    elif call.method in _PORTS:
        yield from _of_port(call)
    elif call.method == "R_GetServerPort":
        if number(call.response, "return_value") == 0:
            yield 1, "without a port", "a port that is not 0", True
    else:
        yield from _ANSWERS.get(call.method, _nothing)(call)
    yield from _of_room(call)


def _nothing(_: ObservedCall) -> _Found:
    return iter(())


def _of_handle(call: ObservedCall, rows: Mapping[str, tuple[str, int]], *, null_due: bool) -> _Found:
    if call.method not in rows:
        return
    member, row = rows[call.method]
    given = handle(call.response, member)
    if given is not None and given.null is not null_due:
        what, expected = ("with a handle", "NULL") if null_due else ("without a handle", "a handle")
        yield row, what, expected, True


def _of_read(call: ObservedCall) -> _Found:
    receive, peek, size_row, sequence_row = _READS[call.method]
    asked, answered = read_descriptor(call.request), read_descriptor(call.response)
    if asked is None or answered is None:
        return
    action = number(asked, "ul_action")
    given = handle(call.response, "pph_context")
    if given is not None and action in frozenset(ReceiveAction):
        removes = ReceiveAction(action).removes
        if removes and given.null:
            yield receive, "to a receive without a handle to end it by", "a handle", True
        elif not removes and not given.null:
            yield peek, "to a peek with a handle to end it by", "NULL", True
    size, packet = number(answered, "dw_size"), answered.lp_buffer
    if isinstance(packet, bytes) and packet and packet[_SIGNATURE_AT] != _SIGNATURE:
        yield _wire_type(5), "with bytes that are no packet", "a UserMessage packet", True
    elif isinstance(packet, bytes) and packet and size is not None:
        said = number(reached(getattr(call.message, "packet", None), "base_header"), "packet_size")
        due = len(packet) if said is None else said
        if size != due:
            yield size_row, f"with a dwSize of {size}", f"{due}", True
    second = getattr(call.response, "lp_remote_read_desc2", None)
    sequence = number(second, "sequential_id") if isinstance(second, RemoteReadDesc2) else None
    if sequence_row and sequence is not None and sequence > _LOW_56:
        yield sequence_row, "with a SequentialId of more than seven bytes", "a high byte of 0", True
    yield from _of_echo(asked, answered)


def _of_echo(asked: RemoteReadDesc, answered: RemoteReadDesc) -> _Found:
    for member in _ECHOED:
        before, after = number(asked, member), number(answered, member)
        if before is not None and after is not None and before != after:
            yield _wire_type(10), f"with another {member} than it was asked", f"{before}", False


def _of_port(call: ObservedCall) -> _Found:
    member, handshake, read, none = _PORTS[call.method]
    asked, port = number(call.request, member), number(call.response, "return_value")
    if asked is None or port is None:
        return
    if asked > 3 and port:
        yield none, f"to port type {asked} with port {port}", "0, or a fault", True
    elif asked < 2 and not port:
        row = (handshake, read)[asked]
        if row is not None:
            yield row, f"to port type {asked} without a port", "a port that is not 0", True


def _of_remote_queue(call: ObservedCall) -> _Found:
    numbers = [number(call.response, one) for one in ("pdw_context", "dwp_queue", "ph_queue")]
    if None in numbers:
        return
    context, again, queue = numbers
    if again != context:
        yield 34, "with a dwpQueue that is not pdwContext", "the same number", False
    elif queue != context:
        yield 33, "with a phQueue that is not pdwContext", "the same number", False


def _of_context(call: ObservedCall) -> _Found:
    before, after = handle(call.request, "pph_context"), handle(call.response, "pph_context")
    if before is not None and after is not None and not before.null and not after.null:
        yield 5, "and keeps the handle", "NULL", False


def _of_local_queue(call: ObservedCall) -> _Found:
    given, context = handle(call.response, "ph_queue"), number(call.response, "pdw_qm_context")
    elsewhere = getattr(call.response, "lplp_remote_queue_name", None)
    remote = bool(number(call.request, "h_remote_queue"))
    if given is None or context is None or elsewhere is msgspec.UNSET:
        return
    if isinstance(elsewhere, WcharText) and elsewhere.text:
        if remote:
            yield 46, "with the name of a queue that is opened by it", "NULL", True
        elif not given.null:
            yield 63, "with a handle, and the name of a queue elsewhere", "NULL", True
        elif context:
            yield 64, "with a context, and the name of a queue elsewhere", "0", True
    elif given.null:
        yield 47 if remote else 56, "without a handle", "a handle", True
    elif not context:
        yield 48 if remote else 57, "without a context", "a number that is not 0", True


def _of_format_name(call: ObservedCall) -> _Found:
    room, length = number(call.request, "pdw_length"), number(call.response, "pdw_length")
    text = getattr(call.response, "lpwcs_format_name", None)
    if room is None or length is None:
        return
    if length > room:
        yield 15, f"to {room} characters of room, and {length} are needed", "too small", True
    elif isinstance(text, WcharText) and room:
        name = bytes(text).decode("utf-16-le", "replace").partition("\0")[0]
        if len(name.encode("utf-16-le", "surrogatepass")) // 2 + 1 != length:
            yield 12, f"with {length} characters, and the name has another length", f"{len(name) + 1}", True
        elif call.queue is not None and name.casefold() != call.queue.casefold():
            yield 8, "with another name than the queue was opened by", "that name", False


def _of_object_format(call: ObservedCall) -> _Found:
    found = getattr(call.response, "p_object_format", None)
    arm = found.arm if isinstance(found, ObjectFormat) else msgspec.UNSET
    if arm is msgspec.UNSET:
        return
    kinds = (QueueFormatType.PRIVATE, QueueFormatType.DIRECT)
    if arm is None or (isinstance(arm, QueueFormat) and arm.m_qft not in kinds):
        yield 11, "without a format name", "a private or a direct format name", True


def _of_properties(call: ObservedCall) -> _Found:
    names, values = getattr(call.request, "a_prop", None), getattr(call.response, "ap_var", None)
    if not isinstance(names, tuple) or not isinstance(values, tuple):
        return
    if len(values) != len(names):
        yield 13, f"with {len(values)} values for {len(names)} properties", "a value for each", True
        return
    for name, value in zip(names, values, strict=True):
        known = find_property(name, PropertyKind.QUEUE) if isinstance(name, int) else None
        if known is not None and isinstance(value, PropVariant) and value.vt != known.vt:
            nothing = value.vt in (BodyType.VT_NULL, BodyType.VT_EMPTY)
            yield 13, f"with another type for {known.name}", "the type of the property", not nothing


def _of_registry(call: ObservedCall) -> _Found:
    asked, text = number(call.request, "dw_query_type"), getattr(call.response, "lplp_mqis_server", None)
    if text is None:
        yield 10, "without a text", "a text", True
    elif isinstance(text, WcharText) and asked in _TEXTS:
        row, form, what = _TEXTS[asked]
        if form.fullmatch(text.text) is None:
            old = asked == _IDENTIFIER and _OLD_VERSION.fullmatch(text.text) is not None
            yield row, f"with a text that is not {what}", what, not old


def _of_sending(call: ObservedCall) -> _Found:
    asked = getattr(call.request, "p_message_id", msgspec.UNSET)
    given = getattr(call.response, "p_message_id", msgspec.UNSET)
    if msgspec.UNSET in (asked, given):
        return
    internal = call.method == "QMSendMessageInternalEx"
    if asked is None and given is not None:
        yield 7 if internal else 88, "with an identifier that was not asked for", "NULL", True
    elif asked is not None and given is None:
        yield 13 if internal else 104, "without the identifier of the message", "the identifier", True


def _of_receiving(call: ObservedCall) -> _Found:
    asked, answered = transfer_buffer(call.request), transfer_buffer(call.response)
    if asked is None or answered is None or not isinstance(asked.arm, TransferReceive):
        return
    parts = [(_LEFT_ALONE, asked, answered), (_LEFT_ALONE_OUTSIDE, call.request.ptb, call.response.ptb)]
    if isinstance(answered.arm, TransferReceive):
        parts.append((_NAMES_LEFT_ALONE, asked.arm, answered.arm))
        if asked.arm.cursor != answered.arm.cursor:
            yield _CURSOR_AS_IT_WAS, "with another cursor", f"{asked.arm.cursor}", True
    for rows, before, after in parts:
        for member, row in rows.items():
            if getattr(before, member) is None and getattr(after, member) is not None:
                yield row, f"with {member}, which was not wanted", "NULL", True
    for member, row in _AS_IT_WAS.items():
        if getattr(asked, member) != getattr(answered, member):
            yield row, f"with another {member} than it was asked", "the same", False
    yield from judge_lengths(asked, answered)


def _of_room(call: ObservedCall) -> _Found:
    """What was needed and what there was, where the status says that it did not fit."""
    if call.method == "R_QMGetObjectSecurityInternal":
        room, needed = number(call.request, "n_length"), number(call.response, "lpn_length_needed")
        too_small, fits_row, small_row = Status.MQ_ERROR_SECURITY_DESCRIPTOR_TOO_SMALL, 24, 22
    elif call.method == "R_QMGetTmWhereabouts":
        room, needed = number(call.request, "cb_buf_size"), number(call.response, "pcb_whereabouts")
        too_small, fits_row, small_row = Status.MQ_ERROR_USER_BUFFER_TOO_SMALL, 9, 8
    elif call.method == "rpc_ACHandleToFormatName" and call.ok is False:
        room, needed = number(call.request, "pdw_length"), number(call.response, "pdw_length")
        too_small, fits_row, small_row = Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL, 12, 15
    else:
        return
    if room is None or needed is None:
        return
    if call.ok and needed > room:
        yield small_row, f"to {room} bytes of room, and {needed} are needed", too_small.name, True
    elif call.status == too_small and needed <= room:
        yield fits_row, f"to a room of {room}, and {needed} are needed", "MQ_OK", True


_ANSWERS: Mapping[str, Callable[[ObservedCall], _Found]] = {
    "R_QMOpenRemoteQueue": _of_remote_queue,
    "R_QMCloseRemoteQueueContext": _of_context,
    "rpc_QMOpenQueueInternal": _of_local_queue,
    "rpc_ACHandleToFormatName": _of_format_name,
    "R_QMObjectPathToObjectFormat": _of_object_format,
    "R_QMGetObjectSecurityInternal": judge_descriptor,
    "R_QMGetObjectProperties": _of_properties,
    "R_QMQueryQMRegistryInternal": _of_registry,
    "QMSendMessageInternalEx": _of_sending,
    "rpc_ACSendMessageEx": _of_sending,
    "rpc_ACReceiveMessageEx": _of_receiving,
}
