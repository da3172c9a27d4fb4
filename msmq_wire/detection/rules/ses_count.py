"""SES-COUNT: the packet count of one side differs from the packets in the capture."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import note_seen, noted
from msmq_wire.sessions import Session
from msmq_wire.spec import SpecRef

_FIELDS = {"sent_count": "UserMsgSequenceNumber", "recoverable_count": "RecoverableMsgSeqNumber"}


def _check(session: Session, context: Context) -> Iterator[Detection]:
    for note in noted(session, *_FIELDS):
        said = f"{_FIELDS[note.kind]} says {note.stated} packets, but {note.expected} were sent"
        yield note_seen(session, note, said)


RULE = Rule(
    id="SES-COUNT",
    title="A wrong count of messages",
    severity="low",
    spec=(SpecRef("MS-MQMQ", "2.2.20.4"), SpecRef("MS-MQQB", "3.1.5.5.5")),
    meaning="The sender says how many packets it has sent on this session. A receiver that counted "
    "otherwise closes the session.",
    action="Check whether the session was closed right after this, and which messages were sent again on "
    "the next one.",
    harmless="Some versions of Windows count wrongly. Packets may be missing from the capture.",
    over="session",
    needs=("opening", "before_here", "order"),
    prefers=("read",),
    conduct="SessionAck",
    check=_check,
)
