"""Queries and controls a queue manager by qmmgmt, [MS-MQMR]."""

from __future__ import annotations

from collections.abc import Sequence

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.closing import Closing
from msmq_wire.lab.model.qmmgmt.client import ManagementResult, act, get_info
from msmq_wire.lab.queue_reader import drive
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.rpc.constants import ManagementAction
from msmq_wire.rpc.interfaces import qmmgmt


class ManagementClient(Closing):
    """A management client of a queue manager; made with `connect_management`, used as a context."""

    def __init__(self, client: RpcClient) -> None:
        self._client = client

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def get(self, format_name: str | None = None, propids: Sequence[int] = ()) -> ManagementResult:
        """Properties of a queue, or without a name of the computer; without ``propids`` all of them."""
        return await drive(self._client, qmmgmt.INTERFACE, get_info(format_name, propids))

    async def act(self, action: ManagementAction, format_name: str | None = None) -> int:
        """Have a queue, or without a name the computer, do something; the status."""
        return await drive(self._client, qmmgmt.INTERFACE, act(action, format_name))


async def connect_management(
    host: str, port: int, *, capture: CaptureWriter | None = None
) -> ManagementClient:
    """Connect to a server of qmmgmt. Raises `MsmqWireError` where there is none."""
    client = await RpcClient.connect(host, port, capture=capture)
    try:
        await client.bind(qmmgmt.INTERFACE)
    except MsmqWireError:
        await client.close()
        raise
    return ManagementClient(client)
