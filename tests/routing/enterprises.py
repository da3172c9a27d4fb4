"""Enterprises for tests: built from short names, drawn at random, and directories that are no topology.

The rule kept here: an identifier is made of a name so that the order of identifiers as text is the order of
the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec
from hypothesis import strategies as st

from msmq_wire.routing.directory import (
    AttributeFilter,
    ConnectedNetwork,
    DirectoryObject,
    DirectoryOperationResult,
    DirectoryType,
    QueueManager,
    RoutingLink,
    Site,
)
from msmq_wire.routing.topology import Topology, topology_of
from msmq_wire.wire.types.guid import GUID

SITE_NAMES = "ABCDEFGH"
_KINDS = {"queue manager": 1, "site": 2, "routing link": 3, "connected network": 4}


class Enterprise(msgspec.Struct, frozen=True):
    """The objects of a directory, in its order."""

    queue_managers: tuple[QueueManager, ...]
    sites: tuple[Site, ...]
    routing_links: tuple[RoutingLink, ...] = ()
    connected_networks: tuple[ConnectedNetwork, ...] = ()

    def topology(self) -> Topology:
        return topology_of(self.queue_managers, self.sites, self.routing_links, self.connected_networks)

    def directory(self) -> PlainDirectory:
        return PlainDirectory(
            QueueManager=self.queue_managers, Site=self.sites, RoutingLink=self.routing_links
        )


def _identifier(kind: str, name: str) -> GUID:
    # The last eight bytes are those whose order is the order of the text.
    return GUID(bytes((_KINDS[kind], *bytes(7))) + name.encode("ascii").ljust(8, b"\0"))


def qm_id(name: str) -> GUID:
    """The identifier of a queue manager; ``name`` has at most 8 letters."""
    return _identifier("queue manager", name)


def site_id(name: str) -> GUID:
    """The identifier of a site."""
    return _identifier("site", name)


def network_id(name: str) -> GUID:
    """The identifier of a connected network."""
    return _identifier("connected network", name)


def machine(
    name: str,
    sites: Iterable[str],
    *,
    router: bool = False,
    out: Sequence[str] = (),
    in_: Sequence[str] = (),
    networks: Sequence[str] = (),
) -> QueueManager:
    """A queue manager of sites with names of one letter: ``machine("c1", "AB", out=["r1"])``."""
    return QueueManager(
        identifier=qm_id(name),
        computer_name=name,
        site_identifier_list=tuple(map(site_id, sites)),
        connected_network_identifier_list=tuple(map(network_id, networks)),
        out_routing_server_identifier_list=tuple(map(qm_id, out)),
        in_routing_server_identifier_list=tuple(map(qm_id, in_)),
        routing_server=router,
    )


def site(name: str, *gates: str) -> Site:
    """A site with gates: ``site("A", "g1", "g2")``."""
    return Site(identifier=site_id(name), name=name, site_gate_collection=tuple(map(qm_id, gates)))


def link(site1: str, site2: str, cost: int, name: str = "", gates: Sequence[str] = ()) -> RoutingLink:
    """A routing link; parallel ones need names."""
    return RoutingLink(
        identifier=_identifier("routing link", name or f"{site1}-{site2}"),
        description=name or f"{site1}-{site2}",
        actual_cost=cost,
        site1_identifier=site_id(site1),
        site2_identifier=site_id(site2),
        site_gate_identifier_list=tuple(map(qm_id, gates)),
    )


def network(name: str) -> ConnectedNetwork:
    """A connected network."""
    return ConnectedNetwork(identifier=network_id(name), name=name)


def gated(*links: RoutingLink, names: str = "") -> Enterprise:
    """The sites that links name, each with one gate: site ``A`` has ``gA``; ``names`` gives their order."""
    ends = {end for one in links for end in (one.site1_identifier, one.site2_identifier)}
    letters = names or "".join(letter for letter in SITE_NAMES if site_id(letter) in ends)
    return Enterprise(
        tuple(machine(f"g{letter}", letter, router=True) for letter in letters),
        tuple(site(letter, f"g{letter}") for letter in letters),
        links,
    )


def figure_4(ab: int, bc: int, bd: int, cd: int) -> Enterprise:
    """The enterprise of [MS-MQBR] section 4, a gate and a client in each site."""
    gates = gated(link("A", "B", ab), link("B", "C", bc), link("B", "D", bd), link("C", "D", cd))
    clients = tuple(machine(f"c{letter}", letter) for letter in "ABCD")
    return Enterprise(gates.queue_managers + clients, gates.sites, gates.routing_links)


def chain(count: int) -> Enterprise:
    """``count`` sites in a row, each with a gate ``g0``, ``g1``, ...; a client ``from`` and one ``to``."""
    names = [f"s{index}" for index in range(count)]
    gates = [machine(f"g{index}", [name], router=True) for index, name in enumerate(names)]
    return Enterprise(
        (machine("from", names[:1]), *gates, machine("to", names[-1:])),
        tuple(site(name, f"g{index}") for index, name in enumerate(names)),
        tuple(link(one, other, 1) for one, other in pairwise(names)),
    )


class PlainDirectory:
    """A directory of lists, which may contradict themselves; it knows only ``EQUALS`` of one value."""

    def __init__(self, **objects: Iterable[DirectoryObject]) -> None:
        self.objects: dict[str, list[DirectoryObject]] = {kind: list(all_) for kind, all_ in objects.items()}
        self.begun: list[tuple[str, tuple[AttributeFilter, ...] | None]] = []
        self._open: dict[int, Iterator[DirectoryObject]] = {}

    def read_directory_begin(
        self, directory_object_type: DirectoryType, filters: Sequence[AttributeFilter] | None
    ) -> tuple[DirectoryOperationResult, int | None]:
        self.begun.append((directory_object_type, None if filters is None else tuple(filters)))
        found = list(self.objects.get(directory_object_type, ()))
        for one in filters or ():
            assert one.operator == "EQUALS"
            found = [each for each in found if getattr(each, one.attribute) == one.value]
        self._open[len(self.begun)] = iter(found)
        return DirectoryOperationResult.SUCCESS, len(self.begun)

    def read_directory_next(
        self, query_handle: int | None
    ) -> tuple[DirectoryOperationResult, DirectoryObject | None]:
        assert query_handle is not None
        for one in self._open[query_handle]:
            return DirectoryOperationResult.SUCCESS, one
        return DirectoryOperationResult.END_OF_DATA, None

    def read_directory_end(self, query_handle: int | None) -> DirectoryOperationResult:
        assert query_handle is not None
        del self._open[query_handle]
        return DirectoryOperationResult.SUCCESS


@st.composite
def links_between(draw: st.DrawFn, names: Sequence[str], most: int = 10) -> tuple[RoutingLink, ...]:
    """Links between sites, parallel ones among them; costs are small so that many paths cost the same.

    Mostly they join all sites: else nearly nothing would be routed.
    """
    pairs = [(one, other) for one in names for other in names if one < other]
    if not pairs:
        return ()
    cost = st.integers(1, 3)
    chosen: list[tuple[tuple[str, str], int, bool]] = []
    if draw(st.sampled_from((True, True, True, False))):
        for index, name in enumerate(names[1:], 1):
            chosen.append(((names[draw(st.integers(0, index - 1))], name), draw(cost), False))
    drawn = st.tuples(st.sampled_from(pairs), cost, st.booleans())
    chosen += draw(st.lists(drawn, max_size=most - len(chosen)))
    return tuple(
        link(other, one, paid, name=f"L{index}") if turned else link(one, other, paid, name=f"L{index}")
        for index, ((one, other), paid, turned) in enumerate(chosen)
    )


@st.composite
def gated_enterprises(draw: st.DrawFn) -> Enterprise:
    """Up to 8 sites in any order, each with at least one gate that acts as one; few gates have several."""
    names = draw(st.permutations(SITE_NAMES[: draw(st.sampled_from((4, 5, 6, 7, 8, 3, 2, 1)))]))
    gates: dict[str, list[str]] = {name: [f"g{name}"] for name in names}
    machines = [machine(f"g{name}", name, router=True) for name in names]
    for index, shared in enumerate(
        draw(st.lists(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True), max_size=2))
    ):
        machines.append(machine(f"h{index}", shared, router=True))
        for name in shared:
            gates[name].insert(draw(st.integers(0, 1)), f"h{index}")
    sites = tuple(site(name, *gates[name]) for name in names)
    return Enterprise(tuple(draw(st.permutations(machines))), sites, draw(links_between(names)))


@st.composite
def enterprises(draw: st.DrawFn) -> Enterprise:
    """Anything that a topology may be, connected networks left out: gates that are no routing servers, sites
    without gates, queue managers in several sites or in none, lists of in- and out-routing servers that name
    anybody.
    """
    names = draw(st.permutations(SITE_NAMES[: draw(st.sampled_from((4, 5, 6, 8, 7, 3, 2, 1)))]))
    called = [f"q{index}" for index in range(draw(st.sampled_from((5, 6, 7, 8, 9, 4, 3, 2))))]
    servers = st.lists(st.sampled_from(called), max_size=2, unique=True)
    # Most have no such list, or nothing would ever be routed by sites.
    nobody: list[str] = []
    few = st.one_of(st.just(nobody), st.just(nobody), servers)
    belongs = st.one_of(
        st.sampled_from(names).map(lambda name: [name]),
        st.lists(st.sampled_from(names), min_size=min(2, len(names)), max_size=3, unique=True),
        st.lists(st.sampled_from(names), max_size=3, unique=True),
    )
    machines = [
        machine(
            name,
            draw(belongs),
            router=draw(st.sampled_from((True, True, False))),
            out=draw(few),
            in_=draw(few),
        )
        for name in called
    ]
    sites = []
    for name in names:
        members = [one for one in machines if site_id(name) in one.site_identifier_list]
        # Most sites that anybody is in have a gate, some have several.
        least = draw(st.sampled_from((1, 1, 1, 0)))
        gates = (
            draw(st.lists(st.sampled_from(members), min_size=least, max_size=3, unique=True))
            if members
            else []
        )
        sites.append(site(name, *(one.computer_name for one in gates)))
    return Enterprise(tuple(machines), tuple(sites), draw(links_between(names)))


@st.composite
def reordered(draw: st.DrawFn, of: Enterprise) -> Enterprise:
    """The same objects in another order of sites, queue managers, routing links and gates."""
    shuffled = [
        msgspec.structs.replace(
            one, site_gate_collection=tuple(draw(st.permutations(one.site_gate_collection)))
        )
        for one in of.sites
    ]
    return Enterprise(
        tuple(draw(st.permutations(of.queue_managers))),
        tuple(draw(st.permutations(shuffled))),
        tuple(draw(st.permutations(of.routing_links))),
        of.connected_networks,
    )
