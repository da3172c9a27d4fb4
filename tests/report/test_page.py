"""The page: it loads nothing, traffic stays text in it, it is whole without scripts and bounded."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest

from msmq_wire.capture.hashing import FileRead
from msmq_wire.detection import SEVERITIES, Evidence, Finding
from msmq_wire.detection.diagnosis import Answer, Statement
from msmq_wire.detection.diagnosis.digest_lines import Digest, DigestLine
from msmq_wire.engines.codec import encode
from msmq_wire.engines.fit import fit
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.record import Record
from msmq_wire.report.totals import Totals
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.report.pages import START, Page, message_record, page_text
from tests.test_markup import HOSTILE

_QUEUE = r"DIRECT=OS:msg01\private$\orders"
_SENDER = GUID(bytes(range(16)))


def _message(number: int, label: str = "order", queue: str = _QUEUE) -> bytes:
    return encode(build_message(queue, b"x", label=label, message_id=number, source_queue_manager=_SENDER))


def _many(count: int) -> Iterator[Record]:
    data = _message(1)
    yield from (message_record(data, number) for number in range(1, count + 1))


def _hostile_messages(text: str, number: int) -> Iterator[UserMessage]:
    """Messages with a text as their label, and as host and queue name where a format name takes it."""
    body = text.encode("utf-16-le", "surrogatepass")
    message = build_message(
        _QUEUE, body, body_type=31, message_id=number, source_queue_manager=_SENDER, response_queue=_QUEUE
    )
    properties = message.message_properties_header
    assert isinstance(properties, MessagePropertiesHeader)
    label = WcharText(text.encode("utf-16-le", "surrogatepass") + bytes(2))
    yield fit(
        msgspec.structs.replace(
            message, message_properties_header=msgspec.structs.replace(properties, label=label)
        )
    )
    with contextlib.suppress(MsmqWireError):
        yield build_message(f"DIRECT=OS:{text}\\private$\\{text}", message_id=number + 1)


def _hostile_records() -> Iterator[Record]:
    number = 0
    for text in HOSTILE:
        for message in _hostile_messages(text, number):
            number += 1
            yield message_record(
                encode(message),
                number,
                src=f"{text}:1",
                dst=f"{text}:1801",
                capture=text,
                stream=number,
                reason=text,
            )
        number += 1
        yield Record(
            id=number,
            type="gap",
            capture=text,
            src=f"{text}:1",
            dst=f"{text}:1801",
            time=START,
            stream=number,
            missing=5,
            reason=text,
        )


def _hostile_findings() -> Iterator[Finding]:
    for at, text in enumerate(HOSTILE):
        place = Evidence(
            capture=text,
            record=1,
            frames=(1,),
            time=START,
            src=text,
            dst=text,
            path=text,
            offset=4,
            length=8,
            data=text.encode("utf-8", "surrogatepass")[:64],
        )
        yield Finding(
            id=f"TST-{at}",
            title=text,
            severity=SEVERITIES[at % 4],
            confidence="certain",
            message=text,
            evidence=(place,),
            caveats=(text,),
            cves=(text,),
            spec=text,
        )


def _file(text: str) -> FileRead:
    return FileRead(name=text, size=1, sha256=text, whole=True, frames=0, first=None, last=None)


@pytest.fixture(scope="module")
def hostile() -> str:
    return hostile_page()


def hostile_page() -> str:
    """A page whose every text from traffic is hostile."""
    return page_text(
        _hostile_records(),
        _hostile_findings(),
        captures=HOSTILE,
        notices=HOSTILE,
        failures=HOSTILE,
        skipped=Counter(dict.fromkeys(HOSTILE, 3)),
        files=tuple(map(_file, HOSTILE)),
        answers=tuple(_hostile_answers()),
        digest=Digest(
            lines=tuple(
                DigestLine(
                    severity="high",
                    confidence="likely",
                    layer="host",
                    text=text,
                    who=(text,),
                    records=(1, 2),
                    where=text,
                    action=text,
                    rule="TST-0",
                    question=1,
                )
                for text in HOSTILE
            ),
            looked_at=HOSTILE[0],
        ),
    )


def _hostile_answers() -> Iterator[Answer]:
    for number, text in enumerate(HOSTILE, start=1):
        reported = Statement(text=text, records=(1, number))
        yield Answer(
            number=number,
            question=text,
            posed=True,
            attention=SEVERITIES[number % 4],
            statements=(reported,) * 6,
            caveats=(text,),
        )


_ELEMENTS = """
    a b body button caption circle code dd defs details div dl dt figcaption figure footer g h1 h2 h3 h4 head
    header html input label legend li line main marker meta nav ol option p path pre rect script section
    select small span strong style summary svg table tbody td text th thead title tr ul
"""
_ATTRIBUTES = """
    aria-hidden aria-label aria-labelledby aria-live autocomplete charset class content cx cy d data-kind
    height hidden href http-equiv id lang marker-end markerheight markerunits markerwidth name open orient
    r refx refy role scope stroke-width tabindex text-anchor type value viewbox width x x1 x2 y y1 y2
"""


@pytest.mark.slow
def test_no_element_and_no_attribute_comes_from_traffic(hostile: str) -> None:
    page = Page(hostile)
    assert {name for name, _ in page.elements} <= set(_ELEMENTS.split())
    assert {name for _, attributes in page.elements for name in attributes} <= set(_ATTRIBUTES.split())
    assert not page.open
    harmless = Page(page_text(_many(2), captures=("a",)))
    for name in ("script", "style", "meta", "title"):
        assert name == "title" or len(page.named(name)) == len(harmless.named(name))


def test_links_stay_inside_the_page(hostile: str) -> None:
    page = Page(hostile)
    ids = {attributes.get("id") for _, attributes in page.elements}
    # Rows behind the first hundred are made by the script.
    ids |= {f"message-{row[0]}" for row in json.loads(page.text_of("script")[0])["rows"]}
    links = [attributes["href"] or "" for attributes in page.named("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)


def test_no_control_and_no_direction_mark_reaches_the_page(hostile: str) -> None:
    unsafe = re.compile(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200e\u200f\ud800-\udfff]"
    )
    assert unsafe.search(hostile) is None
    assert "\\u202e" in Page(hostile).text


def test_data_for_the_script_is_json_with_the_labels_as_they_show(hostile: str) -> None:
    data = json.loads(Page(hostile).text_of("script")[0])
    assert len(data["rows"]) > len(HOSTILE)
    assert "</script><script>alert(1)</script>" in [row[5] for row in data["rows"]]


def test_the_policy_allows_this_style_and_this_script_and_no_network(hostile: str) -> None:
    page = Page(hostile)
    policy = next(meta["content"] for meta in page.named("meta") if "http-equiv" in meta) or ""
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "style-src", "script-src", "base-uri", "form-action"}
    for name, text in (("style-src", page.text_of("style")[0]), ("script-src", page.text_of("script")[-1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"


def test_how_a_body_begins_is_text_like_all_else(hostile: str) -> None:
    data = json.loads(Page(hostile).text_of("script")[0])
    assert "<script>alert(1)</script>" in [row[13] for row in data["rows"]]


def test_the_page_names_no_address_of_a_network() -> None:
    text = page_text(_many(3), captures=("a.pcap",))
    assert not re.search(r"https?:|//[a-z]|url\((?!#arrow)|@import|srcset|\bsrc=", text)


def test_the_script_makes_text_and_no_markup() -> None:
    script = Page(page_text(_many(1))).text_of("script")[-1]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(|fetch|XMLHttp", script
    )


def test_without_scripts_the_first_rows_are_there() -> None:
    page = Page(page_text(_many(250)))
    rows = [text for text in page.text_of("td") if text == _QUEUE]
    assert len(rows) == 100
    assert "250 messages" in page.text


def test_rows_are_bounded_and_counts_are_not() -> None:
    page = Page(page_text(_many(300), rows=120))
    data = json.loads(page.text_of("script")[0])
    assert len(data["rows"]) == 120
    assert "300 messages" in page.text
    assert "The table has the first 120 of 300 messages" in page.text


@pytest.mark.slow
def test_labels_that_are_long_in_the_page_leave_fewer_rows() -> None:
    data = _message(1, label="\U00010348" * 60)
    totals = Totals()
    for number in range(1, 30_001):
        totals.feed(message_record(data, number))
    assert totals.messages == 30_000
    assert 14_000_000 / 900 < len(totals.rows) < 14_000_000 / 700


@pytest.mark.check
def test_two_thousand_messages_make_a_small_page_with_exact_counts() -> None:
    records = []
    for number in range(1, 2001):
        src, dst = ("192.0.2.21:1", "192.0.2.10:1801") if number % 4 else ("192.0.2.22:1", "192.0.2.11:1801")
        data = _message(number, label=f"order {number}")
        records.append(message_record(data, number, src=src, dst=dst, stream=number % 7))
    text = page_text(records)
    page = Page(text)
    assert len(text) < 1_000_000
    assert "2,000 messages" in page.text
    assert "192.0.2.21 to 192.0.2.10: 1,500 messages" in " ".join(page.text_of("title"))
    data = json.loads(page.text_of("script")[0])
    assert [row[5] for row in data["rows"]] == [f"order {number}" for number in range(1, 2001)]


def test_more_than_twenty_four_hosts_are_a_table_and_no_picture() -> None:
    def pages(count: int) -> Page:
        data = _message(1)
        return Page(
            page_text(message_record(data, n, src=f"198.51.100.{n}:9", stream=n) for n in range(1, count + 1))
        )

    assert len([one for one in pages(23).named("circle") if one.get("class") == "node"]) == 24
    many = pages(24)
    assert not [one for one in many.named("circle") if one.get("class") == "node"]
    assert "25 hosts: too many for a picture" in many.text


def test_findings_show_their_bytes_their_place_and_what_they_mean() -> None:
    place = Evidence(
        capture="a.pcap",
        record=7,
        frames=(12, 13),
        path="base_header.signature",
        offset=4,
        length=4,
        data=b"LIOX",
    )
    finding = Finding(
        id="FRM-SIG",
        title="Wrong signature",
        severity="medium",
        confidence="certain",
        message="LIOX stands where LIOR is expected",
        evidence=(place,),
        caveats=("bytes are missing before it",),
        spec="[MS-MQMQ] 2.2.19.1",
    )
    page = Page(page_text(_many(1), [finding]))
    assert "LIOX stands where LIOR is expected" in page.text
    assert f"00000004  {'4c 49 4f 58':<47}  LIOX" in page.text
    for words in ("12, 13", "base_header.signature", "4, 4 bytes", "bytes are missing before it"):
        assert words in page.text
    assert "[MS-MQMQ] 2.2.19.1; msmq-wire explain FRM-SIG" in page.text
    assert "1 medium" in page.text


def test_of_many_findings_of_a_rule_some_are_shown_and_all_are_counted() -> None:
    finding = Finding(
        id="FRM-TRUNC",
        title="Cut",
        severity="low",
        confidence="certain",
        message="the stream ends inside a packet",
        evidence=(Evidence(record=1),),
    )
    page = Page(page_text(_many(1), [finding] * 60))
    assert page.text_of("p").count("the stream ends inside a packet") == 10
    assert "60 findings, grouped into 1 cause." in page.text
    assert "And 50 more: msmq-wire findings --rule FRM-TRUNC lists them." in page.text


def test_gaps_and_cut_packets_are_told_under_limits() -> None:
    cut = message_record(_message(2)[:150], 2)
    gap = Record(id=3, type="gap", time=START, src="a:1", dst="b:1801", stream=0, missing=77, reason="lost")
    page = Page(page_text([message_record(_message(1), 1), cut, gap], failures=("a.pcap: damaged",)))
    assert "1 gap in connections, 77 bytes as far as that is known" in page.text
    assert "1 packet could not be decoded to the end." in page.text
    assert "a.pcap: damaged" in page.text


def test_nothing_captured_is_a_page_too() -> None:
    page = Page(page_text(()))
    assert len(page.named("section")) == 10
    assert "No message was captured." in page.text


def test_the_page_can_be_used_with_a_keyboard_and_read_aloud() -> None:
    page = Page(page_text(_many(3)))
    assert page.elements[0] == ("html", {"lang": "en"})
    first = next(attributes for name, attributes in page.elements if name in ("a", "button", "input"))
    assert first == {"class": "skip", "href": "#main"}
    regions = [one for name, one in page.elements if one.get("class") == "scroll" and name == "div"]
    assert regions
    assert all(one["tabindex"] == "0" and one["role"] == "region" and one["aria-label"] for one in regions)
    assert all(one.get("scope") in ("col", "row") for one in page.named("th"))
    pictures = [one for one in page.named("svg") if one.get("role") == "img"]
    assert pictures
    assert all(one["aria-label"] for one in pictures)
    assert all(one.get("role") == "img" or one.get("aria-hidden") == "true" for one in page.named("svg"))
    ids = [one["id"] for _, one in page.elements if "id" in one]
    assert len(ids) == len(set(ids))
    assert {one["aria-labelledby"] for one in page.named("section")} <= set(ids)


def test_the_same_records_give_the_same_page() -> None:
    assert page_text(_many(40)) == page_text(_many(40))


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_has_the_contrast_that_wcag_asks_for_in_both_schemes() -> None:
    style = Page(page_text(())).text_of("style")[0]
    schemes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    assert len(schemes) == 3
    for scheme in schemes:
        colours = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", scheme))
        for ink, ground in (
            *((name, back) for name in ("ink", "muted", "accent") for back in ("ground", "panel")),
            *(("on", level) for level in ("high", "medium", "low", "info")),
        ):
            low, high = sorted((_luminance(colours[ink]), _luminance(colours[ground])))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)


def test_hosts_that_only_open_connections_are_drawn_with_a_dashed_line() -> None:
    steps = (
        Record(
            id=number,
            type="tcp_stream",
            event=event,
            time=START + number,
            frames=(number,),
            src=src,
            dst=dst,
            stream=0,
            capture="a.pcap",
        )
        for number, (event, src, dst) in enumerate(
            (
                ("syn", "192.0.2.1:4000", "192.0.2.2:1801"),
                ("rst", "192.0.2.2:1801", "192.0.2.1:4000"),
            ),
            start=1,
        )
    )
    page = Page(page_text(steps))
    assert [one["class"] for one in page.named("path") if "marker-end" in one] == ["edge quiet"]
    assert "192.0.2.1 to 192.0.2.2: 0 messages, 1 session" in page.text
    assert "TCP refused" in page.text
    assert "in 1 session, 0 of them open" in page.text


def test_a_session_that_was_opened_is_counted_as_such() -> None:
    page = Page(page_text(_many(3)))
    assert "in 1 session, 1 of them open" in page.text


def test_the_title_names_three_captures_and_counts_the_rest() -> None:
    assert "MSMQ report: a, b, c" in Page(page_text((), captures=("a", "b", "c"))).text_of("title")
    page = Page(page_text((), captures=("a", "b", "c", "d", "e")))
    assert "MSMQ report: a, b, c and 2 more" in page.text_of("title")
    assert "a, b, c, d and 1 more " in page.text_of("p")
