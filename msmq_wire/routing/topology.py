"""`Topology`: the objects of an enterprise, checked, and a directory to read them from.

The rule kept here: a topology that exists is consistent. What contradicts itself is refused with the entry
that does; what is odd but possible is a note.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TypeAlias, TypeVar

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
from msmq_wire.routing.topology_names import guid_of, listed, shown
from msmq_wire.wire.types.guid import GUID

COSTS = range(1, 1_000_000)
"""Costs that a routing link can have. [MS-MQDMPR] 3.1.1.8"""

Entries: TypeAlias = Mapping[tuple[type[DirectoryObject], GUID], str]
"""What a message calls an object, by its type and identifier: ``routing_link 3 (Berlin to Paris)``."""

T = TypeVar("T", bound=DirectoryObject)
_KINDS: dict[type[DirectoryObject], str] = {
    QueueManager: "queue manager",
    Site: "site",
    RoutingLink: "routing link",
    ConnectedNetwork: "connected network",
}
# `RoutingTable` puts it in the place of all sites of a gate.
_NO_IDENTIFIER = GUID(b"\xff" * 16)


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
        identifier = guid_of(text)
        if identifier is not None and identifier in self.queue_managers:
            return self.queue_managers[identifier]
        name = text.casefold()
        try:
            address = str(ipaddress.ip_address(text))
        except ValueError:
            address = name
        found = [
            one
            for one in self.queue_managers.values()
            if name in (one.computer_name.casefold(), one.qualified_computer_name.casefold())
            or address in one.addresses
        ]
        if not found or not text:
            raise TopologyError(f"no queue manager {shown(text)} in the topology")
        if len(found) > 1:
            names = listed([str(one.identifier) for one in found])
            raise TopologyError(f"several queue managers are called {shown(text)}: {names}")
        return found[0]


def topology_of(
    queue_managers: Iterable[QueueManager],
    sites: Iterable[Site],
    routing_links: Iterable[RoutingLink],
    connected_networks: Iterable[ConnectedNetwork] = (),
    *,
    entries: Entries | None = None,
) -> Topology:
    """Check the objects of an enterprise and put them together; their order is kept.

    The gates of a site are those it has and those that its routing links name and that belong to it.
    ``entries`` say how messages call an object; otherwise it is its kind and its name. Raises TopologyError
    for the first entry that contradicts itself or the others.
    """
    called = entries or {}
    managers = _by_identifier(queue_managers, called)
    known = _by_identifier(sites, called)
    links = _by_identifier(routing_links, called)
    networks = _by_identifier(connected_networks, called)
    _check_sites(known, managers, called)
    _check_queue_managers(managers, known, networks, called)
    for link in links.values():
        _check_link(link, managers, known, called)
    known = _with_gates(managers, known, links)
    return Topology(
        queue_managers=managers,
        sites=known,
        routing_links=links,
        connected_networks=networks,
        notes=tuple(_notes(managers, known, links)),
    )


def _entry(one: DirectoryObject, called: Entries) -> str:
    known = called.get((type(one), one.identifier))
    return f"{_KINDS[type(one)]} {_name(one)}" if known is None else known


def _name(one: DirectoryObject) -> str:
    match one:
        case QueueManager(computer_name=name) | Site(name=name) | ConnectedNetwork(name=name):
            return shown(name) or str(one.identifier)
        case RoutingLink(description=name):
            return shown(name) or str(one.identifier)


def _by_identifier(objects: Iterable[T], called: Entries) -> dict[GUID, T]:
    found: dict[GUID, T] = {}
    for one in objects:
        if one.identifier in found:
            raise TopologyError(f"{_entry(one, called)}: another has identifier {one.identifier}")
        found[one.identifier] = one
    return found


def _check_known(
    entry: str, attribute: str, identifiers: Iterable[GUID], known: Collection[GUID], kind: str
) -> None:
    for identifier in identifiers:
        if identifier not in known:
            raise TopologyError(
                f"{entry}: {attribute} names {kind} {identifier}, which is not in the topology"
            )


def _check_sites(sites: Mapping[GUID, Site], managers: Mapping[GUID, QueueManager], called: Entries) -> None:
    names = set()
    for site in sites.values():
        entry = _entry(site, called)
        if site.identifier == _NO_IDENTIFIER:
            raise TopologyError(f"{entry}: identifier {site.identifier} cannot be")
        # [MS-MQDMPR] 3.1.1.7: unique in an enterprise.
        if site.name.casefold() in names:
            raise TopologyError(f"{entry}: another site has the same name")
        names.add(site.name.casefold())
        gates = site.site_gate_collection
        _check_known(entry, "site_gate_collection", gates, managers, "queue manager")
        for gate in gates:
            if site.identifier not in managers[gate].site_identifier_list:
                raise TopologyError(f"{entry}: its gate {_name(managers[gate])} is not in it")


def _check_queue_managers(
    managers: Mapping[GUID, QueueManager],
    sites: Collection[GUID],
    networks: Collection[GUID],
    called: Entries,
) -> None:
    owners: dict[str, QueueManager] = {}
    for one in managers.values():
        entry = _entry(one, called)
        for attribute, kind, known in (
            ("site_identifier_list", "site", sites),
            ("connected_network_identifier_list", "connected network", networks),
            ("out_routing_server_identifier_list", "queue manager", managers),
            ("in_routing_server_identifier_list", "queue manager", managers),
        ):
            _check_known(entry, attribute, getattr(one, attribute), known, kind)
        for address in one.addresses:
            owner = owners.setdefault(address, one)
            if owner is not one:
                raise TopologyError(f"{entry}: {_name(owner)} has the address {shown(address)} too")


def _check_link(
    one: RoutingLink, managers: Collection[GUID], sites: Mapping[GUID, Site], called: Entries
) -> None:
    entry = _entry(one, called)
    for attribute in ("site1_identifier", "site2_identifier"):
        _check_known(entry, attribute, (getattr(one, attribute),), sites, "site")
    if one.site1_identifier == one.site2_identifier:
        raise TopologyError(f"{entry}: both ends are site {_name(sites[one.site1_identifier])}")
    if one.actual_cost not in COSTS:
        cost = shown(one.actual_cost)
        raise TopologyError(f"{entry}: actual_cost {cost} is not in {COSTS[0]:,} to {COSTS[-1]:,}")
    gates = one.site_gate_identifier_list
    _check_known(entry, "site_gate_identifier_list", gates, managers, "queue manager")


def _with_gates(
    managers: Mapping[GUID, QueueManager], sites: Mapping[GUID, Site], links: Mapping[GUID, RoutingLink]
) -> dict[GUID, Site]:
    """The sites with the gates that their links name and that belong to them."""
    gates = {identifier: dict.fromkeys(site.site_gate_collection) for identifier, site in sites.items()}
    sites_of = _SitesOf(managers)
    for link in links.values():
        for gate in link.site_gate_identifier_list:
            for end in (link.site1_identifier, link.site2_identifier):
                if end in sites_of(gate):
                    gates[end][gate] = None
    return {
        identifier: msgspec.structs.replace(site, site_gate_collection=tuple(gates[identifier]))
        for identifier, site in sites.items()
    }


class _SitesOf:
    """The sites of queue managers as sets, made once: a gate of many links can be in many sites."""

    def __init__(self, managers: Mapping[GUID, QueueManager]) -> None:
        self._managers = managers
        self._known: dict[GUID, frozenset[GUID]] = {}

    def __call__(self, manager: GUID) -> frozenset[GUID]:
        known = self._known.get(manager)
        if known is None:
            known = self._known[manager] = frozenset(self._managers[manager].site_identifier_list)
        return known


def _notes(
    managers: Mapping[GUID, QueueManager], sites: Mapping[GUID, Site], links: Mapping[GUID, RoutingLink]
) -> Iterator[str]:
    """What is odd, a sentence for each kind of it: there can be thousands of each."""
    found: dict[str, list[str]] = {}

    def note(oddity: str, name: str) -> None:
        found.setdefault(oddity, []).append(name)

    names: dict[str, int] = {}
    for one in managers.values():
        key = one.computer_name.casefold()
        names[key] = names.get(key, 0) + 1
        if names[key] == 2:
            note("names that several queue managers have", _name(one))
        if not one.site_identifier_list:
            note("queue managers in no site", _name(one))
        for attribute in ("out_routing_server_identifier_list", "in_routing_server_identifier_list"):
            for server in getattr(one, attribute):
                if not managers[server].routing_server:
                    those = f"{_name(managers[server])} of {_name(one)}"
                    note(f"no routing servers, but in {attribute}", those)
    pairs: set[frozenset[GUID]] = set()
    sites_of = _SitesOf(managers)
    for link in links.values():
        ends = (link.site1_identifier, link.site2_identifier)
        between = " to ".join(_name(sites[end]) for end in ends)
        pair = frozenset(ends)
        if pair in pairs:
            note("further routing links between the same sites, of which the lowest cost counts", between)
        pairs.add(pair)
        for gate in link.site_gate_identifier_list:
            if pair.isdisjoint(sites_of(gate)):
                note("gates in neither site of their routing link", f"{_name(managers[gate])} of {between}")
    linked = {end for pair in pairs for end in pair}
    for site in sites.values() if len(sites) > 1 else ():
        if site.identifier not in linked:
            note("sites that no routing link leads to", _name(site))
        elif not site.site_gate_collection:
            note("sites without a gate, so that nothing is routed in or out", _name(site))
    for site in sites.values():
        for gate in site.site_gate_collection:
            if not managers[gate].routing_server:
                oddity = "gates that are no routing servers, so that they do not act as gates"
                note(oddity, f"{_name(managers[gate])} of {_name(site)}")
    return (f"{oddity}: {listed(those)}" for oddity, those in found.items())


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
