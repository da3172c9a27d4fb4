"""Packets of the binary protocol that no rule allows, as `ReplayDeviation`s."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record, place_of
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind

Asked: TypeAlias = Callable[[], Record]
"""Gives the record that something is said about, which is made only then."""
INTERFACE = "MQQB"
"""The ``interface`` of deviations of sessions."""
_METHODS = {
    "establish_connection": "EstablishConnection",
    "connection_parameters": "ConnectionParameters",
    "session_ack": "SessionAck",
    "user_message": "UserMessage",
    "order_ack": "OrderAck",
    "final_ack": "FinalAck",
}


def mqqb(section: str) -> ProcessingRule:
    """The rules of a section of [MS-MQQB]."""
    return ProcessingRule("MQQB", section)


def frame_text(frame: int | None) -> str:
    """Where something was, to be put behind it."""
    return "" if frame is None else f" (frame {frame})"


def packet_deviation(
    kind: ReplayKind,
    record: Record,
    rule: ProcessingRule,
    message: str,
    expected: str,
    came: str,
    *,
    path: str,
    queue: str | None = None,
    certain: bool = True,
    contradiction: str = "",
) -> ReplayDeviation:
    """A deviation of the queue manager that sent the packet of a record.

    ``contradiction`` is the row of docs/deviations.md that contradicts the rule: it is likely at most then.
    """
    return ReplayDeviation(
        kind=kind,
        **place_of(record),
        stream=record.stream,
        path=path,
        server=host_of(record.src),
        interface=INTERFACE,
        method=_METHODS.get(record.type, record.type),
        queue=queue,
        message=message,
        expected=expected,
        came=came,
        rule=rule,
        certain=certain and not contradiction,
        contradiction=contradiction,
    )
