"""Transfer buffers in which nothing can be sent or received. [MS-MQMP] 2.2.3.2, 3.1.5.2, 3.1.5.3

The rule kept here: only what was decoded whole is judged, and by the buffer alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from msmq_wire.replay.observed_call import number
from msmq_wire.rpc.ndr import NullPointee
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, TransferReceive, TransferSend
from msmq_wire.rpc.types.queue_format import QueueFormat

_NAME_LIMIT, _LABEL_LIMIT = 1024, 250
_HASHES = frozenset({0x8001, 0x8002, 0x8003, 0x8004, 0x800C, 0x800E})
_OTHER_HASHES = frozenset({0x8005, 0x800D})
"""Those that System.Messaging knows besides."""
_CIPHERS = frozenset({0x6602, 0x6801})
_ACKNOWLEDGMENTS = 0x0F
_PROV_RSA_FULL = 1
Broken: TypeAlias = Callable[[Any], bool]
"""Whether a request has to be refused."""
_Buffer: TypeAlias = Callable[[CACTransferBufferV1], bool]


class Refusal(msgspec.Struct, frozen=True):
    """A check whose breach stands in the request: ``broken`` says whether the request has to be refused.

    ``expected`` is what the row says where it is empty. ``certain`` is False where the rule is a SHOULD, or
    some servers do not follow it; what documents contradict, the row of the check names.
    """

    check: str
    what: str
    broken: Broken
    expected: str = ""
    certain: bool = True


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


def _of_buffer(broken: _Buffer) -> Broken:
    return lambda request: (old := transfer_buffer(request)) is not None and broken(old)


def _sends(broken: _Buffer) -> Broken:
    return _of_buffer(lambda old: isinstance(old.arm, TransferSend) and broken(old))


def _receives(broken: _Buffer) -> Broken:
    return _of_buffer(lambda old: isinstance(old.arm, TransferReceive) and broken(old))


def _is_no_queue(value: Any) -> bool:
    return isinstance(value, QueueFormat) and value.arm is not msgspec.UNSET and value.format_name is None


def _not_in(name: str, allowed: frozenset[int]) -> _Buffer:
    return lambda old: (found := getattr(old, name)) is not None and found not in allowed


def _signed(broken: _Buffer) -> Broken:
    return _sends(lambda old: old.ul_signature_size != 0 and broken(old))


def _lengths(old: CACTransferBufferV1) -> bool:
    both = old.pul_auth_prov_name_len_prop
    if both is None or null(old.pp_signature):
        return False
    return not 0 <= both - old.ul_prov_name_len <= old.ul_signature_size


_ZERO_TO_ONE = frozenset({0, 1})
_ZERO_TO_TWO = frozenset({0, 1, 2})
_OTHER_LEVELS = frozenset({3, 5})
"""Privacy levels of packets, and of mq.h."""

SEND_REFUSALS = (
    Refusal(
        "not-to-send",
        "a transfer buffer of a type other than send",
        _of_buffer(lambda old: old.u_transfer_type != 0),
    ),
    Refusal(
        "admin-queue-without-name",
        "an administration queue without a valid name",
        _sends(lambda old: _is_no_queue(old.arm.p_admin_queue_format)),
    ),
    Refusal(
        "response-queue-without-name",
        "a response queue without a valid name",
        _sends(lambda old: _is_no_queue(old.arm.p_response_queue_format)),
    ),
    Refusal("priority", "a priority above 7", _sends(lambda old: (old.p_priority or 0) > 7)),
    Refusal(
        "body-above-room",
        "a body that is larger than its buffer",
        _sends(
            lambda old: (
                not null(old.pp_body) and old.ul_body_buffer_size_in_bytes > old.ul_alloc_body_buffer_in_bytes
            )
        ),
    ),
    Refusal(
        "signature-without-hash",
        "a signature without pulHashAlg",
        _signed(lambda old: old.pul_hash_alg is None),
    ),
    Refusal(
        "hash-algorithm",
        "a signature with an undefined pulHashAlg",
        _signed(_not_in("pul_hash_alg", _HASHES | _OTHER_HASHES)),
    ),
    Refusal(
        "hash-algorithm-of-applications",
        "a signature with an undefined pulHashAlg",
        _signed(lambda old: old.pul_hash_alg in _OTHER_HASHES),
    ),
    Refusal(
        "privacy-without-cipher",
        "pulPrivLevel without pulEncryptAlg",
        _sends(lambda old: old.pul_encrypt_alg is None and old.pul_priv_level is not None),
    ),
    Refusal(
        "encryption-algorithm",
        "an undefined pulEncryptAlg",
        _sends(lambda old: bool(old.pul_priv_level) and _not_in("pul_encrypt_alg", _CIPHERS)(old)),
    ),
    Refusal(
        "certificate-length",
        "a ulSenderCertLen without a certificate",
        _sends(lambda old: null(old.pp_sender_cert) and old.ul_sender_cert_len != 0),
    ),
    Refusal(
        "sender-length",
        "a uSenderIDLen without pulSenderIDType",
        _sends(lambda old: old.pul_sender_id_type is None and old.u_sender_id_len != 0),
    ),
    Refusal(
        "no-sender",
        "a sender identifier type without a sender identifier",
        _sends(
            lambda old: (
                null(old.pp_sender_id)
                and old.pul_sender_id_type is not None
                and (old.u_sender_id_len != 0 or old.pul_sender_id_type != 0)
            )
        ),
    ),
    Refusal(
        "key-size",
        "a ulSymmKeysSize without a key",
        _sends(lambda old: null(old.pp_symm_keys) and old.ul_symm_keys_size != 0),
    ),
    Refusal(
        "signature-without-provider",
        "a signature without the name of its provider",
        _signed(lambda old: old.f_default_provider == 0 and null(old.ppwcs_prov_name)),
    ),
    Refusal(
        "default-provider",
        "a signature by a default provider other than PROV_RSA_FULL",
        _signed(lambda old: old.f_default_provider != 0 and old.pul_prov_type != _PROV_RSA_FULL),
    ),
    Refusal("signature-lengths", "a signature whose parts have no length", _signed(_lengths)),
    Refusal("delivery", "an undefined pDelivery", _sends(_not_in("p_delivery", _ZERO_TO_ONE))),
    Refusal(
        "acknowledge",
        "a pAcknowledge with undefined bits",
        _sends(lambda old: bool((old.p_acknowledge or 0) & ~_ACKNOWLEDGMENTS)),
    ),
    Refusal("auditing", "a pAuditing above 3", _sends(lambda old: (old.p_auditing or 0) > 3)),
    Refusal("trace", "an undefined pTrace", _sends(_not_in("p_trace", _ZERO_TO_ONE))),
    Refusal(
        "sender-of-no-type",
        "a sender identifier without a type",
        _sends(lambda old: not null(old.pp_sender_id) and old.pul_sender_id_type == 0),
    ),
    Refusal(
        "sender-type",
        "an undefined pulSenderIDType",
        _sends(lambda old: not null(old.pp_sender_id) and _not_in("pul_sender_id_type", _ZERO_TO_TWO)(old)),
    ),
    Refusal(
        "privacy-level",
        "an undefined pulPrivLevel",
        _sends(_not_in("pul_priv_level", _ZERO_TO_TWO | _OTHER_LEVELS)),
    ),
    Refusal(
        "privacy-level-of-applications",
        "an undefined pulPrivLevel",
        _sends(lambda old: old.pul_priv_level in _OTHER_LEVELS),
    ),
)
"""What forbids to send, in the order in which it is told."""


def _names(prefix: str, what: str) -> tuple[Refusal, ...]:
    """What is wrong about the room for a name."""

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

    def unacknowledged(old: CACTransferBufferV1) -> bool:
        text, _, reported = parts(old)
        return not null(text) and reported is None

    return (
        Refusal(
            f"large-room:{prefix}",
            f"a buffer above {_NAME_LIMIT} characters for the name of the {what} queue",
            _receives(lambda old: parts(old)[1] > _NAME_LIMIT),
        ),
        Refusal(
            f"unwanted-room:{prefix}",
            f"a buffer for the name of the {what} queue, which the client does not ask for",
            _receives(unwanted),
        ),
        Refusal(
            f"room-without-size:{prefix}",
            f"the name of the {what} queue without the size of its buffer",
            _receives(unacknowledged),
        ),
    )


RECEIVE_REFUSALS = (
    Refusal(
        "not-to-receive",
        "a transfer buffer of a type other than receive",
        _of_buffer(lambda old: old.u_transfer_type != 1),
    ),
    *_names("response", "response"),
    *_names("admin", "administration"),
    *_names("dest", "destination"),
    *_names("ordering", "order"),
    Refusal(
        "unwanted-size:body",
        "a size for a body that the client does not ask for",
        _receives(lambda old: null(old.pp_body) and old.ul_body_buffer_size_in_bytes != 0),
    ),
    Refusal(
        "unwanted-room:body",
        "a buffer for a body that the client does not ask for",
        _receives(lambda old: null(old.pp_body) and old.ul_alloc_body_buffer_in_bytes != 0),
    ),
    Refusal(
        "large-room:title",
        f"a buffer above {_LABEL_LIMIT} characters for the label",
        _receives(lambda old: old.ul_title_buffer_size_in_wchars > _LABEL_LIMIT),
    ),
    Refusal(
        "unwanted-room:title",
        "a buffer for a label that the client does not ask for",
        _receives(lambda old: null(old.pp_title) and old.ul_title_buffer_size_in_wchars != 0),
    ),
    Refusal(
        "room-without-size:title",
        "the label without the size of its buffer",
        _receives(lambda old: not null(old.pp_title) and old.pul_title_buffer_size_in_wchars is None),
    ),
    Refusal(
        "unwanted-room:extension",
        "a buffer for an extension that the client does not ask for",
        _receives(lambda old: null(old.pp_msg_extension) and old.ul_msg_extension_buffer_in_bytes != 0),
    ),
)
"""What forbids to receive."""
