# SPDX-License-Identifier: GPL-2.0-or-later
"""The stubs of DCE/RPC connections as scapy packets, put together by msmq_wire, not by scapy's RPC engine.

The rule kept here: fragments, presentation contexts and security are those of `Association`; a call whose
interface is not MSMQ's gives nothing. Memory is bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from scapy.layers.dcerpc import DceRpc5, DceRpc5Request, DceRpc5Response

from msmq_scapy.stubs import MSMQStub, stub_class
from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import (
    Endpoints,
    StreamBytes,
    StreamEvent,
    StreamGap,
    TcpEvent,
    TcpSegment,
)
from msmq_wire.records.endpoint import endpoint
from msmq_wire.records.recognition import recognise
from msmq_wire.rpc.association import Association
from msmq_wire.rpc.decoding import decode_call
from msmq_wire.rpc.events import CallEvent, Stub
from msmq_wire.rpc.interfaces.method import Side
from msmq_wire.rpc.pdu_protection import Negotiator

__all__ = ["CallFollower", "FoundStub"]

_MOST_CONNECTIONS = 1024
_MOST_HELD = 1 << 22
"""Bytes held for the open calls of one connection."""
_MOST_IN_ALL = 1 << 26

FoundStub = tuple[str, str, int, Any]
"""Source, destination, time in nanoseconds, and the DCE/RPC layers."""


class CallFollower:
    """Feed TCP segments in capture order; take the requests and responses that they complete."""

    def __init__(self, negotiator: Negotiator | None = None) -> None:
        self._negotiator = negotiator
        self._tcp = TcpReassembler(max_connections=_MOST_CONNECTIONS, server_ports=())
        self._known: OrderedDict[Endpoints, None] = OrderedDict()
        self._associations: OrderedDict[int, Association] = OrderedDict()
        self._ends: dict[int, Endpoints] = {}

    def feed(self, segment: TcpSegment) -> list[FoundStub]:
        """Take a segment; those of connections that carry no DCE/RPC are left out."""
        key = (segment.src, segment.sport, segment.dst, segment.dport)
        reverse = (segment.dst, segment.dport, segment.src, segment.sport)
        if key not in self._known and reverse not in self._known:
            if recognise(segment.payload, segment.dport) != "rpc":
                return []
            self._known[key] = None
            if len(self._known) > _MOST_CONNECTIONS:
                self._known.popitem(last=False)
        return self._taken(self._tcp.feed(segment))

    def finish(self) -> list[FoundStub]:
        """Return what was left open."""
        found = self._taken(self._tcp.finish())
        for stream in list(self._associations):
            found += self._end(stream)
        return found

    def _taken(self, events: list[TcpEvent]) -> list[FoundStub]:
        found: list[FoundStub] = []
        for event in events:
            if isinstance(event, StreamBytes):
                association = self._association(event.stream)
                reported = association.feed(event.direction == 0, event.data, event.frame, event.time)
                found += self._stubs(event.stream, association, reported)
            elif isinstance(event, StreamGap):
                association = self._association(event.stream)
                reported = association.gap(
                    event.direction == 0, event.length, event.reason, event.frame, event.time, event.since
                )
                found += self._stubs(event.stream, association, reported)
            elif isinstance(event, StreamEvent) and event.kind in ("closed", "evicted"):
                found += self._end(event.stream)
        while sum(one.held_bytes for one in self._associations.values()) > _MOST_IN_ALL:
            found += self._end(next(iter(self._associations)))
        return found

    def _association(self, stream: int) -> Association:
        association = self._associations.get(stream)
        if association is None:
            association = Association(negotiator=self._negotiator, max_held=_MOST_HELD)
            self._associations[stream] = association
            self._ends[stream] = self._tcp.connection(stream)
        self._associations.move_to_end(stream)
        return association

    def _end(self, stream: int) -> list[FoundStub]:
        association = self._associations.pop(stream, None)
        if association is None:
            return []
        found = list(self._stubs(stream, association, association.finish()))
        del self._ends[stream]
        return found

    def _stubs(self, stream: int, association: Association, events: list[Any]) -> Iterator[FoundStub]:
        src, sport, dst, dport = self._ends[stream]
        client, server = endpoint(src, sport), endpoint(dst, dport)
        if association.flipped:
            client, server = server, client
        for event in events:
            if not isinstance(event, CallEvent):
                continue
            for side, stub in (("request", event.request), ("response", event.response)):
                layers = _layers(event, side, stub)
                if layers is not None and stub is not None:
                    places = (client, server) if side == "request" else (server, client)
                    yield *places, stub.time, layers


def _layers(event: CallEvent, side: Any, stub: Stub | None) -> Any:
    """A stub under the DCE/RPC layers that one PDU would have; None where it cannot be read."""
    call = decode_call(event)
    found = call.request if side == "request" else call.response
    if stub is None or found is None or call.method is None or call.syntax is None:
        return None
    header: Any = (
        DceRpc5Request(cont_id=event.context_id, opnum=call.method.opnum)
        if side == "request"
        else DceRpc5Response(cont_id=event.context_id)
    )
    parameters = _stub(call.method.name, side, stub, call.syntax.wide)
    return DceRpc5(call_id=event.call_id) / header / parameters


def _stub(method: str, side: Side, stub: Stub, wide: bool) -> MSMQStub:
    cls = stub_class(method, side)
    order = "big" if stub.big_endian else "little"
    # Without bytes a scapy packet is one to be crafted.
    return cls(stub.data, ndr64=wide, ndrendian=order)
