"""What an audit says of a hop: `ObservedHop` and its `Deviation`s. Plain frozen values."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

__all__ = ["Deviation", "DeviationKind", "ObservedHop", "Sighting"]


class Sighting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message on its way between two hosts, as a record or a row of a table has it.

    ``record``, ``frames``, ``time``, ``src``, ``dst`` and ``stream`` are those of the record. ``message_id``
    is the number that ``source_queue_manager`` gave it. ``queue_manager_address`` is the destination, None
    for a direct format name, which is not routed. ``hops`` is UserHeader RC, the routing servers passed.
    """

    record: int
    capture: str = ""
    frames: tuple[int, ...] = ()
    time: int | None = None
    src: str = ""
    dst: str = ""
    stream: int | None = None
    source_queue_manager: GUID
    message_id: int
    queue_manager_address: GUID | None
    hops: int


class DeviationKind(StrEnum):
    """In what a hop differs from the prediction."""

    OFF_PATH = "off_path"
    """No possible way of the message has this hop."""
    ROUTED_THOUGH_DIRECT = "routed_though_direct"
    """The sender passed it to a routing server, though it could have sent it to the destination itself."""
    TOO_MANY_HOPS = "too_many_hops"
    """It has passed more routing servers than on any possible way to this sender."""
    TOO_FEW_HOPS = "too_few_hops"
    """It has passed fewer routing servers than on any possible way to this sender."""
    LOOP = "loop"
    """It goes back to who passed it on before."""
    NO_ROUTE = "no_route"
    """No possible way leads from its source to its destination."""


class Deviation(msgspec.Struct, frozen=True):
    """One difference, in a sentence without its full stop, with the section that it rests on."""

    kind: DeviationKind
    message: str
    spec: SpecRef


class ObservedHop(msgspec.Struct, frozen=True, kw_only=True):
    """A hop and what the prediction says of it.

    ``source`` and ``target`` are the queue managers at its ends, None where the capture does not tell.
    ``expected`` are those to which the sender may pass the message. ``reason`` says why the hop could not be
    judged, None if it was; then it is on a possible way where ``deviations`` is empty.
    """

    sighting: Sighting
    source: GUID | None = None
    target: GUID | None = None
    expected: tuple[GUID, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    reason: str | None = None

    @property
    def verdict(self) -> str:
        """``on_path``, ``not_judged``, or the kinds of its deviations with commas between them."""
        if self.reason is not None:
            return "not_judged"
        return ", ".join(one.kind for one in self.deviations) or "on_path"
