"""Actions whose other parameters forbid them, and handles that are not good for them.

[MS-MQRR] 3.1.4.7 and 3.1.4.13, [MS-MQQP] 3.1.4.1, 3.1.4.10 and 3.1.4.11, [MS-MQMP] 3.1.5.3. All that is
needed stands in the request, and in what its handle was opened for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.observed_call import ObservedCall, number
from msmq_wire.replay.read import ObservedRead
from msmq_wire.replay.rule_table import RuleRow
from msmq_wire.replay.rules.handles import may_receive, purpose
from msmq_wire.replay.state import KnownHandle
from msmq_wire.rpc.constants import AccessMode, ReceiveAction
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.types.remote_read_descriptor import read_descriptor

_SYMBOLS = {int(action): action.name for action in ReceiveAction}
_LOOKUPS = frozenset(int(action) for action in ReceiveAction if action.lookup)
_PLAIN = frozenset(_SYMBOLS) - _LOOKUPS
_Broken = Callable[[ObservedCall, ObservedRead], bool]
_FORBIDDEN: tuple[tuple[str, str, _Broken], ...] = (
    ("without-lookup-id", "without a LookupId", lambda _, read: read.lookup_id == 0),
    ("with-lookup-id", "with a LookupId", lambda _, read: bool(read.lookup_id)),
    ("with-cursor", "with a cursor", lambda _, read: bool(read.cursor)),
    ("with-timeout", "with a time-out", lambda _, read: bool(read.timeout)),
    ("without-cursor", "without a cursor", lambda _, read: read.cursor == 0),
    ("in-transaction", "in a transaction", lambda _, read: read.transaction is not None),
    ("unknown-action", "the action 0x{:08X}", lambda _, read: read.action not in _SYMBOLS),
    ("unknown-plain-action", "the action 0x{:08X}", lambda _, read: read.action not in _PLAIN),
    ("unknown-lookup-action", "the action 0x{:08X}", lambda _, read: read.action not in _LOOKUPS),
    ("without-queue", "hRemoteQueue 0", lambda call, _: _queue(call) == 0),
    ("without-dw-queue", "dwQueue 0", lambda call, _: _again(call) == 0),
    ("other-dw-queue", "a dwQueue that is not hRemoteQueue", lambda call, _: _differ(call)),
)
"""Checks, of one action or of all: ``with-cursor:MQ_LOOKUP_PEEK_NEXT``, ``with-cursor``."""


def judge_access(
    call: ObservedCall, read: ObservedRead, used: KnownHandle | None
) -> Iterator[ReplayDeviation]:
    """A read that the handle was not opened for."""
    if not call.ok or used is None or used.access is None or used.proxy or may_receive(used):
        return
    never = call.row(f"opened-with:{AccessMode(used.access).name}")
    row = never or call.row("no-receive-access")
    if row is not None and (never is not None or read.removes):
        what = "reads" if read.removes is False else "receives"
        yield call.deviation(
            ReplayKind.ACCESS,
            row,
            f"{call.method} {what} through a handle that was opened to {purpose(used)}",
            "MQ_ERROR_ACCESS_DENIED" if call.role is Role.RECEIVE else "",
            path=_path(call),
        )


def judge_send(call: ObservedCall, used: KnownHandle | None) -> Iterator[ReplayDeviation]:
    """A message that is sent through a handle that was not opened to send."""
    if not call.ok or used is None or used.access is None:
        return
    row = call.row("send-to-proxy" if used.proxy else "no-send-access")
    if row is not None and (used.proxy or used.access != AccessMode.MQ_SEND_ACCESS):
        what = "belongs to a queue at another server" if used.proxy else f"was opened to {purpose(used)}"
        yield call.deviation(ReplayKind.ACCESS, row, f"{call.method} sends through a handle that {what}")


def judge_action(call: ObservedCall, read: ObservedRead) -> Iterator[ReplayDeviation]:
    """An action that its other parameters forbid: the first row that does."""
    if not call.ok:
        return
    broken = sorted(_broken(call, read), key=lambda one: one[0].rule.row)
    for row, wrong in broken[:1]:
        yield call.deviation(ReplayKind.ACTION, row, f"{call.method} accepts {wrong}", path=_path(call))


def _path(call: ObservedCall) -> str:
    """The action, where it is a parameter of its own."""
    return "opnum" if "." in call.members.action else f"request.{call.members.action}"


def _broken(call: ObservedCall, read: ObservedRead) -> Iterator[tuple[RuleRow, str]]:
    symbol = _SYMBOLS.get(read.action, "")
    for check, what, breaks in _FORBIDDEN:
        of_one, of_all = call.row(f"{check}:{symbol}"), call.row(check)
        row = of_one or of_all
        if row is not None and breaks(call, read):
            yield row, f"{symbol} {what}" if of_one else what.removeprefix("with ").format(read.action)


def _queue(call: ObservedCall) -> int | None:
    return call.call.asked(call.members.handle)


def _again(call: ObservedCall) -> int | None:
    return number(read_descriptor(call.request), "dw_queue")


def _differ(call: ObservedCall) -> bool:
    return None not in (_queue(call), _again(call)) and _queue(call) != _again(call)
