"""`Auditor`: compares every hop in a capture with the routes that the topology allows.

The rule kept here: a hop is judged by what is known about its two ends when it is read. What is unknown is
reported, never guessed. Memory is bounded: loops of messages seen long ago are not found.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from msmq_wire.records.endpoint import AT_MSMQ, host_of
from msmq_wire.records.record import Record, place_of
from msmq_wire.routing.algorithm import HopRule
from msmq_wire.routing.hop import Deviation, DeviationKind, ObservedHop, Sighting
from msmq_wire.routing.prediction import MOST_ROUTERS, Prediction, Predictor
from msmq_wire.routing.told_hops import ToldHops
from msmq_wire.routing.topology import Topology
from msmq_wire.spec import SpecRef
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_HOP_COUNT = SpecRef("MS-MQQB", "3.1.5.8.2")
_MOST_MESSAGES = 1 << 17
_MOST_STREAMS = 1 << 16
_MOST_HOSTS = 1 << 16


def sighting_of(record: Record) -> Sighting | None:
    """The sighting in a ``user_message`` record; None for other records, and for packets cut too early."""
    if record.type != "user_message" or record.parent is not None:
        return None
    user = reached(record.packet, "user_header")
    flags = reached(user, "flags")
    if flags is None:
        return None
    direct = flags >> 10 & 7 == QueueType.DIRECT
    return Sighting(
        **place_of(record),
        stream=record.stream,
        source_queue_manager=user.source_queue_manager,
        message_id=user.message_id,
        queue_manager_address=None if direct else user.queue_manager_address,
        hops=flags & 0x1F,
    )


class _Trail(msgspec.Struct):
    """The hops of one message: its senders with the hop count each one sent, and its receivers.

    ``reported_excess`` is the highest excess of hops that was reported, and the hop count at that hop.
    ``reported_shortfall`` is the same for missing hops.
    """

    senders: dict[GUID | str, int] = {}
    receivers: set[GUID] = set()
    reported_excess: tuple[int, int] = (0, 0)
    reported_shortfall: tuple[int, int] = (0, 0)


class Auditor:
    """Takes records in order, and returns a hop for each message on the binary protocol.

    EstablishConnection packets name the queue managers at the two ends of a connection. Without them, the
    addresses in the topology do, then other connections of the same host. If a message has passed no routing
    server, its sender is its source. `told` gives at the end the hops that only report messages tell.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._predictor = Predictor(topology)
        self._by_address = {
            address: one.identifier for one in topology.queue_managers.values() for address in one.addresses
        }
        self.forget()

    def forget(self) -> None:
        """Forget all connections and messages, before another capture."""
        self._ends: OrderedDict[tuple[str, int | None], dict[str, GUID]] = OrderedDict()
        self._hosts: dict[str, GUID | None] = {}
        self._trails: OrderedDict[tuple[GUID, int], _Trail] = OrderedDict()
        self._told = ToldHops()

    def feed(self, record: Record) -> ObservedHop | None:
        """Take a record; return a hop if it is a message on the binary protocol."""
        if record.type == "establish_connection":
            header = reached(record.packet, "establish_connection_header")
            client, server = (reached(header, name) for name in ("client_guid", "server_guid"))
            self.add_establish_connection(
                record.capture, record.stream, record.src, record.dst, client, server
            )
            return None
        sighting = sighting_of(record)
        if sighting is None:
            return None
        hop = self.judge(sighting)
        self._told.add(record, hop)
        return hop

    def told(self) -> Iterator[tuple[Record, ObservedHop]]:
        """The hops that report messages tell and no record shows, each with its report, at the end."""
        for told in self._told.hops(partial(self._queue_manager_at, ends={})):
            if told.reason is None:
                hop = self._judged(told.sighting, told.source, told.target)
            else:
                hop = ObservedHop(
                    sighting=told.sighting, source=told.source, target=told.target, reason=told.reason
                )
            yield told.record, msgspec.structs.replace(hop, told_by=told.told_by)

    def add_establish_connection(
        self,
        capture: str,
        stream: int | None,
        src: str | None,
        dst: str | None,
        client: GUID | None,
        server: GUID | None,
    ) -> None:
        """Take an EstablishConnection packet from ``src`` to ``dst``, with the queue managers that it names.

        A response looks like a request. It is a response if the first one went the other way, or if it comes
        from port 1801. [MS-MQQB] 2.2.3.1
        """
        if src is None or dst is None:
            return
        key = (capture, stream)
        ends = self._ends.setdefault(key, {})
        self._ends.move_to_end(key)
        if len(self._ends) > _MOST_STREAMS:
            self._ends.popitem(last=False)
        opener = next(iter(ends), None)
        answer = opener == dst or (opener is None and src.endswith(AT_MSMQ) and not dst.endswith(AT_MSMQ))
        if answer:
            src, dst = dst, src
        for end, identifier in ((src, client), (dst, server)):
            if identifier is not None and identifier != NULL_GUID:
                ends[end] = identifier
                self._remember_host(end, identifier)

    def judge(self, sighting: Sighting) -> ObservedHop:
        """Compare one hop with the prediction."""
        sighted_ends = self._ends.get((sighting.capture, sighting.stream), {})
        source = self._queue_manager_at(sighting.src, sighted_ends)
        if source is None and sighting.hops == 0:
            source = sighting.source_queue_manager
        return self._judged(sighting, source, self._queue_manager_at(sighting.dst, sighted_ends))

    def _judged(self, sighting: Sighting, source: GUID | None, target: GUID | None) -> ObservedHop:
        destination = sighting.queue_manager_address
        reason = self._reason_not_judged(sighting, source, target)
        if reason is not None or destination is None:
            return ObservedHop(sighting=sighting, source=source, target=target, reason=reason)
        known = sighting.source_queue_manager in self.topology.queue_managers
        origin = sighting.source_queue_manager if known or source is None else source
        prediction = self._predictor.predict(origin, destination)
        expected = () if source is None else self._expected(prediction, source)
        trail = self._trail(sighting)
        deviations = [
            *self._path_deviations(prediction, source, target, expected, trail),
            *(self._hop_count_deviations(prediction, sighting, source, trail) if known else ()),
            *self._loop_deviations(sighting, target, trail),
        ]
        trail.senders.setdefault(source or host_of(sighting.src), sighting.hops)
        if target is not None:
            trail.receivers.add(target)
        if not deviations:
            reason = _unknown_end(source, target)
        return ObservedHop(
            sighting=sighting,
            source=source,
            target=target,
            expected=expected,
            deviations=tuple(deviations),
            reason=reason,
        )

    def _trail(self, sighting: Sighting) -> _Trail:
        key = (sighting.source_queue_manager, sighting.message_id)
        trail = self._trails.get(key)
        if trail is None:
            trail = self._trails[key] = _Trail()
            if len(self._trails) > _MOST_MESSAGES:
                self._trails.popitem(last=False)
        else:
            self._trails.move_to_end(key)
        return trail

    def _reason_not_judged(self, sighting: Sighting, source: GUID | None, target: GUID | None) -> str | None:
        known = self.topology.queue_managers
        destination = sighting.queue_manager_address
        if destination is None:
            return "a direct format name is not routed"
        if destination not in known:
            return f"its destination {destination} is not in the topology"
        if source is None and target is None:
            return "who is at either end is not known"
        if sighting.source_queue_manager not in known and source not in known:
            return f"its source {sighting.source_queue_manager} is not in the topology"
        return None

    def _queue_manager_at(self, end: str, ends: dict[str, GUID]) -> GUID | None:
        host = host_of(end)
        return ends.get(end) or self._by_address.get(host) or self._hosts.get(host)

    def _remember_host(self, end: str, identifier: GUID) -> None:
        host = host_of(end)
        if host in self._hosts or len(self._hosts) < _MOST_HOSTS:
            # Network address translation can hide several hosts: their address then identifies none.
            self._hosts[host] = identifier if self._hosts.get(host, identifier) == identifier else None

    def _expected(self, prediction: Prediction, source: GUID) -> tuple[GUID, ...]:
        hops = prediction.hops.get(source)
        if hops is None and source in self.topology.queue_managers:
            elsewhere = self._predictor.predict(source, prediction.destination.identifier)
            hops = elsewhere.hops.get(source)
        return tuple(hop.target for hop in hops or ())

    def _path_deviations(
        self,
        prediction: Prediction,
        source: GUID | None,
        target: GUID | None,
        expected: tuple[GUID, ...],
        trail: _Trail,
    ) -> Iterator[Deviation]:
        destination = self.name(prediction.destination.identifier)
        if not prediction.arrives:
            why = "; ".join(dict.fromkeys(prediction.failures.values())) or "every route ends in a loop"
            origin = self.name(prediction.source.identifier)
            yield Deviation(
                DeviationKind.NO_ROUTE,
                f"no route leads from {origin} to {destination}: {why}",
                SpecRef("MS-MQBR", "3.1.5.1"),
            )
            return
        if target is None:
            return
        off = partial(Deviation, DeviationKind.OFF_PATH, spec=SpecRef("MS-MQBR", "3.1.5"))
        if source is None:
            if not any(hop.target == target for hops in prediction.hops.values() for hop in hops):
                yield off(f"{self.name(target)} is on no route of this message")
            return
        sender = self.name(source)
        step = f"{sender} passed the message to {self.name(target)}"
        hops = prediction.hops.get(source)
        if source == prediction.destination.identifier:
            yield off(f"{step}, though {sender} is its destination")
        elif hops is None:
            # A queue manager that got the message by mistake may forward it correctly.
            if target not in expected:
                yield off(f"{step}, but {sender} is on no route of this message")
            elif source not in trail.receivers:
                yield off(f"{sender} passed the message on, but is on no route of this message")
        elif target not in expected:
            machine = self.topology.queue_managers.get(target)
            direct = any(hop.rule is HopRule.DIRECT for hop in hops)
            if direct and machine is not None and machine.routing_server:
                yield Deviation(
                    DeviationKind.ROUTED_THOUGH_DIRECT,
                    f"{step}, though {sender} can send it to {destination} directly",
                    hops[0].spec,
                )
            else:
                yield off(f"{step}, not to {self._names(expected)}", spec=hops[0].spec)

    def _hop_count_deviations(
        self, prediction: Prediction, sighting: Sighting, source: GUID | None, trail: _Trail
    ) -> Iterator[Deviation]:
        passed = prediction.routers_passed()
        if source is not None and source in passed:
            fewest, most = passed[source]
            at = f"before {self.name(source)}"
        elif source in trail.receivers:
            # It should not have got the message; that was reported before.
            fewest, most, at = 0, MOST_ROUTERS, "on any route"
        else:
            fewest, most, at = 0, max((one[1] for one in passed.values()), default=0), "on any route"
        count = sighting.hops
        # One fault is not reported again at every following hop.
        if count > most and not _is_reported(trail.reported_excess, count - most, count):
            trail.reported_excess = count - most, count
            yield Deviation(
                DeviationKind.TOO_MANY_HOPS,
                f"the message has passed {_servers_text(count)}, "
                f"but there {_is_or_are(most)} at most {most} {at}",
                _HOP_COUNT,
            )
        elif count < fewest and not _is_reported(trail.reported_shortfall, fewest - count, count):
            trail.reported_shortfall = fewest - count, count
            yield Deviation(
                DeviationKind.TOO_FEW_HOPS,
                f"the message has passed {_servers_text(count)}, "
                f"but there {_is_or_are(fewest)} at least {fewest} {at}",
                _HOP_COUNT,
            )

    def _loop_deviations(self, sighting: Sighting, target: GUID | None, trail: _Trail) -> Iterator[Deviation]:
        to = target or host_of(sighting.dst)
        before = trail.senders.get(to)
        if before is not None and before < sighting.hops:
            yield Deviation(
                DeviationKind.LOOP,
                f"the message goes back to {self.name(to)}, which passed it on before",
                SpecRef("MS-MQBR", "3.1.5"),
            )

    def name(self, one: GUID | str) -> str:
        """The computer name of a queue manager in the topology; otherwise its GUID or host."""
        machine = self.topology.queue_managers.get(one) if isinstance(one, GUID) else None
        return str(one) if machine is None else machine.computer_name

    def _names(self, identifiers: Iterable[GUID]) -> str:
        return " or ".join(map(self.name, identifiers)) or "anybody"


def _is_reported(before: tuple[int, int], excess: int, count: int) -> bool:
    return excess <= before[0] and count > before[1]


def _servers_text(count: int) -> str:
    return f"{count} routing server" if count == 1 else f"{count or 'no'} routing servers"


def _is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


def _unknown_end(source: GUID | None, target: GUID | None) -> str | None:
    if source is None:
        return "its sender is not known"
    return "its receiver is not known" if target is None else None


def audit(records: Iterable[Record], topology: Topology) -> Iterator[ObservedHop]:
    """Compare each hop in the records with the routes that a topology allows, those only told last."""
    auditor = Auditor(topology)
    for record in records:
        hop = auditor.feed(record)
        if hop is not None:
            yield hop
    yield from (hop for _, hop in auditor.told())
