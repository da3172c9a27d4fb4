"""`Application`: a program on the computer of a lab's queue manager, as it uses its own queue manager.

The rule kept here: it does what a client of [MS-MQMP] does, and nothing of that is on the wire, as nothing is
where an application and its queue manager are on one computer.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Generator
from typing import TypeVar

from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation
from msmq_wire.lab.model.qmcomm.client.client import QmcommClient
from msmq_wire.lab.model.qmcomm.client.planned_calls import PlannedCall
from msmq_wire.lab.model.qmcomm.qmcomm2 import Qmcomm2Server
from msmq_wire.lab.model.qmcomm.server import QmcommServer
from msmq_wire.lab.server import LabServer

_T = TypeVar("_T")


class Application:
    """An application of ``lab``; ``calls`` makes the operations that `run` does."""

    def __init__(self, lab: LabServer, randomness: random.Random) -> None:
        name = lab.manager.computer_name
        self.calls = QmcommClient(name, computer_name=name, randomness=randomness)
        self._clock = lab.clock
        self._servers = {
            one.INTERFACE.uuid: one for one in (QmcommServer(lab.manager), Qmcomm2Server(lab.manager))
        }
        self._association = ClientAssociation(number=0)

    async def run(self, operation: Generator[PlannedCall, CallResult, _T]) -> _T:
        """What an operation of ``calls`` comes to."""
        try:
            step = next(operation)
            while True:
                step = operation.send(await self._call(step))
        except StopIteration as end:
            value: _T = end.value
            return value

    def close(self) -> None:
        """Release everything that the application has open."""
        with self._clock.event():
            for server in self._servers.values():
                server.rundown(self._association)

    async def _call(self, step: PlannedCall) -> CallResult:
        answer: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()
        with self._clock.event():
            server = self._servers[step.interface.uuid]
            server.serve(self._association, step.opnum, step.request, answer.set_result)
        return await answer
