"""`Auditor`: hops of captures against the enterprise of [MS-MQBR] section 4."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from fixtures.build_routed_scenes import SCENES, build, hosts
from msmq_wire.capture.reader import read_capture
from msmq_wire.records.record import Record
from msmq_wire.routing import DeviationKind, ObservedHop, QueueManager, Sighting, Site, topology_of
from msmq_wire.routing.auditor import Auditor, audit, sighting_of
from msmq_wire.routing.topology import Topology
from msmq_wire.routing.topology_file import parse_topology
from msmq_wire.wire.types.guid import GUID

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_LOST = ("off_path", "loop")

# Number of the message, sender and receiver: what is wrong with this hop. Nothing is with the others.
WRONG: dict[tuple[int, str, str], tuple[str, ...]] = {
    (201, "A-GATE", "D-GATE"): ("off_path",),
    (202, "B-GATE", "A-GATE"): ("off_path", "loop"),
    (203, "B-CLIENT1", "B-ROUTER"): ("routed_though_direct",),
    (204, "C-GATE", "C-CLIENT1"): ("too_few_hops",),
    (205, "outside", "C-GATE"): ("off_path",),
    (207, "C-ROUTER", "C-CLIENT1"): ("off_path",),
}
NOT_JUDGED = {301: "a direct format name is not routed", 302: "is not in the topology"}


@cache
def example() -> Topology:
    return parse_topology((_FIXTURES / "routing" / "example.toml").read_bytes())


def _names() -> dict[GUID, str]:
    return {GUID(host.guid): name for name, host in hosts().items()}


def _records(name: str) -> Iterator[Record]:
    return iter(read_capture(_FIXTURES / name, streams=True))


def test_the_committed_captures_are_what_the_builder_builds() -> None:
    assert [name for name, data in build() if (_FIXTURES / name).read_bytes() != data] == []


@pytest.mark.parametrize(
    "name", ["routed_right", "routed_wrong", "routed_looping", "routed_mixed", "routed_addresses"]
)
def test_exactly_the_wrong_hops_of_a_capture_are_found(name: str) -> None:
    path = f"captures/{name}.pcap"
    known = _names()
    found = list(audit(_records(path), example()))
    expected = []
    seen: set[tuple[int, str, str]] = set()
    for hop in SCENES[path][1]:
        way = hop.number, hop.sender, hop.receiver
        # The second time around, a loop is one again, and RC is too high for the first time.
        kinds = ("too_many_hops", "loop") if way in seen else WRONG.get(way, ())
        seen.add(way)
        expected.append((*way, hop.hops, kinds))
    assert [
        (
            one.sighting.message_id,
            known[one.source] if one.source else None,
            known[one.target] if one.target else None,
            one.sighting.hops,
            tuple(deviation.kind.value for deviation in one.deviations),
        )
        for one in found
    ] == expected
    for one in found:
        reason = NOT_JUDGED.get(one.sighting.message_id)
        assert (one.reason or "").endswith(reason or "")
        assert (one.reason is None) == (reason is None)


def test_a_deviation_says_what_was_expected_and_where_that_is_written() -> None:
    found = audit(_records("captures/routed_wrong.pcap"), example())
    (hop,) = (one for one in found if one.sighting.message_id == 201 and one.deviations)
    (deviation,) = hop.deviations
    assert deviation.message == "A-GATE passed the message to D-GATE, not to B-GATE"
    assert str(deviation.spec) == "[MS-MQBR] 3.1.5.3"
    assert hop.verdict == "off_path"
    assert hop.expected == (example().find("B-GATE").identifier,)


def _sighting(**changes: object) -> Sighting:
    values: dict[str, object] = {
        "record": 1,
        "src": "192.0.2.19:49731",
        "dst": "192.0.2.17:1801",
        "stream": 0,
        "source_queue_manager": example().find("A-CLIENT1").identifier,
        "message_id": 7,
        "queue_manager_address": example().find("C-CLIENT1").identifier,
        "hops": 0,
    }
    return Sighting(**(values | changes))  # type: ignore[arg-type]  # fields by name


def test_the_sender_of_a_message_with_rc_0_is_its_source() -> None:
    hop = Auditor(example()).judge(_sighting(src="198.51.100.1:5000"))
    assert hop.source == example().find("A-CLIENT1").identifier
    assert hop.verdict == "on_path"


def test_a_hop_between_hosts_that_are_not_known_is_not_judged() -> None:
    hop = Auditor(example()).judge(_sighting(src="198.51.100.1:5000", dst="198.51.100.2:1801", hops=2))
    assert (hop.source, hop.target, hop.reason) == (None, None, "who is at either end is not known")


def test_a_hop_whose_receiver_is_not_known_is_judged_by_its_count() -> None:
    auditor = Auditor(example())
    assert auditor.judge(_sighting(dst="198.51.100.1:1801")).reason == "its receiver is not known"
    wrong = auditor.judge(_sighting(dst="198.51.100.1:1801", message_id=8, hops=9))
    assert [one.kind for one in wrong.deviations] == [DeviationKind.TOO_MANY_HOPS]


def test_a_hop_whose_sender_is_not_known_is_judged_by_its_receiver() -> None:
    auditor = Auditor(example())
    assert auditor.judge(_sighting(src="198.51.100.1:5000", hops=1)).reason == "its sender is not known"
    wrong = auditor.judge(_sighting(src="198.51.100.1:5000", dst="192.0.2.20:1801", hops=1, message_id=9))
    assert [one.kind for one in wrong.deviations] == [DeviationKind.OFF_PATH]


def test_a_host_of_two_queue_managers_tells_nothing_by_its_address() -> None:
    auditor = Auditor(example())
    first, second = GUID(b"1" * 16), GUID(b"2" * 16)
    for stream, client in enumerate((first, second)):
        auditor.add_establish_connection(
            "", stream, f"198.51.100.1:500{stream}", "192.0.2.17:1801", client, None
        )
    known = auditor.judge(_sighting(src="198.51.100.1:5000", stream=0, hops=1))
    unknown = auditor.judge(_sighting(src="198.51.100.1:6000", stream=2, hops=1, message_id=8))
    assert (known.source, unknown.source) == (first, None)


def test_an_answer_to_establish_connection_names_client_and_server_the_other_way_round() -> None:
    client, server = GUID(b"1" * 16), GUID(b"2" * 16)
    for ends in (
        [("198.51.100.1:5000", "198.51.100.2:1801")],
        [("198.51.100.2:1801", "198.51.100.1:5000")],
        [("198.51.100.1:5000", "198.51.100.2:4000"), ("198.51.100.2:4000", "198.51.100.1:5000")],
    ):
        auditor = Auditor(example())
        for src, dst in ends:
            auditor.add_establish_connection("", 3, src, dst, client, server)
        hop = auditor.judge(
            _sighting(src="198.51.100.1:5000", dst=max(ends[0][0], ends[0][1]), stream=3, hops=1)
        )
        assert (hop.source, hop.target) == (client, server)


def test_a_message_without_a_way_is_told_with_the_place_where_the_ways_end() -> None:
    sites = [Site(identifier=GUID(bytes([number]) * 16), name=f"site {number}") for number in (1, 2)]
    managers = [
        QueueManager(
            identifier=GUID(bytes([number]) * 16),
            computer_name=f"host{number}",
            site_identifier_list=(sites[number - 3].identifier,),
        )
        for number in (3, 4)
    ]
    auditor = Auditor(topology_of(managers, sites, []))
    hop = auditor.judge(
        _sighting(source_queue_manager=managers[0].identifier, queue_manager_address=managers[1].identifier)
    )
    (deviation,) = hop.deviations
    assert deviation.kind is DeviationKind.NO_ROUTE
    assert deviation.message == (
        "no route leads from host3 to host4: host3: its sites have no routing server, and the destination "
        "is in another site"
    )


def test_a_destination_that_passes_its_message_on_is_off_the_path() -> None:
    auditor = Auditor(example())
    hop = auditor.judge(_sighting(src="192.0.2.51:5000", dst="192.0.2.49:1801", hops=4))
    names = {one.identifier: one.computer_name for one in example().queue_managers.values()}
    assert hop.source is not None
    assert names[hop.source] == "C-CLIENT1"
    assert [one.kind.value for one in hop.deviations if one.kind.value in _LOST] == ["off_path"]
    assert "though C-CLIENT1 is its destination" in hop.deviations[0].message


def test_a_resent_message_is_no_loop() -> None:
    found = list(audit(_records("findings/RTE-LOOP/miss_resent.pcap"), example()))
    assert [one.verdict for one in found] == ["on_path"] * 5
    assert any(one.sighting.hops > two.sighting.hops for one, two in pairwise(found)), (
        "the capture should have a message that is sent again"
    )


def test_a_count_that_is_wrong_is_told_at_the_first_hop_and_whenever_that_hop_is_seen() -> None:
    auditor = Auditor(example())
    gate = {"src": "192.0.2.17:5000", "dst": "192.0.2.33:1801"}
    following = {"src": "192.0.2.33:5000", "dst": "192.0.2.49:1801"}
    verdicts = [
        auditor.judge(_sighting(**ends, hops=hops)).verdict
        for ends, hops in ((gate, 5), (following, 6), (gate, 5), (following, 8))
    ]
    assert verdicts == ["too_many_hops", "on_path", "too_many_hops", "too_many_hops"]


def test_a_source_outside_is_judged_by_the_ways_of_who_passes_it_on() -> None:
    auditor = Auditor(example())
    outside = GUID(b"9" * 16)
    right = auditor.judge(
        _sighting(source_queue_manager=outside, src="192.0.2.17:5000", dst="192.0.2.33:1801", hops=1)
    )
    wrong = auditor.judge(
        _sighting(source_queue_manager=outside, src="192.0.2.17:5000", dst="192.0.2.65:1801", hops=1)
    )
    assert (right.verdict, wrong.verdict) == ("on_path", "off_path")


@pytest.mark.parametrize("type_", ["ping", "session_ack", "message_packet", "tcp_stream"])
def test_what_is_no_message_on_the_binary_protocol_is_no_hop(type_: str) -> None:
    assert sighting_of(Record(id=1, type=type_)) is None


def test_a_packet_that_ends_before_its_flags_is_no_hop() -> None:
    records = [one for one in _records("captures/routed_right.pcap") if one.type == "user_message"]
    assert isinstance(sighting_of(records[0]), Sighting)
    cut = Record(id=1, type="user_message", packet=None)
    assert sighting_of(cut) is None
    assert Auditor(example()).feed(cut) is None


def test_memory_of_old_messages_connections_and_hosts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MOST_MESSAGES", "_MOST_STREAMS", "_MOST_HOSTS"):
        monkeypatch.setattr(f"msmq_wire.routing.auditor.{name}", 2)
    auditor = Auditor(example())
    hops: list[ObservedHop] = []
    for number in range(5):
        client = GUID(bytes([number + 1]) * 16)
        auditor.add_establish_connection(
            "", number, f"198.51.100.{number}:5000", "192.0.2.17:1801", client, None
        )
        hops.append(auditor.judge(_sighting(message_id=number)))
    old = auditor.judge(_sighting(src="198.51.100.0:5000", stream=0, hops=1, message_id=0))
    new = auditor.judge(_sighting(src="198.51.100.4:5000", stream=4, hops=1, message_id=1))
    # The first two hosts are remembered, and the last two connections.
    assert (old.source, new.source) == (GUID(b"\x01" * 16), GUID(b"\x05" * 16))
    lost = auditor.judge(_sighting(src="198.51.100.2:5000", stream=2, hops=1, message_id=2))
    assert lost.source is None
    assert [one.verdict for one in hops] == ["on_path"] * 5
