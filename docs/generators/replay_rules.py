"""Which rules of servers a replay tells the breach of, and why not the others: read from beside the tests."""

from __future__ import annotations

import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import msmq_wire
from docs.generators.markers import table
from docs.generators.spec_coverage import PARTS

__all__ = ["CAUGHT", "JUDGED", "block", "classes", "reasons"]

# A copy of the documentation has no tests beside it.
_RULES = Path(msmq_wire.__file__).resolve().parents[1] / "tests" / "replay" / "broken_rules"
CAUGHT = "caught"
JUDGED = ("remote_read", "qm2qm", "qmcomm", "qmcomm2", "receive_current")
"""The parts whose rules are classified."""


@cache
def reasons() -> dict[str, str]:
    """Why a breach is not told, by the name of the reason."""
    return tomllib.loads((_RULES / "reasons.toml").read_text(encoding="utf-8"))


@cache
def classes(part: str) -> dict[str, list[str]]:
    """The rules of a part by what becomes of their breach: `CAUGHT`, or the name of a reason."""
    found: dict[str, list[str]] = {}
    sections = tomllib.loads((_RULES / f"{part}.toml").read_text(encoding="utf-8"))
    for section, rows in sections.items():
        for name, spans in rows.items():
            found.setdefault(name, []).extend(
                f"{section}-{row}" for span in spans.split() for row in _rows(span)
            )
    return found


def _rows(span: str) -> range:
    first, _, last = span.partition("-")
    return range(int(first), int(last or first) + 1)


def block() -> str:
    """How many rules of each part are told, and how many are not, by reason."""
    counts = {part: Counter({name: len(rules) for name, rules in classes(part).items()}) for part in JUDGED}
    titles = {CAUGHT: "A breach is told; a test breaks each"} | {
        name: text[0].upper() + text[1:] for name, text in reasons().items()
    }
    rows = [
        (title, *(str(counts[part][name]) for part in JUDGED))
        for name, title in titles.items()
        if any(counts[part][name] for part in JUDGED)
    ]
    rows.append(("All rules of the server", *(str(counts[part].total()) for part in JUDGED)))
    return table(("What becomes of a breach", *(PARTS[part].partition(",")[0] for part in JUDGED)), rows)
