"""The lists of digests, one a command, and the screens that are kept as text beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["FOLDER", "Digests", "Found", "kept", "write"]

FOLDER = Path(__file__).resolve().parent
_LISTS, _SCREENS = FOLDER / "lists", FOLDER / "screens"
_REASON, _NOT_THERE = "# ", "-"
_NO_NAME = re.compile(r"[^\w.-]+")

Digests = dict[tuple[str, str], str]
"""The digests of one list, by subject and form."""


class Found(NamedTuple):
    """What a list holds, or would hold: digests, and the text of its screens by their file."""

    digests: Digests
    screens: dict[str, str]


def screen_name(subject: str, form: str) -> str:
    """The file of a screen, below the folder of its list."""
    return f"{_NO_NAME.sub('_', f'{subject} {form}')}.txt"


def groups() -> set[str]:
    """The lists that are kept."""
    return {path.stem.replace("+", " ") for path in _LISTS.glob("*.txt")}


def _places(group: str) -> tuple[Path, Path]:
    """The file of a list, and the folder of its screens."""
    name = group.replace(" ", "+")
    return _LISTS / f"{name}.txt", _SCREENS / name


def kept(group: str) -> Found:
    """What is kept of a list; nothing where there is none yet."""
    path, folder = _places(group)
    digests = {}
    if path.is_file():
        lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith(_REASON)]
        _, *forms = lines[0].split("\t")
        for line in lines[1:]:
            subject, *cells = line.split("\t")
            for form, cell in zip(forms, cells, strict=True):
                if cell != _NOT_THERE:
                    digests[subject, form] = cell
    screens = {one.name: one.read_text("utf-8") for one in sorted(folder.glob("*.txt"))}
    return Found(digests, screens)


def write(group: str, found: Found, reason: str) -> None:
    """Keep a list and its screens, behind the reasons of before and a new one."""
    path, folder = _places(group)
    before = path.read_text("utf-8").splitlines() if path.is_file() else []
    reasons = [line for line in before if line.startswith(_REASON)]
    forms = list(dict.fromkeys(form for _, form in found.digests))
    rows = ["\t".join(("subject", *forms))]
    for subject in dict.fromkeys(subject for subject, _ in found.digests):
        cells = (found.digests.get((subject, form), _NOT_THERE) for form in forms)
        rows.append("\t".join((subject, *cells)))
    path.parent.mkdir(exist_ok=True)
    _save(path, (*reasons, f"{_REASON}{reason}", *rows))
    for old in folder.glob("*.txt"):
        old.unlink()
    for name, text in found.screens.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8", newline="\n")


def _save(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
