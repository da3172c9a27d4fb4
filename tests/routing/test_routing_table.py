"""The routing table: section 4 by hand, ties, and any enterprise against all paths. [MS-MQBR] 3.1.3.1"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import RoutingError
from msmq_wire.routing.algorithm import RoutingAlgorithm
from msmq_wire.routing.directory import RoutingLink, Site
from msmq_wire.routing.routing_table import RoutingTable
from msmq_wire.wire.types.guid import GUID
from tests.routing.enterprises import (
    Enterprise,
    PlainDirectory,
    enterprises,
    figure_4,
    gated,
    gated_enterprises,
    link,
    machine,
    qm_id,
    reordered,
    site,
    site_id,
)
from tests.routing.literal_algorithm import LiteralAlgorithm, Path


def _table(enterprise: Enterprise, gate: str) -> RoutingTable:
    return RoutingAlgorithm(enterprise.directory()).routing_table(qm_id(gate))


def _names(table: RoutingTable) -> str:
    """Rows as ``destination:next hop:cost``."""
    letters = {site_id(letter): letter for letter in "ABCDEFGH"}
    return " ".join(
        f"{letters[row.destination_site_id]}:{letters[row.next_hop_site_id]}:{row.cost}" for row in table
    )


@pytest.mark.rule(
    "MQBR-3.1.1.2-1",
    "MQBR-3.1.3.1-6",
    "MQBR-3.1.3.1-7",
    "MQBR-3.1.3.1-9",
    "MQBR-3.1.3.1-10",
    "MQBR-3.1.3.1-11",
    "MQBR-3.1.3.1-12",
    "MQBR-3.1.3.1-13",
)
@pytest.mark.parametrize(
    ("gate", "rows"),
    [
        ("gA", "A:A:0 B:B:3 C:B:4 D:B:4"),
        ("gB", "A:A:3 B:B:0 C:C:1 D:D:1"),
        ("gC", "A:B:4 B:B:1 C:C:0 D:D:1"),
        ("gD", "A:B:4 B:B:1 C:C:1 D:D:0"),
    ],
)
def test_section_4_with_a_dear_link_from_a_to_b(gate: str, rows: str) -> None:
    assert _names(_table(figure_4(ab=3, bc=1, bd=1, cd=1), gate)) == rows


@pytest.mark.rule(
    "MQBR-3.1.1.2-1",
    "MQBR-3.1.3.1-7",
    "MQBR-3.1.3.1-9",
    "MQBR-3.1.3.1-10",
    "MQBR-3.1.3.1-11",
    "MQBR-3.1.3.1-12",
    "MQBR-3.1.3.1-13",
)
@pytest.mark.parametrize(
    ("gate", "rows"),
    [
        ("gA", "A:A:0 B:B:3 C:B:5 D:B:4"),
        ("gB", "A:A:3 B:B:0 C:D:2 D:D:1"),
        ("gC", "A:D:5 B:D:2 C:C:0 D:D:1"),
        ("gD", "A:B:4 B:B:1 C:C:1 D:D:0"),
    ],
)
def test_section_4_with_a_dear_link_from_b_to_c_too(gate: str, rows: str) -> None:
    assert _names(_table(figure_4(ab=3, bc=3, bd=1, cd=1), gate)) == rows


def test_a_row_is_found_by_its_destination() -> None:
    table = _table(figure_4(ab=3, bc=3, bd=1, cd=1), "gA")
    entry = table.entry(site_id("C"))
    assert entry is not None
    assert (entry.destination_site_id, entry.next_hop_site_id, entry.cost) == (site_id("C"), site_id("B"), 5)
    assert len(table) == 4
    assert table.entry(site_id("H")) is None


def test_rows_have_the_order_of_the_sites_in_the_directory() -> None:
    enterprise = gated(link("A", "B", 1), link("B", "C", 1), names="CAB")
    assert _names(_table(enterprise, "gA")) == "C:B:2 A:A:0 B:B:1"


@pytest.mark.rule("MQBR-3.1.3.1-15")
def test_of_two_equal_costs_the_site_with_the_lowest_identifier_is_next() -> None:
    square = gated(link("A", "C", 1), link("C", "D", 1), link("A", "B", 1), link("B", "D", 1), names="DCBA")
    assert _names(_table(square, "gA")) == "D:B:2 C:C:1 B:B:1 A:A:0"
    assert _names(_table(square, "gD")) == "D:D:0 C:C:1 B:B:1 A:B:2"


def test_an_identifier_is_compared_as_text_not_as_bytes() -> None:
    # The first number is little-endian: as bytes the second one is the lower.
    first, second = (
        GUID.parse("00000001-0000-0000-0000-000000000000"),
        GUID.parse("00000100-0000-0000-0000-000000000000"),
    )
    assert second < first
    near, far = site_id("A"), site_id("D")
    sites = [Site(identifier=near, name="A", site_gate_collection=(qm_id("gA"),))]
    sites += [Site(identifier=one, name=str(one)) for one in (second, first, far)]
    links = [
        RoutingLink(identifier=GUID(bytes([n] * 16)), actual_cost=1, site1_identifier=x, site2_identifier=y)
        for n, (x, y) in enumerate([(near, second), (near, first), (second, far), (first, far)])
    ]
    directory = PlainDirectory(QueueManager=[machine("gA", "A", router=True)], Site=sites, RoutingLink=links)
    entry = RoutingAlgorithm(directory).routing_table(qm_id("gA")).entry(far)
    assert entry is not None
    assert entry.next_hop_site_id == first


def test_a_link_and_a_detour_of_the_same_cost_are_a_tie() -> None:
    enterprise = gated(link("A", "C", 2), link("A", "B", 1), link("B", "C", 1))
    table = _table(enterprise, "gA")
    assert _names(table) == "A:A:0 B:B:1 C:B:2"
    ways = table.ways(site_id("C"))
    assert {one: set(after) for one, after in ways.items()} == {
        site_id("A"): {site_id("B"), site_id("C")},
        site_id("B"): {site_id("C")},
    }
    assert set(table.next_hops(ways)) == {site_id("B"), site_id("C")}


@pytest.mark.rule("MQBR-3.1.3.1-8", "MQBR-3.1.3.1-12")
def test_a_site_that_cannot_be_reached_has_no_row() -> None:
    enterprise = gated(link("A", "B", 1), link("C", "D", 1))
    table = _table(enterprise, "gA")
    assert _names(table) == "A:A:0 B:B:1"
    assert table.entry(site_id("C")) is None
    assert not table.ways(site_id("C"))


def test_a_site_without_links_is_in_its_own_table_only() -> None:
    enterprise = gated(link("A", "B", 1))
    enterprise = Enterprise(
        (*enterprise.queue_managers, machine("gC", "C", router=True)),
        (*enterprise.sites, site("C", "gC")),
        enterprise.routing_links,
    )
    assert _names(_table(enterprise, "gC")) == "C:C:0"
    assert _names(_table(enterprise, "gA")) == "A:A:0 B:B:1"


@pytest.mark.rule("MQBR-3.1.3.1-9")
@pytest.mark.parametrize("costs", [(5, 2), (2, 5), (2, 2)])
def test_of_parallel_links_the_lowest_cost_counts(costs: tuple[int, int]) -> None:
    first, second = costs
    enterprise = gated(link("A", "B", first, "one"), link("B", "A", second, "two"), link("B", "C", 1))
    assert _names(_table(enterprise, "gA")) == "A:A:0 B:B:2 C:B:3"
    assert _names(_table(enterprise, "gC")) == "A:B:3 B:B:1 C:C:0"


@pytest.mark.rule("MQBR-3.1.3.1-14")
def test_a_gate_of_two_sites_starts_from_both() -> None:
    enterprise = Enterprise(
        (machine("gX", "AB", router=True), *(machine(f"g{one}", one, router=True) for one in "CDE")),
        (site("A", "gX"), site("B", "gX"), *(site(one, f"g{one}") for one in "CDE")),
        (link("A", "B", 5), link("A", "C", 1), link("B", "D", 2), link("C", "D", 2), link("D", "E", 1)),
    )
    table = _table(enterprise, "gX")
    assert _names(table) == "A:A:0 B:B:0 C:C:1 D:D:2 E:D:3"
    assert {one: set(after) for one, after in table.ways(site_id("E")).items()} == {
        site_id("B"): {site_id("D")},
        site_id("D"): {site_id("E")},
    }


def test_a_gate_of_two_sites_joins_what_no_link_joins_but_only_for_itself() -> None:
    enterprise = Enterprise(
        (machine("gX", "AB", router=True), machine("gC", "C", router=True), machine("gD", "D", router=True)),
        (site("A", "gX"), site("B", "gX"), site("C", "gC"), site("D", "gD")),
        (link("A", "C", 1), link("B", "D", 1)),
    )
    assert _names(_table(enterprise, "gX")) == "A:A:0 B:B:0 C:C:1 D:D:1"
    assert _names(_table(enterprise, "gC")) == "A:A:1 C:C:0"


def test_a_gate_of_one_site_and_member_of_another_starts_from_the_one() -> None:
    enterprise = Enterprise(
        (machine("gX", "AB", router=True), machine("gC", "C", router=True)),
        (site("A", "gX"), site("B"), site("C", "gC")),
        (link("A", "C", 3), link("B", "C", 1)),
    )
    # 1.3.3 has "its MSMQ site", 1.5 "the MSMQ site for which it is an MSMQ site gate".
    assert _names(_table(enterprise, "gX")) == "A:A:0 B:C:4 C:C:3"


def test_a_link_to_a_site_that_the_directory_does_not_have_leads_nowhere() -> None:
    enterprise = gated(link("A", "B", 4))
    directory = PlainDirectory(
        QueueManager=enterprise.queue_managers,
        Site=enterprise.sites,
        RoutingLink=[link("A", "H", 1), link("H", "B", 1), link("A", "A", 1), *enterprise.routing_links],
    )
    assert _names(RoutingAlgorithm(directory).routing_table(qm_id("gA"))) == "A:A:0 B:B:4"


@pytest.mark.parametrize("cost", [1, 999_999])
def test_the_outermost_costs_of_a_link_are_taken(cost: int) -> None:
    assert _names(_table(gated(link("A", "B", cost)), "gA")) == f"A:A:0 B:B:{cost}"


@pytest.mark.parametrize("cost", [-1, 0, 1_000_000, 1 << 64])
def test_a_cost_that_no_link_can_have_is_refused(cost: int) -> None:
    # [MS-MQDMPR] 3.1.1.8
    with pytest.raises(RoutingError):
        _table(gated(link("A", "B", cost)), "gA")


def _ways_of(paths: list[Path]) -> dict[GUID, set[GUID]]:
    ways: dict[GUID, set[GUID]] = {}
    for path in paths:
        for one, after in pairwise(path):
            ways.setdefault(one, set()).add(after)
    return ways


@pytest.mark.rule("MQBR-3.1.3.1-10", "MQBR-3.1.3.1-11")
@given(enterprises())
def test_every_table_is_what_all_paths_give(enterprise: Enterprise) -> None:
    algorithm = RoutingAlgorithm(enterprise.directory())
    literal = LiteralAlgorithm(enterprise.directory())
    for one in enterprise.queue_managers:
        rows = [
            (row.destination_site_id, row.next_hop_site_id, row.cost)
            for row in algorithm.routing_table(one.identifier)
        ]
        assert rows == literal.routing_table(one.identifier)


@given(enterprises())
def test_ways_are_exactly_the_least_cost_paths(enterprise: Enterprise) -> None:
    algorithm = RoutingAlgorithm(enterprise.directory())
    literal = LiteralAlgorithm(enterprise.directory())
    for one in enterprise.queue_managers:
        table = algorithm.routing_table(one.identifier)
        for target, (_, paths) in literal.least_cost_paths(one.identifier).items():
            ways = table.ways(target)
            assert {site: set(after) for site, after in ways.items()} == _ways_of(paths)
            assert all(len(after) == len(set(after)) for after in ways.values())
            entry = table.entry(target)
            assert entry is not None
            if ways:
                assert set(table.next_hops(ways)) == {path[1] for path in paths}
                assert table.next_hops(ways)[0] == entry.next_hop_site_id
            else:
                assert entry.next_hop_site_id == target


@given(gated_enterprises())
def test_following_the_tables_from_gate_to_gate_arrives_and_costs_what_the_first_row_says(
    enterprise: Enterprise,
) -> None:
    algorithm = RoutingAlgorithm(enterprise.directory())
    least: dict[tuple[GUID, GUID], int] = {}
    for one in enterprise.routing_links:
        for pair in (
            (one.site1_identifier, one.site2_identifier),
            (one.site2_identifier, one.site1_identifier),
        ):
            least[pair] = min(one.actual_cost, least.get(pair, one.actual_cost))
    machines = {one.identifier: one for one in enterprise.queue_managers}
    for start in enterprise.queue_managers:
        for row in algorithm.routing_table(start.identifier):
            at, left = start, row.cost
            passed = []
            while row.destination_site_id not in at.site_identifier_list:
                assert at.identifier not in passed
                passed.append(at.identifier)
                entry = algorithm.routing_table(at.identifier).entry(row.destination_site_id)
                assert entry is not None
                # A gate of several sites may know a cheaper way than the gate before it.
                assert entry.cost <= left
                paid = min(
                    least[site, entry.next_hop_site_id]
                    for site in at.site_identifier_list
                    if (site, entry.next_hop_site_id) in least
                )
                left = entry.cost - paid
                gate = algorithm.get_site_gate_for_site(entry.next_hop_site_id)
                assert gate is not None
                at = machines[gate]
            assert left >= 0
            if all(len(machines[one].site_identifier_list) == 1 for one in (*passed, at.identifier)):
                assert left == 0


@pytest.mark.slow
@given(st.data())
def test_the_order_of_sites_and_links_does_not_change_a_row(data: st.DataObject) -> None:
    enterprise = data.draw(enterprises())
    other = data.draw(reordered(enterprise))
    one_algorithm, other_algorithm = (RoutingAlgorithm(each.directory()) for each in (enterprise, other))
    for one in enterprise.queue_managers:
        rows = list(one_algorithm.routing_table(one.identifier))
        others = list(other_algorithm.routing_table(one.identifier))
        order = [site.identifier for site in other.sites]
        assert sorted(rows, key=lambda row: order.index(row.destination_site_id)) == others
        for row in rows:
            ways = [
                algorithm.routing_table(one.identifier).ways(row.destination_site_id)
                for algorithm in (one_algorithm, other_algorithm)
            ]
            assert dict(ways[0]) == dict(ways[1])
