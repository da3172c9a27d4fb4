"""`Cause`: one problem that an answer found, as a line of the digest.

The rule kept here: the code that writes the sentence of a cause makes the cause. A cause says what else it
explains, so that nothing is reported twice.
"""

from __future__ import annotations

import msgspec

from msmq_wire.detection.finding import Confidence, Connection, Layer, Severity
from msmq_wire.sessions import Moment


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A problem that sessions, messages or reads show.

    ``who`` are hosts, ``action`` is what to do, ``count`` the number of items that are affected. Findings of
    ``rules`` about one of ``who`` report the same problem; the cause is a finding of the first rule.

    ``kind`` and ``about`` (usually a host) identify it. It explains causes with the same ``about`` and a
    ``kind`` in ``explains``; the digest then prints only their ``brief``. Also, if it is of
    the kind ``below`` of another cause and has all its ``connections``, the other one follows from it.

    ``message`` is the record id of an affected message. ``odd`` is true if nothing was lost; such causes come
    last among those of low severity. ``connections`` are affected; a packet on them that breaks a rule may
    explain the cause. ``question`` is the number of the answer. ``layer`` is None for that of the first rule.
    ``segments`` says that the frames of its moments carry segments, and not the records of these.
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
    below: str = ""
    brief: str = ""
    odd: bool = False
    message: int | None = None
    connections: tuple[Connection, ...] = ()
    question: int = 0
    layer: Layer | None = None
    segments: bool = False

    @property
    def first(self) -> int:
        """The time of its first moment in nanoseconds; 0 if unknown."""
        return min((one.time or 0 for one in self.moments), default=0)
