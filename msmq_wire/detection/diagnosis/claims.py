"""`Claim`s: facts that answers state about messages and sessions, as data, and which facts are opposites.

The rule kept here: the code that writes a sentence or a number also makes its claims. No two answers claim
opposite facts about one subject. `sessions.outcomes` decides between contradictions in the capture, and the
claims follow the outcome.
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
"""Pairs of facts that cannot both be true of one subject. A message to several queues may be found in one and
refused by another, so ``in_queue`` does not exclude a refusal."""


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A fact about a message (its ``message_id``) or about a session (``session 3``)."""

    subject: str
    fact: Fact
