"""SES-ACKLATE: no acknowledgment came within AckTimeout, and the session was closed."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_in
from msmq_wire.sessions import Session
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND


def _check(session: Session, context: Context) -> Iterator[Detection]:
    if session.reason != "ack_timeout" or session.close is None:
        return
    direction = 0 if session.closer == "client" else 1
    waiting = session.directions[direction]
    since = waiting.waiting_since
    if since is None:
        return
    times = since.time, session.close.time
    waited = "" if None in times else f" for {((times[1] or 0) - (times[0] or 0)) / SECOND:.1f} s"
    count = "1 packet" if waiting.unacknowledged == 1 else f"{waiting.unacknowledged} packets"
    yield Detection(
        message=f"the {session.closer} waited{waited} for the acknowledgment of {count}, "
        "and closed the connection",
        evidence=(place_in(session, since, direction), place_in(session, session.close, direction)),
    )


RULE = Rule(
    id="SES-ACKLATE",
    title="Connection closed because no acknowledgment came",
    severity="info",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQQB", "3.1.2.4"), SpecRef("MS-MQQB", "3.1.6.3")),
    meaning="The sender keeps recoverable messages and sends them again on a new session. Express messages "
    "that were on their way may be lost.",
    action="Find out why the receiver was silent: load, memory, disk, or a firewall that drops idle "
    "connections. Look for the same messages on the next session.",
    harmless="The receiver was restarted.",
    over="session",
    needs=("opening", "both_sides", "whole", "read"),
    check=_check,
)
