"""The parts of the summary line that say what was counted while captures were read."""

from __future__ import annotations

from collections import Counter

import msgspec

from msmq_wire.capture.capture_counts import CONNECTION, CaptureCounts, most_text
from msmq_wire.capture.capture_counts import nothing_found as nothing_of_msmq
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.cli.secret_options import KEY_OPTIONS
from msmq_wire.records.other_ports import NOT_MSMQ
from msmq_wire.records.tree.value_text import count_text

_REASONS = 6


class ReadCounts(CaptureCounts, eq=False):
    """What was counted in the files that were read so far, and the parts of the summary line.

    ``unsure_managers`` are the queue managers for whose queues there were names that are perhaps.
    """

    unsure_managers: Counter[str] = msgspec.field(default_factory=Counter)

    def frames_text(self, *, verbose: bool) -> str:
        """How many frames were read and skipped; ``verbose`` adds those understood, reasons and packets."""
        skipped = self.skipped.total()
        text = f"{count_text(self.frames, 'frame')} read"
        if verbose:
            text += f", {self.understood} understood"
        if skipped:
            text += f", {skipped} skipped"
        # What is in a tunnel or behind a link type that is not read may be MSMQ: that is told to everybody.
        reasons = self.skipped if verbose else self.may_hide_msmq
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
        match = CONNECTION.match(notice)
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


def nothing_found(reader: CaptureReader, frames: int, *, streams: bool) -> str:
    """Why a capture of so many frames is without a record: what else is in it, and what would show it."""
    text, summary = nothing_of_msmq(reader, frames), reader.summary
    if not summary.understood:
        return f"{text}; to decode a port anyway: --decode-as PORT=AS" if summary.skipped[NOT_MSMQ] else text
    return text if streams or not reader.on_ports else f"{text}: decode --streams shows them"


def _counts_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
