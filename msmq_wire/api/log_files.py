"""Event logs of Windows that are given beside captures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msmq_wire.arguments import wrong_type
from msmq_wire.capture.event_logs.event_log_reader import read_event_log
from msmq_wire.records.log_event import EventLogFile

LogPaths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A path, or several."""


def read_logs(paths: LogPaths) -> tuple[EventLogFile, ...]:
    """Read event logs, .evtx or XML.

    Raises CaptureError for a file that is none, MissingExtraError without the package evtx, and TypeError for
    what is no path.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(given, Sequence) or isinstance(given, bytes | bytearray):
        raise TypeError(wrong_type("events", "a path or a list of paths", paths))
    for place, one in enumerate(given):
        if not isinstance(one, str | os.PathLike):
            raise TypeError(wrong_type(f"events[{place}]", "a path", one))
    return tuple(read_event_log(os.fspath(one)) for one in given)


def damage_texts(files: Iterable[EventLogFile]) -> tuple[str, ...]:
    """What could not be read of event logs."""
    return tuple(f"{file.file}: {file.damage}" for file in files if file.damage)
