"""SES-ORDER: the packets of a session handshake are in a wrong order."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import needs_of, note_seen, noted
from msmq_wire.detection.suricata_signature import ASKED, ON_WIRE, OPEN, TO_SERVER, SuricataSignature
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import Session
from msmq_wire.spec import SpecRef
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.session_ack import SessionAck

_SAYS = {
    "ack_before_open": "a SessionAck before the session is open",
    "establish_again": "EstablishConnection for the second time from one side",
    "establish_unasked": "EstablishConnection of the server without a request",
    "establish_after_open": "EstablishConnection after ConnectionParameters",
    "parameters_before_establish": "ConnectionParameters before EstablishConnection was sent and answered",
    "parameters_unasked": "ConnectionParameters of the server without a request",
    "parameters_again": "ConnectionParameters for the second time from one side",
}
_WHATEVER_IS_MISSING = ("establish_again", "establish_after_open", "parameters_again")
"""Kinds that missing bytes in the capture do not explain."""
_SECTIONS = {"establish": "3.1.5.3", "parameters": "3.1.5.4", "ack": "3.1.5.5"}


def _check(session: Session, context: Context) -> Iterator[Detection]:
    for note in noted(session, *_SAYS):
        section = SpecRef("MS-MQQB", _SECTIONS[note.kind.partition("_")[0]])
        needs: tuple[Need, ...] = ("order",) if note.kind in _WHATEVER_IS_MISSING else needs_of(session, note)
        yield msgspec.structs.replace(note_seen(session, note, _SAYS[note.kind], needs), spec=(section,))


RULE = Rule(
    id="SES-ORDER",
    title="Session packets out of order",
    severity="medium",
    spec=tuple(SpecRef("MS-MQQB", section) for section in _SECTIONS.values()),
    meaning="A session is opened by EstablishConnection and its answer, then ConnectionParameters and its "
    "answer. A queue manager that gets them in another order closes the session.",
    action="Find out what sent the packet: a program that replays or invents packets, or a faulty client.",
    harmless="The two directions were captured in another order than they were sent in.",
    over="session",
    needs=("opening", "both_sides", "before", "order"),
    withheld=True,
    prefers=("read",),
    conduct="Session",
    check=_check,
    suricata=(
        SuricataSignature(
            number=405,
            on=TO_SERVER,
            packet=ConnectionParameters,
            lacks=(ASKED,),
            says=_SAYS["parameters_before_establish"],
        ),
        SuricataSignature(
            number=406,
            on=ON_WIRE,
            packet=SessionAck,
            needs=(ASKED,),
            lacks=(OPEN,),
            says=_SAYS["ack_before_open"],
        ),
    ),
)
