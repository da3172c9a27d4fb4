"""Generated blocks inside pages written by hand, and the Markdown they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["code", "filled", "page", "table"]

_END = "<!-- end of generated part -->"
_BLOCK = re.compile(r"<!-- generated: (?P<name>[\w-]+) -->\n.*?" + re.escape(_END), re.DOTALL)


def _block(name: str, content: str) -> str:
    return f"<!-- generated: {name} -->\n\n{content.strip()}\n\n{_END}"


def filled(text: str, blocks: dict[str, str]) -> str:
    """The page with its blocks replaced. Raises ValueError when it has other blocks than those."""
    found = [match["name"] for match in _BLOCK.finditer(text)]
    if sorted(found) != sorted(blocks):
        raise ValueError(f"blocks {found} in a page where {sorted(blocks)} belong: {text[:60]!r}")
    return _BLOCK.sub(lambda match: _block(match["name"], blocks[match["name"]]), text)


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
