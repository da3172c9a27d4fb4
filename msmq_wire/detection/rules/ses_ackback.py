"""SES-ACKBACK: AckSequenceNumber goes back, or is higher than what was sent."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import note_seen, noted
from msmq_wire.sessions import Session
from msmq_wire.spec import SpecRef


def _check(session: Session, context: Context) -> Iterator[Detection]:
    for note in noted(session, "ack_back", "ack_ahead"):
        if note.kind == "ack_back":
            said = f"AckSequenceNumber is {note.stated}, but it was {note.expected} before"
        else:
            said = f"AckSequenceNumber is {note.stated}, but the last packet sent is number {note.expected}"
        yield note_seen(session, note, said)


RULE = Rule(
    id="SES-ACKBACK",
    title="A session acknowledgment that cannot be right",
    severity="medium",
    spec=(SpecRef("MS-MQMQ", "2.2.20.4"), SpecRef("MS-MQQB", "3.1.5.5.1")),
    meaning="AckSequenceNumber is the number of the last packet that was received on this session, modulo "
    "65536. Here it went back, or is higher than the number of packets sent.",
    action="Look at the packets before it: does it acknowledge a packet that did not arrive?",
    harmless="Packets are missing from the capture, or were captured in another order.",
    over="session",
    needs=("both_sides", "before", "order"),
    prefers=("read",),
    conduct="SessionAck",
    check=_check,
)
