"""`topology_of`: what contradicts itself is refused by name, what is odd is a note of bounded length."""

from __future__ import annotations

import msgspec
import pytest

from msmq_wire.errors import TopologyError
from msmq_wire.routing.directory import ConnectedNetwork, QueueManager, RoutingLink, Site
from msmq_wire.routing.topology import Topology, topology_of
from msmq_wire.wire.types.guid import GUID


def guid(number: int) -> GUID:
    return GUID(number.to_bytes(16, "big"))


BERLIN = Site(identifier=guid(1), name="Berlin")
PARIS = Site(identifier=guid(2), name="Paris")
GATE = QueueManager(
    identifier=guid(11),
    computer_name="GATE",
    qualified_computer_name="gate.example.com",
    site_identifier_list=(guid(1),),
    routing_server=True,
    addresses=("192.0.2.1", "2001:db8::1"),
)
CLIENT = QueueManager(identifier=guid(12), computer_name="CLIENT", site_identifier_list=(guid(2),))


def link(
    number: int = 21, *, cost: int = 1, ends: tuple[int, int] = (1, 2), gates: tuple[int, ...] = ()
) -> RoutingLink:
    return RoutingLink(
        identifier=guid(number),
        actual_cost=cost,
        site1_identifier=guid(ends[0]),
        site2_identifier=guid(ends[1]),
        site_gate_identifier_list=tuple(guid(gate) for gate in gates),
    )


def enterprise(*links: RoutingLink) -> Topology:
    return topology_of((GATE, CLIENT), (BERLIN, PARIS), links)


def test_the_gates_of_a_site_are_those_that_its_links_name_and_that_belong_to_it() -> None:
    topology = enterprise(link(gates=(11, 12)))
    assert topology.sites[guid(1)].site_gate_collection == (guid(11),)
    assert topology.sites[guid(2)].site_gate_collection == (guid(12),)


def test_a_gate_that_several_links_name_is_there_once_and_given_ones_come_first() -> None:
    other = QueueManager(identifier=guid(13), computer_name="OTHER", site_identifier_list=(guid(1),))
    berlin = Site(identifier=guid(1), name="Berlin", site_gate_collection=(guid(13),))
    links = (link(gates=(11,)), link(22, gates=(11, 13)))
    topology = topology_of((GATE, CLIENT, other), (berlin, PARIS), links)
    assert topology.sites[guid(1)].site_gate_collection == (guid(13), guid(11))


@pytest.mark.parametrize("cost", [1, 999_999])
def test_the_least_and_the_largest_cost_are_taken(cost: int) -> None:
    assert enterprise(link(cost=cost)).routing_links[guid(21)].actual_cost == cost


@pytest.mark.parametrize("cost", [-1, 0, 1_000_000])
def test_another_cost_is_refused(cost: int) -> None:
    with pytest.raises(TopologyError) as caught:
        enterprise(link(cost=cost))
    assert str(caught.value) == f"routing link {guid(21)}: actual_cost {cost} is not in 1 to 999,999"


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (link(ends=(1, 3)), f"site2_identifier names site {guid(3)}, which is not in the topology"),
        (link(ends=(1, 1)), "both ends are site Berlin"),
        (
            link(gates=(13,)),
            f"site_gate_identifier_list names queue manager {guid(13)}, which is not in the topology",
        ),
    ],
)
def test_a_link_that_dangles_or_leads_back_is_refused(one: RoutingLink, problem: str) -> None:
    with pytest.raises(TopologyError) as caught:
        enterprise(one)
    assert str(caught.value) == f"routing link {guid(21)}: {problem}"


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("site_identifier_list", "site"),
        ("connected_network_identifier_list", "connected network"),
        ("out_routing_server_identifier_list", "queue manager"),
        ("in_routing_server_identifier_list", "queue manager"),
    ],
)
def test_a_queue_manager_that_names_what_is_not_there_is_refused(field: str, kind: str) -> None:
    one = msgspec.structs.replace(GATE, **{field: (guid(99),)})
    with pytest.raises(TopologyError) as caught:
        topology_of((one,), (BERLIN,), ())
    expected = f"queue manager GATE: {field} names {kind} {guid(99)}, which is not in the topology"
    assert str(caught.value) == expected


def test_two_entries_of_an_identifier_are_refused_in_every_kind() -> None:
    network = ConnectedNetwork(identifier=guid(31), name="LAN")
    for managers, sites, links, networks, entry in (
        ((GATE, GATE), (BERLIN,), (), (), "queue manager GATE"),
        ((), (PARIS, PARIS), (), (), "site Paris"),
        ((), (BERLIN, PARIS), (link(), link()), (), f"routing link {guid(21)}"),
        ((), (), (), (network, network), "connected network LAN"),
    ):
        with pytest.raises(TopologyError, match=f"^{entry}: another has identifier 0{{8}}-"):
            topology_of(managers, sites, links, networks)


def test_one_address_at_two_queue_managers_is_refused() -> None:
    other = QueueManager(identifier=guid(13), computer_name="OTHER", addresses=("192.0.2.1",))
    with pytest.raises(TopologyError, match=r"^queue manager OTHER: GATE has the address 192\.0\.2\.1 too$"):
        topology_of((GATE, other), (BERLIN,), ())


def test_the_identifier_that_stands_for_no_site_is_refused() -> None:
    with pytest.raises(TopologyError, match=r"^site Rome: identifier ffffffff-.* cannot be$"):
        topology_of((), (Site(identifier=GUID(b"\xff" * 16), name="Rome"),), ())


def test_messages_call_an_object_as_the_caller_does() -> None:
    with pytest.raises(TopologyError, match=r"^link 3 of the file: actual_cost 0 is not in 1 to 999,999$"):
        topology_of(
            (), (BERLIN, PARIS), (link(cost=0),), entries={(RoutingLink, guid(21)): "link 3 of the file"}
        )


@pytest.mark.parametrize(
    "text",
    [
        "gate",
        "GATE.Example.com",
        str(guid(11)),
        "{" + str(guid(11)).upper() + "}",
        "192.0.2.1",
        "2001:DB8:0:0::1",
    ],
)
def test_a_queue_manager_is_found_by_its_names_identifier_and_addresses(text: str) -> None:
    assert enterprise(link()).find(text) is GATE


@pytest.mark.parametrize("text", ["", "nobody", "192.0.2.9", str(guid(1)), "\n" * 1000])
def test_what_no_queue_manager_is_called_is_an_error_of_one_short_line(text: str) -> None:
    with pytest.raises(TopologyError, match=r"^no queue manager .* in the topology$") as caught:
        enterprise(link()).find(text)
    assert len(str(caught.value)) < 300


def test_a_name_that_two_have_is_an_error_that_names_both() -> None:
    twin = QueueManager(identifier=guid(13), computer_name="gate", site_identifier_list=(guid(1),))
    topology = topology_of((GATE, twin), (BERLIN,), ())
    with pytest.raises(TopologyError) as caught:
        topology.find("Gate")
    assert str(caught.value) == f"several queue managers are called Gate: 2 ({guid(11)}, {guid(13)})"
    assert topology.notes == ("names that several queue managers have: 1 (gate)",)


def test_an_enterprise_with_nothing_odd_has_no_notes() -> None:
    gate = QueueManager(
        identifier=guid(12), computer_name="P-GATE", site_identifier_list=(guid(2),), routing_server=True
    )
    assert topology_of((GATE, gate), (BERLIN, PARIS), (link(gates=(11, 12)),)).notes == ()


def test_everything_odd_is_a_note() -> None:
    lost = QueueManager(
        identifier=guid(13),
        computer_name="LOST",
        out_routing_server_identifier_list=(guid(12),),
        in_routing_server_identifier_list=(guid(13),),
    )
    sites = (BERLIN, PARIS, Site(identifier=guid(3), name="Rome"), Site(identifier=guid(4), name="Oslo"))
    links = (link(gates=(12, 13)), link(22, ends=(2, 1)), link(23, ends=(2, 3)))
    assert topology_of((GATE, CLIENT, lost), sites, links).notes == (
        "queue managers in no site: 1 (LOST)",
        "no routing servers, but in out_routing_server_identifier_list: 1 (CLIENT of LOST)",
        "no routing servers, but in in_routing_server_identifier_list: 1 (LOST of LOST)",
        "gates in neither site of their routing link: 1 (LOST of Berlin to Paris)",
        "further routing links between the same sites, of which the lowest cost counts: 1 (Paris to Berlin)",
        "sites without a gate, so that nothing is routed in or out: 2 (Berlin, Rome)",
        "sites that no routing link leads to: 1 (Oslo)",
        "gates that are no routing servers, so that they do not act as gates: 1 (CLIENT of Paris)",
    )


def test_a_thousand_odd_sites_are_one_note_that_names_five() -> None:
    sites = [Site(identifier=guid(number), name=f"S{number}") for number in range(1, 1001)]
    assert topology_of((), sites, ()).notes == (
        "sites that no routing link leads to: 1,000 (S1, S2, S3, S4, S5 and 995 more)",
    )
