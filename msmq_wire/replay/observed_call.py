"""`ObservedCall`: a captured call as the replay rules see it.

The rule kept here: nothing is believed of a value. A member that was not decoded, or is of another type, is
not there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record, place_of
from msmq_wire.records.rpc_packets import RpcCall, TransferBuffer
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.rule_table import RuleRow, checks_of
from msmq_wire.rpc.hresults import name
from msmq_wire.rpc.interfaces import METHODS
from msmq_wire.rpc.interfaces.role import Members, Role
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID

LOW_56 = (1 << 56) - 1
"""What a reply tells of a lookup identifier."""
_FAILED = 0x8000_0000


class MessageIdentity(msgspec.Struct, frozen=True, gc=False):
    """What tells one message from another: who sent it, its number there, when, and the bytes of its body.

    An application that receives need not ask for the last two: None then.
    """

    source: GUID
    number: int
    sent_time: int | None
    size: int | None

    @property
    def complete(self) -> bool:
        """Whether all of it is known."""
        return self.sent_time is not None and self.size is not None

    def may_be(self, other: MessageIdentity) -> bool:
        """Whether two identities can be of one message."""
        if (self.source, self.number) != (other.source, other.number):
            return False
        pairs = ((self.sent_time, other.sent_time), (self.size, other.size))
        return all(None in pair or pair[0] == pair[1] for pair in pairs)

    def __str__(self) -> str:
        return f"message {self.source}\\{self.number}"


class ObservedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What a message that came with a reply tells; None where it was not decoded.

    ``packet`` is the packet as far as it was decoded, ``identity`` tells it from others.
    """

    packet: Any = None
    identity: MessageIdentity | None = None
    priority: int | None = None


class ObservedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a method with its reply.

    ``server`` and ``client`` are addresses without ports. ``begun`` and ``ended`` are nanoseconds since 1970:
    the server decided in between; ``begun`` is 0 where it is not known. ``ok`` is None where it is not known
    whether the method succeeded. ``message`` is the one that came with the reply. ``role`` and ``members``
    are those of its method, ``checks`` the rows that it is judged by.
    """

    record: Record
    call: RpcCall
    server: str
    client: str
    stream: int | None
    method: str
    request: Any
    response: Any
    begun: int
    ended: int
    ok: bool | None
    message: ObservedMessage | None = None
    role: Role | None
    members: Members
    checks: Mapping[str, RuleRow]

    @property
    def status(self) -> int:
        """The status of the reply; MQ_OK where a method that has none succeeded."""
        return self.call.status or 0

    @property
    def used(self) -> Hashable | None:
        """What it is about, by its server."""
        key = self.members.used(self.request)
        return None if key is None else (self.server, key)

    @property
    def given(self) -> tuple[Hashable, ...]:
        """What its reply gives, by its server: a handle, and numbers that stand for the same."""
        return tuple((self.server, key) for key in self.members.given(self.response))

    @property
    def queue(self) -> str | None:
        """The queue that it names, or that its handle was opened with."""
        return self.call.queue

    @property
    def came(self) -> str:
        """Its status in words."""
        symbol = name(self.status) if self.status else Status.MQ_OK.name
        return f"a fault, {symbol}" if self.call.fault else symbol

    def path(self, member: str) -> str:
        """Where a deviation points at; the members of RemoteRead stand in its requests themselves."""
        return f"request.{member}" if self.call.interface == "RemoteRead" else "opnum"

    def row(self, check: str) -> RuleRow | None:
        """The row of its method that a check is about, or that of all methods."""
        return self.checks.get(check)

    def deviation(
        self,
        kind: ReplayKind,
        rule: RuleRow | ProcessingRule,
        message: str,
        expected: str = "",
        *,
        came: str = "",
        path: str = "opnum",
        certain: bool = True,
    ) -> ReplayDeviation:
        """What is wrong with its reply, by a row; a guess, or what a document contradicts, is likely at most.

        ``expected`` is what the row says of the reply where nothing else is said.
        """
        record = self.record
        row = rule if isinstance(rule, RuleRow) else None
        return ReplayDeviation(
            kind=kind,
            **place_of(record),
            stream=self.stream,
            path=path,
            server=self.server,
            interface=self.call.interface,
            method=self.method,
            queue=self.queue,
            message=message,
            expected=expected or (row.due if row else ""),
            came=came or self.came,
            rule=rule.rule if isinstance(rule, RuleRow) else rule,
            certain=certain and not self.call.guessed and not (row and row.contradiction),
            contradiction=row.contradiction if row else "",
        )


def number(value: Any, name: str) -> int | None:
    """A member that is a number."""
    found = getattr(value, name, None)
    return found if isinstance(found, int) else None


def handle(value: Any, name: str) -> ContextHandle | None:
    """A member that is a context handle."""
    found = getattr(value, name, None)
    return found if isinstance(found, ContextHandle) and isinstance(found.uuid, GUID) else None


def observe(record: Record, carried: Record | None = None) -> ObservedCall | None:
    """The call in an ``rpc_call`` record with the message that it ``carried``.

    None where what was asked, or when, is not known.
    """
    call = record.packet
    if record.type != "rpc_call" or not isinstance(call, RpcCall) or call.method not in METHODS:
        return None
    if call.request is None or record.error is not None or record.time is None:
        return None
    ok: bool | None = None
    if call.fault:
        ok = False
    elif call.response is not None and call.complete:
        # Success is MQ_OK alone: what else is no failure tells that nothing was done.
        ok = True if not call.status else False if call.status >= _FAILED else None
    return ObservedCall(
        record=record,
        call=call,
        server=host_of(record.dst),
        client=host_of(record.src),
        stream=record.stream,
        method=call.method,
        request=call.request,
        response=call.response,
        # Without a latency the call may have begun at any time before.
        begun=0 if call.latency is None else record.time - call.latency,
        ended=record.time,
        ok=ok,
        message=None if carried is None else _message(carried),
        role=call.role,
        members=call.members,
        checks=checks_of(call.method),
    )


def _message(carried: Record) -> ObservedMessage:
    packet = carried.packet
    if isinstance(packet, TransferBuffer):
        return _received(packet)
    user = reached(packet, "user_header")
    source, sent = reached(user, "source_queue_manager"), number(user, "message_id")
    sizes = (
        number(reached(packet, "message_properties_header"), "message_size"),
        number(reached(packet, "compound_message_header"), "http_body_size"),
    )
    size = next((one for one in sizes if one is not None), None)
    flags = number(reached(packet, "base_header"), "flags")
    identity = None
    if isinstance(source, GUID) and sent is not None and size is not None:
        identity = MessageIdentity(source, sent, number(user, "sent_time"), size)
    return ObservedMessage(
        packet=packet,
        identity=identity,
        priority=None if flags is None else flags & 7,
    )


def _received(buffer: TransferBuffer) -> ObservedMessage:
    """The message of an application, as far as it asked for it."""
    properties = buffer.properties
    identifier, size = properties.identifier, properties.body_length
    identity = None
    if isinstance(identifier, ObjectId) and isinstance(identifier.lineage, GUID):
        sent = number(properties, "sent_time")
        identity = MessageIdentity(identifier.lineage, identifier.uniquifier, sent, size)
    return ObservedMessage(packet=buffer, identity=identity, priority=properties.priority)
