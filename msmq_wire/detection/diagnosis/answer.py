"""`Answer`s of a diagnosis, made of `Statement`s, and the `AnswerBuilder` that collects one.

The rule kept here: a statement is an observation, with the frames that show it. A caveat says what the
capture lacks. The facts behind a statement are data.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.claims import Claim, Fact
from msmq_wire.detection.finding import SEVERITIES, Severity
from msmq_wire.records.coverage import Need, Position
from msmq_wire.records.visibility import Visibility
from msmq_wire.representation import line, shortened
from msmq_wire.sessions import Moment

MOST = 10
"""Items that a list in an answer shows."""
_MOST_FRAMES = 64
_MOST_CLAIMS = 1024
_MOST_CAUSES = 64


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One or more sentences. ``frames`` (1-based) and ``records`` (ids) are the evidence, at most 64 each.

    ``attention`` is how urgently somebody should look, None for not at all.
    """

    text: str
    frames: tuple[int, ...] = ()
    records: tuple[int, ...] = ()
    attention: Severity | None = None

    def __repr__(self) -> str:
        return line(self, shortened(self.text, 120))


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one question.

    ``posed`` is False if the question does not apply to the capture; one statement then says so.
    ``attention`` is how urgently somebody should look, None for not at all. ``caveats`` say what the capture
    lacks. ``facts`` are numbers and texts for JSON. ``claims`` are facts about single messages and sessions,
    at most 1,024. The digest prints ``causes``, at most 64, and ``notes``, which are about nothing wrong.
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

    def __repr__(self) -> str:
        return line(self, f"{self.number}:", *(shortened(text, 120) for text in self.sentences[:1]))

    @property
    def flagged(self) -> bool:
        """Whether somebody should look at it."""
        return self.rank >= SEVERITIES.index("low")

    @property
    def rank(self) -> int:
        """The index of its attention in `SEVERITIES`; 0 without attention."""
        return 0 if self.attention is None else SEVERITIES.index(self.attention)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The texts of the statements."""
        return tuple(statement.text for statement in self.statements)


class AnswerBuilder:
    """Collects the parts of an answer; ``visibility`` knows what was captured."""

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
        """Add a statement with its evidence; ``attention`` raises the attention of the answer."""
        shown = [one for one in moments[:_MOST_FRAMES] if one is not None]
        numbers = dict.fromkeys((*(one.frame for one in shown if one.frame is not None), *frames))
        records = dict.fromkeys(one.record for one in shown)
        self.statements.append(
            Statement(text=text, frames=tuple(numbers), records=tuple(records), attention=attention)
        )
        self.raise_attention(attention)

    def raise_attention(self, attention: Severity | None) -> None:
        """Raise the attention of the answer; never lower it."""
        if attention is None:
            return
        if self.attention is None or SEVERITIES.index(attention) > SEVERITIES.index(self.attention):
            self.attention = attention

    def add_caveats(self, *caveats: str) -> None:
        """Add caveats; empty and repeated ones are left out."""
        self.caveats += [caveat for caveat in caveats if caveat and caveat not in self.caveats]

    def claim(self, fact: Fact, *subjects: str | None) -> None:
        """Claim a fact about each subject."""
        for subject in subjects:
            if subject is not None and len(self.claims) < _MOST_CLAIMS:
                self.claims[Claim(subject, fact)] = None

    def was_captured(
        self, needs: Collection[Need], src: str, dst: str, at: Moment, capture: str = ""
    ) -> bool:
        """Whether a connection was captured as a claim needs it; if not, add a caveat."""
        place = Position(capture, at.record, at.frame or 0, src, dst)
        lacking = self.visibility.lacking(needs, place)
        self.add_caveats(*lacking)
        return not lacking

    def was_captured_between(self, needs: Collection[Need], src: str, dst: str, at: Moment) -> bool:
        """Like `was_captured`, for all connections between two hosts."""
        lacking = self.visibility.lacking_between(needs, at.frame or 0, src, dst)
        self.add_caveats(*lacking)
        return not lacking

    def add_cause(self, cause: Cause) -> None:
        """Add a cause, and raise the attention to its severity."""
        self.raise_attention(cause.severity)
        if len(self.causes) < _MOST_CAUSES:
            self.causes.append(cause)

    def add_note(self, text: str) -> None:
        """Add a note about something that is not wrong."""
        if len(self.notes) < MOST:
            self.notes.append(text)

    def answer(self, number: int, question: str, nothing: str) -> Answer:
        """Return the answer; ``nothing`` is its only statement if there are no others."""
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
