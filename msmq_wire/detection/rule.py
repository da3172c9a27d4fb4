"""`Rule`: what is looked for, why it matters and what to do; its check yields what it saw.

The rule kept here: a check reads and remembers nothing. What must be known of earlier records it asks of the
`Context`, or it judges sessions, lives of messages or the whole story at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol

import msgspec

from msmq_wire.detection.finding import Confidence, Evidence, Layer, Severity
from msmq_wire.detection.guards import When
from msmq_wire.detection.suricata_signature import SuricataSignature
from msmq_wire.records.coverage import Need
from msmq_wire.records.record import Record
from msmq_wire.sessions.clocks import HostClock, Sender
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly

Over = Literal["record", "hop", "reply", "session", "life", "story", "cause"]
"""What a check takes. Records, hops, and replies (or packets) that a replay forbids are checked as they come.
Sessions, messages (``life``), the whole story, and causes of a diagnosis are checked at the end. Hops need a
topology."""
_SHOWN = 64
_REFERENCE = re.compile(r"\b(?:CVE-\d{4}-\d{4,}|MS\d{2}-\d{3}|KB\d{6,})\b")


class Context(Protocol):
    """What a check over records may ask about earlier records."""

    def started(self, record: Record) -> bool:
        """Whether the start of the connection of a record was captured."""

    def on_wire(self, record: Record) -> bool:
        """Whether a packet was sent over the binary protocol, not returned by a call."""

    def first_with_key(self, key: bytes, sender: str) -> str:
        """The first sender of a message with this encrypted session key; ``sender`` if the key is new."""


class TimeComparison(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Two times that a check compared: SentTime by the clock of ``sender``, and the time of the capture.

    ``sent`` is in seconds, ``captured`` in nanoseconds; ``limits`` are the exceeded time limits in seconds.
    """

    sender: Sender
    sent: int
    captured: int
    limits: dict[str, int] = {}


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a check.

    ``severity``, ``confidence``, ``layer``, ``spec``, ``cves``, ``needs`` and ``prefers`` override those of
    the rule. A ``timed`` detection waits until the clocks of the capture are known. ``tells`` are further
    paths that it is about, besides those of its evidence.

    ``explained_by`` is the id of the rule that reports the cause, ``cause`` the evidence of that rule;
    ``first`` is true if this detection says more than the cause. For a cause of a diagnosis, ``answered`` are
    the rules that report the same about the same hosts. ``segments`` says that the frames of its evidence
    carry segments, and not its records, which only say which capture it is.
    """

    message: str
    evidence: tuple[Evidence, ...]
    severity: Severity | None = None
    confidence: Confidence | None = None
    layer: Layer | None = None
    caveats: tuple[str, ...] = ()
    spec: tuple[SpecRef, ...] | None = None
    cves: tuple[str, ...] | None = None
    needs: tuple[Need, ...] | None = None
    prefers: tuple[Need, ...] | None = None
    timed: TimeComparison | None = None
    tells: tuple[str, ...] = ()
    explained_by: str | None = None
    cause: Evidence | None = None
    first: bool = False
    answered: tuple[str, ...] = ()
    segments: bool = False


ByClock = Callable[[Detection, TimeComparison, HostClock, Sequence[HostClock]], Detection | None]
"""Judges a timed detection again by the known clock of the sender; None drops it. The last argument are the
clocks that differ from the capture by the same time, `Clocks.common`."""
Check = Callable[[Any, Context], Iterable[Detection]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of findings.

    ``meaning`` says what a finding means, ``action`` what to do, ``harmless`` what else it may be. ``layer``
    says where the cause is. ``id`` never changes. ``spec`` are the sections behind the rule. ``cves`` are
    named only if a public description names the field. ``event`` is the Windows event that the receiver may
    log: provider and id, as ``MSMQ 2027``.

    A check over records takes records with one of ``types`` (empty: any) and, if there are ``codes``, with an
    anomaly or error of these codes. ``when`` limits the whole packets without a broken MUST: the check yields
    nothing for packets where it does not hold. Without ``when``, every packet is checked.

    ``behind`` are the ids of rules that say more about the same bytes; beside them, this rule yields only
    notes. ``explains`` are rules, or families such as ``FLG-``, that see the same cause in the same packet.
    ``explains_later`` are rules that see it in all later packets of the direction. The severity of explained
    findings does not change.

    ``needs`` are the parts of the capture that the rule needs around its first evidence. Without them, its
    findings are notes that say why, or are dropped if it is ``withheld``. Without the parts in ``prefers``,
    the severity is one step lower.

    ``conduct`` is set if the rule shows that a queue manager breaks the binary protocol: the name of the
    packet, such as ``SessionAck``. Replay reports these findings, too (`detection/conduct.py` lists the
    rules).

    ``standing`` is set if the rule is about the configuration of hosts, not about events. Its findings below
    high are one level lower in a digest, after the failures.

    ``by_clock`` judges timed detections at the end. ``suricata`` are the signatures for what one packet
    shows; ``without_suricata`` says why there are none, if the inputs of the rule do not show it.
    """

    id: str
    title: str
    severity: Severity
    confidence: Confidence = "certain"
    layer: Layer = "queue manager"
    spec: tuple[SpecRef, ...] = ()
    meaning: str
    action: str
    harmless: str = ""
    cves: tuple[str, ...] = ()
    event: str | None = None
    over: Over = "record"
    behind: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    explains_later: tuple[str, ...] = ()
    conduct: str = ""
    standing: bool = False
    needs: tuple[Need, ...] = ()
    prefers: tuple[Need, ...] = ()
    withheld: bool = False
    types: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    when: When | None = None
    exact: bool = False
    check: Check
    by_clock: ByClock | None = None
    suricata: tuple[SuricataSignature, ...] = ()
    without_suricata: str = ""

    def __repr__(self) -> str:
        return f"Rule({self.id})"

    @property
    def stem(self) -> str:
        """The name of its page, and of its module if it has its own: ``frm_sig`` for FRM-SIG."""
        return self.id.lower().replace("-", "_")

    @property
    def references(self) -> frozenset[str]:
        """The references in its texts: CVEs, and bulletins and articles of Microsoft."""
        texts = " ".join((self.title, self.meaning, self.action, self.harmless))
        return frozenset((*self.cves, *_REFERENCE.findall(texts)))


def evidence_of(
    record: Record, path: str = "", offset: int = 0, length: int = 0, data: bytes = b""
) -> Evidence:
    """A place in a record; without a path the record itself."""
    return Evidence(
        capture=record.capture,
        record=record.id,
        frames=record.frames,
        time=record.time,
        src=record.src,
        dst=record.dst,
        transport="udp" if record.stream is None else "tcp",
        path=path,
        offset=offset,
        length=length if path else record.length,
        data=data[:_SHOWN],
    )


def broken(record: Record, codes: tuple[str, ...]) -> Iterator[tuple[Anomaly, Evidence]]:
    """The anomalies of a record that have one of the codes, each with its place."""
    for anomaly in record.anomalies:
        if anomaly.code in codes:
            yield anomaly, evidence_of(record, anomaly.path, anomaly.offset, anomaly.length)
