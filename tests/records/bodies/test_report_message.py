"""Bodies of report messages, written by hand from [MS-MQQB] 3.1.5.8.9 and 3.1.7.1.7."""

from __future__ import annotations

import pytest

from msmq_wire.records.bodies import open_body

QUEUE = "PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\00000001"
RECEIVED = f"<MESSAGE ID>0000002A</MESSAGE ID>\r\n<TARGET QUEUE>{QUEUE}</TARGET QUEUE>\r\n"
SENT = f"{RECEIVED}<NEXT HOP>192.0.2.11</NEXT HOP>\r\n<HOP COUNT>1D </HOP COUNT>\r\n"
ABOUT_RECEIVED = (("report", "received"), ("message_id", "42"), ("target_queue", QUEUE))
ABOUT_SENT = (
    ("report", "sent"),
    ("message_id", "42"),
    ("target_queue", QUEUE),
    ("next_hop", "192.0.2.11"),
    ("hop_count", "29"),
)


@pytest.mark.parametrize("body_type", [None, 0, 31])
@pytest.mark.parametrize(
    ("text", "title", "details"),
    [
        (RECEIVED, "report message: message 42 received", ABOUT_RECEIVED),
        (SENT, "report message: message 42 sent to 192.0.2.11", ABOUT_SENT),
    ],
)
def test_a_report_says_what_became_of_which_message(
    text: str, title: str, details: tuple[tuple[str, str], ...], body_type: int | None
) -> None:
    body = open_body(text.encode("utf-16-le"), body_type)
    assert (body.kind, body.confidence, body.title) == ("report_message", "certain", title)
    shown = tuple(pair for pair in body.details if pair[0] != "body_type")
    assert (body.text, shown) == (text, details)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<MESSAGE ID>0000002A</MESSAGE ID>\r\n", "xml"),
        (f"{SENT}<a/>", "xml"),
        (SENT.replace("0000002A", "42 of A1B2"), "xml"),
        (f" {SENT}", "xml"),
    ],
)
def test_what_only_begins_like_a_report_is_none(text: str, kind: str) -> None:
    assert open_body(text.encode("utf-16-le"), 0).kind == kind


def test_a_report_in_one_byte_for_each_character_is_none() -> None:
    assert open_body(SENT.encode(), 0).kind == "xml"
