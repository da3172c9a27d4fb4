"""One large capture as several tasks: each reads all of it, and writes some of its tables.

What crosses conversations, and keeps a capture from being judged in parts: the lives of messages (hops,
acknowledgments, identifiers that two hosts use), transactional sequences, pings and earlier sessions of two
hosts, handles of remote reads, clocks of senders, what the capture lacks, 1,000 findings of a rule and the
causes behind findings; and the budget of what is followed, which a large capture uses up: what goes early is
judged as it stands then.

The rule kept here: nothing is told of a part of a capture. Every task decodes all frames in their order, so
ids, numbers of frames, damage and counts are those of one task; where two tasks did not see the same, the
file changed meanwhile, and one task decodes it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import maxsize

from msgspec.structs import replace

from msmq_wire.spark.capture_job import CaptureTask, TaskResult, TaskShare
from msmq_wire.tables.table_schemas import STORIES, TABLES

DIVIDED = 256 << 20
"""Bytes of a capture that is worth more than one task."""
_JUDGED = frozenset(("findings",))
_FOLLOWED = frozenset(STORIES) - _JUDGED
_MOST_TURNS = 4
"""Tasks that write records: each decodes all of them, which takes a fifth of the time of writing them."""


def shares_of(tables: Sequence[str], cores: int) -> tuple[TaskShare, ...]:
    """What each of the tasks writes that take about as long, the longest first; one if that is right.

    Judging takes as long as everything else, or longer, so two cores have one each.
    """
    judged, followed = (tuple(one for one in tables if one in kind) for kind in (_JUDGED, _FOLLOWED))
    others = tuple(one for one in tables if one not in STORIES)
    if cores == 2 and judged and followed:
        return TaskShare(judged, measured=True), TaskShare((*others, *followed))
    turns = min(cores, _MOST_TURNS) if not judged and not followed else 1
    records = [TaskShare(others, turn, turns) for turn in range(turns)] if others else []
    shares = [*(TaskShare(some) for some in (judged, followed) if some), *records]
    return replace(shares[0], measured=True), *shares[1:]


def divided(
    todo: Sequence[CaptureTask], tables: Sequence[str], cores: int
) -> tuple[list[list[CaptureTask]], list[CaptureTask]]:
    """The tasks of each capture that alone takes longer than all cores take for everything; the others."""
    shares = shares_of(tables, cores) if cores > 1 else ()
    mean = sum(one.capture.size for one in todo) // max(1, cores)
    least = max(DIVIDED, mean + 1) if len(shares) > 1 else maxsize
    large = [[replace(one, share=share) for share in shares] for one in todo if one.capture.size >= least]
    return large, [one for one in todo if one.capture.size < least]


def decode_all(
    run: Callable[[list[list[CaptureTask]]], Iterable[TaskResult]],
    parts: Sequence[Sequence[CaptureTask]],
    large: Sequence[Sequence[CaptureTask]],
) -> Iterator[TaskResult]:
    """Run tasks; yield what those did that decode whole captures, and all shares of a capture as one.

    ``parts`` are the captures of each task, ``large`` the shares of each capture that has some.
    """
    shares = {some[0].capture.name: some for some in large}
    ended: dict[str, list[TaskResult]] = {name: [] for name in shares}
    again = []
    for done in run([*([one] for some in large for one in some), *map(list, parts)]):
        name = done.entries[0].capture
        if name not in shares:
            yield done
            continue
        ended[name].append(done)
        if len(ended[name]) == len(shares[name]):
            whole = _joined(ended.pop(name))
            if whole is None:
                again.append([replace(shares[name][0], share=None)])
            else:
                yield whole
    if again:
        yield from run(again)


def _joined(shares: Sequence[TaskResult]) -> TaskResult | None:
    """What the tasks of a capture did together; None where they did not see the same."""
    written = {table for one in shares for table in one.entries[0].tables}
    tables = tuple(table for table in TABLES if table in written)
    rows: Counter[str] = Counter()
    more: dict[str, int] = {}
    seen = []
    for one in shares:
        (entry,) = one.entries
        rows.update(entry.rows)
        more |= entry.more
        seen.append(replace(entry, tables=(), rows={}, more={}))
    if any(entry != seen[0] for entry in seen):
        return None
    return TaskResult(
        [replace(seen[0], tables=tables, rows=dict(rows), more=more)],
        [file for one in shares for file in one.files],
    )
