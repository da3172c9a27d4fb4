"""Names of captures, shortened to what tells them apart.

The rule kept here: a short name stands for one file of those that are read, and is a part of its name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PARTS = re.compile(r"([/\\_.\-]+)")


def short_names(names: Sequence[str]) -> dict[str, str]:
    """By name what is left of it without the folders, words and endings that all have; one name stays whole.

    A single name, which nothing is told apart from, loses its folders.
    """
    distinct = list(dict.fromkeys(names))
    if len(distinct) < 2:
        return {name: re.split(r"[/\\]", name)[-1] or name for name in distinct}
    # Every other part is a separator; what is common ends at one.
    parts = [_PARTS.split(name) for name in distinct]
    shortest = min(map(len, parts)) // 2
    before = next(
        (at for at in range(shortest) if len({tuple(one[2 * at : 2 * at + 2]) for one in parts}) > 1),
        shortest,
    )
    while before and any("." in one[2 * before - 1] for one in parts):
        # What is left would be the ending of a name.
        before -= 1
    rest = shortest - before
    after = next(
        (at for at in range(rest) if len({tuple(one[-2 * at - 2 :][:2]) for one in parts}) > 1), rest
    )
    short = ["".join(one[2 * before : len(one) - 2 * after]) for one in parts]
    whole = len(set(short)) == len(distinct) and all(short)
    return dict(zip(distinct, short if whole else distinct, strict=True))
