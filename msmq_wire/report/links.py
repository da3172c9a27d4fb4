"""Where a page tells more: the anchors of findings, sessions and messages, and links to them.

The rule kept here: an anchor is made of what it names and can be quoted; nothing is linked that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from msmq_wire.detection import Evidence
from msmq_wire.detection.folding import FindingGroup
from msmq_wire.markup import Markup, tag
from msmq_wire.report.totals import Totals
from msmq_wire.sessions import Session

_MOST_LINKS = 4
_UNSAFE = re.compile(r"[^A-Za-z0-9.:_]+")


def anchor(*parts: object) -> str:
    """An identifier of these parts; what an address of a page does not take is a dash."""
    return "-".join(_UNSAFE.sub("-", str(part)[:100]).strip("-") or "x" for part in parts)


class PageLinks:
    """Knows what the page has: rows of messages and sessions, and the findings in ``groups``."""

    def __init__(self, totals: Totals, sessions: Sequence[Session], groups: Iterable[FindingGroup]) -> None:
        self.messages: Collection[int] = {row.id for row in totals.rows}
        self.sessions: Collection[int] = {session.number for session in sessions}
        self._of_records: dict[int, int] = {}
        self._of_ends: dict[tuple[str, frozenset[str]], list[Session]] = {}
        for session in sessions:
            for moment in _moments(session):
                self._of_records.setdefault(moment, session.number)
            ends = session.capture, frozenset((session.client, session.server))
            self._of_ends.setdefault(ends, []).append(session)
        self._anchors: dict[tuple[str, str], str] = {}
        self._rules: dict[str, str] = {}
        self._hosts: dict[tuple[str, str], str] = {}
        taken: set[str] = set()
        for group in groups:
            for one in (group, *group.all_explained):
                made = wanted = anchor("finding", one.lead.id, *([one.sender] if one.sender else []))
                number = 1
                while made in taken:
                    number += 1
                    made = f"{wanted}-{number}"
                taken.add(made)
                self._anchors[one.id, one.lead.id] = made
                self._rules.setdefault(one.lead.id, made)
                for host in one.hosts:
                    self._hosts.setdefault((one.lead.id, host), made)

    def finding(self, group: FindingGroup) -> str:
        """The anchor of what the rule of a group said."""
        return self._anchors[group.id, group.lead.id]

    def of_rule(self, rule: str, who: Sequence[str]) -> Markup | None:
        """A link to what a rule said of somebody."""
        known = (self._hosts.get((rule, host)) for host in who)
        found = next((one for one in known if one is not None), self._rules.get(rule))
        return None if found is None else tag("a", f"finding {rule}", href=f"#{found}")

    def of_records(self, records: Iterable[int]) -> Markup | None:
        """Links to messages and sessions that records are, or are part of."""
        links: dict[str, str] = {}
        for record in records:
            if record in self.messages:
                links[f"#message-{record}"] = f"message {record}"
            elif record in self._of_records:
                number = self._of_records[record]
                links[f"#session-{number}"] = f"session {number}"
        return _listed(links)

    def of_place(self, place: Evidence) -> Markup | None:
        """Links to the message and the session of a place."""
        links: dict[str, str] = {}
        if place.record in self.messages:
            links[f"#message-{place.record}"] = f"message {place.record}"
        ends = place.capture, frozenset((place.src or "", place.dst or ""))
        sessions = [one for one in self._of_ends.get(ends, ()) if (one.first.time or 0) <= (place.time or 0)]
        if sessions:
            links[f"#session-{sessions[-1].number}"] = f"session {sessions[-1].number}"
        return _listed(links)


def _listed(links: dict[str, str]) -> Markup | None:
    if not links:
        return None
    shown = [tag("a", words, href=href) for href, words in list(links.items())[:_MOST_LINKS]]
    rest = len(links) - len(shown)
    return tag("span", *shown, f"and {rest:,} more" if rest else None, class_="links")


def _moments(session: Session) -> Iterator[int]:
    for moment in (
        *(session.first, session.last, session.syn, session.syn_ack, session.opened, session.close),
        *(session.establish_request, session.establish_response),
        *(session.parameters_request, session.parameters_response),
        *(note.first for note in session.notes),
        *(one.waiting_since for one in session.directions),
        *(one.longest_wait_at for one in session.directions),
    ):
        if moment is not None:
            yield moment.record
