"""Predicted paths as text: a head line, then every path hop by hop with the reason of each hop.

The rule kept here: on a terminal everything is folded, in a pipe a hop is one line and its reason another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from msmq_wire.cli.render.screen import Screen, fold
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.routing.algorithm import HopRule
from msmq_wire.routing.directory import QueueManager
from msmq_wire.routing.prediction import PredictedHop, PredictedPath, Prediction
from msmq_wire.routing.prediction_view import (
    NOT_ROUTED,
    ShownPaths,
    called,
    machine_of,
    shown_paths,
    site_names,
)
from msmq_wire.routing.topology import Topology
from msmq_wire.wire.types.guid import GUID

REASONS = {
    HopRule.OUT_ROUTING_SERVER: "The sender has out-routing servers: all that it sends leaves through one of "
    "them.",
    HopRule.IN_ROUTING_SERVER: "The destination has in-routing servers: all that it gets comes through one "
    "of them.",
    HopRule.IN_ROUTING_CLIENT: "The destination has this queue manager as an in-routing server and gets the "
    "message from it.",
    HopRule.DIRECT: "The destination is in the same site: the message goes straight to it.",
    HopRule.ROUTING_SERVER: "The destination is in another site: a routing server of the sender's site takes "
    "the message.",
    HopRule.SITE_GATE: "The destination is in another site: a gate of this site takes the message.",
    HopRule.NEXT_SITE: "The destination is in another site: a gate of the next site on a least-cost path "
    "takes the message.",
    HopRule.INTRA_SITE: "The two cannot connect: a routing server of the site may pass the message on.",
}
"""Why a hop is made, by its rule."""

_NOT_ROUTED = "A direct format name is not routed: the message goes straight to the host that it names."
_INDENT = " " * 6
_GAP = "  "
_MOST_SITES = 3
_WIDEST = 120
_LONGEST = 256
"""Characters of a name; folding more than that only takes time."""


def ends_text(prediction: Prediction, topology: Topology) -> str:
    """From whom in which site to whom in which site."""
    source, destination = prediction.source, prediction.destination
    return f"From {_with_sites(source, topology)} to {_with_sites(destination, topology)}"


def _with_sites(machine: QueueManager, topology: Topology) -> str:
    names = [_short(name) for name in site_names(machine, topology)]
    if not names:
        known = machine.identifier in topology.queue_managers
        return f"{_short(called(machine))} ({'in no site' if known else 'not in the topology'})"
    shown = ", ".join(names[:_MOST_SITES])
    if len(names) > _MOST_SITES:
        shown += f" and {len(names) - _MOST_SITES} more"
    return f"{_short(called(machine))} ({'site' if len(names) == 1 else 'sites'} {shown})"


class RouteText:
    """Prints a prediction."""

    def __init__(self, screen: Screen, prediction: Prediction, topology: Topology) -> None:
        self.screen = screen
        self.prediction = prediction
        self.topology = topology
        self._arrow = screen.choose("→", "->")

    def print(self, most_paths: int) -> None:
        """Print the head line and at most ``most_paths`` paths."""
        if self.prediction.source.identifier == self.prediction.destination.identifier:
            name = self._name(self.prediction.source.identifier)
            self._sentence(f"{name} is the destination itself: nothing is routed.", "", "")
            return
        reported = shown_paths(self.prediction, most_paths)
        self._head(_count(reported))
        for number, path in enumerate(reported.paths, 1):
            self.screen.line([])
            self._path(number, path)
        left = reported.arriving + reported.stopping - len(reported.paths)
        if not reported.complete:
            self.screen.line([])
            more = f"{count_text(left, 'more path')} {'is' if left == 1 else 'are'} possible"
            self._sentence(f"{more}." if reported.all_counted else "More paths are possible.", "dim", "")

    def _head(self, count: str) -> None:
        safe = self.screen.safe(ends_text(self.prediction, self.topology))
        width = self.screen.width
        if width is None or cell_len(safe) + cell_len(count) + 3 <= width:
            self.screen.line([(f"{safe}: {count}.", "title")])
            return
        if cell_len(safe) + 1 <= width:
            self.screen.line([(f"{safe}:", "title")])
            self.screen.line([(f"{count}.", "title")])
            return
        source = self.screen.safe(_with_sites(self.prediction.source, self.topology))
        destination = self.screen.safe(_with_sites(self.prediction.destination, self.topology))
        for text in (f"From {source}", f"to {destination}:", f"{count}."):
            for line in fold(text, width):
                self.screen.line([(line, "title")])

    def _path(self, number: int, path: PredictedPath) -> None:
        words = [f"Path {number}"]
        if path.chosen:
            words.append("chosen")
        words.append(f"cost {path.cost:,}" if path.end == "arrives" else "does not arrive")
        style = "strong" if path.end == "arrives" else "warning"
        self.screen.line([(", ".join(words), style)])
        hops = [self._hop(hop) for hop in path.hops]
        room = _WIDEST if self.screen.width is None else self.screen.width - len(_INDENT)
        # Hops that do not fit on a line do not push the others apart.
        short = [cell_len(ends) for ends, sites in hops if cell_len(ends + _GAP + sites) <= room]
        widest = max(short, default=0)
        for step, (hop, (ends, sites)) in enumerate(zip(path.hops, hops, strict=True), 1):
            mark = f"{step:>4}. "
            padding = " " * (widest - cell_len(ends)) + _GAP
            if cell_len(ends + padding + sites) > room:
                padding = _GAP
            if self.screen.width is None or cell_len(ends + padding + sites) <= room:
                self.screen.line([(mark, "dim"), (ends, "name"), (padding + sites, "")])
            else:
                for text, style in ((ends, "name"), (sites, "")):
                    for line in self._ends_folded(text):
                        self.screen.line([(mark, "dim"), (line, style)])
                        mark = _INDENT
            self._sentence(self._reason(hop), "dim", _INDENT)
        if path.end != "arrives":
            self._sentence(self._stop(path), "warning", _INDENT)

    def _hop(self, hop: PredictedHop) -> tuple[str, str]:
        """The ends of a hop; the sites it crosses and what that costs."""
        safe = self.screen.safe
        ends = f"{safe(self._name(hop.source))} {self._arrow} {safe(self._name(hop.target))}"
        left, entered = self._sites(hop)
        if left == entered:
            return ends, f"site {safe(left)}" if left else ""
        sites = f"site {safe(left)} {self._arrow} site {safe(entered)}" if left and entered else ""
        return ends, f"{sites}, cost {hop.cost:,}" if hop.next_site is not None else sites

    def _sites(self, hop: PredictedHop) -> tuple[str, str]:
        """The site that a hop leaves and the one that it enters; empty where there is none."""
        source = machine_of(self.prediction, self.topology, hop.source).site_identifier_list
        target = machine_of(self.prediction, self.topology, hop.target).site_identifier_list
        if hop.next_site is not None:
            return self._site(self._linked(source, hop)), self._site(hop.next_site)
        both = next((site for site in source if site in target), None)
        if both is not None:
            return self._site(both), self._site(both)
        return self._site(source[0] if source else None), self._site(target[0] if target else None)

    def _linked(self, sites: Sequence[GUID], hop: PredictedHop) -> GUID | None:
        """Of the sites of a gate the one whose link the hop takes."""
        if len(sites) > 1:
            for link in self.topology.routing_links.values():
                ends = {link.site1_identifier, link.site2_identifier}
                if link.actual_cost == hop.cost and hop.next_site in ends:
                    other = ends - {hop.next_site}
                    if not other.isdisjoint(sites):
                        return other.pop()
        return sites[0] if sites else None

    def _site(self, identifier: GUID | None) -> str:
        return "" if identifier is None else _short(self.topology.sites[identifier].name)

    def _name(self, identifier: GUID) -> str:
        return _short(called(machine_of(self.prediction, self.topology, identifier)))

    def _reason(self, hop: PredictedHop) -> str:
        if hop.spec == NOT_ROUTED:
            return f"{_NOT_ROUTED} {hop.spec}"
        words = REASONS[hop.rule]
        if not hop.chosen and hop.rule is not HopRule.INTRA_SITE:
            words += f" First choice is {self._name(self.prediction.hops[hop.source][0].target)}."
        return f"{words} {hop.spec}"

    def _stop(self, path: PredictedPath) -> str:
        last = path.hops[-1] if path.hops else None
        if last is None:
            at = self.prediction.source.identifier
        else:
            at = last.target if last.connected else last.source
        name = self._name(at)
        reason = path.reason.removeprefix(f"{called(machine_of(self.prediction, self.topology, at))}: ")
        if path.end == "loops":
            return f"It comes back to {name}, where it has been before."
        return f"It stops at {name}: {reason}."

    def _ends_folded(self, text: str) -> Iterator[str]:
        """A text in lines, broken at its arrow first."""
        width = self.screen.width
        if width is None or cell_len(text) + len(_INDENT) <= width:
            yield text
            return
        head, arrow, rest = text.partition(f" {self._arrow} ")
        yield from fold(head, width - len(_INDENT))
        if arrow:
            yield from fold(f"{self._arrow} {rest}", width - len(_INDENT))

    def _sentence(self, text: str, style: str, indent: str) -> None:
        safe = self.screen.safe(text)
        width = self.screen.width
        # A document and its section stay on one line.
        lines = [safe] if width is None else fold(safe.replace("] ", "]\xa0"), width - len(indent))
        for line in lines:
            self.screen.line([(indent, ""), (line.replace("\xa0", " "), style)])


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..."


def _count(reported: ShownPaths) -> str:
    if not reported.arriving:
        return "no way leads there" if reported.all_counted else "no way that was looked at leads there"
    more = "" if reported.all_counted else "more than "
    words = f"{more}{reported.arriving:,} {'path' if reported.arriving == 1 else 'paths'}"
    words += f", lowest cost {reported.lowest_cost:,}"
    if reported.stopping:
        words += f"; {reported.stopping:,} more {'does' if reported.stopping == 1 else 'do'} not arrive"
    return words
