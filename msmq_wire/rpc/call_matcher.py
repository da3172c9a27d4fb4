"""`CallMatcher`: joins fragments to stubs and pairs each request of an association with its answer.

The rules kept here:

* A call is known by its call id and the side that sent the request; a callback has the call id of the call it
  runs in and comes from the other side. Which side is the client is not asked.
* A stub is complete when a first and a last fragment were seen, none was cut, and no bytes were lost between
  them; else its data ends where the first of its bytes is missing. What is held is bounded: the oldest call
  is given as it is when there are too many calls or bytes.
* A response may be captured before its request: it is held for a few requests. Call ids are used again, so
  that where requests may be missing another answer to the same request shows that the first was not to it.
* Joining takes time linear in the bytes; nothing is believed of alloc_hint.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec
from msgspec.structs import replace

from msmq_wire.rpc.events import CallEvent, FaultEvent, RpcEvent, Stub, SyntaxId
from msmq_wire.rpc.pdu.framer import FramedPdu
from msmq_wire.rpc.pdu.values import PFC_FIRST_FRAG, PFC_LAST_FRAG, Fault, Request, Response
from msmq_wire.rpc.verification_trailer import split_verification_trailer
from msmq_wire.wire.types.guid import GUID

MAX_CALLS = 4096
"""Calls that may be open at once; the oldest is given without a response when there are more."""
_MAX_EARLY = 16  # responses that wait for their request
_EARLY_REQUESTS = 8  # request PDUs of the other side that they wait for
_HEADLESS = "the first fragment was not captured"
_UNASKED = "the request was not captured"
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
        "frames",
        "headless",
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
        self.complete = first  # so far
        self.headless = not first
        self.sealed = self.unjudged = False
        self.verified: bool | None = None
        self.auth_level = 1
        self.big_endian = False
        self.object_uuid: GUID | None = None
        self.note = "" if first else _HEADLESS
        self.frames: list[int] = []
        self.last_frame = -1
        self.time = 0
        self.offset = framed.offset
        self.length = 0
        self.losses = losses

    def add(self, pdu: Request | Response, opened: OpenedStub, framed: FramedPdu, losses: int) -> int:
        """Take a fragment; return what it costs to hold it. ``losses``: those of its side so far."""
        cost = _FRAGMENT_COST + _FRAME_COST * len(framed.frames)
        if losses != self.losses:
            self.complete = False
        if self.complete:
            self.chunks.append(opened.data)
            cost += len(opened.data)
        if self.complete or self.headless:
            self.sealed = self.sealed or opened.sealed
            if opened.verified is None:
                self.unjudged = True
            elif self.verified is not False:
                self.verified = opened.verified
            self.big_endian = pdu.big_endian
        if not framed.complete:
            self.complete = False
        self.auth_level = max(self.auth_level, opened.auth_level)
        if isinstance(pdu, Request) and pdu.object_uuid is not None:
            self.object_uuid = pdu.object_uuid
        self.note = self.note or opened.note
        for frame in framed.frames:
            if not self.frames or self.frames[-1] != frame:
                self.frames.append(frame)
        if framed.frames[-1] >= self.last_frame:
            self.last_frame, self.time = framed.frames[-1], framed.time
        self.length += len(framed.data)
        return cost

    def stub(self, last: bool, strip: bool) -> Stub:
        """Return the stub; ``last``: its last fragment was seen, ``strip``: it is of a request."""
        data, trailer = b"".join(self.chunks), b""
        if strip and last and self.complete and not self.sealed:
            data, trailer = split_verification_trailer(data)
        # One wrong signature is enough to say so; all must be right to say that.
        verified = None if self.unjudged and self.verified else self.verified
        return Stub(
            data=data,
            big_endian=self.big_endian,
            complete=self.complete and last,
            headless=self.headless,
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
    """One open call; ``request`` and ``response`` are joined until their last fragment comes.

    ``reversed`` says that the request came behind the begin of the response, ``callback`` that it began
    while the other side had a call of the same id open.
    """

    __slots__ = (
        "call_id",
        "callback",
        "cancelled",
        "context_id",
        "cost",
        "interface",
        "opnum",
        "orphaned",
        "request",
        "response",
        "reversed",
        "syntax",
    )

    def __init__(self, pdu: Request | Response | Fault, callback: bool) -> None:
        self.call_id = pdu.call_id
        self.callback = callback
        self.context_id = pdu.context_id
        self.opnum = pdu.opnum if isinstance(pdu, Request) else None
        self.interface: SyntaxId | None = None
        self.syntax: SyntaxId | None = None
        self.request: _Join | Stub | None = None
        self.response: _Join | Stub | None = None
        self.cancelled = self.orphaned = self.reversed = False
        self.cost = _CALL_COST


class CallMatcher:
    """Feed opened requests, responses and faults in the order of the capture; take the calls they complete.

    A ``side`` is True or False, always the same for what one sent; what they are called does not matter.
    ``contexts`` maps a context id to interface and transfer syntax; it is read, never written. ``held``
    counts the bytes of the open calls and what it costs to hold them; ``max_held`` bounds it.
    """

    __slots__ = ("_asked", "_contexts", "_early", "_losses", "_max_held", "_open", "held")

    def __init__(self, contexts: dict[int, tuple[SyntaxId, SyntaxId]], max_held: int) -> None:
        self._contexts = contexts
        self._max_held = max_held
        self._open: OrderedDict[int, _Call] = OrderedDict()  # in the order they began
        # Calls with a whole response without a whole request, and the count of requests they wait for.
        self._early: dict[int, int] = {}
        self._asked = [0, 0]
        self._losses = [0, 0]
        self.held = 0

    def request(
        self, side: bool, pdu: Request, opened: OpenedStub, framed: FramedPdu, events: list[RpcEvent]
    ) -> None:
        """Take a request, or a fragment of one, that ``side`` sent."""
        key = pdu.call_id << 1 | side
        first = bool(pdu.pfc_flags & PFC_FIRST_FRAG)
        losses = self._losses[side]
        self._asked[side] += 1
        call = self._open.get(key)
        if call is not None and (first or not isinstance(call.request, _Join)) and call.request is not None:
            self._emit(key, events)
            call = None
        if call is None:
            call = self._begin(key, pdu)
        join = call.request
        if not isinstance(join, _Join):
            if call.response is not None:
                call.reversed = True
                call.context_id, call.opnum = pdu.context_id, pdu.opnum
                self._resolve(call)
            join = call.request = _Join(first, framed, losses)
        self._pay(call, join.add(pdu, opened, framed, losses))
        last = bool(pdu.pfc_flags & PFC_LAST_FRAG)
        if last:
            call.request = join.stub(True, strip=True)
        if isinstance(call.response, Stub):
            if last and call.interface is not None and not losses:
                self._emit(key, events)
            else:
                # Where requests may be missing, the next answer tells whether the one held is to this one.
                self._early[key] = self._asked[side] + (1 if last else _EARLY_REQUESTS)
        if self._early:
            self._expire(side, events)
        self._shed(events)

    def response(
        self, side: bool, pdu: Response, opened: OpenedStub, framed: FramedPdu, events: list[RpcEvent]
    ) -> None:
        """Take a response, or a fragment of one, that ``side`` sent."""
        key = pdu.call_id << 1 | (not side)
        first = bool(pdu.pfc_flags & PFC_FIRST_FRAG)
        losses = self._losses[side]
        call = self._open.get(key)
        if call is not None and call.response is not None and (first or isinstance(call.response, Stub)):
            call = self._part(key, call, events)
        if call is None:
            call = self._begin(key, pdu)
        join = call.response
        if not isinstance(join, _Join):
            join = call.response = _Join(first, framed, losses)
        self._pay(call, join.add(pdu, opened, framed, losses))
        if pdu.pfc_flags & PFC_LAST_FRAG:
            call.response = join.stub(True, strip=False)
            request = call.request
            if request is None or (isinstance(request, _Join) and request.losses == self._losses[not side]):
                self._early[key] = self._asked[not side] + _EARLY_REQUESTS
                if len(self._early) > _MAX_EARLY:
                    self._emit(next(iter(self._early)), events)
            else:
                self._emit(key, events)
        self._shed(events)

    def fault(self, side: bool, pdu: Fault, framed: FramedPdu, events: list[RpcEvent]) -> None:
        """Take a fault that ``side`` sent: the call ends, and the fault is given behind it."""
        key = pdu.call_id << 1 | (not side)
        call = self._open.get(key)
        if call is not None and isinstance(call.response, Stub):
            call = self._part(key, call, events)
        if call is None:
            self._begin(key, pdu)
        fault = fault_event(pdu, framed)
        self._emit(key, events, fault)
        events.append(fault)

    def mark(self, side: bool, call_id: int, *, orphaned: bool) -> bool:
        """Note that ``side`` cancelled the call, or gave it up; False when there is no such call."""
        call = self._open.get(call_id << 1 | side)
        if call is None:
            return False
        if orphaned:
            call.orphaned = True
        else:
            call.cancelled = True
        return True

    def is_open(self, side: bool, call_id: int) -> bool:
        """Whether ``side`` has a call of this id open."""
        return call_id << 1 | side in self._open

    def lose(self, side: bool) -> None:
        """Note that PDUs of this side may be missing: what is being joined there is not complete."""
        self._losses[side] += 1

    def finish(self, events: list[RpcEvent]) -> None:
        """Give every call that is open, the oldest first."""
        for key in list(self._open):
            self._emit(key, events)

    def _begin(self, key: int, pdu: Request | Response | Fault) -> _Call:
        # What was asked first runs; what the other side asks under its number is a callback.
        outer = self._open.get(key ^ 1)
        callback = outer is not None and outer.request is not None and not outer.callback
        call = self._open[key] = _Call(pdu, callback)
        self._resolve(call)
        self.held += call.cost
        return call

    def _resolve(self, call: _Call) -> None:
        call.interface, call.syntax = self._contexts.get(call.context_id, (None, None))

    def _pay(self, call: _Call, cost: int) -> None:
        call.cost += cost
        self.held += cost

    def _shed(self, events: list[RpcEvent]) -> None:
        while self._open and (self.held > self._max_held or len(self._open) > MAX_CALLS):
            self._emit(next(iter(self._open)), events)

    def _expire(self, side: bool, events: list[RpcEvent]) -> None:
        """Give the calls that have waited for enough requests of ``side``."""
        asked = self._asked[side]
        for key in [key for key, until in self._early.items() if key & 1 == side and until <= asked]:
            self._emit(key, events)

    def _part(self, key: int, call: _Call, events: list[RpcEvent]) -> _Call | None:
        """Give the response of a call that is answered again; return the call if that leaves its request."""
        if not call.reversed:
            self._emit(key, events)
            return None
        response = call.response
        if isinstance(response, _Join):
            response = response.stub(False, strip=False)
        events.append(_event(call, None, response, None))
        call.response, call.reversed = None, False
        self._early.pop(key, None)
        return call

    def _emit(self, key: int, events: list[RpcEvent], fault: FaultEvent | None = None) -> None:
        call = self._open.pop(key)
        self._early.pop(key, None)
        self.held -= call.cost
        if call.interface is None:
            # The answer to a bind may have been captured behind the first request.
            self._resolve(call)
        request, response = call.request, call.response
        if isinstance(request, _Join):
            request = request.stub(False, strip=True)
        if isinstance(response, _Join):
            response = response.stub(False, strip=False)
        events.append(_event(call, request, response, fault))


def _event(call: _Call, request: Stub | None, response: Stub | None, fault: FaultEvent | None) -> CallEvent:
    if request is None and response is not None and not response.note:
        response = replace(response, note=_UNASKED)
    return CallEvent(
        call_id=call.call_id,
        context_id=call.context_id,
        opnum=None if request is None else call.opnum,
        interface=call.interface,
        syntax=call.syntax,
        request=request,
        response=response,
        fault=fault,
        callback=call.callback,
        cancelled=call.cancelled,
        orphaned=call.orphaned,
    )
