"""Records whose ``packet`` is no structure of the wire, but put together from several: calls and SRMP.

The rule kept here: each is declared in one place, and JSON view, schemas, tables and documentation follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, TypeAlias

import msgspec

from msmq_wire.records.com_packets import ComCall
from msmq_wire.records.record import UNKNOWN_PACKET
from msmq_wire.records.rpc_packets import RpcBind, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.wire.packets.base import InternalPacket
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.registry import PACKETS, Packet

COMPOSED: Mapping[str, type[msgspec.Struct]] = {
    "rpc_bind": RpcBind,
    "rpc_call": RpcCall,
    "rpc_fault": RpcFault,
    "transfer_buffer": TransferBuffer,
    "com_call": ComCall,
    "srmp_message": SrmpMessage,
    "srmp_receipt": SrmpMessage,
}
"""What ``packet`` is, by the type of the record."""

RECORD_TYPES: Mapping[str, Any] = {
    **PACKETS,
    # The sections of a message may hold no bytes.
    MessagePacket.stem(): MessagePacket | None,
    UNKNOWN_PACKET: InternalPacket | None,
    **COMPOSED,
    "gap": NoneType,
    "error": NoneType,
    "tcp_stream": NoneType,
}
"""Every type of a record, and what its ``packet`` is."""

RecordPacket: TypeAlias = (
    Packet | InternalPacket | RpcBind | RpcCall | RpcFault | TransferBuffer | ComCall | SrmpMessage | None
)
"""All that the ``packet`` of a record can be."""
