"""Captures that a command reads twice: what is wrong with them is said once."""

from __future__ import annotations

from msmq_wire.cli.capture_set import CaptureSet


class SecondReading(CaptureSet):
    """Another reading of the files of a reading, in the same order and with the same ids; it says nothing."""

    def __init__(self, reading: CaptureSet) -> None:
        super().__init__(
            reading.files,
            ports=reading.ports,
            streams=True,
            quiet=reading.quiet,
            negotiator=reading.negotiator,
            redactor=reading.redactor,
            memory=reading.memory,
        )
        self.captures = reading.captures

    def _fail(self, message: str) -> None:
        self.counts.status = 1
