"""Nothing that names a host is left in what ``--redact hosts`` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
_KEPT = {"public_queue_identifier", "distribution_list_identifier", "queue_identifier", "connector_type"}

Run = Callable[..., Any]


def guids(value: Any, name: str = "") -> set[bytes]:
    """The identifiers of queue managers in a structure, however deep."""
    if isinstance(value, GUID):
        return set() if name in _KEPT or value == NULL_GUID else {bytes(value)}
    if isinstance(value, tuple):
        return set().union(*(guids(item, name) for item in value))
    fields = (*getattr(value, "__struct_fields__", ()), *getattr(value, "INSIDE", ()))
    return set().union(*(guids(getattr(value, field), field) for field in fields))


@pytest.mark.parametrize("name", ["demo.pcap", "structures.pcapng"])
def test_no_queue_manager_and_no_address_is_left(run: Run, name: str) -> None:
    capture = _CAPTURES / name
    known = set().union(*(guids(record.packet) for record in read_capture(capture)))
    assert known
    for command in (("decode", "--format", "jsonl"), ("decode",), ("messages", "--format", "csv", "--all")):
        status, out, _ = run(command[0], capture, *command[1:], "--redact", "hosts", "-q")
        assert status == 0
        assert [str(GUID(one)) for one in known if str(GUID(one)) in out] == []
        assert re.search(r"\b192\.0\.2\.\d+:", out) is None
        assert str(_CAPTURES) not in out


def test_one_host_has_one_stand_in_in_every_row(run: Run) -> None:
    capture = _CAPTURES / "demo.pcap"
    out = run("decode", capture, "--format", "jsonl", "--redact", "hosts", "-q").out
    rows = {row["id"]: row["packet"] for row in map(json.loads, out.splitlines())}
    (final,) = [packet for packet in rows.values() if "final_ack_body" in packet]
    sender = {
        packet["user_header"]["source_queue_manager"] for packet in rows.values() if "user_header" in packet
    }
    assert final["final_ack_body"]["source_guid"] in sender


def test_the_machine_of_an_account_is_redacted_and_its_own_number_stays(run: Run) -> None:
    out = run("decode", _CAPTURES / "published.pcap", "--format", "jsonl", "--redact", "hosts", "-q").out
    assert "3181267629" not in out
    assert re.search(r"S-1-5-21-0-0-\d+-1000", out)
