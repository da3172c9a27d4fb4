"""FPR-NUCLEI: a connection that carries the published EstablishConnection request and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.fingerprints import SAMPLE_CLIENT, SAMPLE_SERVER
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_in
from msmq_wire.sessions import Session
from msmq_wire.spec import SpecRef

_HEADER = "establish_connection_header"
_OPEN = "the capture ends before the connection does: more may have come"


def _check(session: Session, context: Context) -> Iterator[Detection]:
    request = session.establish_request
    if (
        request is None
        or session.client_queue_manager != SAMPLE_CLIENT
        or session.requested_queue_manager != SAMPLE_SERVER
        or session.parameters_request is not None
        or session.directions[0].messages
    ):
        return
    caveats = (_OPEN,) if session.closed_by == "capture_end" else ()
    answered = "answered" if session.establish_response else "not answered"
    guids = (("client_guid", 20, SAMPLE_CLIENT), ("server_guid", 36, SAMPLE_SERVER))
    yield Detection(
        message="the request has both GUIDs of the example in the specification, "
        f"is {answered}, and nothing follows it",
        evidence=tuple(
            place_in(session, request, 0, path=f"{_HEADER}.{name}", offset=offset, length=16, data=guid)
            for name, offset, guid in guids
        ),
        severity="low" if caveats else None,
        caveats=caveats,
    )


RULE = Rule(
    id="FPR-NUCLEI",
    title="A request like the nuclei template for MSMQ",
    severity="medium",
    confidence="likely",
    layer="host",
    spec=(SpecRef("MS-MQQB", "4.1.3"),),
    meaning="A public template for the scanner nuclei sends this request, and nothing else, to learn "
    "whether MSMQ is there. An answer tells the scanner that it is.",
    action="Find out who scans. If the scan comes from another network, close port 1801 to it.",
    harmless="Your own scan.",
    over="session",
    needs=("opening", "whole"),
    check=_check,
)
