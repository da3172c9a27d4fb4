"""Hops as text: one line each in a pipe, a short block each on a terminal.

The rule kept here: on a terminal sentences are folded, in a pipe every hop is one line. Queue managers are
shown by their names in the topology, hosts that it does not know by their addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, tzinfo

import msgspec
from rich.cells import cell_len, set_cell_size

from msmq_wire.cli.render.finding_table import frames_text
from msmq_wire.cli.render.screen import Screen, fold
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.joined_capture import located
from msmq_wire.records.tree.tree_screen import Segment
from msmq_wire.records.tree.value_text import timestamp_text
from msmq_wire.routing.hop import Deviation, DeviationKind, ObservedHop
from msmq_wire.routing.topology import Topology
from msmq_wire.wire.types.guid import GUID

_GAP = "  "
_INDENT = 8
_WHOLE_SECONDS = 19
_YEAR = len("2026-")
_ADDRESS = len("198.51.100.200")
_LONGEST_NAME = 24
_ARROW = " → "
_NUMBER = len(r"\1234567")
_VERDICT = max(map(len, DeviationKind))
_FRAMES = len("frame 12345")
_LEAST_LABEL = 8
_LONGEST_LABEL = 32


class HopTable:
    """Prints hops. Names are those of ``topology``; zone None is local time.

    With ``several`` captures the name of each stands above its hops, in a pipe before the frames.
    """

    def __init__(
        self, screen: Screen, topology: Topology, zone: tzinfo | None = UTC, *, several: bool = False
    ) -> None:
        self.screen = screen
        self._topology = topology
        self._zone = zone
        self._several = several
        self._capture: str | None = None
        names = [cell_len(one.computer_name) for one in topology.queue_managers.values()]
        name = min(max([len("0123…4567"), *names]), _LONGEST_NAME)
        self._ends_width = name + len(_ARROW) + max(name, _ADDRESS)
        if screen.width is not None:
            self._ends_width = min(self._ends_width, screen.width - _INDENT)
        self._message_width = name + _NUMBER
        whole = (_WHOLE_SECONDS, self._message_width, self._ends_width, len("RC 29"), _VERDICT, _FRAMES)
        self._wide = screen.width is None or screen.width >= sum(whole) + len(_GAP) * (len(whole) - 1)

    def add(self, hop: ObservedHop, label: str | None = None) -> None:
        """Print one hop, with the label of its message if that is known and there is room."""
        hop = msgspec.structs.replace(hop, sighting=located(hop.sighting))
        if self.screen.width is None:
            self.screen.line(self._line(hop, label))
            return
        capture = hop.sighting.capture
        if self._several and capture != self._capture:
            self._capture = capture
            self.screen.line([(self.screen.safe(capture), "title")])
        for segments in self._block(hop, label, self.screen.width):
            self.screen.line(segments)

    def _line(self, hop: ObservedHop, label: str | None) -> Iterator[Segment]:
        place = frames_text(hop.sighting.frames)
        if self._several:
            place = f"{self.screen.safe(hop.sighting.capture)} {place}"
        for text, style in self._head(hop):
            yield f"{text}{_GAP}", style
        yield f"{place}{_GAP}", "dim"
        if label:
            yield f'"{self.screen.safe(label)}"{_GAP}', "note"
        yield "; ".join(self.screen.safe(text) for text in _sentences(hop)), ""

    def _block(self, hop: ObservedHop, label: str | None, width: int) -> Iterator[list[Segment]]:
        frames = (frames_text(hop.sighting.frames), "dim")
        if self._wide:
            lines = list(_packed([*self._head(hop), frames], width))
        else:
            lines = list(_packed(self._head(hop), width))
            lines += _packed([(self._message(hop), "strong"), frames], width, _INDENT)
        room = min(width - _width(lines[-1]) - len(_GAP) - len('""'), _LONGEST_LABEL)
        if label and room >= _LEAST_LABEL:
            lines[-1] += [(_GAP, ""), (f'"{self._cut(self.screen.safe(label), room)}"', "note")]
        yield from lines
        for text in _sentences(hop):
            folded = fold(self.screen.safe(text), width - _INDENT)
            yield from ([(" " * _INDENT, ""), (part, "dim" if hop.reason else "")] for part in folded)

    def _head(self, hop: ObservedHop) -> Iterator[Segment]:
        """The parts that stand in columns, without what is between them."""
        sighting = hop.sighting
        yield self._time(sighting.time), ""
        if self._wide:
            yield _padded(self._message(hop), self._message_width), "strong"
        yield _padded(self._ends(hop), self._ends_width), "name"
        yield f"RC {sighting.hops:<2}", ""
        yield _padded(hop.verdict, _VERDICT if self._wide else 0), _style(hop)

    def _time(self, time: int | None) -> str:
        text = "" if time is None else timestamp_text(time, self._zone)
        if self.screen.width is None:
            return text
        start = 0 if self._wide else _YEAR
        return text[start:_WHOLE_SECONDS].ljust(_WHOLE_SECONDS - start)

    def _message(self, hop: ObservedHop) -> str:
        """Who made it, and its number there."""
        sighting = hop.sighting
        name = self._name(sighting.source_queue_manager)
        number = f"\\{sighting.message_id}"
        if name is None:
            name = str(sighting.source_queue_manager)
            if self.screen.width is not None:
                name = f"{name[:4]}{self._mark}{name[-4:]}"
        elif self.screen.width is not None:
            name = self._cut(name, self._message_width - _NUMBER)
        return name + number

    def _ends(self, hop: ObservedHop) -> str:
        arrow = self.screen.choose(_ARROW, " -> ")
        ends = ((hop.source, hop.sighting.src), (hop.target, hop.sighting.dst))
        hosts = ((name, host_of(end) or end) for name, end in ends)
        names = [self._name(name) or self.screen.safe(host) or "?" for name, host in hosts]
        width = self._ends_width - len(arrow)
        if self.screen.width is not None and sum(map(cell_len, names)) > width:
            names = [self._cut(name, width // 2) for name in names]
        return arrow.join(names)

    def _name(self, identifier: GUID | None) -> str | None:
        machine = None if identifier is None else self._topology.queue_managers.get(identifier)
        return None if machine is None else self.screen.safe(machine.computer_name) or None

    @property
    def _mark(self) -> str:
        return self.screen.choose("…", "~")

    def _cut(self, text: str, width: int) -> str:
        return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + self._mark


def _sentences(hop: ObservedHop) -> Iterator[str]:
    """What is wrong with it, with the kinds where they are several; or why it could not be judged.

    First, for a hop that was not observed, who tells it.
    """
    if hop.told_by is not None:
        yield f"told by queue manager {hop.told_by} in a report message, not observed"
    several = len(hop.deviations) > 1
    for one in hop.deviations:
        if one.message:
            yield f"{one.kind}: {_sentence(one)}" if several else _sentence(one)
    if hop.reason is not None:
        yield hop.reason


def _sentence(one: Deviation) -> str:
    return f"{one.message} ({one.spec})"


def _style(hop: ObservedHop) -> str:
    if hop.deviations:
        return "error"
    return "note" if hop.reason is None else "warning"


def _padded(text: str, width: int) -> str:
    return text + " " * max(0, width - cell_len(text))


def _packed(parts: Iterable[Segment], width: int, indent: int = 0) -> Iterator[list[Segment]]:
    """Parts side by side, as many as fit a line; ``indent`` is that of the first."""
    line: list[Segment] = [(" " * indent, "")]
    for part in parts:
        gap = _GAP if len(line) > 1 else ""
        if gap and _width(line) + len(gap) + cell_len(part[0].rstrip()) > width:
            yield line
            line, gap = [(" " * _INDENT, "")], ""
        line += [(gap, ""), part]
    yield line


def _width(segments: list[Segment]) -> int:
    return sum(cell_len(text) for text, _ in segments)
