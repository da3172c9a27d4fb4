"""``--filter`` and ``msmq-wire filter``: what commands show of it, and how mistakes are told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.detection.filtering import all_names
from tests.cli.conftest import is_refused


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("type == user-message", "'user-message' is no value of type: did you mean 'user_message'?"),
        ("message_class == ACKRECEIVE", "MQMSG_CLASS_ACK_RECEIVE"),
        ("user_header.message_id == many", "'many' is no number"),
        ("base_header.flags.pr > high", "'high' is no number"),
        ("sent_time > someday", "is no time"),
        ("time > 2026-11-20 noon", "'n' is not expected"),
        ("delivery == recoverble", "'recoverble' is no value of delivery: did you mean 'recoverable'?"),
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
    is_refused(run("decode", capture, "--filter", expression), words)


@pytest.mark.parametrize("command", ["decode", "calls", "findings", "replay", "carve"])
def test_a_command_that_knows_no_outcome_names_those_that_do(run: Any, capture: Path, command: str) -> None:
    assert run(command, capture, "--filter", "label ~ x or outcome == refused") == (
        2,
        "",
        "msmq-wire: Invalid value for --filter: column 14 of 'label ~ x or outcome == refused': an outcome "
        "is known only at the end of a capture: messages and export filter by it "
        f"(see msmq-wire {command} --help)\n",
    )


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (
            "outcome == refusd",
            "column 12 of 'outcome == refusd': 'refusd' is no value of outcome: did you mean 'refused'?",
        ),
        (
            "outcome == lost",
            "'lost' is none of received, delivered, stored, acknowledged, unknown, expired, purged, refused",
        ),
        (
            "outcome in (purged, recieved)",
            "column 21 of 'outcome in (purged, recieved)': 'recieved' is no value of outcome: "
            "did you mean 'received'?",
        ),
        ("severity >= hihg", "'hihg' is no value of severity: did you mean 'high'?"),
        ("outcom == refused", "nothing is called 'outcom'; did you mean 'outcome'?"),
    ],
)
def test_a_word_that_is_mistyped_is_told_with_the_nearest(run: Any, expression: str, words: str) -> None:
    is_refused(run("filter", expression), words)


@pytest.mark.parametrize(
    ("expression", "ids"),
    [
        ("message_class == order_ack", [12]),
        ("message_class == MQMSG_CLASS_ORDER_ACK", [12]),
        ("delivery == transactional", [11]),
        ("type == user_message and priority == 3", [10, 13]),
        ("body_type == VT_LPWSTR", [10]),
        ("type == user_message and sent_time >= 2026-11-20 and sent_time < 2026-11-20T09:14:08Z", [10, 11]),
    ],
)
def test_columns_of_messages_are_names(run: Any, expression: str, ids: list[int]) -> None:
    demo = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"
    status, out, err = run("decode", demo, "--format", "jsonl", "--filter", expression)
    assert (status, [json.loads(line)["id"] for line in out.splitlines()]) == (0, ids)
    assert f"{len(ids)} of 13 items" in err


_ROOT = Path(__file__).resolve().parents[2]
_DEMO = _ROOT / "fixtures" / "captures" / "demo.pcap"
_CALLS = _ROOT / "fixtures" / "rpc_captures" / "rpc_none_ndr.pcap"
_PROBE = _ROOT / "fixtures" / "diagnose" / "q13_probe_and_peer.pcap"


@pytest.mark.parametrize(
    ("command", "expression", "count"),
    [
        (("messages", _DEMO), "queue matches 'ORDERS$'", 1),
        (("messages", _DEMO), "frame in (13, 14) and message_class_name == mqmsg_class_normal", 1),
        (("decode", _DEMO), "time > 2026-11-20T09:14:08.2228", 3),
        (("decode", _DEMO), "time >= 2026-11-20T09:14:08.2228 and not time == 09:15", 4),
        (("calls", _CALLS), "client == 192.0.2.0/24 and status_name == mq_ok", None),
        (("calls", _CALLS), "what ~ queue and answered and not cut", None),
    ],
)
def test_commands_show_what_matches(
    run: Any, command: tuple[str, Path], expression: str, count: int | None
) -> None:
    status, out, err = run(*command, "--format", "jsonl", "--filter", expression)
    rows = out.splitlines()
    assert status == 0
    assert f"{len(rows)} of " in err
    assert len(rows) == count if count is not None else rows


@pytest.mark.parametrize(
    ("expression", "rules"),
    [
        ("severity >= medium", ["LEN-ENV", "SES-NAKED"]),
        ("severity > medium and message ~ 'overflows 32'", ["LEN-ENV"]),
        ("severity < low", ["FLG-AH-WIRE", "FRM-OVERLAP", "FRM-WRAP32"]),
        ("rule in (len-env, FLG-AH-WIRE)", ["FLG-AH-WIRE", "LEN-ENV"]),
        ("rule matches '^frm' and src == 198.51.100.7", ["FRM-OVERLAP", "FRM-WRAP32"]),
        ("rule matches '^frm' and src == 192.0.2.99", []),
        ("severity == high and not type == user_message", []),
        ("path == srmp_envelope_header.data_length and frame == 22", ["FRM-WRAP32", "LEN-ENV"]),
        ("confidence != certain or title ~ nothing", None),
        ("evidence.offset > 0 and time ~ 2026-11-20", None),
    ],
)
def test_findings_are_filtered_by_what_they_say_and_what_their_items_are(
    run: Any, expression: str, rules: list[str] | None
) -> None:
    found = run("findings", _PROBE, "--format", "jsonl", "--filter", expression)
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert found.status == 0
    if rules is None:
        assert 0 < len(rows) < 5
    else:
        assert sorted(row["id"] for row in rows) == rules


def test_several_filters_match_one_place(run: Any) -> None:
    filters = ("--filter", "severity == high", "--filter", "frame == 22", "--filter", "rule ~ ses")
    assert len(run("findings", _PROBE, "--format", "jsonl", *filters).out.splitlines()) == 1


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("severity >= severe", "none of info, low, medium, high"),
        ("severity = high", "did you mean '=='?"),
        ("sevrity == high", "did you mean 'severity'?"),
    ],
)
def test_a_mistake_in_a_filter_of_findings_is_one_line(run: Any, expression: str, words: str) -> None:
    is_refused(run("findings", _PROBE, "--filter", expression), words)


def test_an_expression_is_told_in_words(run: Any) -> None:
    expression = (
        "type == ping or not (size > 1000 and time > 09:14) or queue matches 'a$' or label or src ~ 1.2 "
        "or via not in (tcp, rpc) or time ~ 2026-11-20 or label != x or id in (1, 2) or severity < high"
    )
    assert run("filter", expression).out.splitlines() == [
        "one of these:",
        "  type is 'ping'",
        "  not so:",
        "    all of these:",
        "      size (body_size) is more than '1000'",
        "      time is after '09:14'",
        "  queue has in it what the pattern 'a$' says, in upper or lower case",
        "  label is there, and is not empty, zero or false",
        "  src contains '1.2', in upper or lower case",
        "  via is there and none of 'tcp', 'rpc'",
        "  time is within '2026-11-20'",
        "  label is there and not 'x'",
        "  id is one of '1', '2'",
        "  severity is less than 'high'",
    ]


def test_a_mistake_in_an_expression_is_one_line(run: Any) -> None:
    is_refused(
        run("filter", "label contains order"),
        "column 7 of 'label contains order': no operator: did you mean '~'?",
    )


def test_the_help_has_every_name_with_its_kind_and_meaning(run: Any) -> None:
    text = run("filter", "--help").out
    assert run("filter").out.strip() == text.strip()
    names = [one for group in all_names().values() for one in group]
    missing = [
        one.name
        for one in names
        if not re.search(rf"^  {re.escape(one.name)} +{re.escape(one.place.shown)} +\S", text, re.MULTILINE)
    ]
    assert missing == []
    assert max(map(len, text.splitlines())) <= 80
