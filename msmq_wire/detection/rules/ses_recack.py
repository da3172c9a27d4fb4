"""SES-RECACK: an acknowledgment of recoverable messages that were not sent."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import note_seen, noted
from msmq_wire.sessions import Session
from msmq_wire.spec import SpecRef


def _check(session: Session, context: Context) -> Iterator[Detection]:
    for note in noted(session, "stored_unseen", "stored_ahead"):
        if note.kind == "stored_unseen":
            said = "recoverable messages are acknowledged, but none was sent"
        else:
            said = (
                f"recoverable message {note.stated} is acknowledged, but the last one sent is {note.expected}"
            )
        yield note_seen(session, note, said)


RULE = Rule(
    id="SES-RECACK",
    title="Recoverable messages acknowledged that were not sent",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.20.4"), SpecRef("MS-MQQB", "3.1.5.5.2")),
    meaning="RecoverableMsgAckFlags says which recoverable messages are written to disk. Here it "
    "acknowledges messages that this session did not carry.",
    action="Check the receiver's other acknowledgments: can they be relied on?",
    harmless="Messages are missing from the capture.",
    over="session",
    needs=("both_sides", "before", "order"),
    prefers=("read",),
    conduct="SessionAck",
    check=_check,
)
