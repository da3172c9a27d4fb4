"""Events in XML: as exported, in pieces, and as an attacker would write them."""

from __future__ import annotations

import pytest

from msmq_wire.capture.event_logs.event_xml import MAX_DATA, MAX_TEXT, EventXml, WrittenEvent, time_of
from tests.capture.event_logs.event_text import event_text

_TIME = 1795166047_123456700
_EVENT = event_text(
    17, _TIME, ["{6d4be2a0-1111-4222-8333-444455556666}", "4162", "msg01\\private$\\a &amp; b"]
)
_READ = WrittenEvent(
    provider="Microsoft-Windows-MSMQ",
    channel="Microsoft-Windows-MSMQ/End2End",
    computer="MSG01.corp.example",
    event_id=1,
    record_id=17,
    time=_TIME,
    data=["{6d4be2a0-1111-4222-8333-444455556666}", "4162", "msg01\\private$\\a & b"],
)


def _events(data: bytes, step: int = 1 << 16) -> tuple[list[WrittenEvent], str]:
    reader = EventXml()
    found: list[WrittenEvent] = []
    for at in range(0, len(data), step):
        found += reader.feed(data[at : at + step])
    found += reader.feed(b"", last=True)
    return found, reader.problem


@pytest.mark.parametrize(
    "text",
    [
        _EVENT,
        f"<Events>\r\n{_EVENT}\r\n</Events>",
        f'<?xml version="1.0" encoding="utf-8" standalone="yes"?>\n<Events>{_EVENT}</Events>',
        f"<!-- a comment --><Events><other/>{_EVENT}<other>text</other></Events>",
        _EVENT.replace("<Data>", '<Data Name="any">'),
        _EVENT.replace("EventData>", "UserData>").replace("<Data>", "<Param>").replace("</Data>", "</Param>"),
        _EVENT.replace("</Event>", "<RenderingInfo><Message>no data</Message></RenderingInfo></Event>"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("step", [1 << 16, 7])
def test_an_event_is_read_with_or_without_a_root_in_any_encoding_and_in_any_pieces(
    text: str, encoding: str, step: int
) -> None:
    assert _events(text.encode(encoding), step) == ([_READ], "")


def test_user_data_gives_its_texts_and_not_those_of_elements_around_them() -> None:
    user = "<UserData><EventXML><A>1</A> <B><C>2</C></B><D/></EventXML></UserData>"
    text = _EVENT[: _EVENT.index("<EventData>")] + user + "</Event>"
    (event,), problem = _events(text.encode())
    assert (event.data, problem) == (["1", "2", ""], "")


@pytest.mark.parametrize(
    ("text", "number", "problem"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><Events/>', 0, "it has a document type, which no event log has"),
        ('<?xml version="1.0"?>\n<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', 0, "it has a document type"),
        (f"{_EVENT}<!DOCTYPE a>", 1, "the XML is not well-formed"),
        (f"{_EVENT}&lol;", 1, "the XML is not well-formed (line 1): undefined entity"),
        (f"<Events>{_EVENT}", 1, "the XML is not well-formed"),
        (f"{_EVENT}{'<a>' * 40}", 1, "elements are nested deeper than 32"),
        (f"{_EVENT}<a b='{'c' * (1 << 20)}", 1, "a tag is longer than 262,144 bytes"),
        (f"{_EVENT}<!--{'c' * (1 << 20)}", 1, "a tag is longer than 262,144 bytes"),
        (f"{_EVENT}</msmq-wire-events>{_EVENT}", 1, "the XML is not well-formed"),
    ],
)
def test_what_is_no_log_ends_the_reading_and_what_came_before_is_kept(
    text: str, number: int, problem: str
) -> None:
    found, said = _events(text.encode())
    assert len(found) == number
    assert said.startswith(problem)


def test_texts_and_their_number_are_bounded() -> None:
    long = event_text(1, _TIME, ["x" * 100_000] + ["y"] * 100)
    (event,), problem = _events(long.encode())
    assert problem == ""
    assert len(event.data) == MAX_DATA
    assert len(event.data[0]) == MAX_TEXT


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-20T09:14:07.1234567Z", _TIME),
        ("2026-11-20T09:14:07.123456700Z", _TIME),
        ("2026-11-20T09:14:07Z", 1795166047 * 10**9),
        ("2026-11-20T10:14:07.5+01:00", 1795166047_500000000),
        ("2026-11-20T09:14:07.", 1795166047 * 10**9),
        ("2026-11-20", None),
        ("2026-11-20T09:14:07.5 and more", None),
        ("", None),
        ("yesterday", None),
    ],
)
def test_a_time_is_read_to_the_nanosecond(text: str, time: int | None) -> None:
    assert time_of(text) == time


def test_numbers_that_are_none_are_left_out() -> None:
    odd = _EVENT.replace(">17<", ">17a<").replace(">1</EventID>", f">{'9' * 30}</EventID>")
    (event,), _ = _events(odd.encode())
    assert (event.record_id, event.event_id) == (None, None)
