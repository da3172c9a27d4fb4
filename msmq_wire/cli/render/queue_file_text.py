"""A file that registers a queue as text and as JSON: every key with its value, known ones with meaning."""

from __future__ import annotations

from typing import Any

from msmq_wire.capture.queue_files import QueueFile, QueueProperty
from msmq_wire.cli.render.block import folded
from msmq_wire.cli.render.screen import Screen

_LONGEST = 120
_NAME_WIDTH = 18


def queue_file_view(file: QueueFile) -> dict[str, Any]:
    """What it says as a row of JSON lines."""
    return {
        "type": "queue_file",
        "capture": file.path,
        "number": file.number,
        "name": file.name,
        "label": file.label,
        "encoding": file.encoding,
        "properties": [
            {"section": one.section, "key": one.key, "value": one.value, "meaning": one.meaning or None}
            for one in file.properties
        ],
        "lines_left_out": file.lines_left_out,
    }


def print_queue_file(screen: Screen, file: QueueFile) -> None:
    """Print it, its sections as they come."""
    number = "" if file.number is None else f", queue number {file.number:08x}"
    screen.line([(screen.safe(file.path), "title"), (f"  registers a queue{number}, {file.encoding}", "")])
    section = ""
    for one in file.properties:
        if one.section != section:
            section = one.section
            screen.line([(f"  [{screen.safe(section)}]", "dim")])
        _print(screen, one)
    if file.lines_left_out:
        screen.line([(f"  and {file.lines_left_out:,} more lines", "dim")])
    screen.line([])


def _print(screen: Screen, one: QueueProperty) -> None:
    value = one.value
    if len(value) > _LONGEST:
        value = f"{value[: _LONGEST // 2]}{screen.choose('…', '~')} ({len(one.value):,} characters)"
    text = screen.safe(f"{one.key:<{_NAME_WIDTH}}  {value}" if one.key else value)
    if screen.width is not None and len(text) + 4 > screen.width:
        text = f"{text[: screen.width - 5]}{screen.choose('…', '~')}"
    screen.line([(f"    {text}", "" if one.meaning or not one.key else "note")])
    if one.meaning:
        if screen.width is None:
            screen.line([(f"        {screen.safe(one.meaning)}", "dim")])
            return
        for line in folded(screen, screen.width, one.meaning, "dim"):
            screen.line(line)
