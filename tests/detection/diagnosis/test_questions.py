"""Answers of a diagnosis: what is said of nothing, of much and of what is missing; their words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.build_frames import pcap
from fixtures.build_sessions import Script, Step
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import Evidence, Finding, Judge
from msmq_wire.detection.diagnosis import QUESTIONS, Answer, Diagnosis
from msmq_wire.detection.diagnosis.answer_view import answer_view
from msmq_wire.detection.diagnosis.facts import Facts, PortUse
from msmq_wire.detection.diagnosis.naming import matching
from msmq_wire.detection.diagnosis.phrases import Phrases, listed, part, short, span
from msmq_wire.detection.diagnosis.security_counts import subject_text
from msmq_wire.detection.diagnosis.timeline import message_steps
from msmq_wire.records.record import Record
from msmq_wire.sessions import Moment, Story, follow
from tests.sessions.tape import Tape

FIXTURES = Path(__file__).parents[3] / "fixtures"
OPEN: Step = {"at": 0.0, "do": "open"}


def answers(path: Path) -> dict[int, Answer]:
    diagnosis, judge = Diagnosis(), Judge()
    for record in read_capture(path, streams=True):
        diagnosis.feed(record, judge.feed(record))
    diagnosis.found(judge.finish())
    assert judge.story is not None
    return {answer.number: answer for answer in diagnosis.answers(judge.story)}


@pytest.fixture
def reported(tmp_path: Path) -> Callable[..., dict[int, Answer]]:
    """The answers about a capture of these steps."""

    def tell(*steps: Step) -> dict[int, Answer]:
        path = tmp_path / "made.pcap"
        path.write_bytes(pcap(Script(list(steps)).scene.frames))
        return answers(path)

    return tell


def nothing() -> Story:
    return follow(())


def test_a_question_that_nothing_poses_is_answered_in_one_line() -> None:
    found = Diagnosis().answers(nothing())
    assert [answer.number for answer in found] == list(QUESTIONS)
    for answer in found:
        assert not answer.posed
        assert answer.attention is None
        assert answer.sentences == (QUESTIONS[answer.number].nothing,)
        assert answer.caveats == ()


def test_an_address_where_a_computer_name_belongs_is_said_with_what_a_queue_manager_does() -> None:
    (said, *_) = answers(FIXTURES / "findings" / "FPR-SCRIPT" / "hit_message.pcap")[3].sentences
    assert said.endswith(
        "frame 4. OS: in the queue name is for a computer name, and an IP address follows it. A queue "
        "manager does not send such messages: see diagnose --question 13."
    )


def test_only_the_questions_that_are_asked_are_answered() -> None:
    found = Diagnosis().answers(nothing(), numbers=(9, 2, 99))
    assert [answer.number for answer in found] == [2, 9]


def test_a_long_list_is_shortened_and_says_by_how_much(reported: Callable[..., dict[int, Answer]]) -> None:
    steps = [{"at": 0.1, "do": "message", "id": 1, "count": 47}]
    answer = reported(OPEN, *steps)[4]
    assert answer.sentences[0] == "None of the 47 messages were acknowledged."
    start = "None of 47 messages was acknowledged in the capture: a1d30c5b…\\1 (frame 12), "
    assert answer.sentences[1].startswith(start)
    assert "a1d30c5b…\\10 (frame 30) and 37 more (" in answer.sentences[1]
    assert "\\11 (" not in answer.sentences[1]
    assert answer.facts["never_acknowledged"] == 47
    # The capture ends before an acknowledgment is due.
    assert answer.attention is None


def test_all_that_was_refused_is_counted_and_the_first_are_named() -> None:
    tape = Tape()
    tape.open()
    for number in range(1, 121):
        tape.message(number)
        tape.administration_ack(number, 0x8004, own=5000 + number)
    diagnosis, story = Diagnosis(), tape.story()
    for record in tape.records:
        diagnosis.feed(record)
    sent, answer = diagnosis.answers(story, numbers=(3, 5))
    assert (sent.facts["messages"], sent.facts["acknowledgments"]) == (120, 120)
    assert answer.sentences[0].startswith("120 messages from 192.0.2.21 to ")
    assert " and 110 more" in answer.sentences[0]
    assert "dead-letter" not in answer.sentences[0]
    ((cause, behind),) = diagnosis.causes(story)
    assert behind is None
    assert cause.count == 120


@pytest.mark.parametrize("others", [0, 2])
def test_what_a_slow_clock_did_is_told_with_it(others: int) -> None:
    tape = Tape()
    tape.open()
    for number in range(1, 13 + others):
        tape.wait(10)
        slow = 7 * 3600 if number <= 12 else 0
        tape.message(
            number, sent_time=tape.time // 1_000_000_000 - slow, time_to_reach_queue=3600, label="order"
        )
        tape.ack(number)
        tape.administration_ack(number, 0x8002, own=5000 + number)
    diagnosis, story = Diagnosis(), tape.story()
    for record in tape.records:
        diagnosis.feed(record)
    cause = next(one for one, _ in diagnosis.causes(story) if one.rules[0] == "TIM-SKEW")
    assert cause.severity == "medium"
    assert cause.who == ("192.0.2.21", "192.0.2.10")
    assert cause.text.startswith("The clock of 192.0.2.21 is 7 h behind that of the capture: ")
    assert cause.text.endswith(
        "; 12 messages with 1 h to live were refused by 192.0.2.10 as expired because of that, "
        'first a1d30c5b…\\1 "order"'
    )
    # What it took for expired of a right clock has another cause.
    assert bool(cause.explains) is (others == 0)


def test_what_a_capture_lacks_stands_beside_the_answers_that_it_touches() -> None:
    found = answers(FIXTURES / "sessions" / "lost_frames.pcap")
    lossy = [number for number, one in found.items() if any("missing" in text for text in one.caveats)]
    assert lossy == [2, 3, 4, 5, 9, 12, 13, 14, 15, 16, 17, 18]


def test_a_capture_that_begins_late_says_so() -> None:
    found = answers(FIXTURES / "sessions" / "midstream_start.pcap")
    assert "1 connection began before the capture; first frame 1" in found[2].caveats


def test_sealed_calls_are_not_guessed() -> None:
    found = answers(FIXTURES / "rpc_captures" / "rpc_ntlm_privacy.pcap")
    assert found[9].facts["sealed"] > 0
    assert any("sealed" in text and "without a key" in text for text in found[9].sentences)
    assert any("sealed" in one for one in found[10].caveats)


def test_every_statement_about_frames_names_frames_of_its_evidence() -> None:
    found = answers(FIXTURES / "diagnose" / "q04_two_unacknowledged.pcap")
    statement = found[4].statements[2]
    assert statement.frames == (16, 18)
    assert "frame 18" in statement.text
    assert answer_view(found[4])["statements"][2]["frames"] == [16, 18]


def test_findings_are_told_by_the_host_that_sent_what_they_are_about() -> None:
    finding = Finding(
        id="FRM-SIG",
        title="Not a packet",
        severity="medium",
        confidence="certain",
        message="the signature is 0",
        evidence=(Evidence(record=3, frames=(7,), src="198.51.100.7:4000", dst="192.0.2.10:1801"),),
    )
    diagnosis = Diagnosis()
    diagnosis.found([finding, finding])
    (answer,) = diagnosis.answers(nothing(), numbers=(13,))
    said = "Findings about 198.51.100.7: FRM-SIG (Not a packet, 2 times); first in frame 7."
    assert answer.sentences == (said,)
    assert answer.attention == "medium"


def test_findings_below_medium_do_not_make_a_scan() -> None:
    finding = Finding(
        id="X", title="x", severity="low", confidence="guess", message="x", evidence=(Evidence(src="h:1"),)
    )
    diagnosis = Diagnosis()
    diagnosis.found([finding])
    (answer,) = diagnosis.answers(nothing(), numbers=(13,))
    assert not answer.posed
    assert answer.facts["findings"] == {"low": 1}


def test_facts_stay_small_however_many_ports_there_are() -> None:
    facts = Facts()
    for number in range(5000):
        src, dst = f"192.0.2.1:{number}", f"192.0.2.2:{number}"
        facts.feed(Record(id=number, type="tcp_stream", event="syn", src=src, dst=dst))
    assert len(facts.tried) == 256


def test_frames_name_their_file_where_there_are_several() -> None:
    words = Phrases([(1, "a.pcap"), (10, "b.pcap")])
    assert words.frame(Moment(9, 4, None)) == "frame 4 of a"
    assert words.frame(Moment(10, 4, None)) == "frame 4 of b"
    assert (
        words.frames([Moment(9, 4, None), Moment(9, 5, None), Moment(10, 4, None)])
        == "frames 4 and 5 of a; 4 of b"
    )
    assert Phrases([(1, "a.pcap")]).frame(Moment(9, 4, None)) == "frame 4"


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0.0 ms"),
        (2_600_000, "2.6 ms"),
        (50_000_000, "0.05 s"),
        (59_990_000_000, "59.99 s"),
        (250_000_000_000, "4 min 10 s"),
        (345_600_000_000_000, "4 days"),
        (-1_000_000_000, "-1.00 s"),
    ],
)
def test_lengths_of_time_are_told_as_people_say_them(nanoseconds: int, text: str) -> None:
    assert span(nanoseconds) == text


def test_lists_parts_and_names_are_short() -> None:
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed([str(n) for n in range(12)]).endswith("8, 9 and 2 more")
    assert [part(*one, "body", "bodies") for one in ((1, 1), (2, 2), (3, 3), (0, 2))] == [
        "The one body",
        "Both bodies",
        "All 3 bodies",
        "None of the 2 bodies",
    ]
    assert short("a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\7") == "a1d30c5b…\\7"
    assert short("uuid:7@host") == "uuid:7@host"


@given(st.binary(max_size=300))
def test_bytes_that_are_no_certificate_name_nobody_or_somebody_but_raise_nothing(data: bytes) -> None:
    subject = subject_text(data)
    assert subject is None or "=" in subject


def test_a_message_is_found_by_what_answers_call_it() -> None:
    story = follow(read_capture(FIXTURES / "diagnose" / "q04_two_unacknowledged.pcap", streams=True))
    whole = "a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4162"
    for wanted in (whole, "4162", "a1d30c5b…\\4162", "a1d30c5b...\\4162", "A1D3\\4162"):
        assert [*matching(story, wanted)] == [whole]
    for wanted in ("999", "b1\\4162", "", "xx"):
        assert matching(story, wanted) == {}
    numbers = range(4161, 4166)
    all_of_them = {whole.replace("4162", f"{one}"): f"order {one}" for one in numbers}
    assert matching(story, "ORDER") == matching(story, "private$\\orders") == all_of_them
    life = story.lives.by_id(whole)
    assert life is not None
    for wanted in (f"frame {life.first.frame}", f"Frame {life.first.frame}", f"id {life.first.record}"):
        assert [*matching(story, wanted)] == [whole]
    assert [*matching(story, f"{life.first.record}")] == [whole]
    words = Phrases([(1, "a/one.pcap"), (life.first.record, "a/two.pcap")])
    for wanted in ("frame 14 of two", "frame 14 OF two.pcap", "frame 14 of a/two.pcap", "frame 14"):
        assert [*matching(story, wanted, words=words)] == [whole]
    assert matching(story, "frame 14 of one", words=words) == {}


def test_the_steps_of_a_message_come_in_the_order_of_time() -> None:
    story = follow(read_capture(FIXTURES / "diagnose" / "q04_two_unacknowledged.pcap", streams=True))
    life = story.lives.by_id("a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4162")
    assert life is not None
    steps = [(step.what, step.at.frame) for step in message_steps(life, story)]
    assert steps == [("session open", 10), ("sent", 14), ("acknowledged", 18), ("session reset", 24)]


def test_a_port_that_was_tried_in_vain_is_listed_with_its_role() -> None:
    diagnosis = Diagnosis()
    ends = "192.0.2.21:50000", "192.0.2.10:2114"
    syn = Record(id=1, type="tcp_stream", event="syn", frames=(3,), stream=0, src=ends[0], dst=ends[1])
    diagnosis.feed(syn)
    (answer,) = diagnosis.answers(nothing(), numbers=(8,))
    said = "TCP 2114: a connection was tried (RPC: qmcomm, qmcomm2, RemoteRead); "
    said += "192.0.2.21 to 192.0.2.10; frame 3."
    assert answer.sentences == (said,)
    assert answer.statements[0].frames == (3,)


def test_sealed_reads_of_one_client_are_one_statement() -> None:
    found = answers(FIXTURES / "rpc_captures" / "rpc_ntlm_privacy.pcap")
    assert found[9].sentences[0] == (
        "192.0.2.21 opened queues of 192.0.2.10 2 times and read 14 times in sealed calls, first in frame 11."
    )


def test_a_message_over_http_without_a_response_is_not_acknowledged() -> None:
    found = answers(FIXTURES / "captures" / "path_srmp_no_response.pcap")
    assert found[4].sentences == (
        "Message 7c0e5d1a…\\101 to DIRECT=http://msg01/msmq/private$/orders was accepted by HTTP 202 in "
        "frame 5.",
        "1 of 2 messages was not acknowledged in the capture: 7c0e5d1a…\\102 (frame 6).",
    )


def test_a_host_that_only_sent_an_attack_is_in_the_list_of_ports_and_marked() -> None:
    answer = answers(FIXTURES / "diagnose" / "q13_probe_and_peer.pcap")[8]
    assert answer.sentences[0] == (
        "TCP 1801: messages; 192.0.2.21 to 192.0.2.10 and 198.51.100.7 to 192.0.2.10 (not as a queue manager "
        "does, see below); first in frame 1."
    )
    assert answer.sentences[1].startswith(
        "198.51.100.7 does not behave like a queue manager at TCP 1801 of 192.0.2.10: it sent a message "
        "before a session was open and caused LEN-ENV and SES-NAKED, "
    )
    assert answer.attention == "medium"
    (marked,) = answer.facts["no_peers"]
    assert (marked["port"], marked["client"], marked["server"]) == (1801, "198.51.100.7", "192.0.2.10")
    assert answer_view(answer)["facts"]["no_peers"] == [marked]


def test_a_host_without_a_session_is_marked_too(reported: Callable[..., dict[int, Answer]]) -> None:
    answer = reported({"at": 0.0, "do": "connect"}, {"at": 0.1, "do": "message", "id": 1})[8]
    assert [one["why"] for one in answer.facts["no_peers"]] == [
        ["sent a message before a session was open", "caused SES-NAKED"]
    ]


def test_a_call_that_is_shaped_as_an_attack_marks_its_client() -> None:
    (path, *_) = sorted((FIXTURES / "findings" / "RPC-FMTLEN").glob("hit_*.pcap"))
    answer = answers(path)[8]
    assert answer.facts["no_peers"]
    assert all(any("RPC-FMTLEN" in why for why in one["why"]) for one in answer.facts["no_peers"])


def test_a_host_that_only_tried_a_port_that_others_use_is_told() -> None:
    diagnosis = Diagnosis()
    diagnosis.facts.ports[2103, "calls of qmcomm"] = PortUse(first=Moment(1, 2, None), pairs={("h", "s"): 1})
    for number, src in enumerate(("h:50000", "x:50000"), 2):
        syn = Record(id=number, type="tcp_stream", event="syn", frames=(3,), stream=0, src=src, dst="s:2103")
        diagnosis.feed(syn)
    (answer,) = diagnosis.answers(nothing(), numbers=(8,))
    assert answer.sentences == (
        "TCP 2103: calls of qmcomm; h to s; first in frame 2.",
        "TCP 2103: a connection was tried (RPC: qmcomm, qmcomm2, RemoteRead); x to s.",
    )


def test_peers_are_not_marked() -> None:
    for name in ("q08_ports", "q04_two_unacknowledged", "q12_complete"):
        answer = answers(FIXTURES / "diagnose" / f"{name}.pcap")[8]
        assert answer.facts["no_peers"] == []
        assert not any("no peer" in text for text in answer.sentences)


def test_a_slow_clock_makes_no_message_expire_that_was_acknowledged() -> None:
    found = answers(FIXTURES / "diagnose" / "q05_slow_clock.pcap")
    assert sum("was acknowledged" in text for text in found[4].sentences) == 4
    assert not any("expired:" in text for text in found[5].sentences)
    assert (
        "The clock of 192.0.2.21 is 5 days behind that of the capture: 5 of 5 messages over 4 min show it."
        in found[3].sentences
    )


def test_reports_are_counted_apart_and_tell_how_far_their_message_came() -> None:
    found = answers(FIXTURES / "findings" / "TRC-CONFLICT" / "miss_path.pcap")
    sent, acknowledged = found[3], found[4]
    assert (sent.facts["messages"], sent.facts["acknowledgments"], sent.facts["reports"]) == (1, 0, 4)
    assert sent.statements[-1].text == "4 report messages about traced messages: why shows their paths."
    assert (acknowledged.facts["acknowledged"], acknowledged.facts["never_acknowledged"]) == (1, 0)
    assert acknowledged.statements[0].text == (
        "Message a1d30c5b…\\4162 to PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000f was told to have "
        "come to queue manager c277e190… by its report message in frame 68 (5.08 s after it was sent)."
    )
    only_told = answers(FIXTURES / "findings" / "TRC-FORGED" / "miss_monitor.pcap")
    assert (only_told[3].facts["messages"], only_told[3].facts["reports"]) == (0, 4)
