"""How a session is opened, its states, and why it is closed. [MS-MQQB] 3.1.5.2.3 to 3.1.5.4, 3.1.5.9

The rule kept here: an answer echoes what the text wants echoed; all else is our own.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias

import msgspec

from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.types.enumerations import InternalPacketType
from msmq_wire.wire.types.guid import GUID

_CS = 0x10
_RECOVERABLE_ACK = (0x1F4, 0x1D4C0)
_ACK = (0x4E20, 0x1D4C0)


ClosedFor: TypeAlias = Literal[
    "refused",
    "wrong_queue_manager",
    "not_open",
    "second_establish",
    "bad_packet",
    "message_counts",
    "quota",
    "initialization_timeout",
    "ack_timeout",
    "idle",
    "disconnected",
    "stopped",
]
"""Why a session was closed; the other side refused it, or one of the rules of [MS-MQQB] 3.1.5 wants it."""


class SessionState(Enum):
    """SessionState. [MS-MQQB] 3.1.1.3.1"""

    WAITING_EC_MSG = "WAITING_EC_MSG"
    WAITING_ECR_MSG = "WAITING_ECR_MSG"
    WAITING_CP_MSG = "WAITING_CP_MSG"
    WAITING_CPR_MSG = "WAITING_CPR_MSG"
    OPEN = "OPEN"
    CLOSED = "CLOSED"


def _within(value: int, limits: tuple[int, int]) -> int:
    return min(max(value, limits[0]), limits[1])


def recoverable_ack_timeout_of(milliseconds: int) -> int:
    """The time nearest to this one that RecoverableAckTimeout may have. [MS-MQQB] 2.2.2.1"""
    return _within(milliseconds, _RECOVERABLE_ACK)


def ack_timeout_of(milliseconds: int) -> int:
    """The time nearest to this one that AckTimeout may have. [MS-MQQB] 2.2.2.1"""
    return _within(milliseconds, _ACK)


def is_refused(packet: EstablishConnection | ConnectionParameters) -> bool:
    """Whether CS says that the session is refused. [MS-MQQB] 2.2.1"""
    return bool(packet.internal_header.flags & _CS)


def establish_request(client: GUID, server: GUID, time_stamp: int, *, ping_sent: bool) -> EstablishConnection:
    """The first packet; ``server`` is NULL where only an address is known. [MS-MQQB] 3.1.5.2.3"""
    header = EstablishConnectionHeader(client_guid=client, server_guid=server, time_stamp=time_stamp)
    return EstablishConnection(establish_connection_header=header.with_bits(se=int(not ping_sent)))


def establish_response(
    request: EstablishConnectionHeader, server: GUID, *, refused: bool
) -> EstablishConnection:
    """The answer to it. [MS-MQQB] 3.1.5.3.1"""
    header = EstablishConnectionHeader(
        client_guid=request.client_guid, server_guid=server, time_stamp=request.time_stamp
    )
    flags = InternalPacketType.ESTABLISH_CONNECTION | (_CS if refused else 0)
    return EstablishConnection(
        internal_header=InternalHeader(flags=flags),
        establish_connection_header=header.with_bits(se=request.bit("se")),
    )


def parameters_request(
    recoverable_ack_timeout: int, ack_timeout: int, window_size: int
) -> ConnectionParameters:
    """What the initiator proposes. [MS-MQQB] 3.1.5.3.2"""
    header = ConnectionParametersHeader(
        recoverable_ack_timeout=recoverable_ack_timeout, ack_timeout=ack_timeout, window_size=window_size
    )
    return ConnectionParameters(connection_parameters_header=header)


def parameters_response(request: ConnectionParametersHeader, window_size: int) -> ConnectionParameters:
    """The answer: the same times, and the acceptor's window. [MS-MQQB] 3.1.5.4.1"""
    header = msgspec.structs.replace(request, reserved=0, window_size=window_size)
    return ConnectionParameters(connection_parameters_header=header)
