"""Messages that remote reads receive and put back, by their place in a queue.

The rule kept here: a lookup id names one message of a queue, with its subqueues, for as long as it is there.
[MS-MQRR] 1.3
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.rpc.interfaces import METHODS, Role
from msmq_wire.sessions import RemoteRead

AGAIN = 3
"""So many repetitions are reported; a normal reader, too, may put a message back."""
_MOST_CLIENTS = 16

Place: TypeAlias = tuple[str, str, int]
"""A server, a queue (empty if unknown), and the lookup id of a message in it."""


class Reread(msgspec.Struct):
    """How often calls received a message, put it back, and received it while another reader had it.

    ``is_out`` is true while a reader has the message and has not confirmed it.
    """

    first: RemoteRead
    last: RemoteRead
    received: int = 0
    put_back: int = 0
    returned: int = 0
    is_out: bool = False
    clients: dict[str, None] = {}

    @property
    def back(self) -> int:
        """How often it was put back."""
        return max(self.returned, self.put_back)


def place_of(server: str, queue: str | None, lookup_id: int) -> Place:
    """The place of a message: a subqueue is part of its queue."""
    return host_of(server), (queue or "").partition(";")[0].lower(), lookup_id


def take_read(known: dict[Place, Reread], read: RemoteRead, most: int) -> bool:
    """Count a read of a message; return whether the limit is reached."""
    if read.found_lookup_id is None:
        return False
    place = place_of(read.server, read.queue, read.found_lookup_id)
    one = known.get(place)
    if one is None:
        if len(known) >= most:
            return True
        one = known[place] = Reread(read, read)
    elif one.first.message_id is None:
        one.first = msgspec.structs.replace(
            one.first, message_id=read.message_id, label=read.label, message=read.message
        )
    one.last = read
    if read.removes:
        one.received += 1
        one.returned += one.is_out
        at_once = METHODS[read.method].role is Role.RECEIVE and not read.transactional
        one.is_out = not at_once and (read.end != "ack" or bool(read.end_status) or read.transactional)
    one.put_back += read.end == "nack" and not read.end_status
    if len(one.clients) < _MOST_CLIENTS:
        one.clients[host_of(read.client)] = None
    return False
