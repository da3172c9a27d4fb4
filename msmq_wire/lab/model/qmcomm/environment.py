"""What a qmcomm server knows and asks that is not in the queue manager: settings, directory, DTC, others.

[MS-MQMP] 3.1.1, 3.1.3. The rule kept here: without any of it the server works, and says so where a rule needs
what is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from msmq_wire.lab.model.data.elements import Queue
from msmq_wire.lab.model.interface_server import ClientAssociation
from msmq_wire.lab.model.qmcomm.local_queue_context import RemoteBinding
from msmq_wire.wire.types.guid import GUID

QueueAction: TypeAlias = Literal[
    "create", "delete", "open", "set security", "get security", "set properties", "get properties"
]
"""What a client wants to do to a queue, when it is asked whether it may."""

HANDSHAKE_PORT = 2103
READ_PORT = 2105
_STEP = 11
_PORTS = 0x10000


class QueueDirectory(Protocol):
    """Read Directory, as Get Queue Path needs it. [MS-MQDMPR] 3.1.7.1.20"""

    def queue(self, identifier: GUID) -> tuple[str, str] | None:
        """The path name of a public queue and the name of its computer; None where it is not known."""

    def queue_manager(self, identifier: GUID) -> str | None:
        """The name of a queue manager's computer; None where it is not known."""


class TransactionManager(Protocol):
    """The DTC, as the methods about external transactions need it. [MS-DTCO] 3.3.4, 3.5.4"""

    def extended_whereabouts(self) -> bytes | None:
        """The SWhereabouts structure; None where there is no connection."""

    def import_transaction(self, cookie: bytes) -> Any:
        """The transaction of an STxInfo; None where the bytes are none."""

    def enlist(self, transaction: Any) -> bool:
        """Take part in an imported transaction; False where that fails."""


def _everything(_: ClientAssociation, __: QueueAction, ___: Queue | None) -> bool:
    return True


def _nobody(_: str) -> RemoteBinding | None:
    return None


def free_port(first: int, taken: Container[int]) -> int:
    """The port to listen on: ``first``, or so many times 11 more; 0 where none is left. [MS-MQMP] 3.1.4.24"""
    return next((port for port in range(first, _PORTS, _STEP) if port not in taken), 0)


class QmcommEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """Settings and neighbours of a qmcomm server.

    ``supporting_server`` False refuses what only a supporting server does. ``obsolete_methods`` True has
    R_QMGetRemoteQueueName and rpc_ACSetCursorProperties work, as on Windows 2000. ``permits`` says whether a
    client may do something to a queue (None: one to be made). ``bind`` gives the way to the queue manager of
    a computer, None where it cannot be reached. ``default_time_to_reach_queue`` is in seconds;
    ``server_version`` has three parts; ``forest`` is None in a workgroup. Ports are those that were found
    when the server started; ``spx`` False: SPX is not served. ``transaction_limit`` is how many transactions
    there may be at a time.
    """

    supporting_server: bool = True
    obsolete_methods: bool = False
    authentication_required: bool = False
    permits: Callable[[ClientAssociation, QueueAction, Queue | None], bool] = _everything
    bind: Callable[[str], RemoteBinding | None] = _nobody
    directory: QueueDirectory | None = None
    transaction_manager: TransactionManager | None = None
    transaction_limit: int = 10_000
    default_time_to_reach_queue: int = 345_600
    forest: GUID | None = None
    server_version: str = "6.1.7601"
    handshake_port: int = HANDSHAKE_PORT
    read_port: int = READ_PORT
    spx: bool = False
