"""`Finding`: one report of a rule about a capture, with its evidence.

The rule kept here: a finding is data. It says what was observed and where; intent is for the analyst.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.representation import line, shortened, struct_line
from msmq_wire.wire.private import ENDPOINT, FILE, PUBLIC, Private

Severity = Literal["info", "low", "medium", "high"]
Confidence = Literal["published", "certain", "likely", "guess"]
"""``published``: matches a published condition; ``certain``: the bytes show it; otherwise an inference."""
Layer = Literal["capture", "network", "host", "queue manager", "application"]
"""Where a cause is. ``capture``: the recording itself; ``network``: what is between the hosts; ``host``: the
operating system, clock, disk or load of a host, or what a host is; ``queue manager``: Message Queuing and its
settings; ``application``: a program that sends or receives messages."""

LAYERS: tuple[Layer, ...] = ("capture", "network", "host", "queue manager", "application")
"""From the recording up to the programs."""
SEVERITIES: tuple[Severity, ...] = ("info", "low", "medium", "high")
"""From the least to the most severe."""
CONFIDENCES: tuple[Confidence, ...] = ("guess", "likely", "certain", "published")
"""From the least to the most sure."""
Connection: TypeAlias = tuple[str, str]
"""The two ends of a connection, in the same order for both directions."""


def connection_of(one: str | None, other: str | None) -> Connection:
    """The connection between two ends."""
    first, last = sorted((one or "", other or ""))
    return first, last


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The place in a capture that shows something.

    ``record`` is the id of the record, ``frames`` are those that carry it; ``offset`` and ``length`` count
    bytes of the packet, ``path`` names the field, ``data`` are at most 64 of its bytes.
    """

    capture: Annotated[str, FILE] = ""
    record: int | None = None
    frames: tuple[int, ...] = ()
    time: int | None = None
    src: Annotated[str | None, ENDPOINT] = None
    dst: Annotated[str | None, ENDPOINT] = None
    transport: Annotated[Literal["tcp", "udp"], PUBLIC] = "tcp"
    path: Annotated[str, Private("secret", "path")] = ""
    offset: int = 0
    length: int = 0
    data: bytes = b""

    __repr__ = struct_line


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One observation of one rule.

    ``message`` says what was observed. ``caveats`` say what is missing, or what may be a harmless
    explanation. ``evidence`` has at least one place. ``event`` is the Windows event that the receiver may
    log. ``layer`` says where the cause is.

    If another rule reports the cause, ``explained_by`` is its id and ``cause`` its first evidence. With
    ``first``, this finding says more and represents both. For a cause of a diagnosis, ``answered`` are the
    rules whose findings about the same hosts report the same.
    """

    id: str
    title: str
    severity: Severity
    confidence: Confidence
    message: str
    evidence: tuple[Evidence, ...]
    caveats: tuple[str, ...] = ()
    cves: tuple[str, ...] = ()
    spec: str = ""
    event: str | None = None
    explained_by: str | None = None
    cause: Evidence | None = None
    first: bool = False
    answered: tuple[str, ...] = ()
    layer: Layer = "queue manager"

    def __repr__(self) -> str:
        return line(self, f"{self.id} ({self.severity}, {self.confidence}):", shortened(self.message, 120))

    def _repr_html_(self) -> str:
        # Loads what only a notebook needs.
        from msmq_wire.html_values import facts_html

        place = self.evidence[0] if self.evidence else None
        frames = () if place is None else place.frames
        return facts_html(
            f"{self.id}: {self.title}",
            (
                ("severity", f"{self.severity} ({self.confidence})"),
                ("layer", self.layer),
                ("observed", self.message),
                ("note", " ".join(self.caveats)),
                ("from", None if place is None else place.src),
                ("to", None if place is None else place.dst),
                ("frames", ", ".join(map(str, frames[:5])) + ("…" if len(frames) > 5 else "")),
                ("field", None if place is None else place.path),
                ("evidence", f"{len(self.evidence)} places" if len(self.evidence) > 1 else ""),
                ("section", self.spec),
            ),
        )

    @property
    def sender(self) -> str:
        """The host that sent the cause, or else the first evidence; empty if there is none."""
        place = self.cause or (self.evidence[0] if self.evidence else None)
        return "" if place is None else host_of(place.src)

    @property
    def group(self) -> str:
        """The key of its group, such as ``LEN-ENV 192.0.2.21``: the rule of the cause, and the sender."""
        return f"{self.explained_by or self.id} {self.sender}".rstrip()

    @property
    def rank(self) -> int:
        """The index of its severity in `SEVERITIES`."""
        return SEVERITIES.index(self.severity)
