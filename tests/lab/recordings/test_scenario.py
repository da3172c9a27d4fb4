"""A scenario from JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.recordings.scenario import Scenario, read_scenario

_OURS = Path(__file__).resolve().parents[3] / "fixtures" / "record" / "scenario.json"
_QUEUE = {"name": "plain"}
_STEP = {"name": "a", "do": "send", "queue": "plain"}


def _read(**more: Any) -> Scenario:
    return read_scenario(json.dumps({"version": 1, "queues": [_QUEUE], "steps": [_STEP]} | more).encode())


def test_every_step_of_ours_names_queues_that_it_has() -> None:
    scenario = read_scenario(_OURS.read_bytes())
    named = [
        name
        for step in scenario.steps
        for name in (step.queue, step.target, step.admin_queue, step.response_queue)
        if name
    ]
    assert {scenario.queue(name).host for name in named} == {"own", "other", "nowhere"}


def test_names_of_steps_of_ours_are_used_once() -> None:
    names = [step.name for step in read_scenario(_OURS.read_bytes()).steps]
    assert len(set(names)) == len(names)


def test_a_queue_is_found_by_what_stands_before_its_subqueue() -> None:
    scenario = _read()
    assert scenario.queue("plain;poison") is scenario.queues[0]
    assert scenario.queue(";deadletter").host == "own"
    with pytest.raises(KeyError):
        scenario.queue("other")


@pytest.mark.parametrize(
    "more",
    [
        {"version": 2},
        {"nonsense": 1},
        {"steps": [{**_STEP, "do": "format"}]},
        {"steps": [{**_STEP, "bodies": "x"}]},
        {"steps": [{**_STEP, "label": "\ud800"}]},
        {"steps": [{**_STEP, "needs": ["luck"]}]},
        {"queues": [{"name": "plain", "host": "elsewhere"}]},
    ],
)
def test_what_the_format_does_not_have_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(MsmqWireError, match=r"^not a scenario: "):
        _read(**more)


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b'{"version": 1, "queues": "\xed\xa0\x80"}'])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(MsmqWireError, match=r"^not a scenario: "):
        read_scenario(data)
