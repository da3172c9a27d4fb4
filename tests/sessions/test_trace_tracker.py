"""Report messages as steps in the life of the message that they are about. [MS-MQQB] 1.3.6"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from msmq_wire.records.record import Record
from msmq_wire.sessions import MessageLife, Story, StoryFollower, follow
from msmq_wire.wire.types.guid import GUID
from tests.sessions.reports import (
    BY_SOURCE,
    PATH,
    QUEUE,
    RECEIVED_BODY,
    ROUTER,
    SOURCE,
    TARGET,
    captured,
    report,
    reports,
    sent,
    traced,
)

_MESSAGE = f"{SOURCE}\\4162"
_TWIN = GUID.parse("a1d3ffff-247e-4f45-9a31-c5d20e6f7788")
"""A queue manager with the same first four digits."""
_SAID = (
    f"sent by queue manager {SOURCE} to 192.0.2.11 at 09:14:07 UTC, hop 0",
    f"received by queue manager {ROUTER} at 09:14:08 UTC, hop 1",
    f"sent by queue manager {ROUTER} to 192.0.2.10 at 09:14:09 UTC, hop 1",
    f"received by queue manager {TARGET} at 09:14:10 UTC, hop 1",
)


def _life(story: Story, name: str = _MESSAGE) -> MessageLife:
    life = story.lives.by_id(name)
    assert life is not None
    return life


def _said(life: MessageLife) -> list[str]:
    return [one.said for one in life.reports]


def test_four_reports_tell_the_path_over_one_routing_server() -> None:
    life = _life(follow(captured(*reports(0, 1, 2, 3))))
    assert _said(life) == list(_SAID)
    assert all(one.sure for one in life.reports)
    assert (life.traced, life.via, life.outcome) == (True, "tcp", "acknowledged")
    assert life.reason == f"queue manager {TARGET} says in a report message that it received it"
    assert life.evidence == (1, 5)


def test_a_step_has_the_queue_the_clock_and_the_packet_of_its_report() -> None:
    step = _life(follow(captured(*reports(2)))).reports[0]
    assert (step.kind, step.queue_manager, step.hops, step.next_hop) == ("sent", ROUTER, 1, "192.0.2.10")
    assert (step.qm_id, step.number, step.target, step.computer) == ("a1d3", 4162, QUEUE, SOURCE)
    assert (step.sent_time, step.label_time) == (1_795_166_049, "09:14:09 AM Fri,Nov 20 26")
    assert (step.at.frame, step.src, step.dst) == (2, "192.0.2.11:49152", "192.0.2.30:1801")
    assert (step.report_id, step.routed) == (f"{ROUTER}\\9003", 0)


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("192.0.2.11", "192.0.2.11"),
        ("2001:DB8:0:0:0:0:0:11", "2001:db8::11"),
        ("[2001:db8::11]", "2001:db8::11"),
        ("router", "router"),
    ],
)
def test_a_next_hop_is_written_as_the_ends_of_connections_are(written: str, address: str) -> None:
    who, label, body = PATH[0]
    life = _life(follow(captured(report(who, label, body.replace("192.0.2.11", written)))))
    assert life.reports[0].next_hop == address


def test_a_report_of_another_day_than_its_capture_has_the_date() -> None:
    who, label, body = PATH[1]
    life = _life(follow(captured(report(who, label, body, sent_time=1_795_079_648))))
    assert _said(life) == [f"received by queue manager {ROUTER} at 2026-11-19 09:14:08 UTC, hop 1"]


@pytest.mark.parametrize("order", [(3, 2, 1, 0), (1, 0, 3, 2), (2, 3, 0, 1)])
def test_the_order_in_which_reports_come_changes_no_outcome(order: tuple[int, ...]) -> None:
    life = _life(follow(captured(*reports(*order))))
    assert _said(life) == [_SAID[place] for place in order]
    assert life.reason == f"queue manager {TARGET} says in a report message that it received it"


def test_reports_that_come_before_their_message_are_steps_of_it() -> None:
    first = [sent(packet, 1 + place) for place, packet in enumerate(reports(1, 0))]
    life = _life(follow([*first, sent(traced(), 3, dst="192.0.2.11")]))
    assert (life.via, life.first.record) == ("tcp", 3)
    assert _said(life) == [_SAID[1], _SAID[0]]


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ((1, 2, 3), f"queue manager {TARGET} says in a report message that it received it"),
        ((0, 2, 3), f"queue manager {TARGET} says in a report message that it received it"),
        ((0, 1, 3), f"queue manager {TARGET} says in a report message that it received it"),
        ((0, 1, 2), f"queue manager {ROUTER} says in a report message that it sent it to 192.0.2.10"),
        ((0, 1), f"queue manager {ROUTER} says in a report message that it received it"),
    ],
)
def test_a_lost_report_takes_no_more_than_its_own_step(kept: tuple[int, ...], reason: str) -> None:
    life = _life(follow(captured(*reports(*kept))))
    assert _said(life) == [_SAID[place] for place in kept]
    assert (life.outcome, life.reason) == ("acknowledged", reason)


def test_that_its_source_sent_a_message_does_not_show_that_it_arrived() -> None:
    life = _life(follow(captured(*reports(0))))
    assert life.outcome == "unknown"
    assert life.reason == (
        "its queue manager says in a report message that it sent it to 192.0.2.11, and nothing that was "
        "captured acknowledges it"
    )


def test_a_report_packet_that_comes_twice_is_one_step() -> None:
    story = follow([*captured(*reports(1)), sent(reports(1)[0], 3), sent(reports(1)[0], 4, src="192.0.2.77")])
    assert _said(_life(story)) == [_SAID[1]]


def test_two_reports_that_say_the_same_are_two_steps() -> None:
    who, label, body = PATH[1]
    again = report(who, label, body, 9999, sent_time=1_795_166_048)
    life = _life(follow(captured(*reports(1), again)))
    assert _said(life) == [_SAID[1], _SAID[1]]


def test_the_report_names_who_sent_it_whatever_its_label_says() -> None:
    by_reporter = str(ROUTER).upper()
    label = f"A1D3:00001042:01 received by {by_reporter} at 09:14:08 AM Fri,Nov 20 26"
    for text in (PATH[1][1], label):
        life = _life(follow(captured(report(ROUTER, text, RECEIVED_BODY))))
        assert [(one.kind, one.queue_manager, one.sure) for one in life.reports] == [
            ("received", ROUTER, True)
        ]


def test_a_report_is_evidence_about_its_message_and_says_so() -> None:
    life = _life(follow(captured(*reports(1))), f"{ROUTER}\\9002")
    assert (life.reports_on, life.about, life.reports) == ((_MESSAGE,), (_MESSAGE,), ())


def test_digits_that_fit_two_messages_make_reports_doubtful() -> None:
    label = f"A1D3:00001042:01 received by {str(ROUTER).upper()} at 09:14:08 AM Fri,Nov 20 26"
    records = [
        sent(traced(), 1, dst="192.0.2.11"),
        sent(traced(source=_TWIN), 2, src="192.0.2.22", dst="192.0.2.11"),
        sent(report(ROUTER, label, RECEIVED_BODY), 3),
    ]
    story = follow(records)
    for name in (_MESSAGE, f"{_TWIN}\\4162"):
        life = _life(story, name)
        assert [(one.queue_manager, one.sure) for one in life.reports] == [(ROUTER, False)]
        assert life.outcome == "unknown"
    assert _life(story, f"{ROUTER}\\9001").reports_on == (_MESSAGE, f"{_TWIN}\\4162")


def test_a_label_that_names_the_source_tells_two_messages_apart() -> None:
    records = [
        sent(traced(), 1, dst="192.0.2.11"),
        sent(traced(source=_TWIN), 2, src="192.0.2.22", dst="192.0.2.11"),
        *(sent(packet, 3 + place) for place, packet in enumerate(reports(0, 1))),
    ]
    story = follow(records)
    assert _said(_life(story)) == [_SAID[0], _SAID[1]]
    assert all(one.sure for one in _life(story).reports)
    assert _life(story, f"{_TWIN}\\4162").reports == ()


def test_a_message_that_only_reports_tell_of_has_a_life() -> None:
    story = follow(captured(*reports(3, 1), message=False))
    life = _life(story)
    assert (life.via, life.src, life.dst, life.label, life.size) == ("report", "", "", None, None)
    assert (life.queue, life.queue_manager, life.traced) == (QUEUE, SOURCE, True)
    assert _said(life) == [_SAID[3], _SAID[1]]
    assert life.outcome == "acknowledged"
    assert [one.message_id for one in story.lives] == [f"{TARGET}\\9004", _MESSAGE, f"{ROUTER}\\9002"]


def test_a_message_of_which_reports_tell_four_digits_only_is_called_by_these() -> None:
    label = f"A1D3:00001042:01 received by {str(ROUTER).upper()} at 09:14:08 AM Fri,Nov 20 26"
    story = follow(captured(report(ROUTER, label, RECEIVED_BODY), message=False))
    life = _life(story, "a1d3\\4162")
    assert (life.via, life.queue_manager) == ("report", None)
    assert [one.queue_manager for one in life.reports] == [ROUTER]
    assert _life(story, f"{ROUTER}\\9001").reports_on == ("a1d3\\4162",)


def test_a_message_that_does_not_ask_for_reports_gets_none() -> None:
    records = [sent(traced(report_queue=None), 1, dst="192.0.2.11"), sent(reports(1)[0], 2)]
    story = follow(records)
    assert (_life(story).reports, _life(story).traced) == ((), False)
    assert [one.steps[0].said for one in story.traces] == [_SAID[1]]


@pytest.mark.parametrize(
    ("label", "body"),
    [
        ("order 4162", RECEIVED_BODY),
        (PATH[1][1], "an order"),
        ("Report Message Conflict", RECEIVED_BODY),
    ],
)
def test_a_message_of_the_class_with_another_text_is_no_report(label: str, body: str) -> None:
    story = follow(captured(report(ROUTER, label, body)))
    assert _life(story).reports == ()
    assert _life(story, f"{ROUTER}\\9001").reports_on == ()


def test_another_class_with_the_text_of_a_report_is_no_report() -> None:
    story = follow(captured(report(*PATH[1], message_class=0)))
    assert _life(story).reports == ()


def test_a_stronger_acknowledgment_outweighs_a_report() -> None:
    correlation = SOURCE + (4162).to_bytes(4, "little")
    ack = traced(report_queue=None, source=TARGET, number=7, message_class=2, correlation_id=correlation)
    life = _life(follow([*captured(*reports(3)), sent(ack, 9)]))
    assert life.outcome == "delivered"
    assert _said(life) == [_SAID[3]]


def _stories(records: Sequence[Record], budget: int) -> tuple[Story, int]:
    follower = StoryFollower(budget=budget)
    for record in records:
        follower.feed(record)
    return follower.finish(), follower.taken


def test_reports_take_of_the_budget_and_those_that_go_are_counted() -> None:
    bodies = (RECEIVED_BODY.replace("00001042", f"{number:08X}") for number in range(200))
    labels = (f"A1D3:{number:08X}:01 {BY_SOURCE}:08 AM Fri,Nov 20 26" for number in range(200))
    packets = [
        report(ROUTER, label, body, number)
        for number, (label, body) in enumerate(zip(labels, bodies, strict=True), 1)
    ]
    story, taken = _stories([sent(packet, number) for number, packet in enumerate(packets, 1)], 60_000)
    assert taken <= 60_000
    assert story.left_out.reports > 0
    assert len(story.traces) + story.left_out.reports == 200


def test_at_most_64_reports_about_a_message_are_kept() -> None:
    packets = [report(ROUTER, PATH[1][1], RECEIVED_BODY, number) for number in range(1, 100)]
    (trace,) = follow([sent(packet, number) for number, packet in enumerate(packets, 1)]).traces
    assert len(trace.steps) == 64


def test_a_report_is_routed_by_its_own_hop_count() -> None:
    packet = report(*PATH[1])
    user = msgspec.structs.replace(packet.user_header, flags=packet.user_header.flags | 2)
    packet = msgspec.structs.replace(packet, user_header=user)
    assert _life(follow(captured(packet))).reports[0].routed == 2
