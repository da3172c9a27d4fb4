"""Predictions for display: the paths that are shown, their ends, and their JSON view.

The rule kept here: the number of paths is limited, and the view says if some are left out.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Literal, TypeAlias

import msgspec

from msmq_wire.engines.text.escaping import SCHEMA_VERSION
from msmq_wire.routing.algorithm import HopRule
from msmq_wire.routing.directory import QueueManager
from msmq_wire.routing.prediction import PredictedHop, PredictedPath, Prediction
from msmq_wire.routing.topology import Topology
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

NOT_ROUTED = SpecRef("MS-MQBR", "1.6")
"""Only public and private format names are routed."""
_OUTSIDE = GUID(b"\xfe" * 16)
"""Stands for a host that is not in the topology; no directory gives out this identifier."""
_MOST_COUNTED = 1000

MachineKind: TypeAlias = Literal["gate", "routing server", "foreign system", "queue manager"]


class ShownPaths(msgspec.Struct, frozen=True, kw_only=True):
    """The displayed paths of a prediction: the chosen one, then others that arrive, then those that stop.

    ``arriving`` and ``stopping`` count all visited paths; ``all_counted`` is False if there are more.
    ``lowest_cost`` is the lowest cost of the arriving paths, None if there are none.
    """

    paths: tuple[PredictedPath, ...]
    arriving: int
    stopping: int
    all_counted: bool
    lowest_cost: int | None = None

    @property
    def complete(self) -> bool:
        """Whether every path is displayed."""
        return self.all_counted and len(self.paths) == self.arriving + self.stopping


def shown_paths(prediction: Prediction, most_paths: int) -> ShownPaths:
    """Choose at most ``most_paths`` paths among the first thousand, or more if ``most_paths`` is more."""
    most = max(most_paths, _MOST_COUNTED)
    found = list(islice(prediction.paths(), most + 1))
    looked_at = found[:most]
    ordered = sorted(looked_at, key=lambda path: (not path.chosen, path.end != "arrives"))
    costs = [path.cost for path in looked_at if path.end == "arrives"]
    return ShownPaths(
        paths=tuple(ordered[:most_paths]),
        arriving=len(costs),
        stopping=len(looked_at) - len(costs),
        all_counted=prediction.complete and len(found) <= most,
        lowest_cost=min(costs, default=None),
    )


def chosen_path(prediction: Prediction) -> PredictedPath:
    """The path that the algorithm gives, whether it arrives or not."""
    return next(prediction.paths())


def direct_prediction(source: QueueManager, host: str | QueueManager) -> Prediction:
    """The one hop to the host of a direct format name, which is not routed. [MS-MQBR] 1.6

    ``host`` is a name or an address where the host is not in the topology.
    """
    if isinstance(host, str):
        host = QueueManager(identifier=_OUTSIDE, computer_name=host)
    hop = PredictedHop(
        source=source.identifier, target=host.identifier, rule=HopRule.DIRECT, spec=NOT_ROUTED, chosen=True
    )
    hops: dict[GUID, tuple[PredictedHop, ...]] = {}
    if host.identifier != source.identifier:
        hops[source.identifier] = (hop,)
    return Prediction(source=source, destination=host, hops=hops)


def machine_of(prediction: Prediction, topology: Topology, identifier: GUID) -> QueueManager:
    """The queue manager at one end of a hop."""
    if identifier == prediction.destination.identifier:
        return prediction.destination
    return topology.queue_managers[identifier]


def called(machine: QueueManager) -> str:
    """The name of a queue manager, its identifier where it has none."""
    return machine.computer_name or str(machine.identifier)


def site_names(machine: QueueManager, topology: Topology) -> tuple[str, ...]:
    """The names of the sites of a queue manager."""
    return tuple(topology.sites[site].name for site in machine.site_identifier_list if site in topology.sites)


def kind_of(machine: QueueManager, topology: Topology) -> MachineKind:
    """The role of a queue manager in its sites; "queue manager" if it does not route."""
    if machine.routing_server:
        known = (topology.sites.get(site) for site in machine.site_identifier_list)
        gate = any(site is not None and machine.identifier in site.site_gate_collection for site in known)
        return "gate" if gate else "routing server"
    return "foreign system" if machine.foreign_system else "queue manager"


def prediction_view(prediction: Prediction, topology: Topology, most_paths: int) -> dict[str, Any]:
    """A prediction as an object of JSON with at most ``most_paths`` paths.

    Keys: ``schema_version``, ``source`` and ``destination`` (``identifier``, ``computer_name``,
    ``sites``), ``arrives``, ``complete`` (whether every path is told), ``paths`` (``chosen``, ``cost``,
    ``end``, ``reason``, ``hops``) and ``failures`` (``identifier``, ``computer_name``, ``reason``). A hop
    has ``source``, ``target``, ``source_name``, ``target_name``, ``rule``, ``spec``, ``cost``,
    ``next_site``, ``chosen`` and ``connected``. Queue managers are named by identifier, null outside of
    the topology; sites by name.
    """

    def identifier_of(one: GUID) -> str | None:
        return None if one == _OUTSIDE and one not in topology.queue_managers else str(one)

    def end(machine: QueueManager) -> dict[str, Any]:
        return {
            "identifier": identifier_of(machine.identifier),
            "computer_name": machine.computer_name,
            "sites": list(site_names(machine, topology)),
        }

    def hop_view(hop: PredictedHop) -> dict[str, Any]:
        return {
            "source": identifier_of(hop.source),
            "target": identifier_of(hop.target),
            "source_name": called(machine_of(prediction, topology, hop.source)),
            "target_name": called(machine_of(prediction, topology, hop.target)),
            "rule": str(hop.rule),
            "spec": str(hop.spec),
            "cost": hop.cost,
            "next_site": None if hop.next_site is None else topology.sites[hop.next_site].name,
            "chosen": hop.chosen,
            "connected": hop.connected,
        }

    reported = shown_paths(prediction, most_paths)
    return {
        "schema_version": SCHEMA_VERSION,
        "source": end(prediction.source),
        "destination": end(prediction.destination),
        "arrives": prediction.arrives,
        "complete": reported.complete,
        "paths": [
            {
                "chosen": path.chosen,
                "cost": path.cost,
                "end": path.end,
                "reason": path.reason,
                "hops": [hop_view(hop) for hop in path.hops],
            }
            for path in reported.paths
        ],
        "failures": [
            {
                "identifier": identifier_of(one),
                "computer_name": machine_of(prediction, topology, one).computer_name,
                "reason": reason,
            }
            for one, reason in prediction.failures.items()
        ],
    }
