"""DCE/RPC connections in, records out: binds, calls with the messages they carried, faults.

The rule kept here: a connection gives records once an interface of MSMQ is seen on it, or is guessed; calls
of other interfaces are counted. Nothing that was captured is lost without being counted.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec

from msmq_wire.engines.codec import inspect
from msmq_wire.errors import DecodeError
from msmq_wire.reassembly.sections import join_sections
from msmq_wire.reassembly.tcp_events import Direction, Reason
from msmq_wire.records.open_queues import OpenQueues, read_descriptor
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcBind, RpcBindContext, RpcCall, RpcFault, TransferBuffer
from msmq_wire.rpc.association import Association
from msmq_wire.rpc.decoding import DecodedCall, decode_call, follow_guess, guess_call, syntax_name
from msmq_wire.rpc.events import (
    BindEvent,
    CallEvent,
    FaultEvent,
    RpcEvent,
    SkippedBytes,
    Stub,
)
from msmq_wire.rpc.interfaces import Interface, interface_name
from msmq_wire.rpc.ndr import Syntax
from msmq_wire.rpc.ndr.stub import InspectedStub
from msmq_wire.rpc.security import Negotiator
from msmq_wire.rpc.transfer_properties import MessageProperties, message_properties
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV2
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer

__all__ = ["RpcReader"]

_OTHERS = "DCE/RPC calls of other interfaces: not decoded"
_MAX_HELD = 1 << 26
"""Bytes held for calls that are not complete, all connections together."""
_MAX_NOTICES = 1000
_UNDECIDED = 16
_SMALL = 1024
_BUFFER_OVERFLOW = 0xC00E001A
"""The answer holds as much of the message as there was room for."""


class _NewRecord(Protocol):
    def __call__(self, *, time: int | None, **values: Any) -> Record: ...


class _Connection:
    """One association and what is known of it."""

    __slots__ = ("association", "calls", "guesses", "held", "msmq", "skipped")

    def __init__(self, negotiator: Negotiator | None) -> None:
        self.association = Association(negotiator=negotiator)
        self.msmq = False
        self.held = 0
        # Of presentation contexts whose bind was not captured: what one of their calls told.
        self.guesses: OrderedDict[int, tuple[Interface, Syntax]] = OrderedDict()
        # While it is not known whether this is MSMQ: calls too small to tell, and bytes in no PDU.
        self.calls: list[CallEvent] = []
        self.skipped: list[SkippedBytes] = []


class RpcReader:
    """Follows the DCE/RPC connections of a capture.

    ``record`` makes a record with the next id, ``names`` gives the texts for source and destination of a
    direction, ``frames`` the frames that carried what came as others; ``notices`` is counted into.
    """

    def __init__(
        self,
        *,
        record: _NewRecord,
        names: Callable[[int, int], tuple[str, str]],
        frames: Callable[[tuple[int, ...]], tuple[int, ...]],
        notices: Counter[str],
        negotiator: Negotiator | None = None,
    ) -> None:
        self._record = record
        self._names = names
        self._frames = frames
        self._notices = notices
        self._negotiator = negotiator
        self._connections: OrderedDict[int, _Connection] = OrderedDict()  # longest unfed first
        self._queues = OpenQueues()
        self._held = 0

    def feed(self, stream: int, direction: Direction, data: bytes, frame: int, time: int) -> list[Record]:
        """Take the next bytes of a direction."""
        connection = self._connection(stream)
        events = connection.association.feed(direction == 0, data, frame, time)
        return self._after(stream, connection, events)

    def gap(
        self, stream: int, direction: Direction, length: int | None, reason: Reason, frame: int, time: int
    ) -> list[Record]:
        """Take note of bytes of a direction that are missing."""
        connection = self._connection(stream)
        events = connection.association.gap(direction == 0, length, reason, frame, time)
        return self._after(stream, connection, events)

    def end(self, stream: int) -> list[Record]:
        """Return what a connection left open."""
        connection = self._connections.pop(stream, None)
        if connection is None:
            return []
        self._held -= connection.held
        records = self._records(stream, connection, connection.association.finish())
        for _ in connection.calls:
            self._notice(_OTHERS)
        if connection.skipped:
            self._notice("DCE/RPC connections with bytes in no PDU: not decoded")
        return records

    def finish(self) -> list[Record]:
        """Return what all connections left open."""
        return [record for stream in list(self._connections) for record in self.end(stream)]

    def _connection(self, stream: int) -> _Connection:
        connection = self._connections.get(stream)
        if connection is None:
            connection = self._connections[stream] = _Connection(self._negotiator)
        else:
            self._connections.move_to_end(stream)
        return connection

    def _after(self, stream: int, connection: _Connection, events: list[RpcEvent]) -> list[Record]:
        held = connection.association.held_bytes
        self._held += held - connection.held
        connection.held = held
        records = self._records(stream, connection, events) if events else []
        while self._held > _MAX_HELD:
            self._notice("DCE/RPC connections given up: too much is open at once")
            records += self.end(next(iter(self._connections)))
        return records

    def _records(self, stream: int, connection: _Connection, events: list[RpcEvent]) -> list[Record]:
        records: list[Record] = []
        flipped = connection.association.flipped
        client, server = self._names(stream, 1 if flipped else 0)
        place = _Place(self, stream, client, server)
        before: list[Record] = []
        for event in events:
            if isinstance(event, CallEvent):
                before = list(self._call(place, connection, event))
                records += before
            elif isinstance(event, FaultEvent):
                # It answers the call or the alter_context before it.
                if before:
                    records.append(self._fault(place, event, before[0].id))
            elif isinstance(event, BindEvent):
                before = list(self._bind(place, connection, event))
                records += before
            elif isinstance(event, SkippedBytes):
                if connection.msmq:
                    records.append(self._gap(place, event))
                elif len(connection.skipped) < _UNDECIDED:
                    connection.skipped.append(event)
            elif connection.msmq and event.note:
                self._notice(f"DCE/RPC: {event.note}")
        return records

    def _notice(self, text: str) -> None:
        if text not in self._notices and len(self._notices) >= _MAX_NOTICES:
            text = "other notes"
        self._notices[text] += 1

    def _decide(self, place: _Place, connection: _Connection) -> Iterator[Record]:
        """Take note that a connection is MSMQ's; give what waited for that."""
        if not connection.msmq:
            connection.msmq = True
            yield from (self._gap(place, event) for event in connection.skipped)
        waiting, connection.calls, connection.skipped = connection.calls, [], []
        for event in waiting:
            yield from self._call(place, connection, event)

    def _bind(self, place: _Place, connection: _Connection, event: BindEvent) -> Iterator[Record]:
        if any(interface_name(context.interface.uuid) for context in event.contexts):
            yield from self._decide(place, connection)
        if not connection.msmq:
            return
        if event.note:
            self._notice(f"{place.client} to {place.server}: {event.note}")
        contexts = tuple(
            RpcBindContext(
                context_id=context.context_id,
                interface=interface_name(context.interface.uuid) or str(context.interface.uuid),
                version=f"{context.interface.major}.{context.interface.minor}",
                transfer_syntaxes=tuple(
                    syntax_name(syntax) or str(syntax.uuid) for syntax in context.transfer_syntaxes
                ),
                result=context.result,
                reason=context.reason,
                accepted=syntax_name(context.accepted),
            )
            for context in event.contexts
        )
        packet = RpcBind(
            call_id=event.call_id,
            alter_context=event.alter,
            answered=event.answered,
            nak_reason=event.nak_reason,
            contexts=contexts,
            auth_type=event.auth_type,
            auth_level=event.auth_level,
            header_signing=event.header_signing,
            account=event.account,
            note=event.note,
            max_xmit_frag=event.max_xmit_frag,
            max_recv_frag=event.max_recv_frag,
            association_group=event.association_group,
            secondary_address=event.secondary_address,
        )
        yield place.record("rpc_bind", event, packet, consumed=event.length)

    def _call(self, place: _Place, connection: _Connection, event: CallEvent) -> Iterator[Record]:
        uuid = None if event.interface is None else event.interface.uuid
        offer = connection.association.offered(event.context_id)
        asked = uuid or (None if offer is None else offer.uuid)
        if asked is not None and interface_name(asked) is None:
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
                    self._notice(_OTHERS)
                return
        yield from self._call_records(place, call or DecodedCall(event=event), connection.association.account)

    def _guess(self, connection: _Connection, event: CallEvent, asked: GUID | None) -> DecodedCall | None:
        """What a call is whose context was not seen accepted, as what was asked or other calls tell."""
        known = connection.guesses.get(event.context_id)
        if known is not None:
            return follow_guess(event, *known)
        call = guess_call(event, asked)
        if call is not None and call.interface is not None and call.syntax is not None:
            connection.guesses[event.context_id] = call.interface, call.syntax
            if len(connection.guesses) > _UNDECIDED:
                connection.guesses.popitem(last=False)
        return call

    def _call_records(self, place: _Place, call: DecodedCall, account: str) -> Iterator[Record]:
        event = call.event
        request, response = event.request, event.response
        last = response or event.fault or request
        frames = tuple(
            dict.fromkeys(
                frame
                for part in (request, response, event.fault)
                if part is not None
                for frame in part.frames
            )
        )
        links = self._queues.take(place.server.rpartition(":")[0], call, max(frames, default=0))
        stubs = [stub for stub in (request, response) if stub is not None]
        for note in dict.fromkeys(stub.note for stub in stubs if stub.note):
            self._notice(f"{place.client} to {place.server}: {note}")
        uuid = None if event.interface is None else event.interface.uuid
        named = call.interface.name if call.interface else interface_name(uuid) if uuid else None
        syntax = call.syntax.name if call.syntax else syntax_name(event.syntax)
        packet = RpcCall(
            interface=named or "unknown",
            opnum=event.opnum,
            method=None if call.method is None else call.method.name,
            syntax=syntax,
            request=None if call.request is None else call.request.value,
            response=None if call.response is None else call.response.value,
            status=call.status,
            fault=event.fault is not None,
            queue=links.queue,
            request_id=links.request_id,
            opened_frame=links.opened_frame,
            started_frame=links.started_frame,
            latency=_latency(request, response or event.fault),
            call_id=event.call_id,
            context_id=event.context_id,
            guessed=call.guessed,
            sealed=any(stub.sealed for stub in stubs),
            verified=_verified(stubs),
            auth_level=max((stub.auth_level for stub in stubs), default=1),
            account=account,
            object_uuid=None if request is None else request.object_uuid,
            verification_trailer=b"" if request is None else request.trailer,
            cancelled=event.cancelled,
            orphaned=event.orphaned,
            complete=all(stub.complete for stub in stubs),
            note="; ".join(dict.fromkeys(stub.note for stub in stubs if stub.note)),
        )
        anomalies = (*_anomalies("request", call.request), *_anomalies("response", call.response))
        length = sum(part.length for part in (request, response, event.fault) if part is not None)
        record = self._record(
            type="rpc_call",
            frames=self._frames(frames),
            time=last.time if last is not None else None,
            src=place.client,
            dst=place.server,
            stream=place.stream,
            offset=(request or response or event.fault).offset if last is not None else 0,  # type: ignore[union-attr]  # one is there
            length=length,
            packet=packet,
            anomalies=anomalies,
            consumed=length,
            error=_error("request", call.request) or _error("response", call.response),
        )
        yield record
        yield from self._messages(place, call, record, links.queue)

    def _messages(
        self, place: _Place, call: DecodedCall, parent: Record, queue: str | None
    ) -> Iterator[Record]:
        """What a call carried: a message packet, or the properties of a message."""
        request = None if call.request is None else call.request.value
        response = None if call.response is None else call.response.value
        answer = call.event.response
        sections = getattr(response, "pp_packet_sections", None)
        if answer is not None and isinstance(sections, tuple) and sections:
            yield self._sections(place, sections, answer, parent)
        descriptor = read_descriptor(response)
        packet = None if descriptor is None else descriptor.lp_buffer
        if answer is not None and isinstance(packet, bytes) and packet:
            yield self._packet(place, packet, (), (), answer, parent)
        for value, stub, sent in ((request, call.event.request, True), (response, answer, False)):
            buffer = getattr(value, "ptb", None)
            if not isinstance(buffer, CACTransferBufferV2) or stub is None:
                continue
            filled = sent == (buffer.old.u_transfer_type == 0)
            if not sent and call.status and call.status != _BUFFER_OVERFLOW:
                filled = False
            properties = message_properties(buffer, filled=filled)
            if properties != MessageProperties():
                yield self._record(
                    type="transfer_buffer",
                    parent=parent.id,
                    frames=self._frames(stub.frames),
                    time=stub.time,
                    src=place.client if sent else place.server,
                    dst=place.server if sent else place.client,
                    stream=place.stream,
                    offset=stub.offset,
                    length=stub.length,
                    packet=TransferBuffer(queue=queue, properties=properties),
                    consumed=stub.length,
                )

    def _sections(self, place: _Place, sections: tuple[Any, ...], answer: Stub, parent: Record) -> Record:
        whole = tuple(
            one for one in sections if isinstance(one, SectionBuffer) and isinstance(one.data, bytes)
        )
        try:
            joined = join_sections(whole)
        except DecodeError as error:
            data = b"".join(one.data for one in whole)
            return self._packet(place, data, (), (), answer, parent, error=error)
        return self._packet(place, joined.data, joined.missing, joined.problems, answer, parent)

    def _packet(
        self,
        place: _Place,
        data: bytes,
        missing: tuple[tuple[int, int], ...],
        problems: tuple[Anomaly, ...],
        answer: Stub,
        parent: Record,
        *,
        error: DecodeError | None = None,
    ) -> Record:
        result = inspect(data, as_="message_packet", missing=missing)
        return self._record(
            type="message_packet",
            parent=parent.id,
            frames=self._frames(answer.frames),
            time=answer.time,
            src=place.server,
            dst=place.client,
            stream=place.stream,
            offset=answer.offset,
            length=len(data),
            packet=result.packet,
            anomalies=(*problems, *result.anomalies),
            consumed=result.consumed,
            remainder=result.remainder,
            error=result.error or error,
        )

    def _fault(self, place: _Place, event: FaultEvent, call: int) -> Record:
        packet = RpcFault(
            call_id=event.call_id, status=event.status, flags=event.flags, cancel_count=event.cancel_count
        )
        return place.record("rpc_fault", event, packet, consumed=event.length, parent=call, back=True)

    def _gap(self, place: _Place, event: SkippedBytes) -> Record:
        captured = 0 if event.missing else event.length or 0
        src, dst = (place.client, place.server) if event.from_client else (place.server, place.client)
        return self._record(
            type="gap",
            frames=self._frames(event.frames),
            time=event.time,
            src=src,
            dst=dst,
            stream=place.stream,
            offset=event.offset,
            length=captured,
            remainder=event.data,
            missing=event.length if event.missing else 0,
            reason=event.reason,
        )


class _Place(msgspec.Struct, frozen=True):
    """Where the events of a connection belong."""

    reader: RpcReader
    stream: int
    client: str
    server: str

    def record(
        self,
        type_: str,
        event: BindEvent | FaultEvent,
        packet: Any,
        *,
        consumed: int,
        parent: int | None = None,
        back: bool = False,
    ) -> Record:
        """The record of one event; ``back``: the server sent it."""
        src, dst = (self.server, self.client) if back else (self.client, self.server)
        return self.reader._record(
            type=type_,
            parent=parent,
            frames=self.reader._frames(event.frames),
            time=event.time,
            src=src,
            dst=dst,
            stream=self.stream,
            offset=event.offset,
            length=event.length,
            packet=packet,
            consumed=consumed,
        )


def _verified(stubs: list[Stub]) -> bool | None:
    judged = [stub.verified for stub in stubs if stub.verified is not None]
    return all(judged) if judged else None


def _size(event: CallEvent) -> int:
    return sum(len(stub.data) for stub in (event.request, event.response) if stub is not None)


def _latency(request: Stub | None, answer: Stub | FaultEvent | None) -> int | None:
    if request is None or answer is None or not request.time or not answer.time:
        return None
    # A capture of two clocks, or out of order, tells nothing.
    return answer.time - request.time if answer.time >= request.time else None


def _anomalies(side: str, stub: InspectedStub | None) -> Iterator[Anomaly]:
    if stub is None:
        return
    for anomaly in stub.anomalies:
        yield msgspec.structs.replace(anomaly, path=f"{side}.{anomaly.path}" if anomaly.path else side)


def _error(side: str, stub: InspectedStub | None) -> DecodeError | None:
    if stub is None or stub.error is None:
        return None
    error = stub.error
    path = f"{side}.{error.path}" if error.path else side
    return DecodeError(error.code, error.message, path=path, offset=error.offset, spec=error.spec)
