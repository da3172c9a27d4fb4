"""Plain tables: heads, cells and the words for what a remote read asked and brought."""

from __future__ import annotations

import msgspec
import pytest

from msmq_wire.report.html_tables import read_section, table
from msmq_wire.sessions import Moment, RemoteRead, StoryFollower
from tests.report.pages import START, Page

_READ = RemoteRead(
    number=0,
    opened=None,
    client="192.0.2.21",
    server="192.0.2.10",
    interface="RemoteRead",
    method="R_StartReceive",
    account="",
    queue="orders",
    at=Moment(record=7, frame=12, time=START),
)


def _cells(read: RemoteRead) -> list[str]:
    story = msgspec.structs.replace(StoryFollower().finish(), reads=(read,))
    return Page(read_section(story)).text_of("td")


def test_the_first_cell_of_a_row_is_its_head_and_columns_of_numbers_are_marked() -> None:
    page = Page(table("Hosts", ("Host", "Role", "#Messages"), [("a", "b", 1), ("c", "d", 2)], more=1_000))
    assert [(one["scope"], one.get("class")) for one in page.named("th")] == [
        ("col", None),
        ("col", None),
        ("col", "number"),
        ("row", None),
        ("row", None),
    ]
    assert page.text_of("th") == ["Host", "Role", "Messages", "a", "c"]
    assert page.text_of("td") == ["b", "1", "d", "2"]
    assert [one.get("class") for one in page.named("td")] == [None, "number", None, "number"]
    assert page.text_of("p") == ["And 1,000 more."]


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "not known"),
        ({"removes": True}, "receive"),
        ({"removes": False}, "peek"),
        ({"action": 0}, "receive"),
        ({"action": 0x80000001}, "peek next"),
        ({"action": 0x40000020}, "lookup receive current"),
        ({"action": 0x12345}, "0x12345"),
    ],
)
def test_a_read_tells_what_it_asked_for(fields: dict[str, object], word: str) -> None:
    assert _cells(msgspec.structs.replace(_READ, **fields))[1] == word


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "not known"),
        ({"sealed": True}, "sealed"),
        ({"status": 0}, "done"),
        ({"status": 0xC00E001B}, "0xC00E001B"),
        ({"fault": True}, "fault"),
        ({"answered": False}, "no answer"),
    ],
)
def test_a_read_tells_how_it_was_answered(fields: dict[str, object], word: str) -> None:
    assert _cells(msgspec.structs.replace(_READ, **fields))[4] == word


def test_a_read_tells_how_long_it_would_wait_and_how_long_it_did() -> None:
    assert _cells(_READ)[2:4] == ["-", "-"]
    assert _cells(msgspec.structs.replace(_READ, timeout=1_500, waited=2_000_000))[2:4] == ["1.5 s", "2 ms"]
    assert _cells(msgspec.structs.replace(_READ, timeout=0xFFFFFFFF))[2] == "for ever"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "-"),
        ({"end": "ack"}, "taken"),
        ({"end": "nack"}, "put back"),
        ({"end": "cancelled"}, "cancelled"),
        ({"pending": True}, "pending"),
    ],
)
def test_a_read_tells_what_ended_it(fields: dict[str, object], word: str) -> None:
    assert _cells(msgspec.structs.replace(_READ, **fields))[6:] == [word, "12"]
