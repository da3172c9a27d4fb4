"""What is counted while captures are read one after the other, and why one of them holds nothing of MSMQ."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from msmq_wire.capture.capture_summary import Summary
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.records.body_keys import OpenedBody
from msmq_wire.records.other_ports import UNKNOWN_CALLS

_REASONS = 6
_SHOWN = 2
CONNECTION = re.compile(r"(?:(\S+:\d+ to \S+:\d+)|DCE/RPC): ")
"""How a notice about a connection begins; all others are counted."""


class CaptureCounts(msgspec.Struct, eq=False):
    """What was counted in the files that were read so far.

    ``status`` is the exit status. ``frames`` were read, ``understood`` of them belong to MSMQ and ``skipped``
    do not, by reason; ``copies`` of them were left out beside that, because another vantage point has them,
    too; ``bytes`` are those of the files. ``packets`` counts records by type, ``sealed`` the
    calls that were not opened, ``bodies`` encrypted bodies by the reason that they were not
    opened (empty: opened), ``doubtful`` those opened without a check. ``notices`` are those of the reader.
    """

    status: int = 0
    sealed: int = 0
    doubtful: int = 0
    frames: int = 0
    copies: int = 0
    understood: int = 0
    bytes: int = 0
    bodies: Counter[str] = msgspec.field(default_factory=Counter)
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    packets: Counter[str] = msgspec.field(default_factory=Counter)
    notices: Counter[str] = msgspec.field(default_factory=Counter)

    def take(self, summary: Summary) -> None:
        """Take what the reader of a capture counted, but for its frames: those are of each file."""
        self.understood += summary.understood
        self.skipped.update(summary.skipped)
        self.packets.update(summary.packets)
        self.notices.update(summary.notices)

    @property
    def may_hide_msmq(self) -> Counter[str]:
        """What was skipped and may hold MSMQ: tunnels, link types and protocols that are not read."""
        return Counter(
            {
                why: count
                for why, count in self.skipped.items()
                if "not read" in why or why.startswith("link type")
            }
        )

    @property
    def notice_texts(self) -> tuple[str, ...]:
        """The notices, those that are not about a connection with their number."""
        return tuple(
            notice if CONNECTION.match(notice) else f"{number} {notice}"
            for notice, number in self.notices.items()
        )

    def take_opened(self, found: OpenedBody) -> None:
        """Count a body that a key opened, or that it did not by the reason."""
        self.bodies[found.why] += 1
        self.doubtful += found.doubtful

    def add(self, other: CaptureCounts) -> None:
        """Add what was counted in other files."""
        for name, count in msgspec.structs.asdict(other).items():
            own = getattr(self, name)
            if isinstance(own, Counter):
                own.update(count)
            else:
                setattr(self, name, max(own, count) if name == "status" else own + count)


def nothing_found(reader: CaptureReader, frames: int) -> str:
    """Why a capture of so many frames is without a record: what else is in it."""
    summary = reader.summary
    if not summary.understood:
        why = f" ({most_text(summary.skipped, _SHOWN)})" if summary.skipped else ""
        return f"no MSMQ traffic in {_counted(frames, 'frame')}{why}"
    if not reader.on_ports:
        whole = _counted(frames, "frame")
        unknown = summary.notices[UNKNOWN_CALLS]
        if unknown:
            return f"{_counted(unknown, 'call')} in {whole} may be of MSMQ: no interface was captured"
        return f"no MSMQ traffic in {whole}: the calls and HTTP requests in it are of others"
    return f"no packets, but {_counted(summary.understood, 'frame')} of connections to ports of MSMQ"


def most_text(counts: Counter[str], most: int = _REASONS) -> str:
    """What was counted most, and how much else there was."""
    shown = dict(counts.most_common(most))
    rest = sum(counts.values()) - sum(shown.values())
    text = ", ".join(f"{count} {name}" for name, count in shown.items())
    return text + (f", {rest} other" if rest else "")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
