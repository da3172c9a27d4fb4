"""What answers and rules say of the captures that have one cause each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import Finding, Judge
from msmq_wire.detection.diagnosis import Answer, Diagnosis
from msmq_wire.detection.diagnosis.timeline import message_steps
from msmq_wire.sessions import Story

DIGEST = Path(__file__).parents[3] / "fixtures" / "digest"


@cache
def reported(name: str) -> tuple[dict[int, Answer], Story, list[Finding]]:
    diagnosis, judge = Diagnosis(), Judge()
    found: list[Finding] = []
    for record in read_capture(DIGEST / f"{name}.pcap", streams=True):
        diagnosis.feed(record, new := judge.feed(record))
        found += new
    diagnosis.found(last := judge.finish())
    assert judge.story is not None
    return {one.number: one for one in diagnosis.answers(judge.story)}, judge.story, [*found, *last]


SAID: list[tuple[str, int, str]] = [
    (
        "poison_message",
        3,
        "2 messages for DIRECT=OS:msg01\\private$\\orders (read or sent by a call), recoverable, "
        'priority 3, 41 to 54 bytes; labels "order 900", "order 901"; 4 days allowed to reach the queue; ',
    ),
    (
        "poison_message",
        9,
        '192.0.2.40 received message 0f9a63c8…\\1301 "order 901" 9 times in transactions and '
        "acknowledged it each time, from DIRECT=OS:msg01\\private$\\orders, "
        "DIRECT=OS:msg01\\private$\\orders;retry and DIRECT=OS:msg01\\private$\\orders;later at "
        "192.0.2.10: after each but the last it was in a queue again; frames 55, 65, 75, 99, "
        "105, 119, 139, 153 and 159. For all of them see diagnose --question 15.",
    ),
    (
        "poison_message",
        9,
        "192.0.2.40 opened DIRECT=OS:msg01\\private$\\orders;poison at 192.0.2.10 in frame 167 "
        "to move messages there: 1 message came; not closed in this capture.",
    ),
    (
        "poison_message",
        9,
        "A message received in a transaction leaves its queue at the commit, which no call shows.",
    ),
    (
        "ping_scan",
        1,
        "192.0.2.66 pinged 40 hosts in 3.18 s, 192.0.2.1 first and 192.0.2.40 last, frame 63 to frame 106. "
        "An answer came from 192.0.2.10 (frame 73) and 192.0.2.11 (frame 75). ICMP says that the port of "
        "192.0.2.21 (frame 86) and 192.0.2.22 (frame 88) cannot be reached. No answer of 36 hosts was "
        "captured. It connected to none of them.",
    ),
    (
        "ping_scan",
        7,
        "192.0.2.66 pinged 40 hosts without a connection, first in frame 63: see diagnose --question 1.",
    ),
    (
        "ping_scan",
        8,
        "UDP 3527: pings; 192.0.2.21 to 192.0.2.10, 192.0.2.22 to 192.0.2.10 and 192.0.2.66 to "
        "40 hosts (not as a queue manager does, see below); ",
    ),
    (
        "ping_scan",
        8,
        "192.0.2.66 does not behave like a queue manager at UDP 3527 of 40 hosts: it pinged them and "
        "connected to none of them, first in frame 63. ",
    ),
    (
        "silent_server",
        7,
        "192.0.2.21 (queue manager 0f9a63c8… in other sessions) tried to connect to "
        "192.0.2.11:1801 (queue manager not known) 3 times, from ports 49810, 49811 and 49812, "
        "and no connection was made; first in frame 31.",
    ),
    (
        "attack_in_traffic",
        2,
        "198.51.100.66 to 192.0.2.10:1801: TCP was accepted in frame 267, and no EstablishConnection was "
        "sent, but 1 message (frame 269), which no queue manager does; ",
    ),
    (
        "attack_in_traffic",
        7,
        "198.51.100.66 (queue manager not known) connected to 192.0.2.10:1801 (queue manager "
        "6d4be2a0… in other sessions) from port 40112; ",
    ),
    (
        "hole_in_stream",
        4,
        "No OrderAck covers 3 of 9 transactional messages: 0f9a63c8…\\2008 (frame 81), "
        "0f9a63c8…\\2009 (frame 87) and 0f9a63c8…\\2010 (frame 91). A session acknowledgment "
        "says that the next host has a message, an OrderAck that its queue does.",
    ),
    (
        "hole_in_stream",
        5,
        "The capture shows no OrderAck for 3 messages from 192.0.2.21 to "
        "PRIVATE=6d4be2a0-5c17-4f3e-9b82-13f0a7c4d9e5\\0000000a: "
        "0f9a63c8…\\2008 (frame 81), 0f9a63c8…\\2009 (frame 87) and 0f9a63c8…\\2010 (frame 91). "
        "They were sent again 12 times in all. Sequence number 7 is missing before 8, and a destination "
        "accepts transactional messages in order only. For the whole stream see diagnose --question 12.",
    ),
    (
        "hole_in_stream",
        12,
        "Stream 0x6a247d8800000001 of 0f9a63c8… (192.0.2.21) to "
        "PRIVATE=6d4be2a0-5c17-4f3e-9b82-13f0a7c4d9e5\\0000000a: 9 messages, numbers 1 to 10; ",
    ),
    (
        "hole_in_stream",
        13,
        "Findings about 192.0.2.21: TXN-GAP (A gap in a transactional sequence); first in frame 81. "
        "192.0.2.21 opened 1 session and all 21 packets with messages were acknowledged. No OrderAck covers "
        "3 of its messages: see diagnose --question 12.",
    ),
    (
        "refused_invoices",
        5,
        "2 messages from 192.0.2.21 to DIRECT=OS:msg01\\private$\\invoices were refused: the sender may not "
        "write to the queue (class 0x8004): 0f9a63c8…\\2004 (sent in frame 59, reported in frame 63) and "
        "0f9a63c8…\\2008 (sent in frame 107, reported in frame 111). They asked for dead-lettering: look "
        "into the dead-letter queue of their sender. Give the sender the right to write to the queue.",
    ),
    (
        "refused_invoices",
        13,
        "192.0.2.21 opened 1 session and all 10 messages were acknowledged: it behaves like a queue "
        "manager. 2 of its messages were refused: see diagnose --question 5. ",
    ),
    (
        "payroll_purged",
        5,
        "DIRECT=OS:msg01\\private$\\payroll was purged by 192.0.2.66 in frame 125. 3 messages for it had "
        "come to 192.0.2.10 before, and no receive of them was captured: 5ab3e7f2…\\2004 (frame "
        "62), 5ab3e7f2…\\2005 (frame 66) and 5ab3e7f2…\\2006 (frame 74). The purge deleted them, unless an "
        "application had received them.",
    ),
    (
        "payroll_purged",
        13,
        "192.0.2.21, 192.0.2.22 and 192.0.2.30 opened 3 sessions and all 32 messages were acknowledged: "
        "they behave like queue managers. No finding of medium or high severity is about them.",
    ),
    (
        "attack_in_traffic",
        3,
        "1 message for DIRECT=TCP:192.0.2.10\\private$\\queuejumper from 198.51.100.66 to "
        "192.0.2.10, express, priority 3, 0 bytes; no label; 4 days allowed to reach the queue; sent "
        "2026-11-20 09:20:19Z by the sender's clock; frame 269. The sender addressed the host by IP "
        "address. A queue manager does not send such messages: see diagnose --question 13.",
    ),
    (
        "attack_in_traffic",
        4,
        "1 of 92 messages was not acknowledged in the capture: 2e5f80c7…\\1 (frame 269).",
    ),
    (
        "slow_clock",
        3,
        "8 messages for DIRECT=OS:msg01\\private$\\orders from 192.0.2.25 to 192.0.2.10, "
        "recoverable, priority 3, 52 bytes each; ",
    ),
    ("cloned_till", 4, "All 32 messages were acknowledged, 17 of 17 recoverable ones as stored."),
    (
        "cloned_till",
        13,
        "Findings about 192.0.2.24: ID-CLONE (One queue manager at several addresses); first in frame 34. ",
    ),
    (
        "silent_server",
        13,
        "192.0.2.21 opened 1 session and all 14 messages were acknowledged: it behaves like a queue "
        "manager. Nobody accepted some of its connections: see diagnose --question 2.",
    ),
    ("payroll_purged", 7, "Calls of RemoteRead: 192.0.2.66 to 192.0.2.10:2103; first in frame 109."),
]
"""Capture, question, and how a sentence of the answer begins."""
NOT_SAID: list[tuple[str, int, str]] = [
    ("poison_message", 3, "no time limit"),
    ("poison_message", 9, "taken off the queue"),
    ("poison_message", 9, "nothing was read"),
    ("ping_scan", 1, "192.0.2.66 pinged 192.0.2.1 "),
    ("hole_in_stream", 5, "Nothing did"),
    (
        "hole_in_stream",
        13,
        "192.0.2.21 opened 1 session and all 21 messages were acknowledged: it behaves like a queue manager",
    ),
    ("refused_invoices", 5, "can be refused without one"),
    ("slow_clock", 5, "can be refused without one"),
    ("slow_clock", 3, "2026-11-15 09:14:12Z to 2026-11-20"),
    ("ping_scan", 8, "192.0.2.66 to 192.0.2.1"),
    ("silent_server", 7, "connected to 192.0.2.11"),
]
"""Capture, question, and what the answer has no word of."""


@pytest.mark.parametrize(("name", "number", "text"), SAID)
def test_an_answer_says_what_the_capture_shows(name: str, number: int, text: str) -> None:
    sentences = reported(name)[0][number].sentences
    assert any(one.startswith(text) for one in sentences), sentences


@pytest.mark.parametrize(("name", "number", "text"), NOT_SAID)
def test_an_answer_says_no_more_than_that(name: str, number: int, text: str) -> None:
    answer = reported(name)[0][number]
    assert not any(text in one for one in (*answer.sentences, *answer.caveats))


@pytest.mark.parametrize(
    ("name", "caveat"),
    [
        ("hole_in_stream", "messages that were sent again (12) count each time"),
        ("payroll_purged", "messages that were brought by calls (3) count each time"),
    ],
)
def test_bodies_that_are_more_than_messages_say_why(name: str, caveat: str) -> None:
    for number in (10, 11, 18):
        assert caveat in [f"{one[:1].lower()}{one[1:]}" for one in reported(name)[0][number].caveats]


def test_what_rules_say_of_a_server_that_is_silent_and_of_a_scan() -> None:
    (silent,) = (one for one in reported("silent_server")[2] if one.rank)
    assert (silent.id, silent.severity) == ("SES-CONNECT", "medium")
    assert (
        silent.message
        == "192.0.2.21 tries to connect to 192.0.2.11:1801 3 times, and nothing answers any of 9 SYNs"
    )
    found = reported("ping_scan")[2]
    (scan,) = (one for one in found if one.rank)
    assert (scan.id, scan.severity, scan.confidence) == ("PNG-SCAN", "medium", "likely")
    assert [one.explained_by for one in found if one.id == "PNG-NOANS"] == ["PNG-SCAN"] * 38


def test_what_rules_say_of_a_level_and_of_a_length() -> None:
    (level,) = (one for one in reported("payroll_purged")[2] if one.id == "RPC-LEVEL")
    said = "R_OpenQueue is called at level NONE, which is below PKT_PRIVACY: "
    assert level.message == f"{said}the call is not encrypted or protected against change"
    (length,) = (one for one in reported("attack_in_traffic")[2] if one.id == "LEN-ENV")
    assert length.message == (
        "it claims 2,147,483,663 characters (0x8000000f), and their size in bytes overflows 32 bits: the "
        "published condition of CVE-2023-21554; 4294967326 bytes needed, 64 left before the end that "
        "PacketSize sets"
    )
    assert len(length.evidence) == 1


def test_a_message_whose_transactions_nobody_shows_is_in_its_queue() -> None:
    _, story, _ = reported("poison_message")
    lives = [one for one in story.lives if one.label == "order 901"]
    assert [(one.outcome, one.received) for one in lives] == [("delivered", None)]
    steps = [(one.what, one.detail) for one in message_steps(lives[0], story)]
    assert steps.count(("read acknowledged", "it leaves the queue when the transaction is committed")) == 9
    assert [detail for what, detail in steps if what == "moved"] == [
        f"to DIRECT=OS:msg01\\private$\\orders;{queue}" for queue in ("retry", "later", "poison")
    ]
