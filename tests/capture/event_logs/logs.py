"""Event logs beside fixtures/diagnose/q04_two_unacknowledged.pcap, by hand.

There 192.0.2.21 (WS17) sends messages 4161 to 4165 to 192.0.2.10 (msg01): at 9:14:07.612 and each 0.1 s after
that. The first three are acknowledged at 07.862, and the connection is reset at 08.112.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msmq_wire.records.log_event import EventLogFile, LogEvent, names_computer
from msmq_wire.wire.types.guid import GUID

SENDER = GUID.parse("a1d30c5b-247e-4f45-9a31-c5d20e6f7788")
SECOND = 10**9
MILLISECOND = 10**6
BEGUN = 1795166047 * SECOND
"""2026-11-20 09:14:07 UTC."""
SENT = {number: BEGUN + (612 + 100 * (number - 4161)) * MILLISECOND for number in range(4161, 4166)}
RECEIVED = {number: time + 5 * MILLISECOND for number, time in SENT.items()}
"""When the receiver may have put each message into its queue."""
LONG = {1: BEGUN - 600 * SECOND, 2: BEGUN + 600 * SECOND}
"""Messages of another time, so that a log covers all of the capture."""
ORDERS = "msg01\\private$\\orders"
DIRECT = f"DIRECT=OS:{ORDERS}"


def log_file(
    times: Mapping[int, int],
    *,
    computer: str = "MSG01",
    queue: str = ORDERS,
    ahead: int = 0,
    first: int = 10,
    left_out: Iterable[int] = (),
    file: str = "log.evtx",
) -> EventLogFile:
    """A log that puts messages of the sender into a queue, in the order of their times.

    Its clock is ``ahead`` (ns) of that of the capture. EventRecordIDs run from ``first``; events of the
    messages ``left_out`` are missing, and their EventRecordIDs with them.
    """
    events = [
        LogEvent(
            computer=computer,
            event_id=1,
            record_id=record,
            time=time + ahead,
            queue_manager=SENDER,
            number=number,
            queue=queue,
            local=names_computer(queue, computer),
        )
        for record, (number, time) in enumerate(sorted(times.items(), key=lambda one: one[1]), first)
        if number not in {*left_out}
    ]
    return EventLogFile(file=file, events=tuple(events))
