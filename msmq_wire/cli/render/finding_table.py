"""Groups of findings as text: one line each in a pipe, a short block each on a terminal.

The rule kept here: on a terminal messages are folded, in a pipe every group is one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from enum import StrEnum

from rich.cells import cell_len

from msmq_wire.cli.render.block import GAP, WHOLE_SECONDS, ends_text, folded, head
from msmq_wire.cli.render.screen import Screen
from msmq_wire.detection import SEVERITIES, Evidence, Severity
from msmq_wire.detection.causes import layer_shown
from msmq_wire.detection.folding import MOST_KEPT, FindingGroup
from msmq_wire.records.capture_names import short_names
from msmq_wire.records.joined_capture import files_of, first_file
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.records.tree.tree_screen import Segment
from msmq_wire.records.tree.value_text import count_text, timestamp_text

SEVERITY_STYLES: dict[Severity, str] = {"info": "dim", "low": "name", "medium": "warning", "high": "error"}
"""The style of each severity."""

_SEVERITY_WIDTH = max(map(len, SEVERITIES))
_ENDS_WIDTH = len("192.0.2.100:65535") * 2 + 3
_FRAMES = 5
_HOSTS = 2


class TableOrder(StrEnum):
    """What the table is ordered by before severity."""

    HOST = "host"
    RULE = "rule"
    FILE = "file"


class FindingTable:
    """Prints groups of findings; ``id_width`` is that of the longest id, zone None is local time.

    With ``several`` captures that of a group is named before its frames, on a terminal by what tells it from
    the others.
    """

    def __init__(
        self, screen: Screen, id_width: int, zone: tzinfo | None = UTC, *, several: bool = False
    ) -> None:
        self.screen = screen
        self._several, self._titled = several, True
        self._short: Mapping[str, str] = {}
        self._id_width = id_width
        self._zone = zone

    def print(self, groups: Sequence[FindingGroup], by: TableOrder | None = None) -> None:
        """Print them in their order; ``by`` something each under a head that names it, the gravest first."""
        if self.screen.width is not None:
            self._several = self._several and by is not TableOrder.FILE
            self._titled = by is not TableOrder.RULE
            self._short = short_names(
                [file for one in groups for name in one.captures if name for file in files_of(name)]
            )
        if by is None:
            for group in groups:
                self._group(group)
            return
        parts: dict[str, list[FindingGroup]] = {}
        for group in groups:
            parts.setdefault(_part(group, by), []).append(group)
        for number, (name, some) in enumerate(parts.items()):
            if self.screen.width is not None:
                if number:
                    self.screen.line([])
                title = f"{GAP}{some[0].lead.title}" if by is TableOrder.RULE else ""
                counts = Counter(group.severity for group in some)
                reported = ", ".join(f"{counts[one]} {one}" for one in reversed(SEVERITIES) if counts[one])
                self.screen.line(
                    [(self.screen.safe(name or "?"), "title"), (f"{title}{GAP}{reported}", "dim")]
                )
            for group in some:
                self._group(group)

    def _group(self, group: FindingGroup) -> None:
        if self.screen.width is None:
            self.screen.line(self._line(group))
            return
        for segments in self._block(group, self.screen.width):
            self.screen.line(segments)

    def _line(self, group: FindingGroup) -> Iterator[Segment]:
        yield from self._head(group)
        yield f"{self._time(group.first)}{GAP}", ""
        yield f"{self._ends(group):<{_ENDS_WIDTH}}{GAP}", ""
        yield f"{self._where(group)}{GAP}", "dim"
        yield self.screen.safe(with_queue_names(group.lead.message)), ""
        for text in (layer_shown(group), self._count(group, self._time), *self._more(group)):
            if text:
                yield f" ({text})", "dim"

    def _block(self, group: FindingGroup, width: int) -> Iterator[list[Segment]]:
        begun = [*self._head(group)]
        texts = [(self._second(group.first), ""), (self._ends(group), "strong")]
        # What the rule is about only where there is room: the message says what was seen.
        taken = sum(cell_len(text) + len(GAP) for text, _ in (*begun, *texts))
        if self._titled and taken + cell_len(group.lead.title) <= width:
            texts.append((group.lead.title, "dim"))
        yield from head(self.screen, width, begun, texts)
        yield from folded(self.screen, width, with_queue_names(group.lead.message))
        for text in self._more(group):
            yield from folded(self.screen, width, text, "dim")
        where = ": ".join(part for part in (self._count(group, self._second), self._where(group)) if part)
        yield from folded(self.screen, width, "; ".join(filter(None, (layer_shown(group), where))), "spec")

    def _count(self, group: FindingGroup, shown: Callable[[int | None], str]) -> str:
        """How often, if more than once, and until when."""
        if group.count == 1:
            return ""
        last = shown(group.last)
        return f"{group.count} times" + (f", the last {last}" if last != shown(group.first) else "")

    def _more(self, group: FindingGroup) -> Iterator[str]:
        for caveat in group.lead.caveats:
            yield f"but: {self.screen.safe(caveat)}"
        by_rule: dict[str, list[FindingGroup]] = {}
        for one in group.all_explained:
            by_rule.setdefault(one.lead.id, []).append(one)
        if by_rule:
            yield f"also: {', '.join(map(_also, by_rule.values()))}"
        events = {one.lead.event for one in (group, *group.all_explained) if one.lead.event}
        if events:
            yield f"Windows event: {', '.join(sorted(events))}"

    def _second(self, time: int | None) -> str:
        return self._time(time)[:WHOLE_SECONDS]

    def _head(self, group: FindingGroup) -> Iterator[Segment]:
        yield f"{group.severity:<{_SEVERITY_WIDTH}}{GAP}", SEVERITY_STYLES[group.severity]
        yield f"{group.lead.id:<{self._id_width}}{GAP}", "title"

    def _time(self, time: int | None) -> str:
        return "" if time is None else timestamp_text(time, self._zone)

    def _ends(self, group: FindingGroup) -> str:
        """Who sent it to whom: with ports where it was seen once."""
        place = group.lead.evidence[0] if group.lead.evidence else Evidence()
        if group.count == 1:
            return ends_text(self.screen, place.src, place.dst) if place.src or place.dst else ""
        others = [host for host in group.hosts if host != group.sender]
        more = len(others) - _HOSTS
        some = "and more" if len(group.hosts) >= MOST_KEPT else f"and {more} more"
        names = ", ".join(others[:_HOSTS]) + (f" {some}" if more > 0 else "")
        return ends_text(self.screen, group.sender or None, names or None)

    def _where(self, group: FindingGroup) -> str:
        """The capture, if there are several, the frames and the field."""
        place = group.lead.evidence[0] if group.lead.evidence else Evidence()
        file, frames = first_file(place.capture, group.frames)
        capture = self.screen.safe(self._short.get(file, file)) if self._several else ""
        left_out = len(group.frames) - len(frames)
        shown = frames_text(frames, more=not left_out and len(group.frames) >= MOST_KEPT)
        others = len(group.captures) - 1
        more = f"and in {count_text(others, 'other file')}" if others > 0 else ""
        if left_out:
            more = f"and {count_text(left_out, 'frame')} of other files"
        return " ".join(part for part in (capture, shown, place.path, more) if part)


def _also(groups: Sequence[FindingGroup]) -> str:
    """``LEN-ENV (high, CVE-2023-21554, 2 times)`` for groups of one rule: a note has no severity there."""
    gravest, times = max(groups, key=lambda group: group.rank), sum(group.count for group in groups)
    said = [*([gravest.severity] if gravest.rank else []), *gravest.lead.cves]
    said += [f"{times} times"] if times > 1 else []
    return f"{gravest.lead.id} ({', '.join(said)})" if said else gravest.lead.id


def _part(group: FindingGroup, by: TableOrder) -> str:
    match by:
        case TableOrder.HOST:
            return group.sender
        case TableOrder.RULE:
            return group.lead.id
    return group.captures[0] if group.captures else ""


def frames_text(frames: tuple[int, ...], *, more: bool = False) -> str:
    """``frame 11``, ``frames 11, 12``, and how many others there are; empty without any.

    With ``more`` there are others that are not known.
    """
    if not frames:
        return ""
    numbers = ", ".join(map(str, frames[:_FRAMES]))
    others = len(frames) - _FRAMES
    some = " and more" if more else f" and {others} more" if others > 0 else ""
    return f"{'frame' if len(frames) == 1 else 'frames'} {numbers}{some}"
