"""An item has one number: what any command says of it is found under that number by decode and export."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError
from tests.cli.conftest import Outcome, run
from tests.effort import in_batches
from tests.runs import CAPTURES

__all__ = ["run"]

_COMMANDS = (
    ("decode", "--format", "jsonl"),
    ("messages", "--format", "jsonl", "--all"),
    ("calls", "--format", "jsonl"),
    ("findings", "--format", "jsonl"),
    ("replay", "--format", "jsonl"),
    ("diagnose", "--format", "jsonl"),
    ("timeline", "--format", "jsonl"),
    ("findings", "--format", "sarif"),
)
_NUMBERS = ("id", "record", "records", "parent")
"""Where a row names items; beside the first two stand frames of that item alone."""
_MESSAGES = ("user_message", "message_packet", "transfer_buffer", "srmp_message")
_MOST = 3
"""Items of a capture that are asked for one by one."""


def _reported(value: Any) -> Iterator[tuple[str, int, list[int]]]:
    """The numbers of items in a row, each with what it is called and the frames that stand beside it."""
    if isinstance(value, list):
        for inside in value:
            yield from _reported(inside)
    elif isinstance(value, dict):
        frames = value.get("frames")
        for name in _NUMBERS:
            found = value.get(name)
            for number in found if isinstance(found, list) else [found]:
                if isinstance(number, int) and isinstance(frames, list):
                    yield name, number, frames
        for inside in value.values():
            yield from _reported(inside)


def _rows(text: str) -> list[Any]:
    return [json.loads(text)] if text.startswith("{\n") else [json.loads(line) for line in text.splitlines()]


def _frames(path: Path) -> list[bytes]:
    """The frames of a capture, to its damage."""
    found: list[bytes] = []
    with contextlib.suppress(CaptureError):
        found.extend(frame.data for frame in read_frames(str(path)))
    return found


@in_batches(CAPTURES)
def test_what_a_command_tells_of_an_item_is_the_item_of_that_number(
    path: Path, run: Callable[..., Outcome], tmp_path: Path
) -> None:
    items = {one["id"]: one for one in _rows(run("decode", path, "--streams", "--format", "jsonl", "-q").out)}
    assert list(items) == list(range(1, len(items) + 1))
    named = dict[int, str]()
    for command, *options in _COMMANDS:
        for name, number, frames in _reported(_rows(run(command, path, *options, "-q").out)):
            reported = (command, name, number, frames)
            assert number in items, reported
            own = set(items[number]["frames"])
            # What is told of an answer has the frames of that side of the call.
            assert name not in ("id", "record") or own >= set(frames), reported
            assert name != "records" or not frames or own & set(frames), reported
            named.setdefault(number, command)
    frames_of = dict(enumerate(_frames(path), 1))
    page = tmp_path / "page.html"
    run("report", path, "-o", page, "-q")
    # A damaged file has a page, too; one without MSMQ has none.
    linked = re.findall(r'"#message-(\d+)"', page.read_text(encoding="utf-8")) if page.exists() else []
    for number in map(int, linked):
        assert items[number]["type"] in _MESSAGES, ("report", number)
        named.setdefault(number, "report")
    for number in dict.fromkeys((*sorted(named)[: _MOST - 1], *sorted(named)[-1:])):
        shown = run("decode", path, "--id", number, "--format", "jsonl", "-q")
        assert _rows(shown.out) == [items[number]], (named[number], number)
        if not items[number]["frames"]:
            continue
        to = tmp_path / f"{number}.pcap"
        run("export", path, "--to", to, "--id", number, "-q")
        assert _frames(to) == [frames_of[one] for one in sorted(items[number]["frames"])]
