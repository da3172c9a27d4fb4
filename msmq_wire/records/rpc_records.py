"""The records of DCE/RPC: what a bind, a call, the message that it carried, a fault or a gap looks like.

The rule kept here: nothing is decided and nothing is remembered; an event goes in, its records come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from msmq_wire.engines.codec import inspect
from msmq_wire.errors import DecodeError
from msmq_wire.reassembly.sections import join_sections
from msmq_wire.records.open_queues import CallContext
from msmq_wire.records.record import NewRecord, Record
from msmq_wire.records.rpc_packets import RpcBind, RpcBindContext, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.stored_srmp import stored_message
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.decoding import DecodedCall, syntax_name
from msmq_wire.rpc.events import BindEvent, CallEvent, FaultEvent, SkippedBytes, Stub
from msmq_wire.rpc.interfaces import interface_name
from msmq_wire.rpc.ndr.stub import InspectedStub
from msmq_wire.rpc.transfer_properties import MessageProperties, message_properties
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV2
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.partial import reached_at
from msmq_wire.wire.types.section_buffer import SectionBuffer

_ACTIONS = frozenset(ReceiveAction)
_BUFFER_OVERFLOW = 0xC00E001A
"""The answer holds as much of the message as there was room for."""


class RpcPlace:
    """A connection as its records name it; ``frames`` gives the frames that carried what came as others."""

    __slots__ = ("_frames", "_record", "client", "server", "stream")

    def __init__(
        self,
        record: NewRecord,
        frames: Callable[[tuple[int, ...]], tuple[int, ...]],
        stream: int,
        client: str,
        server: str,
    ) -> None:
        self._record = record
        self._frames = frames
        self.stream = stream
        self.client = client
        self.server = server

    def bind(self, event: BindEvent) -> Record:
        """The record of a bind or alter_context with its answer."""
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
        return self._of("rpc_bind", event, packet)

    def call(self, call: DecodedCall, frames: tuple[int, ...], links: CallContext, account: str) -> Record:
        """The record of a call that ``frames`` carried; ``account`` is whom the client says it is."""
        event = call.event
        request, response = event.request, event.response
        last = response or event.fault or request
        stubs = [stub for stub in (request, response) if stub is not None]
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
            columns=links.columns,
            opened_frame=links.opened_frame,
            started_frame=links.started_frame,
            latency=_latency(request, response or event.fault),
            call_id=event.call_id,
            context_id=event.context_id,
            callback=event.callback,
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
            note="; ".join(notes_of(event)),
        )
        anomalies = (*_anomalies("request", call.request), *_anomalies("response", call.response))
        length = sum(part.length for part in (request, response, event.fault) if part is not None)
        return self._record(
            type="rpc_call",
            frames=self._frames(frames),
            time=last.time if last is not None else None,
            src=self.server if event.callback else self.client,
            dst=self.client if event.callback else self.server,
            stream=self.stream,
            offset=(request or response or event.fault).offset if last is not None else 0,  # type: ignore[union-attr]  # one is there
            length=length,
            packet=packet,
            anomalies=anomalies,
            consumed=length,
            error=_error("request", call.request) or _error("response", call.response),
        )

    def messages(self, call: DecodedCall, parent: Record, queue: str | None) -> Iterator[Record]:
        """What a call carried: a message packet, a UserMessage packet, or the properties of a message."""
        request = None if call.request is None else call.request.value
        response = None if call.response is None else call.response.value
        answer = call.event.response
        carried = reached_at(response, parent.packet.members.message)
        if answer is not None and isinstance(carried, tuple) and carried:
            yield from self._sections(carried, answer, parent)
        elif answer is not None and isinstance(carried, bytes) and carried:
            # [MS-MQQP] 2.2.2.1: it is no packet of RemoteRead, whose times and addresses mean something else.
            yield from self._packet("user_message", carried, (), (), answer, parent)
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
                    src=self.client if sent else self.server,
                    dst=self.server if sent else self.client,
                    stream=self.stream,
                    offset=stub.offset,
                    length=stub.length,
                    how=None if sent else _how(parent),
                    packet=TransferBuffer(queue=queue, properties=properties),
                    consumed=stub.length,
                )

    def _sections(self, sections: tuple[Any, ...], answer: Stub, parent: Record) -> Iterator[Record]:
        whole = tuple(
            one for one in sections if isinstance(one, SectionBuffer) and isinstance(one.data, bytes)
        )
        try:
            joined = join_sections(whole)
        except DecodeError as error:
            data = b"".join(one.data for one in whole)
            return self._packet("message_packet", data, (), (), answer, parent, error=error)
        return self._packet("message_packet", joined.data, joined.missing, joined.problems, answer, parent)

    def _packet(
        self,
        kind: Literal["message_packet", "user_message"],
        data: bytes,
        missing: tuple[tuple[int, int], ...],
        problems: tuple[Anomaly, ...],
        answer: Stub,
        parent: Record,
        *,
        error: DecodeError | None = None,
    ) -> Iterator[Record]:
        """A packet that a call carried, and the SRMP message in it."""
        result = inspect(data, as_=kind, missing=missing)
        reported, stored = stored_message(result.packet)
        record = self._record(
            type=kind,
            parent=parent.id,
            frames=self._frames(answer.frames),
            time=answer.time,
            src=self.server,
            dst=self.client,
            stream=self.stream,
            offset=answer.offset,
            length=len(data),
            how=_how(parent),
            packet=result.packet,
            anomalies=(*problems, *result.anomalies, *reported),
            consumed=result.consumed,
            remainder=result.remainder,
            error=result.error or error,
        )
        yield record
        if stored is not None:
            yield stored.record(self._record, record)

    def fault(self, event: FaultEvent, parent: int) -> Record:
        """The record of a fault that answers the record ``parent``."""
        packet = RpcFault(
            call_id=event.call_id, status=event.status, flags=event.flags, cancel_count=event.cancel_count
        )
        return self._of("rpc_fault", event, packet, parent=parent, back=True)

    def gap(self, event: SkippedBytes) -> Record:
        """The record of bytes that are in no PDU."""
        captured = 0 if event.missing else event.length or 0
        src, dst = (self.client, self.server) if event.from_client else (self.server, self.client)
        return self._record(
            type="gap",
            frames=self._frames(event.frames),
            time=event.time,
            src=src,
            dst=dst,
            stream=self.stream,
            offset=event.offset,
            length=captured,
            remainder=event.data,
            missing=event.length if event.missing else 0,
            reason=event.reason,
        )

    def _of(
        self,
        type_: str,
        event: BindEvent | FaultEvent,
        packet: RpcBind | RpcFault,
        *,
        parent: int | None = None,
        back: bool = False,
    ) -> Record:
        """The record of one event; ``back``: the server sent it."""
        src, dst = (self.server, self.client) if back else (self.client, self.server)
        return self._record(
            type=type_,
            parent=parent,
            frames=self._frames(event.frames),
            time=event.time,
            src=src,
            dst=dst,
            stream=self.stream,
            offset=event.offset,
            length=event.length,
            packet=packet,
            consumed=event.length,
        )


def _how(parent: Record) -> Literal["received", "peeked", "read"]:
    """Whether a call asked for its message, or for a look at it."""
    call = parent.packet
    action = call.asked(call.members.action)
    if action not in _ACTIONS:
        return "read"
    return "received" if ReceiveAction(action).removes else "peeked"


def frames_of(event: CallEvent) -> tuple[int, ...]:
    """The distinct frames that carried a call, those of the request first."""
    parts = (event.request, event.response, event.fault)
    return tuple(dict.fromkeys([frame for part in parts if part is not None for frame in part.frames]))


def notes_of(event: CallEvent) -> tuple[str, ...]:
    """What the PDU layer says of the stubs of a call."""
    stubs = (event.request, event.response)
    return tuple(dict.fromkeys([stub.note for stub in stubs if stub is not None and stub.note]))


def _verified(stubs: list[Stub]) -> bool | None:
    judged = [stub.verified for stub in stubs if stub.verified is not None]
    return all(judged) if judged else None


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
