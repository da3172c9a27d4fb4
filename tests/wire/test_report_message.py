"""The text of report messages: [MS-MQQB] 3.1.5.8.9 and 3.1.7.1.7. All texts are written by hand."""

from __future__ import annotations

from datetime import datetime

import pytest

from msmq_wire.wire.report_message import (
    ReportBody,
    ReportLabel,
    ReportTime,
    report_of,
    report_texts,
    target_name,
    time_text,
)
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

SENDER = GUID.parse("a1b2c3d4-0000-0000-0000-000000000001")
REPORTER = GUID.parse("deadbeef-0000-0000-0000-00000000000b")
LABEL = "A1B2:0000002A:01 received by DEADBEEF-0000-0000-0000-00000000000B at 02:05:09 PM Mon,Nov 30 26"
RECEIVED = (
    "<MESSAGE ID>0000002A</MESSAGE ID>\r\n<TARGET QUEUE>DIRECT=OS:srv\\private$\\orders</TARGET QUEUE>\r\n"
)
SENT = f"{RECEIVED}<NEXT HOP>192.0.2.11</NEXT HOP>\r\n<HOP COUNT>01 </HOP COUNT>\r\n"
READ_LABEL = ReportLabel(
    qm_id="a1b2", message_id=42, hops=1, computer=str(REPORTER), time="02:05:09 PM Mon,Nov 30 26"
)
READ_BODY = ReportBody(message_id=42, target_queue="DIRECT=OS:srv\\private$\\orders")
READ_SENT = ReportBody(
    message_id=42, target_queue="DIRECT=OS:srv\\private$\\orders", next_hop="192.0.2.11", hop_count=1
)


@pytest.mark.parametrize(("next_hop", "body"), [(None, RECEIVED), ("192.0.2.11", SENT)])
def test_the_texts_are_written_by_the_grammar(next_hop: str | None, body: str) -> None:
    written = report_texts(
        source=SENDER,
        message_id=42,
        hops=1,
        reporter=REPORTER,
        moment=datetime(2026, 11, 30, 14, 5, 9),
        target_queue="DIRECT=OS:srv\\private$\\orders",
        next_hop=next_hop,
    )
    assert written == (LABEL, body.encode("utf-16-le"))


def test_hexadecimal_digits_are_capitals_and_have_their_full_width() -> None:
    label, body = report_texts(
        source=SENDER,
        message_id=0xABCDEF01,
        hops=0x1D,
        reporter=REPORTER,
        moment=datetime(2027, 1, 2, 0, 0, 0),
        target_queue="PUBLIC=11111111-2222-3333-4444-555555555555",
        next_hop="2001:db8::1",
    )
    assert label == (
        "A1B2:ABCDEF01:1D received by DEADBEEF-0000-0000-0000-00000000000B at 12:00:00 AM Sat,Jan 02 27"
    )
    assert body.decode("utf-16-le") == (
        "<MESSAGE ID>ABCDEF01</MESSAGE ID>\r\n"
        "<TARGET QUEUE>PUBLIC=11111111-2222-3333-4444-555555555555</TARGET QUEUE>\r\n"
        "<NEXT HOP>2001:db8::1</NEXT HOP>\r\n<HOP COUNT>1D </HOP COUNT>\r\n"
    )


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (LABEL, READ_LABEL),
        (LABEL.lower().replace("pm mon,nov", "PM Mon,Nov"), READ_LABEL),
        (
            "a1b2:2a:1 sent from SRV1 to 192.0.2.11 at 02:05 PM Mon,Nov 30 26",
            ReportLabel(
                qm_id="a1b2",
                message_id=42,
                hops=1,
                computer="SRV1",
                time="02:05 PM Mon,Nov 30 26",
                address="192.0.2.11",
            ),
        ),
        ("A1B2:0000002A:01 received at 02:05:09 PM Mon,Nov 30 26", None),
        ("A1B2:0000002A:01:received by x at 02:05:09", None),
        ("QM Ordering Ack", None),
        ("", None),
    ],
)
def test_a_label_is_read(text: str, label: ReportLabel | None) -> None:
    assert ReportLabel.parse(text) == label


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (RECEIVED, READ_BODY),
        (SENT, READ_SENT),
        (SENT.replace(" </HOP COUNT>", "</HOP COUNT>"), READ_SENT),
        (SENT + "\0", READ_SENT),
        (SENT.replace("\r\n", "\n").rstrip(), READ_SENT),
        (SENT.replace("<NEXT HOP>192.0.2.11</NEXT HOP>\r\n", ""), None),
        (SENT + "\0\0", None),
        (RECEIVED.replace("0000002A", "0000002G"), None),
        (RECEIVED + "x", None),
        ("<MESSAGE ID>" * 1000, None),
        ("", None),
    ],
)
def test_a_body_is_read(text: str, body: ReportBody | None) -> None:
    assert ReportBody.parse(text.encode("utf-16-le")) == body


def test_a_body_that_is_no_text_of_16_bits_is_none() -> None:
    assert ReportBody.parse(RECEIVED.encode("utf-16-le") + b"\0") is None
    assert ReportBody.parse(RECEIVED.encode("ascii")) is None


@pytest.mark.parametrize(
    ("text", "moment", "has_seconds", "weekday_fits"),
    [
        ("02:05:09 PM Mon,Nov 30 26", datetime(2026, 11, 30, 14, 5, 9), True, True),
        ("14:05 PM Mon,Nov 30 26", datetime(2026, 11, 30, 14, 5), False, True),
        ("12:00 AM Tue,Nov 30 26", datetime(2026, 11, 30), False, False),
        ("12:00 PM Mon, Nov 30 2026", datetime(2026, 11, 30, 12), False, True),
        ("00:30 AM Wed,Dec 31 97", datetime(1997, 12, 31, 0, 30), False, True),
        ("23:59:59 Mon,Nov 30 26", datetime(2026, 11, 30, 23, 59, 59), True, True),
        ("13:00 AM Mon,Nov 30 26", None, False, False),
        ("00:30 PM Mon,Nov 30 26", None, False, False),
        ("10:61 AM Mon,Nov 30 26", None, False, False),
        ("10:00 AM Mon,Foo 30 26", None, False, False),
    ],
)
def test_a_time_is_read_without_a_zone(
    text: str, moment: datetime | None, has_seconds: bool, weekday_fits: bool
) -> None:
    assert ReportTime.parse(text) == ReportTime(
        moment=moment, has_seconds=has_seconds, weekday_fits=weekday_fits
    )


def test_a_text_of_another_form_is_no_time() -> None:
    assert ReportTime.parse("2026-11-30 14:05") is None


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 11, 30, 12), "12:00:00 PM Mon,Nov 30 26"),
        (datetime(2005, 2, 6, 11, 59, 1), "11:59:01 AM Sun,Feb 06 05"),
    ],
)
def test_a_time_is_written_in_12_hours_with_seconds(moment: datetime, text: str) -> None:
    assert time_text(moment) == text


def test_a_report_says_which_message_was_traced_and_where_it_went() -> None:
    report = report_of(WcharText.of(LABEL), SENT.encode("utf-16-le"))
    assert report is not None
    assert (report.kind, report.message_id, report.hops, report.next_hop) == ("sent", 42, 1, "192.0.2.11")
    assert report.is_about(SENDER, 42)
    assert not report.is_about(SENDER, 43)
    assert not report.is_about(REPORTER, 42)
    assert (report.conflict, report.disagreements) == (False, ())


def test_a_report_is_read_by_its_label_alone_and_by_its_body_alone() -> None:
    label_only = report_of(WcharText.of("a1b2:2a:1 sent from a to 192.0.2.9 at noon"), b"")
    assert label_only is not None
    assert label_only.body is None
    assert (label_only.kind, label_only.hops, label_only.next_hop) == ("sent", 1, "192.0.2.9")
    body_only = report_of(WcharText(), RECEIVED.encode("utf-16-le"))
    assert body_only is not None
    assert body_only.label is None
    assert (body_only.kind, body_only.message_id, body_only.hops) == ("received", 42, None)
    assert body_only.is_about(REPORTER, 42)


def test_label_and_body_that_disagree_are_named() -> None:
    label = "A1B2:0000002B:02 sent from a to 192.0.2.12 at 02:05 PM Mon,Nov 30 26"
    report = report_of(WcharText.of(label), SENT.encode("utf-16-le"))
    assert report is not None
    assert report.disagreements == ("message_id", "hops", "next_hop")


def test_the_label_about_two_report_queues_is_known_from_the_help() -> None:
    report = report_of(WcharText.of("Report Message Conflict"), b"")
    assert report is not None
    assert (report.conflict, report.message_id, report.kind) == (True, None, "received")
    assert report_of(WcharText.of("Report"), b"x") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"PUBLIC={{{REPORTER}}}", f"PUBLIC={REPORTER}"),
        (f"PRIVATE={str(REPORTER).upper()}\\1F", f"PRIVATE={REPORTER}\\0000001f"),
        (r"DIRECT=OS:msg01\private$\orders", r"DIRECT=OS:msg01\private$\orders"),
        # Frame 7 of [MS-MQQB] 4.1 has a direct name without its keyword.
        (r"OS:msg01\q", r"DIRECT=OS:msg01\q"),
        ("orders", None),
        ("", None),
    ],
)
def test_a_target_queue_is_read_in_each_form(text: str, name: str | None) -> None:
    found = target_name(text)
    assert (None if found is None else str(found)) == name
