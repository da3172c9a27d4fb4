"""`ObservedHop` and its `Deviation`s: the result of an audit, as plain frozen values."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from msmq_wire.spec import SpecRef
from msmq_wire.wire.private import ENDPOINT, FILE, HOST, PUBLIC, Private
from msmq_wire.wire.types.guid import GUID


class Sighting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message on its way between two hosts, as a record or a row of a table has it.

    ``record``, ``frames``, ``time``, ``src``, ``dst`` and ``stream`` are those of the record. ``message_id``
    is the number that ``source_queue_manager`` gave it. ``queue_manager_address`` is the destination, None
    for a direct format name, which is not routed. ``hops`` is UserHeader RC, the routing servers passed.
    """

    record: int
    capture: Annotated[str, FILE] = ""
    frames: tuple[int, ...] = ()
    time: int | None = None
    src: Annotated[str, ENDPOINT] = ""
    dst: Annotated[str, ENDPOINT] = ""
    stream: int | None = None
    source_queue_manager: Annotated[GUID, HOST]
    message_id: int
    queue_manager_address: Annotated[GUID | None, HOST]
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

    kind: Annotated[DeviationKind, PUBLIC]
    message: Annotated[str, Private("host", "sentence")]
    spec: SpecRef


class ObservedHop(msgspec.Struct, frozen=True, kw_only=True):
    """A hop, compared with the prediction.

    ``source`` and ``target`` are the queue managers at its ends, None if the capture does not show them.
    ``expected`` are the queue managers that the sender may choose. ``reason`` says why the hop could not be
    judged, None if it was. A judged hop without ``deviations`` is on a possible route.

    ``told_by`` is the queue manager that tells the hop in a report message, which the sighting is that of;
    None for a hop that was observed.
    """

    sighting: Sighting
    source: Annotated[GUID | None, HOST] = None
    target: Annotated[GUID | None, HOST] = None
    expected: Annotated[tuple[GUID, ...], HOST] = ()
    deviations: tuple[Deviation, ...] = ()
    reason: Annotated[str | None, Private("host", "without_guids")] = None
    told_by: Annotated[GUID | None, HOST] = None

    @property
    def verdict(self) -> str:
        """``on_path``, ``not_judged``, or the kinds of its deviations with commas between them."""
        if self.reason is not None:
            return "not_judged"
        return ", ".join(one.kind for one in self.deviations) or "on_path"
