"""Clients that hardly ever read a queue, beside the one that does: `rare_readers`.

The rule kept here: who is usual is what the capture shows. A client is a stranger beside another one that
read the same queue many times as often.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from msmq_wire.findings.cause import Cause
from msmq_wire.findings.diagnosis.answer import Telling
from msmq_wire.findings.diagnosis.words import count, host, quoted, short
from msmq_wire.sessions import Moment, RemoteRead
from msmq_wire.sessions.message import system_queue

_USUAL = 10
"""Messages that a usual reader took at least."""
_TIMES = 3
"""How many times as many it took as a stranger."""
_MOST = 4096
_MOST_MOMENTS = 16


class _Reader(msgspec.Struct):
    """What one client read of one queue."""

    peeked: int = 0
    received: int = 0
    moments: list[Moment] = []
    first: RemoteRead | None = None

    @property
    def did(self) -> str:
        """What it did, in words."""
        peeked = f"peeked at {count(self.peeked, 'message')}" if self.peeked else ""
        received = f"received {count(self.received, 'message')}" if self.received else ""
        return " and ".join(one for one in (peeked, received) if one)


def rare_readers(reads: Iterable[RemoteRead], telling: Telling) -> None:
    """Name the clients that looked at a queue, or took messages, that another client reads."""
    queues: dict[tuple[str, str], dict[str, _Reader]] = {}
    for read in reads:
        # Without a name nobody knows whether two clients read one queue.
        if read.queue is None or read.message_id is None or read.removes is None or system_queue(read.queue):
            continue
        key = host(read.server), read.queue
        if key not in queues and len(queues) >= _MOST:
            continue
        clients = queues.setdefault(key, {})
        name = host(read.client)
        if name not in clients and len(clients) >= _MOST:
            continue
        reader = clients.setdefault(name, _Reader())
        if not read.removes:
            reader.peeked += 1
        elif read.end != "nack":
            reader.received += 1
            reader.first = reader.first or read
        if len(reader.moments) < _MOST_MOMENTS:
            reader.moments.append(read.at)
    for (server, queue), clients in queues.items():
        name, usual = max(clients.items(), key=lambda one: one[1].received)
        if usual.received < _USUAL:
            continue
        for client, reader in clients.items():
            if client == name or _TIMES * max(reader.received, 1) > usual.received:
                continue
            taken = reader.first
            which = "" if taken is None else f", first {short(taken.message_id or '')}{quoted(taken.label)}"
            telling.blame(
                Cause(
                    text=f"{client} {reader.did} of {queue} at {server}{which}; {name} usually reads this "
                    f"queue: it received {count(usual.received, 'message')}",
                    severity="medium" if reader.received else "low",
                    confidence="likely",
                    moments=tuple(reader.moments),
                    who=(client, server, name),
                    action=f"ask who uses {client}, and whether it may read the queue",
                    count=reader.peeked + reader.received,
                    rules=("RPC-RARE",),
                )
            )
