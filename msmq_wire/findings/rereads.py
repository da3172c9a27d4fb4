"""Messages that remote reads receive and put back, by where they lie: a rule and an answer ask.

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
"""How often is again and again: an honest reader, too, puts back what it has no time for."""
_MOST_CLIENTS = 16

Place: TypeAlias = tuple[str, str, int]
"""A server, a queue there, empty where it is not known, and the lookup id of a message in it."""


class Reread(msgspec.Struct):
    """What calls did with a message: how often it was received, put back, and received though it was out.

    ``is_out`` says that a reader has it and did not say that it keeps it.
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
        """How often it came back."""
        return max(self.returned, self.put_back)


def place_of(server: str, queue: str | None, lookup_id: int) -> Place:
    """The place of a message: a subqueue is part of its queue."""
    return host_of(server), (queue or "").partition(";")[0].lower(), lookup_id


def take_read(known: dict[Place, Reread], read: RemoteRead, most: int) -> bool:
    """Count a read of a message; tell whether it was one too many to keep."""
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
