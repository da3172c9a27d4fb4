"""`Topology`: the objects of an enterprise, checked, and a directory to read them from.

The rule kept here: a topology that exists is consistent. What contradicts itself is refused with the entry
that does; what is odd but possible is a note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TypeVar

import msgspec

from msmq_wire.errors import TopologyError
from msmq_wire.routing.directory import (
    AttributeFilter,
    ConnectedNetwork,
    DirectoryObject,
    DirectoryOperationResult,
    DirectoryType,
    QueueManager,
    RoutingLink,
    Site,
    satisfies,
)
from msmq_wire.wire.types.guid import GUID

__all__ = ["COSTS", "Topology", "TopologyDirectory", "topology_of"]

COSTS = range(1, 1_000_000)
"""Costs that a routing link can have. [MS-MQDMPR] 3.1.1.8"""

T = TypeVar("T", bound=DirectoryObject)


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """An enterprise, as `topology_of` makes it. ``notes`` say what is odd in it, a sentence each."""

    queue_managers: Mapping[GUID, QueueManager]
    sites: Mapping[GUID, Site]
    routing_links: Mapping[GUID, RoutingLink]
    connected_networks: Mapping[GUID, ConnectedNetwork]
    notes: tuple[str, ...] = ()

    def find(self, text: str) -> QueueManager:
        """The queue manager of an identifier, a name or an address; letter case does not matter.

        Raises TopologyError where there is none, or more than one.
        """
        wanted = text.casefold()
        found = [
            one
            for one in self.queue_managers.values()
            if wanted
            in (
                str(one.identifier),
                one.computer_name.casefold(),
                one.qualified_computer_name.casefold(),
                *one.addresses,
            )
        ]
        if not found:
            try:
                found = [self.queue_managers[GUID.parse(text)]]
            except (ValueError, KeyError):
                raise TopologyError(f"no queue manager {text} in the topology") from None
        if len(found) > 1:
            names = ", ".join(str(one.identifier) for one in found)
            raise TopologyError(f"several queue managers are called {text}: {names}")
        return found[0]


def topology_of(
    queue_managers: Iterable[QueueManager],
    sites: Iterable[Site],
    routing_links: Iterable[RoutingLink],
    connected_networks: Iterable[ConnectedNetwork] = (),
) -> Topology:
    """Check the objects of an enterprise and put them together; their order is kept.

    The gates of a site are those it has and those that its routing links name and that belong to it. Raises
    TopologyError for the first entry that contradicts itself or the others.
    """
    managers = _by_identifier("queue manager", queue_managers)
    known = _by_identifier("site", sites)
    links = _by_identifier("routing link", routing_links)
    networks = _by_identifier("connected network", connected_networks)
    _check_names(known.values())
    for manager in managers.values():
        _check_queue_manager(manager, managers, known, networks)
    for link in links.values():
        _check_link(link, managers, known)
    gates = {identifier: list(site.site_gate_collection) for identifier, site in known.items()}
    for site in known.values():
        for gate in site.site_gate_collection:
            _known(f"site {site.name}", "site_gate_collection", gate, managers, "queue manager")
            if site.identifier not in managers[gate].site_identifier_list:
                raise TopologyError(f"site {site.name}: its gate {managers[gate].computer_name} is not in it")
    for link in links.values():
        for gate in link.site_gate_identifier_list:
            for end in (link.site1_identifier, link.site2_identifier):
                if end in managers[gate].site_identifier_list and gate not in gates[end]:
                    gates[end].append(gate)
    known = {
        identifier: msgspec.structs.replace(site, site_gate_collection=tuple(gates[identifier]))
        for identifier, site in known.items()
    }
    return Topology(
        queue_managers=managers,
        sites=known,
        routing_links=links,
        connected_networks=networks,
        notes=tuple(_notes(managers, known, links)),
    )


def _by_identifier(kind: str, objects: Iterable[T]) -> dict[GUID, T]:
    found: dict[GUID, T] = {}
    for one in objects:
        if one.identifier in found:
            raise TopologyError(f"{kind} {_called(one)}: identifier {one.identifier} is there twice")
        found[one.identifier] = one
    return found


def _called(one: DirectoryObject) -> str:
    match one:
        case QueueManager(computer_name=name) | Site(name=name) | ConnectedNetwork(name=name):
            return name or str(one.identifier)
        case RoutingLink(description=name):
            return name or str(one.identifier)


def _check_names(sites: Iterable[Site]) -> None:
    names = set()
    for site in sites:
        # [MS-MQDMPR] 3.1.1.7: unique in an enterprise.
        if site.name.casefold() in names:
            raise TopologyError(f"site {site.name}: another site has the same name")
        names.add(site.name.casefold())


def _known(entry: str, attribute: str, identifier: GUID, known: Collection[GUID], kind: str) -> None:
    if identifier not in known:
        raise TopologyError(f"{entry}: {attribute} names {kind} {identifier}, which is not in the topology")


def _check_queue_manager(
    one: QueueManager,
    managers: Collection[GUID],
    sites: Collection[GUID],
    networks: Collection[GUID],
) -> None:
    entry = f"queue manager {_called(one)}"
    for attribute, kind, known in (
        ("site_identifier_list", "site", sites),
        ("connected_network_identifier_list", "connected network", networks),
        ("out_routing_server_identifier_list", "queue manager", managers),
        ("in_routing_server_identifier_list", "queue manager", managers),
    ):
        for identifier in getattr(one, attribute):
            _known(entry, attribute, identifier, known, kind)


def _check_link(one: RoutingLink, managers: Collection[GUID], sites: Mapping[GUID, Site]) -> None:
    entry = f"routing link {_called(one)}"
    for attribute in ("site1_identifier", "site2_identifier"):
        _known(entry, attribute, getattr(one, attribute), sites, "site")
    if one.site1_identifier == one.site2_identifier:
        raise TopologyError(f"{entry}: both ends are site {sites[one.site1_identifier].name}")
    if one.actual_cost not in COSTS:
        raise TopologyError(f"{entry}: actual_cost {one.actual_cost} is not in {COSTS[0]:,} to {COSTS[-1]:,}")
    for gate in one.site_gate_identifier_list:
        _known(entry, "site_gate_identifier_list", gate, managers, "queue manager")


def _notes(
    managers: Mapping[GUID, QueueManager], sites: Mapping[GUID, Site], links: Mapping[GUID, RoutingLink]
) -> Iterator[str]:
    for one in managers.values():
        for attribute in ("out_routing_server_identifier_list", "in_routing_server_identifier_list"):
            for server in getattr(one, attribute):
                if not managers[server].routing_server:
                    called = managers[server].computer_name
                    yield f"queue manager {one.computer_name}: {called} in {attribute} is no routing server"
    ends: dict[frozenset[GUID], RoutingLink] = {}
    for link in links.values():
        pair = frozenset((link.site1_identifier, link.site2_identifier))
        if pair in ends:
            yield (
                f"routing link {_called(link)}: {_called(ends[pair])} joins the same sites; "
                "the lower cost counts"
            )
        ends.setdefault(pair, link)
        for gate in link.site_gate_identifier_list:
            if not pair.intersection(managers[gate].site_identifier_list):
                called = managers[gate].computer_name
                yield f"routing link {_called(link)}: its gate {called} is in neither of its sites"
    linked = {end for pair in ends for end in pair}
    for site in sites.values():
        if len(sites) > 1 and site.identifier not in linked:
            yield f"site {site.name}: no routing link leads to it"
        elif len(sites) > 1 and not site.site_gate_collection:
            yield f"site {site.name}: it has no gate, so nothing can be routed in or out"
        for gate in site.site_gate_collection:
            if not managers[gate].routing_server:
                called = managers[gate].computer_name
                yield f"site {site.name}: its gate {called} is no routing server, so it does not act as one"


class TopologyDirectory:
    """A `Directory` that has what a `Topology` has, in its order.

    There are no objects of type ``ConnectedNetwork`` to be read, as [MS-MQDSSM] 3.1.6.4 says.
    """

    def __init__(self, topology: Topology) -> None:
        self._objects: dict[str, Mapping[GUID, DirectoryObject]] = {
            "QueueManager": topology.queue_managers,
            "Site": topology.sites,
            "RoutingLink": topology.routing_links,
        }
        self._handles = count(1)
        self._open: dict[int | None, Iterator[DirectoryObject]] = {}

    def read_directory_begin(
        self, directory_object_type: DirectoryType, filters: Sequence[AttributeFilter] | None
    ) -> tuple[DirectoryOperationResult, int | None]:
        objects = self._objects.get(directory_object_type)
        if objects is None:
            return DirectoryOperationResult.GENERIC_ERROR, None
        candidates: Iterable[DirectoryObject] = objects.values()
        for one in filters or ():
            if one.attribute == "identifier" and one.operator == "EQUALS":
                # A mapping knows it at once.
                candidates = (objects[one.value],) if one.value in objects else ()
        handle = next(self._handles)
        self._open[handle] = (one for one in candidates if satisfies(one, filters or ()))
        return DirectoryOperationResult.SUCCESS, handle

    def read_directory_next(
        self, query_handle: int | None
    ) -> tuple[DirectoryOperationResult, DirectoryObject | None]:
        objects = self._open.get(query_handle)
        if objects is None:
            return DirectoryOperationResult.GENERIC_ERROR, None
        for one in objects:
            return DirectoryOperationResult.SUCCESS, one
        return DirectoryOperationResult.END_OF_DATA, None

    def read_directory_end(self, query_handle: int | None) -> DirectoryOperationResult:
        if self._open.pop(query_handle, None) is None:
            return DirectoryOperationResult.GENERIC_ERROR
        return DirectoryOperationResult.SUCCESS
