"""`Digest` and its lines, as data and as text.

The rule kept here: whoever prints a digest takes its sentences here.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from msmq_wire.detection.finding import Confidence, Layer, Severity
from msmq_wire.invisible import escaped
from msmq_wire.records.view import date_time
from msmq_wire.representation import line, shortened

TITLE, ORDER = "What is wrong", ", most important first [severity, how sure, layer]"
_SURE: dict[Confidence, str] = {
    "published": "as published",
    "certain": "certain",
    "likely": "likely",
    "guess": "a guess",
}
NOTHING = "nothing of MSMQ"
"""What was looked at where there is nothing."""


class DigestLine(msgspec.Struct, frozen=True, kw_only=True):
    """One cause: what is wrong, in which layer, at which hosts, how sure it is, the evidence, what to do.

    ``str`` gives all of it in a line, as the command ``diagnose`` does.

    The first host of ``who`` is the source of the problem. ``frames`` (1-based) and ``records`` (ids) are the
    evidence, at most 64 each. ``where`` names the frames in words, with the time of the first one, and with
    their file if there are several. ``action`` is one short imperative.

    ``first`` and ``last`` are the times of its evidence in nanoseconds since 1970.

    ``rule`` is the rule of the finding, ``question`` the answer with the details; a line about the capture
    itself has neither. ``command`` shows the details, with the capture as its first argument. ``count`` is
    the number of findings or messages that the cause explains.
    """

    severity: Severity
    confidence: Confidence
    layer: Layer
    text: str
    who: tuple[str, ...] = ()
    frames: tuple[int, ...] = ()
    records: tuple[int, ...] = ()
    where: str = ""
    action: str = ""
    rule: str | None = None
    question: int | None = None
    command: str = ""
    count: int = 1
    first: int | None = None
    last: int | None = None

    def __repr__(self) -> str:
        return line(self, f"({self.severity}, {self.confidence})", shortened(self.text, 120))

    def __str__(self) -> str:
        return escaped(f"{self.mark} {self.whole}")

    def _repr_html_(self) -> str:
        # Loads what only a notebook needs.
        from msmq_wire.html_values import facts_html

        facts = (
            ("how sure", self.confidence),
            ("layer", self.layer),
            ("where", self.where),
            ("what to do", self.action),
            ("times", self.count),
            ("rule", self.rule),
            ("command", self.command),
        )
        return facts_html(f"{self.severity}: {self.text}", facts)

    @property
    def first_time(self) -> datetime | None:
        """The time of the first evidence in UTC."""
        return date_time(self.first)

    @property
    def last_time(self) -> datetime | None:
        """The time of the last evidence in UTC."""
        return date_time(self.last)

    @property
    def mark(self) -> str:
        """The severity, how sure it is, and the layer."""
        return f"[{self.severity}, {_SURE[self.confidence]}, {self.layer}]"

    @property
    def details(self) -> str:
        """The frames, the rule, and the command that shows more."""
        rule = "" if self.rule is None or self.command.endswith(self.rule) else self.rule
        return "; ".join(part for part in (self.where, rule, self.command) if part)

    @property
    def whole(self) -> str:
        """The text with its details, and what to do."""
        details = f" ({self.details})" if self.details else ""
        return f"{self.text}{details} {self.action}".rstrip()

    @property
    def said(self) -> str:
        """The line as sentences: what is wrong, where, and what to do."""
        where = f"{self.where[:1].upper()}{self.where[1:]}." if self.where else ""
        return " ".join(part for part in (self.text, where, self.action) if part)


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong: first a line about what the capture lacks, then ``causes``, the root cause first.

    Without ``causes``, nothing wrong was seen. ``more`` counts the causes that are left out. ``looked_at``
    says what was examined, and what the capture does not show.
    """

    lines: tuple[DigestLine, ...] = ()
    more: int = 0
    looked_at: str = ""

    def __repr__(self) -> str:
        found = (
            [f"{len(self.causes) + self.more} causes:", self.causes[0].text]
            if self.causes
            else [self.nothing]
        )
        return line(self, *(shortened(text, 120) for text in found))

    @property
    def causes(self) -> tuple[DigestLine, ...]:
        """The lines that are not about the capture."""
        return tuple(line for line in self.lines if line.rule or line.question)

    @property
    def nothing(self) -> str:
        """The sentence if there is no cause."""
        else_ = " else" if self.lines else ""
        nothing = "" if self.looked_at.startswith(NOTHING) else f"nothing{else_} wrong seen in "
        text = f"{nothing}{self.looked_at}"
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def more_text(self) -> str:
        """The sentence about the causes that are left out; empty if there are none."""
        many = f"{self.more} more cause{'s' if self.more > 1 else ''}"
        return f"And {many}: the answers and msmq-wire findings have them." if self.more else ""

    def text_lines(self) -> Iterator[str]:
        """The digest as text, a line for each cause."""
        if not self.causes:
            yield from (f"{line.text} {line.action}".rstrip() for line in self.lines)
            yield self.nothing
            return
        yield f"{TITLE}{ORDER}"
        yield from (f"{number:>2}. {line}" for number, line in enumerate(self.lines, 1))
        yield from (f"    {one}" for one in (self.more_text, f"Looked at {self.looked_at}.") if one)
