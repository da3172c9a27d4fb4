"""Predictions as they are shown: which paths are told, and their JSON view."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.routing.directory import ConnectedNetwork, QueueManager, RoutingLink, Site
from msmq_wire.routing.prediction import Prediction, Predictor
from msmq_wire.routing.prediction_view import (
    NOT_ROUTED,
    called,
    chosen_path,
    direct_prediction,
    kind_of,
    machine_of,
    prediction_view,
    shown_paths,
    site_names,
)
from msmq_wire.routing.topology import Topology, topology_of
from msmq_wire.wire.types.guid import GUID


def _id(number: int) -> GUID:
    return GUID.parse(f"{number:08x}-0000-4000-8000-000000000000")


def _two_sites(gates: int, *, linked: bool = True) -> Topology:
    """A client and ``gates`` gates in site Left (1), a gate and a client in site Right (2)."""
    left, right = _id(1), _id(2)
    own = tuple(
        QueueManager(
            identifier=_id(100 + n),
            computer_name=f"left-gate-{n}",
            site_identifier_list=(left,),
            routing_server=True,
        )
        for n in range(gates)
    )
    other = QueueManager(
        identifier=_id(20), computer_name="right-gate", site_identifier_list=(right,), routing_server=True
    )
    clients = (
        QueueManager(identifier=_id(10), computer_name="left-client", site_identifier_list=(left,)),
        QueueManager(identifier=_id(21), computer_name="right-client", site_identifier_list=(right,)),
        QueueManager(identifier=_id(30), computer_name="", foreign_system=True),
    )
    names = tuple(one.identifier for one in own)
    sites = (
        Site(identifier=left, name="Left", site_gate_collection=names),
        Site(identifier=right, name="Right", site_gate_collection=(other.identifier,)),
    )
    link = RoutingLink(identifier=_id(3), actual_cost=7, site1_identifier=left, site2_identifier=right)
    return topology_of((*own, other, *clients), sites, (link,) if linked else ())


def _predict(topology: Topology, source: int, destination: int) -> Prediction:
    return Predictor(topology).predict(_id(source), _id(destination))


def test_the_view_has_the_paths_hop_by_hop() -> None:
    topology = _two_sites(1)
    assert prediction_view(_predict(topology, 10, 21), topology, 10) == {
        "schema_version": 1,
        "source": {"identifier": str(_id(10)), "computer_name": "left-client", "sites": ["Left"]},
        "destination": {"identifier": str(_id(21)), "computer_name": "right-client", "sites": ["Right"]},
        "arrives": True,
        "complete": True,
        "paths": [
            {
                "chosen": True,
                "cost": 7,
                "end": "arrives",
                "reason": "",
                "hops": [
                    {
                        "source": str(_id(10)),
                        "target": str(_id(100)),
                        "source_name": "left-client",
                        "target_name": "left-gate-0",
                        "rule": "routing_server",
                        "spec": "[MS-MQBR] 3.1.5.1",
                        "cost": 0,
                        "next_site": None,
                        "chosen": True,
                        "connected": True,
                    },
                    {
                        "source": str(_id(100)),
                        "target": str(_id(20)),
                        "source_name": "left-gate-0",
                        "target_name": "right-gate",
                        "rule": "next_site",
                        "spec": "[MS-MQBR] 3.1.5.3",
                        "cost": 7,
                        "next_site": "Right",
                        "chosen": True,
                        "connected": True,
                    },
                    {
                        "source": str(_id(20)),
                        "target": str(_id(21)),
                        "source_name": "right-gate",
                        "target_name": "right-client",
                        "rule": "direct",
                        "spec": "[MS-MQBR] 3.1.5.3",
                        "cost": 0,
                        "next_site": None,
                        "chosen": True,
                        "connected": True,
                    },
                ],
            }
        ],
        "failures": [],
    }


def test_a_way_that_ends_early_says_where_and_why() -> None:
    topology = _two_sites(1, linked=False)
    view = prediction_view(_predict(topology, 100, 21), topology, 10)
    assert not view["arrives"]
    (path,) = view["paths"]
    assert (path["end"], path["chosen"], path["hops"]) == ("no_route", True, [])
    (failure,) = view["failures"]
    assert (failure["identifier"], failure["computer_name"]) == (str(_id(100)), "left-gate-0")
    assert failure["reason"] == path["reason"] != ""


def test_no_more_paths_are_told_than_asked_for_and_the_chosen_one_is_the_first() -> None:
    prediction = _predict(_two_sites(5), 10, 21)
    reported = shown_paths(prediction, 3)
    assert [path.chosen for path in reported.paths] == [True, False, False]
    assert (reported.arriving, reported.stopping, reported.all_counted, reported.complete) == (
        5,
        0,
        True,
        False,
    )
    assert reported.lowest_cost == 7
    assert shown_paths(prediction, 5).complete


@pytest.mark.slow
def test_of_very_many_paths_a_thousand_are_looked_at() -> None:
    reported = shown_paths(_predict(_two_sites(1001), 10, 21), 2)
    assert (len(reported.paths), reported.arriving, reported.all_counted, reported.complete) == (
        2,
        1000,
        False,
        False,
    )
    reported = shown_paths(_predict(_two_sites(1001), 10, 21), 1001)
    assert (len(reported.paths), reported.all_counted) == (1001, True)


def test_paths_that_arrive_come_before_those_that_do_not_except_for_the_chosen_one() -> None:
    site = _id(1)
    networks = tuple(ConnectedNetwork(identifier=_id(50 + n), name=f"net {n}") for n in range(2))
    machines = [
        QueueManager(
            identifier=_id(10 + n),
            computer_name=f"pc-{n}",
            site_identifier_list=(site,),
            connected_network_identifier_list=(networks[n].identifier,),
        )
        for n in range(2)
    ]
    server = QueueManager(
        identifier=_id(12), computer_name="server", site_identifier_list=(site,), routing_server=True
    )
    topology = topology_of((*machines, server), (Site(identifier=site, name="One"),), (), networks)
    prediction = _predict(topology, 10, 11)
    reported = shown_paths(prediction, 10)
    assert [(path.chosen, path.end) for path in reported.paths] == [(True, "no_route"), (False, "arrives")]
    assert (reported.arriving, reported.stopping) == (1, 1)
    view = prediction_view(prediction, topology, 10)
    assert [hop["connected"] for hop in view["paths"][0]["hops"]] == [False]
    assert chosen_path(prediction) == reported.paths[0]


def test_a_direct_format_name_is_one_hop_to_a_host_whether_it_is_known_or_not() -> None:
    topology = _two_sites(1)
    source = topology.queue_managers[_id(10)]
    outside = prediction_view(direct_prediction(source, "elsewhere"), topology, 10)
    assert outside["destination"] == {"identifier": None, "computer_name": "elsewhere", "sites": []}
    (hop,) = outside["paths"][0]["hops"]
    assert (hop["target"], hop["target_name"], hop["spec"]) == (None, "elsewhere", "[MS-MQBR] 1.6")
    known = direct_prediction(source, topology.queue_managers[_id(21)])
    assert prediction_view(known, topology, 10)["destination"]["identifier"] == str(_id(21))
    assert [hop.spec for hop in chosen_path(known).hops] == [NOT_ROUTED]
    assert direct_prediction(source, source).hops == {}


def test_a_queue_manager_is_the_destination_from_the_prediction_or_one_of_the_topology() -> None:
    topology = _two_sites(1)
    prediction = direct_prediction(topology.queue_managers[_id(10)], "elsewhere")
    identifier = prediction.destination.identifier
    assert machine_of(prediction, topology, identifier).computer_name == "elsewhere"
    assert machine_of(prediction, topology, _id(20)).computer_name == "right-gate"


@pytest.mark.parametrize(
    ("number", "name", "kind", "sites"),
    [
        (100, "left-gate-0", "gate", ("Left",)),
        (10, "left-client", "queue manager", ("Left",)),
        (30, "0000001e-0000-4000-8000-000000000000", "foreign system", ()),
    ],
)
def test_a_queue_manager_has_a_name_a_kind_and_sites(
    number: int, name: str, kind: str, sites: tuple[str, ...]
) -> None:
    topology = _two_sites(1)
    machine = topology.queue_managers[_id(number)]
    assert (called(machine), kind_of(machine, topology), site_names(machine, topology)) == (name, kind, sites)


def test_a_routing_server_that_is_no_gate_is_called_so() -> None:
    server = QueueManager(identifier=_id(1), computer_name="rs", routing_server=True)
    assert kind_of(server, topology_of((server,), (), ())) == "routing server"


@given(gates=st.integers(1, 8), most=st.integers(1, 12))
def test_the_view_is_json_and_says_whether_it_is_whole(gates: int, most: int) -> None:
    topology = _two_sites(gates)
    view = prediction_view(_predict(topology, 10, 21), topology, most)
    assert json.loads(json.dumps(view)) == view
    assert len(view["paths"]) == min(gates, most)
    assert view["complete"] == (most >= gates)
    for path in view["paths"]:
        assert path["cost"] == sum(hop["cost"] for hop in path["hops"]) == 7
        assert path["chosen"] == all(hop["chosen"] for hop in path["hops"])
        steps = zip(path["hops"], path["hops"][1:], strict=False)
        assert all(one["target"] == other["source"] for one, other in steps)
