"""What a diagnosis says: `Answer`s of `Statement`s, and the `AnswerBuilder` that collects one.

The rule kept here: a statement is an observation with the frames that show it; what is missing from the
capture stands beside it as a caveat, and the facts behind it are data.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from msmq_wire.findings.cause import Cause
from msmq_wire.findings.diagnosis.claims import Claim, Fact
from msmq_wire.findings.finding import SEVERITIES, Severity
from msmq_wire.records.coverage import Need, Position
from msmq_wire.records.visibility import Visibility
from msmq_wire.sessions import Moment

MOST = 10
"""Items that a list in an answer shows."""
_MOST_FRAMES = 64
_MOST_CLAIMS = 1024
_MOST_CAUSES = 64


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence or a few; ``frames`` (1-based) and ``records`` (ids) show what it says, at most 64 each.

    ``attention`` is how much it calls for somebody to look, None for nothing.
    """

    text: str
    frames: tuple[int, ...] = ()
    records: tuple[int, ...] = ()
    attention: Severity | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one of the questions.

    ``posed`` is False where nothing in the capture raises the question; then one statement says so.
    ``attention`` is how much of it calls for somebody to look, None for nothing. ``caveats`` tell what the
    capture does not hold. ``facts`` are numbers and texts that JSON can hold. ``claims`` are what the
    statements say of single messages and sessions, at most 1,024 of them. ``causes`` are what is wrong,
    for the digest, at most 64, and ``notes`` what is no more than to be said with what was looked at.
    """

    number: int
    question: str
    posed: bool
    attention: Severity | None = None
    statements: tuple[Statement, ...] = ()
    caveats: tuple[str, ...] = ()
    facts: dict[str, Any] = {}
    claims: tuple[Claim, ...] = ()
    causes: tuple[Cause, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def flagged(self) -> bool:
        """Whether it calls for a look."""
        return self.rank >= SEVERITIES.index("low")

    @property
    def rank(self) -> int:
        """The place of its attention in `SEVERITIES`; what calls for none stands with ``info``."""
        return 0 if self.attention is None else SEVERITIES.index(self.attention)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The texts of the statements."""
        return tuple(statement.text for statement in self.statements)


class AnswerBuilder:
    """Collects an answer; ``visibility`` says what was captured of what a claim needs."""

    def __init__(self, visibility: Visibility | None = None) -> None:
        self.visibility = visibility or Visibility()
        self.statements: list[Statement] = []
        self.caveats: list[str] = []
        self.facts: dict[str, Any] = {}
        self.claims: dict[Claim, None] = {}
        self.causes: list[Cause] = []
        self.notes: list[str] = []
        self.attention: Severity | None = None

    def say(
        self,
        text: str,
        *moments: Moment | None,
        frames: Collection[int] = (),
        attention: Severity | None = None,
    ) -> None:
        """Add a statement that ``moments`` or ``frames`` show; ``attention`` raises that of the answer."""
        shown = [one for one in moments[:_MOST_FRAMES] if one is not None]
        numbers = dict.fromkeys((*(one.frame for one in shown if one.frame is not None), *frames))
        records = dict.fromkeys(one.record for one in shown)
        self.statements.append(
            Statement(text=text, frames=tuple(numbers), records=tuple(records), attention=attention)
        )
        self.heed(attention)

    def heed(self, attention: Severity | None) -> None:
        """Raise the attention that the answer asks for."""
        if attention is None:
            return
        if self.attention is None or SEVERITIES.index(attention) > SEVERITIES.index(self.attention):
            self.attention = attention

    def but(self, *caveats: str) -> None:
        """Add what is missing, if anything is."""
        self.caveats += [caveat for caveat in caveats if caveat and caveat not in self.caveats]

    def claim(self, fact: Fact, *subjects: str | None) -> None:
        """Say a fact of some subjects."""
        for subject in subjects:
            if subject is not None and len(self.claims) < _MOST_CLAIMS:
                self.claims[Claim(subject, fact)] = None

    def shown(self, needs: Collection[Need], src: str, dst: str, at: Moment, capture: str = "") -> bool:
        """Whether what a claim needs was captured between two ends of a connection; if not, a caveat."""
        place = Position(capture, at.record, at.frame or 0, src, dst)
        lacking = self.visibility.lacking(needs, place)
        self.but(*lacking)
        return not lacking

    def shown_between(self, needs: Collection[Need], src: str, dst: str, at: Moment) -> bool:
        """The same between two hosts, of all their connections."""
        lacking = self.visibility.lacking_between(needs, at.frame or 0, src, dst)
        self.but(*lacking)
        return not lacking

    def blame(self, cause: Cause) -> None:
        """Say what is wrong, which calls for a look."""
        self.heed(cause.severity)
        if len(self.causes) < _MOST_CAUSES:
            self.causes.append(cause)

    def note(self, text: str) -> None:
        """Say what is worth a word where nothing is wrong."""
        if len(self.notes) < MOST:
            self.notes.append(text)

    def answer(self, number: int, question: str, nothing: str) -> Answer:
        """The answer; ``nothing`` is what is said where there is no statement."""
        posed = bool(self.statements)
        return Answer(
            number=number,
            question=question,
            posed=posed,
            attention=self.attention if posed else None,
            statements=tuple(self.statements) if posed else (Statement(text=nothing),),
            caveats=tuple(self.caveats),
            facts=self.facts,
            claims=tuple(self.claims),
            causes=tuple(msgspec.structs.replace(one, question=number) for one in self.causes),
            notes=tuple(self.notes),
        )
