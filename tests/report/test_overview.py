"""What is read first: the digest and the answers, with links to what shows them."""

from __future__ import annotations

import re

from msmq_wire.detection import Evidence, Finding
from msmq_wire.detection.diagnosis import Answer, Statement
from msmq_wire.detection.diagnosis.digest_lines import Digest, DigestLine
from msmq_wire.engines.codec import encode
from msmq_wire.engines.message_builder import build_message
from tests.report.pages import START, Page, message_record, page_text

_MESSAGE = message_record(encode(build_message(r"DIRECT=OS:msg01\private$\orders", b"x")), 7)
_LINE = DigestLine(
    severity="high",
    confidence="likely",
    layer="host",
    text="192.0.2.21 lies.",
    who=("192.0.2.21",),
    records=(7, 99),
    where="frame 7",
    action="Ask it.",
    rule="FRM-SIG",
    question=5,
)


def _finding(src: str, record: int = 7) -> Finding:
    place = Evidence(
        capture="test.pcap", record=record, frames=(7,), src=src, dst="192.0.2.10:1801", time=START + 10**9
    )
    return Finding(
        id="FRM-SIG", title="Wrong", severity="high", confidence="certain", message="wrong", evidence=(place,)
    )


def _answer(attention: str | None, *texts: str, number: int = 5) -> Answer:
    reported = tuple(Statement(text=text, records=(7,)) for text in texts)
    return Answer(number=number, question="Why?", posed=True, attention=attention, statements=reported)  # type: ignore[arg-type]  # a severity


def _links(page: Page) -> list[str]:
    return [one["href"] or "" for one in page.named("a")]


def test_a_line_of_the_digest_leads_to_its_finding_its_answer_and_its_message() -> None:
    page = Page(
        page_text(
            [_MESSAGE],
            [_finding("198.51.100.7:9"), _finding("192.0.2.21:49731")],
            answers=[_answer("high", "It lies.")],
            digest=Digest(lines=(_LINE,), looked_at="1 message"),
        )
    )
    assert page.text.index("192.0.2.21 lies.") < page.text.index("It lies.")
    for words in ("Ask it.", "Confidence: likely.", "Frame 7.", "Looked at: 1 message."):
        assert words in re.sub(" +", " ", page.text)
    links = _links(page)
    ids = {one.get("id") for _, one in page.elements}
    for link in ("#finding-FRM-SIG-192.0.2.21", "#question-5", "#message-7", "#session-0"):
        assert link in links
        assert link[1:] in ids
    assert "#message-99" not in links


def test_where_nothing_is_wrong_the_page_says_so_and_what_was_looked_at() -> None:
    page = Page(page_text([_MESSAGE], digest=Digest(looked_at="1 message in 1 frame")))
    assert "Nothing wrong seen." in page.text_of("p")
    assert "Looked at: 1 message in 1 frame." in page.text_of("p")


def test_the_answers_that_ask_for_most_attention_come_first() -> None:
    answers = [_answer("medium", "a", number=5), _answer("high", "b", number=13)]
    page = Page(page_text([_MESSAGE], answers=answers, digest=Digest()))
    ids = [one["id"] for one in page.named("li") if (one.get("id") or "").startswith("question-")]
    assert ids == ["question-13", "question-5"]


def test_answers_that_nobody_has_to_look_at_are_folded() -> None:
    answers = [_answer("medium", "look"), _answer("low", "a", number=6), _answer(None, "b", number=7)]
    page = Page(page_text([_MESSAGE], answers=answers, digest=Digest()))
    assert "2 other answers" in page.text_of("summary")
    order = [one["id"] for _, one in page.elements if (one.get("id") or "").startswith("question-")]
    assert order == ["question-5", "question-6", "question-7"]


def test_a_long_answer_is_folded_after_three_sentences() -> None:
    for count, folded in ((4, []), (5, ["2 more sentences"])):
        page = Page(
            page_text([_MESSAGE], answers=[_answer("high", *map(str, range(count)))], digest=Digest())
        )
        assert [words for words in page.text_of("summary") if "sentences" in words] == folded


def test_findings_of_one_cause_are_one_with_an_anchor_for_each_sender() -> None:
    findings = [_finding("192.0.2.21:1")] * 3 + [_finding("192.0.2.22:1")]
    page = Page(page_text([_MESSAGE], findings))
    assert "4 findings, grouped into 2 causes." in page.text_of("p")
    ids = [one["id"] for one in page.named("details") if (one.get("id") or "").startswith("finding-")]
    assert ids == ["finding-FRM-SIG-192.0.2.21", "finding-FRM-SIG-192.0.2.22"]
