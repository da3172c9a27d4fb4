"""A queue that a client of qm2qm has open, and the calls on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from msmq_wire.lab.model.data.elements import Cursor, ModelMessage, OpenQueueDescriptor
from msmq_wire.lab.model.data.enumerations import QueueAccessType
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qm2qm.entries import Qm2qmConfiguration
from msmq_wire.lab.model.qm2qm.server import Qm2qmServer
from msmq_wire.rpc.constants import ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces import qm2qm
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.scene import (
    Client,
    ServerScene,
    Waiting,
    body_of,
    put,
)

START = "remote_qm_start_receive"
START2 = "remote_qm_start_receive2"
LOOKUP = "remote_qm_start_receive_by_lookup_id"
LICENCE = GUID(b"a client of qm2qm"[:16])
RECEIVE = ReceiveAction.MQ_ACTION_RECEIVE
PEEK = ReceiveAction.MQ_ACTION_PEEK_CURRENT
PEEK_NEXT = ReceiveAction.MQ_ACTION_PEEK_NEXT
NULL = ContextHandle()
both = pytest.mark.parametrize("method", [START, START2])


def read_of(answer: CallResult | Waiting) -> RemoteReadDesc:
    """The REMOTEREADDESC of an answered start, whichever of the three it was."""
    response = answer.response
    if isinstance(response, qm2qm.RemoteQMStartReceiveResponse):
        return response.lp_remote_read_desc
    read = response.lp_remote_read_desc2.p_remote_read_desc
    assert isinstance(read, RemoteReadDesc)
    return read


def body_read(answer: CallResult | Waiting) -> bytes:
    """The body of the message that an answered start gave."""
    return body_of(read_of(answer).lp_buffer or b"")


class Scene(ServerScene[Qm2qmServer]):
    """A queue ``orders``, open for a client by way of qmcomm and qm2qm.

    ``handle`` is the number of its descriptor, ``session`` the context handle of RemoteQMOpenQueue;
    ``method`` starts its reads.
    """

    def __init__(
        self,
        access: QueueAccessType = QueueAccessType.RECEIVE_ACCESS,
        configuration: Qm2qmConfiguration | None = None,
        *,
        opened: bool = True,
        method: str = START,
        bodies: Iterable[bytes] = (),
    ) -> None:
        super().__init__(Qm2qmServer, *bodies, configuration=configuration)
        self.method = method
        self.descriptor = self.opened(access)
        self.handle = self.descriptor.handle
        self.session = self.open() if opened else NULL

    def open(self, client: Client | None = None, handle: int = 0) -> ContextHandle:
        """RemoteQMOpenQueue."""
        number = handle or self.handle
        request = qm2qm.RemoteQMOpenQueueRequest(
            p_lic_guid=LICENCE, h_queue=number, p_queue=number, dwp_context=number
        )
        answer = (client or self.client).call("remote_qm_open_queue", request)
        assert answer.status == Status.MQ_OK
        handle_of_queue = answer.response.ph_context
        assert isinstance(handle_of_queue, ContextHandle)
        return handle_of_queue

    def cursor(self, descriptor: OpenQueueDescriptor | None = None) -> Cursor:
        """What R_QMCreateRemoteCursor of qmcomm makes."""
        made = open_cursor(descriptor or self.descriptor)
        assert made is not None
        return made

    def wanted(self, action: int, *, queue: int | None = None, **fields: Any) -> RemoteReadDesc:
        """A REMOTEREADDESC for this queue or the descriptor with another number."""
        number = self.handle if queue is None else queue
        wanted = RemoteReadDesc(h_remote_queue=number, dw_queue=number, ul_action=action, dw_request_id=1)
        return msgspec.structs.replace(wanted, **fields)

    def start(
        self, action: int, *, method: str | None = None, client: Client | None = None, **fields: Any
    ) -> Waiting:
        """RemoteQMStartReceive or RemoteQMStartReceive2."""
        method = method or self.method
        wanted = self.wanted(action, **fields)
        request: Any = qm2qm.RemoteQMStartReceiveRequest(lp_remote_read_desc=wanted)
        if method == START2:
            request = qm2qm.RemoteQMStartReceive2Request(
                lp_remote_read_desc2=RemoteReadDesc2(p_remote_read_desc=wanted, sequential_id=77)
            )
        return (client or self.client).start(method, request)

    def read(self, action: int, **fields: Any) -> CallResult:
        """A start that is answered at once."""
        answer = self.start(action, **fields).answer
        assert answer is not None, "the call waits"
        return answer

    def refuses(self, status: int, action: int, **fields: Any) -> None:
        """A start fails, and a message that is there stays there to be read."""
        message = put(self.queue, b"m")
        assert self.read(action, **fields).status == status
        assert self.nothing_happened(message)

    def lookup(self, action: int, lookup_id: int, **fields: Any) -> CallResult:
        """RemoteQMStartReceiveByLookupId."""
        wanted = RemoteReadDesc2(p_remote_read_desc=self.wanted(action, **fields), sequential_id=77)
        return self.client.call(
            LOOKUP,
            qm2qm.RemoteQMStartReceiveByLookupIdRequest(lookup_id=lookup_id, lp_remote_read_desc2=wanted),
        )

    def end(self, handle: ContextHandle, ack: int = RemoteReadAck.RR_ACK) -> CallResult:
        """RemoteQMEndReceive."""
        return self.client.call(
            "remote_qm_end_receive", qm2qm.RemoteQMEndReceiveRequest(pph_context=handle, dw_ack=ack)
        )

    def cancel(
        self, request_id: int = 1, *, handle: int | None = None, same: int | None = None
    ) -> CallResult:
        """RemoteQMCancelReceive; ``same`` is pQueue where it is not ``handle``."""
        queue = self.handle if handle is None else handle
        request = qm2qm.RemoteQMCancelReceiveRequest(
            h_queue=queue, p_queue=queue if same is None else same, dw_request_id=request_id
        )
        return self.client.call("remote_qm_cancel_receive", request)

    def close(self, session: ContextHandle | None = None) -> CallResult:
        """RemoteQMCloseQueue."""
        request = qm2qm.RemoteQMCloseQueueRequest(pph_context=self.session if session is None else session)
        return self.client.call("remote_qm_close_queue", request)

    def purge(self, handle: int | None = None) -> CallResult:
        """RemoteQMPurgeQueue."""
        queue = self.handle if handle is None else handle
        return self.client.call("remote_qm_purge_queue", qm2qm.RemoteQMPurgeQueueRequest(h_queue=queue))

    def close_cursor(self, cursor: int, handle: int | None = None) -> CallResult:
        """RemoteQMCloseCursor."""
        queue = self.handle if handle is None else handle
        request = qm2qm.RemoteQMCloseCursorRequest(h_queue=queue, h_cursor=cursor)
        return self.client.call("remote_qm_close_cursor", request)

    @property
    def pending(self) -> int:
        """How many reads wait."""
        return len(self.server.remote_read_entry_collection)

    def nothing_happened(self, message: ModelMessage | None = None) -> bool:
        """Whether no entry was made and the message, if there is one, is still there to read."""
        held = [thing for thing in self.client.association.handles.values() if hasattr(thing, "request_id")]
        position = None if message is None else message.message_position_reference
        available = position is None or (position.listed and position.state.value == "Available")
        return not self.pending and not held and available
