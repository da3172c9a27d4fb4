"""`Predictor`: every route that a message may take from one queue manager to another.

The rule kept here: where the algorithm leaves a choice, every choice is possible, and its own is marked. Time
and memory are bounded for any topology. A prediction says if it is not complete.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec

from msmq_wire.errors import RoutingError
from msmq_wire.routing.algorithm import HopRule, NextHops, RoutingAlgorithm
from msmq_wire.routing.directory import QueueManager
from msmq_wire.routing.routing_table import Ways
from msmq_wire.routing.topology import Topology, TopologyDirectory
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

MOST_ROUTERS = 0x1D
"""Routing servers that a message may pass. [MS-MQMQ] 2.2.19.2, [MS-MQQB] 3.1.5.8.2"""
_MOST_PLACES = 4096
"""At most so many queue managers are visited for one prediction."""
_MOST_HOPS = 1 << 15
"""At most so many hops between them are visited."""
_MOST_PREDICTIONS = 1 << 12

PathEnd: TypeAlias = Literal["arrives", "loops", "no_route", "too_many_hops"]


class PredictedHop(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A step from one queue manager to the next.

    ``chosen`` marks what `RoutingAlgorithm` puts first. ``cost`` is that of the routing link, 0 inside a
    site; ``next_site`` the site to which it leads, None inside a site. ``connected`` is False where the two
    have no connected network in common, so that the connection cannot be made.
    """

    source: GUID
    target: GUID
    rule: HopRule
    spec: SpecRef
    chosen: bool
    cost: int = 0
    next_site: GUID | None = None
    connected: bool = True


class PredictedPath(msgspec.Struct, frozen=True, kw_only=True):
    """Hops from the source to the destination, or to where they ``end``: ``reason`` says why they do."""

    hops: tuple[PredictedHop, ...]
    end: PathEnd
    reason: str = ""

    @property
    def cost(self) -> int:
        """The total cost of its routing links."""
        return sum(hop.cost for hop in self.hops)

    @property
    def chosen(self) -> bool:
        """Whether `RoutingAlgorithm` chooses this path."""
        return all(hop.chosen for hop in self.hops)


class Prediction(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All routes of a message.

    ``hops`` are the possible next hops of each queue manager, in order of preference. ``failures`` are the
    reasons why the routing attempts of queue managers fail. ``complete`` is False if a limit was reached.
    """

    source: QueueManager
    destination: QueueManager
    hops: dict[GUID, tuple[PredictedHop, ...]]
    failures: dict[GUID, str] = {}
    complete: bool = True

    @property
    def arrives(self) -> bool:
        """Whether a route leads to the destination within the allowed number of routing servers."""
        target = self.destination.identifier
        return self.source.identifier == target or any(
            hop.target == target and hop.connected
            for one in self.routers_passed()
            for hop in self.hops.get(one, ())
        )

    def paths(self) -> Iterator[PredictedPath]:
        """Yield every path, the chosen one first. There can be very many."""
        walk: list[PredictedHop] = []
        yield from self._paths(self.source.identifier, walk, {self.source.identifier})

    def _paths(self, at: GUID, walk: list[PredictedHop], passed: set[GUID]) -> Iterator[PredictedPath]:
        if at == self.destination.identifier:
            yield PredictedPath(hops=tuple(walk), end="arrives")
            return
        if len(walk) > MOST_ROUTERS:
            reason = f"a message passes at most {MOST_ROUTERS} routing servers"
            yield PredictedPath(hops=tuple(walk), end="too_many_hops", reason=reason)
            return
        hops = self.hops.get(at, ())
        if at in self.failures or not hops:
            # What follows then is possible only with another order of the directory.
            reason = self.failures.get(at, "more ways than are looked at")
            yield PredictedPath(hops=tuple(walk), end="no_route", reason=reason)
        for hop in hops:
            walk.append(hop)
            if not hop.connected:
                reason = "the two have no connected network in common"
                yield PredictedPath(hops=tuple(walk), end="no_route", reason=reason)
            elif hop.target in passed:
                yield PredictedPath(hops=tuple(walk), end="loops", reason="it has been there before")
            else:
                passed.add(hop.target)
                yield from self._paths(hop.target, walk, passed)
                passed.discard(hop.target)
            walk.pop()

    def routers_passed(self) -> dict[GUID, tuple[int, int]]:
        """For each queue manager, the fewest and most routing servers that its messages may have passed."""
        return self._passed

    @cached_property
    def _passed(self) -> dict[GUID, tuple[int, int]]:
        found: dict[GUID, tuple[int, int]] = {}
        at = {self.source.identifier}
        for passed in range(MOST_ROUTERS + 1):
            for one in at:
                found[one] = (found[one][0] if one in found else passed, passed)
            at = {hop.target for one in at for hop in self.hops.get(one, ()) if hop.connected}
        return found


class Predictor:
    """Predicts the routes of messages in a topology; keeps the latest 4,096 predictions."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.algorithm = RoutingAlgorithm(TopologyDirectory(topology))
        self._known: OrderedDict[tuple[GUID, GUID], Prediction] = OrderedDict()

    def predict(self, source_id: GUID, destination_id: GUID) -> Prediction:
        """Predict the routes between two queue managers; RoutingError if the topology lacks one of them."""
        key = (source_id, destination_id)
        prediction = self._known.get(key)
        if prediction is None:
            prediction = self._predict(*(self._machine(identifier) for identifier in key))
            if len(self._known) >= _MOST_PREDICTIONS:
                self._known.popitem(last=False)
            self._known[key] = prediction
        else:
            self._known.move_to_end(key)
        return prediction

    def _machine(self, identifier: GUID) -> QueueManager:
        machine = self.algorithm.get_queue_manager(identifier)
        if machine is None:
            raise RoutingError(f"no queue manager {identifier} in the directory")
        return machine

    def _predict(self, source: QueueManager, destination: QueueManager) -> Prediction:
        hops: dict[GUID, tuple[PredictedHop, ...]] = {}
        failures: dict[GUID, str] = {}
        ways: Mapping[GUID, Ways] | None = None
        todo = [] if source.identifier == destination.identifier else [source.identifier]
        seen = {source.identifier, destination.identifier}
        steps = 0
        for at in todo:
            found = self.algorithm.possible_hops(at, destination.identifier, ways)
            if not found.identifiers:
                failures[at] = self.algorithm.failure(at, found)
            if not found.identifiers and not found.alternatives:
                continue
            ways = found.ways or ways
            hops[at] = tuple(self._steps(self._machine(at), found))
            new = {hop.target: None for hop in hops[at] if hop.connected and hop.target not in seen}
            steps += len(hops[at])
            if len(todo) + len(new) > _MOST_PLACES or steps > _MOST_HOPS:
                return Prediction(
                    source=source, destination=destination, hops=hops, failures=failures, complete=False
                )
            seen.update(new)
            todo += new
        return Prediction(source=source, destination=destination, hops=hops, failures=failures)

    def _steps(self, at: QueueManager, found: NextHops) -> Iterator[PredictedHop]:
        for number, target in enumerate((*found.identifiers, *found.alternatives)):
            next_site = found.next_sites.get(target)
            step = PredictedHop(
                source=at.identifier,
                target=target,
                rule=found.rule,
                spec=found.spec,
                chosen=number == 0 and bool(found.identifiers),
                cost=0 if next_site is None else self.algorithm.link_cost(at, next_site),
                next_site=next_site,
                connected=_connected(at, self._machine(target)),
            )
            yield step
            if found.rule is HopRule.DIRECT and not step.connected and not at.routing_server:
                near = self.algorithm.routing_servers_near(at)
                for server in (*near.identifiers, *near.alternatives):
                    yield PredictedHop(
                        source=at.identifier,
                        target=server,
                        rule=near.rule,
                        spec=near.spec,
                        chosen=False,
                        connected=_connected(at, self._machine(server)),
                    )


def _connected(one: QueueManager, other: QueueManager) -> bool:
    """Whether two queue managers share a connected network, or the networks of one are unknown."""
    networks = set(one.connected_network_identifier_list)
    others = other.connected_network_identifier_list
    return not networks or not others or not networks.isdisjoint(others)
