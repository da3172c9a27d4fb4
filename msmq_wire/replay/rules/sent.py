"""Messages that are sent to a queue, and received from it otherwise. [MS-MQMP] 3.1.1.11, 3.1.5.2

The rule kept here: a message is the one that was sent where its identifier and the name of the queue are the
same at one server. What servers, keys and transactions may change is not compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, TypeAlias

import msgspec

from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import ObservedCall
from msmq_wire.replay.rule_table import row_of
from msmq_wire.replay.rules.buffers import transfer_buffer
from msmq_wire.replay.state import EventTime, KnownHandle, SentMessage, ServerState
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.transfer_properties import MessageProperties, message_properties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.types.guid import NULL_GUID

_LABEL_LIMIT = 249


class _Compared(msgspec.Struct, frozen=True):
    """An attribute, and what it is where the member is NULL and a row says so."""

    attribute: str
    default: Any = None
    certain: bool = True


_ATTRIBUTES = (
    _Compared("message_class", 0),
    _Compared("correlation_identifier", bytes(20)),
    _Compared("priority", 3),
    _Compared("delivery_guarantee", 0),
    _Compared("acknowledgements_requested", 0, certain=False),
    _Compared("positive_journaling_requested", False),
    _Compared("negative_journaling_requested", False),
    _Compared("application_tag", 0),
    _Compared("body_length"),
    _Compared("body", b""),
    _Compared("label", ""),
    _Compared("tracing_requested", False),
    _Compared("privacy_level", 0, certain=False),
    _Compared("sender_certificate", b""),
    _Compared("signature", b"", certain=False),
    _Compared("symmetric_key", b"", certain=False),
    _Compared("extension", b""),
    _Compared("connector_type_identifier", NULL_GUID),
    _Compared("body_type", 0),
)
_IN_TRANSACTION = {"priority": 0, "delivery_guarantee": 1}
_NAMES = (
    ("response_queue_format_name", "pul_response_format_name_len_prop"),
    ("administration_queue_format_name", "pul_admin_format_name_len_prop"),
)
"""The attribute, and the member that has its length when it is received."""


def _digest(value: Any) -> Any:
    """What a value is compared by: of long octets a number is kept, not themselves."""
    return hash(bytes(value)) if isinstance(value, bytes) else value


def _place(call: ObservedCall, name: Any) -> Hashable | None:
    queue = call.queue
    if queue is None or not isinstance(name, ObjectId):
        return None
    return (call.server, queue.lower(), name.lineage, name.uniquifier)


def learn_sent(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> None:
    """Take a message that was sent; it is known by the identifier that its server gave it."""
    buffer = transfer_buffer(call.request)
    if not call.ok or call.role is not Role.SEND or buffer is None or (used is not None and used.proxy):
        return
    given = getattr(call.response, "p_message_id", None)
    if isinstance(given, ObjectId):
        known.named.put((call.server, given.lineage, given.uniquifier), EventTime.of(call))
    key = _place(call, given)
    if key is None:
        return
    sent = message_properties(call.request.ptb)
    values = {one.attribute: _sent(sent, one.attribute) for one in _ATTRIBUTES}
    values |= {name: getattr(sent, name) for name, *_ in _NAMES}
    transaction = buffer.p_uow is not None and any(buffer.p_uow)
    known.sent.put(key, SentMessage(EventTime.of(call), values, transaction))


def _trusted(properties: MessageProperties, attribute: str) -> bool:
    reported = (one.startswith(f"{attribute}:") for one in properties.problems)
    return attribute not in properties.truncated and not any(reported)


def _sent(properties: MessageProperties, attribute: str) -> Any:
    if not _trusted(properties, attribute) or (attribute == "body" and properties.body_encrypted):
        return msgspec.UNSET
    value = getattr(properties, attribute)
    if attribute == "label" and value is not None:
        # A longer one is cut.
        return msgspec.UNSET if len(value.text) > _LABEL_LIMIT else value.text
    if attribute == "body_length" and properties.body_encrypted:
        return msgspec.UNSET
    return _digest(value)


def judge_sent(known: ServerState, call: ObservedCall, used: KnownHandle | None) -> Iterator[ReplayDeviation]:
    """A message that is named as another one, or comes otherwise than it was sent."""
    if call.ok and call.role is Role.SEND:
        yield from _judge_name(known, call)
    carried = None if call.message is None else call.message.packet
    if not call.ok or call.role is not Role.RECEIVE or not isinstance(carried, TransferBuffer):
        return
    received = carried.properties
    key = _place(call, received.identifier)
    before = None if key is None else known.sent.get(key)
    answered = transfer_buffer(call.response)
    far = used is not None and used.proxy
    if answered is None or before is None or before.happened.ended >= call.begun or far:
        return
    for check, what, expected, came, certain in _differences(before, received, answered.arm):
        row = call.row(check)
        if row is not None:
            yield call.deviation(
                ReplayKind.SECTIONS,
                row,
                f"{call.method} returns another {what} than {before.happened} sent",
                expected,
                came=came,
                certain=certain,
            )
            return


def _judge_name(known: ServerState, call: ObservedCall) -> Iterator[ReplayDeviation]:
    given = getattr(call.response, "p_message_id", None)
    if not isinstance(given, ObjectId):
        return
    before = known.named.get((call.server, given.lineage, given.uniquifier))
    if before is not None and before.ended < call.begun:
        yield call.deviation(
            ReplayKind.STATUS,
            row_of("same-identifier", call.method),
            f"{call.method} gives a message the identifier that {before} gave to another message",
            "an identifier that no other message has",
            came=f"{given.lineage}\\{given.uniquifier}",
        )


_Difference: TypeAlias = tuple[str, str, str, str, bool]


def _differences(before: SentMessage, received: MessageProperties, arm: Any) -> Iterator[_Difference]:
    for one in _ATTRIBUTES:
        came, sent = getattr(received, one.attribute), before.values[one.attribute]
        if came is None or sent is msgspec.UNSET or not _trusted(received, one.attribute):
            continue
        check = "changed"
        if before.transaction and one.attribute in _IN_TRANSACTION:
            sent, check = _IN_TRANSACTION[one.attribute], "in-transaction"
        elif sent is None:
            sent, check = _digest(one.default), "default"
        shown = came.text if one.attribute == "label" else _digest(came)
        if shown != sent:
            what = one.attribute.replace("_", " ")
            octets = isinstance(came, bytes) and one.attribute != "label"
            due, other = ("what was sent", "something else") if octets else (f"{sent}", f"{shown}")
            yield f"{check}:{one.attribute}", what, due, other, one.certain
    for name, length in _NAMES:
        # What has no length is not there; without one it was not asked for.
        came = getattr(received, name) if getattr(arm, length, None) else getattr(arm, length, None)
        sent = before.values[name]
        if came is None or bool(came) is bool(sent):
            continue
        check = f"{'changed' if sent else 'default'}:{name}"
        yield check, name.replace("_", " "), f"{sent or 'none'}", f"{came or 'none'}", sent is None
