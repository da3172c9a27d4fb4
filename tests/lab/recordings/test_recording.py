"""A recording from JSON, as strangers write it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.recordings.recording import Recording, read_recording, write_recording

SMALL = Path(__file__).resolve().parents[3] / "fixtures" / "recordings" / "small"
STEP = {"name": "a", "do": "send", "outcome": "done"}


def made(**more: Any) -> dict[str, Any]:
    """The least that is a recording, and more."""
    moment = "2026-11-22T22:00:16.004046Z"
    least = {"version": 1, "made_by": "a test", "scenario_sha256": "", "own": {"name": "own"}, "steps": []}
    return least | {"begun": moment, "ended": moment} | more


def read(**more: Any) -> Recording:
    return read_recording(json.dumps(made(**more)).encode())


def test_what_was_written_is_read() -> None:
    recording = read_recording((SMALL / "recording.json").read_bytes())
    assert len(recording.steps) == 28
    assert read_recording(write_recording(recording)) == recording


def test_the_byte_order_mark_of_powershell_is_no_part_of_it() -> None:
    assert read_recording(b"\xef\xbb\xbf" + json.dumps(made()).encode()) == read()


def test_seven_digits_of_a_second_are_a_time() -> None:
    assert read(begun="2026-11-22T22:00:16.0040461Z").begun.endswith("461Z")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "truncated"),
        (b"[1]", "Expected `object`"),
        (b"[" * 100_000, "Expected `object`"),
        (b"\xff\xfe{\0}\0", "malformed"),
        (b'{"version": 2}', "`$.version`"),
        (b'{"version": 1, "made_by": "\xed\xa0\x80"}', "codec"),
        (b'{"version": 1, "made_by": "\\ud800 and more"}', "surrogate"),
    ],
    ids=["empty", "list", "deep", "utf-16", "version", "bytes of a surrogate", "escape of a surrogate"],
)
def test_other_bytes_are_refused_in_one_sentence(data: bytes, said: str) -> None:
    with pytest.raises(MsmqWireError, match=r"^not a recording: ") as refused:
        read_recording(data)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "more",
    [
        {"nonsense": 1},
        {"begun": "yesterday"},
        {"ended": "2026-11-22T22:00:16+01:00"},
        {"own": None},
        {"steps": [{**STEP, "do": "format"}]},
        {"steps": [{**STEP, "outcome": "unknown"}]},
        {"steps": [{**STEP, "status": 1 << 32}]},
        {"steps": [{**STEP, "status": -1072824293}]},
        {"steps": [{**STEP, "begun": "\x1b[2J"}]},
        {"steps": [{**STEP, "messages": [{"lookup_id": 1 << 64}]}]},
        {"steps": [{**STEP, "messages": [{"correlation_id": "00"}]}]},
        {"steps": [{**STEP, "messages": [{"delivery": "slow"}]}]},
        {"steps": [{**STEP, "messages": [{"body": "secret"}]}]},
    ],
)
def test_what_the_format_does_not_have_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(MsmqWireError, match=r"^not a recording: "):
        read(**more)
