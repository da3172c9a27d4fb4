"""PNG-COOKIE: an answer to a ping without a request."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.sessions import Story
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND

_EARLY = 10 * SECOND
"""An answer this early may belong to a request before the capture."""


def _check(story: Story, context: Context) -> Iterator[Detection]:
    for ping in story.pings:
        answer = ping.response
        if answer is None or ping.request is not None:
            continue
        early = answer.time is None or story.first is None or answer.time - story.first < _EARLY
        place = Evidence(
            record=answer.record,
            frames=() if answer.frame is None else (answer.frame,),
            time=answer.time,
            src=ping.server,
            dst=ping.client,
            transport="udp",
            path="cookie",
            offset=4,
            length=4,
        )
        yield Detection(
            message=f"{ping.server} answers {ping.client} with cookie {ping.cookie}, "
            "but no ping with this cookie was captured",
            evidence=(place,),
            severity="info" if early else None,
            caveats=("the request may have been sent before the capture began",) if early else (),
        )


RULE = Rule(
    id="PNG-COOKIE",
    title="An answer to a ping that nobody sent",
    severity="medium",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "2.2.7"), SpecRef("MS-MQQB", "3.1.7.7")),
    meaning="The cookie links an answer to its request. Here the client sent no request with this cookie, "
    "or its request was not captured.",
    action="Check whether the capture has both directions; if it has, find out what sends the answer.",
    harmless="The capture began late, or has only one direction.",
    over="story",
    needs=("both_ways", "counted"),
    conduct="Ping",
    check=_check,
)
