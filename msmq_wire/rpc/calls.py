"""The open calls of one association: fragments joined to stubs, requests paired with what answers them.

The rules kept here:

* A call is known by its call id and the side that sent the request; a callback has the call id of the call it
  runs in and comes from the other side.
* A stub is complete when a first and a last fragment were seen, none was cut, and no bytes were lost between
  them. What is held is bounded: the oldest call is given as it is when there are too many calls or bytes.
* Joining takes time linear in the bytes; nothing is believed of alloc_hint.
"""

from __future__ import annotations

import msgspec

from msmq_wire.rpc.events import CallEvent, FaultEvent, RpcEvent, Stub, SyntaxId
from msmq_wire.rpc.pdu_framer import FramedPdu
from msmq_wire.rpc.pdu_values import PFC_FIRST_FRAG, PFC_LAST_FRAG, Fault, Request, Response
from msmq_wire.rpc.verification_trailer import split_verification_trailer
from msmq_wire.wire.types.guid import GUID

__all__ = ["MAX_CALLS", "Calls", "OpenedStub", "fault_event"]

MAX_CALLS = 4096
"""Calls that may be open at once; the oldest is given without a response when there are more."""
_CALL_COST = 512
_FRAGMENT_COST = 128
_FRAME_COST = 40


class OpenedStub(msgspec.Struct, frozen=True, gc=False):
    """The stub of one PDU after the security context: ``data`` without padding, or sealed with it."""

    data: bytes
    sealed: bool = False
    verified: bool | None = None
    auth_level: int = 1
    note: str = ""


def fault_event(pdu: Fault, framed: FramedPdu) -> FaultEvent:
    """Return the event of a fault PDU."""
    return FaultEvent(
        call_id=pdu.call_id,
        status=pdu.status,
        flags=pdu.pfc_flags,
        cancel_count=pdu.cancel_count,
        frames=framed.frames,
        time=framed.time,
        offset=framed.offset,
        length=len(framed.data),
    )


class _Join:
    """The fragments of one stub so far."""

    __slots__ = (
        "auth_level",
        "big_endian",
        "chunks",
        "complete",
        "cost",
        "frames",
        "last_frame",
        "length",
        "losses",
        "note",
        "object_uuid",
        "offset",
        "sealed",
        "time",
        "unjudged",
        "verified",
    )

    def __init__(self, first: bool, framed: FramedPdu, losses: int) -> None:
        self.chunks: list[bytes] = []
        self.complete = first
        self.sealed = self.unjudged = False
        self.verified: bool | None = None
        self.auth_level = 1
        self.big_endian = False
        self.object_uuid: GUID | None = None
        self.note = ""
        self.frames: list[int] = []
        self.last_frame = -1
        self.time = 0
        self.offset = framed.offset
        self.length = 0
        self.losses = losses
        self.cost = 0

    def add(self, pdu: Request | Response, opened: OpenedStub, framed: FramedPdu) -> int:
        """Take a fragment; return what it costs to hold it."""
        self.chunks.append(opened.data)
        self.complete = self.complete and framed.complete
        self.sealed = self.sealed or opened.sealed
        if opened.verified is None:
            self.unjudged = True
        elif self.verified is not False:
            self.verified = opened.verified
        self.auth_level = max(self.auth_level, opened.auth_level)
        self.big_endian = pdu.big_endian
        if isinstance(pdu, Request) and pdu.object_uuid is not None:
            self.object_uuid = pdu.object_uuid
        self.note = self.note or opened.note
        for frame in framed.frames:
            if not self.frames or self.frames[-1] != frame:
                self.frames.append(frame)
        if framed.frames[-1] >= self.last_frame:
            self.last_frame, self.time = framed.frames[-1], framed.time
        self.length += len(framed.data)
        cost = len(opened.data) + _FRAGMENT_COST + _FRAME_COST * len(framed.frames)
        self.cost += cost
        return cost

    def stub(self, last: bool, losses: int, strip: bool) -> Stub:
        """Return the stub; ``last``: its last fragment was seen, ``strip``: it is of a request."""
        data, trailer = b"".join(self.chunks), b""
        if strip and last and not self.sealed:
            data, trailer = split_verification_trailer(data)
        # One wrong signature is enough to say so; all must be right to say that.
        verified = None if self.unjudged and self.verified else self.verified
        return Stub(
            data=data,
            big_endian=self.big_endian,
            complete=self.complete and last and losses == self.losses,
            sealed=self.sealed,
            auth_level=self.auth_level,
            verified=verified,
            trailer=trailer,
            object_uuid=self.object_uuid,
            note=self.note,
            frames=tuple(dict.fromkeys(self.frames)),
            time=self.time,
            offset=self.offset,
            length=self.length,
        )


class _Call:
    """One open call; ``request`` and ``response`` are joined until their last fragment comes."""

    __slots__ = (
        "call_id",
        "cancelled",
        "context_id",
        "cost",
        "from_client",
        "interface",
        "opnum",
        "orphaned",
        "request",
        "response",
        "syntax",
    )

    def __init__(self, from_client: bool, pdu: Request | Response | Fault) -> None:
        self.from_client = from_client
        self.call_id = pdu.call_id
        self.context_id = pdu.context_id
        self.opnum = pdu.opnum if isinstance(pdu, Request) else None
        self.interface: SyntaxId | None = None
        self.syntax: SyntaxId | None = None
        self.request: _Join | Stub | None = None
        self.response: _Join | Stub | None = None
        self.cancelled = self.orphaned = False
        self.cost = _CALL_COST


class Calls:
    """Feed opened requests, responses and faults in the order they were sent; take the calls they complete.

    ``contexts`` maps a context id to interface and transfer syntax; it is read, never written. ``held``
    counts the bytes of the open calls and what it costs to hold them; ``max_held`` bounds it.
    """

    __slots__ = ("_contexts", "_losses", "_max_held", "_open", "held")

    def __init__(self, contexts: dict[int, tuple[SyntaxId, SyntaxId]], max_held: int) -> None:
        self._contexts = contexts
        self._max_held = max_held
        self._open: dict[int, _Call] = {}  # in the order they began
        self._losses = [0, 0]
        self.held = 0

    def request(
        self, from_client: bool, pdu: Request, opened: OpenedStub, framed: FramedPdu, events: list[RpcEvent]
    ) -> None:
        """Take a request or a fragment of one."""
        key = pdu.call_id << 1 | from_client
        first = bool(pdu.pfc_flags & PFC_FIRST_FRAG)
        call = self._open.get(key)
        if call is not None and (first or not isinstance(call.request, _Join)):
            self._emit(key, events)
            call = None
        if call is None:
            call = self._begin(key, from_client, pdu)
            call.request = _Join(first, framed, self._losses[from_client])
        join = call.request
        if isinstance(join, _Join):
            self._pay(call, join.add(pdu, opened, framed))
            if pdu.pfc_flags & PFC_LAST_FRAG:
                call.request = join.stub(True, self._losses[from_client], strip=True)
        self._shed(events)

    def response(
        self, from_client: bool, pdu: Response, opened: OpenedStub, framed: FramedPdu, events: list[RpcEvent]
    ) -> None:
        """Take a response, or a fragment of one, that ``from_client`` sent."""
        key = pdu.call_id << 1 | (not from_client)
        first = bool(pdu.pfc_flags & PFC_FIRST_FRAG)
        call = self._open.get(key)
        if call is not None and first and call.response is not None:
            self._emit(key, events)
            call = None
        if call is None:
            call = self._begin(key, not from_client, pdu)
        join = call.response
        if not isinstance(join, _Join):
            join = call.response = _Join(first, framed, self._losses[from_client])
        self._pay(call, join.add(pdu, opened, framed))
        if pdu.pfc_flags & PFC_LAST_FRAG:
            call.response = join.stub(True, self._losses[from_client], strip=False)
            self._emit(key, events)
        else:
            self._shed(events)

    def fault(self, from_client: bool, pdu: Fault, framed: FramedPdu, events: list[RpcEvent]) -> None:
        """Take a fault that ``from_client`` sent: the call ends, and the fault is given behind it."""
        key = pdu.call_id << 1 | (not from_client)
        if key not in self._open:
            self._begin(key, not from_client, pdu)
        fault = fault_event(pdu, framed)
        self._emit(key, events, fault)
        events.append(fault)

    def mark(self, from_client: bool, call_id: int, *, orphaned: bool) -> bool:
        """Note that ``from_client`` cancelled the call, or gave it up; False when there is no such call."""
        call = self._open.get(call_id << 1 | from_client)
        if call is None:
            return False
        if orphaned:
            call.orphaned = True
        else:
            call.cancelled = True
        return True

    def is_open(self, from_client: bool, call_id: int) -> bool:
        """Whether ``from_client`` has a call of this id open."""
        return call_id << 1 | from_client in self._open

    def lose(self, from_client: bool) -> None:
        """Note that PDUs of this side may be missing: what is being joined there is not complete."""
        self._losses[from_client] += 1

    def finish(self, events: list[RpcEvent]) -> None:
        """Give every call that is open, the oldest first."""
        for key in list(self._open):
            self._emit(key, events)

    def _begin(self, key: int, from_client: bool, pdu: Request | Response | Fault) -> _Call:
        call = self._open[key] = _Call(from_client, pdu)
        self._resolve(call)
        self.held += call.cost
        return call

    def _resolve(self, call: _Call) -> None:
        context = self._contexts.get(call.context_id)
        if context is not None:
            call.interface, call.syntax = context

    def _pay(self, call: _Call, cost: int) -> None:
        call.cost += cost
        self.held += cost

    def _shed(self, events: list[RpcEvent]) -> None:
        while self._open and (self.held > self._max_held or len(self._open) > MAX_CALLS):
            self._emit(next(iter(self._open)), events)

    def _emit(self, key: int, events: list[RpcEvent], fault: FaultEvent | None = None) -> None:
        call = self._open.pop(key)
        self.held -= call.cost
        if call.interface is None:
            # The answer to a bind may have been captured behind the first request.
            self._resolve(call)
        request, response = call.request, call.response
        if isinstance(request, _Join):
            request = request.stub(False, 0, strip=True)
        if isinstance(response, _Join):
            response = response.stub(False, 0, strip=False)
        events.append(
            CallEvent(
                call_id=call.call_id,
                context_id=call.context_id,
                opnum=call.opnum,
                interface=call.interface,
                syntax=call.syntax,
                request=request,
                response=response,
                fault=fault,
                cancelled=call.cancelled,
                orphaned=call.orphaned,
            )
        )
