"""Predicts the route of a message through an enterprise, and audits the route it took. [MS-MQBR]

`Predictor` and `Auditor` need networkx, so they are loaded when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from msmq_wire.routing.directory import ConnectedNetwork, QueueManager, RoutingLink, Site
from msmq_wire.routing.hop import Deviation, DeviationKind, ObservedHop, Sighting
from msmq_wire.routing.topology import Topology, topology_of

if TYPE_CHECKING:
    from msmq_wire.routing.algorithm import RoutingAlgorithm
    from msmq_wire.routing.auditor import Auditor, audit
    from msmq_wire.routing.prediction import Prediction, Predictor

__all__ = [
    "Auditor",
    "ConnectedNetwork",
    "Deviation",
    "DeviationKind",
    "ObservedHop",
    "Prediction",
    "Predictor",
    "QueueManager",
    "RoutingAlgorithm",
    "RoutingLink",
    "Sighting",
    "Site",
    "Topology",
    "audit",
    "topology_of",
]

_ON_DEMAND = {
    "Auditor": "msmq_wire.routing.auditor",
    "Prediction": "msmq_wire.routing.prediction",
    "Predictor": "msmq_wire.routing.prediction",
    "RoutingAlgorithm": "msmq_wire.routing.algorithm",
    "audit": "msmq_wire.routing.auditor",
}


def __getattr__(name: str) -> object:
    module = _ON_DEMAND.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(module), name)
