"""`LabServer`: a small queue manager that speaks all protocols of this project. Not for production.

The rule kept here: it is for captures, tests and fuzzing. Nothing is kept on disk, nobody is authenticated,
and what it holds is bounded.
"""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from msmq_wire.capture.conversation_writer import CaptureWriter, Endpoint
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.binary_connection import BinaryConnections
from msmq_wire.lab.binary_dialer import BinaryDialer
from msmq_wire.lab.binary_server import BinaryServer
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.closing import Closing
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.lab.http_server import HttpServer
from msmq_wire.lab.log import LabEvent, LabLog
from msmq_wire.lab.model.binary.outgoing import TransmissionQueue
from msmq_wire.lab.model.binary.protocol import BinaryProtocol
from msmq_wire.lab.model.binary.sending import Sending
from msmq_wire.lab.model.com.object_exporter import (
    ActivationServer,
    MessageServer,
    ObjectExporter,
    QueueInfoServer,
    QueueServer,
    QueueServer2,
    QueueServer3,
    QueueServer4,
    RemUnknownServer,
)
from msmq_wire.lab.model.data.message_security import MessageSecurity
from msmq_wire.lab.model.data.timers import Timers
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation, InterfaceServer, ServerCall
from msmq_wire.lab.model.qm2qm.server import Qm2qmServer
from msmq_wire.lab.model.qmcomm.environment import QmcommEnvironment, free_port
from msmq_wire.lab.model.qmcomm.qmcomm2 import Qmcomm2Server
from msmq_wire.lab.model.qmcomm.server import QmcommServer
from msmq_wire.lab.model.qmmgmt.server import QmmgmtServer
from msmq_wire.lab.model.remote_read.server import RemoteReadServer
from msmq_wire.lab.queue_manager import LabQueueManager, new_queue_manager
from msmq_wire.lab.rpc_calls import refusal
from msmq_wire.lab.rpc_server import RpcServer
from msmq_wire.lab.rpc_service import RpcLimits
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT
from msmq_wire.rpc.interfaces.role import CREATES_CURSOR, Role
from msmq_wire.units import MILLISECOND, SECOND
from msmq_wire.wire.types.guid import GUID, NULL_GUID

DEFAULT_IDENTIFIER = GUID.parse("1ab0c0de-0000-4000-8000-000000000001")
_FILES = 4096
_EVERY_ADDRESS = ("0.0.0.0", "::")
_RPC_LIMITS = RpcLimits(connections=1100, held_bytes=16 << 20)


class LabSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a lab serves. Ports of 0 are any that are free.

    ``queues`` and ``transactional_queues`` are named as ``private$\\orders``. ``time`` is in seconds since
    1970, when the lab starts; None for that of the computer. ``quota`` bounds in kilobytes what all queues
    hold, with what it costs here. ``neighbours`` are the queue managers to which it sends, by the names or
    addresses that direct format names have for them. ``routes`` have the neighbour that is the next hop to a
    queue manager. ``public_queues`` are here, by their identifiers; ``public_queue_owners`` has the queue
    managers of those elsewhere. ``report_queue`` is the public queue that gets the report messages of what
    clients of qmcomm have traced. ``faults`` are drawn from ``seed``. ``security`` checks
    signatures and opens bodies, as `msmq_wire.lab.message_keys` does; without it bodies that are
    encrypted are refused.
    """

    host: str = "127.0.0.1"
    port: int = MSMQ_PORT
    ping_port: int = PING_PORT
    rpc_port: int = 2103
    http_port: int = 8080
    queues: tuple[str, ...] = ("private$\\orders",)
    transactional_queues: tuple[str, ...] = ("private$\\orders_tx",)
    computer_name: str = "lab"
    identifier: GUID = DEFAULT_IDENTIFIER
    quota: int = 64 << 10
    time: int | None = None
    neighbours: Mapping[str, Endpoint] = {}
    routes: Mapping[GUID, str] = {}
    public_queues: Mapping[GUID, str] = {}
    public_queue_owners: Mapping[GUID, GUID] = {}
    report_queue: GUID = NULL_GUID
    faults: FaultPlan | None = None
    seed: int = 0
    security: MessageSecurity | None = None


class LabServices(msgspec.Struct, frozen=True):
    """Where the services of a lab are."""

    binary: Endpoint
    ping: Endpoint
    rpc: Endpoint
    http: Endpoint


class _LoggedCalls(InterfaceServer):
    """An interface whose calls are logged when they are answered.

    What has no context handle of its own, so that the RPC service does not count it, is bounded here.
    """

    log: LabLog | None = None

    def serve(
        self, association: ClientAssociation, opnum: int, request: Any, done: Callable[[CallResult], None]
    ) -> ServerCall | None:
        """Take a call."""
        method = self.INTERFACE.methods.get(opnum)

        def answered(answer: CallResult) -> None:
            if self.log is not None:
                status = answer.status
                self.log.say(
                    "rpc-call",
                    interface=self.INTERFACE.name,
                    method=str(opnum) if method is None else method.name,
                    client=association.number,
                    status=None if status is None else f"{status & 0xFFFF_FFFF:#010x}",
                    fault=None if answer.fault is None else 1,
                )
            done(answer)

        if method is not None and self._refuses(method.role):
            answered(refusal(method))
            return None
        return super().serve(association, opnum, request, answered)

    def _refuses(self, role: Role | None) -> bool:
        manager = self.manager
        if not isinstance(manager, LabQueueManager):
            return False
        if role in CREATES_CURSOR:
            return not manager.has_room_for_cursor()
        return role in (Role.ENLIST, Role.BEGIN) and not manager.has_room_for_transaction()


class _RemoteRead(_LoggedCalls, RemoteReadServer):
    pass


class _Qm2qm(_LoggedCalls, Qm2qmServer):
    pass


class _Qmcomm(_LoggedCalls, QmcommServer):
    pass


class _Qmcomm2(_LoggedCalls, Qmcomm2Server):
    pass


class _Qmmgmt(_LoggedCalls, QmmgmtServer):
    pass


class _Activation(_LoggedCalls, ActivationServer):
    pass


class _RemUnknown(_LoggedCalls, RemUnknownServer):
    pass


class _QueueInfo(_LoggedCalls, QueueInfoServer):
    pass


class _Queue(_LoggedCalls, QueueServer):
    pass


class _Queue2(_LoggedCalls, QueueServer2):
    pass


class _Queue3(_LoggedCalls, QueueServer3):
    pass


class _Queue4(_LoggedCalls, QueueServer4):
    pass


class _Message(_LoggedCalls, MessageServer):
    pass


_OBJECTS = (_Activation, _RemUnknown, _QueueInfo, _Queue, _Queue2, _Queue3, _Queue4, _Message)


class LabServer(Closing):
    """A queue manager with its services; `start` it, and `close` it before the loop ends.

    ``write`` is told what happens, ``capture`` takes down what passes. ``interfaces`` are served in place of
    the four of the model, where a test has others; they are made by ``interfaces(manager)``.
    """

    def __init__(
        self,
        settings: LabSettings,
        *,
        capture: CaptureWriter | None = None,
        write: Callable[[LabEvent], None] | None = None,
        interfaces: Callable[[Any], Sequence[InterfaceServer]] | None = None,
    ) -> None:
        timers = Timers()
        begin = (time.time_ns() if settings.time is None else settings.time * SECOND) // MILLISECOND
        self.log = LabLog(lambda: (begin + timers.now) * MILLISECOND, write)
        self.manager = new_queue_manager(
            settings.computer_name, settings.identifier, timers, begin // 1000, settings.quota, self.log
        )
        # A format name DIRECT=TCP: names a queue here by any address that reaches this lab.
        self.manager.addresses = (settings.host, "127.0.0.1", "::1", *_own_addresses(settings.host))
        self.manager.message_security = settings.security
        self.clock = LoopClock(timers)
        for name in settings.queues:
            self.manager.add_queue(name)
        for name in settings.transactional_queues:
            self.manager.add_queue(name, transactional=True)
        for identifier, name in settings.public_queues.items():
            self.manager.add_queue(name, identifier=identifier)
        self.manager.routing_table = dict(settings.routes)
        self.manager.public_queue_owners = dict(settings.public_queue_owners)
        self.manager.report_queue = settings.report_queue
        self._settings = settings
        self._exporter = ObjectExporter(self.manager)
        self._interfaces = self._own_interfaces() if interfaces is None else list(interfaces(self.manager))
        faults, seed = settings.faults, settings.seed
        self._rpc = RpcServer(
            self._interfaces,
            limits=_RPC_LIMITS,
            clock=self.clock,
            capture=capture,
            faults=faults,
            seed=seed,
            log=self.log,
        )
        # Others remember the numbers that they saw, also of a lab that was started again.
        protocol = BinaryProtocol(
            self.manager, message_id_ordinal=begin // 1000 if settings.neighbours else 0
        )
        self._connections = BinaryConnections(
            protocol,
            self.clock,
            capture=capture,
            faults=faults,
            seed=seed,
            log=self.log,
        )
        self._neighbours = {name.casefold(): where for name, where in settings.neighbours.items()}
        self._dialer = BinaryDialer(self._connections, local_address=settings.host)
        self._sending = Sending(protocol, self._connect)
        self._binary = BinaryServer(self._connections)
        self._http = HttpServer(
            self.manager,
            self.clock,
            names=self._host_names(),
            neighbours=(*self._neighbours, *(host for host, _ in self._neighbours.values())),
            capture=capture,
            faults=faults,
            seed=seed,
            log=self.log,
        )

    async def start(self) -> LabServices:
        """Serve all ports; `MsmqWireError` where one cannot be, and then `close` lets go of the others.

        Where the port of RPC is in use it is the next one, 11 further on.
        """
        settings = self._settings
        self.clock.start()
        rpc = await self._listen_for_calls()
        self._name_port(rpc[1])
        # An address to listen on need not be one to call.
        host = rpc[0] if rpc[0] not in _EVERY_ADDRESS else settings.computer_name
        self._exporter.address = f"{host}[{rpc[1]}]"
        return LabServices(
            binary=await self._binary.listen(settings.host, settings.port),
            ping=await self._binary.listen_for_pings(settings.host, settings.ping_port),
            rpc=rpc,
            http=await self._http.listen(settings.host, settings.http_port),
        )

    async def _listen_for_calls(self) -> Endpoint:
        """Serve the port that is set, or where it is in use the next one that the text allows.

        [MS-MQRR] 3.1.4.1, [MS-MQMP] 3.1.4.24, [MS-MQQP] 3.1.4.8
        """
        settings, taken = self._settings, set[int]()
        while True:
            port = free_port(settings.rpc_port, taken) if taken else settings.rpc_port
            try:
                return await self._rpc.listen(settings.host, port)
            except MsmqWireError as error:
                cause = error.__cause__
                if not (isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE):
                    raise
                taken.add(port)
                if not free_port(settings.rpc_port, taken):
                    raise

    async def close(self) -> None:
        """End all sessions and calls."""
        await self._http.close()
        await self._rpc.close()
        await self._dialer.close()
        await self._binary.close()
        self.clock.stop()

    def _connect(self, outgoing: TransmissionQueue) -> None:
        """Connect to a neighbour; messages for who is none wait: nobody is asked where that could be."""
        where = self._neighbours.get(outgoing.remote_host_name.casefold())
        if not self.manager.connection_active:
            # An administrator took it offline: it is tried again after a while.
            outgoing.failed()
        elif where is None:
            self.log.say("no-neighbour", host=outgoing.remote_host_name)
        else:
            self._dialer.dial(outgoing, *where)

    def _host_names(self) -> set[str]:
        """The names and addresses that clients may have for this lab."""
        settings = self._settings
        known = {settings.computer_name, settings.host, socket.gethostname()}
        return known.union(self.manager.addresses).difference(_EVERY_ADDRESS)

    def _own_interfaces(self) -> list[InterfaceServer]:
        made: list[_LoggedCalls] = [
            _RemoteRead(self.manager),
            _Qm2qm(self.manager),
            _Qmcomm(self.manager, QmcommEnvironment(permits=self.manager.permits)),
            _Qmcomm2(self.manager),
            _Qmmgmt(self.manager),
            *(kind(self._exporter) for kind in _OBJECTS),
        ]
        for one in made:
            one.log = self.log
        return list(made)

    def _name_port(self, port: int) -> None:
        """Every interface names the one port that is served."""
        for one in self._interfaces:
            if isinstance(one, RemoteReadServer):
                one.port = port
            elif isinstance(one, Qm2qmServer):
                one.configuration = msgspec.structs.replace(
                    one.configuration, handshake_port=port, read_port=port
                )
            elif isinstance(one, QmcommServer):
                one.environment = msgspec.structs.replace(
                    one.environment, handshake_port=port, read_port=port
                )


def _own_addresses(host: str) -> list[str]:
    """The addresses of this computer, where a lab listens on all of them."""
    if host not in _EVERY_ADDRESS:
        return []
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        # The computer does not know its own name.
        return []
    return [str(one[4][0]) for one in found]


def raise_file_limit() -> None:
    """Let this process have as many connections as a lab serves, as far as the system allows."""
    try:
        import resource
    except ImportError:
        # Not a POSIX system: there is no such limit to raise.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
