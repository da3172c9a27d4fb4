"""Change notifications by a writer that another hand wrote from [MS-MQCN] alone: the same values are read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.records.bodies import open_body
from msmq_wire.rpc.properties import find_property, property_name
from msmq_wire.wire.types.enumerations import BodyType

_SCRIPT = Path(__file__).resolve().parents[2] / "oracles" / "notification_bodies.py"
_COMMANDS = ("created", "changed", "deleted")
_EVENTS = {
    "1": "a queue was created",
    "2": "a queue was changed",
    "3": "a queue was deleted",
    "4": "a queue manager was changed",
}
_MOST, _LONGEST = 64, 500


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    found = subprocess.run([sys.executable, str(_SCRIPT)], check=True, capture_output=True, timeout=60).stdout
    listed: list[dict[str, Any]] = json.loads(found)
    return listed


def rows(updates: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """What is to be shown of the updates of a directory server."""
    for number, update in enumerate(updates, 1):
        yield "update", f"{number}: {_COMMANDS[update['command']]}"
        yield "object", update["object"]
        yield "server", update["server"]
        for propid, value in update["properties"]:
            yield property_name(propid), shown(propid, value)


def shown(propid: int, value: Any) -> str:
    found = find_property(propid)
    assert found is not None
    if found.vt == BodyType.VT_BLOB:
        size = len(value) // 2
        return "1 byte" if size == 1 else f"{size} bytes"
    return ", ".join(value) if isinstance(value, list) else str(value)


def test_updates_of_a_directory_server_are_read_as_they_were_meant(cases: list[dict[str, Any]]) -> None:
    written = [one for one in cases if one["version"] == 1]
    assert len(written) >= 35
    for case in written:
        body = open_body(bytes.fromhex(case["hex"]), 0)
        assert body.kind == "change_notification", case["name"]
        read = [
            (name, f"{value.partition(':')[0]}: {value.rpartition(' ')[2]}" if name == "update" else value)
            for name, value in body.details
            if name not in ("version", "more")
        ]
        meant = [(name, value[:_LONGEST]) for name, value in rows(case["expect"]["updates"])]
        assert read == meant[:_MOST], case["name"]


def test_events_of_a_queue_manager_are_read_as_they_were_meant(cases: list[dict[str, Any]]) -> None:
    written = [one for one in cases if one["version"] == 2]
    assert len(written) >= 10
    for case in written:
        body = open_body(bytes.fromhex(case["hex"]), 0)
        assert body.kind == "change_notification", case["name"]
        details, expect = dict(body.details), case["expect"]
        assert details["event"] == _EVENTS[expect["event"]]
        assert details["object"].lower() == expect["object"]
        assert details["domain_controller"] == expect["domain_controller"], case["name"]
