"""The client of qmcomm over sockets: each call that it wants is made, one after another."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.client.planned_calls import PlannedCall, Result
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.rpc.interfaces import qmcomm, qmcomm2
from msmq_wire.rpc.statuses import Status

T = TypeVar("T")


async def bind_qmcomm(client: RpcClient) -> None:
    """Offer both interfaces."""
    await client.bind(qmcomm.INTERFACE, qmcomm2.INTERFACE)


async def run_steps(client: RpcClient, steps: Generator[PlannedCall, CallResult, T]) -> T:
    """What an operation comes to."""
    try:
        step = next(steps)
        while True:
            step = steps.send(await client.call(step.interface, step.opnum, step.request))
    except StopIteration as end:
        value: T = end.value
        return value


async def good(client: RpcClient, steps: Generator[PlannedCall, CallResult, Result[T]]) -> T:
    """The value of an operation that succeeds."""
    result = await run_steps(client, steps)
    assert result.status == Status.MQ_OK, hex(result.status)
    assert result.value is not None
    return result.value
