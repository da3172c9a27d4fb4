"""SES-GUID: the queue manager that answers is not the requested one."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import noted, place_in
from msmq_wire.sessions import Session
from msmq_wire.spec import SpecRef

_PATH = "establish_connection_header.server_guid"
_OFFSET, _LENGTH = 36, 16


def _check(session: Session, context: Context) -> Iterator[Detection]:
    for note in noted(session, "server_guid"):
        places: list[Evidence] = []
        reported = ((note.first, 1, note.stated), (session.establish_request, 0, note.expected))
        for moment, direction, guid in reported:
            if moment is not None and isinstance(guid, bytes):
                places.append(
                    place_in(
                        session, moment, direction, path=_PATH, offset=_OFFSET, length=_LENGTH, data=guid
                    )
                )
        refused = session.refused_by == "server"
        yield Detection(
            message=f"the client asked for {note.expected}, but {note.stated} answered",
            evidence=tuple(places),
            severity="info" if refused else None,
            caveats=("the response refuses the session, as the protocol asks for",) if refused else (),
        )


RULE = Rule(
    id="SES-GUID",
    title="Another queue manager answers",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "3.1.5.3.1"), SpecRef("MS-MQQB", "3.1.5.3.2")),
    meaning="The request names one queue manager, but another one answers and does not refuse. The client "
    "must close such a session.",
    action="Find out which queue manager has the address now; check whether messages were sent to it.",
    harmless="A cluster or load balancer led the connection to another host, or frames of different "
    "captures were put together.",
    over="session",
    prefers=("opening",),
    conduct="EstablishConnection",
    check=_check,
)
