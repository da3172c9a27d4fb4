"""Cursors: which handle they belong to, what closed them, and who may use them.

[MS-MQRR] 3.1.4.4, 3.1.4.5 and 3.1.4.7, [MS-MQQP] 3.1.4.1 and 3.1.4.5, [MS-MQMP] 3.1.4.4, 3.1.4.19, 3.1.5.3
and 3.1.5.4.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from msmq_wire.model.replay_call import ObservedCall, number
from msmq_wire.model.replay_deviation import ReplayDeviation, ReplayKind
from msmq_wire.model.replay_read import ObservedRead
from msmq_wire.model.replay_state import Happened, Known, KnownCursor, KnownHandle

__all__ = ["judge_cursor", "learn_cursor"]


class _Rows(msgspec.Struct, frozen=True):
    """The rows of a method about a cursor that is unknown, closed or another handle's."""

    unknown: int
    closed: int
    other: int
    expected: str


_USES = {
    "R_StartReceive": _Rows(39, 40, 41, "STATUS_INVALID_HANDLE"),
    "R_StartTransactionalReceive": _Rows(40, 41, 42, "STATUS_INVALID_HANDLE"),
    "R_CloseCursor": _Rows(4, 5, 6, "STATUS_INVALID_HANDLE"),
    "RemoteQMStartReceive": _Rows(15, 15, 15, "STATUS_INVALID_PARAMETER"),
    "RemoteQMStartReceive2": _Rows(17, 17, 17, "STATUS_INVALID_PARAMETER"),
    "RemoteQMCloseCursor": _Rows(4, 4, 4, "MQ_ERROR_INVALID_HANDLE"),
    "rpc_ACCloseCursor": _Rows(4, 4, 6, "a failure"),
    "rpc_ACReceiveMessageEx": _Rows(9, 11, 10, "a failure"),
}
_CLOSES = ("R_CloseCursor", "RemoteQMCloseCursor", "rpc_ACCloseCursor")
_SPACES = {"RemoteRead": "RemoteRead", "qm2qm": "qm2qm", "qmcomm": "qmcomm2", "qmcomm2": "qmcomm2"}
"""Interfaces whose cursors are numbered together; R_QMCreateRemoteCursor makes those of qm2qm."""
_ANY = 0x0B
"""rpc_ACCloseCursor takes it with any handle. [MS-MQMP] 3.1.4.19"""


def _asked(call: ObservedCall, read: ObservedRead | None) -> int | None:
    found = number(call.request, "h_cursor") if read is None else read.cursor
    return None if call.method == "rpc_ACCloseCursor" and found == _ANY else found


def _space(call: ObservedCall) -> str:
    return "qm2qm" if call.method == "R_QMCreateRemoteCursor" else _SPACES[call.call.interface]


def judge_cursor(
    known: Known, call: ObservedCall, read: ObservedRead | None, used: KnownHandle | None
) -> Iterator[ReplayDeviation]:
    """A cursor that the server had to refuse."""
    cursor = _asked(call, read)
    rows = _USES.get(call.method)
    if not call.ok or used is None or rows is None or not cursor:
        return
    own = known.cursors.get((call.server, _space(call), used.number, cursor))
    closed = None if own is None else own.closed
    if own is not None and (closed is None or closed.ended >= call.begun):
        return
    whole = known.whole(used, call.ended)
    other = known.cursors.get((call.server, _space(call), cursor))
    if closed is not None:
        row, what, certain = rows.closed, f"that {closed} has closed", True
    elif other is not None and other.closed is None and other.handle is not used:
        row, what, certain = rows.other, "of another handle", whole
    elif whole:
        row, what, certain = rows.unknown, "that its handle does not have", False
    else:
        return
    yield call.deviation(
        ReplayKind.CURSOR,
        row,
        f"{call.method} accepts the cursor {cursor} {what}",
        rows.expected,
        path="request.h_cursor" if call.method.startswith("R_") else "opnum",
        certain=certain,
    )


def learn_cursor(
    known: Known, call: ObservedCall, read: ObservedRead | None, used: KnownHandle | None
) -> None:
    """Take a cursor that was made, used or closed."""
    if not call.ok or used is None:
        return
    made = None
    if call.method in ("R_CreateCursor", "R_QMCreateRemoteCursor"):
        made = number(call.response, "ph_cursor")
    elif call.method == "rpc_ACCreateCursorEx":
        made = number(getattr(call.response, "pcc", None), "h_cursor")
    if made:
        cursor = KnownCursor(used)
        known.cursors.put((call.server, _space(call), used.number, made), cursor)
        known.cursors.put((call.server, _space(call), made), cursor)
        return
    asked = _asked(call, read)
    if call.method not in _USES or not asked:
        return
    key = (call.server, _space(call), used.number, asked)
    own = known.cursors.get(key)
    if own is None:
        # It was made before the capture, or was told to be wrong: once is enough.
        own = known.cursors.put(key, KnownCursor(used))
    if call.method in _CLOSES:
        own.closed = Happened.of(call)
