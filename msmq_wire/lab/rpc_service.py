"""What the connections of a DCE/RPC server share: interfaces, associations, bounds on what all of them hold.

The rules kept here: a context handle belongs to an association, that to its connections, and when the last of
them is gone the servers let go of all that it held ([MS-RPCE] 3.3.1.4.1, 3.3.1.5.7). Whoever holds most pays
for what is held in all.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.connection_table import ConnectionTable, TrackedConnection
from msmq_wire.lab.faults import ConnectionFaults, FaultPlan
from msmq_wire.lab.log import LabLog
from msmq_wire.lab.model.interface_server import ClientAssociation, InterfaceServer
from msmq_wire.lab.rpc_fragments import MAX_FRAGMENT
from msmq_wire.rpc.ndr import NDR64, Syntax
from msmq_wire.wire.types.guid import GUID


class RpcLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What clients may take; who wants more is refused, or loses the connection.

    ``calls`` are those in progress on all ``connections`` together, ``handles`` the context handles of one
    association and ``all_handles`` those of all, ``contexts`` the presentation contexts of one connection.
    ``request_bytes`` are those of the stub of one request, ``held_bytes`` those of requests that are not
    whole and of answers that are not read, of all connections together. Seconds: ``bind_seconds`` until the
    bind, ``idle_seconds`` without a call and without a byte, ``stalled_seconds`` for which a client does not
    read what it asked for. ``fragment`` is the size of a PDU, sent or received.
    """

    connections: int = 1000
    calls: int = 10_000
    handles: int = 2048
    all_handles: int = 8192
    contexts: int = 256
    request_bytes: int = 8 << 20
    held_bytes: int = 64 << 20
    bind_seconds: float = 30.0
    idle_seconds: float = 900.0
    stalled_seconds: float = 60.0
    fragment: int = MAX_FRAGMENT


class Holder(TrackedConnection, Protocol):
    """A connection, as far as its service knows it."""

    closed: asyncio.Future[None]

    def retire(self) -> None:
        """Tell the client to go, and close the connection."""

    def check(self, now: float) -> None:
        """Break the connection off if it took too long until ``now``, by the loop's clock."""


class _Group(msgspec.Struct, eq=False):
    association: ClientAssociation
    address: str
    holders: list[Holder] = []


class RpcService:
    """Interfaces that are served, and their clients; arguments as for `RpcServer`.

    Each change of the model happens inside ``event()``.
    """

    def __init__(
        self,
        servers: Sequence[InterfaceServer],
        *,
        limits: RpcLimits,
        clock: LoopClock | None = None,
        capture: CaptureWriter | None = None,
        faults: FaultPlan | None = None,
        seed: int = 0,
        preferred: Syntax = NDR64,
        log: LabLog,
    ) -> None:
        self.servers: dict[GUID, InterfaceServer] = {server.INTERFACE.uuid: server for server in servers}
        self.known = {uuid: server.INTERFACE.major for uuid, server in self.servers.items()}
        self.limits = limits
        self.capture = capture
        self.preferred = preferred
        self.calls = 0
        self.log = log
        self._clock = clock
        self._faults = faults
        self._seed = seed
        self._groups: dict[int, _Group] = {}
        self._last_group = 0
        self._last_connection = 0
        self.connections: ConnectionTable[Holder] = ConnectionTable(limits.connections, limits.held_bytes)

    def event(self) -> AbstractContextManager[None]:
        """What surrounds whatever changes the model."""
        return contextlib.nullcontext() if self._clock is None else self._clock.event()

    def faults(self) -> ConnectionFaults | None:
        """The faults of the next connection."""
        self._last_connection += 1
        return None if self._faults is None else self._faults.connection(self._seed, self._last_connection)

    def room_for_handle(self, association: ClientAssociation) -> bool:
        """Whether an association may have one more context handle.

        Where all have too many, the association that has most loses its connections, unless it is this one.
        """
        if len(association.handles) >= self.limits.handles:
            return False
        if sum(len(one.association.handles) for one in self._groups.values()) < self.limits.all_handles:
            return True
        largest = max(self._groups.values(), key=lambda one: len(one.association.handles))
        if largest.association is association:
            return False
        for holder in tuple(largest.holders):
            holder.drop()
        return True

    def join(self, number: int, address: str, holder: Holder) -> ClientAssociation | None:
        """The association that a bind names, a new one for 0; None where ``address`` may not join it."""
        if not number:
            self._last_group += 1
            group = _Group(ClientAssociation(number=self._last_group), address)
            self._groups[self._last_group] = group
        else:
            found = self._groups.get(number)
            if found is None or found.address != address:
                return None
            group = found
        group.holders.append(holder)
        return group.association

    def part(self, association: ClientAssociation, holder: Holder) -> None:
        """A connection of an association is gone."""
        group = self._groups[association.number]
        group.holders.remove(holder)
        if not group.holders:
            del self._groups[association.number]
            with self.event():
                for server in self.servers.values():
                    server.rundown(association)
