"""SES-SLOW: a sender waited for an acknowledgment longer than the agreed time."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.network_faults import delay_fault
from msmq_wire.detection.overdue import due_in, is_late
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_in
from msmq_wire.sessions import Session
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND


def _check(session: Session, context: Context) -> Iterator[Detection]:
    for side in (0, 1):
        there = session.directions[side]
        at = there.longest_wait_at
        if at is None or not is_late(session, side):
            continue
        if delay_fault(session, at, there.longest_wait) is not None:
            # TCP held it back: a cause of the network tells that.
            continue
        waited, due = (there.longest_wait or 0) / SECOND, due_in(session, side).after / SECOND
        window = "" if there.smallest_window is None else f"; its smallest window was {there.smallest_window}"
        yield Detection(
            message=f"the {('server', 'client')[side]} acknowledged a packet after {waited:.1f} s, but "
            f"{due:.1f} s was agreed{window}",
            evidence=(place_in(session, at, side),),
        )


RULE = Rule(
    id="SES-SLOW",
    title="A receiver that acknowledges late",
    severity="low",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQQB", "2.2.2.1"), SpecRef("MS-MQQB", "3.1.5.8.2"), SpecRef("MS-MQQB", "3.1.5.8.7")),
    meaning="A SessionAck for recoverable messages is due after RecoverableAckTimeout, any other after half "
    "of AckTimeout. This one came more than five seconds after it was due. The sender stops once its window "
    "is full, and its outgoing queue grows.",
    action="Look at the memory, the disk and the load of the receiver at that time.",
    harmless="A network or a capture that held packets back, or a computer that slept.",
    over="session",
    needs=("opening", "both_sides", "whole", "order", "read", "after_sent"),
    check=_check,
)
