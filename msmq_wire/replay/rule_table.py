"""The table of processing rules: what the documents demand, and which check of a replay tests it.

The rule kept here: a row stands in the table of its interface, ``rules/<interface>.md``, and nobody types its
number: code asks by the name of a check. The cell "Check" holds the names of checks in code spans, or the
name of the reason why a breach is not told (`REASONS`). ``null-handle`` is the check of the method that the
section is about, ``R_StartTransactionalReceive next`` that of another method, too. A row of a section that is
about no method is that of all. Behind a check may stand the row of docs/deviations.md that contradicts it, in
brackets: `` `class` (K4)``. What such a check tells is likely at most. "Untested" says why no test of the
model is marked with the row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

import msgspec

from msmq_wire.replay.deviation import ProcessingRule
from msmq_wire.rpc.interfaces import METHODS
from msmq_wire.rpc.interfaces.method import Method
from msmq_wire.spec import SpecRef

PARTS = {
    "remote_read": "RemoteRead, [MS-MQRR]",
    "qm2qm": "qm2qm, [MS-MQQP]",
    "qmcomm": "qmcomm, [MS-MQMP]",
    "qmcomm2": "qmcomm2, [MS-MQMP]",
    "qmmgmt": "qmmgmt, [MS-MQMR]",
    "receive_current": "ReceiveCurrent_v1, [MC-MQAC]",
    "shared_events": "Shared events, [MS-MQDMPR]",
    "routing": "Routing, [MS-MQBR]",
    "binary": "Binary protocol, [MS-MQQB]",
    "srmp": "SRMP, [MC-MQSRM]",
}
JUDGED = ("remote_read", "qm2qm", "qmcomm", "qmcomm2", "qmmgmt", "receive_current")
"""The parts whose rows a replay checks, or says why not."""
FOUND = ("binary", "srmp")
"""The parts whose checks are rules of findings and codes of anomalies."""
REASONS = {
    "elsewhere": "it is told as the breach of another rule, which says the same of the same answer",
    "findings": "a finding or an anomaly tells it of the message alone",
    "unjudged": "it could be told by the answers, and is not yet",
    "server": "the answer is a failure, or rests on what only the server knows; which failure it is, the "
    "documents leave open",
    "state": "only what the server keeps changes; what comes of it is seen in later calls or packets, by "
    "their own rules",
    "values": "what the value should be is known only to who knows the message, the queue or the setting",
    "allowed": "the server may, should, or is free not to look: either is right",
    "ignored": "what is to be ignored shows only where the server fails for it, and why it fails is not told",
    "onward": "it is what the server asks of another server, whose client it is then; the answer does not "
    "show it",
    "runtime": "the RPC runtime refuses the call before the method, and some runtimes do not",
    "wire": "what the rule is about cannot be sent: a reference pointer is never NULL",
    "process": "it is about the process: how it listens, keeps its tables, keeps time, and what it does when "
    "a client is gone",
}
"""Why a breach is not told, by the name that stands in the cell."""

_NOTHING = "-"
_ID = re.compile(r"C?M[SQ][A-Z]*-[0-9.]+-[0-9]+")
_CHECK = re.compile(r"`([^`]+)`(?: \(([CRK][0-9]+)\))?")
_SYMBOL = re.compile(r"\b(?:(?:MQ|STATUS|RPC|E|S)_[A-Z_]+|nca_\w+)\b")
_CELLS = 6


class RuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: ``when`` it applies, what who is bound ``does``, and the ``reply`` ("-" for none).

    ``id`` is document, section and number, as ``MQRR-3.1.4.7-33``; it never becomes another's. ``heading`` is
    the title of its table. ``checks`` are the names of the checks that tell a breach, ``reason`` one of
    `REASONS` where none does, else empty. ``untested`` is empty where tests of the model are marked with it.
    ``contradictions`` are rows of docs/deviations.md by check; ``contradiction`` is that of the check by
    which the row was found, else empty.
    """

    id: str
    part: str
    heading: str
    when: str
    does: str
    reply: str
    checks: tuple[str, ...]
    reason: str
    untested: str
    contradictions: Mapping[str, str]
    contradiction: str = ""

    @property
    def rule(self) -> ProcessingRule:
        """Its number, as deviations name it."""
        prefix, section, number = self.id.removeprefix("C").split("-")
        return ProcessingRule(prefix, section, int(number))

    @property
    def due(self) -> str:
        """The reply in short: the first status that it names, or "a failure", or "a fault, ..."."""
        symbol = _SYMBOL.search(self.reply)
        # After "here" stands the choice of the model.
        if "failure HRESULT" in self.reply and (symbol is None or "here " in self.reply):
            return "a failure"
        if symbol is None:
            return self.reply
        return f"a fault, {symbol[0]}" if "RPC fault" in self.reply else symbol[0]

    @property
    def spec(self) -> SpecRef:
        """The section that it was read from."""
        return self.rule.spec

    @property
    def binds(self) -> str:
        """Whom: the server, the client, or a queue manager that routes or has sessions."""
        if self.part in ("routing", "binary"):
            return "queue manager"
        return "client" if self.id.startswith("C") else "server"

    @property
    def method(self) -> Method | None:
        """The method that its section is about; its role says what that does."""
        return _methods().get(self.spec)


@cache
def _methods() -> Mapping[SpecRef, Method]:
    return {method.spec: method for method in METHODS.values()}


def table_text(part: str) -> str:
    """The tables of a part as they stand in their file, Markdown."""
    # Deviations cite rules by their rows: who meets none waits for no table.
    from importlib import resources

    return (resources.files("msmq_wire.replay.rules") / f"{part}.md").read_text(encoding="utf-8")


def parse(part: str, text: str) -> Iterator[RuleRow]:
    """The rows in tables of Markdown. Raises ValueError at a row that is none."""
    heading = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif _ID.match(line, 2) and line.startswith("| "):
            cells = line[2:].removesuffix(" |").split(" | ")
            if len(cells) != _CELLS:
                raise ValueError(f"a row has {_CELLS} cells: {line}")
            id_, when, does, reply, check, untested = cells
            checks = dict(_CHECK.findall(check))
            reason = "" if checks or check == _NOTHING else check
            if reason and reason not in REASONS:
                raise ValueError(f"{id_}: {reason!r} is neither a check in a code span nor a reason")
            yield RuleRow(
                id=id_,
                part=part,
                heading=heading,
                when=when,
                does=does,
                reply=reply,
                checks=tuple(checks),
                reason=reason,
                untested="" if untested == _NOTHING else untested,
                contradictions={name: id_ for name, id_ in checks.items() if id_},
            )


@cache
def rows(part: str) -> tuple[RuleRow, ...]:
    """The rows of a part, in the order of its tables."""
    return tuple(parse(part, table_text(part)))


@cache
def all_rows() -> Mapping[str, RuleRow]:
    """Every row by its id."""
    return {row.id: row for part in PARTS for row in rows(part)}


@cache
def _checked() -> Mapping[str, Mapping[str, RuleRow]]:
    """Rows by name of the check, by method ("" for all). Raises ValueError where two rows have one check."""
    found: dict[str, dict[str, RuleRow]] = {"": {}}
    for row in (row for part in JUDGED for row in rows(part)):
        own = "" if row.method is None else row.method.name
        for check in row.checks:
            other, _, name = check.rpartition(" ")
            of_method = found.setdefault(other or own, {})
            if name in of_method:
                raise ValueError(f"{row.id} and {of_method[name].id} have one check, {check}")
            contradiction = row.contradictions.get(check, "")
            of_method[name] = (
                msgspec.structs.replace(row, contradiction=contradiction) if contradiction else row
            )
    return found


@cache
def checks_of(method: str) -> Mapping[str, RuleRow]:
    """The rows that a method is judged by, by name of the check: its own, and those of all methods."""
    return {**_checked()[""], **_checked().get(method, {})}


def find(check: str, method: str = "") -> RuleRow | None:
    """The row that a check is about: that of the method, or that of all; None where there is none."""
    return checks_of(method).get(check)


def row_of(check: str, method: str = "") -> RuleRow:
    """The same, of a check that has a row. Raises LookupError where there is none."""
    found = find(check, method)
    if found is None:
        raise LookupError(f"no row has the check {check!r} of {method or 'all'}")
    return found
