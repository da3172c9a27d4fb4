"""SES-RESEND: messages are sent again on a new connection."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import SessionIndex, place_at
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import MessageLife, Story
from msmq_wire.spec import SpecRef

_SHOWN = 16


class _Way:
    """Messages that one host sent again to another."""

    def __init__(self) -> None:
        self.messages = self.duplicates = 0
        self.places: list[Evidence] = []


def _check(story: Story, context: Context) -> Iterator[Detection]:
    carriers = {
        session.number: sum(one.resent for one in session.directions)
        for session in story.sessions
        if any(one.resent for one in session.directions)
    }
    left = sum(carriers.values())
    index = SessionIndex(story)
    ways: dict[tuple[str, str], _Way] = {}
    # Lives are made when they are looked at: the search ends with the last one that was sent again.
    lives = iter(story.lives) if left else iter(())
    while left > 0 and (life := next(lives, None)) is not None:
        if life.resends and life.via == "tcp":
            left -= life.resends
            if any(number != life.session for number in carriers):
                _add_message(ways.setdefault((host_of(life.src), host_of(life.dst)), _Way()), life, index)
    for (src, dst), way in ways.items():
        yield Detection(message=_message(src, dst, way), evidence=tuple(way.places))


def _add_message(way: _Way, life: MessageLife, index: SessionIndex) -> None:
    way.messages += 1
    way.duplicates += life.duplicates
    if len(way.places) < _SHOWN and life.resent_at:
        session = index.at(life.first, life.src, life.dst)
        capture = "" if session is None else session.capture
        places = [place_at(at, life.src, life.dst, capture) for at in life.resent_at[:1]]
        way.places += [place_at(life.first, life.src, life.dst, capture), *places]


def _message(src: str, dst: str, way: _Way) -> str:
    count = "1 message" if way.messages == 1 else f"{way.messages} messages"
    again = "came again on a new connection"
    if not way.duplicates:
        return f"{count} from {src} to {dst} {again}: a second attempt to deliver"
    return f"{count} from {src} to {dst} {again}, {way.duplicates} after an acknowledgment: duplicates"


RULE = Rule(
    id="SES-RESEND",
    title="Messages sent again",
    severity="info",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.1"),),
    meaning="After a session is lost, the sender sends again what was not acknowledged. The receiver "
    "recognizes a message by its queue manager and MessageID, and drops the second copy.",
    action="Usually nothing. If an application got a message twice, start here.",
    harmless="Normal recovery.",
    over="story",
    check=_check,
)
