"""Transfer buffers in which nothing can be sent or received. [MS-MQMP] 2.2.3.2, 3.1.5.2, 3.1.5.3

The rule kept here: only what was decoded whole is judged, and by the buffer alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from msmq_wire.replay.call import ObservedCall, number
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.rpc.ndr import NullPointee
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, TransferReceive, TransferSend
from msmq_wire.rpc.types.queue_format import QueueFormat

__all__ = [
    "BOUND",
    "RECEIVE_REFUSALS",
    "SEND_REFUSALS",
    "Broken",
    "Refusal",
    "above",
    "granted",
    "missing",
    "null",
    "outside",
    "transfer_buffer",
]

_FAILURE = "a failure"
BOUND = "a fault: the number is out of its bounds"
_NAME_LIMIT, _LABEL_LIMIT = 1024, 250
_HASHES = frozenset({0x8001, 0x8002, 0x8003, 0x8004, 0x800C, 0x800E})
_CIPHERS = frozenset({0x6602, 0x6801})
_ACKNOWLEDGMENTS = frozenset({0x00, 0x01, 0x02, 0x04, 0x05, 0x08, 0x0C, 0x0E})
_PROV_RSA_FULL = 1
Broken: TypeAlias = Callable[[Any], bool]
"""Whether a request has to be refused."""
_Buffer: TypeAlias = Callable[[CACTransferBufferV1], bool]
_Arm: TypeAlias = Callable[[Any], bool]


class Refusal(msgspec.Struct, frozen=True):
    """A row whose breach stands in the request: ``broken`` says whether the request has to be refused.

    ``row`` is that of the method, or a rule of another section. ``certain`` is False where the rule is a
    SHOULD, or some servers do not follow it.
    """

    row: int | ProcessingRule
    what: str
    broken: Callable[[Any], bool]
    expected: str = _FAILURE
    certain: bool = True


def granted(call: ObservedCall, refusals: Sequence[Refusal]) -> ReplayDeviation | None:
    """The first of these that a call had to meet with, and did not."""
    one = next((one for one in refusals if one.broken(call.request)), None) if call.ok else None
    if one is None:
        return None
    text = f"{call.method} accepts {one.what}"
    return call.deviation(ReplayKind.ACTION, one.row, text, one.expected, certain=one.certain)


def transfer_buffer(value: Any) -> CACTransferBufferV1 | None:
    """The buffer of a request or a response, None where not all of it was decoded."""
    old = getattr(getattr(value, "ptb", None), "old", None)
    if not isinstance(old, CACTransferBufferV1):
        return None
    members = msgspec.structs.astuple(old)
    if isinstance(old.arm, msgspec.Struct):
        members += msgspec.structs.astuple(old.arm)
    return None if msgspec.UNSET in members else old


def null(value: Any) -> bool:
    """Whether a pointer, or what it points to, is NULL."""
    return value is None or isinstance(value, NullPointee)


def above(name: str, limit: int) -> Broken:
    """Whether a member is above a number."""
    return lambda request: (number(request, name) or 0) > limit


def outside(name: str, allowed: frozenset[int]) -> Broken:
    """Whether a member is a number that is not allowed."""
    return lambda request: (found := number(request, name)) is not None and found not in allowed


def missing(name: str) -> Broken:
    """Whether a member is NULL."""
    return lambda request: getattr(request, name, msgspec.UNSET) is None


def _of_buffer(broken: _Buffer) -> Callable[[Any], bool]:
    return lambda request: (old := transfer_buffer(request)) is not None and broken(old)


def _sends(broken: _Buffer) -> Callable[[Any], bool]:
    return _of_buffer(lambda old: isinstance(old.arm, TransferSend) and broken(old))


def _receives(broken: _Buffer) -> Callable[[Any], bool]:
    return _of_buffer(lambda old: isinstance(old.arm, TransferReceive) and broken(old))


def _type(row: int) -> ProcessingRule:
    return ProcessingRule("MQMP", "2.2.3.2", row)


def _is_no_queue(value: Any) -> bool:
    return isinstance(value, QueueFormat) and value.arm is not msgspec.UNSET and value.format_name is None


def _not_in(name: str, allowed: frozenset[int]) -> _Buffer:
    return lambda old: (found := getattr(old, name)) is not None and found not in allowed


def _signed(broken: _Buffer) -> Callable[[Any], bool]:
    return _sends(lambda old: old.ul_signature_size != 0 and broken(old))


def _lengths(old: CACTransferBufferV1) -> bool:
    both = old.pul_auth_prov_name_len_prop
    if both is None or null(old.pp_signature):
        return False
    return not 0 <= both - old.ul_prov_name_len <= old.ul_signature_size


_ZERO_TO_ONE = frozenset({0, 1})
_ZERO_TO_TWO = frozenset({0, 1, 2})

SEND_REFUSALS = (
    Refusal(6, "a buffer that is not to be sent", _of_buffer(lambda old: old.u_transfer_type != 0)),
    Refusal(
        8,
        "an administration queue whose name is none",
        _sends(lambda old: _is_no_queue(old.arm.p_admin_queue_format)),
    ),
    Refusal(
        10,
        "a response queue whose name is none",
        _sends(lambda old: _is_no_queue(old.arm.p_response_queue_format)),
    ),
    Refusal(14, "a priority above 7", _sends(lambda old: (old.p_priority or 0) > 7)),
    Refusal(
        36,
        "a body that is larger than its room",
        _sends(
            lambda old: (
                not null(old.pp_body) and old.ul_body_buffer_size_in_bytes > old.ul_alloc_body_buffer_in_bytes
            )
        ),
    ),
    Refusal(38, "a signature without pulHashAlg", _signed(lambda old: old.pul_hash_alg is None)),
    Refusal(40, "a signature with a pulHashAlg that there is not", _signed(_not_in("pul_hash_alg", _HASHES))),
    Refusal(
        41,
        "pulPrivLevel without pulEncryptAlg",
        _sends(lambda old: old.pul_encrypt_alg is None and old.pul_priv_level is not None),
    ),
    Refusal(
        43,
        "a pulEncryptAlg that there is not",
        _sends(lambda old: bool(old.pul_priv_level) and _not_in("pul_encrypt_alg", _CIPHERS)(old)),
        certain=False,
    ),
    Refusal(
        46,
        "a ulSenderCertLen without a certificate",
        _sends(lambda old: null(old.pp_sender_cert) and old.ul_sender_cert_len != 0),
    ),
    Refusal(
        47,
        "a uSenderIDLen without pulSenderIDType",
        _sends(lambda old: old.pul_sender_id_type is None and old.u_sender_id_len != 0),
    ),
    Refusal(
        50,
        "a sender that is not there",
        _sends(
            lambda old: (
                null(old.pp_sender_id)
                and old.pul_sender_id_type is not None
                and (old.u_sender_id_len != 0 or old.pul_sender_id_type != 0)
            )
        ),
    ),
    Refusal(
        52,
        "a ulSymmKeysSize without a key",
        _sends(lambda old: null(old.pp_symm_keys) and old.ul_symm_keys_size != 0),
    ),
    Refusal(
        55,
        "a signature without the name of its provider",
        _signed(lambda old: old.f_default_provider == 0 and null(old.ppwcs_prov_name)),
    ),
    Refusal(
        59,
        "a signature by a default provider that is not PROV_RSA_FULL",
        _signed(lambda old: old.f_default_provider != 0 and old.pul_prov_type != _PROV_RSA_FULL),
    ),
    Refusal(65, "a signature whose parts have no length", _signed(_lengths)),
    Refusal(_type(37), "a pDelivery that there is not", _sends(_not_in("p_delivery", _ZERO_TO_ONE))),
    Refusal(
        _type(46), "a pAcknowledge that there is not", _sends(_not_in("p_acknowledge", _ACKNOWLEDGMENTS))
    ),
    Refusal(_type(51), "a pAuditing above 3", _sends(lambda old: (old.p_auditing or 0) > 3)),
    Refusal(_type(60), "a pTrace that there is not", _sends(_not_in("p_trace", _ZERO_TO_ONE))),
    Refusal(
        _type(64),
        "a sender of no type",
        _sends(lambda old: not null(old.pp_sender_id) and old.pul_sender_id_type == 0),
    ),
    Refusal(
        _type(65),
        "a pulSenderIDType that there is not",
        _sends(lambda old: not null(old.pp_sender_id) and _not_in("pul_sender_id_type", _ZERO_TO_TWO)(old)),
    ),
    Refusal(_type(69), "a pulPrivLevel that there is not", _sends(_not_in("pul_priv_level", _ZERO_TO_TWO))),
)
"""What forbids to send, row by row of rpc_ACSendMessageEx."""


def _names(prefix: str, first: int, what: str) -> tuple[Refusal, ...]:
    """The three rows about the room for a name, of which the first is known."""

    def parts(old: CACTransferBufferV1) -> tuple[Any, int, int | None]:
        name = f"{prefix}_format_name"
        return (
            getattr(old.arm, f"pp_{name}"),
            getattr(old.arm, f"ul_{name}_len"),
            getattr(old.arm, f"pul_{name}_len_prop"),
        )

    def unwanted(old: CACTransferBufferV1) -> bool:
        text, room, _ = parts(old)
        return null(text) and room != 0

    def untold(old: CACTransferBufferV1) -> bool:
        text, _, told = parts(old)
        return not null(text) and told is None

    return (
        Refusal(
            first + 1,
            f"a room above {_NAME_LIMIT} for the {what} queue",
            _receives(lambda old: parts(old)[1] > _NAME_LIMIT),
            BOUND,
        ),
        Refusal(first, f"room for the {what} queue, whose name is not wanted", _receives(unwanted)),
        Refusal(first + 2, f"the {what} queue without the size of its room", _receives(untold)),
    )


RECEIVE_REFUSALS = (
    Refusal(6, "a buffer that is not to be received", _of_buffer(lambda old: old.u_transfer_type != 1)),
    *_names("response", 13, "response"),
    *_names("admin", 21, "administration"),
    *_names("dest", 29, "destination"),
    *_names("ordering", 37, "order"),
    Refusal(
        48,
        "a size for a body that is not wanted",
        _receives(lambda old: null(old.pp_body) and old.ul_body_buffer_size_in_bytes != 0),
    ),
    Refusal(
        49,
        "room for a body that is not wanted",
        _receives(lambda old: null(old.pp_body) and old.ul_alloc_body_buffer_in_bytes != 0),
    ),
    Refusal(
        54,
        f"a room above {_LABEL_LIMIT} for the label",
        _receives(lambda old: old.ul_title_buffer_size_in_wchars > _LABEL_LIMIT),
    ),
    Refusal(
        53,
        "room for a label that is not wanted",
        _receives(lambda old: null(old.pp_title) and old.ul_title_buffer_size_in_wchars != 0),
    ),
    Refusal(
        55,
        "the label without the size of its room",
        _receives(lambda old: not null(old.pp_title) and old.pul_title_buffer_size_in_wchars is None),
    ),
    Refusal(
        62,
        "room for an extension that is not wanted",
        _receives(lambda old: null(old.pp_msg_extension) and old.ul_msg_extension_buffer_in_bytes != 0),
    ),
)
"""What forbids to receive, row by row of rpc_ACReceiveMessageEx."""
