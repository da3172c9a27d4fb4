"""Calls of queue objects against the rules of ReceiveCurrent_v1. [MC-MQAC] 3.11.4.1.11

The rule kept here: an object is judged by what its calls show. Which message it was is not on the wire: the
answer holds an object, and the same object twice is the same message.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.records.com_packets import ComCall, ReceiveArguments
from msmq_wire.records.record import Record, place_of
from msmq_wire.replay.call import host
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.state import Happened, Table
from msmq_wire.rpc.hresults import name
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.headers.base_header import INFINITE

__all__ = ["ComReplayer"]

_SECTION = "3.11.4.1.11"
_TRANSACTION = 25
_FAILED = 0x8000_0000
_MILLISECOND, _SECOND = 1_000_000, 1_000_000_000
_LATE = 10 * _SECOND


class ComReplayer:
    """Feed the ``com_call`` records of a capture; nothing is raised on any. Two tables of 65,536 are kept."""

    def __init__(self) -> None:
        self._closed: Table[Happened] = Table()
        self._given: Table[Happened] = Table()

    def feed(self, record: Record) -> list[ReplayDeviation]:
        """What is wrong with a call; nothing where not all of it is known."""
        call = record.packet
        if not isinstance(call, ComCall) or record.error is not None or record.time is None:
            return []
        if not call.complete or call.fault or call.status is None or call.response is None:
            return []
        latency = call.latency
        happened = Happened(
            record.time - latency if latency is not None else 0,
            record.time,
            call.method or "a call",
            record.frames[-1] if record.frames else None,
        )
        found = list(self._judged(record, call, call.arguments, happened)) if call.arguments else []
        if call.method == "Close" and call.status == 0 and call.object_uuid is not None:
            self._closed.put((host(record.dst), call.object_uuid), happened)
        return found

    def _judged(
        self, record: Record, call: ComCall, asked: ReceiveArguments, happened: Happened
    ) -> Iterator[ReplayDeviation]:
        status = call.status or 0
        if status == 0:
            yield from self._of_success(record, call, asked, happened)
        elif status < _FAILED:
            yield _wrong(
                record, call, ReplayKind.STATUS, 62, "returns what is no failure", "S_OK or a failure"
            )
        else:
            yield from self._of_failure(record, call, asked)

    def _of_success(
        self, record: Record, call: ComCall, asked: ReceiveArguments, happened: Happened
    ) -> Iterator[ReplayDeviation]:
        refused = _refused(asked)
        if refused is not None:
            row, what = refused
            # What is no transaction can be converted, sometimes.
            sure = row == _TRANSACTION
            yield _wrong(record, call, ReplayKind.ACTION, row, f"accepts {what}", "a failure", certain=sure)
        closed = self._closed.get((host(record.dst), call.object_uuid))
        if closed is not None and closed.ended < happened.begun:
            what = f"succeeds on an object that {closed} has closed"
            yield _wrong(record, call, ReplayKind.HANDLE, 15, what, "MQ_ERROR_INVALID_HANDLE")
        given = call.returned
        if given is None:
            yield _wrong(record, call, ReplayKind.SECTIONS, 13, "succeeds without a message", "a message")
        elif given.oxid is not None and given.oid is not None:
            key = (host(record.dst), given.oxid, given.oid)
            before = self._given.get(key)
            if before is not None and before.ended < happened.begun:
                what = f"brings the message object that {before} brought"
                yield _wrong(record, call, ReplayKind.TWICE, 48, what, "another message object")
            self._given.put(key, happened)

    def _of_failure(
        self, record: Record, call: ComCall, asked: ReceiveArguments
    ) -> Iterator[ReplayDeviation]:
        if call.returned is not None:
            yield _wrong(record, call, ReplayKind.SECTIONS, 61, "brings a message with a failure", "none")
        timeout, latency = asked.receive_timeout, call.latency
        if call.status != Status.MQ_ERROR_IO_TIMEOUT or timeout is None:
            return
        if timeout == 0:
            what = "times out, and is not to wait"
            yield _wrong(record, call, ReplayKind.STATUS, 43, what, "MQ_ERROR_MESSAGE_NOT_FOUND")
        elif timeout == INFINITE:
            what = "times out, though the wait was to have no end"
            yield _wrong(record, call, ReplayKind.TIME, 45, what, "no end of the wait")
        elif latency is not None:
            span = timeout * _MILLISECOND
            spare = span // 50
            if latency + _SECOND + spare < span or latency > span + _LATE + 5 * spare:
                what = f"times out after {latency / _SECOND:.1f} s, and {timeout} ms were asked for"
                due = f"an answer after {timeout} ms"
                yield _wrong(record, call, ReplayKind.TIME, 44, what, due, certain=latency < span)


def _refused(asked: ReceiveArguments) -> tuple[int, str] | None:
    """The row and the argument of a type that the method does not take; None where all are good."""
    if any(problem.endswith("was not read") for problem in asked.problems):
        return None
    for members, row in (
        (("transaction",), _TRANSACTION),
        (("want_destination_queue", "want_body"), 9),
        (("receive_timeout",), 12),
    ):
        for member in members:
            if any(problem.startswith(f"{member} is ") for problem in asked.problems):
                return row, f"a {member} of a type that it does not take"
    return None


def _wrong(
    record: Record,
    call: ComCall,
    kind: ReplayKind,
    row: int,
    what: str,
    expected: str,
    *,
    certain: bool = True,
) -> ReplayDeviation:
    status = call.status or 0
    return ReplayDeviation(
        kind=kind,
        **place_of(record),
        stream=record.stream,
        path="opnum",
        server=host(record.dst),
        interface=call.interface,
        method=call.method or "",
        queue=call.queue,
        message=f"{call.method} {what}",
        expected=expected,
        came=name(status) if status else "S_OK",
        rule=ProcessingRule("MQAC", _SECTION, row),
        certain=certain and not call.guessed,
    )
