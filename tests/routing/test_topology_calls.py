"""What is learnt of an enterprise from calls of its directory."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import msgspec
import pytest

from fixtures.build_rpc_types import GUID_A, GUID_B, GUID_C
from msmq_wire.capture.reader import read_capture
from msmq_wire.errors import TopologyError
from msmq_wire.records.record import Record
from msmq_wire.routing.directory import QueueManager, RoutingLink, Site
from msmq_wire.routing.topology import Topology
from msmq_wire.routing.topology_calls import DirectoryCalls
from msmq_wire.routing.topology_file import parse_topology
from msmq_wire.routing.topology_text import topology_text
from msmq_wire.wire.types.guid import GUID
from tests.routing.directory_calls import Conversation, addresses, flag, guid, guids, number, tell, text

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_NETWORK = b"""
[[connected_network]]
name = "warehouse"
identifier = "0d1f7a62-93c4-4be5-8a70-5e6d21c9b384"
"""


def example() -> Topology:
    """The example with a network, and without what PROPID_QM_ADDRESS has no place for: IPv6."""
    data = (_FIXTURES / "routing" / "example.toml").read_bytes() + _NETWORK
    found = parse_topology(data)
    network = next(iter(found.connected_networks))
    managers = {
        identifier: msgspec.structs.replace(
            one,
            addresses=tuple(a for a in one.addresses if ipaddress.ip_address(a).version == 4),
            connected_network_identifier_list=(network,) if one.routing_server else (),
            full_path=f"CN=msmq,CN={one.computer_name}",
        )
        for identifier, one in found.queue_managers.items()
    }
    return msgspec.structs.replace(found, queue_managers=managers)


def learnt(path: Path) -> DirectoryCalls:
    calls = DirectoryCalls()
    for record in read_capture(path):
        assert isinstance(record, Record)
        calls.take(record)
    return calls


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


def reported(talk: Conversation, path: Path) -> Topology:
    talk.close()
    return learnt(talk.write(path / "calls.pcap")).topology()[0]


def test_an_enterprise_that_was_asked_for_is_the_one_that_the_server_has(tmp_path: Path) -> None:
    built = example()
    found, places = learnt(tell(built, tmp_path / "calls.pcap")).topology()
    assert found.sites == built.sites
    assert found.routing_links == built.routing_links
    assert found.queue_managers == built.queue_managers
    assert found.connected_networks == built.connected_networks
    assert found.notes == built.notes
    objects = len(built.sites) + len(built.routing_links) + len(built.queue_managers) + 1
    assert len(places) == objects
    assert all(place.startswith("frame") for place in places.values())
    # Of a queue manager two calls told, one of them by its name.
    assert all("," in place for (cls, _), place in places.items() if cls is QueueManager)


def test_what_was_told_last_counts(talk: Conversation, tmp_path: Path) -> None:
    talk.look_up((301, 302), [(text("Berlin"), guid(GUID_A))])
    talk.get(3, GUID_A, {301: text("Paris")})
    assert reported(talk, tmp_path).sites == {
        GUID.parse(GUID_A): Site(identifier=GUID.parse(GUID_A), name="Paris")
    }


def test_what_a_client_creates_is_there(talk: Conversation, tmp_path: Path) -> None:
    talk.look_up((301, 302), [(text("Berlin"), guid(GUID_A)), (text("Paris"), guid(GUID_B))])
    talk.create(8, {801: guid(GUID_A), 802: guid(GUID_B), 812: number(7)}, GUID_C)
    (link,) = reported(talk, tmp_path).routing_links.values()
    assert link == RoutingLink(
        identifier=GUID.parse(GUID_C),
        actual_cost=7,
        site1_identifier=GUID.parse(GUID_A),
        site2_identifier=GUID.parse(GUID_B),
    )


def test_a_cost_without_its_actual_one_counts_foreign_sites(talk: Conversation, tmp_path: Path) -> None:
    # [MS-MQDS] 3.1.4.21.8.1: PROPID_L_COST has 999,999 more for each foreign site.
    sites = [(text("Berlin"), guid(GUID_A), flag(True)), (text("Paris"), guid(GUID_B), flag(False))]
    talk.look_up((301, 302, 311), sites)
    talk.look_up((806, 801, 802, 803), [(guid(GUID_C), guid(GUID_A), guid(GUID_B), number(999_999 + 4))])
    (link,) = reported(talk, tmp_path).routing_links.values()
    assert link.actual_cost == 4


def test_a_lookup_that_failed_and_a_call_that_was_refused_tell_nothing(
    talk: Conversation, tmp_path: Path
) -> None:
    talk.look_up((301, 302), [(text("Berlin"), guid(GUID_A))], status=0xC00E0006)
    talk.get_named(3, "Berlin", {301: text("Berlin"), 302: guid(GUID_A)}, status=0xC00E050F)
    assert not reported(talk, tmp_path).sites


def test_what_refers_to_what_nobody_told_of_is_left_out_and_noted(talk: Conversation, tmp_path: Path) -> None:
    talk.look_up((202, 203, 222), [(guid(GUID_A), text("PC-A"), guids([GUID_B]))])
    talk.look_up((806, 801, 802, 812), [(guid(GUID_C), guid(GUID_A), guid(GUID_B), number(1))])
    talk.get_named(2, "PC-B", {233: text("pc-b.example")})
    found = reported(talk, tmp_path)
    (manager,) = found.queue_managers.values()
    assert (manager.computer_name, manager.site_identifier_list) == ("PC-A", ())
    assert not found.routing_links
    assert found.notes[:3] == (
        "queue managers of which no identifier was told: 1 (pc-b)",
        "queue manager PC-A names sites that nobody told of",
        f"routing link {GUID_C} is left out: nobody told of its sites",
    )


def test_a_link_that_costs_nothing_is_left_out(talk: Conversation, tmp_path: Path) -> None:
    talk.look_up((301, 302), [(text("Berlin"), guid(GUID_A)), (text("Paris"), guid(GUID_B))])
    talk.look_up((806, 801, 802), [(guid(GUID_C), guid(GUID_A), guid(GUID_B))])
    found = reported(talk, tmp_path)
    assert not found.routing_links
    assert f"routing link {GUID_C} is left out: nobody told what it costs" in found.notes


def test_gates_that_are_in_no_such_site_are_left_out(talk: Conversation, tmp_path: Path) -> None:
    talk.look_up((301, 302, 303), [(text("Berlin"), guid(GUID_A), guids([GUID_B]))])
    talk.look_up((202, 203), [(guid(GUID_B), text("PC-B"))])
    found = reported(talk, tmp_path)
    assert found.sites[GUID.parse(GUID_A)].site_gate_collection == ()
    assert found.notes[0] == "sites with gates that are not known to be in them: 1 (Berlin)"


def test_an_enterprise_that_contradicts_itself_is_refused_with_the_frames(
    talk: Conversation, tmp_path: Path
) -> None:
    talk.look_up((301, 302), [(text("Berlin"), guid(GUID_A)), (text("berlin"), guid(GUID_B))])
    with pytest.raises(TopologyError, match=rf"Site {GUID_B} \(frame \d+ of .*\): another site"):
        reported(talk, tmp_path)


def test_addresses_that_are_cut_or_of_other_networks_are_left_out(talk: Conversation, tmp_path: Path) -> None:
    whole = addresses(["192.0.2.17"])
    cut = {**whole, "blob": {"cb_size": 6, "p_blob_data": whole["blob"]["p_blob_data"][:6]}}
    rows = [(guid(GUID_A), text("PC-A"), whole), (guid(GUID_B), text("PC-B"), cut)]
    talk.look_up((202, 203, 206), rows)
    found = reported(talk, tmp_path).queue_managers
    assert found[GUID.parse(GUID_A)].addresses == ("192.0.2.17",)
    assert found[GUID.parse(GUID_B)].addresses == ()


def test_more_objects_than_are_remembered_are_counted(
    talk: Conversation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("msmq_wire.routing.topology_calls._MOST_OBJECTS", 1)
    talk.look_up((301, 302), [(text("Berlin"), guid(GUID_A)), (text("Paris"), guid(GUID_B))])
    found = reported(talk, tmp_path)
    assert len(found.sites) == 1
    assert "objects that there was no room for were told of 1 times" in found.notes


def test_names_that_could_control_a_terminal_are_written_as_numbers(
    talk: Conversation, tmp_path: Path
) -> None:
    name = "Ber\x1b[2Jlin \x9b31m \u202e \U000e0041"
    talk.look_up((301, 302), [(text(name), guid(GUID_A))])
    found = reported(talk, tmp_path)
    written = topology_text(found)
    assert all(one.isprintable() or one == "\n" for one in written)
    assert parse_topology(written.encode()).sites == found.sites
