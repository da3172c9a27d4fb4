"""What a call on an object means, in a few words: "receives the message at its cursor, waits up to 2.5 s".

The rule kept here: arguments that the client did not specify are not told.
"""

from __future__ import annotations

from collections.abc import Mapping

from msmq_wire.records.com_packets import ComCall, ReceiveArguments
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES, ReceiveCurrentResponse

_NOTHING_THERE = 0xC00E0008
"""What [MC-MQAC] 3.11.4.1.11 has for a receive that must not wait; elsewhere it is a cancelled one."""
_INFINITE = 0xFFFFFFFF
_QUEUES = {interface.name: interface for interface in COM_INTERFACES.values()}
_TRANSACTIONS: Mapping[str, str] = {
    "MQ_NO_TRANSACTION": "outside of transactions",
    "MQ_MTS_TRANSACTION": "in the transaction of its context",
    "MQ_XA_TRANSACTION": "in an XA transaction",
    "MQ_SINGLE_MESSAGE": "in no other transaction",
    "interface pointer": "in a transaction of its own",
}


def com_words(call: ComCall) -> str:
    """Say in plain words what a call on an object asks for, without how it ends."""
    queue = _QUEUES.get(call.interface)
    if queue is None or call.opnum is None or call.opnum not in queue.methods:
        return f"a call of {call.interface}"
    specified = [] if call.arguments is None else _specified(call.arguments)
    return ", ".join((queue.methods[call.opnum].does, *specified))


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
    return (
        isinstance(call.response, ReceiveCurrentResponse) and call.status == _NOTHING_THERE and not call.fault
    )
