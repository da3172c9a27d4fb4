"""The column `outcome`: captures are read once for it before rows are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.columns import RecordSource
from msmq_wire.cli.second_reading import SecondReading
from msmq_wire.records.message import message_of
from msmq_wire.records.outcome import OUTCOME
from msmq_wire.records.record import Record
from msmq_wire.sessions import Leaving, MessageLife, StoryFollower

_MOST_GONE = 1 << 16
"""Messages dropped to save memory of which it is known how they stood then."""


class Outcomes:
    """Reads the captures of a reading to their end; then says of each message what became of it."""

    def __init__(self, reading: CaptureSet) -> None:
        self._gone: dict[str, str] = {}
        follower = StoryFollower(budget=reading.budget, leave=self._leave)
        for item in SecondReading(reading).batched():
            if isinstance(item, Record):
                follower.feed(item)
            else:
                follower.take(item)
        story = follower.finish()
        self.left_out, self._lives = story.left_out, story.lives

    def _leave(self, gone: Leaving) -> None:
        if isinstance(gone, MessageLife) and len(self._gone) < _MOST_GONE:
            self._gone[gone.message_id] = gone.outcome

    def of(self, record: int, message_id: str | None) -> str | None:
        """The outcome of the message in a record; None where it is not known who sent it."""
        life = None if message_id is None else self._lives.of(record, message_id)
        return self._gone.get(message_id or "") if life is None else life.outcome

    def of_record(self, record: Record) -> str | None:
        """The same of the message that a record is, or that is in it."""
        message = message_of(record, acknowledgments=True, inside=True)
        return None if message is None else self.of(record.id, message["message_id"])

    def source_of(self, record: Record) -> RecordSource:
        """The same as a row has it."""
        return _Outcome(self.of_record(record))

    def of_all(self, records: Sequence[int], message_ids: Sequence[str | None]) -> list[str | None]:
        """The same of many."""
        return list(map(self.of, records, message_ids))


class _Outcome:
    """The outcome of one message as a row has it."""

    def __init__(self, outcome: str | None) -> None:
        self._outcome = outcome

    def __contains__(self, name: object) -> bool:
        return name == OUTCOME.name

    def json(self, name: str) -> Any:
        """The value of the column."""
        return self._outcome
