"""Where the bytes of a record were seen, of a capture that several vantage points recorded.

The rule kept here: a point that could not see the bytes is never said to lack them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

from msmq_wire.records.joined_capture import JoinedCapture, LocatedFile, Sight, joined_name

Sights: TypeAlias = tuple[tuple[str, Sight], ...]
"""The vantage points of a capture by name, each with what it saw."""


class _Placed(Protocol):
    @property
    def capture(self) -> str: ...
    @property
    def frames(self) -> tuple[int, ...]: ...


def point_names(capture: str) -> tuple[str, ...]:
    """What the vantage points of a capture are called; empty without any."""
    return tuple(map(joined_name, capture.point_files)) if isinstance(capture, JoinedCapture) else ()


def sights_of(capture: str, frames: Iterable[int]) -> Sights:
    """What each vantage point saw of the bytes in some frames of a capture; empty without points."""
    if not isinstance(capture, JoinedCapture) or not capture.point_files:
        return ()
    return tuple(zip(point_names(capture), capture.seen_at(frames), strict=True))


def is_partly(sights: Sights) -> bool:
    """Whether a point did not see all of it."""
    return any(one.extent != "whole" for _, one in sights)


def sight_texts(sights: Sights) -> tuple[str, ...]:
    """What each point saw, as the column ``seen_at`` has it: ``b.pcap: absent``."""
    return tuple(f"{point}: {_word(sight)}" for point, sight in sights)


def _word(sight: Sight) -> str:
    return sight.reason or "unknown" if sight.extent == "none" else sight.extent


def seen_at(record: _Placed) -> tuple[str, ...] | None:
    """The column ``seen_at`` of a record; None where there are no vantage points."""
    file, frames = record.capture, record.frames
    if isinstance(file, LocatedFile):
        return sight_texts(sights_of(file.of, file.frames)) or None if file.frames else None
    return sight_texts(sights_of(file, frames)) or None if frames else None


def seen_cell(row: Any) -> str:
    """The column in a table: ``both`` or ``all 3`` points saw all of it, or those that did not."""
    texts = row.get("seen_at") or ()
    whole = "both" if len(texts) == 2 else f"all {len(texts)}"
    return unseen_text(texts) or (whole if texts else "")


def unseen_text(texts: Iterable[str] | None) -> str:
    """The points that did not see all of it, of what the column ``seen_at`` has; empty where all did."""
    known = [text.rpartition(": ") for text in texts or ()]
    return ", ".join(_lacking(os.path.basename(point), word) for point, _, word in known if word != "whole")


def _lacking(point: str, word: str) -> str:
    return f"in part in {point}" if word == "part" else f"not in {point} ({word})"
