"""What the client of qmcomm does at a server before all else: ask for its port and its settings.

[MS-MQMP] 3.1.4.23, 3.1.4.24, 3.2.4. The rules kept here: once a server has named its port, all other calls
go there; before the first of them the server is asked for its settings.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.client.planned_calls import (
    Endpoint,
    EnlistedTransaction,
    OpenQueueContext,
    PlannedCall,
    Result,
    Steps,
    answered,
)
from msmq_wire.rpc.constants import OperatingSystemCategory, PortProtocol, RegistryQueryType
from msmq_wire.rpc.interfaces.qmcomm_queues import GetServerPortRequest, QueryRegistryRequest
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_HIGHEST_PORT = 0xFFFF
_FOR_EVER = 0xFFFF_FFFF
_MOST_DIGITS = 10


class MachineOperations:
    """A client of ``computer``, its supporting server, and what it keeps.

    ``computer_name`` is the client's own, ``system`` what it says to run. Identifiers that it makes are from
    ``randomness``; ``licence_guid`` is the one that it made before, if it did, ``settings`` are the
    strings of the server by dwQueryType, if it was asked before. ``ask_port`` has it ask other computers for
    their port before it calls them.
    """

    def __init__(
        self,
        computer: str,
        *,
        computer_name: str,
        randomness: random.Random,
        licence_guid: GUID | None = None,
        settings: Mapping[int, str] | None = None,
        system: int = OperatingSystemCategory.NOT_MICROSOFT,
        ask_port: bool = True,
    ) -> None:
        self.endpoint = Endpoint(computer=computer)
        self.computer_name = computer_name
        self.randomness = randomness
        self.system = system
        self.ask_port = ask_port
        self.queues: list[OpenQueueContext] = []
        self.transactions: list[EnlistedTransaction] = []
        self._licence_guid = licence_guid
        self._settings = settings

    @property
    def settings(self) -> Mapping[int, str]:
        """What the server told of itself, by dwQueryType; without what it did not tell. [MS-MQMP] 3.2.4"""
        return self._settings or {}

    @property
    def default_time_to_reach_queue(self) -> int | None:
        """Seconds, as the server told them; None where it did not."""
        text = self.settings.get(RegistryQueryType.DEFAULT_TIME_TO_REACH_QUEUE, "")
        number = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None
        return None if number is None or number > _FOR_EVER else number

    @property
    def licence_guid(self) -> GUID:
        """LicenceGuid: made when it is used for the first time, and kept. [MS-MQMP] 3.2.1.1"""
        if self._licence_guid is None:
            self._licence_guid = self.new_guid()
        return self._licence_guid

    def new_guid(self) -> GUID:
        """A random identifier."""
        return GUID(self.randomness.randbytes(16))

    def get_server_port(self, protocol: int = PortProtocol.IP_HANDSHAKE) -> Steps[int]:
        """Ask the server for a port, 0 if that fails; all calls go to the port of IP_HANDSHAKE from then on.

        [MS-MQMP] 3.2.4. Queues that are open stay where they were opened.
        """
        wanted = PortProtocol(protocol)
        computer = self.endpoint.computer
        port = _port(
            (
                yield PlannedCall.of(
                    "R_QMGetRTQMServerPort", GetServerPortRequest(f_ip=wanted), Endpoint(computer=computer)
                )
            )
        )
        if port and wanted is PortProtocol.IP_HANDSHAKE:
            self.endpoint = Endpoint(computer=computer, port=port)
        return port

    def bind(self, computer: str) -> Steps[Endpoint | None]:
        """Where calls to another computer go; None where it names no port. [MS-MQMP] 3.2.4"""
        there = Endpoint(computer=computer)
        if not self.ask_port:
            return there
        port = _port((yield PlannedCall.of("R_QMGetRTQMServerPort", GetServerPortRequest(), there)))
        return Endpoint(computer=computer, port=port) if port else None

    def call(self, name: str, request: Any) -> Steps[CallResult]:
        """Call the server, which is asked for all of its settings before anything else. [MS-MQMP] 3.2.4"""
        endpoint = self.endpoint
        if self._settings is None:
            reported: dict[int, str] = {}
            for query_type in RegistryQueryType:
                setting = yield from self.query_registry(query_type)
                if setting.value is not None:
                    reported[query_type] = setting.value
            self._settings = reported
        return (yield PlannedCall.of(name, request, endpoint))

    def query_registry(self, query_type: int) -> Steps[Result[str]]:
        """Ask for a setting of the server as text. [MS-MQMP] 3.1.4.23, 3.2.4"""
        request = QueryRegistryRequest(dw_query_type=RegistryQueryType(query_type))
        answer = yield PlannedCall.of("R_QMQueryQMRegistryInternal", request, self.endpoint)
        status = answered(answer)
        if status != Status.MQ_OK:
            return Result(status=status)
        text = answer.response.lplp_mqis_server
        if not isinstance(text, WcharText):
            return Result(status=Status.MQ_ERROR)
        return Result(status=status, value=text.text)


def _port(answer: CallResult) -> int:
    """The TCP port in an answer; 0 where there is none."""
    if answer.fault is not None:
        return 0
    port: int = answer.response.return_value
    return port if port <= _HIGHEST_PORT else 0
