"""Lengths in what came back from rpc_ACReceiveMessageEx and rpc_ACHandleToFormatName.

[MS-MQMP] 3.1.5.3, 3.1.4.21.

The rule kept here: the request says how much room there was, the answer how much there is; what both say
together is enough. Lengths of texts are read with and without their terminator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import msgspec

from msmq_wire.replay.observed_call import ObservedCall, number
from msmq_wire.replay.rules.buffers import null
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, TransferReceive
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

_Contradiction: TypeAlias = tuple[str, str, str, bool]
_THE_VERSION = 0x10


class _Part(NamedTuple):
    """The members of a buffer that are a text or octets, the room for them, and their length."""

    content: str
    room: str
    reported: str


_NAMES = tuple(
    _Part(f"pp_{name}_format_name", f"ul_{name}_format_name_len", f"pul_{name}_format_name_len_prop")
    for name in ("response", "admin", "dest", "ordering")
)
_LABEL = _Part("pp_title", "ul_title_buffer_size_in_wchars", "pul_title_buffer_size_in_wchars")
_PROVIDER = _Part("ppwcs_prov_name", "ul_prov_name_len", "pul_auth_prov_name_len_prop")
_OCTETS = (
    _Part("pp_body", "ul_body_buffer_size_in_bytes", "p_body_size"),
    _Part("pp_msg_extension", "ul_msg_extension_buffer_in_bytes", "p_msg_extension_size"),
    _Part("pp_sender_id", "u_sender_id_len", "pul_sender_id_len_prop"),
    _PROVIDER,
    _Part("pp_sender_cert", "ul_sender_cert_len", "pul_sender_cert_len_prop"),
    _Part("pp_symm_keys", "ul_symm_keys_size", "pul_symm_keys_size_prop"),
    _Part("pp_signature", "ul_signature_size", "pul_signature_size_prop"),
)


def judge_lengths(asked: CACTransferBufferV1, answered: CACTransferBufferV1) -> Iterator[_Contradiction]:
    """The check, what is wrong, what is due and whether that is certain, of a buffer that holds a message."""
    if isinstance(asked.arm, TransferReceive) and isinstance(answered.arm, TransferReceive):
        for one in _NAMES:
            yield from _of_text(one, asked.arm, answered.arm)
    yield from _of_text(_LABEL, asked, answered)
    for part in _OCTETS:
        yield from _of_octets(part, asked, answered)
    if answered.pul_version not in (None, _THE_VERSION):
        yield "version", f"with the version {answered.pul_version}", f"{_THE_VERSION}", False


def judge_cut_name(call: ObservedCall) -> Iterator[_Contradiction]:
    """The same of a format name that did not fit: what there is room for comes, with its end."""
    if call.role is not Role.ASK_OPEN_NAME or call.status != Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL:
        return
    room, given = (
        number(call.request, "pdw_length"),
        getattr(call.request, "lpwcs_format_name", msgspec.UNSET),
    )
    text = getattr(call.response, "lpwcs_format_name", msgspec.UNSET)
    if room is None or msgspec.UNSET in (given, text):
        return
    if not room or given is None:
        if isinstance(text, WcharText) and FixedWcharText(text).used:
            yield "no-room", "with a part of the name, though there is no room for it", "nothing of it", True
    elif not isinstance(text, WcharText) or len(text) > 2 * room or text[-2:] != b"\0\0":
        yield "cut", "without the part of the name that fits", f"{room} characters, the last one null", True


def _of_text(
    one: _Part, asked: CACTransferBufferV1 | TransferReceive, answered: CACTransferBufferV1 | TransferReceive
) -> Iterator[_Contradiction]:
    room, before, reported = (
        getattr(asked, one.room),
        getattr(asked, one.reported),
        getattr(answered, one.reported),
    )
    name, text = one.content, getattr(answered, one.content)
    wanted = not null(getattr(asked, name))
    if before is None:
        return
    if reported is None:
        yield f"length:{name}", f"without {one.reported}", "the length of the whole text", True
        return
    if wanted and reported > before:
        yield (
            f"too-large:{name}",
            f"though there is room for {before} characters and {reported} are needed",
            "a failure",
            True,
        )
    elif wanted and reported and null(text):
        yield f"filled:{name}", f"without {name}, which was asked for", "the text", True
    elif getattr(answered, one.room) not in (min(room, reported), min(room, before)):
        came, due = getattr(answered, one.room), min(room, reported)
        yield f"room:{name}", f"with {came} in {one.room}", f"{due}", True
    elif wanted and reported and isinstance(text, WcharText):
        used = FixedWcharText(text).used // 2
        if 2 * used == len(text):
            yield (
                f"filled:{name}",
                f"with a {name} that is not null-terminated",
                "a null character at its end",
                True,
            )
        elif reported not in (used, used + 1):
            yield f"length:{name}", f"with {reported} in {one.reported}", f"{used + 1}", True


def _of_octets(
    one: _Part, asked: CACTransferBufferV1, answered: CACTransferBufferV1
) -> Iterator[_Contradiction]:
    room, before, reported = (
        getattr(asked, one.room),
        getattr(asked, one.reported),
        getattr(answered, one.reported),
    )
    wanted = not null(getattr(asked, one.content))
    if before is None:
        return
    if reported is None:
        yield f"length:{one.content}", f"without {one.reported}", "the length of the data", True
    elif wanted and reported > room:
        yield (
            f"too-large:{one.content}",
            f"though there is room for {room} and {reported} are needed",
            "a failure",
            True,
        )
    elif wanted and reported and null(getattr(answered, one.content)):
        yield (
            f"filled:{one.content}",
            f"without {one.content}, which was asked for",
            f"{reported} of it",
            True,
        )
    elif one is _PROVIDER and wanted and reported:
        content = getattr(answered, one.content)
        used = FixedWcharText(content).used // 2 if isinstance(content, WcharText) else reported
        if reported not in (used, used + 1):
            yield f"length:{one.content}", f"with {reported} in {one.reported}", f"{used}", True
