"""Questions 14 to 18: what is said of messages that the fixtures of their questions do not have."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from fixtures.build_frames import pcap
from fixtures.build_sessions import Script, Step
from msmq_wire import build_message
from msmq_wire.detection.diagnosis import Answer
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.inventory import Inventory, inventory
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.records.record import Record
from msmq_wire.sessions import Moment
from tests.detection.diagnosis.test_questions import answers

OPEN: Step = {"at": 0.0, "do": "open"}
FIRST: Step = {"at": 0.1, "do": "message", "id": 41, "delivery": "transactional"}
ALONE: Step = {"number": 1, "previous": 0}
STORED = {"ack_sequence_number": 1, "recoverable_msg_ack_seq_number": 1, "recoverable_msg_ack_flags": 1}


def reported(tmp_path: Path, *steps: Step) -> dict[int, Answer]:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(Script([OPEN, *steps]).scene.frames))
    return answers(path)


def acks(at: float, **header: int) -> Step:
    return {"at": at, "do": "session_ack", "from": "server", "header": header}


def test_a_transactional_message_without_an_order_ack_waits_for_its_destination(tmp_path: Path) -> None:
    late: Step = {"at": 45.0, "do": "ping", "cookie": 1}
    answer = reported(tmp_path, FIRST | {"transaction": ALONE}, acks(0.3, **STORED), late)[14]
    assert answer.sentences == (
        "192.0.2.21 has to keep 1 message for PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000a: no "
        "OrderAck covers it. The destination has to put it into its queue in order, and 192.0.2.21 sends it "
        "again until an OrderAck comes; a1d30c5b…\\41 in frame 12, 44.90 s before the capture ends.",
    )
    assert answer.attention == "low"
    assert [claim.fact for claim in answer.claims] == ["kept"]


def test_a_transactional_message_that_its_sender_may_send_again_soon_calls_for_nobody(tmp_path: Path) -> None:
    soon: Step = {"at": 39.0, "do": "ping", "cookie": 1}
    answer = reported(tmp_path, FIRST | {"transaction": ALONE}, acks(0.3, **STORED), soon)[14]
    assert answer.facts["order"] == 1
    assert answer.attention is None


def test_what_waits_for_less_than_an_acknowledgment_may_take_calls_for_nobody(tmp_path: Path) -> None:
    answer = reported(
        tmp_path, {"at": 0.1, "do": "message", "id": 1}, {"at": 5.0, "do": "ping", "cookie": 1}
    )[14]
    assert answer.posed
    assert answer.attention is None


def test_word_of_a_receipt_that_was_asked_for_and_did_not_come_is_told(tmp_path: Path) -> None:
    """FA alone makes the destination send a FinalAck, and keeps nothing with the sender."""
    asks = FIRST | {"transaction": ALONE | {"final": True}}
    order: Step = {"at": 0.5, "do": "order_ack", "from": "server", "id": 2001, "transaction": ALONE}
    answer = reported(tmp_path, asks, acks(0.3, **STORED), order)[14]
    assert answer.sentences[0].endswith(
        "left the outgoing queue of 192.0.2.21, but the acknowledgment of its receipt that was asked for "
        "was not captured; a1d30c5b…\\41 in frame 12."
    )
    assert answer.facts["asked"] == 1


def test_a_receiver_that_only_narrows_its_window_calls_for_nobody(tmp_path: Path) -> None:
    sent: Step = {"at": 0.1, "do": "message", "id": 1}
    answer = reported(tmp_path, sent, acks(0.3, ack_sequence_number=1, window_size=8))[17]
    assert answer.sentences == (
        "192.0.2.10 narrows the window of 192.0.2.21 in the session that begins in frame 1: the message in "
        "frame 12 waited 0.20 s for its acknowledgment; the window fell from 64 to 8.",
    )
    assert answer.attention == "info"


def test_what_was_never_acknowledged_is_not_called_slow(tmp_path: Path) -> None:
    sent: Step = {"at": 0.1, "do": "message", "id": 1}
    found = reported(tmp_path, sent, {"at": 60.0, "do": "ping", "cookie": 1})
    assert not found[17].posed
    assert found[4].facts["never_acknowledged"] == 1


@pytest.mark.parametrize("last", [True, False])
def test_a_transaction_that_the_capture_holds_a_part_of_says_so(tmp_path: Path, last: bool) -> None:
    steps = [
        {"at": at / 10, "do": "message", "id": 40 + at, "delivery": "transactional", "ttbr": 60}
        | {
            "transaction": {
                "number": at,
                "previous": at - 1,
                "id": 9,
                "first": at == 1,
                "last": at == 2 and last,
            }
        }
        for at in (1, 2)
    ]
    (said, _) = reported(tmp_path, *steps)[16].sentences
    assert said.startswith("2 messages of transaction 9 of a1d30c5b… (192.0.2.21) share 1 min to be received")
    assert ("; not all of it was captured" in said) is not last


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (1, "In the capture: 1 message for 1 queue; the body has 4 bytes; frame 1."),
        (
            2,
            "In the capture: 2 messages for 2 queues, in 2 rows of the table; the bodies have 8 bytes in "
            "total; first in frame 1, last in frame 2.",
        ),
    ],
)
def test_an_inventory_says_the_size_of_all_bodies(messages: int, said: str) -> None:
    sums, builder = Inventory(), AnswerBuilder()
    for number in range(1, messages + 1):
        message = build_message(f"DIRECT=OS:h\\q{number}", b"<a/>")
        record = Record(id=number, type="user_message", frames=(number,), length=0, packet=message)
        sums.feed(record, Moment(number, number, 0), None)
    inventory(sums, 0, 0, Phrases(), builder)
    assert builder.statements[0].text == said


def test_an_inventory_keeps_so_many_rows_and_counts_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("msmq_wire.detection.diagnosis.inventory"), "_MOST_ROWS", 4)
    sums, builder = Inventory(), AnswerBuilder()
    for number in range(1, 8):
        message = build_message(f"DIRECT=OS:h\\q{number}", b"<a/>")
        record = Record(id=number, type="user_message", frames=(number,), length=0, packet=message)
        sums.feed(record, Moment(1, 1, 0), None, (Moment(2, 2, 0), 1000 * number, 10, 4, 6))
    inventory(sums, 2, 3, Phrases(), builder)
    rows = builder.facts["rows"]
    assert [(row["queue"], row["messages"]) for row in rows] == [
        (f"DIRECT=OS:h\\q{number}", 1000 * number) for number in (4, 3, 2, 1)
    ]
    assert (builder.facts["left_out"], builder.facts["messages"]) == (18_000, 28_000)
    assert builder.caveats == [
        "18,000 messages of further kinds are not in the table",
        "messages that were sent again (2) and brought by calls (3) count each time",
    ]
