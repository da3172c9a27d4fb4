"""Sessions as swimlanes: what is drawn at which place, and the words beside it."""

from __future__ import annotations

import msgspec
import pytest

from msmq_wire.engines.codec import encode
from msmq_wire.engines.message_builder import build_message
from msmq_wire.records.record import Record
from msmq_wire.report.session_lanes import session_section, session_words
from msmq_wire.report.totals import Totals
from msmq_wire.sessions import Moment, Session, SessionNote, StoryFollower
from tests.detection.network_scene import evidence, lost
from tests.report.pages import START, Page, message_record

_SECOND = 1_000_000_000
_CLIENT, _SERVER = "192.0.2.21:49731", "192.0.2.10:1801"


def _moment(seconds: int) -> Moment:
    return Moment(record=seconds, frame=seconds + 1, time=START + seconds * _SECOND)


_OPEN = Session(
    number=3,
    capture="test.pcap",
    stream=0,
    client=_CLIENT,
    server=_SERVER,
    state="open",
    reached="open",
    started=True,
    first=_moment(0),
    last=_moment(10),
    opened=_moment(5),
)


def _ack(time: int, stream: int | None = 0) -> Record:
    return Record(
        id=2, type="session_ack", capture="test.pcap", stream=stream, time=time, src=_SERVER, dst=_CLIENT
    )


def _gap(time: int, missing: int) -> Record:
    return Record(id=3, type="gap", capture="test.pcap", stream=0, time=time, missing=missing)


def _page(session: Session, totals: Totals | None = None) -> Page:
    story = msgspec.structs.replace(StoryFollower().finish(), sessions=(session,))
    return Page(session_section(story, totals or Totals()))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "open, still there at the end"),
        ({"state": "closed", "closed_by": "fin", "closer": "client"}, "open, closed by client"),
        (
            {"state": "closed", "closed_by": "fin", "closer": "server", "reason": "ack_timeout"},
            "open, closed by server, ack timeout",
        ),
        (
            {"state": "refused", "reached": "establishing", "refused_by": "server", "closed_by": "reset"},
            "refused by server, reset",
        ),
        (
            {"state": "closed", "reached": "establishing", "closed_by": "silent"},
            "not established, fell silent",
        ),
        ({"state": "closed", "reached": "tcp_only", "closed_by": "silent"}, "SYN not answered, fell silent"),
        ({"reached": "tcp_only", "syn_ack": _moment(1)}, "TCP only, still there at the end"),
        ({"reached": "tcp_only", "started": False}, "TCP only, still there at the end"),
        ({"state": "refused_tcp", "reached": "tcp_only", "closed_by": "reset"}, "TCP refused"),
    ],
)
def test_words_tell_how_far_a_session_came_and_how_it_ended(fields: dict[str, object], words: str) -> None:
    session = msgspec.structs.replace(_OPEN, **fields)
    assert session_words(session) == words
    assert words in _page(session).text_of("span")


def test_what_was_out_of_order_more_than_once_says_how_often() -> None:
    notes = (
        SessionNote(kind="message_before_open", direction=0, first=_moment(1)),
        SessionNote(kind="establish_again", direction=0, first=_moment(2), count=2),
    )
    cells = _page(msgspec.structs.replace(_OPEN, notes=notes, certain=False)).text_of("td")
    assert cells[-1] == "message before open, establish again (2 times), parts are missing from the capture"
    assert _page(_OPEN).text_of("td")[-1] == "-"


def test_what_tcp_shows_of_the_network_stands_beside_what_is_out_of_order() -> None:
    cells = _page(msgspec.structs.replace(_OPEN, network=evidence(lost(5, 12.4)))).text_of("td")
    assert cells[-1] == (
        "TCP of 192.0.2.10 acknowledged nothing more of what 192.0.2.21 sent, sent again 5 times in 12.40 s"
    )


def test_every_line_of_the_legend_has_its_sign() -> None:
    page = _page(_OPEN)
    signs = [
        (name, one["class"])
        for before, (name, one) in zip(page.elements, page.elements[1:], strict=False)
        if before[1].get("viewbox") == "0 0 16 16"
    ]
    assert signs == [
        ("rect", "step"),
        ("rect", "message up"),
        ("rect", "message down"),
        ("circle", "ack"),
        ("rect", "gap"),
        ("rect", "end"),
        ("path", "end reset"),
    ]


def _place(page: Page, kind: str) -> tuple[float, float]:
    """The middle of the last rectangle of a class."""
    one = [one for one in page.named("rect") if one["class"] == kind][-1]
    x, y, width, height = (float(one[name] or "") for name in ("x", "y", "width", "height"))
    return x + width / 2, y + height / 2


def test_a_session_is_a_line_from_its_first_to_its_last_moment_with_its_end_on_it() -> None:
    totals = Totals()
    for number in range(200):
        # So often that no quiet stretch is cut out of the ten seconds.
        totals.feed(_ack(START + number * _SECOND // 20))
    page = _page(msgspec.structs.replace(_OPEN, closed_by="fin", close=_moment(10)), totals)
    (line,) = (one for one in page.named("rect") if one["class"] == "life")
    # The axis goes from 272 to 948, the lane from 8 to 54.
    assert (line["x"], line["width"]) == ("272.0", "676.0")
    assert _place(page, "life") == (610.0, 31.0)
    assert _place(page, "end") == (948.0, 31.0)
    assert "open, closed: 2023-11-14 22:13:30.000 UTC, frame 11" in page.text_of("title")


def test_the_number_of_a_session_and_its_ends_stand_in_one_line() -> None:
    page = _page(_OPEN)
    texts = dict(zip(page.text_of("text"), page.named("text"), strict=True))
    assert texts["3"]["y"] == texts[f"{_CLIENT} → {_SERVER}"]["y"]


def test_messages_session_acks_and_gaps_stand_where_a_step_of_that_time_stands() -> None:
    totals, at = Totals(), START + 5 * _SECOND
    totals.feed(message_record(encode(build_message("DIRECT=OS:a\\b", b"x")), 1, time=at, src=_CLIENT))
    for record in (_ack(at), _ack(at, stream=None), _gap(at, missing=1), _gap(at, missing=0)):
        totals.feed(record)
    page = _page(_OPEN, totals)
    titles = page.text_of("title")
    for words in ("1 session ack at", f"1 message from {_CLIENT} at", "1 gap near"):
        assert f"{words} 2023-11-14 22:13:25.000 UTC" in titles
    assert list(totals.lanes) == [("test.pcap", 0)]
    assert _place(page, "gap") == _place(page, "step")
