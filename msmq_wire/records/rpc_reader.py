"""DCE/RPC connections in, records out: binds, calls with the messages they carried, faults.

The rule kept here: a connection gives records once an interface of MSMQ is seen on it, or is guessed; calls
of other interfaces are counted. Nothing that was captured is lost without being counted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from msmq_wire.records.com_records import com_record
from msmq_wire.records.open_queues import CallContext, OpenQueues
from msmq_wire.records.other_ports import UNKNOWN_CALLS
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_records import RpcPlace, frames_of, notes_of
from msmq_wire.records.stream_reader import FollowedConnection, StreamReader
from msmq_wire.rpc.association import Association
from msmq_wire.rpc.com.activation import GIVERS, PointerGiven, pointer_of, pointers_given
from msmq_wire.rpc.com.decoding import decode_com_call, follow_com_call, guess_com_call
from msmq_wire.rpc.com.orpc import MInterfacePointer
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES, ReceiveCurrentRequest, ReceiveCurrentResponse
from msmq_wire.rpc.com.variant import pointed_at
from msmq_wire.rpc.decoding import NDR64_SYNTAX, DecodedCall, decode_call, follow_guess, guess_call
from msmq_wire.rpc.events import (
    BindEvent,
    CallEvent,
    FaultEvent,
    RpcEvent,
    SkippedBytes,
)
from msmq_wire.rpc.interfaces import Interface, interface_name
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, Syntax
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.wire.types.guid import GUID

_OTHERS = "DCE/RPC calls of other interfaces: not decoded"
_UNDECIDED = 16
"""Calls, gaps and contexts that a connection keeps while it is not known whose it is."""
_SMALL = 1024
"""Bytes of a call that is kept so."""

_MOST_OBJECTS = 1 << 14


class _Connection(FollowedConnection):
    """One association and what is known of it."""

    __slots__ = ("association", "calls", "guesses", "msmq", "skipped")

    def __init__(self, negotiator: Negotiator | None) -> None:
        self.association = Association(negotiator=negotiator)
        super().__init__(self.association)
        self.msmq = False
        # Of presentation contexts whose bind was not captured: what one of their calls told.
        self.guesses: OrderedDict[int, tuple[Interface, Syntax]] = OrderedDict()
        # While it is not known whether this is MSMQ: calls too small to tell, and bytes in no PDU.
        self.calls: list[CallEvent] = []
        self.skipped: list[SkippedBytes] = []


class RpcReader(StreamReader[_Connection]):
    """Follows the DCE/RPC connections of a capture; ``negotiator`` makes what opens sealed calls."""

    PROTOCOL = "DCE/RPC"

    def __init__(self, *, negotiator: Negotiator | None = None, **basis: Any) -> None:
        super().__init__(**basis)
        self._negotiator = negotiator
        self._queues = OpenQueues()
        self._objects = _ComObjects()

    def _open(self) -> _Connection:
        return _Connection(self._negotiator)

    def _close(self, connection: _Connection) -> None:
        for _ in connection.calls:
            self._notice(UNKNOWN_CALLS)
        if connection.skipped:
            self._notice("DCE/RPC connections with bytes in no PDU: not decoded")

    def _records(self, stream: int, connection: _Connection, events: list[RpcEvent]) -> list[Record]:
        records: list[Record] = []
        flipped = connection.association.flipped
        client, server = self._names(stream, 1 if flipped else 0)
        place = RpcPlace(self._record, self._frames, stream, client, server)
        before: list[Record] = []
        for event in events:
            if isinstance(event, CallEvent):
                before = list(self._call(place, connection, event))
                records += before
            elif isinstance(event, FaultEvent):
                # It answers the call or the alter_context before it.
                if before:
                    records.append(place.fault(event, before[0].id))
            elif isinstance(event, BindEvent):
                before = list(self._bind(place, connection, event))
                records += before
            elif isinstance(event, SkippedBytes):
                if connection.msmq:
                    records.append(place.gap(event))
                elif len(connection.skipped) < _UNDECIDED:
                    connection.skipped.append(event)
            elif connection.msmq and event.note:
                self._notice(f"DCE/RPC: {event.note}")
        return records

    def _decide(self, place: RpcPlace, connection: _Connection) -> Iterator[Record]:
        """Take note that a connection is MSMQ's; give what waited for that."""
        if not connection.msmq:
            connection.msmq = True
            yield from (place.gap(event) for event in connection.skipped)
        waiting, connection.calls, connection.skipped = connection.calls, [], []
        for event in waiting:
            yield from self._call(place, connection, event)

    def _bind(self, place: RpcPlace, connection: _Connection, event: BindEvent) -> Iterator[Record]:
        if any(interface_name(context.interface.uuid) for context in event.contexts):
            yield from self._decide(place, connection)
        if not connection.msmq:
            return
        if event.note:
            self._notice(f"{place.client} to {place.server}: {event.note}")
        yield place.bind(event)

    def _call(self, place: RpcPlace, connection: _Connection, event: CallEvent) -> Iterator[Record]:
        uuid = None if event.interface is None else event.interface.uuid
        offer = connection.association.offered(event.context_id)
        asked = uuid or (None if offer is None else offer.uuid)
        on_object = self._on_object(connection, event, asked)
        if on_object is not None:
            yield from self._decide(place, connection)
            yield from self._com_call(place, connection, on_object)
            return
        if asked is not None and interface_name(asked) is None:
            self._objects.learn(event, asked, max(frames_of(event), default=0))
            self._notice(_OTHERS)
            return
        call: DecodedCall | None = decode_call(event)
        if uuid is None:
            call = self._guess(connection, event, asked)
            if call is not None and call.guessed:
                yield from self._decide(place, connection)
            elif not connection.msmq:
                if len(connection.calls) < _UNDECIDED and _size(event) <= _SMALL:
                    connection.calls.append(event)
                else:
                    self._notice(UNKNOWN_CALLS)
                return
        call = call or DecodedCall(event=event)
        self._tell(place, event)
        frames = frames_of(event)
        links = self._queues.take(place.server.rpartition(":")[0], call, max(frames, default=0))
        record = place.call(call, frames, links, connection.association.account)
        yield record
        yield from place.messages(call, record, links.queue)

    def _tell(self, place: RpcPlace, event: CallEvent) -> None:
        for note in notes_of(event):
            self._notice(f"{place.client} to {place.server}: {note}")

    def _on_object(self, connection: _Connection, event: CallEvent, asked: GUID | None) -> DecodedCall | None:
        """The call if it is on a queue object, or on an object that went through one; None for others."""
        known = self._objects.find(event)
        if asked is not None:
            followed = known is not None and known.followed and interface_name(asked) is None
            return decode_com_call(event, asked) if followed or asked in COM_INTERFACES else None
        if known is not None:
            return decode_com_call(event, known.iid) if known.followed else None
        reported = connection.guesses.get(event.context_id)
        if reported is not None:
            return follow_com_call(event, *reported) if reported[0].uuid in COM_INTERFACES else None
        call = guess_com_call(event)
        if call is not None and call.interface is not None and call.syntax is not None:
            self._remember(connection, event, call.interface, call.syntax)
        return call

    def _com_call(self, place: RpcPlace, connection: _Connection, call: DecodedCall) -> Iterator[Record]:
        event = call.event
        self._tell(place, event)
        known = self._objects.find(event)
        frames = frames_of(event)
        self._objects.take(call, max(frames, default=0))
        record = place.call(call, frames, CallContext(), connection.association.account)
        yield com_record(record, None if known is None else known.frame)

    def _guess(self, connection: _Connection, event: CallEvent, asked: GUID | None) -> DecodedCall | None:
        """What a call is whose context was not seen accepted, as what was asked or other calls tell."""
        known = connection.guesses.get(event.context_id)
        if known is not None:
            return follow_guess(event, *known)
        call = guess_call(event, asked)
        if call is not None and call.interface is not None and call.syntax is not None:
            self._remember(connection, event, call.interface, call.syntax)
        return call

    def _remember(
        self, connection: _Connection, event: CallEvent, interface: Interface, syntax: Syntax
    ) -> None:
        """Keep what a call told of its context."""
        connection.guesses[event.context_id] = interface, syntax
        if len(connection.guesses) > _UNDECIDED:
            connection.guesses.popitem(last=False)


def _size(event: CallEvent) -> int:
    return sum(len(stub.data) for stub in (event.request, event.response) if stub is not None)


class KnownObject(msgspec.Struct, frozen=True, gc=False):
    """An interface of an object: its IID, the frame that completed the call which gave it.

    ``followed`` says that the object is a queue, or went in or out of a method of one.
    """

    iid: GUID
    frame: int
    followed: bool = False


class _ComObjects:
    """Which interface of which object an IPID is, as the interface pointers of all connections tell.

    An IPID is unique, so neither address nor connection is asked. What is remembered is bounded.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[GUID, KnownObject] = OrderedDict()

    def find(self, event: CallEvent) -> KnownObject | None:
        """The object that a request names by its IPID; None where it is not known."""
        request = event.request
        if request is None or request.object_uuid is None:
            return None
        return self._known.get(request.object_uuid)

    def learn(self, event: CallEvent, iid: GUID, frame: int) -> None:
        """Take what a call of another interface gives: activation, QueryInterface, Open of a queue."""
        opnum, request, response = event.opnum, event.request, event.response
        if opnum is None or opnum not in GIVERS.get(iid, ()) or request is None or response is None:
            return
        if request.sealed or response.sealed or not response.complete:
            return
        wide = event.syntax is not None and event.syntax.uuid == NDR64_SYNTAX
        syntax = NDR64 if wide else NDR_BIG_ENDIAN if response.big_endian else NDR
        given = pointers_given(iid, opnum, request.data, response.data, syntax)
        self._remember(given, frame, followed=False)

    def take(self, call: DecodedCall, frame: int) -> None:
        """Take the interface pointers of a call on a queue object."""
        request = None if call.request is None else call.request.value
        response = None if call.response is None else call.response.value
        pointers = []
        if isinstance(request, ReceiveCurrentRequest):
            found = pointed_at(request.transaction)
            pointers.append(None if found is None else found[1])
        if isinstance(response, ReceiveCurrentResponse):
            pointers.append(response.ppmsg)
        given = [pointer_of(one) for one in pointers if isinstance(one, MInterfacePointer)]
        self._remember([one for one in given if one is not None], frame, followed=True)

    def _remember(self, given: Iterable[PointerGiven], frame: int, *, followed: bool) -> None:
        for ipid, iid, asked in given:
            before = self._known.get(asked)
            ours = followed or iid in COM_INTERFACES or (before is not None and before.followed)
            self._known[ipid] = KnownObject(iid, frame, ours)
            self._known.move_to_end(ipid)
            if len(self._known) > _MOST_OBJECTS:
                self._known.popitem(last=False)
