"""Records whose ``packet`` is no structure of the wire, but put together from several: calls and SRMP.

The rule kept here: each is declared in one place, and JSON view, schemas, tables and documentation follow it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from msmq_wire.records.com_packets import ComCall
from msmq_wire.records.rpc_packets import RpcBind, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage

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
