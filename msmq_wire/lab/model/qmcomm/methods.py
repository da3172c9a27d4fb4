"""What the methods of qmcomm have in common: who may call, how a failure is told, which queue is meant.

[MS-MQMP] 2.1, 3.1.4, 5.1. The rule kept here: what holds for the whole interface is looked at before a method
begins, in this order: the security of the call, its stub, and whether this is a supporting server.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from msmq_wire.errors import EncodeError
from msmq_wire.lab.model.data.elements import ModelQueueManager, Queue
from msmq_wire.lab.model.data.enumerations import ModelQueueType
from msmq_wire.lab.model.data.timers import Timer
from msmq_wire.lab.model.events.queue import find_queue
from msmq_wire.lab.model.interface_server import (
    BAD_STUB_DATA,
    CallResult,
    ClientAssociation,
    Done,
    InterfaceServer,
    ServerCall,
)
from msmq_wire.lab.model.qmcomm.environment import QmcommEnvironment
from msmq_wire.lab.model.qmcomm.local_queue_context import RemoteBinding
from msmq_wire.rpc.constants import ObjectType
from msmq_wire.rpc.interfaces import Role, qmcomm
from msmq_wire.rpc.interfaces.method import Interface, Method
from msmq_wire.rpc.ndr import StubValue, encode_stub, inspect_stub
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.wire.names import FormatName, QueueFormatType, QueueSuffixType, suffix_problems

NO_CURSOR = 0x0000000B
"""hCursor that rpc_ACCloseCursor has nothing to do for. [MS-MQMP] 3.1.4.19"""

_NOT_AUTHENTICATED = 1
_FOR_EVERY_SERVER = frozenset(
    (Role.OPEN_FOR_ANOTHER, Role.CLOSE_FOR_ANOTHER, Role.CREATE_CURSOR_FOR_ANOTHER, Role.ASK_PORT)
)
_FAILURE = 0x8000_0000
_FIVE_MINUTES = 300_000
_CALL_CANCELLED = 0x0000071A

_ACCESS_DENIED = 0x00000005
"""RPC_S_ACCESS_DENIED"""
CONTEXT_MISMATCH = 0x1C00001A
"""nca_s_fault_context_mismatch"""


def fail(call: ServerCall, status: int, **parameters: Any) -> None:
    """Answer with a status; out parameters are what they are without a value, unless they are given."""
    call.reply(call.method.response.cls(status=int(status), **parameters))


def failed(status: int) -> bool:
    """Whether an HRESULT has the bit of a failure."""
    return bool(status & _FAILURE)


def name_of(queue_format: QueueFormat) -> FormatName | None:
    """The format name in a QUEUE_FORMAT; None where it breaks a rule of [MS-MQMQ] 2.1 or 2.2.7."""
    if suffix_problems(queue_format.m_qft, queue_format.m_suffix_and_flags):
        return None
    return queue_format.format_name


def remote_status(answer: CallResult) -> int:
    """What another queue manager said; where RPC failed, that it could not be reached."""
    status = answer.status
    if answer.fault is not None and not failed(answer.fault):
        return Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE
    return Status.MQ_OK if status is None else status


class _Question(msgspec.Struct, eq=False, kw_only=True):
    """A call to another queue manager; ``late`` gets an answer that nobody waits for any more."""

    call: ServerCall
    done: Done
    late: Done
    timer: Timer | None = None


def whatever_comes(_: CallResult) -> None:
    """What the other queue manager says makes no difference."""


class QmcommMethods(InterfaceServer):
    """A server of qmcomm without its methods."""

    INTERFACE: ClassVar[Interface] = qmcomm.INTERFACE

    def __init__(self, manager: ModelQueueManager, environment: QmcommEnvironment | None = None) -> None:
        super().__init__(manager)
        self.environment = QmcommEnvironment() if environment is None else environment
        self._questions: list[_Question] = []

    def serve(
        self, association: ClientAssociation, opnum: int, request: Any, done: Done
    ) -> ServerCall | None:
        """Take a call; ``done`` gets its answer. None where there is no such method."""
        method = self.INTERFACE.methods.get(opnum)
        if method is None:
            return super().serve(association, opnum, request, done)
        call = ServerCall(association=association, method=method, done=done)
        anonymous = association.auth_level <= _NOT_AUTHENTICATED
        if self.environment.authentication_required and anonymous and method.role is not Role.ASK_PORT:
            call.throw(_ACCESS_DENIED)
            return call
        fault = _refusal(method, request, association)
        if fault is not None:
            call.throw(fault)
            return call
        if not self.environment.supporting_server and method.role not in _FOR_EVERY_SERVER:
            fail(call, Status.MQ_ERROR)
            return call
        return super().serve(association, opnum, request, done)

    def ask(
        self,
        call: ServerCall,
        binding: RemoteBinding,
        name: str,
        request: Any,
        done: Done,
        late: Done = whatever_comes,
    ) -> None:
        """Call another queue manager for a client: ``done`` gets the answer, or a fault after five minutes.

        When the client goes first, ``done`` gets a fault then. [MS-MQQP] 3.2.4.1
        """
        question = _Question(call=call, done=done, late=late)
        self._questions.append(question)
        given_up = CallResult(fault=_CALL_CANCELLED)
        question.timer = self.manager.timers.start(_FIVE_MINUTES, lambda: self._answered(question, given_up))
        binding(name, request, lambda answer: self._answered(question, answer))

    def _answered(self, question: _Question, answer: CallResult) -> None:
        if question not in self._questions:
            question.late(answer)
            return
        self._questions.remove(question)
        if question.timer is not None:
            question.timer.cancel()
        question.done(answer)

    def rundown_questions(self, association: ClientAssociation) -> None:
        """A client that is gone waits for nobody."""
        for question in list(self._questions):
            if question.call.association is association:
                self._answered(question, CallResult(fault=_CALL_CANCELLED))

    def private_queue(self, object_format: ObjectFormat) -> tuple[int, Queue | None]:
        """The private queue that an OBJECT_FORMAT names, or the status of what is wrong with it."""
        status, name = self.object_name(object_format)
        if name is None:
            return status, None
        if name.suffix is QueueSuffixType.SUBQUEUE:
            # To look for a subqueue would make it.
            whole = msgspec.structs.replace(name, suffix=QueueSuffixType.NONE, subqueue="")
            there = find_queue(self.manager, whole) is not None
            return _unsupported_or_not_found(there), None
        queue = find_queue(self.manager, name)
        if queue is None or queue.queue_type is not ModelQueueType.PRIVATE:
            return _unsupported_or_not_found(queue is not None), None
        return Status.MQ_OK, queue

    def object_name(self, object_format: ObjectFormat) -> tuple[int, FormatName | None]:
        """The format name in an OBJECT_FORMAT, or the status of what is wrong with it."""
        queue_format = object_format.arm
        if object_format.obj_type != ObjectType.QUEUE or queue_format is None:
            return Status.MQ_ERROR_INVALID_PARAMETER, None
        name = None if queue_format.m_qft == QueueFormatType.UNKNOWN else name_of(queue_format)
        return (Status.MQ_ERROR_ILLEGAL_FORMATNAME, None) if name is None else (Status.MQ_OK, name)


def _unsupported_or_not_found(there: bool) -> int:
    return Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION if there else Status.MQ_ERROR_QUEUE_NOT_FOUND


def _refusal(method: Method, request: Any, association: ClientAssociation) -> int | None:
    """The status of the fault that a request gives; None when the method may run.

    Such a request can be encoded, keeps the bounds of its declaration, and names only context handles that
    the client holds. [C706] 14, [MS-RPCE] 3.1.1.5.3
    """
    if not _is_stub(method, request):
        return BAD_STUB_DATA
    for name in method.request.names:
        value = getattr(request, name, None)
        if isinstance(value, ContextHandle) and association.handles.get(value.uuid) is None:
            return CONTEXT_MISMATCH
    return None


def _is_stub(method: Method, request: Any) -> bool:
    """Whether the RPC runtime takes the request as a stub, by writing and reading it as one."""
    object_format = getattr(request, "p_object_format", None)
    if isinstance(object_format, ObjectFormat) and object_format.obj_type == ObjectType.LOCAL_USE:
        # The arm for local use is declared nowhere; the methods refuse it.
        request = msgspec.structs.replace(request, p_object_format=ObjectFormat())
    try:
        data = encode_stub(method.request, StubValue(request))
    except EncodeError:
        return False
    found = inspect_stub(method.request, data)
    return found.error is None and not any(one.code.startswith("ndr.") for one in found.anomalies)
