"""What a RemoteRead client keeps and returns: open queues, transactions, messages. [MS-MQRR] 3.2.1

The rule kept here: a message counts as received only where its packet can be put together and read.
"""

from __future__ import annotations

import msgspec

from msmq_wire.engines.codec import inspect
from msmq_wire.errors import DecodeError
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.reassembly.sections import join_sections
from msmq_wire.rpc.interfaces.remote_read import StartReceiveResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID

EPT_S_NOT_REGISTERED = 0x000006D9
"""The server has no RemoteRead: a client turns to qm2qm. [MS-MQRR] 3.2.4.1"""


class ClientTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction of the application. [MS-MQRR] 2.2.8

    ``propagation_token`` is that of an external transaction, which a server has to be enlisted in; None for
    an internal one.
    """

    identifier: GUID
    propagation_token: bytes | None = None


class OpenRemoteQueue(msgspec.Struct, eq=False, kw_only=True):
    """A queue that is open at a server: its handle, its cursors and the requests that are pending.

    ``pending`` gives for the number of each request the cursor that it uses, or 0.
    ``move_context`` is what R_MoveMessage takes for a queue that was opened for that. [MS-MQRR] 3.2.1
    """

    handle: ContextHandle
    format_name: str
    access: int
    move_context: int = 0
    cursors: set[int] = set()
    pending: dict[int, int] = {}
    closed: bool = False


class OpenResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an attempt to open a queue; ``queue`` is None where ``status`` is no success."""

    status: int
    queue: OpenRemoteQueue | None = None

    @property
    def use_qm2qm(self) -> bool:
        """Whether the server is one that knows only the protocol of [MS-MQQP]."""
        return self.status == EPT_S_NOT_REGISTERED


class ReceiveResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a peek or a receive.

    ``packet`` are the bytes of a ``message_packet``, None without success; ``missing`` are the ranges of it
    that the limits left out. ``arrive_time`` is in seconds since 1970, ``sequence_id`` the low 7 bytes of the
    lookup identifier.
    """

    status: int
    packet: bytes | None = None
    missing: tuple[tuple[int, int], ...] = ()
    arrive_time: int = 0
    sequence_id: int = 0


def status_of(answer: CallResult) -> int:
    """The status of an answer; a method that returns none and threw nothing succeeded."""
    return Status.MQ_OK if answer.status is None else answer.status


def received_of(answer: CallResult) -> ReceiveResult | None:
    """The message of an answer, or its failure; None for a message that cannot be rebuilt."""
    if status_of(answer) != Status.MQ_OK or not isinstance(answer.response, StartReceiveResponse):
        return ReceiveResult(status=status_of(answer))
    response = answer.response
    try:
        joined = join_sections(response.pp_packet_sections or ())
    except DecodeError:
        return None
    found = inspect(joined.data, as_="message_packet", missing=joined.missing)
    if joined.problems or found.error is not None:
        return None
    return ReceiveResult(
        status=Status.MQ_OK,
        packet=joined.data,
        missing=joined.missing,
        arrive_time=response.pdw_arrive_time,
        sequence_id=response.p_sequence_id,
    )
