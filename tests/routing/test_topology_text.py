"""Topologies as tables: references by name or identifier, and a text that gives the topology back."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.routing.directory import ConnectedNetwork, QueueManager, RoutingLink, Site
from msmq_wire.routing.topology import Topology, topology_of
from msmq_wire.routing.topology_file import TopologyForm, parse_topology
from msmq_wire.routing.topology_text import topology_text
from msmq_wire.wire.types.guid import GUID

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "routing"
SITES = '[[site]]\nname = "Berlin"\n[[site]]\nname = "Paris"\n'

# RFC 9562, 5.5, computed apart: SHA-1 of 5a0c7d0e-2f43-5b8c-9d0a-6f1b1c7e4d92, the table, a line feed and the
# name in lower case; of a link the identifiers of its sites in order and its description, by line feeds.
IDENTIFIERS = [
    "4811fc2e-d2f4-597d-82c7-d536e6416a70",
    "64dbaacf-b765-5c82-8892-c46e44128821",
    "d9688616-5b10-5927-8eff-dc06bfe2b918",
    "b862460b-1ba9-5dd5-8052-3c79c5381072",
    "23dd0c17-1dbe-5b52-ad0e-34d10765fd01",
]


def parsed(text: str) -> Topology:
    return parse_topology(text.encode(), TopologyForm.TOML)


def test_a_topology_without_identifiers_is_the_same_in_every_run() -> None:
    topology = parsed(
        SITES
        + '[[queue_manager]]\ncomputer_name = "GATE"\nsite_identifier_list = ["berlin"]\n'
        + '[[routing_link]]\nactual_cost = 1\nsite1_identifier = "Berlin"\nsite2_identifier = "Paris"\n'
        + '[[connected_network]]\nname = "LAN"\n'
    )
    objects = (topology.sites, topology.queue_managers, topology.routing_links, topology.connected_networks)
    assert [str(one) for those in objects for one in those] == IDENTIFIERS


def test_letter_case_makes_no_other_identifier() -> None:
    assert list(parsed(SITES).sites) == list(parsed(SITES.replace("Berlin", "BERLIN")).sites)


def test_entries_of_different_tables_with_one_name_have_different_identifiers() -> None:
    topology = parsed('[[site]]\nname = "X"\n[[queue_manager]]\ncomputer_name = "X"\n')
    assert not set(topology.sites) & set(topology.queue_managers)


def test_links_between_the_same_sites_are_told_apart_by_their_descriptions() -> None:
    link = '[[routing_link]]\nactual_cost = 1\nsite1_identifier = "Berlin"\nsite2_identifier = "Paris"\n'
    topology = parsed(SITES + link + link + 'description = "by night"\n')
    assert [one.description for one in topology.routing_links.values()] == ["", "by night"]


@pytest.mark.parametrize(
    "reference",
    [
        "gate",
        "GATE.EXAMPLE.COM",
        "3019F95C-3e61-4900-816c-0f13d3b6afae",
        "{3019f95c-3e61-4900-816c-0f13d3b6afae}",
    ],
)
def test_a_reference_is_a_name_or_an_identifier(reference: str) -> None:
    topology = parsed(
        SITES
        + '[[queue_manager]]\ncomputer_name = "Gate"\nqualified_computer_name = "gate.example.com"\n'
        + 'identifier = "3019f95c-3e61-4900-816c-0f13d3b6afae"\n'
        + f'[[queue_manager]]\ncomputer_name = "B"\nout_routing_server_identifier_list = ["{reference}"]\n'
    )
    server = GUID.parse("3019f95c-3e61-4900-816c-0f13d3b6afae")
    assert topology.find("B").out_routing_server_identifier_list == (server,)


def test_a_name_that_an_entry_has_twice_is_not_ambiguous() -> None:
    topology = parsed(
        '[[queue_manager]]\ncomputer_name = "A"\nqualified_computer_name = "a"\nrouting_server = true\n'
        '[[queue_manager]]\ncomputer_name = "B"\nin_routing_server_identifier_list = ["A"]\n'
    )
    assert topology.find("B").in_routing_server_identifier_list == (topology.find("A").identifier,)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:0DB8:0:0:0:0:0:7", "2001:db8::7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
    ],
)
def test_addresses_are_kept_in_their_shortest_form(written: str, kept: str) -> None:
    topology = parsed(f'[[queue_manager]]\ncomputer_name = "A"\naddresses = ["{written}"]\n')
    assert topology.find("A").addresses == (kept,)
    assert topology.find(kept) is topology.find("A")


def test_what_is_left_out_has_the_default_of_the_document() -> None:
    """[MS-MQDMPR] 3.1.1.1"""
    (one,) = parsed('[[queue_manager]]\ncomputer_name = "A"\n').queue_managers.values()
    assert one == QueueManager(identifier=one.identifier, computer_name="A")


def test_the_text_of_a_topology_names_what_it_refers_to() -> None:
    topology = parse_topology((FOLDER / "example.ldif").read_bytes())
    text = topology_text(topology)
    assert text.startswith(
        "[[site]]\n"
        'name = "A"\n'
        'identifier = "f7ae9466-2c20-48f7-9732-3b35156199d0"\n'
        'full_path = "CN=A,CN=Sites,CN=Configuration,DC=example,DC=com"\n'
        'site_gate_collection = ["A-GATE"]\n'
        "\n"
    )
    assert 'in_routing_server_identifier_list = ["D-ROUTER", "D-GATE"]\n' in text
    assert 'description = "A to B über die Leitung nach Süden"\n' in text


@pytest.mark.parametrize("name", ["example.toml", "example.json", "example.ldif", "example_other_costs.toml"])
def test_an_example_is_read_back_from_its_text(name: str) -> None:
    topology = parse_topology((FOLDER / name).read_bytes())
    # What reading an export noted is no part of the text.
    topology = msgspec.structs.replace(topology, notes=())
    again = parsed(topology_text(topology))
    assert again == topology
    assert list(again.queue_managers) == list(topology.queue_managers)


def test_a_name_that_two_have_is_written_as_an_identifier() -> None:
    one, two = GUID(bytes(15) + b"\1"), GUID(bytes(15) + b"\2")
    managers = (
        QueueManager(identifier=one, computer_name="A", out_routing_server_identifier_list=(two,)),
        QueueManager(identifier=two, computer_name="a", out_routing_server_identifier_list=(two,)),
    )
    topology = topology_of(managers, (), ())
    text = topology_text(topology)
    assert text.count(f'out_routing_server_identifier_list = ["{two}"]') == 2
    assert parsed(text) == topology


def test_a_long_list_stands_on_lines_of_its_own() -> None:
    sites = [Site(identifier=GUID(bytes(15) + bytes((n,))), name=f"a long name {n}") for n in range(20)]
    one = QueueManager(
        identifier=GUID(bytes(16)),
        computer_name="A",
        site_identifier_list=tuple(site.identifier for site in sites),
    )
    topology = topology_of((one,), sites, ())
    text = topology_text(topology)
    assert 'site_identifier_list = [\n    "a long name 0",\n    "a long name 1",\n' in text
    assert max(map(len, text.splitlines())) <= 110
    assert parsed(text) == topology


GUIDS = st.binary(min_size=16, max_size=16).map(GUID).filter(lambda guid: guid != GUID(b"\xff" * 16))
NAMES = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
    st.sampled_from(("A", "a", "ß", "ss", "B", "a.b", '"', "\\", "\x00\n\r\x7f", "''' \"\"\"", "\u2028")),
    GUIDS.map(str),
)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Consistent topologies with names of any kind."""

    def some(known: list[GUID]) -> tuple[GUID, ...]:
        return tuple(draw(st.lists(st.sampled_from(known), max_size=3))) if known else ()

    sites = draw(st.lists(GUIDS, max_size=4, unique=True))
    managers = draw(st.lists(GUIDS, min_size=1, max_size=4, unique=True))
    networks = draw(st.lists(GUIDS, max_size=2, unique=True))
    names = draw(st.lists(NAMES, min_size=len(sites), max_size=len(sites), unique_by=str.casefold))
    links = []
    if len(sites) > 1:
        for identifier in draw(st.lists(GUIDS, max_size=4, unique=True)):
            one, two = draw(st.permutations(sites))[:2]
            links.append(
                RoutingLink(
                    identifier=identifier,
                    description=draw(st.one_of(st.just(""), NAMES)),
                    actual_cost=draw(st.integers(1, 999_999)),
                    site1_identifier=one,
                    site2_identifier=two,
                    site_gate_identifier_list=some(managers),
                )
            )
    return topology_of(
        [
            QueueManager(
                identifier=identifier,
                computer_name=draw(NAMES),
                qualified_computer_name=draw(st.one_of(st.just(""), NAMES)),
                full_path=draw(st.one_of(st.just(""), NAMES)),
                site_identifier_list=some(sites),
                connected_network_identifier_list=some(networks),
                out_routing_server_identifier_list=some(managers),
                in_routing_server_identifier_list=some(managers),
                routing_server=draw(st.booleans()),
                foreign_system=draw(st.booleans()),
                addresses=(f"192.0.2.{number}",) if draw(st.booleans()) else (),
            )
            for number, identifier in enumerate(managers)
        ],
        [
            Site(identifier=identifier, name=name, foreign_site=draw(st.booleans()))
            for identifier, name in zip(sites, names, strict=True)
        ],
        links,
        [ConnectedNetwork(identifier=identifier, name=draw(NAMES)) for identifier in networks],
    )


@given(topologies())
def test_any_topology_is_read_back_from_its_text(topology: Topology) -> None:
    again = parsed(topology_text(topology))
    assert again == topology
    for field in ("queue_managers", "sites", "routing_links", "connected_networks"):
        assert list(getattr(again, field)) == list(getattr(topology, field))
