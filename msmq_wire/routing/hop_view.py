"""The columns of hops, each declared once, and the JSON view: what ``route-audit --format jsonl`` prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msmq_wire.records.column import Column, ColumnRow, placed
from msmq_wire.records.joined_capture import located
from msmq_wire.routing.hop import DeviationKind, ObservedHop, Sighting
from msmq_wire.routing.topology import Topology
from msmq_wire.wire.types.guid import GUID

_KINDS = "|".join(DeviationKind)


def _queue_manager(name: str, doc: str, where: Callable[[HopRow], GUID | None]) -> tuple[Column, Column]:
    """A queue manager, and its name in the topology."""
    return (
        Column(name, "guid", doc, where, reveals="host"),
        Column(
            f"{name}_name", "text", "Its name in the topology.", lambda row: row.name(where(row)),
            reveals="host",
        ),
    )  # fmt: skip


DEVIATION_COLUMNS = (
    Column(
        "kind", "text", "In what it differs.", "kind.value",
        choices=tuple(one.value for one in DeviationKind), optional=False,
    ),
    Column("message", "text", "A sentence, empty where hosts are redacted.", optional=False, reveals="host"),
    Column("spec", "section", "The section that it rests on.", optional=False),
)  # fmt: skip
HOP_COLUMNS: tuple[Column, ...] = (
    placed("id", Column, called="record", where="sighting.record"),
    *(placed(name, Column, where=f"sighting.{name}") for name in ("capture", "frames", "time")),
    placed("src", Column, where=lambda row: row.sighting.src or None, reveals="host"),
    placed("dst", Column, where=lambda row: row.sighting.dst or None, reveals="host"),
    placed("stream", Column, where="sighting.stream"),
    Column(
        "message_id", "text",
        "GUID of the queue manager that made the message, a backslash and the number there.",
        lambda row: f"{row.sighting.source_queue_manager}\\{row.sighting.message_id}",
        optional=False, pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\[0-9]+$", reveals="host",
    ),
    *_queue_manager("source", "Queue manager that passed it on.", lambda row: row.hop.source),
    *_queue_manager("target", "Queue manager that got it.", lambda row: row.hop.target),
    *_queue_manager(
        "destination", "Queue manager that it is for; null for a direct format name.",
        lambda row: row.sighting.queue_manager_address,
    ),
    Column(
        "hops", "number", "Routing servers that it has passed: UserHeader RC.", "sighting.hops",
        optional=False, most=31,
    ),
    Column(
        "verdict", "text",
        "on_path, not_judged, or the kinds of its deviations with commas between them.", "hop.verdict",
        optional=False, pattern=f"^(on_path|not_judged|({_KINDS})(, ({_KINDS}))*)$",
    ),
    Column(
        "deviations", "objects", "In what it differs from every possible way.", "hop.deviations",
        optional=False, columns=DEVIATION_COLUMNS,
    ),
    Column(
        "expected", "guids", "Queue managers to which the source may pass it.", "hop.expected",
        optional=False, reveals="host",
    ),
    Column("reason", "text", "Why it could not be judged.", "hop.reason"),
    Column(
        "told_by", "guid",
        "Queue manager that tells the hop in a report message; null for a hop that was observed.",
        "hop.told_by", reveals="host",
    ),
)  # fmt: skip
"""The columns in their order."""


class HopRow(ColumnRow, columns=HOP_COLUMNS):
    """A hop, with the names that a topology has for queue managers."""

    __slots__ = ("_topology", "hop", "sighting")
    hop: ObservedHop
    sighting: Sighting

    def __init__(self, hop: ObservedHop, topology: Topology) -> None:
        super().__init__()
        self.hop = hop
        self.sighting = located(hop.sighting)
        self._topology = topology

    def name(self, identifier: GUID | None) -> str | None:
        """The name of a queue manager, None where the topology has none."""
        machine = None if identifier is None else self._topology.queue_managers.get(identifier)
        return None if machine is None else machine.computer_name or None


def hop_view(hop: ObservedHop, topology: Topology) -> dict[str, Any]:
    """A hop as a row of JSON, with the keys of `HOP_COLUMNS`."""
    return HopRow(hop, topology).row()
