"""What findings say of causes: folded, with the connections that they are about.

The rule kept here: a connection on which something hostile was sent has one cause, and that is who sent it.
Counts and lists have limits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msmq_wire.findings.finding import SEVERITIES, Finding
from msmq_wire.findings.folding import MOST_GROUPS, Fold, Group

__all__ = ["SCANNERS", "Connection", "Suspects", "connection_of"]

SCANNERS = "FPR-"
"""How the ids of the rules begin that know a scanner by its packets."""
Connection = tuple[str, str]
"""The ends of a connection, in one order whoever sends."""
_FROM = SEVERITIES.index("low")
_MOST_CONNECTIONS = 4096
_MOST_OF_A_GROUP = 64
_MOST_TOLD = 65_536
_REPLIES = "RPL-"


def connection_of(one: str | None, other: str | None) -> Connection:
    """The connection between two ends."""
    first, last = sorted((one or "", other or ""))
    return first, last


class Suspects:
    """Takes findings; keeps those at low and above, folded, and the connections that show something hostile.

    Hostile is what is of high severity, and what looks like a scanner; a server that breaks its own rules is
    not.
    """

    def __init__(self) -> None:
        self._fold = Fold()
        self._of_group: dict[str, dict[Connection, None]] = {}
        self._senders: dict[Connection, str] = {}
        self._told: set[Connection] = set()

    def feed(self, findings: Iterable[Finding]) -> None:
        """Take some findings."""
        for finding in findings:
            if finding.rank < _FROM:
                continue
            self._fold.add(finding)
            connections = [connection_of(place.src, place.dst) for place in finding.evidence]
            if finding.group in self._of_group or len(self._of_group) < MOST_GROUPS:
                known = self._of_group.setdefault(finding.group, {})
                if len(self._told) < _MOST_TOLD:
                    self._told.update(connections)
                for connection in connections:
                    if len(known) < _MOST_OF_A_GROUP:
                        known[connection] = None
            hostile = finding.severity == "high" and not finding.id.startswith(_REPLIES)
            if (hostile or finding.id.startswith(SCANNERS)) and len(self._senders) < _MOST_CONNECTIONS:
                self._senders.setdefault(connections[0], finding.sender)

    def hostile(self, one: str | None, other: str | None) -> bool:
        """Whether something hostile was sent between two ends."""
        return connection_of(one, other) in self._senders

    def connections(self, group: Group) -> Collection[Connection]:
        """The connections that a group is about, the first of many."""
        return self._of_group.get(group.id, {})

    def told(self, one: str | None, other: str | None) -> bool:
        """Whether a finding is about what two ends sent."""
        return connection_of(one, other) in self._told

    def groups(self) -> tuple[Group, ...]:
        """What was found, folded, the gravest first."""
        return self._fold.groups()

    def sender(self, group: Group) -> str | None:
        """Who sent something hostile on all connections of a group; None where that is not the cause."""
        of_group = self._of_group.get(group.id, {})
        senders = {self._senders.get(one) for one in of_group}
        if len(of_group) < _MOST_OF_A_GROUP:
            return senders.pop() if len(senders) == 1 else None
        return group.sender if group.sender in senders else None
