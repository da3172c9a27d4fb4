"""An oracle: the procedures of [MS-MQBR] 3.1.5, step by step, and the table of 3.1.3.1 by brute force.

The rule kept here: no step is saved. The directory is read whenever the document reads it, and a least-cost
path is found by walking all paths.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from msmq_wire.errors import RoutingError
from msmq_wire.routing.directory import (
    AttributeFilter,
    Directory,
    DirectoryOperationResult,
    DirectoryType,
    QueueManager,
    RoutingLink,
    Site,
)
from msmq_wire.wire.types.guid import GUID

Path = tuple[GUID, ...]
Row = tuple[GUID, GUID, int]


class LiteralAlgorithm:
    """[MS-MQBR] 3.1.5.1 to 3.1.5.9 over a directory; Nothing is None."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def get_next_hops(self, source_id: GUID, destination_id: GUID) -> list[GUID]:
        """3.1.5.1; RoutingError where the document raises an exception."""
        next_hops: list[GUID] = []
        source_machine = self.get_queue_manager(source_id)
        destination_machine = self.get_queue_manager(destination_id)
        if source_machine is not None and destination_machine is not None:
            if source_machine.routing_server is True:
                next_hops = self.get_next_hops_for_router(source_machine, destination_machine)
            else:
                if len(source_machine.out_routing_server_identifier_list) != 0:
                    next_hops = list(source_machine.out_routing_server_identifier_list)
                else:
                    if _intersect(source_machine, destination_machine):
                        if len(destination_machine.in_routing_server_identifier_list) != 0:
                            next_hops = list(destination_machine.in_routing_server_identifier_list)
                        else:
                            _add(destination_id, next_hops)
                    else:
                        _add(self.get_routing_server(source_id), next_hops)
        if next_hops == []:
            raise RoutingError("the routing attempt fails")
        return next_hops

    def get_next_hops_for_router(
        self, source_machine: QueueManager, destination_machine: QueueManager
    ) -> list[GUID]:
        """3.1.5.2."""
        next_hops: list[GUID] = []
        is_source_site_gate = self.is_site_gate(source_machine.identifier)
        if is_source_site_gate == 1:
            next_hops = self.get_next_hops_for_site_gate(source_machine, destination_machine)
        elif source_machine.identifier in destination_machine.in_routing_server_identifier_list:
            _add(destination_machine.identifier, next_hops)
        elif _intersect(source_machine, destination_machine):
            if len(destination_machine.in_routing_server_identifier_list) != 0:
                next_hops = list(destination_machine.in_routing_server_identifier_list)
            else:
                _add(destination_machine.identifier, next_hops)
        else:
            _add(self.get_site_gate(source_machine.identifier), next_hops)
        return next_hops

    def get_next_hops_for_site_gate(
        self, source_machine: QueueManager, destination_machine: QueueManager
    ) -> list[GUID]:
        """3.1.5.3."""
        next_hops: list[GUID] = []
        if source_machine.identifier in destination_machine.in_routing_server_identifier_list:
            _add(destination_machine.identifier, next_hops)
        elif _intersect(source_machine, destination_machine):
            if len(destination_machine.in_routing_server_identifier_list) != 0:
                next_hops = list(destination_machine.in_routing_server_identifier_list)
            else:
                _add(destination_machine.identifier, next_hops)
        else:
            next_site: GUID | None = None
            for destination_site_id, next_hop_site_id, _ in self.routing_table(source_machine.identifier):
                if destination_site_id in destination_machine.site_identifier_list:
                    next_site = next_hop_site_id
            if next_site is not None:
                _add(self.get_site_gate_for_site(next_site), next_hops)
        return next_hops

    def get_queue_manager(self, machine_id: GUID) -> QueueManager | None:
        """3.1.5.4."""
        machine: QueueManager | None = None
        array_qm = self.get_directory_data(
            "QueueManager", [AttributeFilter("identifier", "EQUALS", machine_id)]
        )
        if array_qm is not None:
            machine = array_qm[0]
        return machine

    def get_routing_server(self, machine_id: GUID) -> GUID | None:
        """3.1.5.5."""
        source_machine = self.get_queue_manager(machine_id)
        if source_machine is None:
            return None
        router: GUID | None = None
        array_qm = self.get_directory_data("QueueManager", None)
        if array_qm is None:
            return router
        for machine_temp in array_qm:
            if _intersect(machine_temp, source_machine) and machine_temp.routing_server is True:
                router = machine_temp.identifier
                break
        return router

    def get_site_gate(self, machine_id: GUID) -> GUID | None:
        """3.1.5.6."""
        source_machine = self.get_queue_manager(machine_id)
        if source_machine is None:
            return None
        site_gate: GUID | None = None
        array_site = self.get_directory_data("Site", None)
        if array_site is None:
            return site_gate
        for site_temp in array_site:
            if site_temp.identifier in source_machine.site_identifier_list:
                site_gate = _one_of(site_temp.site_gate_collection)
                break
        return site_gate

    def get_site_gate_for_site(self, site_id: GUID) -> GUID | None:
        """3.1.5.7."""
        site_gate: GUID | None = None
        array_site = self.get_directory_data("Site", [AttributeFilter("identifier", "EQUALS", site_id)])
        if array_site is None:
            return site_gate
        site_temp = array_site[0]
        site_gate = _one_of(site_temp.site_gate_collection)
        return site_gate

    def is_site_gate(self, machine_id: GUID) -> int:
        """3.1.5.8."""
        machine = self.get_queue_manager(machine_id)
        if machine is None:
            return 0
        if machine.routing_server is False:
            return 0
        array_site = self.get_directory_data("Site", None)
        if array_site is None:
            return 0
        for site in array_site:
            if site.identifier in machine.site_identifier_list:
                for site_gate in site.site_gate_collection:
                    if machine_id == site_gate:
                        return 1
        return 0

    def get_directory_data(
        self, data_element_type: DirectoryType, filter_array: Sequence[AttributeFilter] | None
    ) -> Any:
        """3.1.5.9: a list that is not empty, or None."""
        requested_data: list[Any] | None = None
        result, handle = self._directory.read_directory_begin(data_element_type, filter_array)
        if result != DirectoryOperationResult.SUCCESS:
            return requested_data
        while True:
            result, data_temp = self._directory.read_directory_next(handle)
            if result != DirectoryOperationResult.SUCCESS:
                break
            requested_data = [*(requested_data or ()), data_temp]
        if result != DirectoryOperationResult.END_OF_DATA:
            requested_data = None
        result = self._directory.read_directory_end(handle)
        return requested_data

    def routing_table(self, machine_id: GUID) -> list[Row]:
        """3.1.3.1: destination, next hop and cost by site, in the order of the directory's sites."""
        return [
            # Of equal paths the one whose next site has the lowest text.
            (target, min((_next(path) for path in paths), key=str), cost)
            for target, (cost, paths) in self.least_cost_paths(machine_id).items()
        ]

    def least_cost_paths(self, machine_id: GUID) -> dict[GUID, tuple[int, list[Path]]]:
        """By destination site the least cost and all paths of that cost; they start at a site of the gate."""
        if self.is_site_gate(machine_id) == 0:
            return {}
        sites = self.get_directory_data("Site", [])
        routing_links = self.get_directory_data("RoutingLink", [])
        machine = self.get_queue_manager(machine_id)
        if sites is None or routing_links is None or machine is None:
            return {}
        # "Its MSMQ site" of 1.3.3 is read as every site for which it is a gate.
        roots = tuple(
            site.identifier
            for site in sites
            if site.identifier in machine.site_identifier_list and machine_id in site.site_gate_collection
        )
        return _least(tuple(site.identifier for site in sites), tuple(routing_links), roots)

    def every_next_hop(self, source_id: GUID, destination_id: GUID) -> set[GUID]:
        """The next hops if "one of" could be any, the directory had any order, and ties went either way."""
        source, destination = self.get_queue_manager(source_id), self.get_queue_manager(destination_id)
        if source is None or destination is None:
            return set()
        sites: list[Site] = self.get_directory_data("Site", None) or []
        if source.routing_server:
            gate = self.is_site_gate(source_id) == 1
            if source_id in destination.in_routing_server_identifier_list:
                return {destination_id}
        elif source.out_routing_server_identifier_list:
            return set(source.out_routing_server_identifier_list)
        if _intersect(source, destination):
            return set(destination.in_routing_server_identifier_list) or {destination_id}
        if not source.routing_server:
            return {
                one.identifier
                for one in self.get_directory_data("QueueManager", None) or []
                if one.routing_server and _intersect(one, source)
            }
        if not gate:
            nearest = set(source.site_identifier_list)
        else:
            nearest = {
                _next(path)
                for target, (_, paths) in self.least_cost_paths(source_id).items()
                if target in destination.site_identifier_list
                for path in paths
            }
        return {one for site in sites if site.identifier in nearest for one in site.site_gate_collection}


def _intersect(one: QueueManager, other: QueueManager) -> bool:
    return any(site in other.site_identifier_list for site in one.site_identifier_list)


def _add(value: GUID | None, to: list[GUID]) -> None:
    if value is not None:
        to.append(value)


def _one_of(collection: Sequence[GUID]) -> GUID | None:
    return collection[0] if collection else None


def _next(path: Path) -> GUID:
    # The path to a site of the gate itself is that site alone.
    return path[1] if len(path) > 1 else path[0]


@functools.lru_cache(maxsize=256)
def _least(
    vertices: tuple[GUID, ...], routing_links: tuple[RoutingLink, ...], roots: tuple[GUID, ...]
) -> dict[GUID, tuple[int, list[Path]]]:
    found: dict[GUID, list[tuple[int, Path]]] = {vertex: [] for vertex in vertices}
    for root in roots:
        for cost, path in _simple_paths(vertices, routing_links, 0, (root,)):
            found[path[-1]].append((cost, path))
    least = {}
    for vertex, paths in found.items():
        if paths:
            cost = min(paths)[0]
            # Parallel links give the same path more than once.
            least[vertex] = cost, sorted({path for paid, path in paths if paid == cost})
    return least


def _simple_paths(
    vertices: tuple[GUID, ...], routing_links: tuple[RoutingLink, ...], cost: int, path: Path
) -> Iterator[tuple[int, Path]]:
    """All paths that begin with ``path`` and come to no site twice."""
    yield cost, path
    for one in routing_links:
        for x, y in (
            (one.site1_identifier, one.site2_identifier),
            (one.site2_identifier, one.site1_identifier),
        ):
            if x == path[-1] and y in vertices and y not in path:
                yield from _simple_paths(vertices, routing_links, cost + one.actual_cost, (*path, y))
