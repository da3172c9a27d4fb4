"""PNG-GUID: two queue managers answer, one the ping and another one the connection."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.sessions import Moment, Session
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import NULL_GUID

_SERVER_GUID = "establish_connection_header.server_guid"


def _check(session: Session, context: Context) -> Iterator[Detection]:
    ping, found = session.ping, session.server_queue_manager
    if ping is None or ping.response is None or session.establish_response is None:
        return
    reported = ping.server_queue_manager
    if reported is None or found is None or NULL_GUID in (reported, found) or reported == found:
        return
    if reported == session.requested_queue_manager:
        # That the answer differs from the request is said by SES-GUID.
        return
    yield Detection(
        message=f"queue manager {reported} answers the ping, but {found} the connection",
        evidence=(
            _place(session, ping.response, ping.server, "qm_guid", 8),
            _place(session, session.establish_response, session.server, _SERVER_GUID, 36),
        ),
    )


def _place(session: Session, moment: Moment, server: str, path: str, offset: int) -> Evidence:
    return Evidence(
        capture=session.capture,
        record=moment.record,
        frames=() if moment.frame is None else (moment.frame,),
        time=moment.time,
        src=server,
        dst=session.client,
        transport="udp" if path == "qm_guid" else "tcp",
        path=path,
        offset=offset,
        length=16,
    )


RULE = Rule(
    id="PNG-GUID",
    title="Ping and connection are answered by different queue managers",
    severity="low",
    spec=(SpecRef("MS-MQQB", "2.2.7"), SpecRef("MS-MQQB", "3.1.5.3.2")),
    meaning="One host should have one queue manager GUID. Here two queue managers answer at the same "
    "address.",
    action="Find out which host has which queue manager GUID. One possible reason is a cloned installation.",
    harmless="Several hosts share one address: NAT, clusters, load balancers.",
    over="session",
    check=_check,
)
