"""Binds and security contexts of one association: what was offered, what was accepted, who opens what.

The rules kept here: only an accepted context (result 0) gives call PDUs an interface; a security context is
known by its auth_context_id, and several may be alive ([MS-RPCE] 3.3.1.5.4); headers are signed when a bind
or alter_context and its answer both say so (3.3.1.5.2.2). All tables are bounded, the oldest entry goes
first.
"""

from __future__ import annotations

from msgspec.structs import replace

from msmq_wire.rpc.call_matcher import fault_event
from msmq_wire.rpc.events import BindEvent, PresentationContext, RpcEvent, SyntaxId
from msmq_wire.rpc.pdu.framer import FramedPdu
from msmq_wire.rpc.pdu.values import (
    PFC_CONC_MPX,
    PFC_FIRST_FRAG,
    PFC_LAST_FRAG,
    PFC_SUPPORT_HEADER_SIGN,
    AlterContext,
    AlterContextResp,
    Bind,
    BindAck,
    BindNak,
    ContextResult,
    Fault,
    SecTrailer,
)
from msmq_wire.rpc.pdu_protection import Negotiation, Negotiator, ProtectedPdu, Unwrapped

_ACCEPTANCE = 0
_WHOLE = PFC_FIRST_FRAG | PFC_LAST_FRAG
_OF_BINDS = _WHOLE | PFC_SUPPORT_HEADER_SIGN | PFC_CONC_MPX
"""Flags of bind and alter_context, C706 12.6.4.3 and [MS-RPCE] 2.2.2.3."""
_MAX_PENDING = 16
_MAX_CONTEXTS = 64
_MAX_SECURITY_CONTEXTS = 64
_CONTEXT_COST = 400
_SECURITY_CONTEXT_COST = 2000
_COST = 8  # of a byte of a bind that is held as values


class Binds:
    """Feed bind, alter_context, their answers and auth3; ask for what they agreed on.

    ``contexts`` maps a context id to interface and transfer syntax. ``header_signing`` and ``auth_level`` (0
    while unknown) are what was said last, ``account`` is whom the client said last that it is. ``held`` is
    what unanswered binds, accepted contexts and security contexts cost.
    """

    __slots__ = (
        "_negotiator",
        "_offered",
        "_pending",
        "_security",
        "account",
        "auth_level",
        "contexts",
        "header_signing",
        "held",
    )

    def __init__(self, negotiator: Negotiator | None) -> None:
        self._negotiator = negotiator
        # By call id; header_signing is what the client said.
        self._pending: dict[int, BindEvent] = {}
        # By auth_context_id, with the auth_type.
        self._security: dict[int, tuple[int, Negotiation | None]] | None = None
        self.contexts: dict[int, tuple[SyntaxId, SyntaxId]] = {}
        self._offered: dict[int, SyntaxId] = {}
        self.header_signing = False
        self.auth_level = 0
        self.account = ""
        self.held = 0

    def offered(self, context_id: int) -> SyntaxId | None:
        """The interface that the client asked for in a context, whatever the server said."""
        return self._offered.get(context_id)

    def offer(self, pdu: Bind, framed: FramedPdu, from_client: bool, events: list[RpcEvent]) -> None:
        """Take a bind or alter_context; it is given with its answer."""
        account, note = self._negotiate(from_client, pdu.sec_trailer)
        self._give_up(pdu.call_id, events)
        self._pending[pdu.call_id] = BindEvent(
            alter=isinstance(pdu, AlterContext),
            from_client=from_client,
            call_id=pdu.call_id,
            contexts=tuple(
                PresentationContext(one.context_id, one.abstract_syntax, one.transfer_syntaxes)
                for one in pdu.contexts
            ),
            max_xmit_frag=pdu.max_xmit_frag,
            max_recv_frag=pdu.max_recv_frag,
            association_group=pdu.assoc_group_id,
            auth_type=pdu.sec_trailer.auth_type if pdu.sec_trailer else 0,
            auth_level=pdu.sec_trailer.auth_level if pdu.sec_trailer else 1,
            header_signing=bool(pdu.pfc_flags & PFC_SUPPORT_HEADER_SIGN),
            account=account,
            note=note or _odd_form(pdu, framed),
            frames=framed.frames,
            time=framed.time,
            offset=framed.offset,
            length=framed.length,
        )
        for one in pdu.contexts[:_MAX_CONTEXTS]:
            self._offered.pop(one.context_id, None)
            self._offered[one.context_id] = one.abstract_syntax
        while len(self._offered) > _MAX_CONTEXTS:
            del self._offered[next(iter(self._offered))]
        self.held += _COST * framed.length
        if len(self._pending) > _MAX_PENDING:
            self._give_up(next(iter(self._pending)), events)

    def answer(
        self, pdu: BindAck | BindNak, framed: FramedPdu, from_client: bool, events: list[RpcEvent]
    ) -> None:
        """Take bind_ack, bind_nak or alter_context_resp and give the bind that it answers."""
        account, note = self._negotiate(from_client, pdu.sec_trailer)
        bind = self._pop(pdu.call_id)
        if bind is None:
            # It was not captured: what the answer says about its own side stands for it.
            bind = BindEvent(
                alter=isinstance(pdu, AlterContextResp),
                from_client=not from_client,
                call_id=pdu.call_id,
                contexts=(),
                max_xmit_frag=0 if isinstance(pdu, BindNak) else pdu.max_xmit_frag,
                max_recv_frag=0 if isinstance(pdu, BindNak) else pdu.max_recv_frag,
                auth_type=pdu.sec_trailer.auth_type if pdu.sec_trailer else 0,
                auth_level=pdu.sec_trailer.auth_level if pdu.sec_trailer else 1,
                offset=framed.offset,
                length=len(framed.data),
            )
        bind = replace(
            bind,
            answered=True,
            header_signing=bind.header_signing and bool(pdu.pfc_flags & PFC_SUPPORT_HEADER_SIGN),
            account=account or bind.account,
            note=note or bind.note,
            frames=tuple(dict.fromkeys(bind.frames + framed.frames)),
            time=framed.time,
        )
        if isinstance(pdu, BindNak):
            events.append(replace(bind, nak_reason=pdu.reject_reason, header_signing=False))
            return
        self.header_signing = self.header_signing or bind.header_signing
        contexts = _answered(bind.contexts, pdu.results)
        for one in contexts:
            if one.accepted is not None and one.result == _ACCEPTANCE:
                if self.contexts.pop(one.context_id, None) is None:
                    self.held += _CONTEXT_COST
                self.contexts[one.context_id] = one.interface, one.accepted
                if len(self.contexts) > _MAX_CONTEXTS:
                    del self.contexts[next(iter(self.contexts))]
                    self.held -= _CONTEXT_COST
        events.append(
            replace(
                bind,
                contexts=contexts,
                association_group=pdu.assoc_group_id,
                secondary_address=pdu.sec_addr.rstrip(b"\x00").decode("ascii", "replace"),
            )
        )

    def refuse(self, pdu: Fault, framed: FramedPdu, events: list[RpcEvent]) -> bool:
        """Give the alter_context that a fault answers, and the fault; False when there is none."""
        bind = self._pop(pdu.call_id)
        if bind is None:
            return False
        events.append(
            replace(
                bind,
                answered=True,
                header_signing=False,
                note=bind.note or "refused with a fault",
                frames=tuple(dict.fromkeys(bind.frames + framed.frames)),
                time=framed.time,
            )
        )
        events.append(fault_event(pdu, framed))
        return True

    def exchange(self, from_client: bool, trailer: SecTrailer) -> str:
        """Hand a token to its security context; return the note of that."""
        return self._negotiate(from_client, trailer)[1]

    def unwrap(self, trailer: SecTrailer, pdu: ProtectedPdu) -> Unwrapped:
        """Hand a protected PDU to its security context."""
        if self._negotiator is None:
            return Unwrapped(None, None)
        known = (self._security or {}).get(trailer.auth_context_id)
        if known is None:
            return Unwrapped(None, None, "the negotiation of its security context was not captured")
        if known[1] is None:
            return Unwrapped(None, None, f"security provider 0x{known[0]:02x} is not known")
        return known[1].unwrap(pdu)

    def finish(self, events: list[RpcEvent]) -> None:
        """Give the binds that were not answered."""
        for call_id in list(self._pending):
            self._give_up(call_id, events)

    def forget(self) -> None:
        """Drop the contexts: no PDU needs them any more."""
        self.held -= _CONTEXT_COST * len(self.contexts) + _SECURITY_CONTEXT_COST * len(self._security or ())
        self.contexts.clear()
        self._security = None

    def swap_sides(self) -> None:
        """Note that the client was taken for the server."""
        for call_id, bind in self._pending.items():
            self._pending[call_id] = replace(bind, from_client=not bind.from_client)

    def _negotiate(self, from_client: bool, trailer: SecTrailer | None) -> tuple[str, str]:
        """Hand a token to its security context, a new one if it is not known; return account and note."""
        if trailer is None:
            return "", ""
        self.auth_level = trailer.auth_level
        if self._negotiator is None:
            return "", ""
        security = self._security
        if security is None:
            security = self._security = {}
        known = security.get(trailer.auth_context_id)
        if known is None or known[0] != trailer.auth_type:
            if known is None:
                self.held += _SECURITY_CONTEXT_COST
            known = trailer.auth_type, self._negotiator(trailer.auth_type)
            security[trailer.auth_context_id] = known
            if len(security) > _MAX_SECURITY_CONTEXTS:
                del security[next(iter(security))]
                self.held -= _SECURITY_CONTEXT_COST
        negotiation = known[1]
        if negotiation is None:
            return "", f"security provider 0x{trailer.auth_type:02x} is not known"
        negotiation.exchange(from_client, trailer.auth_value)
        self.account = negotiation.account or self.account
        return negotiation.account, negotiation.note

    def _pop(self, call_id: int) -> BindEvent | None:
        bind = self._pending.pop(call_id, None)
        if bind is not None:
            self.held -= _COST * bind.length
        return bind

    def _give_up(self, call_id: int, events: list[RpcEvent]) -> None:
        bind = self._pop(call_id)
        if bind is not None:
            events.append(replace(bind, header_signing=False))


def _odd_form(pdu: Bind, framed: FramedPdu) -> str:
    """What is odd about a bind that servers take all the same; empty for nothing."""
    flags = pdu.pfc_flags
    reported = [f"the bind came in {len(framed.fragments)} fragments"] if framed.fragments else []
    if flags & _WHOLE != _WHOLE:
        reported.append(f"the bind is not marked as its first and last fragment: flags {flags:#04x}")
    elif flags & ~_OF_BINDS:
        reported.append(f"the bind has flags that no bind has: {flags:#04x}")
    return "; ".join(reported)


def _answered(
    contexts: tuple[PresentationContext, ...], results: tuple[ContextResult, ...]
) -> tuple[PresentationContext, ...]:
    """Return ``contexts`` with the results, which come in the same order; there may be fewer or more."""
    answered = tuple(
        replace(
            context,
            result=result.result,
            reason=result.reason,
            accepted=result.transfer_syntax if result.result == _ACCEPTANCE else None,
        )
        for context, result in zip(contexts, results, strict=False)
    )
    return answered + contexts[len(results) :]
