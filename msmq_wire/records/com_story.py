"""What a call on an object means, in a few words: "receives the message at its cursor, waits up to 2.5 s".

The rule kept here: arguments that the client did not specify are not told.
"""

from __future__ import annotations

from collections.abc import Mapping

from msmq_wire.records.com_packets import ComCall, ReceiveArguments
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES, RECEIVE_CURRENT

__all__ = ["com_words", "finds_nothing"]

_NOTHING_THERE = 0xC00E0008
"""What [MC-MQAC] 3.11.4.1.11 has for a receive that must not wait; elsewhere it is a cancelled one."""
_INFINITE = 0xFFFFFFFF
_QUEUES = frozenset(interface.name for interface in COM_INTERFACES.values())
_RECEIVES, _PEEKS = "receives the message", "looks at the message"
_WORDS: Mapping[str, str] = {
    "Close": "closes the queue",
    "Receive": f"{_RECEIVES} at the head",
    "Peek": f"{_PEEKS} at the head",
    "EnableNotification": "asks to be told when a message comes",
    "Reset": "moves its cursor to the head",
    "ReceiveCurrent": f"{_RECEIVES} at its cursor",
    "PeekNext": f"{_PEEKS} behind its cursor",
    "PeekCurrent": f"{_PEEKS} at its cursor",
    "ReceiveByLookupId": f"{_RECEIVES} with a lookup id",
    "ReceiveNextByLookupId": f"{_RECEIVES} behind a lookup id",
    "ReceivePreviousByLookupId": f"{_RECEIVES} before a lookup id",
    "ReceiveFirstByLookupId": f"{_RECEIVES} at the head",
    "ReceiveLastByLookupId": f"{_RECEIVES} at the end",
    "ReceiveByLookupIdAllowPeek": f"{_RECEIVES} with a lookup id",
    "PeekByLookupId": f"{_PEEKS} with a lookup id",
    "PeekNextByLookupId": f"{_PEEKS} behind a lookup id",
    "PeekPreviousByLookupId": f"{_PEEKS} before a lookup id",
    "PeekFirstByLookupId": f"{_PEEKS} at the head",
    "PeekLastByLookupId": f"{_PEEKS} at the end",
    "Purge": "deletes all messages",
    "Invoke": "calls a method by its dispatch id",
}
_TRANSACTIONS: Mapping[str, str] = {
    "MQ_NO_TRANSACTION": "outside of transactions",
    "MQ_MTS_TRANSACTION": "in the transaction of its context",
    "MQ_XA_TRANSACTION": "in an XA transaction",
    "MQ_SINGLE_MESSAGE": "in no other transaction",
    "interface pointer": "in a transaction of its own",
}


def com_words(call: ComCall) -> str:
    """Say in plain words what a call on an object asks for, without how it ends."""
    if call.interface not in _QUEUES or call.method is None:
        return f"a call of {call.interface}"
    name = call.method.removesuffix("_v1")
    if name.startswith("get_"):
        return f"asks for {name.removeprefix('get_')}"
    words = [_WORDS.get(name, f"calls {name}")]
    if call.arguments is not None:
        words += _specified(call.arguments)
    return ", ".join(words)


def _specified(arguments: ReceiveArguments) -> list[str]:
    words = []
    if "transaction" in arguments.specified:
        words += [text for name, text in _TRANSACTIONS.items() if name == arguments.transaction]
    if arguments.want_body is False:
        words.append("without its body")
    limit = arguments.receive_timeout
    if "receive_timeout" in arguments.specified and limit is not None:
        if limit == 0:
            words.append("without waiting")
        elif limit != _INFINITE:
            words.append(f"waits up to {limit / 1000:g} s")
    return words


def finds_nothing(call: ComCall) -> bool:
    """Whether a receive ended as the document has it where no message is there and none is waited for."""
    return call.opnum == RECEIVE_CURRENT and call.status == _NOTHING_THERE and not call.fault
