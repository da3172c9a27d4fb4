"""The JSON view of a hop: what ``route-audit --format jsonl`` prints."""

from __future__ import annotations

from typing import Any

from msmq_wire.records.joined_capture import located
from msmq_wire.records.view import time_text
from msmq_wire.routing.hop import ObservedHop
from msmq_wire.routing.topology import Topology
from msmq_wire.wire.types.guid import GUID

KEYS = (
    "record",
    "capture",
    "frames",
    "time",
    "src",
    "dst",
    "stream",
    "message_id",
    "source",
    "source_name",
    "target",
    "target_name",
    "destination",
    "destination_name",
    "hops",
    "verdict",
    "deviations",
    "expected",
    "reason",
)
"""The keys of a row, in their order."""


def hop_view(hop: ObservedHop, topology: Topology) -> dict[str, Any]:
    """A hop as a row with the keys `KEYS`.

    ``record``, ``capture``, ``frames``, ``src``, ``dst`` and ``stream`` are those of the record; ``time`` is
    RFC 3339 in UTC. ``message_id`` is the GUID of the queue manager that made the message, a backslash and
    its number there. ``source`` and ``target`` are the queue managers at the ends of this hop,
    ``destination`` the one where the message is to go, each as a GUID, null where it is not known, and with
    its name in the topology, null where that has none. ``hops`` is UserHeader RC. ``deviations`` have
    ``kind``, ``message`` and ``spec``; ``expected`` are the GUIDs of those to which the source may pass the
    message.
    """
    sighting = located(hop.sighting)
    destination = sighting.queue_manager_address
    return {
        "record": sighting.record,
        "capture": sighting.capture,
        "frames": list(sighting.frames),
        "time": time_text(sighting.time),
        "src": sighting.src or None,
        "dst": sighting.dst or None,
        "stream": sighting.stream,
        "message_id": f"{sighting.source_queue_manager}\\{sighting.message_id}",
        "source": _text(hop.source),
        "source_name": _name(hop.source, topology),
        "target": _text(hop.target),
        "target_name": _name(hop.target, topology),
        "destination": _text(destination),
        "destination_name": _name(destination, topology),
        "hops": sighting.hops,
        "verdict": hop.verdict,
        "deviations": [
            {"kind": str(one.kind), "message": one.message, "spec": str(one.spec)} for one in hop.deviations
        ],
        "expected": [str(one) for one in hop.expected],
        "reason": hop.reason,
    }


def _text(identifier: GUID | None) -> str | None:
    return None if identifier is None else str(identifier)


def _name(identifier: GUID | None, topology: Topology) -> str | None:
    machine = None if identifier is None else topology.queue_managers.get(identifier)
    return None if machine is None else machine.computer_name or None
