"""What is counted while captures are read, and the parts of the summary line that say so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import msgspec

from msmq_wire.capture.reader import CaptureReader, Summary
from msmq_wire.cli.render.value_text import count_text
from msmq_wire.cli.secret_options import KEY_OPTIONS
from msmq_wire.records.body_keys import OpenedBody
from msmq_wire.records.other_ports import NOT_MSMQ, UNKNOWN_CALLS

_REASONS = 6
_CONNECTION = re.compile(r"(?:(\S+:\d+ to \S+:\d+)|DCE/RPC): ")


class ReadCounts(msgspec.Struct, eq=False):
    """What was counted in the files that were read so far.

    ``status`` is the exit status. ``frames`` were read, ``understood`` of them belong to MSMQ and ``skipped``
    do not, by reason; ``bytes`` are those of the files. ``packets`` counts records by type, ``sealed`` the
    calls that were not opened, ``bodies`` encrypted bodies by the reason that they were not opened (empty:
    opened), ``doubtful`` those opened without a check. ``notices`` are those of the reader.
    """

    status: int = 0
    sealed: int = 0
    doubtful: int = 0
    frames: int = 0
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

    def take_opened(self, found: OpenedBody) -> None:
        """Count a body that a key opened, or that it did not by the reason."""
        self.bodies[found.why] += 1
        self.doubtful += found.doubtful

    def add(self, other: ReadCounts) -> None:
        """Add what was counted in other files."""
        for name, count in msgspec.structs.asdict(other).items():
            own = getattr(self, name)
            if isinstance(own, Counter):
                own.update(count)
            else:
                setattr(self, name, max(own, count) if name == "status" else own + count)

    def frames_text(self, *, verbose: bool) -> str:
        """How many frames were read and skipped; ``verbose`` adds those understood, reasons and packets."""
        skipped = self.skipped.total()
        text = f"{count_text(self.frames, 'frame')} read"
        if verbose:
            text += f", {self.understood} understood"
        if skipped:
            text += f", {skipped} skipped"
        # What is in a tunnel or behind a link type that is not read may be MSMQ: that is told to everybody.
        reasons = self.skipped if verbose else Counter(_may_hide_msmq(self.skipped))
        text += f" ({most_text(reasons)})" if reasons else ""
        if verbose:
            packets = {type_: count for type_, count in self.packets.items() if count}
            text += f"; {_counts_text(packets)}" if packets else "; no packets"
        return text

    def closed_text(self, *, key_options: bool) -> str:
        """How many calls and bodies stayed closed; ``key_options`` adds which options open calls."""
        text = ""
        if self.sealed:
            text += f"; {count_text(self.sealed, 'call')} sealed"
            if key_options:
                text += f": {KEY_OPTIONS} opens them"
        if self.bodies:
            text += f"; {self.bodies['']} of {self.bodies.total()} encrypted bodies opened"
            if self.doubtful:
                text += f", {self.doubtful} of them doubtful: nothing confirms what RC4 gave"
            not_opened = Counter({why: count for why, count in self.bodies.items() if why})
            if not_opened:
                text += f" ({most_text(not_opened)})"
        return text

    def notices_text(self, *, anonymous: bool) -> str:
        """The notices, those of connections once for all of them.

        What a notice says of a connection may name an account, so ``anonymous`` shows none of it.
        """
        notices = _by_connection(self.notices, anonymous=anonymous)
        return f"; {', '.join(notices)}" if notices else ""


def _by_connection(notices: Counter[str], *, anonymous: bool) -> list[str]:
    connections: dict[str, list[str]] = {}
    others: Counter[str] = Counter()
    for notice, count in notices.items():
        match = _CONNECTION.match(notice)
        if match is None:
            others[notice] += count
            continue
        note = "notices that may name hosts are not shown" if anonymous else notice[match.end() :]
        where = connections.setdefault(note, [])
        if match[1] and not anonymous:
            where.append(match[1])
    texts = [most_text(others)] if others else []
    for note, where in list(connections.items())[:_REASONS]:
        place = where[0] if len(where) == 1 else count_text(len(where), "connection")
        texts.append(f"{note} ({place})" if where else note)
    if len(connections) > _REASONS:
        texts.append(f"{count_text(len(connections) - _REASONS, 'other notice')}")
    return texts


def _may_hide_msmq(skipped: Mapping[str, int]) -> dict[str, int]:
    """What was skipped and may hold MSMQ: tunnels, link types and protocols that are not read."""
    return {why: count for why, count in skipped.items() if "not read" in why or why.startswith("link type")}


def nothing_found(reader: CaptureReader, frames: int, *, streams: bool) -> str:
    """Why a capture of so many frames is without a record: what else is in it, and what would show it."""
    summary = reader.summary
    if not summary.understood:
        why = f" ({most_text(summary.skipped, 2)})" if summary.skipped else ""
        way = "; to decode a port anyway: --decode-as PORT=AS" if summary.skipped[NOT_MSMQ] else ""
        return f"no MSMQ traffic in {count_text(frames, 'frame')}{why}{way}"
    if not reader.on_ports:
        whole = count_text(frames, "frame")
        unknown = summary.notices[UNKNOWN_CALLS]
        if unknown:
            calls = count_text(unknown, "call")
            return f"{calls} in {whole} may be of MSMQ: no interface was captured"
        return f"no MSMQ traffic in {whole}: the calls and HTTP requests in it are of others"
    text = f"no packets, but {count_text(summary.understood, 'frame')} of connections to ports of MSMQ"
    return text if streams else f"{text}: decode --streams shows them"


def _counts_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def most_text(counts: Counter[str], most: int = _REASONS) -> str:
    """What was counted most, and how much else there was."""
    shown = dict(counts.most_common(most))
    rest = sum(counts.values()) - sum(shown.values())
    return _counts_text(shown) + (f", {rest} other" if rest else "")
