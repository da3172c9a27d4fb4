"""``--filter`` and ``msmq-wire filter``: what commands show of it, and how mistakes are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("type == user-message", "'user-message' is none of com_call"),
        ("message_class == ACKRECEIVE", "MQMSG_CLASS_ACK_RECEIVE"),
        ("user_header.message_id == many", "'many' is no number"),
        ("base_header.flags.pr > high", "'high' is no number"),
        ("sent_time > someday", "is no time"),
        ("time > 2026-11-20 noon", "'n' is not expected"),
        ("delivery == fast", "none of express, recoverable, transactional"),
        ("message_class ~ letter", "contains 'letter'"),
        ("priority ~ high", "contains 'high'"),
        ("type ~ letter", "'letter' is in none of"),
        ("host == server", "no address"),
        ("src == server:1801", "no address"),
    ],
)
def test_a_value_that_nothing_can_have_is_refused(
    run: Any, capture: Path, expression: str, words: str
) -> None:
    status, out, err = run("decode", capture, "--filter", expression)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err


@pytest.mark.parametrize(
    ("expression", "ids"),
    [
        ("message_class == order_ack", [9]),
        ("message_class == MQMSG_CLASS_ORDER_ACK", [9]),
        ("delivery == transactional", [8]),
        ("type == user_message and priority == 3", [7, 10]),
        ("body_type == VT_LPWSTR", [7]),
        ("type == user_message and sent_time >= 2026-11-20 and sent_time < 2026-11-20T09:14:08Z", [7, 8]),
    ],
)
def test_columns_of_messages_are_names(run: Any, expression: str, ids: list[int]) -> None:
    demo = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"
    status, out, err = run("decode", demo, "--format", "jsonl", "--filter", expression)
    assert (status, [json.loads(line)["id"] for line in out.splitlines()]) == (0, ids)
    assert f"{len(ids)} of 13 items" in err
