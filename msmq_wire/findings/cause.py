"""`Cause`: what an answer found wrong, in one line, for the digest.

The rule kept here: a cause is named where its sentence is made. It says what else it explains, so that
nothing is told twice.
"""

from __future__ import annotations

import msgspec

from msmq_wire.findings.finding import Confidence, Connection, Severity
from msmq_wire.sessions import Moment


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong that sessions, messages or reads tell.

    ``who`` are hosts, ``action`` is what to do, ``count`` how many items it is about. ``rules`` are those
    whose findings about one of ``who`` tell the same; it is a finding of the first of them. ``kind`` and
    ``about`` (a host, as a rule) say what it is; it explains what is of a kind in ``explains`` and about the
    same, of which ``brief`` is then said.

    ``message`` is the id of the record of a message that shows it, where it is about messages.

    What is ``odd`` is no loss: of what is low it stands behind. ``connections`` are those that it happened
    on, where a packet that breaks a rule may be behind it. ``question`` is the number of the answer.
    """

    text: str
    severity: Severity
    confidence: Confidence
    moments: tuple[Moment, ...]
    who: tuple[str, ...]
    action: str
    rules: tuple[str, ...]
    count: int = 1
    kind: str = ""
    about: str = ""
    explains: tuple[str, ...] = ()
    brief: str = ""
    odd: bool = False
    message: int | None = None
    connections: tuple[Connection, ...] = ()
    question: int = 0

    @property
    def first(self) -> int:
        """When the first of it was, in nanoseconds; 0 where nobody knows."""
        return min((one.time or 0 for one in self.moments), default=0)
