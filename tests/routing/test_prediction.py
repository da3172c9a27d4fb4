"""Every way of a message, hop by hop. [MS-MQBR] 1.3, 3.1.5, 4; [MS-MQQB] 3.1.5.8.2"""

from __future__ import annotations

from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import RoutingError
from msmq_wire.routing.algorithm import HopRule
from msmq_wire.routing.directory import QueueManager
from msmq_wire.routing.prediction import PredictedPath, Prediction, Predictor
from msmq_wire.wire.types.guid import GUID
from tests.routing.enterprises import (
    Enterprise,
    chain,
    enterprises,
    figure_4,
    gated,
    link,
    machine,
    network,
    qm_id,
    reordered,
    site,
    site_id,
)
from tests.routing.literal_algorithm import LiteralAlgorithm

# [MS-MQMQ] 2.2.20.1: RC is at most 0x1D, and every queue manager that is not the destination adds one.
_MOST_PASSED = 0x1D
_MANY = 3_000


def _predict(enterprise: Enterprise, source: str, destination: str) -> Prediction:
    return Predictor(enterprise.topology()).predict(qm_id(source), qm_id(destination))


def _passed(enterprise: Enterprise, path: PredictedPath) -> str:
    """The names of the queue managers on a path, and how it ends."""
    names = {one.identifier: one.computer_name for one in enterprise.queue_managers}
    ends = [path.hops[0].source, *(hop.target for hop in path.hops)] if path.hops else []
    return " ".join([*(names[one] for one in ends), path.end])


def _all(enterprise: Enterprise, source: str, destination: str) -> list[str]:
    return [_passed(enterprise, path) for path in _predict(enterprise, source, destination).paths()]


@pytest.mark.parametrize(
    ("costs", "names", "paid", "next_sites"),
    [
        ((3, 1, 1, 1), "cA gA gB gC cC", (0, 3, 1, 0), (None, "B", "C", None)),
        ((3, 3, 1, 1), "cA gA gB gD gC cC", (0, 3, 1, 1, 0), (None, "B", "D", "C", None)),
    ],
)
def test_section_4_from_a_client_to_a_client(
    costs: tuple[int, int, int, int], names: str, paid: tuple[int, ...], next_sites: tuple[str | None, ...]
) -> None:
    enterprise = figure_4(*costs)
    prediction = _predict(enterprise, "cA", "cC")
    (path,) = prediction.paths()
    assert _passed(enterprise, path) == f"{names} arrives"
    assert tuple(hop.cost for hop in path.hops) == paid
    assert path.cost == sum(paid)
    assert tuple(hop.next_site for hop in path.hops) == tuple(
        None if one is None else site_id(one) for one in next_sites
    )
    assert [hop.rule for hop in path.hops] == [
        HopRule.ROUTING_SERVER,
        *[HopRule.NEXT_SITE] * (len(paid) - 2),
        HopRule.DIRECT,
    ]
    assert [hop.spec.section for hop in path.hops] == [
        "3.1.5.1", *["3.1.5.3"] * (len(paid) - 1),
    ]  # fmt: skip
    assert path.chosen
    assert all(hop.connected for hop in path.hops)
    assert prediction.arrives
    assert prediction.complete
    assert not prediction.failures


def test_a_routing_server_that_is_no_gate_goes_by_the_gate() -> None:
    example = figure_4(ab=3, bc=1, bd=1, cd=1)
    enterprise = Enterprise(
        (machine("rA", "A", router=True), *example.queue_managers), example.sites, example.routing_links
    )
    # Both are routing servers of the client's site; the first of the directory is chosen.
    assert _all(enterprise, "cA", "cC") == ["cA rA gA gB gC cC arrives", "cA gA gB gC cC arrives"]
    rules = [hop.rule for hop in next(_predict(enterprise, "cA", "cC").paths()).hops]
    assert rules[:2] == [HopRule.ROUTING_SERVER, HopRule.SITE_GATE]


def test_within_a_site_the_way_is_direct() -> None:
    enterprise = Enterprise((machine("c1", "A"), machine("c2", "A")), (site("A"),))
    prediction = _predict(enterprise, "c1", "c2")
    (path,) = prediction.paths()
    assert _passed(enterprise, path) == "c1 c2 arrives"
    assert path.hops[0].rule == HopRule.DIRECT
    assert prediction.routers_passed()[qm_id("c1")] == (0, 0)


def test_to_itself_there_is_nothing_to_route() -> None:
    enterprise = figure_4(ab=3, bc=1, bd=1, cd=1)
    prediction = _predict(enterprise, "cA", "cA")
    assert prediction.arrives
    assert [(path.hops, path.end) for path in prediction.paths()] == [((), "arrives")]


def _with_lists() -> Enterprise:
    return Enterprise(
        (
            machine("from", "A", out=["o1", "o2"]),
            machine("o1", "A", router=True),
            machine("o2", "A", router=True),
            machine("gA", "A", router=True),
            machine("gB", "B", router=True),
            machine("i1", "B", router=True),
            machine("i2", "B", router=True),
            machine("to", "B", in_=["i1", "i2"]),
        ),
        (site("A", "gA"), site("B", "gB")),
        (link("A", "B", 7),),
    )


def test_in_and_out_routing_servers_are_passed_in_every_combination() -> None:
    enterprise = _with_lists()
    assert _all(enterprise, "from", "to") == [
        f"from {out} gA gB {in_} to arrives" for out in ("o1", "o2") for in_ in ("i1", "i2")
    ]
    paths = list(_predict(enterprise, "from", "to").paths())
    assert [hop.rule for hop in paths[0].hops] == [
        HopRule.OUT_ROUTING_SERVER,
        HopRule.SITE_GATE,
        HopRule.NEXT_SITE,
        HopRule.IN_ROUTING_SERVER,
        HopRule.IN_ROUTING_CLIENT,
    ]
    assert [path.chosen for path in paths] == [True, False, False, False]
    assert {path.cost for path in paths} == {7}


def test_routers_passed_counts_whoever_took_the_message_over_before() -> None:
    passed = _predict(_with_lists(), "from", "to").routers_passed()
    names = ("from", "o1", "o2", "gA", "gB", "i1", "i2")
    assert [passed[qm_id(name)] for name in names] == [(n, n) for n in (0, 1, 1, 2, 3, 4, 4)]


def test_routers_passed_is_a_range_where_one_way_is_longer() -> None:
    example = figure_4(ab=3, bc=1, bd=1, cd=1)
    enterprise = Enterprise(
        (machine("rA", "A", router=True), *example.queue_managers), example.sites, example.routing_links
    )
    passed = _predict(enterprise, "cA", "cC").routers_passed()
    assert passed[qm_id("rA")] == (1, 1)
    assert passed[qm_id("gA")] == (1, 2)
    assert passed[qm_id("gC")] == (3, 4)


def test_an_in_routing_server_in_another_site_sends_straight_to_the_client() -> None:
    enterprise = gated(link("A", "B", 1))
    enterprise = Enterprise(
        (*enterprise.queue_managers, machine("c", "A"), machine("to", "A", in_=["gB"])),
        enterprise.sites,
        enterprise.routing_links,
    )
    assert _all(enterprise, "c", "to") == ["c gB to arrives"]


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        (
            (machine("c", "A", out=["d"]), machine("d", "A", out=["c"]), machine("to", "A")),
            "c d c loops",
        ),
        ((machine("c", "A", out=["c"]), machine("to", "A")), "c c loops"),
        # The in-routing server is no routing server: 3.1.5.1 does not look whether it is one itself.
        ((machine("c", "A"), machine("i", "A"), machine("to", "A", in_=["i"])), "c i i loops"),
    ],
    ids=["out-routing servers name each other", "out-routing server of itself", "in-routing client"],
)
def test_lists_that_name_the_wrong_ones_loop(machines: tuple[QueueManager, ...], expected: str) -> None:
    enterprise = Enterprise(machines, (site("A"),))
    prediction = _predict(enterprise, "c", "to")
    assert [_passed(enterprise, path) for path in prediction.paths()] == [expected]
    assert not prediction.arrives
    assert next(prediction.paths()).reason


def test_a_gate_that_is_no_routing_server_sends_the_message_back() -> None:
    enterprise = Enterprise(
        (
            machine("c", "A"),
            machine("r", "A", router=True),
            machine("g", "A"),
            machine("gB", "B", router=True),
        ),
        (site("A", "g"), site("B", "gB")),
        (link("A", "B", 1),),
    )
    assert _all(enterprise, "c", "gB") == ["c r g r loops"]


def test_where_no_link_leads_the_message_stays_with_the_gate() -> None:
    enterprise = gated(link("A", "B", 1), link("C", "D", 1))
    enterprise = Enterprise(
        (*enterprise.queue_managers, machine("c", "A")), enterprise.sites, enterprise.routing_links
    )
    prediction = _predict(enterprise, "c", "gC")
    (path,) = prediction.paths()
    assert _passed(enterprise, path) == "c gA no_route"
    assert path.reason
    assert list(prediction.failures) == [qm_id("gA")]
    assert not prediction.arrives


def test_where_the_own_site_has_no_routing_server_there_is_no_hop_at_all() -> None:
    enterprise = Enterprise((machine("c", "A"), machine("d", "B")), (site("A"), site("B")))
    prediction = _predict(enterprise, "c", "d")
    assert [(path.hops, path.end) for path in prediction.paths()] == [((), "no_route")]
    assert list(prediction.failures) == [qm_id("c")]


@pytest.mark.parametrize(
    ("count", "source", "destination"), [(_MOST_PASSED, "from", "to"), (_MOST_PASSED + 2, "g0", "g30")]
)
def test_as_many_routing_servers_as_rc_can_count_are_passed(
    count: int, source: str, destination: str
) -> None:
    prediction = _predict(chain(count), source, destination)
    (path,) = prediction.paths()
    assert path.end == "arrives"
    assert len(path.hops) == _MOST_PASSED + 1
    assert prediction.arrives
    assert max(most for _, most in prediction.routers_passed().values()) >= _MOST_PASSED


@pytest.mark.parametrize(
    ("count", "source", "destination"),
    [(_MOST_PASSED + 1, "from", "to"), (_MOST_PASSED + 3, "g0", "g31"), (40, "from", "to")],
)
def test_one_more_than_rc_can_count_is_too_many(count: int, source: str, destination: str) -> None:
    prediction = _predict(chain(count), source, destination)
    (path,) = prediction.paths()
    assert path.end == "too_many_hops"
    assert path.reason
    # The last one takes the message, counts 30 and rejects it.
    assert len(path.hops) == _MOST_PASSED + 1
    assert not prediction.arrives


def _networks(*routers: str) -> Enterprise:
    """Two clients of a site on different networks, and routing servers on ``name:networks``."""
    servers = [one.split(":") for one in routers]
    return Enterprise(
        (
            machine("c1", "A", networks="X"),
            machine("c2", "A", networks="YZ"),
            *(machine(name, "A", router=True, networks=on) for name, on in servers),
        ),
        (site("A"),),
        (),
        (network("X"), network("Y"), network("Z")),
    )


def test_without_a_common_network_a_routing_server_of_the_site_takes_over() -> None:
    # 1.3.2
    enterprise = _networks("r:XY")
    prediction = _predict(enterprise, "c1", "c2")
    first, second = prediction.hops[qm_id("c1")]
    assert (first.target, first.rule, first.connected) == (qm_id("c2"), HopRule.DIRECT, False)
    assert first.chosen
    assert (second.target, second.rule, second.connected) == (qm_id("r"), HopRule.INTRA_SITE, True)
    assert (second.spec.document, second.spec.section) == ("MS-MQBR", "1.3.2")
    assert not second.chosen
    arriving = [path for path in prediction.paths() if path.end == "arrives"]
    assert [_passed(enterprise, path) for path in arriving] == ["c1 r c2 arrives"]
    assert [hop.rule for hop in arriving[0].hops] == [HopRule.INTRA_SITE, HopRule.DIRECT]
    assert prediction.arrives


@pytest.mark.parametrize("routers", [(), ("r:Z",), ("r:X",)])
def test_without_a_common_network_and_a_server_on_both_nothing_arrives(routers: tuple[str, ...]) -> None:
    prediction = _predict(_networks(*routers), "c1", "c2")
    assert not prediction.hops[qm_id("c1")][0].connected
    assert all(path.end != "arrives" for path in prediction.paths())
    assert not prediction.arrives


def test_a_hop_that_cannot_be_made_on_the_way_keeps_the_message_from_arriving() -> None:
    enterprise = Enterprise(
        (
            machine("c", "A", networks="X"),
            machine("gA", "A", router=True, networks="Y"),
            machine("gB", "B", router=True, networks="Y"),
            machine("to", "B", networks="Y"),
        ),
        (site("A", "gA"), site("B", "gB")),
        (link("A", "B", 1),),
        (network("X"), network("Y")),
    )
    prediction = _predict(enterprise, "c", "to")
    assert not prediction.hops[qm_id("c")][0].connected
    assert all(path.end != "arrives" for path in prediction.paths())
    assert not prediction.arrives


def test_two_gates_without_a_common_network_cannot_connect() -> None:
    enterprise = Enterprise(
        (machine("gA", "A", router=True, networks="X"), machine("gB", "B", router=True, networks="Y")),
        (site("A", "gA"), site("B", "gB")),
        (link("A", "B", 1),),
        (network("X"), network("Y")),
    )
    prediction = _predict(enterprise, "gA", "gB")
    assert [hop.connected for hop in prediction.hops[qm_id("gA")]] == [False]
    assert not prediction.arrives


def test_one_common_network_of_several_is_enough() -> None:
    enterprise = Enterprise(
        (machine("c1", "A", networks="WX"), machine("c2", "A", networks="XY")),
        (site("A"),),
        (),
        tuple(map(network, "WXY")),
    )
    (path,) = _predict(enterprise, "c1", "c2").paths()
    assert path.end == "arrives"
    assert path.hops[0].connected


@pytest.mark.parametrize("order", ["ABC", "ACB"])
def test_a_destination_in_two_sites_may_be_sought_in_either(order: str) -> None:
    # 3.1.5.3: the last row wins, and rows have no order that the document gives.
    enterprise = Enterprise(
        (*(machine(f"g{one}", one, router=True) for one in "ABC"), machine("to", "BC")),
        tuple(site(one, f"g{one}") for one in order),
        (link("A", "B", 1), link("A", "C", 5)),
    )
    chosen, other = ("gC", "gB") if order == "ABC" else ("gB", "gC")
    assert _all(enterprise, "gA", "to") == [f"gA {chosen} to arrives", f"gA {other} to arrives"]


@pytest.mark.parametrize("order", ["ABC", "BAC"])
def test_a_gate_that_another_order_of_sites_would_give_is_a_possible_hop(order: str) -> None:
    # 3.1.5.6 stops at the first of the routing server's sites, though A has no gate.
    gates = {"A": (), "B": ("gB",), "C": ("gC",)}
    enterprise = Enterprise(
        (
            machine("r", "AB", router=True),
            machine("gB", "B", router=True),
            machine("gC", "C", router=True),
        ),
        tuple(site(one, *gates[one]) for one in order),
        (link("B", "C", 1),),
    )
    prediction = _predict(enterprise, "r", "gC")
    assert "r gB gC arrives" in [_passed(enterprise, path) for path in prediction.paths()]
    assert next(prediction.paths()).end == ("no_route" if order == "ABC" else "arrives")


def test_equal_costs_and_several_gates_are_all_possible() -> None:
    enterprise = Enterprise(
        (*(machine(f"g{one}", one, router=True) for one in "ABCD"), machine("hC", "C", router=True)),
        (site("A", "gA"), site("B", "gB"), site("C", "gC", "hC"), site("D", "gD")),
        (link("A", "C", 1), link("C", "D", 1), link("A", "B", 1), link("B", "D", 1)),
    )
    found = _all(enterprise, "gA", "gD")
    assert found[0] == "gA gB gD arrives"
    assert sorted(found) == ["gA gB gD arrives", "gA gC gD arrives", "gA hC gD arrives"]


def _walk(literal: LiteralAlgorithm, source: GUID, destination: GUID) -> tuple[list[GUID], str]:
    """Who has the message after another if everybody takes the first next hop, and how it ends."""
    passed = [source]
    while passed[-1] != destination:
        try:
            next_hop = literal.get_next_hops(passed[-1], destination)[0]
        except RoutingError:
            return passed, "no_route"
        passed.append(next_hop)
        if next_hop in passed[:-1]:
            return passed, "loops"
    return passed, "arrives"


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Enterprise, GUID, GUID]:
    enterprise = draw(enterprises())
    pair = draw(st.lists(st.sampled_from(enterprise.queue_managers), min_size=2, max_size=2, unique=True))
    return enterprise, pair[0].identifier, pair[1].identifier


@pytest.mark.slow
@given(_cases())
def test_the_first_path_is_the_walk_of_the_document(case: tuple[Enterprise, GUID, GUID]) -> None:
    enterprise, source, destination = case
    passed, end = _walk(LiteralAlgorithm(enterprise.directory()), source, destination)
    prediction = Predictor(enterprise.topology()).predict(source, destination)
    path = next(prediction.paths())
    assert path.end == end
    assert path.chosen
    assert [source, *(hop.target for hop in path.hops)] == passed
    assert bool(path.reason) is (end != "arrives")
    for hop, (one, next_hop) in zip(path.hops, pairwise(passed), strict=True):
        assert (hop.source, hop.target) == (one, next_hop)


@pytest.mark.slow
@given(st.data())
def test_what_the_document_gives_in_any_order_of_the_directory_is_a_possible_hop(data: st.DataObject) -> None:
    enterprise, source, destination = data.draw(_cases())
    prediction = Predictor(enterprise.topology()).predict(source, destination)
    for _ in range(3):
        literal = LiteralAlgorithm(data.draw(reordered(enterprise)).directory())
        left, seen = [source], {source}
        while left:
            at = left.pop()
            if at == destination:
                continue
            try:
                found = literal.get_next_hops(at, destination)
            except RoutingError:
                continue
            assert {hop.target for hop in prediction.hops.get(at, ())}.issuperset(found)
            left += [one for one in found if one not in seen]
            seen.update(found)


@pytest.mark.slow
@given(_cases())
def test_possible_hops_are_what_the_text_leaves_open_and_no_more(case: tuple[Enterprise, GUID, GUID]) -> None:
    enterprise, source, destination = case
    literal = LiteralAlgorithm(enterprise.directory())
    prediction = Predictor(enterprise.topology()).predict(source, destination)
    assert prediction.complete
    expected: dict[GUID, set[GUID]] = {}
    left = [source]
    while left:
        at = left.pop()
        if at != destination and at not in expected:
            expected[at] = literal.every_next_hop(at, destination)
            left += expected[at]
    found = {at: {hop.target for hop in hops} for at, hops in prediction.hops.items() if hops}
    assert all(len(hops) == len(found[at]) for at, hops in prediction.hops.items() if hops)
    possible = {at: hops for at, hops in expected.items() if hops}
    assert found.keys() <= possible.keys()
    assert all(targets <= possible[at] for at, targets in found.items())
    machines = {one.identifier: one for one in enterprise.queue_managers}
    # Of several sites the order of the directory takes one: what the others give is the test before this.
    if len(machines[destination].site_identifier_list) == 1 and all(
        len(machines[at].site_identifier_list) == 1
        or not machines[at].routing_server
        or literal.is_site_gate(at)
        for at in expected
    ):
        assert found == possible


@pytest.mark.slow
@given(_cases())
def test_paths_are_all_walks_that_pass_nobody_twice(case: tuple[Enterprise, GUID, GUID]) -> None:
    enterprise, source, destination = case
    prediction = Predictor(enterprise.topology()).predict(source, destination)
    hops = {at: [hop.target for hop in after] for at, after in prediction.hops.items()}
    left: list[tuple[GUID, ...]] = [(source,)]
    expected: set[tuple[GUID, ...]] = set()
    while left and len(expected) <= _MANY:
        walk = left.pop()
        after = hops.get(walk[-1], []) if walk[-1] != destination else []
        if not after or walk[-1] in walk[:-1]:
            expected.add(walk)
        else:
            left += [(*walk, one) for one in after]
    paths = list(islice(prediction.paths(), _MANY + 1))
    if len(expected) <= _MANY:
        walks = [(source, *(hop.target for hop in path.hops)) for path in paths]
        # A walk may end with its sender where another order would have given a next hop.
        assert expected <= set(walks)
        assert len(walks) == len(set(walks))
        for path, walk in zip(paths, walks, strict=True):
            assert (path.end == "arrives") is (walk[-1] == destination)
            assert (path.end == "loops") is (walk[-1] in walk[:-1])
            assert walk in expected or path.end == "no_route"
            assert path.cost == sum(hop.cost for hop in path.hops)
        assert prediction.arrives is any(path.end == "arrives" for path in paths)


@pytest.mark.slow
@given(_cases())
def test_routers_passed_are_what_counting_along_every_walk_gives(case: tuple[Enterprise, GUID, GUID]) -> None:
    enterprise, source, destination = case
    prediction = Predictor(enterprise.topology()).predict(source, destination)
    counts: dict[GUID, set[int]] = {}
    left = [(source, 0)]
    while left:
        at, passed = left.pop()
        if passed > _MOST_PASSED or passed in counts.setdefault(at, set()):
            continue
        counts[at].add(passed)
        left += [(hop.target, passed + 1) for hop in prediction.hops.get(at, ())]
    found = prediction.routers_passed()
    for at, hops in prediction.hops.items():
        if hops and at != destination:
            assert found[at] == (min(counts[at]), max(counts[at]))
    assert found.keys() == {at for at, passed in counts.items() if passed}


@pytest.mark.slow
@given(_cases())
def test_a_hop_to_another_site_costs_the_cheapest_link_to_it(case: tuple[Enterprise, GUID, GUID]) -> None:
    enterprise, source, destination = case
    machines = {one.identifier: one for one in enterprise.queue_managers}
    for hops in Predictor(enterprise.topology()).predict(source, destination).hops.values():
        for hop in hops:
            assert (hop.rule == HopRule.NEXT_SITE) is (hop.next_site is not None)
            if hop.next_site is None:
                assert hop.cost == 0
                continue
            assert hop.next_site in machines[hop.target].site_identifier_list
            assert hop.cost == min(
                one.actual_cost
                for one in enterprise.routing_links
                for ends in [{one.site1_identifier, one.site2_identifier}]
                if hop.next_site in ends
                and any(
                    hop.source in each.site_gate_collection
                    for each in enterprise.sites
                    if each.identifier in ends
                )
            )


@pytest.mark.slow
@given(_cases())
def test_a_prediction_is_the_same_again(case: tuple[Enterprise, GUID, GUID]) -> None:
    enterprise, source, destination = case
    topology = enterprise.topology()
    predictor = Predictor(topology)
    first = predictor.predict(source, destination)
    assert predictor.predict(source, destination) == first
    assert Predictor(topology).predict(source, destination) == first


def test_who_lists_no_networks_is_connected_with_everybody() -> None:
    enterprise = Enterprise(
        (machine("one", "A", networks="X"), machine("two", "A")), (site("A"),), (), (network("X"),)
    )
    for source, destination in (("one", "two"), ("two", "one")):
        (hop,) = _predict(enterprise, source, destination).hops[qm_id(source)]
        assert hop.connected


@pytest.mark.parametrize(("bound", "most"), [("_MOST_PLACES", 3), ("_MOST_HOPS", 2)])
def test_a_prediction_of_too_many_steps_says_that_it_is_not_complete(
    bound: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _predict(chain(6), "from", "to")
    monkeypatch.setattr(f"msmq_wire.routing.prediction.{bound}", most)
    part = _predict(chain(6), "from", "to")
    assert (whole.complete, part.complete) == (True, False)
    assert set(part.hops) < set(whole.hops)
    (path,) = part.paths()
    assert (path.end, path.reason) == ("no_route", "more ways than are looked at")


@pytest.mark.parametrize(("source", "destination"), [("from", "nobody"), ("nobody", "to")])
def test_a_queue_manager_that_is_not_there_has_no_prediction(source: str, destination: str) -> None:
    with pytest.raises(RoutingError, match="no queue manager"):
        _predict(chain(2), source, destination)
