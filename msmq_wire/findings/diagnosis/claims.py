"""What answers claim of messages and sessions, as data: `Claim`s, and which of them are opposites.

The rule kept here: a claim is made where its sentence or its number is made, of each item that this is about.
No two answers claim opposite facts of one subject; what the capture itself says twice is weighed in
`sessions.outcomes`, and the claims are those of the outcome.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Fact: TypeAlias = Literal[
    "acknowledged",
    "never_acknowledged",
    "in_session",
    "not_in_session",
    "stored",
    "covered",
    "not_covered",
    "in_queue",
    "delivered",
    "not_delivered",
    "received",
    "not_received",
    "expired",
    "unknown",
    "in_time",
    "late",
    "opened",
    "not_opened",
    "kept",
]
"""``acknowledged``: anything answers for it; ``in_session``: a SessionHeader does; ``stored``: one says that
it is on disk; ``covered``: an OrderAck covers it; ``in_queue``: a remote read found it; ``delivered`` and
``received``: that is what became of it; ``not_delivered`` and ``not_received``: a negative acknowledgment
counts; ``expired``: its time ran out by the clock; ``unknown``: nothing tells what became of it; ``in_time``
and ``late``: when it was sent, by the clock of its sender; ``kept``: its sender waits for word of it.
``opened`` is said of sessions."""

_ANSWERED: tuple[Fact, ...] = ("acknowledged", "in_session", "stored", "covered")
_THERE: tuple[Fact, ...] = ("in_queue", "delivered", "received")
_REFUSED: tuple[Fact, ...] = ("not_delivered", "not_received")
_PAIRS: tuple[tuple[Fact, Fact], ...] = (
    *((fact, "never_acknowledged") for fact in (*_ANSWERED, *_REFUSED)),
    *((fact, "unknown") for fact in (*_ANSWERED, *_THERE, *_REFUSED, "expired")),
    *((fact, "expired") for fact in (*_ANSWERED, *_THERE, *_REFUSED, "in_time")),
    ("delivered", "not_delivered"),
    ("received", "not_delivered"),
    ("received", "not_received"),
    ("in_session", "not_in_session"),
    ("covered", "not_covered"),
    ("in_time", "late"),
    ("opened", "not_opened"),
    *((fact, "kept") for fact in ("received", "expired", *_REFUSED)),
)
OPPOSITES: frozenset[frozenset[Fact]] = frozenset(map(frozenset, _PAIRS))
"""Pairs of facts that are not both true of one subject. A message may be found in one queue of several that
it was sent to, so ``in_queue`` stands beside a refusal."""


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A fact about a message (its ``message_id``) or about a session (``session 3``)."""

    subject: str
    fact: Fact
