"""Phrases of a diagnosis: frames, times, durations, hosts, messages, lists.

The rule kept here: a shortened list says how much it leaves out; a frame names its file if there are several.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo

from msmq_wire.detection.diagnosis.answer import MOST
from msmq_wire.records.capture_names import short_names
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.joined_capture import files_of, located_frame
from msmq_wire.sessions import Moment
from msmq_wire.sessions.clocks import PERIODS
from msmq_wire.units import MILLISECOND, SECOND

_GUID = 36
_LABEL = 64


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def part(number: int, total: int, noun: str, plural: str = "") -> str:
    """``2 of 5 messages``, or None of the, All, Both, The one."""
    if number == total:
        if total > 2:
            return f"All {count(total, noun, plural)}"
        return f"The one {noun}" if total == 1 else f"Both {plural or noun + 's'}"
    if not number:
        return f"None of the {count(total, noun, plural)}"
    return f"{number:,} of {count(total, noun, plural)}"


def span(nanoseconds: int) -> str:
    """A length of time: ``2.6 ms``, ``0.05 s``, ``4 min 10 s``."""
    if nanoseconds < 0:
        return f"-{span(-nanoseconds)}"
    if nanoseconds < SECOND // 100:
        return f"{nanoseconds / MILLISECOND:.1f} ms"
    if nanoseconds < 60 * SECOND:
        return f"{nanoseconds / SECOND:.2f} s"
    return " ".join(_parts(nanoseconds // SECOND)[:2])


def seconds_text(seconds: int) -> str:
    """A length of time to the second: ``1 day 4 min 10 s``."""
    return " ".join(_parts(seconds)) or "0 s"


def _parts(seconds: int) -> list[str]:
    parts = []
    for size, one, many in PERIODS:
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number} {one if number == 1 else many}")
    return parts


ASK = "see diagnose --question {}"
"""Refers to the command that answers a question."""


def each_time(again: int, brought: int) -> str:
    """Why there are more packets than messages; empty if there are not."""
    times = [f"sent again ({again:,})" if again else "", f"brought by calls ({brought:,})" if brought else ""]
    shown = " and ".join(one for one in times if one)
    return f"messages that were {shown} count each time" if shown else ""


def later(since: Moment | None, until: Moment | None, what: str = "later") -> str:
    """The time between two moments: `` (2.6 ms later)``; empty if unknown."""
    if since is None or until is None or since.time is None or until.time is None:
        return ""
    return f" ({span(until.time - since.time)} {what})"


def host(endpoint: str) -> str:
    """The host of ``address:port``, as in findings; without a port, the whole text."""
    return host_of(endpoint) or endpoint


def port(endpoint: str) -> int | None:
    """The port of ``address:port``."""
    digits = endpoint.rpartition(":")[2]
    return int(digits) if digits.isdecimal() and len(digits) <= 5 else None


def quoted(label: str | None) -> str:
    """A space and a label, quoted and shortened; empty without a label."""
    return f' "{label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"}"' if label else ""


def short(name: str) -> str:
    """A GUID or a message identifier, shortened to the first 8 digits of the GUID."""
    guid, slash, number = name.partition("\\")
    if len(guid) == _GUID and guid.count("-") == 4:
        return f"{guid[:8]}…{slash}{number}"
    return name if len(name) <= 64 else f"{name[:63]}…"


def failed_word(purged: bool) -> str:
    """The verb for a failed message: ``lost`` if its queue had accepted it, otherwise ``refused``."""
    return "lost" if purged else "refused"


def listed(items: Sequence[str], total: int | None = None, *, rest: str = "") -> str:
    """``a, b and c``, or the first ten ``and 37 more``; ``rest`` says where to find the others."""
    total = len(items) if total is None else total
    shown = list(items[:MOST])
    if total > len(shown):
        more = f" and {total - len(shown):,} more"
        return ", ".join(shown) + more + (f" ({rest})" if rest else "")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


class Phrases:
    """Words that depend on the captures (first record id and name of each) and on a time zone.

    A frame of a joined capture is given by its file and its number in this file. ``zone`` None is the zone of
    this machine.
    """

    def __init__(self, captures: Sequence[tuple[int, str]] = (), zone: tzinfo | None = UTC) -> None:
        self._starts = [start for start, _ in captures]
        self._captures = [name for _, name in captures]
        self._short = short_names([file for name in self._captures for file in files_of(name)])
        self._zone = zone

    def located(self, moment: Moment) -> tuple[str, int | None]:
        """The file of a moment (empty if unknown), and the frame number in the file."""
        if not self._captures:
            return "", moment.frame
        capture = self._captures[self._capture_of(moment)]
        return (capture, None) if moment.frame is None else located_frame(capture, moment.frame)

    def place(self, moment: Moment) -> tuple[int, int, int]:
        """The sort key of a moment: by capture, then by frame."""
        return self._capture_of(moment), moment.frame or 0, moment.record

    def _capture_of(self, moment: Moment) -> int:
        return max(bisect_right(self._starts, moment.record) - 1, 0)

    def file(self, moment: Moment) -> str:
        """The short name of the file of a moment; empty if there is only one file."""
        return "" if len(self._short) < 2 else self._short.get(self.located(moment)[0], "")

    def frame(self, moment: Moment | None) -> str:
        """``frame 19``, with its file if there are several."""
        if moment is None or moment.frame is None:
            return "a frame that is not known"
        file, frame = self._place(moment)
        return f"frame {frame}{file}"

    def frames(self, moments: Iterable[Moment | None], total: int | None = None) -> str:
        """``frames 8, 9 and 12``; of more than ten the first ones."""
        known = [self._place(one) for one in moments if one is not None and one.frame is not None]
        distinct = dict.fromkeys(known)
        if not distinct:
            return "frames that are not known"
        numbers = [f"{frame}" for _, frame in distinct]
        total = None if total is None else total - len(known) + len(numbers)
        of_files: dict[str, list[str]] = {}
        for file, frame in list(distinct)[:MOST]:
            of_files.setdefault(file, []).append(f"{frame}")
        if len(of_files) == 1:
            text = listed(numbers, max(total or 0, len(numbers))) + next(iter(of_files))
        else:
            parts = [f"{listed(frames)}{file}" for file, frames in of_files.items()]
            more = max(total or 0, len(numbers)) - MOST
            text = "; ".join(parts) + (f" and {more:,} more" if more > 0 else "")
        return f"{'frame' if len(numbers) == 1 and not (total or 0) > 1 else 'frames'} {text}"

    def period(self, moments: Sequence[Moment]) -> str:
        """``, 2026-11-20 09:14:07Z``, with ``to`` and the last time if they differ; empty if unknown."""
        times = [one.time // SECOND for one in moments if one.time is not None]
        if not times:
            return ""
        begun, ended = self.clock(min(times)), self.clock(max(times))
        day, _, clock = ended.partition(" ")
        until = "" if begun == ended else f" to {clock if begun.startswith(day) else ended}"
        return f", {begun}{until}"

    def clock(self, seconds: int) -> str:
        """Seconds since 1970 as a date and time."""
        moment = datetime.fromtimestamp(min(max(seconds, 0), 0xFFFFFFFF), UTC).astimezone(self._zone)
        offset = "Z" if self._zone is UTC else moment.strftime("%z")
        return f"{moment:%Y-%m-%d %H:%M:%S}{offset}"

    def _place(self, moment: Moment) -> tuple[str, int | None]:
        """The phrase for the file of a frame (empty if there is only one), and the number in the file."""
        file = self.file(moment)
        return f" of {file}" if file else "", self.located(moment)[1]
