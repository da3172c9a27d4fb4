"""Every branch of every procedure, in an enterprise that can be checked by eye. [MS-MQBR] 3.1.3 to 3.1.6"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from msmq_wire.errors import RoutingError
from msmq_wire.lab.model.data.timers import Timers
from msmq_wire.routing.algorithm import HopRule, NextHops, RoutingAlgorithm
from msmq_wire.routing.directory import (
    AttributeFilter,
    DirectoryObject,
    DirectoryOperationResult,
    DirectoryType,
)
from msmq_wire.wire.types.guid import GUID
from tests.routing.enterprises import Enterprise, PlainDirectory, link, machine, qm_id, site, site_id
from tests.routing.literal_algorithm import LiteralAlgorithm

# Site A has a client, one with out-routing servers, one with in-routing servers, two routing servers and a
# gate; B has a gate and a client; C a gate of whose two clients one has an in-routing server; nothing leads
# to D; E has no gate; F has neither routing server nor gate.
_ENTERPRISE = Enterprise(
    (
        machine("cA", "A"),
        machine("out", "A", out=["r2", "r1"]),
        machine("in", "A", in_=["r2", "cA"]),
        machine("r1", "A", router=True),
        machine("r2", "A", router=True),
        machine("gA", "A", router=True),
        machine("gB", "B", router=True),
        machine("cB", "B"),
        machine("inB", "B", in_=["gB"]),
        machine("inC", "C", in_=["r1", "gA", "r3"]),
        machine("g1C", "C", router=True),
        machine("g2C", "C", router=True),
        machine("r3", "C", router=True),
        machine("cC", "C"),
        machine("gD", "D", router=True),
        machine("cD", "D"),
        machine("rE", "E", router=True),
        machine("cE", "E"),
        machine("cF", "F"),
        machine("AB", "AB"),
        machine("CB", "CB"),
        machine("BC", "BC"),
        machine("BD", "BD"),
        machine("none", ""),
        machine("rNone", "", router=True),
        machine("outC", "C", out=["gB"]),
    ),
    (
        site("A", "gA"),
        site("B", "gB"),
        site("C", "g2C", "g1C"),
        site("D", "gD"),
        site("E"),
        site("F"),
    ),
    (link("A", "B", 1), link("B", "C", 1), link("B", "E", 1)),
)


def _algorithm(enterprise: Enterprise = _ENTERPRISE) -> RoutingAlgorithm:
    return RoutingAlgorithm(enterprise.directory())


def _ids(*names: str) -> tuple[GUID, ...]:
    return tuple(map(qm_id, names))


_ROUTED = {
    "3.1.5.1: source with out-routing servers, destination in another site": (
        "out", "cB", ("r2", "r1"), HopRule.OUT_ROUTING_SERVER, "3.1.5.1",
    ),
    "3.1.5.1: source with out-routing servers, destination in the same site": (
        "out", "cA", ("r2", "r1"), HopRule.OUT_ROUTING_SERVER, "3.1.5.1",
    ),
    "3.1.5.1: out-routing servers go before in-routing servers": (
        "out", "in", ("r2", "r1"), HopRule.OUT_ROUTING_SERVER, "3.1.5.1",
    ),
    "3.1.5.1: out-routing servers are taken though they are in another site": (
        "outC", "cC", ("gB",), HopRule.OUT_ROUTING_SERVER, "3.1.5.1",
    ),
    "3.1.5.1: same site, destination with in-routing servers": (
        "AB", "in", ("r2", "cA"), HopRule.IN_ROUTING_SERVER, "3.1.5.1",
    ),
    "3.1.5.1: a client that is an in-routing server names itself": (
        "cA", "in", ("r2", "cA"), HopRule.IN_ROUTING_SERVER, "3.1.5.1",
    ),
    "3.1.5.1: same site": ("cA", "r1", ("r1",), HopRule.DIRECT, "3.1.5.1"),
    "3.1.5.1: one of several sites is the same": ("AB", "CB", ("CB",), HopRule.DIRECT, "3.1.5.1"),
    "3.1.5.1: to itself": ("cA", "cA", ("cA",), HopRule.DIRECT, "3.1.5.1"),
    "3.1.5.1: other site": ("cA", "cB", ("r1",), HopRule.ROUTING_SERVER, "3.1.5.1"),
    "3.1.5.1: other site, in-routing servers do not count yet": (
        "cA", "inC", ("r1",), HopRule.ROUTING_SERVER, "3.1.5.1",
    ),
    "3.1.5.1: other site that cannot be reached": ("cA", "cD", ("r1",), HopRule.ROUTING_SERVER, "3.1.5.1"),
    "3.1.5.1: destination without a site": ("cA", "none", ("r1",), HopRule.ROUTING_SERVER, "3.1.5.1"),
    "3.1.5.2: in-routing server of a destination in the same site": (
        "r2", "in", ("in",), HopRule.IN_ROUTING_CLIENT, "3.1.5.2",
    ),
    "3.1.5.2: in-routing server of a destination in another site": (
        "r1", "inC", ("inC",), HopRule.IN_ROUTING_CLIENT, "3.1.5.2",
    ),
    "3.1.5.2: same site, destination with in-routing servers": (
        "r1", "in", ("r2", "cA"), HopRule.IN_ROUTING_SERVER, "3.1.5.2",
    ),
    "3.1.5.2: same site": ("r1", "cA", ("cA",), HopRule.DIRECT, "3.1.5.2"),
    "3.1.5.2: other site": ("r1", "cB", ("gA",), HopRule.SITE_GATE, "3.1.5.2"),
    "3.1.5.2: other site, the first of two gates": ("r3", "cB", ("g2C",), HopRule.SITE_GATE, "3.1.5.2"),
    "3.1.5.3: in-routing server of a destination in another site": (
        "gA", "inC", ("inC",), HopRule.IN_ROUTING_CLIENT, "3.1.5.3",
    ),
    "3.1.5.3: in-routing server of a destination in the same site": (
        "gB", "inB", ("inB",), HopRule.IN_ROUTING_CLIENT, "3.1.5.3",
    ),
    "3.1.5.3: same site, destination with in-routing servers": (
        "gA", "in", ("r2", "cA"), HopRule.IN_ROUTING_SERVER, "3.1.5.3",
    ),
    "3.1.5.3: same site": ("gA", "out", ("out",), HopRule.DIRECT, "3.1.5.3"),
    "3.1.5.3: next site is that of the destination": ("gA", "cB", ("gB",), HopRule.NEXT_SITE, "3.1.5.3"),
    "3.1.5.3: next site is on the way": ("gA", "cC", ("gB",), HopRule.NEXT_SITE, "3.1.5.3"),
    "3.1.5.3: next site with two gates": ("gB", "cC", ("g2C",), HopRule.NEXT_SITE, "3.1.5.3"),
    "3.1.5.3: destination in a site that cannot be reached and one that can": (
        "gA", "BD", ("gB",), HopRule.NEXT_SITE, "3.1.5.3",
    ),
}  # fmt: skip


@pytest.mark.rule(
    "MQBR-3.1.5.1-3",
    "MQBR-3.1.5.1-4",
    "MQBR-3.1.5.1-5",
    "MQBR-3.1.5.1-6",
    "MQBR-3.1.5.1-7",
    "MQBR-3.1.5.2-1",
    "MQBR-3.1.5.2-2",
    "MQBR-3.1.5.2-3",
    "MQBR-3.1.5.2-4",
    "MQBR-3.1.5.2-5",
    "MQBR-3.1.5.3-1",
    "MQBR-3.1.5.3-2",
    "MQBR-3.1.5.3-3",
    "MQBR-3.1.5.3-4",
    "MQBR-3.1.5.3-5",
)
@pytest.mark.parametrize("case", _ROUTED.values(), ids=_ROUTED)
def test_each_way_to_be_routed(case: tuple[str, str, tuple[str, ...], HopRule, str]) -> None:
    source, destination, expected, rule, section = case
    found = _algorithm().get_next_hops(qm_id(source), qm_id(destination))
    assert found.identifiers == _ids(*expected)
    assert found.rule == rule
    assert (found.spec.document, found.spec.section) == ("MS-MQBR", section)


@pytest.mark.parametrize("case", _ROUTED.values(), ids=_ROUTED)
def test_the_oracle_says_the_same(case: tuple[str, str, tuple[str, ...], HopRule, str]) -> None:
    source, destination, expected, *_ = case
    literal = LiteralAlgorithm(_ENTERPRISE.directory())
    assert literal.get_next_hops(qm_id(source), qm_id(destination)) == list(_ids(*expected))


_FAILS = {
    "3.1.5.1: unknown source": ("nobody", "cA"),
    "3.1.5.1: unknown destination": ("cA", "nobody"),
    "3.1.5.1: unknown destination, source with out-routing servers": ("out", "nobody"),
    "3.1.5.1: unknown destination, source is a routing server": ("gA", "nobody"),
    "3.1.5.1: both unknown": ("nobody", "nobody"),
    "3.1.5.1: other site and no routing server in the own": ("cF", "cA"),
    "3.1.5.1: no site at all": ("none", "cA"),
    "3.1.5.1: two without a site share none": ("none", "rNone"),
    "3.1.5.2: other site and no gate in the own": ("rE", "cA"),
    "3.1.5.2: routing server of no site": ("rNone", "cA"),
    "3.1.5.3: destination's site has no row": ("gA", "cD"),
    "3.1.5.3: destination has no site": ("gA", "none"),
    "3.1.5.3: next site has no gate": ("gB", "cE"),
    "3.1.5.3: gate without any link": ("gD", "cA"),
}


@pytest.mark.rule("MQBR-3.1.5.1-1", "MQBR-3.1.5.1-2", "MQBR-3.1.5.1-8")
@pytest.mark.parametrize(("source", "destination"), _FAILS.values(), ids=_FAILS)
def test_each_way_to_fail_raises(source: str, destination: str) -> None:
    with pytest.raises(RoutingError):
        _algorithm().get_next_hops(qm_id(source), qm_id(destination))
    with pytest.raises(RoutingError):
        LiteralAlgorithm(_ENTERPRISE.directory()).get_next_hops(qm_id(source), qm_id(destination))


@pytest.mark.rule("MQBR-3.1.5.2-5", "MQBR-3.1.5.2-6")
@pytest.mark.parametrize(("source", "destination"), [("rE", "cA"), ("rNone", "cA"), ("cA", "cB")])
def test_3_1_5_2_returns_nothing_on_failure_or_the_gate(source: str, destination: str) -> None:
    machines = {one.computer_name: one for one in _ENTERPRISE.queue_managers}
    found = _algorithm().get_next_hops_for_router(machines[source], machines[destination])
    assert found.identifiers == (_ids("gA") if source == "cA" else ())


@pytest.mark.rule("MQBR-3.1.5.3-6")
@pytest.mark.parametrize(
    ("source", "destination"), [("gA", "cD"), ("gA", "none"), ("gB", "cE"), ("r1", "cB")]
)
def test_3_1_5_3_returns_nothing_on_failure(source: str, destination: str) -> None:
    # r1 is no gate: its routing table is empty.
    machines = {one.computer_name: one for one in _ENTERPRISE.queue_managers}
    found = _algorithm().get_next_hops_for_site_gate(machines[source], machines[destination])
    assert found.identifiers == ()


@pytest.mark.rule("MQBR-3.1.5.3-4")
@pytest.mark.parametrize(("order", "next_gate"), [("ABCD", "gC"), ("ACBD", "gB")])
def test_3_1_5_3_of_a_destination_in_two_sites_the_last_row_wins(order: str, next_gate: str) -> None:
    # B is nearer than C; whichever the directory gives last is taken.
    enterprise = Enterprise(
        (*(machine(f"g{one}", one, router=True) for one in "ABCD"), machine("to", "BC")),
        tuple(site(one, f"g{one}") for one in order),
        (link("A", "B", 1), link("A", "C", 5)),
    )
    found = _algorithm(enterprise).get_next_hops(qm_id("gA"), qm_id("to"))
    assert found.identifiers == _ids(next_gate)


def test_3_1_5_3_of_equal_next_sites_the_lowest_is_returned_and_the_others_are_alternatives() -> None:
    enterprise = Enterprise(
        (*(machine(f"g{one}", one, router=True) for one in "DCBA"), machine("hC", "C", router=True)),
        (site("D", "gD"), site("C", "gC", "hC"), site("B", "gB"), site("A", "gA")),
        (link("A", "C", 1), link("C", "D", 1), link("A", "B", 1), link("B", "D", 1)),
    )
    found = _algorithm(enterprise).get_next_hops(qm_id("gA"), qm_id("gD"))
    assert found.identifiers == _ids("gB")
    assert sorted(found.alternatives) == sorted(_ids("gC", "hC"))


def test_3_1_5_5_and_3_1_5_6_leave_alternatives_open() -> None:
    algorithm = _algorithm()
    found = algorithm.get_next_hops(qm_id("cA"), qm_id("cB"))
    assert set(found.alternatives) == set(_ids("r2", "gA"))
    found = algorithm.get_next_hops(qm_id("r3"), qm_id("cB"))
    assert found.alternatives == _ids("g1C")


@pytest.mark.parametrize(
    ("source", "destination"), [("out", "cB"), ("AB", "in"), ("cA", "r1"), ("r1", "inC")]
)
def test_lists_and_direct_hops_leave_no_alternatives(source: str, destination: str) -> None:
    assert _algorithm().get_next_hops(qm_id(source), qm_id(destination)).alternatives == ()


@pytest.mark.rule("MQBR-3.1.5.4-2")
def test_3_1_5_4_returns_the_queue_manager_of_an_identifier() -> None:
    found = _algorithm().get_queue_manager(qm_id("r2"))
    assert found is not None
    assert found.computer_name == "r2"


@pytest.mark.rule("MQBR-3.1.5.4-3")
def test_3_1_5_4_returns_nothing_for_an_identifier_that_no_queue_manager_has() -> None:
    assert _algorithm().get_queue_manager(qm_id("nobody")) is None
    assert _algorithm().get_queue_manager(site_id("A")) is None


@pytest.mark.rule("MQBR-3.1.5.4-2")
@pytest.mark.parametrize("read_all_before", [False, True])
def test_3_1_5_4_returns_the_first_of_two_with_the_same_identifier(read_all_before: bool) -> None:
    directory = PlainDirectory(
        QueueManager=[machine("twice", "A"), machine("twice", "B")], Site=[site("A"), site("B")]
    )
    algorithm = RoutingAlgorithm(directory)
    if read_all_before:
        algorithm.get_directory_data("QueueManager", None)
    found = algorithm.get_queue_manager(qm_id("twice"))
    assert found is not None
    assert found.site_identifier_list == (site_id("A"),)


@pytest.mark.rule("MQBR-3.1.5.4-1")
def test_3_1_5_4_asks_for_one_identifier() -> None:
    directory = _ENTERPRISE.directory()
    RoutingAlgorithm(directory).get_queue_manager(qm_id("r2"))
    assert directory.begun[-1] == ("QueueManager", (AttributeFilter("identifier", "EQUALS", qm_id("r2")),))


@pytest.mark.rule("MQBR-3.1.5.5-1", "MQBR-3.1.5.5-4", "MQBR-3.1.5.5-5")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cA", "r1"),
        ("gA", "r1"),
        ("AB", "r1"),
        ("BD", "gB"),
        ("BC", "gB"),
        ("cE", "rE"),
        ("cF", None),
        ("none", None),
        ("nobody", None),
    ],
)
def test_3_1_5_5_returns_the_first_routing_server_that_shares_a_site(name: str, expected: str | None) -> None:
    found = _algorithm().get_routing_server(qm_id(name))
    assert found == (None if expected is None else qm_id(expected))


@pytest.mark.rule("MQBR-3.1.5.6-1", "MQBR-3.1.5.6-4", "MQBR-3.1.5.6-6")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cA", "gA"),
        ("cC", "g2C"),
        # The sites are looked at in the order of the directory, not of the list: B goes before C.
        ("CB", "gB"),
        ("BC", "gB"),
        ("cE", None),
        ("none", None),
        ("nobody", None),
    ],
)
def test_3_1_5_6_returns_a_gate_of_the_first_site(name: str, expected: str | None) -> None:
    found = _algorithm().get_site_gate(qm_id(name))
    assert found == (None if expected is None else qm_id(expected))


@pytest.mark.rule("MQBR-3.1.5.6-5")
@pytest.mark.parametrize(("order", "expected"), [("AB", None), ("BA", "gB")])
def test_3_1_5_6_looks_at_no_second_site_where_the_first_has_no_gate(
    order: str, expected: str | None
) -> None:
    gates = {"A": (), "B": ("gB",)}
    enterprise = Enterprise(
        (machine("gB", "B", router=True), machine("r", "AB", router=True)),
        tuple(site(one, *gates[one]) for one in order),
    )
    found = _algorithm(enterprise).get_site_gate(qm_id("r"))
    assert found == (None if expected is None else qm_id(expected))


@pytest.mark.rule("MQBR-3.1.5.7-2", "MQBR-3.1.5.7-3", "MQBR-3.1.5.7-4")
@pytest.mark.parametrize(("name", "expected"), [("A", "gA"), ("C", "g2C"), ("E", None), ("H", None)])
def test_3_1_5_7_returns_the_first_gate_of_a_site(name: str, expected: str | None) -> None:
    found = _algorithm().get_site_gate_for_site(site_id(name))
    assert found == (None if expected is None else qm_id(expected))


@pytest.mark.rule("MQBR-3.1.5.7-1")
def test_3_1_5_7_asks_for_one_identifier() -> None:
    directory = _ENTERPRISE.directory()
    RoutingAlgorithm(directory).get_site_gate_for_site(site_id("C"))
    assert directory.begun[-1] == ("Site", (AttributeFilter("identifier", "EQUALS", site_id("C")),))


@pytest.mark.rule("MQBR-3.1.5.7-3")
def test_3_1_5_7_takes_the_first_of_two_sites_with_the_same_identifier() -> None:
    directory = PlainDirectory(Site=[site("A", "one"), site("A", "two")])
    algorithm = RoutingAlgorithm(directory)
    algorithm.get_directory_data("Site", None)
    assert algorithm.get_site_gate_for_site(site_id("A")) == qm_id("one")


@pytest.mark.rule("MQBR-3.1.5.8-1", "MQBR-3.1.5.8-2", "MQBR-3.1.5.8-5", "MQBR-3.1.5.8-6")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gA", True),
        ("g1C", True),
        ("g2C", True),
        ("r1", False),
        ("cA", False),
        ("rNone", False),
        ("x", False),
    ],
)
def test_3_1_5_8_tells_gates_from_others(name: str, expected: bool) -> None:
    assert _algorithm().is_site_gate(qm_id(name)) is expected


@pytest.mark.rule("MQBR-3.1.5.8-2")
def test_3_1_5_8_a_gate_that_is_no_routing_server_is_none() -> None:
    enterprise = Enterprise((machine("g", "A"),), (site("A", "g"),))
    assert _algorithm(enterprise).is_site_gate(qm_id("g")) is False


@pytest.mark.rule("MQBR-3.1.5.8-6")
def test_3_1_5_8_a_gate_of_a_site_that_it_is_not_in_is_none() -> None:
    enterprise = Enterprise((machine("g", "B", router=True),), (site("A", "g"), site("B")))
    assert _algorithm(enterprise).is_site_gate(qm_id("g")) is False


@pytest.mark.rule("MQBR-3.1.5.8-5")
def test_3_1_5_8_the_second_gate_of_the_second_site_is_one() -> None:
    enterprise = Enterprise((machine("g", "AB", router=True),), (site("A", "x"), site("B", "x", "g")))
    assert _algorithm(enterprise).is_site_gate(qm_id("g")) is True


@pytest.mark.rule("MQBR-3.1.5.5-3", "MQBR-3.1.5.6-3", "MQBR-3.1.5.8-4")
@pytest.mark.parametrize("procedure", ["get_site_gate", "is_site_gate", "get_routing_server"])
def test_3_1_5_5_to_3_1_5_8_find_nothing_where_no_site_or_queue_manager_can_be_read(procedure: str) -> None:
    directory = PlainDirectory(QueueManager=[machine("g", "A", router=True)])
    scripted = _Failing(directory, "QueueManager" if procedure == "get_routing_server" else "Site")
    assert not getattr(RoutingAlgorithm(scripted), procedure)(qm_id("g"))


@pytest.mark.rule("MQBR-3.1.5.7-2")
def test_3_1_5_7_finds_nothing_where_no_site_can_be_read() -> None:
    directory = _Failing(_ENTERPRISE.directory(), "Site")
    assert RoutingAlgorithm(directory).get_site_gate_for_site(site_id("A")) is None


@pytest.mark.rule("MQBR-3.1.3.1-1")
@pytest.mark.parametrize("name", ["r1", "cA", "nobody", "rNone"])
def test_3_1_3_1_whoever_is_no_gate_has_an_empty_table(name: str) -> None:
    table = _algorithm().routing_table(qm_id(name))
    assert len(table) == 0
    assert list(table) == []
    assert table.entry(site_id("A")) is None


@pytest.mark.rule("MQBR-3.1.3.1-2", "MQBR-3.1.3.1-3", "MQBR-3.1.5.5-2", "MQBR-3.1.5.6-2", "MQBR-3.1.5.8-3")
def test_3_1_3_1_the_directory_is_read_whole_at_initialization_and_then_by_identifiers() -> None:
    directory = _ENTERPRISE.directory()
    algorithm = RoutingAlgorithm(directory)
    assert directory.begun == [("Site", None), ("RoutingLink", None), ("QueueManager", None)]
    directory.begun.clear()
    algorithm.get_routing_server(qm_id("r1"))
    algorithm.get_site_gate(qm_id("r1"))
    assert algorithm.is_site_gate(qm_id("r1")) is False
    assert len(algorithm.routing_table(qm_id("gA"))) == 4
    assert all(kind == "QueueManager" and filters for kind, filters in directory.begun)


@pytest.mark.rule("MQBR-3.1.3.1-5")
def test_3_1_3_1_without_routing_links_the_table_is_empty() -> None:
    enterprise = Enterprise(_ENTERPRISE.queue_managers, _ENTERPRISE.sites)
    assert len(_algorithm(enterprise).routing_table(qm_id("gA"))) == 0


@pytest.mark.rule("MQBR-3.1.3.1-4", "MQBR-3.1.3.1-5")
@pytest.mark.parametrize("kind", ["Site", "RoutingLink"])
def test_3_1_3_1_where_sites_or_links_cannot_be_read_the_table_is_empty(kind: DirectoryType) -> None:
    directory = _Failing(_ENTERPRISE.directory(), kind)
    assert len(RoutingAlgorithm(directory).routing_table(qm_id("gA"))) == 0


@pytest.mark.rule("MQBR-3.1.3.1-6", "MQBR-3.1.3.1-8", "MQBR-3.1.3.1-12")
def test_3_1_3_1_a_gate_has_a_row_for_every_site_that_it_can_reach() -> None:
    rows = list(_algorithm().routing_table(qm_id("gA")))
    assert [row.destination_site_id for row in rows] == [site_id(one) for one in "ABCE"]
    assert [row.cost for row in rows] == [0, 1, 2, 2]


@pytest.mark.rule("MQBR-3.1.2.1-2")
def test_3_1_6_1_the_table_stays_until_the_timer_fires() -> None:
    directory = _ENTERPRISE.directory()
    algorithm = RoutingAlgorithm(directory)
    assert algorithm.get_next_hops(qm_id("gA"), qm_id("cC")).identifiers == _ids("gB")
    directory.objects["RoutingLink"].append(link("A", "C", 1))
    assert algorithm.get_next_hops(qm_id("gA"), qm_id("cC")).identifiers == _ids("gB")
    algorithm.refresh()
    assert algorithm.get_next_hops(qm_id("gA"), qm_id("cC")).identifiers == _ids("g2C")


@pytest.mark.rule("MQBR-3.1.6.1-1")
def test_3_1_6_1_who_is_a_gate_is_found_out_again() -> None:
    directory = _ENTERPRISE.directory()
    algorithm = RoutingAlgorithm(directory)
    assert algorithm.is_site_gate(qm_id("r1")) is False
    directory.objects["Site"][0] = site("A", "r1")
    algorithm.refresh()
    assert algorithm.is_site_gate(qm_id("r1")) is True
    assert algorithm.is_site_gate(qm_id("gA")) is False
    assert len(algorithm.routing_table(qm_id("r1"))) == 4
    assert len(algorithm.routing_table(qm_id("gA"))) == 0


@pytest.mark.rule(
    "MQBR-3.1.2-1",
    "MQBR-3.1.2.1-1",
    "MQBR-3.1.2.1-2",
    "MQBR-3.1.3-1",
    "MQBR-3.1.3-2",
    "MQBR-3.1.6.1-1",
    "MQBR-3.1.6.1-2",
)
def test_3_1_6_1_the_timer_reads_the_directory_again_every_hour() -> None:
    directory, timers = _ENTERPRISE.directory(), Timers()
    algorithm = RoutingAlgorithm(directory, timers.start)
    directory.objects["RoutingLink"].append(link("A", "C", 1))
    timers.advance(3_599_999)
    assert algorithm.get_next_hops(qm_id("gA"), qm_id("cC")).identifiers == _ids("gB")
    timers.advance(3_600_000)
    assert algorithm.get_next_hops(qm_id("gA"), qm_id("cC")).identifiers == _ids("g2C")
    directory.objects["RoutingLink"].pop()
    timers.advance(7_200_000)
    assert algorithm.get_next_hops(qm_id("gA"), qm_id("cC")).identifiers == _ids("gB")


@pytest.mark.rule("MQBR-3.1.6.1-1", "MQBR-3.1.6.1-2")
def test_3_1_6_1_a_graph_that_cannot_be_made_leaves_what_was_known_until_one_can() -> None:
    directory, timers = _ENTERPRISE.directory(), Timers()
    algorithm = RoutingAlgorithm(directory, timers.start)
    wrong = msgspec.structs.replace(link("A", "C", 1), actual_cost=0)
    directory.objects["RoutingLink"].append(wrong)
    with pytest.raises(RoutingError):
        algorithm.refresh()
    timers.advance(3_600_000)
    assert algorithm.get_next_hops(qm_id("gA"), qm_id("cC")).identifiers == _ids("gB")
    directory.objects["RoutingLink"][-1] = link("A", "C", 1)
    timers.advance(7_200_000)
    assert algorithm.get_next_hops(qm_id("gA"), qm_id("cC")).identifiers == _ids("g2C")


def test_3_1_6_1_a_directory_that_could_not_be_read_is_read_again() -> None:
    directory = _Failing(_ENTERPRISE.directory(), "RoutingLink")
    algorithm = RoutingAlgorithm(directory)
    with pytest.raises(RoutingError):
        algorithm.get_next_hops(qm_id("gA"), qm_id("cB"))
    directory.fails = None
    algorithm.refresh()
    assert algorithm.get_next_hops(qm_id("gA"), qm_id("cB")).identifiers == _ids("gB")


class _Failing:
    """A directory in which objects of one type cannot be read."""

    def __init__(self, directory: PlainDirectory, fails: DirectoryType | None) -> None:
        self._directory = directory
        self.fails = fails
        self.read_directory_next: Callable[
            [int | None], tuple[DirectoryOperationResult, DirectoryObject | None]
        ] = directory.read_directory_next
        self.read_directory_end: Callable[[int | None], DirectoryOperationResult] = (
            directory.read_directory_end
        )

    def read_directory_begin(
        self, directory_object_type: DirectoryType, filters: Sequence[AttributeFilter] | None
    ) -> tuple[DirectoryOperationResult, int | None]:
        # What is asked for by identifier is there: the procedures get past their first step.
        if directory_object_type == self.fails and not (self.fails == "QueueManager" and filters):
            return DirectoryOperationResult.DIRECTORY_NOT_CONNECTED, None
        return self._directory.read_directory_begin(directory_object_type, filters)


class _Scripted:
    """A directory that answers every query of one type by a script, and has no other types.

    ``asked`` is what the last of these queries was asked.
    """

    def __init__(
        self,
        kind: DirectoryType,
        begin: DirectoryOperationResult,
        nexts: Sequence[tuple[DirectoryOperationResult, DirectoryObject | None]] = (),
        end: DirectoryOperationResult = DirectoryOperationResult.SUCCESS,
    ) -> None:
        self._kind, self._begin, self._script, self._end = kind, begin, nexts, end
        self._nexts = iter(self._script)
        self.asked: list[object] = []

    def read_directory_begin(
        self, directory_object_type: DirectoryType, filters: Sequence[AttributeFilter] | None
    ) -> tuple[DirectoryOperationResult, int | None]:
        if directory_object_type != self._kind:
            return DirectoryOperationResult.GENERIC_ERROR, None
        self._nexts = iter(self._script)
        self.asked = [("begin", directory_object_type, filters)]
        return self._begin, 77 if self._begin == DirectoryOperationResult.SUCCESS else None

    def read_directory_next(
        self, query_handle: int | None
    ) -> tuple[DirectoryOperationResult, DirectoryObject | None]:
        self.asked.append(("next", query_handle))
        return next(self._nexts)

    def read_directory_end(self, query_handle: int | None) -> DirectoryOperationResult:
        self.asked.append(("end", query_handle))
        return self._end


_SUCCESS, _END_OF_DATA = DirectoryOperationResult.SUCCESS, DirectoryOperationResult.END_OF_DATA
_SITES = (site("B"), site("A"))
_KINDS: tuple[DirectoryType, ...] = ("QueueManager", "Site", "RoutingLink")
_FILTERS: tuple[list[AttributeFilter] | None, ...] = (
    None,
    [],
    [AttributeFilter("identifier", "EQUALS", site_id("A"))],
)


@pytest.mark.rule("MQBR-3.1.5.9-3")
@pytest.mark.parametrize("filters", _FILTERS, ids=["Nothing", "no elements", "one element"])
@pytest.mark.parametrize("result", [one for one in DirectoryOperationResult if one != _SUCCESS])
def test_3_1_5_9_a_query_that_cannot_begin_gives_nothing_and_is_not_gone_on_with(
    result: DirectoryOperationResult, filters: list[AttributeFilter] | None
) -> None:
    directory = _Scripted("Site", result)
    assert RoutingAlgorithm(directory).get_directory_data("Site", filters) is None
    assert len(directory.asked) == 1


@pytest.mark.rule("MQBR-3.1.5.9-4", "MQBR-3.1.5.9-7", "MQBR-3.1.5.9-8")
@pytest.mark.parametrize("filters", _FILTERS, ids=["Nothing", "no elements", "one element"])
@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize(
    "result", [one for one in DirectoryOperationResult if one not in (_SUCCESS, _END_OF_DATA)]
)
def test_3_1_5_9_a_query_that_breaks_gives_nothing_of_what_was_read_and_is_ended(
    result: DirectoryOperationResult, after: int, filters: list[AttributeFilter] | None
) -> None:
    directory = _Scripted("Site", _SUCCESS, [*((_SUCCESS, one) for one in _SITES[:after]), (result, None)])
    assert RoutingAlgorithm(directory).get_directory_data("Site", filters) is None
    assert directory.asked[1:] == [("next", 77)] * (after + 1) + [("end", 77)]


@pytest.mark.rule("MQBR-3.1.5.9-4", "MQBR-3.1.5.9-5", "MQBR-3.1.5.9-6", "MQBR-3.1.5.9-8")
@pytest.mark.parametrize("filters", _FILTERS, ids=["Nothing", "no elements", "one element"])
@pytest.mark.parametrize("end", DirectoryOperationResult)
def test_3_1_5_9_whatever_comes_of_the_end_the_objects_are_returned_in_their_order(
    end: DirectoryOperationResult, filters: list[AttributeFilter] | None
) -> None:
    directory = _Scripted("Site", _SUCCESS, [*((_SUCCESS, one) for one in _SITES), (_END_OF_DATA, None)], end)
    assert RoutingAlgorithm(directory).get_directory_data("Site", filters) == list(_SITES)
    assert directory.asked[1:] == [("next", 77)] * 3 + [("end", 77)]


@pytest.mark.rule("MQBR-3.1.5.9-6")
@pytest.mark.parametrize("filters", _FILTERS, ids=["Nothing", "no elements", "one element"])
@pytest.mark.parametrize("kind", _KINDS)
def test_3_1_5_9_end_of_data_at_once_is_nothing(
    kind: DirectoryType, filters: list[AttributeFilter] | None
) -> None:
    directory = _Scripted(kind, _SUCCESS, [(_END_OF_DATA, None)])
    get_directory_data: Any = RoutingAlgorithm(directory).get_directory_data
    assert get_directory_data(kind, filters) is None
    assert directory.asked[1:] == [("next", 77), ("end", 77)]


@pytest.mark.rule("MQBR-3.1.5.9-1")
def test_3_1_5_9_type_and_filters_are_handed_on() -> None:
    filters = [
        AttributeFilter("actual_cost", "LESS-THAN", 5),
        AttributeFilter("site1_identifier", "EQUALS", site_id("A")),
    ]
    directory = _Scripted("RoutingLink", _SUCCESS, [(_END_OF_DATA, None)])
    RoutingAlgorithm(directory).get_directory_data("RoutingLink", filters)
    assert directory.asked[0] == ("begin", "RoutingLink", filters)


def test_3_1_5_9_what_the_caller_does_to_the_list_stays_with_the_caller() -> None:
    algorithm = _algorithm()
    found = algorithm.get_directory_data("Site", None)
    assert found is not None
    found.clear()
    again = algorithm.get_directory_data("Site", None)
    assert again is not None
    assert len(again) == len(_ENTERPRISE.sites)


def test_next_hops_can_be_compared_and_do_not_change() -> None:
    found: NextHops = _algorithm().get_next_hops(qm_id("cA"), qm_id("cB"))
    assert found == _algorithm().get_next_hops(qm_id("cA"), qm_id("cB"))
    with pytest.raises(AttributeError):
        found.identifiers = ()  # type: ignore[misc]  # a frozen value
