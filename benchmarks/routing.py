"""What routing costs: ``python -m benchmarks.routing``.

Random enterprises of growing size; for each the time to check a topology, to read it as a directory, to make
the routing table of a gate, and to predict ways from a client of its site to clients everywhere. Beside both
stands bare networkx: `single_source_dijkstra` for the table, `dijkstra_path` for a prediction, which knows
one path and no queue managers. Ratios are those within a round.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
import uuid
from collections.abc import Callable
from functools import partial

import networkx  # type: ignore[import-untyped]  # it has no types

from benchmarks.measure import Contestant, Neighbours, measure, pin, ratio_of
from docs.generators.markers import table
from msmq_wire.routing.algorithm import RoutingAlgorithm
from msmq_wire.routing.directory import QueueManager, RoutingLink, Site
from msmq_wire.routing.prediction import Predictor
from msmq_wire.routing.routing_table import RoutingTable, site_graph
from msmq_wire.routing.topology import Topology, TopologyDirectory, topology_of
from msmq_wire.wire.types.guid import GUID

_SIZES = ((50, 200, 500), (500, 2_000, 5_000), (5_000, 20_000, 50_000))
"""Sites, routing links, queue managers."""
_PREDICTIONS = 1_000
_COSTS = 20
_OURS, _BARE = "RoutingTable", "networkx single_source_dijkstra"
_PREDICT, _PATH = "Predictor.predict", "networkx dijkstra_path"


def _guid(kind: str, *numbers: int) -> GUID:
    return GUID(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind} {numbers}").bytes_le)


def enterprise(sites: int, links: int, managers: int, seed: int = 1) -> Topology:
    """A connected enterprise: one gate and one other routing server in each site, clients in turn."""
    chance = random.Random(seed)
    pairs = {(number, chance.randrange(number)) for number in range(1, sites)}
    while len(pairs) < links:
        ends = chance.sample(range(sites), 2)
        pairs.add((max(ends), min(ends)))
    return topology_of(
        [
            QueueManager(
                identifier=_guid("queue manager", number),
                computer_name=f"qm{number}",
                site_identifier_list=(_guid("site", number % sites),),
                routing_server=number < 2 * sites,
            )
            for number in range(managers)
        ],
        [Site(identifier=_guid("site", number), name=f"site{number}") for number in range(sites)],
        [
            RoutingLink(
                identifier=_guid("routing link", *pair),
                actual_cost=chance.randint(1, _COSTS),
                site1_identifier=_guid("site", pair[0]),
                site2_identifier=_guid("site", pair[1]),
                site_gate_identifier_list=tuple(_guid("queue manager", end) for end in pair),
            )
            for pair in sorted(pairs)
        ],
    )


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _row(sites: int, links: int, managers: int, rounds: int) -> tuple[str, ...]:
    made = _timed(lambda: enterprise(sites, links, managers))
    topology = enterprise(sites, links, managers)
    read = _timed(lambda: RoutingAlgorithm(TopologyDirectory(topology)))
    graph = site_graph(topology.sites.values(), topology.routing_links.values())
    root, gate, source = _guid("site", 0), _guid("queue manager", 0), _guid("queue manager", 2 * sites)
    chance = random.Random(2)
    goals = [_guid("queue manager", chance.randrange(2 * sites, managers)) for _ in range(_PREDICTIONS)]

    def ours() -> int:
        return len(RoutingTable(graph, (root,)))

    def bare() -> int:
        return len(networkx.single_source_dijkstra(graph, root)[0])

    def predict() -> int:
        again = Predictor(topology)
        again.algorithm.routing_table(gate)
        return sum(again.predict(source, goal).arrives for goal in goals[:50])

    def path() -> int:
        ends = [topology.queue_managers[goal].site_identifier_list[0] for goal in goals[:50]]
        return len([networkx.dijkstra_path(graph, root, end) for end in ends])

    predictor = Predictor(topology)
    predictor.algorithm.routing_table(gate)
    seconds = sorted(_timed(partial(predictor.predict, source, goal)) for goal in goals)
    tables = measure("table", "sites/s", [Contestant(_OURS, ours), Contestant(_BARE, bare)], rounds)
    found = measure("predict", "paths/s", [Contestant(_PREDICT, predict), Contestant(_PATH, path)], rounds)
    return (
        f"{sites:,} / {links:,} / {managers:,}",
        f"{made:.2f} s",
        f"{read:.2f} s",
        f"{1000 * sites / tables[0].median:.1f} ms",
        f"{statistics.median(ratio_of(tables, 'table', _OURS, _BARE)):.2f}",
        f"{1000 * statistics.median(seconds):.2f} ms",
        f"{1000 * seconds[int(0.99 * len(seconds))]:.2f} ms",
        f"{1000 * seconds[-1]:.2f} ms",
        f"{statistics.median(ratio_of(found, 'predict', _PREDICT, _PATH)):.1f}",
    )


def main() -> None:
    """Print a table, ready for the documentation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pin()
    neighbours = Neighbours()
    heads = (
        "Sites / links / queue managers",
        "Made and checked",
        "Read",
        "Table",
        "against networkx",
        "Prediction, median",
        "99 %",
        "most",
        "against networkx",
    )
    print(table(heads, [_row(*size, options.rounds) for size in _SIZES]))
    busy = neighbours.share() or 0
    print(f"\nnetworkx {networkx.__version__}; others kept {busy:.2f} cores busy.")


if __name__ == "__main__":
    main()
