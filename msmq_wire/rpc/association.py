"""One TCP connection that carries DCE/RPC: bytes of both sides in, binds and calls out.

The rules kept here:

* Which side is the client: what the caller says, until a PDU shows it that only one side sends. One that a
  search came upon may lie inside a payload: it stands only until one comes that had to be there. Two of those
  in a row correct what one of them said; a callback says nothing.
* A bind or alter_context in several fragments is put together, and each side has at most one that waits.
* A presentation context counts when the server accepted it; results answer the contexts in the order offered.
* Every PDU with a sec_trailer goes to the security context that it names, empty stubs too, in the order sent:
  a cipher that misses one loses its place.
* What cannot be decoded is told (`ControlEvent` with a note), never dropped; nothing is raised.
"""

from __future__ import annotations

from struct import Struct
from typing import Literal

from msgspec.structs import replace

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.bind_fragments import OFFERS, BindFragments
from msmq_wire.rpc.binds import Binds
from msmq_wire.rpc.call_matcher import CallMatcher, OpenedStub
from msmq_wire.rpc.events import ControlEvent, RpcEvent, SkippedBytes, SyntaxId
from msmq_wire.rpc.pdu.decoding import decode_pdu
from msmq_wire.rpc.pdu.framer import FramedPdu, FramerEvent, GapReason, PduFramer
from msmq_wire.rpc.pdu.values import (
    Bind,
    BindAck,
    BindNak,
    Fault,
    Pdu,
    PduType,
    Request,
    Response,
    UnknownPdu,
)
from msmq_wire.rpc.pdu_protection import AuthenticationLevel, Negotiator, ProtectedPdu

MAX_HELD = 32 << 20
"""Bytes that an association holds for calls that are not complete, unless it is told otherwise."""
_BY_CLIENT = frozenset(
    (
        PduType.REQUEST,
        PduType.BIND,
        PduType.ALTER_CONTEXT,
        PduType.AUTH3,
        PduType.CO_CANCEL,
        PduType.ORPHANED,
    )
)
_PRIVACY = AuthenticationLevel.PKT_PRIVACY
_CONNECT = AuthenticationLevel.CONNECT
_CUT = "the capture cut a PDU"
_CONTRADICTIONS = 2  # PDUs in a row that show that the sides are the other way round


class Association:
    """Feed the bytes of both sides as captured, tell the gaps, take events; call `finish` at the end.

    ``negotiator`` makes what opens protected PDUs; without one they are given as captured. ``max_held``
    bounds what is held for calls; the start of one PDU a side, a few binds and what they agreed on come on
    top.
    """

    __slots__ = (
        "_binds",
        "_calls",
        "_contradictions",
        "_flipped",
        "_fragments",
        "_framers",
        "_max_held",
        "_negotiator",
        "_sides",
    )

    def __init__(self, *, negotiator: Negotiator | None = None, max_held: int = MAX_HELD) -> None:
        self._negotiator = negotiator
        self._max_held = max_held
        self._framers: list[PduFramer | None] = [None, None]  # by what the caller says
        self._fragments = (BindFragments(), BindFragments())
        self._binds: Binds | None = None
        self._calls: CallMatcher | None = None
        self._sides: Literal["unknown", "guessed", "known"] = "unknown"
        self._contradictions = 0
        self._flipped = False

    @property
    def flipped(self) -> bool:
        """Whether the caller takes the server for the client: events say it right, ``feed`` goes on."""
        return self._flipped

    def offered(self, context_id: int) -> SyntaxId | None:
        """The interface that the client asked for in a context; None where that was not captured."""
        return None if self._binds is None else self._binds.offered(context_id)

    @property
    def account(self) -> str:
        """Whom the client says it is, so far; empty while that is not known."""
        return "" if self._binds is None else self._binds.account

    @property
    def held_bytes(self) -> int:
        """What is held for PDUs, binds and calls, contexts included, and what it costs to hold it."""
        held = self._fragments[0].held + self._fragments[1].held
        for framer in self._framers:
            if framer is not None:
                held += framer.held_bytes
        if self._calls is not None:
            held += self._calls.held
        if self._binds is not None:
            held += self._binds.held
        return held

    def advance(self, from_client: bool, count: int) -> None:
        """Count ``count`` bytes of a side that were read elsewhere, before any is fed."""
        self._framer(from_client).advance(count)

    def feed(self, from_client: bool, data: bytes, frame: int, time: int) -> list[RpcEvent]:
        """Take the next bytes of a side, which ``frame`` carried at ``time``; return what they complete."""
        events: list[RpcEvent] = []
        self._take_all(self._framer(from_client).feed(data, frame, time), from_client, events)
        return events

    def gap(
        self,
        from_client: bool,
        length: int | None,
        reason: GapReason,
        frame: int,
        time: int,
        since: int = 0,
    ) -> list[RpcEvent]:
        """Take note of ``length`` bytes of a side (None: unknown) missing after a frame, 0 for none."""
        events: list[RpcEvent] = []
        framer = self._framer(from_client)
        framed = framer.gap(length, reason, frame, time, since)
        self._take_all(framed, from_client, events)
        # A gap inside one PDU harms no other one.
        if framed and (framer.lost or isinstance(framed[0], SkippedBytes)):
            _, calls = self._state()
            calls.lose(from_client)
        return events

    def finish(self) -> list[RpcEvent]:
        """Return what is left: nothing more comes."""
        events: list[RpcEvent] = []
        for from_client in (True, False):
            framer = self._framers[from_client]
            if framer is not None:
                self._take_all(framer.finish(), from_client, events)
                for held in self._fragments[from_client].release():
                    self._take_framed(held, from_client, events)
        if self._binds is not None:
            self._binds.finish(events)
        if self._calls is not None:
            self._calls.finish(events)
        if self._binds is not None:
            self._binds.forget()
        return events

    def _framer(self, from_client: bool) -> PduFramer:
        framer = self._framers[from_client]
        if framer is None:
            framer = self._framers[from_client] = PduFramer(from_client=from_client ^ self._flipped)
        return framer

    def _state(self) -> tuple[Binds, CallMatcher]:
        binds, calls = self._binds, self._calls
        if binds is None or calls is None:
            binds = self._binds = Binds(self._negotiator)
            calls = self._calls = CallMatcher(binds.contexts, self._max_held)
        return binds, calls

    def _take_all(self, items: list[FramerEvent], from_client: bool, events: list[RpcEvent]) -> None:
        fragments = self._fragments[from_client]
        for item in items:
            if isinstance(item, SkippedBytes):
                for held in fragments.release():
                    self._take_framed(held, from_client, events)
                side = from_client ^ self._flipped
                events.append(item if item.from_client == side else replace(item, from_client=side))
                if item.reason == "no-pdu":
                    self._state()[1].lose(from_client)
            elif fragments.held or item.data[2] in OFFERS:
                for framed in fragments.take(item):
                    self._take_framed(framed, from_client, events)
            else:
                self._take_framed(item, from_client, events)

    def _take_framed(self, item: FramedPdu, from_client: bool, events: list[RpcEvent]) -> None:
        try:
            pdu = decode_pdu(item.data) if item.complete else _decode_cut(item.data)
        except DecodeError as error:
            note = f"a PDU that cannot be decoded: {error.code}" if item.complete else _CUT
            events.append(_control(item.data[2], from_client ^ self._flipped, 0, note, item))
            if item.data[2] <= PduType.FAULT:
                self._state()[1].lose(from_client)
            return
        if (
            self._sides != "known"
            or self._contradictions
            or (pdu.ptype in _BY_CLIENT) != (from_client ^ self._flipped)
        ):
            self._learn_sides(pdu, item, from_client)
        self._take(pdu, item, from_client, events)

    def _learn_sides(self, pdu: Pdu, framed: FramedPdu, said: bool) -> None:
        """Take what a PDU shows of the sides; ``said``: the caller takes its sender for the client."""
        if isinstance(pdu, UnknownPdu):
            return
        other = (pdu.ptype in _BY_CLIENT) != (said ^ self._flipped)
        if framed.found:
            if self._sides == "unknown":
                self._sides = "guessed"
                if other:
                    self._flip()
            return
        if not other:
            self._sides, self._contradictions = "known", 0
            return
        # A callback has the call id of the call that it runs in.
        if self._sides == "known" and not self._state()[1].is_open(not self._flipped, pdu.call_id):
            self._contradictions += 1
        if self._sides != "known" or self._contradictions >= _CONTRADICTIONS:
            self._sides, self._contradictions = "known", 0
            self._flip()

    def _flip(self) -> None:
        self._flipped = not self._flipped
        for said, framer in enumerate(self._framers):
            if framer is not None:
                framer.from_client = bool(said) ^ self._flipped
        if self._binds is not None:
            self._binds.swap_sides()

    def _take(self, pdu: Pdu, framed: FramedPdu, said: bool, events: list[RpcEvent]) -> None:
        """Take a PDU; ``said``: the caller takes its sender for the client."""
        from_client = said ^ self._flipped
        binds, calls = self._state()
        match pdu:
            case Request():
                calls.request(said, pdu, self._open(pdu, framed, from_client), framed, events)
            case Response():
                calls.response(said, pdu, self._open(pdu, framed, from_client), framed, events)
            case Fault():
                self._open(pdu, framed, from_client)
                if calls.is_open(not said, pdu.call_id) or not binds.refuse(pdu, framed, events):
                    calls.fault(said, pdu, framed, events)
            case Bind():
                binds.offer(pdu, framed, from_client, events)
            case BindAck() | BindNak():
                binds.answer(pdu, framed, from_client, events)
            case _:
                note = ""
                if pdu.ptype in (PduType.CO_CANCEL, PduType.ORPHANED):
                    if calls.mark(said, pdu.call_id, orphaned=pdu.ptype == PduType.ORPHANED):
                        return
                    note = "no such call is open"
                elif pdu.ptype == PduType.AUTH3 and pdu.sec_trailer is not None:
                    note = binds.exchange(from_client, pdu.sec_trailer)
                events.append(_control(pdu.ptype, from_client, pdu.call_id, note, framed))

    def _open(self, pdu: Request | Response | Fault, framed: FramedPdu, from_client: bool) -> OpenedStub:
        """Give a stub to its security context; take off the authentication padding where it can be read."""
        stub, trailer = pdu.stub, pdu.sec_trailer
        binds, _ = self._state()
        if not framed.complete:
            _, protected = _SIZES[framed.data[4] & 0x10].unpack_from(framed.data, 8)
            level = (binds.auth_level or _PRIVACY) if protected else 1
            return OpenedStub(stub, level == _PRIVACY, None, level, _CUT)
        if trailer is None:
            # At level CONNECT the client is known, and calls carry nothing for it: [MS-RPCE] 2.2.1.1.8.
            return OpenedStub(stub, auth_level=_CONNECT if binds.auth_level == _CONNECT else 1)
        level = trailer.auth_level
        end = len(framed.data) - len(trailer.auth_value) - 8
        unwrapped = binds.unwrap(
            trailer,
            ProtectedPdu(
                from_client,
                level,
                framed.data[: end - len(stub)],
                stub,
                framed.data[end : end + 8],
                trailer.auth_value,
                binds.header_signing,
            ),
        )
        clear = stub if level != _PRIVACY else unwrapped.stub
        if clear is None:
            # Nothing is hidden in an empty stub.
            return OpenedStub(stub, bool(stub), unwrapped.verified, level, unwrapped.note)
        clear = clear[: max(0, len(clear) - trailer.auth_pad_length)]
        return OpenedStub(clear, False, unwrapped.verified, level, unwrapped.note)


_SIZES = {0x10: Struct("<HH"), 0: Struct(">HH")}
"""frag_length and auth_length, by the bit of packed_drep that says the byte order."""


def _decode_cut(data: bytes) -> Pdu:
    """Decode what there is of a request, response or fault, without sec_trailer; DecodeError for others."""
    if data[2] > PduType.FAULT:
        raise DecodeError("missing-bytes", _CUT, offset=len(data))
    sizes = _SIZES[data[4] & 0x10]
    frag_length, auth_length = sizes.unpack_from(data, 8)
    end = min(len(data), frag_length - (auth_length + 8 if auth_length else 0))
    return decode_pdu(data[:8] + sizes.pack(max(16, end), 0) + data[12:])


def _control(ptype: int, from_client: bool, call_id: int, note: str, framed: FramedPdu) -> ControlEvent:
    return ControlEvent(
        ptype=ptype,
        from_client=from_client,
        call_id=call_id,
        note=note,
        frames=framed.frames,
        time=framed.time,
        offset=framed.offset,
        length=len(framed.data),
    )
