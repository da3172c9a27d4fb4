"""What a shell is offered for values: ids of rules, vulnerabilities, columns, what is redacted.

The rule kept here: nothing is imported before a shell asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from typer import Context


def rule_ids(incomplete: str) -> list[str]:
    """The ids of rules of findings that begin so."""
    from msmq_wire.detection import RULES

    return [id_ for id_ in RULES if id_.startswith(incomplete)]


def explainable(incomplete: str) -> list[str]:
    """The ids of rules, and the vulnerabilities, that begin so."""
    from msmq_wire.detection.vulnerabilities import REFERENCES

    return rule_ids(incomplete) + [name for name in REFERENCES if name.startswith(incomplete)]


def column_names(context: Context, incomplete: str) -> list[str]:
    """The columns of a command, behind those that were typed already."""
    names = _COLUMNS.get(context.info_name or "")
    return [] if names is None else _last(incomplete, ("all", *names()), "+-")


def redactions(incomplete: str) -> list[str]:
    """What can be left out, behind what was typed already."""
    from msmq_wire.report.redaction.redactor import Redaction

    return _last(incomplete, Redaction)


def _of_messages() -> Iterable[str]:
    from msmq_wire.records.outcome import OUTCOME

    return [*_of_each_message(), OUTCOME.name]


def _of_each_message() -> Iterable[str]:
    from msmq_wire.records.message import COLUMNS

    return [one.name for one in COLUMNS]


def _of_calls() -> Iterable[str]:
    from msmq_wire.records.call import CALL_COLUMNS

    return [one.name for one in CALL_COLUMNS]


def _of_records() -> Iterable[str]:
    from msmq_wire.records.column import RECORD_COLUMNS

    return dict.fromkeys((*(one.name for one in RECORD_COLUMNS), *_of_each_message(), *_of_calls()))


def _of_findings() -> Iterable[str]:
    from msmq_wire.detection.columns import FINDING_COLUMNS

    return [one.name for one in FINDING_COLUMNS]


_COLUMNS: Mapping[str, Callable[[], Iterable[str]]] = {
    "messages": _of_messages,
    "calls": _of_calls,
    "decode": _of_records,
    "findings": _of_findings,
}


def _last(incomplete: str, names: Iterable[str], signs: str = "") -> list[str]:
    """The names that the last word of a list may become, each with the words before it; a sign stays."""
    before, comma, word = incomplete.rpartition(",")
    sign = word[:1] if word and word[0] in signs else ""
    return [f"{before}{comma}{sign}{name}" for name in names if name.startswith(word.removeprefix(sign))]
