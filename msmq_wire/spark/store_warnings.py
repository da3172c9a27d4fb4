"""What a store of tables will hold after a run that its readers may not expect: told before it is done.

The rule kept here: a capture is known by its path and by the options it was read with. Where that is not what
people mean by "the same capture", a line says so; nothing is decided here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msmq_wire
from msmq_wire.spark.captures import Capture, CaptureFile
from msmq_wire.spark.landing import fingerprint
from msmq_wire.spark.ledger import Entry, Ledger
from msmq_wire.spark.read_options import ReadOptions

__all__ = ["store_warnings"]

_HEAD = 1 << 12
_WHOLE = 1 << 62


def store_warnings(
    ledger: Ledger, captures: Sequence[Capture], todo: Sequence[Capture], options: ReadOptions, key: str
) -> Iterator[str]:
    """Yield a line for each thing about ``captures``, of which ``todo`` will be decoded with ``options``.

    ``key`` stands for the options, as in `Entry.options`.
    """
    entries = ledger.entries
    again = {capture.name for capture in todo}
    kept = [
        entries[capture.name]
        for capture in captures
        if capture.name not in again and entries[capture.name].version != msmq_wire.__version__
    ]
    for version, count in sorted(Counter(entry.version for entry in kept).items()):
        yield (
            f"{_counted(count)} left alone, decoded by msmq-wire {version or 'of an older version'}; "
            f"this is {msmq_wire.__version__}: --force decodes them again"
        )
    replaced = [name for name in sorted(again & entries.keys()) if entries[name].options != key]
    if replaced:
        yield (
            f"{_counted(len(replaced))} in the tables, read with other options or for other tables "
            f"({_some(replaced)}): the rows of this run take their place"
        )
    twice = dict(_twice(entries, captures, again - entries.keys()))
    if twice:
        pairs = [f"{one} as {other}" for one, other in twice.items()]
        yield (
            f"{_counted(len(twice))} there under another name ({_some(pairs)}): "
            "the rows are in the tables twice"
        )
    gone = sorted(_gone(entries, captures, options.paths))
    if gone:
        yield f"{_counted(len(gone))} gone from the folders ({_some(gone)}): the rows stay in the tables"


def _twice(
    entries: Mapping[str, Entry], captures: Sequence[Capture], new: set[str]
) -> Iterator[tuple[str, str]]:
    """The files of ``new`` captures whose content is in another capture, with that file."""
    added = [file for capture in captures if capture.name in new for file in capture.files]
    sizes = {file.size for file in added if file.error is None and file.size}
    held = [file for entry in entries.values() for file in entry.sources]
    files = [file for file in (*held, *added) if file.error is None and file.size in sizes]
    # Files of a ring buffer may be of one size: of most, a few bytes are enough.
    for alike in _grouped(files, _HEAD):
        for same in _grouped(alike, _WHOLE):
            for file in same[1:]:
                if file in added:
                    yield file.path, same[0].path


def _grouped(files: Iterable[CaptureFile], first: int) -> list[list[CaptureFile]]:
    """Files that have the same size and begin with the same bytes; what nothing is like is left out."""
    groups: dict[tuple[int, str], list[CaptureFile]] = {}
    for file in files:
        mark = fingerprint(file.path, min(file.size, first))
        if mark is not None:
            groups.setdefault((file.size, mark), []).append(file)
    return [group for group in groups.values() if len(group) > 1]


def _gone(entries: Mapping[str, Entry], captures: Sequence[Capture], paths: Iterable[str]) -> Iterator[str]:
    """Captures that tables hold from below the folders that are read, and that are not there any more."""
    folders = tuple(os.path.join(path, "") for path in paths if os.path.isdir(path))
    there = {file.path for capture in captures for file in capture.files}
    for name, entry in entries.items():
        for file in entry.sources:
            if file.path.startswith(folders) and file.path not in there and not os.path.lexists(file.path):
                yield name
                break


def _counted(count: int) -> str:
    return "1 capture is" if count == 1 else f"{count} captures are"


def _some(names: Sequence[str]) -> str:
    more = len(names) - 1
    return f"{names[0]} and {more} more" if more else names[0]
