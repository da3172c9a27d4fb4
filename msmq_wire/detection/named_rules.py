"""Rules by the ids, or the references in them, that somebody typed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from msmq_wire.detection.registry import RULES
from msmq_wire.detection.rule import Rule
from msmq_wire.errors import ArgumentError


def rules_named(ids: Iterable[str], *, also: Iterable[str] = ()) -> dict[str, Rule]:
    """The rules with these ids, in any case and with ``-`` or ``_``, in the order given.

    Raises ArgumentError, which names the ids that come close, ``also`` of these.
    """
    found = {}
    for text in ids:
        id_ = _plain(text)
        if id_ not in RULES:
            naming = [rule.id for rule in rules_that_name(text)]
            close = naming or get_close_matches(id_[:40], [*RULES, *also], n=3, cutoff=0.5)
            near = f"; did you mean {' or '.join(close)}?" if close else "; explain --list names all"
            raise ArgumentError(f"no rule is called {text!r}{near}")
        found[id_] = RULES[id_]
    return found


def rules_that_name(reference: str) -> list[Rule]:
    """The rules that name a CVE, or a bulletin or article of Microsoft: none for another text."""
    wanted = _plain(reference)
    # The id of a rule is none: nothing needs the other rules to know that.
    return [] if wanted in RULES else [rule for rule in RULES.values() if wanted in rule.references]


def _plain(text: str) -> str:
    return text.strip().upper().replace("_", "-")
