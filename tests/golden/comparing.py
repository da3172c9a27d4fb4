"""Two outputs beside each other, as text: what changed, and how many outputs changed alike."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

__all__ = ["Key", "differences"]

Key = tuple[str, str, str]
"""List, subject and form of an output."""

_LONG = 200
_BETWEEN = re.compile(r'(?<=[,{\[])(?=["{\[])|(?<=>)(?=<)')
_NAMED = 6
_MOST = 60


def differences(before: Mapping[Key, str], after: Mapping[Key, str]) -> Iterator[str]:
    """The lines of a report. Outputs that differ in the same lines are one part of it, with a count."""
    alike: dict[tuple[str, ...], list[Key]] = defaultdict(list)
    shown: dict[tuple[str, ...], list[str]] = {}
    for key in sorted({*before, *after}):
        lines = _diff(before.get(key), after.get(key))
        changed = tuple(line for line in lines if line.startswith(("+", "-")))
        if changed:
            alike[changed].append(key)
            shown.setdefault(changed, lines)
    for changed, keys in sorted(alike.items(), key=lambda one: -len(one[1])):
        yield f"== {len(keys)} {'output' if len(keys) == 1 else 'outputs'}: {_names(keys)}"
        lines = shown[changed]
        yield from lines[:_MOST]
        if len(lines) > _MOST:
            yield f"   ... {len(lines) - _MOST} lines more"
        yield ""


def _names(keys: list[Key]) -> str:
    named = "; ".join(" ".join(key) for key in keys[:_NAMED])
    return f"{named}; and {len(keys) - _NAMED} more" if len(keys) > _NAMED else named


def _diff(before: str | None, after: str | None) -> list[str]:
    if before is None or after is None:
        return ["+ a new output" if before is None else "- no such output any more"]
    _, _, *found = [*difflib.unified_diff(_lines(before), _lines(after), n=2, lineterm="")] or ("", "")
    return [line for line in found if not line.startswith("@@")]


def _lines(text: str) -> list[str]:
    """Lines that fit on a screen: what programs read has long ones."""
    return [
        part
        for line in text.splitlines()
        for part in (_BETWEEN.split(line) if len(line) > _LONG else (line,))
    ]
