"""Rules by the ids that somebody typed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import typer

from msmq_wire.findings import RULES
from msmq_wire.findings.rule import Rule

__all__ = ["rules_named"]


def rules_named(ids: Iterable[str], hint: str) -> dict[str, Rule]:
    """The rules with these ids, in any case and with ``-`` or ``_``, in the order given.

    Raises typer.BadParameter, which names ``hint`` and the ids that come close.
    """
    found = {}
    for text in ids:
        id_ = text.strip().upper().replace("_", "-")
        if id_ not in RULES:
            close = get_close_matches(id_[:40], RULES, n=3, cutoff=0.5)
            near = f"; did you mean {' or '.join(close)}?" if close else "; explain --list names all"
            raise typer.BadParameter(f"no rule is called {text!r}{near}", param_hint=hint)
        found[id_] = RULES[id_]
    return found
