"""`TraceTracker`: collects report messages by the traced messages that they may be about.

The rule kept here: reports come in any order, twice or not at all, and before or after the traced message. A
report names it by four digits of its queue manager and a number, so which one it is about is said at the end.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice

import msgspec

from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import Record
from msmq_wire.sessions.budget import Budget
from msmq_wire.sessions.followed_message import (
    FollowedMessage,
    manager_of,
    message_key,
    message_name,
    moment_of,
)
from msmq_wire.sessions.trace_step import Trace, TraceStep
from msmq_wire.wire.report_message import ReportBody, ReportLabel
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID

REPORT = int(MessageClass.MQMSG_CLASS_REPORT)
_GO_TOGETHER = 64
"""The part of all messages that goes at once."""
_MESSAGE, _STEP = 500, 1200
"""Bytes of a traced message, and of what one report says about it."""
_MOST_STEPS = 64
_MOST_SOURCES = 16
_RC = 0x1F
_BAR = "\\"
_Key = tuple[str, int]


class _Traced(msgspec.Struct, gc=False):
    """What is known of the messages with one key; fields as in `Trace`."""

    captured: list[GUID] = []
    steps: list[TraceStep] = []


class TraceTracker:
    """Takes traced messages and report messages, as far as ``budget`` goes; ``left_out`` counts reports."""

    def __init__(self, budget: Budget) -> None:
        self._traced: OrderedDict[_Key, _Traced] = OrderedDict()
        self._share = budget.share(self._give)
        self.left_out = 0

    def traced(self, message: FollowedMessage) -> None:
        """Take a message, which may ask for reports."""
        key = message.key
        if not message.traced or isinstance(key, str):
            return
        known, manager = self._entry(_traced_key(key)), manager_of(key[:16])[0]
        if manager not in known.captured and len(known.captured) < _MOST_SOURCES:
            known.captured.append(manager)

    def report(self, record: Record, message: FollowedMessage) -> bool:
        """Take a message, which may be a report message; tell whether it is one that was not taken before."""
        key, history = message.key, message.history
        taken = history is not None and history.report is not None
        if message.message_class != REPORT or taken or isinstance(key, str):
            return False
        step = step_of(record, key, message.sent_time, message.flags)
        if step is None:
            return False
        message.begun_history().report = step
        steps = self._entry((step.qm_id, step.number)).steps
        again = any((one.report_id, one.reported) == (step.report_id, step.reported) for one in steps)
        if not again and len(steps) < _MOST_STEPS:
            steps.append(step)
            self._share.take(_STEP)
        return True

    def of(self, key: bytes | str) -> tuple[TraceStep, ...]:
        """What reports say about a traced message."""
        found = self._trace(_traced_key(key))
        return () if found is None else found.of(None if isinstance(key, str) else manager_of(key[:16])[0])

    def named(self, step: TraceStep) -> tuple[str, ...]:
        """The identifiers of the messages that a report may be about."""
        found = self._trace((step.qm_id, step.number))
        sources = () if found is None else found.sources
        if step.source is not None:
            sources = (step.source,)
        return tuple(message_name(message_key(one, step.number)) for one in sources) or (_unnamed(step),)

    def traces(self) -> Iterator[Trace]:
        """All that was said, by message."""
        return (found for key in self._traced if (found := self._trace(key)) is not None)

    def uncaptured(self) -> Iterator[FollowedMessage]:
        """The messages that only reports tell of, as far as they do."""
        for trace in self.traces():
            first = trace.steps[0]
            keys: list[bytes | str] = [
                message_key(one, trace.number) for one in trace.sources if one not in trace.captured
            ]
            if not trace.sources:
                keys.append(_unnamed(first))
            for key in keys:
                yield FollowedMessage(key, first.at, "report", "", "", queue=first.target, traced=True)

    def _trace(self, key: _Key) -> Trace | None:
        known = self._traced.get(key)
        if known is None or not known.steps:
            return None
        return Trace(*key, tuple(known.captured), tuple(known.steps))

    def _entry(self, key: _Key) -> _Traced:
        known = self._traced.get(key)
        if known is None:
            known = self._traced[key] = _Traced()
            self._share.take(_MESSAGE)
        return known

    def _give(self) -> None:
        for key in list(islice(self._traced, len(self._traced) // _GO_TOGETHER + 1)):
            gone = self._traced.pop(key)
            self.left_out += len(gone.steps)
            self._share.take(-_MESSAGE - _STEP * len(gone.steps))


def _unnamed(step: TraceStep) -> str:
    """What a message is called of which reports tell no more than four digits and a number."""
    return f"{step.qm_id}{_BAR}{step.number}"


def _traced_key(key: bytes | str) -> _Key:
    if isinstance(key, str):
        qm_id, _, number = key.partition(_BAR)
        return qm_id, int(number) if number.isdecimal() else -1
    return manager_of(key[:16])[1][:4], int.from_bytes(key[16:20], "little")


def step_of(record: Record, key: bytes, sent_time: int | None, flags: int) -> TraceStep | None:
    """What a message of class REPORT says; None where its text is no report.

    ``key``, ``sent_time`` and ``flags`` (UserHeader) are its own.
    """
    body = message_body(record)
    if body is None:
        return None
    label, text = ReportLabel.parse(body.label), ReportBody.parse(body.data)
    if label is None or text is None:
        return None
    try:
        computer = GUID.parse(label.computer)
    except ValueError:
        computer = None
    return TraceStep(
        qm_id=label.qm_id,
        number=label.message_id,
        kind=text.kind,
        queue_manager=manager_of(key[:16])[0],
        hops=label.hops,
        next_hop=None if text.next_hop is None else _address(text.next_hop),
        target=text.target_queue,
        computer=computer,
        label_time=label.time,
        sent_time=sent_time,
        report_id=message_name(key),
        routed=flags & _RC,
        at=moment_of(record),
        src=record.src or "",
        dst=record.dst or "",
    )


def _address(text: str) -> str:
    """An address as the ends of connections have it, without brackets; another text as it is."""
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        return text
