"""``msmq-wire diagnose``: what it answers, on captures that pose a question and on some that do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.build_diagnose import SCENES, build
from msmq_wire.cli.render.answer_text import AnswerText
from msmq_wire.cli.render.screen import Screen
from msmq_wire.detection.diagnosis import QUESTIONS
from tests.effort import share
from tests.schemas import schema_of

Run = Callable[..., Any]

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "diagnose"

ANSWERS: dict[str, tuple[str, ...]] = {
    "q01_ping_answered": (
        "1. What are the pings on UDP 3527?",
        "192.0.2.21 pinged 192.0.2.10 in frame 1; the answer in frame 2 (0.01 s later) says "
        "that it accepts connections. The connection to port 1801 began in frame 3, 0.01 s "
        "after the answer.",
    ),
    "q01_ping_unanswered": (
        "1. What are the pings on UDP 3527?",
        "192.0.2.21 pinged 192.0.2.10 in frame 1; no answer was captured. No connection followed it.",
        "192.0.2.21 pinged 192.0.2.10 in frame 2; no answer was captured. The connection to "
        "port 1801 began in frame 3, 3.00 s after the request.",
        "A ping without an answer is usual: Windows from Vista and Server 2008 on does not "
        "answer pings unless EnablePingService is set, and messages do not need them.",
    ),
    "q02_no_answer": (
        "2. Did every connection to port 1801 get its answer?  [look here: medium]",
        "192.0.2.21 to 192.0.2.10:1801: a reset in frame 2 answered the SYN in frame 1.",
        "192.0.2.21 to 192.0.2.10:1801: nothing answered the SYN in frame 3, sent 1 time more.",
        "192.0.2.21 to 192.0.2.10:1801: nothing answered EstablishConnection in frame 8; the "
        "client closed it in frame 10 (1 min later).",
        "192.0.2.21 to 192.0.2.10:1801: the queue manager refused the session in frame 18 (CS "
        "is set); the server closed it in frame 20 (0.20 s later).",
        "A reset to a SYN comes from a host where nothing listens on the port, or from a firewall.",
        "Silence to a SYN comes from a firewall that drops it, or from a host that is off.",
        "TCP was answered, so the port is open; the queue manager behind it said nothing.",
        "CS is the refusal of the queue manager: a wrong ServerGuid or a limit on sessions.",
    ),
    "q02_offline": (
        "2. Did every connection to port 1801 get its answer?  [look here: medium]",
        "192.0.2.10 says in frame 7 that its last attempt to connect for DIRECT=OS:far\\private$\\bills to "
        "198.51.100.9, at 2026-11-20 09:13:37Z, failed: socket connect failure.",
        "192.0.2.10 says in frame 11 that it is DISCONNECTED: an administrator took it offline.",
        "192.0.2.21 told 192.0.2.10 in frame 9 to DISCONNECT.",
    ),
    "q03_what_was_sent": (
        "3. What was sent, to which queues?",
        "12 messages for DIRECT=OS:msg01\\private$\\orders from 192.0.2.21 to 192.0.2.10, "
        'express, priority 3, 15 to 16 bytes; labels "order 1", "order 2", "order 3" and '
        "others; no time limit; sent 2026-11-20 09:14:07Z by the sender's clock; first "
        "frame 12, last frame 23. The sender addressed the host by computer name.",
        "1 message for DIRECT=OS:msg01\\private$\\orders from 192.0.2.21 to 192.0.2.10, "
        'recoverable, priority 3, 16 bytes; label "order 13"; 4 days allowed to reach the queue; '
        "sent 2026-11-20 09:14:07Z by the sender's clock; frame 24. The sender addressed the "
        "host by computer name.",
        "1 message for DIRECT=TCP:192.0.2.10\\private$\\invoices from 192.0.2.21 to "
        '192.0.2.10, express, priority 5, 10 bytes; label "invoice 7"; 1 h allowed to be received; '
        "sent 2026-11-20 09:14:07Z by the sender's clock; frame 25. The sender addressed the "
        "host by IP address.",
    ),
    "q04_two_unacknowledged": (
        "4. Which messages were acknowledged and stored?  [look here: medium]",
        "Message a1d30c5b…\\4161 to DIRECT=OS:msg01\\private$\\orders was acknowledged "
        "and reported as stored in frame 18 (0.25 s after it was sent).",
        "Message a1d30c5b…\\4162 to DIRECT=OS:msg01\\private$\\orders was acknowledged "
        "and reported as stored in frame 18 (0.15 s after it was sent).",
        "Message a1d30c5b…\\4163 to DIRECT=OS:msg01\\private$\\orders was acknowledged in "
        "frame 18 (0.05 s after it was sent).",
        "2 of 5 messages were not acknowledged in the capture: a1d30c5b…\\4164 (frame 20) and "
        "a1d30c5b…\\4165 (frame 22).",
    ),
    "q05_vanished": (
        "5. What became of messages that vanished?  [look here: medium]",
        "Message a1d30c5b…\\4170 to DIRECT=OS:msg01\\private$\\order was refused: the "
        "destination queue does not exist (class 0x8000, frame 15); sent in frame 12. It asked "
        "for dead-lettering: look into the dead-letter queue of its sender. Create the queue, or "
        "correct its name at the sender.",
        "Message a1d30c5b…\\4171 to DIRECT=OS:msg01\\private$\\orders expired: its time "
        "to reach the queue passed without an acknowledgment; sent in frame 16.",
        "But: Current Windows does not send nacks 0x8000, 0x8004, 0x8006, 0x8007 and 0x800B by default: a "
        "message can be refused without one.",
    ),
    "q05_slow_clock": (
        "5. What became of messages that vanished?  [look: low]",
        "5 messages from 192.0.2.21, first a1d30c5b…\\4181 in frame 12, looked expired when sent: 5 days "
        "old by SentTime, with 4 days to live. The clock of 192.0.2.21 is 5 days behind that of the "
        "capture: by that clock they were in time.",
        "The capture does not show what became of message a1d30c5b…\\4185 to "
        "DIRECT=OS:msg01\\private$\\orders, sent in frame 28; the capture ends before an acknowledgment. It "
        "names no administration queue for acknowledgments, so nobody is told.",
        "But: Current Windows does not send nacks 0x8000, 0x8004, 0x8006, 0x8007 and 0x800B by default: a "
        "message can be refused without one.",
    ),
    "q06_cloned": (
        "6. Do two hosts share a queue manager?  [look: low]",
        "Queue manager a1d30c5b-247e-4f45-9a31-c5d20e6f7788 appears at 192.0.2.21 (frame 4) and 192.0.2.22 "
        "(frame 20).",
        "A cloned installation does this; so do a cluster, address translation, a new DHCP lease, and a "
        "host with several addresses.",
    ),
    "q07_two_interfaces": (
        "7. Which addresses did MSMQ use?",
        "192.0.2.21 (queue manager a1d30c5b…) connected to 192.0.2.10:1801 (queue manager "
        "c277e190…) from port 49731; first in frame 1.",
        "2001:db8::21 (queue manager a1d30c5b…) connected to [2001:db8::10]:1801 (queue "
        "manager c277e190…) from port 49732; first in frame 15.",
    ),
    "q08_ports": (
        "8. Which ports were used?",
        "TCP 1801: messages; 192.0.2.21 to 192.0.2.10; first in frame 3.",
        "TCP 2103: calls of RemoteRead; 192.0.2.21 to 192.0.2.10; first in frame 31.",
        "UDP 3527: pings; 192.0.2.21 to 192.0.2.10; first in frame 1.",
        "But: Only ports that carried MSMQ in this capture are listed: port 135 (RPC endpoint "
        "mapper) and HTTPS are left out.",
    ),
    "q09_pending": (
        "9. Who read which queue remotely?",
        "192.0.2.21 opened DIRECT=OS:msg01\\private$\\orders at 192.0.2.10 in frame 7: 1 "
        "receive, 1 peek; not closed in this capture.",
        '192.0.2.21 in frame 9: peeked at message a1d30c5b…\\1 "order 4711" (lookup id '
        "283686952306183) from DIRECT=OS:msg01\\private$\\orders at 192.0.2.10.",
        '192.0.2.21 in frame 11: received message a1d30c5b…\\1 "order 4711" (lookup id '
        "283686952306183) from DIRECT=OS:msg01\\private$\\orders at 192.0.2.10; nothing ended "
        "it: after five minutes the server puts the message back.",
    ),
    "q09_remote_read": (
        "9. Who read which queue remotely?",
        "192.0.2.21 opened DIRECT=OS:msg01\\private$\\orders at 192.0.2.10 in frame 7: 2 "
        "receives, 1 peek; closed in frame 17.",
        '192.0.2.21 in frame 9: peeked at message a1d30c5b…\\1 "order 4711" (lookup id '
        "283686952306183) from DIRECT=OS:msg01\\private$\\orders at 192.0.2.10.",
        '192.0.2.21 in frame 11: received message a1d30c5b…\\1 "order 4711" (lookup id '
        "283686952306183) from DIRECT=OS:msg01\\private$\\orders at 192.0.2.10; taken off the "
        "queue in frame 13.",
        "192.0.2.21 in frame 15: a receive of DIRECT=OS:msg01\\private$\\orders at 192.0.2.10 "
        "found no message, time-out 30,000 ms.",
    ),
    "q10_signed_and_sealed": (
        "10. Are bodies in clear, and who signed?",
        "2 of 3 message bodies are in clear text: whoever sees the network can read them; first in frame 12.",
        "1 of 3 message bodies is encrypted with AES-256; first in frame 16.",
        "1 of 3 messages is signed with SHA-512, signatures of 128 bytes; first frame 14. No "
        "signature was verified here.",
        "Certificates: CN=order service, O=Example.",
        "Senders named: S-1-5-21-1187215093-2906553172-724081936-1105.",
    ),
    "q11_bodies": (
        "11. What is in the bodies, and what wrote it?",
        "2 message bodies for DIRECT=OS:msg01\\private$\\orders: UTF-8 XML, 72 bytes in total, the first in "
        "frame 12.",
        "1 message body for DIRECT=OS:msg01\\private$\\orders: .NET BinaryFormatter "
        "DOJRemotingMetadata.MyServer.SendAddress, 373 bytes, in frame 16.",
        "1 message body for DIRECT=OS:msg01\\private$\\orders: UTF-16 text, 20 bytes, in frame 18.",
        "1 message body for DIRECT=OS:msg01\\private$\\orders: bytes of no known form, 20 bytes, in frame "
        "20.",
        "msmq-wire messages FILE --bodies DIR saves them.",
    ),
    "q12_complete": (
        "12. Are transactional streams complete and in order?",
        "Stream 0x6a85fd5f00000001 of a1d30c5b… (192.0.2.21) to "
        "PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000a: 3 messages, numbers 1 to 3; in order, no "
        "number is missing; OrderAcks cover all up to 3, last in frame 20.",
    ),
    "q12_gap": (
        "12. Are transactional streams complete and in order?  [look here: medium]",
        "Stream 0x6a85fd5f00000001 of a1d30c5b… (192.0.2.21) to "
        "PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000a: 3 messages, numbers 1 to 5; numbers 3 to 4 "
        "are missing before 5 in frame 16; OrderAcks cover all up to 2, last in frame 20; not covered: 5.",
        "A receiver never asks for a resend: it sends no OrderAck, and the sender sends again what no "
        "OrderAck covers.",
    ),
    "q13_probe_and_peer": (
        "13. A peer, a scan or an exploit?  [look here first: high]",
        "Findings about 198.51.100.7: LEN-ENV (SRMP envelope longer than its packet) and SES-NAKED (A "
        "message without a session); first in frame 22. 198.51.100.7 sent a message before a session was "
        "open. It matches the published condition of CVE-2023-21554.",
        "192.0.2.21 opened 1 session and the one message was acknowledged: it behaves like a queue manager. "
        "No finding of medium or high severity is about it.",
    ),
    "q14_held": (
        "14. Received or only stored, and what waits at its sender?  [look here: medium]",
        "192.0.2.10 tells 192.0.2.21 in frame 13 about DIRECT=OS:far\\private$\\bills: 17 messages of 4.2 "
        "KB (3 in frame 7); ONHOLD: it was paused; the last OrderAck covers number 12 of sequence 5; 17 "
        "messages without an OrderAck, from number 13.",
        "192.0.2.10 tells 192.0.2.21 in frame 15 about all its queues: 4.8 MB.",
        "192.0.2.21 told 192.0.2.10 in frame 11 to PAUSE DIRECT=OS:far\\private$\\bills.",
    ),
    "q14_kept": (
        "14. Received or only stored, and what waits at its sender?  [look: low]",
        "192.0.2.21 has to keep 1 message for DIRECT=OS:msg01\\private$\\orders: the capture shows no "
        "session acknowledgment for it. Unless 192.0.2.10 acknowledges it, 192.0.2.21 sends it again in the "
        "next session; a1d30c5b…\\51 in frame 20, 1 min before the capture ends.",
        "192.0.2.21 has to keep 1 message for DIRECT=OS:msg01\\private$\\orders: it is acknowledged, but the "
        "capture does not show that 192.0.2.10 stored it on disk. 192.0.2.10 has to store it and to confirm "
        "that; a1d30c5b…\\50 in "
        "frame 18, 1 min before the capture ends.",
        "192.0.2.21 keeps its copies of 2 messages for "
        "PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000a: they ask for dead-lettering (JN), and the "
        "capture shows no FinalAck, which would say that they left that queue. They reached it (OrderAck): "
        "now an application has to receive them; first a1d30c5b…\\42 in frame 14, 1 min before the capture "
        "ends.",
        "1 message for PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000a was received: a FinalAck shows "
        "it in frame 26.",
    ),
    "q14_purged": (
        "14. Received or only stored, and what waits at its sender?  [look: low]",
        "1 message for PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000a was received: a FinalAck shows "
        "it in frame 20. Its sender puts it into its journal.",
        "1 message for PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000a was not received: a FinalAck "
        "says in frame 22 that its queue was purged before anybody received it (class 0xc001). Its sender "
        "puts it into its transactional dead-letter queue.",
    ),
    "q14_let_go": (
        "14. Received or only stored, and what waits at its sender?",
        "No message waits at its sender, and none asks for an acknowledgment of its receipt.",
    ),
    "q15_poison": (
        "15. Is a message put back or moved again and again?  [look here: medium]",
        'Message a1d30c5b…\\1 "order 4711" (lookup id 283686952306183) in '
        "DIRECT=OS:msg01\\private$\\orders;retry at 192.0.2.10 was received 3 times and put back 3 times by "
        "192.0.2.21, first in frame 9, last in frame 17; it was moved 1 time, to "
        "DIRECT=OS:msg01\\private$\\orders;poison in frame 23. Its SubqueueHeader counts 4 failed attempts "
        "in a row (AbortCounter) and 3 moves (MoveCounter).",
        "A message that is put back is read again, until its reader removes it from the queue or moves it "
        "away.",
    ),
    "q15_counters": (
        "15. Is a message put back or moved again and again?  [look here: medium]",
        'Message a1d30c5b…\\1 "order 4711" (lookup id 283686952306183) in '
        "DIRECT=OS:msg01\\private$\\orders;retry at 192.0.2.10 was seen in frame 9. Its SubqueueHeader "
        "counts 5 failed attempts in a row (AbortCounter) and 4 moves (MoveCounter).",
        "A message that is put back is read again, until its reader removes it from the queue or moves it "
        "away.",
    ),
    "q15_read_twice": (
        "15. Is a message put back or moved again and again?",
        "No message was put back or moved again and again.",
    ),
    "q16_shared_time": (
        "16. Do messages of a transaction share a time to be received?  [look here: medium]",
        "3 messages of transaction 7 of a1d30c5b… (192.0.2.21) share 1 min to be received, until 2026-11-20 "
        "09:15:07Z by the sender's clock; 2 of them were not received in time; first frame 12, last frame "
        "16.",
        "MSMQ is reported to give all messages of a transaction the time of the first: packets show that "
        "one time, and not what the application set on each.",
    ),
    "q16_own_times": (
        "16. Do messages of a transaction share a time to be received?",
        "No messages of one transaction share a time to be received.",
    ),
    "q16_different_times": (
        "16. Do messages of a transaction share a time to be received?",
        "No messages of one transaction share a time to be received.",
    ),
    "q17_slow": (
        "17. Does a receiver slow its sender down?  [look: low]",
        "192.0.2.10 slows 192.0.2.21 down in the session that begins in frame 1: the message in frame 12 "
        "waited 8.90 s for its acknowledgment, where 0.50 s is agreed for recoverable messages; the window "
        "fell from 64 to 1 and was full 2 times; 1 of 6 messages had waited 9.90 s when the capture ended.",
        "A window of 1 is that of a receiver that is short of memory, or whose queue was paused.",
    ),
    "q17_patient": (
        "17. Does a receiver slow its sender down?",
        "No sender waited for its receiver longer than was agreed.",
    ),
    "q18_inventory": (
        "18. What would a migration have to carry?",
        "In the capture: 8 messages for 2 queues, in 5 rows of the table; the bodies have 220 bytes in "
        "total; first in frame 12, last in frame 26.",
        "With a response queue: 3; acknowledgments asked for: 2; journaling or dead-lettering: 0; "
        "transactional: 0; signed: 2; encrypted: 1.",
        "messages  queue                                    body         sizes     delivery     priority  "
        "asks         answers to                       protection  via",
        "3  DIRECT=OS:msg01\\private$\\orders          UTF-8 XML    36 to 40  express             3"
        "               DIRECT=OS:ws17\\private$\\replies              tcp",
        "2  DIRECT=TCP:192.0.2.10\\private$\\invoices  UTF-16 text  20        recoverable         3  "
        "PA PR NA NR                                   signed      tcp",
        "1  DIRECT=OS:msg01\\private$\\orders          UTF-8 XML    36        express             7"
        "                                                            tcp",
        "1  DIRECT=OS:msg01\\private$\\orders          encrypted    32        express             3"
        "                                                encrypted   tcp",
        "1  DIRECT=OS:msg01\\private$\\orders          none         0         express             3"
        "                                                            tcp",
    ),
    "q19_lost": (
        "19. What could the capture not see?",
        "204 bytes are missing from the capture just before frame 15, at least 1 frame.",
        "192.0.2.21:49731 to 192.0.2.10:1801 (captured for 0.40 s): 1 gap of 204 bytes between frames 12 "
        "and 15; frame 14 acknowledges bytes that were not captured.",
    ),
}
"""What is printed for the question that a capture poses: number and question, sentences, what is missing."""


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines())


@pytest.mark.parametrize("name", SCENES)
def test_each_question_is_answered_in_these_sentences(name: str, run: Run) -> None:
    outcome = run("diagnose", _CAPTURES / f"{name}.pcap", "--question", int(name[1:3]), "--quiet")
    assert _lines(outcome.out) == ANSWERS[name]
    assert (outcome.status, outcome.err) == (0, "")


def test_every_question_has_a_capture_that_poses_it() -> None:
    assert {int(name[1:3]) for name in SCENES} == set(QUESTIONS)
    assert set(ANSWERS) == set(SCENES)


def test_the_captures_are_those_that_their_script_builds() -> None:
    built = dict(build())
    assert {name: (_CAPTURES / name).read_bytes() for name in built} == built


def _numbers(text: str) -> list[int]:
    return [int(line.partition(".")[0]) for line in text.splitlines() if line[:2].strip().isdecimal()]


def test_the_cause_comes_first_and_then_the_answers_that_call_for_a_look(run: Run) -> None:
    path = _CAPTURES / "q04_two_unacknowledged.pcap"
    outcome = run("diagnose", path)
    head, cause, looked_at, more = outcome.out.splitlines()
    assert head == "What is wrong, most important first [severity, how sure, layer]"
    assert cause == (
        ' 1. [medium, likely, queue manager] 2 messages, first a1d30c5b…\\4164 "order 4164", from '
        "192.0.2.21 to DIRECT=OS:msg01\\private$\\orders: the capture shows no acknowledgment by "
        "192.0.2.10, and 192.0.2.10 reset the connection. (frames 20, 22 and 24, 2026-11-20 09:14:07Z to "
        '09:14:08Z; MSG-UNACKED; why "id 12") Look into the outgoing queue of 192.0.2.21, and check '
        "whether the messages arrived at 192.0.2.10."
    )
    assert looked_at == "    Looked at 5 messages and 1 session in 24 frames."
    assert more == "    More: 12 of 19 questions answered, 2 need a look (-v, --question N)."
    assert outcome.err == "24 frames read\n"
    head, cause, looked_at, *answers = run("diagnose", path, "-v").out.splitlines()
    # Of the others the capture shows nothing.
    assert _numbers("\n".join(answers)) == [4, 5, 2, 3, 6, 7, 8, 10, 11, 13, 14, 18]
    assert answers[0] == " 4. Which messages were acknowledged and stored?  [look here: medium]"
    assert _numbers(run("diagnose", path, "--flagged").out) == [1, 4, 5]
    assert _numbers(run("diagnose", path, "--question", 1, "--question", 4).out) == [1, 4]
    assert _numbers(run("diagnose", path, "--question", 1, "--question", 4, "--flagged").out) == [4]


def test_where_nothing_is_wrong_that_comes_first(run: Run) -> None:
    outcome = run("diagnose", _CAPTURES / "q12_complete.pcap", "--flagged")
    assert outcome.out == "Nothing wrong seen in 3 messages and 1 session in 21 frames.\n"
    outcome = run("diagnose", _CAPTURES / "q12_complete.pcap")
    assert outcome.out.splitlines()[1:] == ["    More: 12 of 19 questions answered (-v, --question N)."]


def test_json_lines_have_frames_records_and_facts(run: Run) -> None:
    outcome = run("diagnose", _CAPTURES / "q04_two_unacknowledged.pcap", "--format", "jsonl")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [row["number"] for row in rows] == [0, *QUESTIONS]
    digest, first, fourth = rows[0], rows[1], rows[4]
    assert (digest["question"], digest["posed"], digest["attention"]) == ("What is wrong?", True, "medium")
    assert digest["statements"][0]["frames"] == [20, 22, 24]
    (line,) = digest["digest"]["lines"]
    assert (line["who"], line["question"], line["count"]) == (["192.0.2.21", "192.0.2.10"], 5, 2)
    assert (fourth["posed"], fourth["attention"]) == (True, "medium")
    assert fourth["statements"][3]["frames"] == [20, 22]
    assert fourth["facts"]["never_acknowledged_ids"] == [
        "a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4164",
        "a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4165",
    ]
    assert first == {
        "number": 1,
        "question": "What are the pings on UDP 3527?",
        "posed": False,
        "attention": None,
        "statements": [{"text": "No ping in the capture.", "frames": [], "records": []}],
        "caveats": [],
        "facts": {"pings": 0, "answered": 0, "requests": 0},
        "claims": [],
    }
    assert fourth["claims"][-1] == {
        "subject": "a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4165",
        "fact": "never_acknowledged",
    }


def test_the_table_of_a_migration_is_csv_and_json_too(run: Run) -> None:
    path = _CAPTURES / "q18_inventory.pcap"
    outcome = run("diagnose", path, "--question", 18, "--format", "csv", "--quiet")
    head, first, second, *_ = outcome.out.splitlines()
    assert first == (
        "3,DIRECT=OS:msg01\\private$\\orders,UTF-8 XML,112,36,40,express,3,,,"
        "DIRECT=OS:ws17\\private$\\replies,False,False,tcp"
    )
    (answer,) = (
        json.loads(line)
        for line in run("diagnose", path, "--question", 18, "--format", "jsonl").out.splitlines()
    )
    assert list(answer["facts"]["rows"][1]) == head.split(",")
    values = answer["facts"]["rows"][1].values()
    assert ["" if one is None else str(one) for one in values] == second.split(",")


def test_a_narrow_terminal_says_what_its_table_leaves_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    outcome = run("diagnose", _CAPTURES / "q18_inventory.pcap", "--question", 18)
    assert "A wider screen shows priority, asks, answers to, protection and via, too." in outcome.out


@pytest.mark.parametrize("questions", [(), (17,), (17, 18)])
def test_csv_is_of_the_one_answer_that_has_a_table(run: Run, questions: tuple[int, ...]) -> None:
    asked = [word for number in questions for word in ("--question", number)]
    outcome = run("diagnose", _CAPTURES / "q18_inventory.pcap", "--format", "csv", *asked)
    assert (outcome.status, outcome.out) == (2, "")
    assert "--question 18" in outcome.err


@pytest.mark.slow
def test_redaction_leaves_no_host_and_no_label(run: Run) -> None:
    names = sorted(_CAPTURES.glob("*.pcap"))
    for format_ in ("text", "jsonl"):
        outcome = run("diagnose", *names, "--redact", "hosts,labels", "--format", format_)
        hosts = ("192.0.2.", "198.51.100.7", "2001:db8", "msg01", "ws17", "a1d30c5b")
        for secret in (*hosts, "order 4711", "poc"):
            assert secret not in outcome.out + outcome.err
        assert "host-1" in outcome.out


@pytest.mark.slow
def test_redaction_changes_no_verdict(run: Run) -> None:
    for path in sorted(_CAPTURES.glob("*.pcap")):
        plain, redacted = (
            [json.loads(line)["attention"] for line in run(*arguments).out.splitlines()]
            for arguments in (
                ("diagnose", path, "--format", "jsonl"),
                ("diagnose", path, "--format", "jsonl", "--redact", "hosts,labels,bodies"),
            )
        )
        assert plain == redacted


def test_frames_of_several_files_name_their_file(run: Run) -> None:
    paths = [_CAPTURES / "q09_pending.pcap", _CAPTURES / "q09_remote_read.pcap"]
    outcome = run("diagnose", *paths, "--question", 9)
    assert "in frame 7 of pending: 1 receive" in outcome.out
    assert "in frame 7 of remote_read: 2 receives" in outcome.out


@pytest.mark.slow
@pytest.mark.parametrize("width", share([40, 80, 120, 200], 4))
def test_no_line_is_wider_than_the_terminal(width: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for path in sorted(_CAPTURES.glob("*.pcap")):
        lines = run("diagnose", path, "--quiet", "-v").out.splitlines()
        assert lines
        assert [line for line in lines if len(line) > width] == []


def test_a_terminal_without_unicode_gets_plain_dots(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnswerText, "__init__", _plain)
    outcome = run("diagnose", _CAPTURES / "q04_two_unacknowledged.pcap", "--question", 4)
    assert "a1d30c5b...\\4164" in outcome.out
    assert outcome.out.isascii()


def _plain(text: AnswerText, screen: Screen) -> None:
    screen.unicode = False
    text.screen, text._first = screen, True


def test_a_file_that_is_no_capture_and_one_without_msmq_end_with_1(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a capture", encoding="utf-8")
    outcome = run("diagnose", path)
    assert (outcome.status, outcome.out) == (1, "")
    assert "notes.txt" in outcome.err
    outcome = run("diagnose", _CAPTURES.parent / "captures" / "path_no_msmq.pcap")
    assert outcome.status == 1
    assert outcome.out == "Nothing of MSMQ in 10 frames.\n"


@pytest.mark.parametrize("arguments", [["--question", "20"], ["--question", "0"], []])
def test_bad_usage_ends_with_2(arguments: list[str], run: Run) -> None:
    file = [] if not arguments else [_CAPTURES / "q12_gap.pcap"]
    assert run("diagnose", *file, *arguments).status == 2


@pytest.mark.parametrize("name", sorted(SCENES))
def test_the_rows_of_an_answer_fit_their_schema(run: Run, name: str) -> None:
    rows = [
        json.loads(line)
        for line in run("diagnose", _CAPTURES / f"{name}.pcap", "--format", "jsonl").out.splitlines()
    ]
    assert [row["number"] for row in rows] == [0, *QUESTIONS]
    assert [fault for row in rows for fault in schema_of("answer").faults(row)] == []
