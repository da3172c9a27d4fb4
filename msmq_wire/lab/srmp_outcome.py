"""What becomes of a POST of SRMP, and the HTTP status that tells its sender. [MC-MQSRM] 3.1.5.1, 3.1.7.2.5

The rule kept here: a sender deletes its message after 200 or 400, and sends it again after 500. So 400 is for
what would be refused again, and 500 for what may be taken later.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec


class SrmpOutcome(Enum):
    """One way in which the processing of a POST ends: HTTP status, section of [MC-MQSRM], and the reason."""

    def __init__(self, status: int, section: str, reason: str) -> None:
        self.status = status
        self.section = section
        self.reason = reason

    ENQUEUED = 200, "3.1.7.2.5", ""
    DUPLICATE = 200, "3.1.5.1.11", "a message with this identifier was received before"
    IGNORED = 200, "3.1.5.1.5", "ignored: no type of message has these receipts and this class"
    NO_SUCH_STREAM = 200, "3.1.5.1.9.1", "discarded: this queue manager sends no such stream"
    LATE = 200, "2.2.5.1.1", "discarded: the message has expired"
    QUEUE_FULL = 200, "3.1.5.1.12", "discarded: the queue is full"
    MALFORMED = 400, "3.1.5.1.2", "no SRMP message"
    OTHER_HOST = 400, "3.1.5.1.3", "the queue is on another host, and nothing is forwarded"
    NO_QUEUE = 400, "3.1.5.1.3", "no such queue"
    STREAM_TO_PLAIN_QUEUE = 400, "3.1.5.1.3", "a stream message to a queue that is not transactional"
    PLAIN_TO_TRANSACTIONAL = 400, "3.1.5.1.3", "a message without a stream to a transactional queue"
    NO_STREAMS = 500, "3.1.5.1.6.3", "stream messages are not taken: nothing here sends their receipts"
    MANAGER_FULL = 500, "3.1.5.1.12", "there is no room"
    FAULT = 500, "3.1.2.1", "refused on request"


OUTCOME_OF_ENQUEUE: Mapping[int, SrmpOutcome] = {
    0: SrmpOutcome.ENQUEUED,
    1: SrmpOutcome.QUEUE_FULL,
    2: SrmpOutcome.MANAGER_FULL,
    3: SrmpOutcome.LATE,
}
"""What Enqueue Message returns. [MC-MQSRM] 3.1.5.1.12, [MS-MQDMPR] 3.1.7.1.9"""


class SrmpAnswer(msgspec.Struct, frozen=True):
    """The answer to a POST; ``detail`` says more than the reason of its outcome, or is empty."""

    outcome: SrmpOutcome
    detail: str = ""

    @property
    def text(self) -> str:
        """The body of the response."""
        return self.detail or self.outcome.reason
