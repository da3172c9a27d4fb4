"""The story of captures, for commands that tell of one message or session in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import typer

from msmq_wire.api.following import follow_story
from msmq_wire.api.limits import READ_TWICE
from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.event_log_option import GivenLogs, given_logs
from msmq_wire.cli.reading_options import ReadingOptions
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.cli.reporting import print_error
from msmq_wire.detection.diagnosis.computer_log_texts import only_logged
from msmq_wire.detection.diagnosis.naming import matching, no_message
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.sessions import Story

MESSAGE_HELP = (
    "text in its label or queue, GUID\\NUMBER, the first digits of its GUID with \\NUMBER, NUMBER alone, "
    '"frame N", "frame N of FILE" or "id N".'
)
"""What a message may be called, behind an article."""


class CaptureStory(NamedTuple):
    """What was read of captures, and their story as it may be shown; ``is_reported`` where there is one.

    ``words`` name the file of a frame.
    """

    reading: CaptureSet
    redactor: Redactor
    story: Story
    words: Phrases
    logs: GivenLogs = GivenLogs((), 0)

    @property
    def is_reported(self) -> bool:
        """Whether anything could be read."""
        return bool(self.reading.counts.frames or not self.reading.status)

    def called(self, text: str) -> str:
        """What errors call a message that somebody asked for: what is asked for may be a label."""
        return "that was asked for" if self.redactor.what else escaped(text)

    def messages(self, text: str, most: int) -> dict[str, str]:
        """The messages that a text means, with their labels; where there is none that is said."""
        found = matching(self.story, text, most, self.words)
        if not found:
            called = self.called(text)
            hidden = (
                "; labels and names may be redacted, ids and frames are not" if self.redactor.what else ""
            )
            logged = "" if self.redactor.what else only_logged(self.story, text)
            print_error(f"{no_message(called)}{hidden}{logged}")
        return found

    def end(self, status: int, *notes: str) -> NoReturn:
        """Print the summary, with some notes, and end the command."""
        self.reading.tell_left_out(self.story.left_out)
        self.reading.print_summary(*notes)
        raise typer.Exit(status or self.reading.status or self.logs.status)


def followed(
    files: Sequence[str],
    options: ReadingOptions,
    *,
    twice: bool = False,
    events: Sequence[str] | None = None,
) -> CaptureStory:
    """Read captures and follow what is in them, with the event logs ``events`` beside them.

    Where they are read ``twice`` that is for a session. Raises typer.BadParameter if they cannot be.
    """
    # An acknowledgment has its numbers in its body, and no step shows a body: they need no redaction.
    redactor = options.redactor().only({Redaction.LABELS, Redaction.HOSTS})
    reading = options.reading(files, redactor, streams=True)
    if twice and reading.once:
        raise typer.BadParameter(f"a session {READ_TWICE}", param_hint="--session")
    logs = given_logs(events, redactor, quiet=options.quiet)
    story, words = follow_story(reading, redactor)
    return CaptureStory(reading, redactor, story.beside(logs.files), words, logs)
