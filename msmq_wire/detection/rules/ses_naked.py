"""SES-NAKED: a message on a connection whose session is not open."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import needs_of, noted, place_in
from msmq_wire.detection.suricata_signature import ON_WIRE, OPEN, SuricataSignature
from msmq_wire.sessions import Session, SessionNote
from msmq_wire.spec import SpecRef
from msmq_wire.wire.packets.user_message import UserMessage

_REORDERED = "the session is opened later in the capture: frames may have been captured in another order"


def _check(session: Session, context: Context) -> Iterator[Detection]:
    for note in noted(session, "message_before_open"):
        reordered = session.parameters_response is not None and _asked(session, note)
        yield Detection(
            message=_message(session, note),
            evidence=(place_in(session, note.first, note.direction),),
            severity="medium" if reordered else None,
            confidence="guess" if reordered else None,
            caveats=(_REORDERED,) if reordered else (),
            needs=needs_of(session, note),
        )


def _message(session: Session, note: SessionNote) -> str:
    message = f"a message of the {('client', 'server')[note.direction]}"
    if not session.started:
        return f"{message}, and what opened the session was not captured"
    return (
        f"{message} comes before {'the session is open' if _asked(session, note) else 'EstablishConnection'}"
    )


def _asked(session: Session, note: SessionNote) -> bool:
    request = session.establish_request
    return request is not None and request.record < note.first.record


RULE = Rule(
    id="SES-NAKED",
    title="A message without a session",
    severity="high",
    spec=(SpecRef("MS-MQQB", "3.1.5.8"),),
    meaning="Messages may be sent only after EstablishConnection and ConnectionParameters were exchanged. "
    "No queue manager sends one earlier. Programs that send a prepared packet do.",
    action="Find out what the sender is, and look at the packet: its flags, lengths and body.",
    harmless="The capture began after the session did, or it has only one direction.",
    over="session",
    needs=("opening", "both_sides", "before", "order"),
    conduct="UserMessage",
    check=_check,
    suricata=(SuricataSignature(number=400, on=ON_WIRE, packet=UserMessage, lacks=(OPEN,)),),
)
