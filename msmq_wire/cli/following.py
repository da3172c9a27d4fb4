"""The story of one file, for commands that tell of one message or session in it."""

from __future__ import annotations

import os
from typing import NamedTuple, NoReturn

import typer

from msmq_wire.cli.reading import Reading
from msmq_wire.cli.reading_options import ReadingOptions
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.cli.reporting import complain
from msmq_wire.findings.diagnosis.naming import matching
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.sessions import Follower, Story

__all__ = ["MESSAGE_HELP", "Followed", "followed"]

MESSAGE_HELP = (
    "text in its label or queue, GUID\\NUMBER, the first digits of its GUID with \\NUMBER, NUMBER alone, "
    '"frame N" or "id N".'
)
"""What a message may be called, behind an article."""


class Followed(NamedTuple):
    """What was read of a file, and its story as it may be shown; ``is_told`` where there is one."""

    reading: Reading
    redactor: Redactor
    story: Story

    @property
    def is_told(self) -> bool:
        """Whether anything could be read."""
        return bool(self.reading.frames or not self.reading.status)

    def called(self, text: str) -> str:
        """What errors call a message that somebody asked for: what is asked for may be a label."""
        return "that was asked for" if self.redactor.what else escaped(text)

    def messages(self, text: str, most: int) -> dict[str, str]:
        """The messages that a text means, with their labels; where there is none that is said."""
        found = matching(self.story, text, most)
        if not found:
            called = self.called(text)
            complain(f"no message is called {called}, by name, number, label, queue, frame or id")
        return found

    def end(self, status: int) -> NoReturn:
        """Print the summary and end the command."""
        self.reading.tell_left_out(self.story.left_out)
        self.reading.tell_summary()
        raise typer.Exit(status or self.reading.status)


def followed(file: str, options: ReadingOptions) -> Followed:
    """Read a file and follow what is in it. Ends the command where it is a folder."""
    if file != "-" and os.path.isdir(file):
        complain(f"{file}: cannot read it: this is a folder, name one of its files")
        raise typer.Exit(1)
    # An acknowledgment has its numbers in its body, and no step shows a body: they need no redaction.
    redactor = options.redactor().only({Redaction.LABELS, Redaction.HOSTS})
    reading = options.reading([file], redactor, streams=True)
    follower = Follower(budget=reading.budget)
    for record in reading:
        follower.feed(redactor.record(record))
    return Followed(reading, redactor, follower.finish())
