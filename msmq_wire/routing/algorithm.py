"""`RoutingAlgorithm`: the procedures of [MS-MQBR] 3.1.3 and 3.1.5, by their names.

The rule kept here: every procedure takes the branches of its pseudocode, in its order. Where the text says
"one of", or leaves the order to the directory, the first in the order of the directory is taken and the
others are kept as alternatives.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, TypeAlias, overload

import msgspec
import networkx  # type: ignore[import-untyped]  # it has no types

from msmq_wire.errors import RoutingError
from msmq_wire.routing.directory import (
    AttributeFilter,
    Directory,
    DirectoryObject,
    DirectoryOperationResult,
    DirectoryType,
    QueueManager,
    RoutingLink,
    Site,
)
from msmq_wire.routing.routing_table import RoutingTable, Ways, site_graph
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

QUERY_INTERVAL = 3600
"""Seconds of the QueueManager Query Timer. [MS-MQBR] 3.1.3"""
StartTimer: TypeAlias = Callable[[int, Callable[[], None]], object]
"""Starts a timer: milliseconds, and what is called once when they are over."""
_MOST_TABLES = 64
"""Tables that are kept; each holds some 200 bytes a site."""


class HopRule(StrEnum):
    """Why a queue manager passes a message to another one."""

    OUT_ROUTING_SERVER = "out_routing_server"
    """The source has out-routing servers: every message leaves through one of them."""
    IN_ROUTING_SERVER = "in_routing_server"
    """The destination is in the same site and has in-routing servers: every message enters through one."""
    IN_ROUTING_CLIENT = "in_routing_client"
    """The destination has this queue manager as its in-routing server."""
    DIRECT = "direct"
    """The destination is in the same site."""
    ROUTING_SERVER = "routing_server"
    """The destination is in another site: a routing server of the source's site takes the message."""
    SITE_GATE = "site_gate"
    """The destination is in another site: a gate of the routing server's site takes the message."""
    NEXT_SITE = "next_site"
    """The destination is in another site: a gate of the next site on a least-cost path takes the message."""
    INTRA_SITE = "intra_site"
    """The destination is in the same site, on another network: a routing server of the site takes it over.
    The pseudocode does not have this one; 1.3.2 does."""


class NextHops(msgspec.Struct, frozen=True, kw_only=True):
    """Where a message may go next.

    ``identifiers`` is what the document returns; one of them is tried after the other. ``alternatives`` are
    other queue managers that an implementation may return, since the text leaves the choice open. ``rule``
    says why, ``spec`` where. For `HopRule.NEXT_SITE`, ``next_sites`` are the sites to which they lead, by
    queue manager, and ``ways`` all least-cost paths to each site of the destination, that of the last row of
    the table first.
    """

    identifiers: tuple[GUID, ...] = ()
    alternatives: tuple[GUID, ...] = ()
    rule: HopRule
    spec: SpecRef
    next_sites: Mapping[GUID, GUID] = {}
    ways: Mapping[GUID, Ways] = {}


class RoutingAlgorithm:
    """The algorithm over a directory, for every queue manager that is asked about.

    What was read from the directory is kept until `refresh`: the sites, routing links and queue managers are
    read as a whole when this is made, one of them when it is first asked for. Raises RoutingError where the
    graph of sites cannot be made.

    ``start_timer`` runs the QueueManager Query Timer, so that all is read again every `QUERY_INTERVAL`
    seconds: it is given milliseconds and what is to be called when they are over, as `Timers.start` of
    `msmq_wire.lab.model` is. Without it nothing is read again of itself: a capture has one directory.
    """

    def __init__(self, directory: Directory, start_timer: StartTimer | None = None) -> None:
        self._directory = directory
        self._start_timer = start_timer
        self.refresh()
        self._start_query_timer()

    def _start_query_timer(self) -> None:
        """Initialization of the QueueManager Query Timer. [MS-MQBR] 3.1.3"""
        if self._start_timer is not None:
            self._start_timer(QUERY_INTERVAL * 1000, self._query)

    def _query(self) -> None:
        """QueueManager Query Timer Event. [MS-MQBR] 3.1.6.1

        A directory of which no graph can be made leaves what was known; the text does not say.
        """
        self._start_query_timer()
        with contextlib.suppress(RoutingError):
            self.refresh()

    def refresh(self) -> None:
        """Read the directory again, as at initialization. [MS-MQBR] 3.1.3.1

        Raises RoutingError where the graph of sites cannot be made; what was known stays then.
        """
        sites = self.get_directory_data("Site", None)
        links = self.get_directory_data("RoutingLink", None)
        queue_managers = self.get_directory_data("QueueManager", None)
        # Without sites or links every table is empty.
        self._graph = site_graph(sites, links) if sites and links else networkx.Graph()
        self._sites, self._queue_managers = sites, queue_managers
        self._tables: dict[frozenset[GUID], RoutingTable] = {}
        self._machines: dict[GUID, QueueManager] = {}
        self._site_of = {site.identifier: site for site in self._sites or ()}
        self._site_order = {identifier: number for number, identifier in enumerate(self._site_of)}
        self._routing_servers: dict[GUID, list[tuple[int, GUID]]] = {}
        for number, one in enumerate(self._queue_managers or ()):
            if one.routing_server:
                for site in one.site_identifier_list:
                    self._routing_servers.setdefault(site, []).append((number, one.identifier))

    def routing_table(self, machine_id: GUID) -> RoutingTable:
        """The RoutingTable of a queue manager. [MS-MQBR] 3.1.3.1

        It is empty unless the queue manager is a gate. The root of its tree is the site of which it is a
        gate; who is a gate of several sites has them all as its root.
        """
        machine = self.get_queue_manager(machine_id)
        roots = frozenset(() if machine is None else self._gated_sites(machine))
        table = self._tables.get(roots)
        if table is None:
            table = RoutingTable(self._graph, roots)
            if len(self._tables) >= _MOST_TABLES:
                del self._tables[next(iter(self._tables))]
            self._tables[roots] = table
        return table

    def link_cost(self, machine: QueueManager, next_site: GUID) -> int:
        """What a gate's hop to a neighbouring site costs."""
        weights = self._graph[next_site]
        return min(int(weights[site]["weight"]) for site in self._gated_sites(machine) if site in weights)

    def get_next_hops(self, source_id: GUID, destination_id: GUID) -> NextHops:
        """GetNextHops: where a message goes next on its way to a queue manager. [MS-MQBR] 3.1.5.1

        Raises RoutingError where the routing attempt fails.
        """
        hops = self.possible_hops(source_id, destination_id)
        if not hops.identifiers:
            raise RoutingError(self.failure(source_id, hops))
        return hops

    def possible_hops(
        self, source_id: GUID, destination_id: GUID, ways: Mapping[GUID, Ways] | None = None
    ) -> NextHops:
        """The same; where the attempt fails ``identifiers`` is empty, but with another order of the directory
        there may be ``alternatives``.

        ``ways`` are those of an earlier hop of the same message: they save the making of further tables.
        Raises RoutingError for a queue manager that the directory does not have.
        """
        source = self.get_queue_manager(source_id)
        destination = self.get_queue_manager(destination_id)
        if source is None or destination is None:
            unknown = source_id if source is None else destination_id
            raise RoutingError(f"no queue manager {unknown} in the directory")
        if source.routing_server:
            return self.get_next_hops_for_router(source, destination, ways)
        return self._next_hops_of_client(source, destination)

    def failure(self, source_id: GUID, hops: NextHops) -> str:
        """Why a routing attempt of a queue manager fails, in a sentence without its full stop."""
        source = self.get_queue_manager(source_id)
        name = str(source_id) if source is None else source.computer_name
        return f"{name}: {_FAILURES.get(hops.rule, 'no next hop')}"

    def _next_hops_of_client(self, source: QueueManager, destination: QueueManager) -> NextHops:
        spec = SpecRef("MS-MQBR", "3.1.5.1")
        if source.out_routing_server_identifier_list:
            servers = source.out_routing_server_identifier_list
            return NextHops(identifiers=servers, rule=HopRule.OUT_ROUTING_SERVER, spec=spec)
        if _meet(source, destination):
            return _inside_site(destination, spec)
        return _chosen(self._routing_servers_for(source), HopRule.ROUTING_SERVER, spec)

    def get_next_hops_for_router(
        self,
        source: QueueManager,
        destination: QueueManager,
        ways: Mapping[GUID, Ways] | None = None,
    ) -> NextHops:
        """GetNextHopsForRouter: the same where the source is a routing server. [MS-MQBR] 3.1.5.2

        Where there is no next hop, ``identifiers`` is empty.
        """
        spec = SpecRef("MS-MQBR", "3.1.5.2")
        if self.is_site_gate(source.identifier):
            return self.get_next_hops_for_site_gate(source, destination, ways)
        if source.identifier in destination.in_routing_server_identifier_list:
            return _chosen((destination.identifier,), HopRule.IN_ROUTING_CLIENT, spec)
        if _meet(source, destination):
            return _inside_site(destination, spec)
        gates, others = self._site_gates_for(source)
        return NextHops(
            identifiers=gates[:1], alternatives=(*gates[1:], *others), rule=HopRule.SITE_GATE, spec=spec
        )

    def get_next_hops_for_site_gate(
        self,
        source: QueueManager,
        destination: QueueManager,
        ways: Mapping[GUID, Ways] | None = None,
    ) -> NextHops:
        """GetNextHopsForSiteGate: the same where the source is a gate. [MS-MQBR] 3.1.5.3

        Of the rows for the sites of the destination the last one counts, as in the pseudocode; the table has
        the order of the directory. Where there is no next hop, ``identifiers`` is empty.
        """
        spec = SpecRef("MS-MQBR", "3.1.5.3")
        if source.identifier in destination.in_routing_server_identifier_list:
            return _chosen((destination.identifier,), HopRule.IN_ROUTING_CLIENT, spec)
        if _meet(source, destination):
            return _inside_site(destination, spec)
        roots = self._gated_sites(source)
        if ways and len(roots) == 1 and all(roots[0] in each for each in ways.values()):
            # Every least-cost path from here is a part of one that leads here.
            next_sites = [site for each in ways.values() for site in each[roots[0]]]
        else:
            table = self.routing_table(source.identifier)
            goals = table.last_first(destination.site_identifier_list)
            ways = {goal: table.ways(goal) for goal in goals}
            next_sites = [site for each in ways.values() for site in table.next_hops(each)]
        gates = {gate: site for site in reversed(next_sites) for gate in reversed(self._gates_of(site))}
        # The first of the first site is the one that the table and GetSiteGateForSite give.
        first = self.get_site_gate_for_site(next_sites[0]) if next_sites else None
        return NextHops(
            identifiers=() if first is None else (first,),
            alternatives=tuple(gate for gate in reversed(gates) if gate != first),
            rule=HopRule.NEXT_SITE,
            spec=spec,
            next_sites=gates,
            ways=ways,
        )

    def get_queue_manager(self, machine_id: GUID) -> QueueManager | None:
        """GetQueueManager: the queue manager of an identifier. [MS-MQBR] 3.1.5.4"""
        known = self._machines.get(machine_id)
        if known is None:
            only = (AttributeFilter("identifier", "EQUALS", machine_id),)
            found = self.get_directory_data("QueueManager", only)
            if found:
                known = self._machines[machine_id] = found[0]
        return known

    def get_routing_server(self, machine_id: GUID) -> GUID | None:
        """GetRoutingServer: a routing server of a site of a queue manager. [MS-MQBR] 3.1.5.5"""
        machine = self.get_queue_manager(machine_id)
        servers = () if machine is None else self._routing_servers_for(machine)
        return servers[0] if servers else None

    def get_site_gate(self, machine_id: GUID) -> GUID | None:
        """GetSiteGate: a gate of a site of a queue manager. [MS-MQBR] 3.1.5.6

        Only the first of its sites is looked at, whether it has a gate or not.
        """
        machine = self.get_queue_manager(machine_id)
        gates = () if machine is None else self._site_gates_for(machine)[0]
        return gates[0] if gates else None

    def get_site_gate_for_site(self, site_id: GUID) -> GUID | None:
        """GetSiteGateForSite: a gate of a site. [MS-MQBR] 3.1.5.7"""
        only = (AttributeFilter("identifier", "EQUALS", site_id),)
        found = self.get_directory_data("Site", only)
        return found[0].site_gate_collection[0] if found and found[0].site_gate_collection else None

    def is_site_gate(self, machine_id: GUID) -> bool:
        """IsSiteGate: whether a queue manager is a gate of one of its sites. [MS-MQBR] 3.1.5.8"""
        machine = self.get_queue_manager(machine_id)
        return machine is not None and bool(self._gated_sites(machine))

    @overload
    def get_directory_data(
        self, data_element_type: Literal["QueueManager"], filter_array: Sequence[AttributeFilter] | None
    ) -> list[QueueManager] | None: ...
    @overload
    def get_directory_data(
        self, data_element_type: Literal["Site"], filter_array: Sequence[AttributeFilter] | None
    ) -> list[Site] | None: ...
    @overload
    def get_directory_data(
        self, data_element_type: Literal["RoutingLink"], filter_array: Sequence[AttributeFilter] | None
    ) -> list[RoutingLink] | None: ...
    def get_directory_data(
        self, data_element_type: DirectoryType, filter_array: Sequence[AttributeFilter] | None
    ) -> Any:
        """GetDirectoryData: the objects of a type that satisfy all filters. [MS-MQBR] 3.1.5.9

        None (Nothing) where there are none, or where the directory did not give all of them.
        """
        success = DirectoryOperationResult.SUCCESS
        result, handle = self._directory.read_directory_begin(data_element_type, filter_array)
        if result is not success:
            return None
        requested: list[DirectoryObject] = []
        result, data = self._directory.read_directory_next(handle)
        while result is success:
            assert data is not None
            requested.append(data)
            result, data = self._directory.read_directory_next(handle)
        complete = result is DirectoryOperationResult.END_OF_DATA
        # What comes of ending it changes nothing.
        self._directory.read_directory_end(handle)
        return requested if complete and requested else None

    def routing_servers_near(self, machine: QueueManager) -> NextHops:
        """The routing servers that may pass a message on inside a site. [MS-MQBR] 1.3.2"""
        spec = SpecRef("MS-MQBR", "1.3.2")
        return _chosen(self._routing_servers_for(machine), HopRule.INTRA_SITE, spec)

    def _gated_sites(self, machine: QueueManager) -> tuple[GUID, ...]:
        """The sites of a queue manager of which it is a gate."""
        if not machine.routing_server:
            return ()
        return tuple(
            site for site in machine.site_identifier_list if machine.identifier in self._gates_of(site)
        )

    def _gates_of(self, site: GUID) -> tuple[GUID, ...]:
        known = self._site_of.get(site)
        return () if known is None else known.site_gate_collection

    def _routing_servers_for(self, machine: QueueManager) -> tuple[GUID, ...]:
        """The routing servers of the sites of a queue manager, in the order of the directory."""
        found = {one for site in machine.site_identifier_list for one in self._routing_servers.get(site, ())}
        return tuple(identifier for _, identifier in sorted(found))

    def _site_gates_for(self, machine: QueueManager) -> tuple[tuple[GUID, ...], tuple[GUID, ...]]:
        """The gates of the first site of a queue manager in the order of the directory, and of its others."""
        known = [site for site in machine.site_identifier_list if site in self._site_order]
        known.sort(key=self._site_order.__getitem__)
        gates = self._gates_of(known[0]) if known else ()
        others = dict.fromkeys(gate for site in known[1:] for gate in self._gates_of(site))
        return gates, tuple(gate for gate in others if gate not in gates)


def _meet(one: QueueManager, other: QueueManager) -> bool:
    """Whether two queue managers have a site in common."""
    return not set(one.site_identifier_list).isdisjoint(other.site_identifier_list)


def _chosen(candidates: tuple[GUID, ...], rule: HopRule, spec: SpecRef) -> NextHops:
    """The first of those among which the text leaves the choice."""
    return NextHops(identifiers=candidates[:1], alternatives=candidates[1:], rule=rule, spec=spec)


def _inside_site(destination: QueueManager, spec: SpecRef) -> NextHops:
    """To a queue manager of the same site: through its in-routing servers, if it has any."""
    servers = destination.in_routing_server_identifier_list
    if servers:
        return NextHops(identifiers=servers, rule=HopRule.IN_ROUTING_SERVER, spec=spec)
    return NextHops(identifiers=(destination.identifier,), rule=HopRule.DIRECT, spec=spec)


_FAILURES = {
    HopRule.ROUTING_SERVER: "its sites have no routing server, and the destination is in another site",
    HopRule.SITE_GATE: "its site has no gate, and the destination is in another site",
    HopRule.NEXT_SITE: "its table leads to no gate on the way to the destination's site",
}
