"""What a server of qm2qm remembers between calls, and what it can be told to be. [MS-MQQP] 3.1.1

The rule kept here: one collection serves all clients, whoever made its entries.
"""

from __future__ import annotations

import msgspec

from msmq_wire.lab.model.data.elements import ModelMessage, OpenQueueDescriptor
from msmq_wire.lab.model.interface_server import ClientAssociation
from msmq_wire.wire.types.guid import GUID


class Qm2qmConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """What [MS-MQQP] leaves to the server.

    ``version`` is major, minor and build: below 5.1 (Windows NT and 2000) there are no opnums 8 to 10, and
    RemoteQMOpenQueue goes by hQueue. A port of 0 is one that is not there, as those of SPX.
    ``search_open_queues`` has RemoteQMEndReceive and RemoteQMCloseQueue look whether the queue is still open,
    as Windows up to XP does; ``throw_purge_failures`` has RemoteQMPurgeQueue throw its failures.
    """

    version: tuple[int, int, int] = (6, 1, 7601)
    handshake_port: int = 2103
    read_port: int = 2105
    spx_handshake_port: int = 0
    spx_read_port: int = 0
    refuse_unauthenticated: bool = False
    search_open_queues: bool = False
    throw_purge_failures: bool = True

    @property
    def windows_2000(self) -> bool:
        """Whether it is as old as Windows 2000, or older."""
        return self.version[:2] < (5, 1)


class RemoteReadEntry(msgspec.Struct, eq=False, kw_only=True):
    """A read that was started. [MS-MQQP] 3.1.1.4

    ``timeout`` is in milliseconds. ``user_message_packet`` is the message once it was read; until then the
    text has it from an empty buffer. The text finds the descriptor by its handle and the client by the
    connection: ``open_queue_descriptor`` and ``association`` are these.
    """

    open_queue_descriptor_handle: int
    timeout: int
    action: int
    request_id: int
    open_queue_descriptor: OpenQueueDescriptor
    association: ClientAssociation
    user_message_packet: ModelMessage | None = None


class OpenQueueEntry(msgspec.Struct, eq=False, kw_only=True):
    """A queue that a client opened with RemoteQMOpenQueue. [MS-MQQP] 3.1.1.6"""

    open_queue_descriptor_handle: int
    client_id: GUID


class RemoteReadEntryCollection:
    """rRemoteReadEntryCollection: the reads that are not answered yet. [MS-MQQP] 3.1.1.3"""

    def __init__(self) -> None:
        self._entries: dict[int, dict[RemoteReadEntry, None]] = {}
        self._requests: dict[tuple[int, int], RemoteReadEntry] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def add(self, entry: RemoteReadEntry) -> None:
        """Add an entry. One whose request identifier is taken is not found by it."""
        self._entries.setdefault(entry.open_queue_descriptor_handle, {})[entry] = None
        self._requests.setdefault((entry.open_queue_descriptor_handle, entry.request_id), entry)

    def remove(self, entry: RemoteReadEntry) -> None:
        """Remove an entry; nothing happens if it was removed before."""
        handle = entry.open_queue_descriptor_handle
        entries = self._entries.get(handle, {})
        entries.pop(entry, None)
        if not entries:
            self._entries.pop(handle, None)
        if self._requests.get((handle, entry.request_id)) is entry:
            del self._requests[handle, entry.request_id]

    def find(self, handle: int, request_id: int) -> RemoteReadEntry | None:
        """The read of an open queue by its request identifier."""
        return self._requests.get((handle, request_id))

    def of_queue(self, handle: int) -> list[RemoteReadEntry]:
        """The reads of an open queue, in the order in which they were started."""
        return list(self._entries.get(handle, ()))

    def of_client(self, association: ClientAssociation) -> list[RemoteReadEntry]:
        """The reads that a client waits for."""
        entries = (entry for of_queue in self._entries.values() for entry in of_queue)
        return [entry for entry in entries if entry.association is association]


class OpenQueueEntryCollection:
    """rOpenQueueEntryCollection: the queues that clients have open. [MS-MQQP] 3.1.1.5"""

    def __init__(self) -> None:
        self._entries: dict[int, dict[OpenQueueEntry, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def __contains__(self, handle: int) -> bool:
        return handle in self._entries

    def add(self, entry: OpenQueueEntry) -> None:
        """Add an entry; several may have the same handle."""
        self._entries.setdefault(entry.open_queue_descriptor_handle, {})[entry] = None

    def remove(self, entry: OpenQueueEntry) -> None:
        """Remove an entry; nothing happens if it was removed before."""
        handle = entry.open_queue_descriptor_handle
        entries = self._entries.get(handle, {})
        entries.pop(entry, None)
        if not entries:
            self._entries.pop(handle, None)
