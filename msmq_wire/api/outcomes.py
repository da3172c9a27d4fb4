"""What became of messages: captures are read once for it before messages are shown."""

from __future__ import annotations

from collections.abc import Sequence

from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.records.message import message_of
from msmq_wire.records.outcome import Outcome
from msmq_wire.records.record import Record
from msmq_wire.sessions import Leaving, MessageLife, StoryFollower

_MOST_GONE = 1 << 16
"""Messages dropped to save memory of which it is known how they stood then."""


class Outcomes:
    """Reads the captures of a reading to their end; then says of each message what became of it."""

    def __init__(self, reading: CaptureSequence) -> None:
        self._gone: dict[str, Outcome] = {}
        follower = StoryFollower(budget=reading.budget, leave=self._leave)
        for item in reading.again().batched():
            if isinstance(item, Record):
                follower.feed(item)
            else:
                follower.take(item)
        story = follower.finish()
        self.left_out, self._lives = story.left_out, story.lives

    def _leave(self, gone: Leaving) -> None:
        if isinstance(gone, MessageLife) and len(self._gone) < _MOST_GONE:
            self._gone[gone.message_id] = gone.outcome

    def of(self, record: int, message_id: str | None) -> Outcome | None:
        """The outcome of the message in a record; None where it is not known who sent it."""
        life = None if message_id is None else self._lives.of(record, message_id)
        return self._gone.get(message_id or "") if life is None else life.outcome

    def of_record(self, record: Record) -> Outcome | None:
        """The same of the message that a record is, or that is in it."""
        message = message_of(record, acknowledgments=True, inside=True)
        return None if message is None else self.of(record.id, message["message_id"])

    def of_all(self, records: Sequence[int], message_ids: Sequence[str | None]) -> list[Outcome | None]:
        """The same of many."""
        return list(map(self.of, records, message_ids))
