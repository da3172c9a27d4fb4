"""Turns findings of session rules into deviations, as a replay reports them.

The rule kept here: no rule is written twice. A finding is told by its own rule; here it only gets the shape
of a deviation. What is no more than a note or a guess is none.
"""

from __future__ import annotations

from collections.abc import Mapping

from msmq_wire.detection.finding import Finding
from msmq_wire.detection.registry import RULES
from msmq_wire.detection.rule import Rule
from msmq_wire.records.endpoint import host_of
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation
from msmq_wire.replay.packet_deviations import INTERFACE

_IDS = """
    SES-NAKED SES-ORDER SES-GUID SES-OS SES-PAD SES-ACKBACK SES-COUNT SES-RECACK TXN-ACK PNG-COOKIE
"""
CONDUCT: Mapping[str, Rule] = {id_: RULES[id_] for id_ in _IDS.split()}
"""The session rules about queue managers that break the protocol, by id; no others are imported."""
_CONTRADICTED = {"SES-GUID": "C3", "TXN-ACK": "C6"}
"""Rules -> the row of docs/deviations.md about the value that they judge."""


def conduct_deviation(finding: Finding) -> ReplayDeviation | None:
    """A finding of one of these rules as a deviation; None for a note or a guess.

    ``kind`` is the id of the rule in lower case, ``server`` the queue manager that sent the packet.
    ``message`` says what was due, too.
    """
    place = finding.evidence[0]
    if finding.severity == "info" or finding.confidence == "guess" or place.record is None:
        return None
    document, section = _rests_on(finding.spec)
    contradiction = _CONTRADICTED.get(finding.id, "")
    return ReplayDeviation(
        kind=finding.id.lower(),
        record=place.record,
        capture=place.capture,
        frames=place.frames,
        time=place.time,
        src=place.src or "",
        dst=place.dst or "",
        stream=None,
        path=place.path,
        server=host_of(place.src),
        interface=INTERFACE,
        method=CONDUCT[finding.id].conduct,
        message=finding.message,
        expected="",
        came="",
        rule=ProcessingRule(document.removeprefix("MS-"), section),
        certain=finding.confidence == "certain" and not contradiction,
        contradiction=contradiction,
    )


def _rests_on(spec: str) -> tuple[str, str]:
    """The document and section of a finding: the first one about an action; otherwise the first."""
    sections = [one.partition("] ") for one in spec.removeprefix("[").split(", [")]
    document, _, section = next((one for one in sections if one[2].startswith("3.")), sections[0])
    return document, section
