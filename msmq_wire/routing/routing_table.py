"""`RoutingTable`: for every site the next site on a least-cost path. [MS-MQBR] 3.1.1.2, 3.1.3.1

The rule kept here: among paths of equal cost the next site with the lowest identifier (as text) is taken, so
neither the order of a file nor that of a run decides; the others are kept as what is possible, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec
import networkx  # type: ignore[import-untyped]  # it has no types

from msmq_wire.errors import RoutingError
from msmq_wire.routing.directory import RoutingLink, Site
from msmq_wire.routing.topology import COSTS
from msmq_wire.wire.types.guid import GUID

Ways = Mapping[GUID, tuple[GUID, ...]]
"""The sites on all least-cost paths to one site, each with the sites that may come next, the first taken."""

_ROOT = GUID(b"\xff" * 16)
"""Stands for all sites of a gate; no directory gives out this identifier."""


class RoutingTableEntry(msgspec.Struct, frozen=True, gc=False):
    """A row: to this site, through that one, at this cost. [MS-MQBR] 3.1.1.2"""

    destination_site_id: GUID
    next_hop_site_id: GUID
    cost: int


def site_graph(sites: Iterable[Site], routing_links: Iterable[RoutingLink]) -> networkx.Graph:
    """The enterprise as a weighted graph. [MS-MQBR] 3.1.3.1

    A link is there in both directions; of links between the same sites the lowest cost counts, and links to
    what is no site are left out. Raises RoutingError for a cost that a link cannot have.
    """
    graph = networkx.Graph()
    graph.add_nodes_from(site.identifier for site in sites)
    for link in routing_links:
        ends = (link.site1_identifier, link.site2_identifier)
        if link.actual_cost not in COSTS:
            raise RoutingError(f"routing link {link.identifier}: cost {link.actual_cost} cannot be")
        if ends[0] == ends[1] or not all(end in graph for end in ends):
            continue
        known = graph.get_edge_data(*ends)
        if known is None or link.actual_cost < known["weight"]:
            graph.add_edge(*ends, weight=link.actual_cost)
    return graph


class RoutingTable:
    """The routing table of a gate, whose sites are ``roots``; iterating gives its rows, in the graph's order.

    A row of one of the gate's own sites names that site itself. A site that no path leads to has no row.
    Without roots it is empty.
    """

    def __init__(self, graph: networkx.Graph, roots: Collection[GUID]) -> None:
        self.roots = frozenset(root for root in roots if root in graph)
        self._graph = graph
        self._rows: dict[GUID, RoutingTableEntry] = {}
        self._before: Mapping[GUID, list[GUID]] = {}
        self._positions: dict[GUID, int] = {}
        if not self.roots:
            return
        if len(self.roots) == 1:
            (start,) = self.roots
        else:
            start, graph = _ROOT, graph.copy()
            graph.add_edges_from((start, root, {"weight": 0}) for root in self.roots)
        self._before, costs = networkx.dijkstra_predecessor_and_distance(graph, start)
        first: dict[GUID, GUID] = {}
        # In the order of their costs, so what is before a site is known when it comes.
        for site, cost in costs.items():
            if site in self.roots or site == _ROOT:
                first[site] = site
                continue
            first[site] = min(
                (site if before in self.roots else first[before] for before in self._before[site]), key=str
            )
            self._rows[site] = RoutingTableEntry(site, first[site], cost)
        for root in self.roots:
            self._rows[root] = RoutingTableEntry(root, root, 0)
        self._rows = {site: self._rows[site] for site in self._graph if site in self._rows}
        self._positions = {site: position for position, site in enumerate(self._rows)}

    def __iter__(self) -> Iterator[RoutingTableEntry]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def entry(self, destination_site_id: GUID) -> RoutingTableEntry | None:
        """The row of a site; None where there is none."""
        return self._rows.get(destination_site_id)

    def last_first(self, destination_site_ids: Iterable[GUID]) -> list[GUID]:
        """Those of the sites that have a row, the last row first."""
        known = {site for site in destination_site_ids if site in self._positions}
        return sorted(known, key=self._positions.__getitem__, reverse=True)

    def ways(self, destination_site_id: GUID) -> Ways:
        """The sites on all least-cost paths to a site, without the site itself; empty where there is no path.

        Takes time that grows with the sites on these paths and their links, not with the enterprise.
        """
        found: dict[GUID, list[GUID]] = {}
        todo = [destination_site_id] if destination_site_id in self._rows else []
        seen = set(todo)
        while todo:
            site = todo.pop()
            if site in self.roots:
                continue
            for before in self._before[site]:
                found.setdefault(before, []).append(site)
                if before not in seen:
                    seen.add(before)
                    todo.append(before)
        return {site: tuple(sorted(after, key=str)) for site, after in found.items()}

    def next_hops(self, ways: Ways) -> tuple[GUID, ...]:
        """The sites that may come next from here on ``ways``, the one of the table first."""
        return tuple(sorted({site for root in self.roots for site in ways.get(root, ())}, key=str))
