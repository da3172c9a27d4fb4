"""Calls of queue objects against the rules of ReceiveCurrent_v1. [MC-MQAC] 3.11.4.1.11

The rule kept here: an object is judged by what its calls show. Which message it was is not on the wire: the
answer holds an object, and the same object twice is the same message.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.records.com_packets import ComCall, ReceiveArguments
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record, place_of
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.replay.rule_table import row_of
from msmq_wire.replay.state import BoundedDict, EventTime
from msmq_wire.rpc.hresults import name
from msmq_wire.rpc.interfaces.role import Role
from msmq_wire.rpc.statuses import Status
from msmq_wire.units import MILLISECOND, SECOND
from msmq_wire.wire.headers.base_header import INFINITE

_TYPES = {
    "transaction": "com-transaction-type",
    "want_destination_queue": "com-wanted-type",
    "want_body": "com-wanted-type",
    "receive_timeout": "com-timeout-type",
}
"""Checks of the types of arguments, in the order in which the server looks at them."""
_FAILED = 0x8000_0000
_LATE = 10 * SECOND


class ComReplayer:
    """Feed the ``com_call`` records of a capture; nothing is raised on any. Two tables of 65,536 are kept."""

    def __init__(self) -> None:
        self._closed: BoundedDict[EventTime] = BoundedDict()
        self._given: BoundedDict[EventTime] = BoundedDict()

    def feed(self, record: Record) -> list[ReplayDeviation]:
        """What is wrong with a call; nothing where not all of it is known."""
        call = record.packet
        if not isinstance(call, ComCall) or record.error is not None or record.time is None:
            return []
        if not call.complete or call.fault or call.status is None or call.response is None:
            return []
        latency = call.latency
        happened = EventTime(
            record.time - latency if latency is not None else 0,
            record.time,
            call.method or "a call",
            record.frames[-1] if record.frames else None,
        )
        found = list(self._judged(record, call, call.arguments, happened)) if call.arguments else []
        if call.role is Role.CLOSE and call.status == 0 and call.object_uuid is not None:
            self._closed.put((host_of(record.dst), call.object_uuid), happened)
        return found

    def _judged(
        self, record: Record, call: ComCall, asked: ReceiveArguments, happened: EventTime
    ) -> Iterator[ReplayDeviation]:
        status = call.status or 0
        if status == 0:
            yield from self._of_success(record, call, asked, happened)
        elif status < _FAILED:
            what, expected = "returns a status that is no failure", "S_OK or a failure"
            yield _wrong(record, call, ReplayKind.STATUS, "com-other-success", what, expected)
        else:
            yield from self._of_failure(record, call, asked)

    def _of_success(
        self, record: Record, call: ComCall, asked: ReceiveArguments, happened: EventTime
    ) -> Iterator[ReplayDeviation]:
        refused = _refused(asked)
        if refused is not None:
            what = f"accepts a {refused} of a type that it must refuse"
            # What is no transaction can be converted, sometimes.
            sure = refused == "transaction"
            yield _wrong(record, call, ReplayKind.ACTION, _TYPES[refused], what, certain=sure)
        closed = self._closed.get((host_of(record.dst), call.object_uuid))
        if closed is not None and closed.ended < happened.begun:
            what = f"succeeds on an object that {closed} has closed"
            yield _wrong(record, call, ReplayKind.HANDLE, "com-closed-object", what)
        given = call.returned
        if given is None:
            what = "succeeds without a message"
            yield _wrong(record, call, ReplayKind.SECTIONS, "com-no-message", what, "a message")
        elif given.oxid is not None and given.oid is not None:
            key = (host_of(record.dst), given.oxid, given.oid)
            before = self._given.get(key)
            if before is not None and before.ended < happened.begun:
                what = f"returns the message object that {before} returned"
                expected = "another message object"
                yield _wrong(record, call, ReplayKind.TWICE, "com-message-twice", what, expected)
            self._given.put(key, happened)

    def _of_failure(
        self, record: Record, call: ComCall, asked: ReceiveArguments
    ) -> Iterator[ReplayDeviation]:
        if call.returned is not None:
            what = "returns a message with a failure"
            yield _wrong(record, call, ReplayKind.SECTIONS, "com-message-of-failure", what, "none")
        timeout, latency = asked.receive_timeout, call.latency
        if call.status != Status.MQ_ERROR_IO_TIMEOUT or timeout is None:
            return
        if timeout == 0:
            what = "times out, though the client asked it not to wait"
            yield _wrong(record, call, ReplayKind.STATUS, "com-waited", what)
        elif timeout == INFINITE:
            what = "times out, though the client set no time-out"
            yield _wrong(record, call, ReplayKind.TIME, "com-gave-up", what, "a wait without an end")
        elif latency is not None:
            span = timeout * MILLISECOND
            spare = span // 50
            if latency + SECOND + spare < span or latency > span + _LATE + 5 * spare:
                what = f"times out after {latency / SECOND:.1f} s, but {timeout / 1000:g} s were asked for"
                due = f"an answer after {timeout / 1000:g} s"
                sure = latency < span
                yield _wrong(record, call, ReplayKind.TIME, "com-other-wait", what, due, certain=sure)


def _refused(asked: ReceiveArguments) -> str | None:
    """The first argument of a type that the method does not take; None where all are good."""
    if any(problem.endswith("was not read") for problem in asked.problems):
        return None
    wrong = {problem.partition(" is ")[0] for problem in asked.problems}
    return next((member for member in _TYPES if member in wrong), None)


def _wrong(
    record: Record,
    call: ComCall,
    kind: ReplayKind,
    check: str,
    what: str,
    expected: str = "",
    *,
    certain: bool = True,
) -> ReplayDeviation:
    status, row = call.status or 0, row_of(check)
    return ReplayDeviation(
        kind=kind,
        **place_of(record),
        stream=record.stream,
        path="opnum",
        server=host_of(record.dst),
        interface=call.interface,
        method=call.method or "",
        queue=call.queue,
        message=f"{call.method} {what}",
        expected=expected or row.due,
        came=name(status) if status else "S_OK",
        rule=row.rule,
        certain=certain and not call.guessed and not row.contradiction,
        contradiction=row.contradiction,
    )
