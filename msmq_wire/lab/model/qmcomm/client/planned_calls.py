"""`PlannedCall`: the calls of a qmcomm client, with what it keeps and returns. [MS-MQMP] 3.2.1

The rule kept here: a call names its interface, its method and the endpoint that it goes to, so that whoever
drives a client needs to know nothing else of the protocol.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, Self, TypeAlias, TypeVar

import msgspec

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.rpc.interfaces import qmcomm, qmcomm2
from msmq_wire.rpc.interfaces.method import Interface
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID

ATTEMPTS = 3
"""How often a call is made whose answer says that it needs more room."""

_T = TypeVar("_T")
_METHODS = {
    method.name: (interface, opnum)
    for interface in (qmcomm.INTERFACE, qmcomm2.INTERFACE)
    for opnum, method in interface.methods.items()
}


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a binding handle leads: a computer and a TCP port, 0 for the one that the computer names.

    Context handles are good at the endpoint that gave them.
    """

    computer: str
    port: int = 0


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call to be made: ``request`` is the declared value of the method's parameters."""

    interface: Interface
    opnum: int
    request: Any
    endpoint: Endpoint

    @classmethod
    def of(cls, name: str, request: Any, endpoint: Endpoint) -> Self:
        """The call of a method of qmcomm or qmcomm2 by its name."""
        interface, opnum = _METHODS[name]
        return cls(interface=interface, opnum=opnum, request=request, endpoint=endpoint)

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.interface.methods[self.opnum].name


Steps: TypeAlias = Generator[PlannedCall, CallResult, _T]
"""An operation: it yields calls, is sent the `CallResult` of each, and returns what the application gets."""


class Result(msgspec.Struct, Generic[_T], frozen=True, kw_only=True):
    """What came of an operation: ``value`` is None where ``status`` is not MQ_OK.

    All failures mean the same to a client; the status is there to be told to people.
    """

    status: int
    value: _T | None = None


class OpenQueueContext(msgspec.Struct, eq=False, kw_only=True):
    """A queue that is open: OpenQueueContext of [MS-MQMP] 3.2.1.2, and each CursorIdentifier of 3.2.1.3.

    ``handle`` is phQueue and ``context`` pdwQMContext of one call of rpc_QMOpenQueueInternal. ``deleted``
    says that this client has deleted the queue.
    """

    handle: ContextHandle
    context: int
    format_name: str
    access: int
    endpoint: Endpoint
    cursors: set[int] = set()
    closed: bool = False
    deleted: bool = False

    def check_in_use(self) -> None:
        """Raise ValueError where the queue was closed or deleted."""
        if self.closed or self.deleted:
            raise ValueError(f"{self.format_name} was {'closed' if self.closed else 'deleted'}")

    def check_cursor(self, cursor: int) -> None:
        """Raise ValueError for a number that is no cursor of this queue."""
        if cursor not in self.cursors:
            raise ValueError(f"{cursor} is no cursor of {self.format_name}")


class EnlistedTransaction(msgspec.Struct, eq=False, kw_only=True):
    """A transaction in which the server is enlisted; ``identifier`` is its XACTUOW. [MS-MQMP] 2.2.3.1

    ``handle`` is that of an internal transaction, NULL for an external one, which its coordinator ends.
    """

    identifier: GUID
    endpoint: Endpoint
    handle: ContextHandle = ContextHandle()
    ended: bool = False


def answered(answer: CallResult) -> int:
    """The status of an answer; a fault is a failure as any other, and never MQ_OK."""
    if answer.fault is not None:
        return answer.fault or Status.MQ_ERROR
    return Status.MQ_OK if answer.status is None else answer.status
