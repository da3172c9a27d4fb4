"""`RecordedHosts`: the two computers on which a scenario is recorded, ``own`` and ``other``.

The rule kept here: what ``own`` sends and gets is on the wire and in the capture; what its application does
with its own queue manager is neither. Both computers have the time of the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import random

import msgspec

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.application import Application
from msmq_wire.lab.closing import Closing
from msmq_wire.lab.http_client import HttpClient
from msmq_wire.lab.queue_reader import RemoteReadReader, connect_reader
from msmq_wire.lab.recorded_messages import moment_text
from msmq_wire.lab.recordings.recording import RecordedHost
from msmq_wire.lab.recordings.scenario import Scenario, Step
from msmq_wire.lab.server import LabServer, LabServices, LabSettings
from msmq_wire.units import SECOND
from msmq_wire.wire.types.guid import GUID

OWN, OTHER, NOWHERE = "own", "other", "nowhere"
_OWN_ADDRESS = "127.0.0.1"
_OTHER_ADDRESSES = tuple(f"127.0.0.{number}" for number in range(2, 255))
_SUFFIXES = {"journal": "journal", "deadletter": "deadletter", "xactdeadletter": "deadxact"}
_SYSTEM = "msmq-wire lab"
_ANY_PORTS = {"port": 0, "ping_port": 0, "rpc_port": 0, "http_port": 0}


class RecordedHosts(Closing):
    """Two queue managers with the queues of a scenario, and an application on one of them.

    ``begin`` is when they start, in seconds since 1970; identifiers are drawn from ``seed``. `start` them in
    the loop that runs, with a capture whose clock is `now`.
    """

    def __init__(self, scenario: Scenario, *, begin: int, seed: int) -> None:
        self.scenario = scenario
        self.randomness = random.Random(f"recording {seed}")
        self.application: Application
        self.own: LabServer
        self.other: LabServer
        self._identifiers = {name: GUID(self.randomness.randbytes(16)) for name in (OWN, OTHER)}
        self._begin = begin
        self._zero = asyncio.get_running_loop().time()
        self._capture: CaptureWriter | None = None
        self._services: LabServices
        self._reader: RemoteReadReader | None = None
        self._stack = contextlib.AsyncExitStack()

    def now(self) -> int:
        """How late it is, in nanoseconds since 1970."""
        return self._begin * SECOND + int((asyncio.get_running_loop().time() - self._zero) * SECOND)

    def moment(self) -> str:
        """How late it is, as it is recorded."""
        seconds, nanoseconds = divmod(self.now(), SECOND)
        return moment_text(seconds, nanoseconds // 1000)

    async def start(self, capture: CaptureWriter) -> None:
        """Start both; `MsmqWireError` where there is no port for one of them."""
        self._capture = capture
        self._services = await self._start_other()
        settings = msgspec.structs.replace(
            self._settings(OWN), host=_OWN_ADDRESS, neighbours={OTHER: self._services.binary}, **_ANY_PORTS
        )
        self.own = await self._stack.enter_async_context(LabServer(settings, capture=capture))
        self.own.clock.start(self._zero)
        self._make_queues(self.own, OWN)
        await self.own.start()
        self.application = Application(self.own, self.randomness)
        self._stack.callback(self.application.close)

    def _settings(self, name: str) -> LabSettings:
        return LabSettings(
            queues=(),
            transactional_queues=(),
            computer_name=name,
            identifier=self._identifiers[name],
            time=self._begin,
        )

    async def _start_other(self) -> LabServices:
        """Start ``other`` on an address of its own, where nobody has its ports; else where ``own`` is."""
        usual = self._settings(OTHER)
        candidates = [msgspec.structs.replace(usual, host=address) for address in _OTHER_ADDRESSES]
        candidates.append(msgspec.structs.replace(usual, host=_OWN_ADDRESS, **_ANY_PORTS))
        error: MsmqWireError | None = None
        for settings in candidates:
            self.other = LabServer(settings)
            self.other.clock.start(self._zero)
            self._make_queues(self.other, OTHER)
            try:
                services = await self.other.start()
            except MsmqWireError as refused:
                error = refused
                await self.other.close()
            else:
                self._stack.push_async_exit(self.other)
                return services
        assert error is not None
        raise error

    def _make_queues(self, lab: LabServer, host: str) -> None:
        for one in self.scenario.queues:
            if one.exists and one.host == host:
                made = lab.manager.add_queue(_path(one.name), transactional=one.transactional)
                made.journaling = one.journal

    def is_remote(self, queue: str) -> bool:
        """Whether a queue is not one of ``own``."""
        return self.scenario.queue(queue).host != OWN

    def format_name(self, queue: str) -> str:
        """The direct format name of a queue that a step names."""
        name, _, behind = queue.partition(";")
        where = self.scenario.queue(queue).host
        path = _path(name) if name else "system$"
        suffix = _SUFFIXES.get(behind, behind)
        return f"DIRECT=OS:{where}\\{path}" + (f";{suffix}" if suffix else "")

    def path_name(self, queue: str) -> str:
        """The path name of a queue of ``own``."""
        return f".\\{_path(queue)}"

    def opened_name(self, step: Step) -> str | None:
        """The format name of what a step opens; None where it opens nothing."""
        if not step.queue:
            return None
        if step.via == "http":
            return f"DIRECT={self.url(step.queue)}"
        return self.format_name(step.queue)

    @staticmethod
    async def pass_time(seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    def url(self, queue: str) -> str:
        """The URL of a queue of ``other``."""
        host, port = self._services.http
        return f"http://{host}:{port}/msmq/{_path(queue)}".replace("\\", "/")

    async def reader(self) -> RemoteReadReader:
        """The queue manager of ``own`` as a client of RemoteRead at ``other``; one connection for all."""
        if self._reader is None:
            host, port = self._services.rpc
            self._reader = await self._stack.enter_async_context(
                await connect_reader(
                    host,
                    port,
                    identifier=self._identifiers[OWN],
                    randomness=self.randomness,
                    capture=self._capture,
                )
            )
        return self._reader

    def poster(self) -> HttpClient:
        """A connection of ``own`` to the HTTP server of ``other``."""
        return HttpClient(*self._services.http, capture=self._capture)

    def described(self, name: str) -> RecordedHost:
        """A host as it is recorded."""
        address = _OWN_ADDRESS if name == OWN else self._services.binary[0]
        return RecordedHost(
            name=name,
            addresses=(address,),
            system=_SYSTEM,
            queue_manager=str(self._identifiers[name]),
        )

    async def close(self) -> None:
        """End all sessions and calls."""
        await self._stack.aclose()


def _path(queue: str) -> str:
    return f"private$\\msmqwire_{queue}"
