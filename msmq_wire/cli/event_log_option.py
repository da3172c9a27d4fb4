"""The option ``--events``: event logs of Windows beside captures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from msmq_wire.capture.event_logs.event_log_reader import read_event_log
from msmq_wire.cli.reporting import hide_file, print_error, print_note
from msmq_wire.detection.diagnosis.computer_log_texts import log_notice
from msmq_wire.errors import CaptureError, MissingExtraError
from msmq_wire.records.log_event import EventLogFile
from msmq_wire.report.redaction.redactor import Redactor

Events = Annotated[
    list[str] | None,
    typer.Option(
        "--events",
        metavar="FILE",
        help="An event log of Windows, .evtx or XML: what Message Queuing put into queues. May be repeated.",
        show_default=False,
    ),
]


class GivenLogs(NamedTuple):
    """The event logs as they may be shown, and 1 as status where one could not be read."""

    files: tuple[EventLogFile, ...]
    status: int


def given_logs(paths: Sequence[str] | None, redactor: Redactor, *, quiet: bool) -> GivenLogs:
    """Read event logs; what is wrong with one is an error line, what was read of it a note."""
    files, status = [], 0
    for path in paths or ():
        hide_file(path, redactor.file(path))
        try:
            read = redactor.redacted(read_event_log(path))
        except (CaptureError, MissingExtraError) as error:
            print_error(str(error))
            status = 1
            continue
        files.append(read)
        if not quiet:
            print_note(f"{read.file}: {log_notice(read)}")
        if read.damage:
            print_error(f"{read.file}: {read.damage}")
            status = 1
    return GivenLogs(tuple(files), status)
