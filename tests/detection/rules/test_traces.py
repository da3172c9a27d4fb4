"""TRC: what reports contradict, and what they must not be blamed for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fixtures.build_findings_traces import (
    MONITOR,
    OTHER,
    ROUTER,
    SOURCE,
    TARGET,
    Sent,
    report,
    scene_of,
    traced,
)
from fixtures.build_frames import pcap
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import RULES, Finding, judge
from msmq_wire.records.record import Record
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID
from tests.sessions import reports as by_hand

_A, _B, _C, _X = (str(one.guid) for one in (SOURCE, ROUTER, TARGET, OTHER))
_NAME = f"{_A}\\4162"
_BETWEEN = f"reports about message {_NAME} contradict each other: "
_FORGED = "a report message looks forged: "


def _judged(rule: str, tmp_path: Path, *packets: Sent, drop: Sequence[int] = ()) -> list[Finding]:
    """The findings of a rule in a capture of packets, without some of its frames."""
    frames = [one for number, one in enumerate(scene_of(*packets)().frames, 1) if number not in drop]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(frames))
    return list(judge(read_capture(path, streams=True), {rule: RULES[rule]}))


def _said(rule: str, records: Sequence[Record]) -> list[str]:
    return [one.message for one in judge(records, {rule: RULES[rule]})]


def _reports(*told: tuple[GUID, int, str], queue: str = by_hand.QUEUE) -> list[UserMessage]:
    """Reports: who tells, the hop count, and the next hop of one that sent the message."""
    packets = []
    for number, (who, hops, next_hop) in enumerate(told, 9001):
        body = f"<MESSAGE ID>00001042</MESSAGE ID>\r\n<TARGET QUEUE>{queue}</TARGET QUEUE>\r\n"
        if next_hop:
            body += f"<NEXT HOP>{next_hop}</NEXT HOP>\r\n<HOP COUNT>{hops:02X} </HOP COUNT>\r\n"
        label = f"A1D3:00001042:{hops:02X} {by_hand.BY_SOURCE}:08 AM Fri,Nov 20 26"
        packets.append(by_hand.report(who, label, body, number))
    return packets


_SOURCE, _ROUTER, _TARGET = by_hand.SOURCE, by_hand.ROUTER, by_hand.TARGET
_SECOND = GUID.parse("e5017c3e-6b2a-4d94-8f57-3a9c1e0d4b77")


@pytest.mark.parametrize(
    ("told", "text"),
    [
        # A message without a routing server has one receiver.
        (
            ((_TARGET, 0, ""), (_SECOND, 0, "")),
            f"queue managers {_X}, {_C} all received it with hop count 0",
        ),
        # Neither is the destination, so both counted themselves.
        (
            ((_ROUTER, 1, ""), (_SECOND, 1, "")),
            f"queue managers {_B}, {_X} all received it with hop count 1",
        ),
        # Both passed it on, so neither is the destination.
        (
            ((_ROUTER, 1, ""), (_ROUTER, 1, "192.0.2.10"), (_TARGET, 1, ""), (_TARGET, 1, "192.0.2.10")),
            f"queue managers {_B}, {_C} all received it with hop count 1",
        ),
        (
            ((_SOURCE, 0, "192.0.2.66"), (_ROUTER, 1, ""), (_ROUTER, 1, "192.0.2.10")),
            f"it was sent to 192.0.2.66, and queue manager {_B} at 192.0.2.11 received it",
        ),
        (
            ((_ROUTER, 3, ""), (_ROUTER, 2, "192.0.2.10")),
            f"queue manager {_B} received it with hop count 3 and sent it on with 2",
        ),
    ],
)
def test_reports_that_cannot_all_be_true_are_a_conflict(
    told: tuple[tuple[GUID, int, str], ...], text: str
) -> None:
    assert _said("TRC-CONFLICT", by_hand.captured(*_reports(*told))) == [_BETWEEN + text]


@pytest.mark.parametrize(
    "told",
    [
        # By the letter, a routing server counts itself before it reports.
        ((_SOURCE, 0, "192.0.2.11"), (_ROUTER, 1, ""), (_ROUTER, 1, "192.0.2.10"), (_TARGET, 1, "")),
        # Or it reports the count with which the message came.
        ((_SOURCE, 0, "192.0.2.11"), (_ROUTER, 0, ""), (_ROUTER, 1, "192.0.2.10"), (_TARGET, 1, "")),
        ((_SOURCE, 0, "192.0.2.10"), (_TARGET, 0, "")),
        # What lies between is lost.
        ((_SOURCE, 0, "192.0.2.11"), (_TARGET, 1, "")),
        ((_ROUTER, 1, ""), (_TARGET, 1, "")),
        ((_SOURCE, 0, "192.0.2.11"), (_TARGET, 3, "")),
        # Sent again over another routing server: the destination is not among those that are known.
        (
            (_SOURCE, 0, "192.0.2.66"),
            (_SOURCE, 0, "192.0.2.11"),
            (_ROUTER, 1, ""),
            (_ROUTER, 1, "192.0.2.10"),
        ),
        ((_ROUTER, 1, ""), (_ROUTER, 1, "")),
    ],
)
def test_reports_that_can_all_be_true_are_no_conflict(told: tuple[tuple[GUID, int, str], ...]) -> None:
    assert _said("TRC-CONFLICT", by_hand.captured(*_reports(*told))) == []
    assert _said("TRC-CONFLICT", by_hand.captured(*reversed(_reports(*told)))) == []


def test_a_report_about_another_queue_contradicts_the_message_and_other_reports() -> None:
    other = by_hand.QUEUE[:-1] + "e"
    packets = _reports((_ROUTER, 1, ""), queue=other)
    assert _said("TRC-CONFLICT", by_hand.captured(*packets)) == [
        f"{_BETWEEN}queue manager {_B} names {other}, the captured message is for {by_hand.QUEUE}"
    ]
    both = [*_reports((_ROUTER, 1, "")), *_reports((_TARGET, 1, ""), queue=other)]
    assert _said("TRC-CONFLICT", by_hand.captured(*both, message=False)) == [
        f"{_BETWEEN}queue manager {_C} names {other}, another report says it is for {by_hand.QUEUE}"
    ]


@pytest.mark.parametrize(
    "queue",
    [
        by_hand.QUEUE.lower(),
        # No section says how many digits the number of a private queue has, or whether a GUID has braces.
        by_hand.QUEUE.replace("\\0000000f", "\\f"),
        f"PRIVATE={{{by_hand.QUEUE[8:44].upper()}}}\\0000000F",
    ],
)
def test_the_same_queue_written_otherwise_is_no_conflict(queue: str) -> None:
    assert queue != by_hand.QUEUE
    assert _said("TRC-CONFLICT", by_hand.captured(*_reports((_ROUTER, 1, ""), queue=queue))) == []


def test_reports_that_fit_two_messages_contradict_nothing() -> None:
    twin = GUID.parse("a1d3ffff-247e-4f45-9a31-c5d20e6f7788")
    labels = (f"A1D3:00001042:00 received by {one} at 09:14:08 AM Fri,Nov 20 26" for one in (_B, _X))
    packets = [
        by_hand.report(who, label, by_hand.RECEIVED_BODY, number)
        for number, (who, label) in enumerate(zip((_ROUTER, _SECOND), labels, strict=True), 9001)
    ]
    first = [
        by_hand.sent(by_hand.traced(), 1),
        by_hand.sent(by_hand.traced(source=twin), 2, src="192.0.2.22"),
    ]
    records = [*first, *(by_hand.sent(packet, number) for number, packet in enumerate(packets, 3))]
    assert _said("TRC-CONFLICT", records) == []


_ASKED = Sent(SOURCE, ROUTER, traced())
_OTHER_MESSAGE = Sent(SOURCE, ROUTER, traced(number=7))
_TELLS = Sent(SOURCE, MONITOR, report(SOURCE, 0, ROUTER.address))


def test_a_message_that_no_captured_connection_carried_makes_its_report_look_forged(tmp_path: Path) -> None:
    (finding,) = _judged("TRC-FORGED", tmp_path, _OTHER_MESSAGE, _TELLS)
    assert finding.message == (
        f"{_FORGED}queue manager {_A} says that it sent message a1d3\\4162 to 192.0.2.11, and no connection "
        "between 192.0.2.21 and 192.0.2.11 carried it"
    )
    assert (finding.severity, finding.confidence) == ("medium", "likely")
    assert [place.frames for place in finding.evidence] == [(20,), (1,)]


def test_a_queue_manager_that_received_a_message_from_its_source_shares_a_connection_with_it(
    tmp_path: Path,
) -> None:
    received = Sent(ROUTER, MONITOR, report(ROUTER, 0))
    (finding,) = _judged("TRC-FORGED", tmp_path, _OTHER_MESSAGE, received)
    assert finding.message == (
        f"{_FORGED}queue manager {_B} says that it received message a1d3\\4162, and no connection between "
        "192.0.2.21 and 192.0.2.11 carried it"
    )
    # With hop count 1 it may be the destination, behind a routing server, unless it passed the message on.
    counted = Sent(ROUTER, MONITOR, report(ROUTER, 1))
    assert _judged("TRC-FORGED", tmp_path, _OTHER_MESSAGE, counted) == []
    passed_on = Sent(ROUTER, MONITOR, report(ROUTER, 1, TARGET.address))
    (finding,) = _judged("TRC-FORGED", tmp_path, _OTHER_MESSAGE, counted, passed_on)
    assert "says that it received message a1d3" in finding.message


@pytest.mark.parametrize("drop", [(1, 2, 3), (4,), (8,), (2, 5, 7, 9, 11)])
def test_nothing_is_said_of_a_connection_that_was_not_captured_whole(
    tmp_path: Path, drop: tuple[int, ...]
) -> None:
    assert _judged("TRC-FORGED", tmp_path, _OTHER_MESSAGE, _TELLS, drop=drop) == []


def test_nothing_is_said_of_hosts_between_which_no_connection_was_captured(tmp_path: Path) -> None:
    elsewhere = Sent(SOURCE, TARGET, traced(number=7))
    assert _judged("TRC-FORGED", tmp_path, elsewhere, _TELLS) == []


def test_nothing_is_said_of_a_message_that_was_sent_before_the_capture(tmp_path: Path) -> None:
    early = bytearray(_TELLS.data)
    at = 16 + 32 + 4
    early[at : at + 4] = (int.from_bytes(early[at : at + 4], "little") - 60).to_bytes(4, "little")
    assert _judged("TRC-FORGED", tmp_path, _OTHER_MESSAGE, _TELLS._replace(data=bytes(early))) == []


def test_a_report_in_the_name_of_a_queue_manager_at_another_address_looks_forged(tmp_path: Path) -> None:
    (finding,) = _judged("TRC-FORGED", tmp_path, _ASKED, Sent(OTHER, MONITOR, report(ROUTER, 1)))
    assert finding.message == (
        f"{_FORGED}192.0.2.66 sent it in the name of queue manager {_B}, which is at 192.0.2.11"
    )


def test_a_report_that_a_routing_server_passed_on_comes_from_another_address(tmp_path: Path) -> None:
    passed_on = Sent(OTHER, MONITOR, report(ROUTER, 1, flags=1))
    assert _judged("TRC-FORGED", tmp_path, _ASKED, passed_on) == []


def test_a_queue_manager_of_which_no_session_was_captured_may_be_anywhere(tmp_path: Path) -> None:
    assert _judged("TRC-FORGED", tmp_path, _ASKED, Sent(OTHER, MONITOR, report(TARGET, 1))) == []


def test_a_report_about_a_message_that_did_not_ask_looks_forged(tmp_path: Path) -> None:
    silent = Sent(SOURCE, ROUTER, traced(asks=False))
    (finding,) = _judged("TRC-FORGED", tmp_path, silent, Sent(ROUTER, MONITOR, report(ROUTER, 1)))
    assert finding.message == (
        f"{_FORGED}message {_NAME} does not ask for reports: TR is not set in its packet"
    )
    assert [place.frames for place in finding.evidence] == [(20,), (8,)]


@pytest.mark.parametrize(
    ("packet", "texts"),
    [
        ({"hops": 29}, []),
        ({"hops": 30}, ["its hop count is 30, and no message passes more than 29 hops"]),
        ({"body_number": 7}, ["label and body differ in the message identifier"]),
        ({"flags": 1 << 5}, ["it is not express"]),
        ({"base_flags": 1 << 8 | 1 << 5}, ["it asks for reports itself"]),
        (
            {"hops": 31, "flags": 1 << 5},
            ["it is not express, its hop count is 31, and no message passes more than 29 hops"],
        ),
    ],
)
def test_a_report_that_breaks_the_rule_of_its_text_looks_forged(
    tmp_path: Path, packet: dict[str, int], texts: list[str]
) -> None:
    data = report(ROUTER, **{"hops": 1, **packet})  # type: ignore[arg-type]  # fields by name
    found = _judged("TRC-FORM", tmp_path, Sent(ROUTER, MONITOR, data))
    assert [one.message for one in found] == [_FORGED + text for text in texts]


def test_a_label_and_a_body_with_different_hop_counts_look_forged() -> None:
    who, label, body = by_hand.PATH[2]
    packet = by_hand.report(who, label, body.replace("01 </HOP", "02 </HOP"))
    assert _said("TRC-FORM", [by_hand.sent(packet, 1)]) == [
        f"{_FORGED}label and body differ in the hop count"
    ]


def test_another_text_of_the_class_breaks_no_rule_of_reports() -> None:
    packet = by_hand.report(_ROUTER, "order 4162", "an order")
    assert _said("TRC-FORM", [by_hand.sent(packet, 1)]) == []
    ordinary = by_hand.report(_ROUTER, by_hand.PATH[1][1].replace(":01 ", ":1F "), "", message_class=0)
    assert _said("TRC-FORM", [by_hand.sent(ordinary, 1)]) == []
