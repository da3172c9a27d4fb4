"""Generated blocks inside pages written by hand, and the Markdown they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["code", "filled", "page", "table"]

_MARKS = {"<!--": "<!-- {} -->", "#": "  # {}"}
"""How a comment that marks a block is written, by how it begins."""
_MARK = "generated: (?P<name>[\\w-]+)"
_END = "end of generated part"


def _block(name: str, content: str, mark: str = "<!--") -> str:
    gap = "\n" if mark == "#" else "\n\n"
    around = _MARKS[mark].format(f"generated: {name}"), _MARKS[mark].format(_END)
    return gap.join((around[0], content.strip("\n"), around[1]))


def filled(text: str, blocks: dict[str, str], mark: str = "<!--") -> str:
    """The page with its blocks replaced. Raises ValueError when it has other blocks than those."""
    begin, end = _MARKS[mark].format(_MARK), _MARKS[mark].format(_END)
    pattern = re.compile(rf"^{begin}\n.*?^{end}$", re.DOTALL | re.MULTILINE)
    found = [match["name"] for match in pattern.finditer(text)]
    if sorted(found) != sorted(blocks):
        raise ValueError(f"blocks {found} in a page where {sorted(blocks)} belong: {text[:60]!r}")
    return pattern.sub(lambda match: _block(match["name"], blocks[match["name"]], mark), text)


def page(title: str, blocks: dict[str, str]) -> str:
    """A new page: the title and its blocks."""
    return "\n\n".join((f"# {title}", *(_block(name, text) for name, text in blocks.items()))) + "\n"


def code(text: object) -> str:
    """A code span."""
    return f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; columns that are empty in every row are left out."""
    body = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    used = [index for index in range(len(head)) if any(row[index] for row in body)]
    lines = [[head[index] for index in used], ["---"] * len(used)]
    lines += [[row[index] for index in used] for row in body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
