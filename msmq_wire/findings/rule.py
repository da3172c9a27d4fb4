"""`Rule`: what is looked for, why it matters and what to do; its check yields what it saw.

The rule kept here: a check reads and remembers nothing. What must be known of earlier records it asks of the
`Context`, or it judges sessions, lives of messages or the whole story at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol

import msgspec

from msmq_wire.findings.finding import Confidence, Evidence, Severity
from msmq_wire.findings.guards import When
from msmq_wire.findings.suricata_signature import SuricataSignature
from msmq_wire.records.coverage import Need
from msmq_wire.records.record import Record
from msmq_wire.sessions.clocks import HostClock, Sender
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly

Over = Literal["record", "hop", "reply", "session", "life", "story", "cause"]
"""What a check takes: every record, every hop of a message, or every reply or packet that no rule of a
replay allows, as it comes; every session, every message or everything at the end; what the answers of a
diagnosis call wrong, and the digest counts. Hops are there only with a topology."""
_SHOWN = 64
_REFERENCE = re.compile(r"\b(?:CVE-\d{4}-\d{4,}|MS\d{2}-\d{3}|KB\d{6,})\b")


class Context(Protocol):
    """What a check over records may ask about what came before."""

    def started(self, record: Record) -> bool:
        """Whether the beginning of the connection of a record was captured."""

    def on_wire(self, record: Record) -> bool:
        """Whether a packet was sent over the binary protocol, and not read from a queue by a call."""

    def first_with_key(self, key: bytes, sender: str) -> str:
        """The first sender whose message had an encrypted session key: this one, if none had it before."""


class TimeComparison(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Two times that a check compared: SentTime by the clock of ``sender``, and the time of the capture.

    ``sent`` is in seconds, ``captured`` in nanoseconds; ``limits`` are the seconds that were over.
    """

    sender: Sender
    sent: int
    captured: int
    limits: dict[str, int] = {}


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """What one check saw once.

    ``severity``, ``confidence``, ``spec``, ``cves``, ``needs`` and ``prefers`` override the rule's.

    What is ``timed`` waits until the clocks of the capture are known.
    ``tells`` are the paths that it is about beside those of its evidence. ``explained_by`` is the id of the
    rule that tells the cause, ``cause`` where that one saw it, and ``first`` is what says more than it. What
    an answer of a diagnosis says is ``answered``: the rules that tell the same of the same hosts.
    """

    message: str
    evidence: tuple[Evidence, ...]
    severity: Severity | None = None
    confidence: Confidence | None = None
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


ByClock = Callable[[Detection, TimeComparison, HostClock], Detection | None]
"""What is left of what was seen by the clock of the sender, which is sure. The same is told once."""
Check = Callable[[Any, Context], Iterable[Detection]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule.

    ``meaning`` says what the observation means, ``action`` what to do, ``harmless`` what else it may be.

    ``id`` never changes. ``spec`` are the sections that it rests on. ``cves`` are named only where the public
    description gives the field. ``event`` is the Windows event that the receiver may log beside it, by
    provider and id, as ``MSMQ 2027``. A check over records is asked about those whose type is one of
    ``types`` (empty: any) and, where there are ``codes``, that have an anomaly or an error with one of these.
    ``when`` says of a packet that is whole and breaks no MUST whether the check can see anything in it: where
    it does not hold, the check yields nothing. Without it every one is asked.

    ``behind`` are the ids of rules that say more of the same bytes: where one of them does, what this rule
    sees is a note. ``explains`` are ids, or families as ``FLG-``, of rules that see nothing else than what
    this one tells, where they look at the same packet, and ``explains_later`` those of which that is so of
    all that comes the same way over the connection: what they see stays as grave as it is.

    ``needs`` are what has to have been captured around the first place of its evidence: where it was not,
    what this rule sees is a note, and says why, or nothing if it is to be ``withheld``. Without what it
    ``prefers`` it is a step less grave.

    ``conduct`` is given where the rule tells that a queue manager disobeys the binary protocol, which replay
    tells too (`findings/conduct.py` lists these rules): the packet in which it does, as ``SessionAck``.

    ``standing`` is given where the rule tells how hosts are set up, whatever happened in the capture: what it
    finds below high stands a level lower in a digest, behind what went wrong.

    ``by_clock`` is asked about what is timed, at the end.

    ``suricata`` is what Suricata can see of it in one packet; ``without_suricata`` is why that is nothing,
    where what the rule looks at does not say so.
    """

    id: str
    title: str
    severity: Severity
    confidence: Confidence = "certain"
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
        """The name of its page, and of its module if it has one of its own: ``frm_sig`` for FRM-SIG."""
        return self.id.lower().replace("-", "_")

    @property
    def references(self) -> frozenset[str]:
        """What it names of others: CVEs, and the bulletins and articles of Microsoft in its texts."""
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
