"""Report messages written by hand, from the text of [MS-MQQB] 3.1.5.8.9 and 3.1.7.1.7.

A message goes from SOURCE over ROUTER to TARGET; the three report to a queue at MONITOR.
"""

from __future__ import annotations

from typing import Any

from msmq_wire import GUID, build_message
from msmq_wire.records.record import Record
from msmq_wire.wire.packets.user_message import UserMessage

SOURCE = GUID.parse("a1d30c5b-247e-4f45-9a31-c5d20e6f7788")
ROUTER = GUID.parse("b2e4716c-0f3d-4a52-8b1e-6d90a7c2e455")
TARGET = GUID.parse("c277e190-3d6a-4c4b-8d05-f21b9ac83e44")
MONITOR = GUID.parse("d4f08a21-95b7-4e13-a6cc-1f0e3b7d5a66")
REPORTS = GUID.parse("5eb0c1aa-7d24-4c0f-9b38-20d7e6f1a933")
"""The public queue that gets the reports."""
HOSTS = {SOURCE: "192.0.2.21", ROUTER: "192.0.2.11", TARGET: "192.0.2.10", MONITOR: "192.0.2.30"}
QUEUE = "PRIVATE=c277e190-3d6a-4c4b-8d05-f21b9ac83e44\\0000000f"
SENT = 1_795_166_047
"""2026-11-20 09:14:07 UTC"""

RECEIVED_BODY = f"<MESSAGE ID>00001042</MESSAGE ID>\r\n<TARGET QUEUE>{QUEUE}</TARGET QUEUE>\r\n"
FROM_SOURCE = f"{RECEIVED_BODY}<NEXT HOP>192.0.2.11</NEXT HOP>\r\n<HOP COUNT>00 </HOP COUNT>\r\n"
FROM_ROUTER = f"{RECEIVED_BODY}<NEXT HOP>192.0.2.10</NEXT HOP>\r\n<HOP COUNT>01 </HOP COUNT>\r\n"
BY_SOURCE = "received by A1D30C5B-247E-4F45-9A31-C5D20E6F7788 at 09:14"
"""The label names the queue manager of the traced message, by the letter of the rule."""
PATH = (
    (SOURCE, f"A1D3:00001042:00 {BY_SOURCE}:07 AM Fri,Nov 20 26", FROM_SOURCE),
    (ROUTER, f"A1D3:00001042:01 {BY_SOURCE}:08 AM Fri,Nov 20 26", RECEIVED_BODY),
    (ROUTER, f"A1D3:00001042:01 {BY_SOURCE}:09 AM Fri,Nov 20 26", FROM_ROUTER),
    (TARGET, f"A1D3:00001042:01 {BY_SOURCE}:10 AM Fri,Nov 20 26", RECEIVED_BODY),
)
"""Who reports, with label and body: sent, received and sent by the router, received."""


def traced(number: int = 0x1042, source: GUID = SOURCE, **more: Any) -> UserMessage:
    """A message that asks for reports."""
    fields = {"report_queue": REPORTS, "label": "order 4162", "sent_time": SENT, **more}
    return build_message(QUEUE, b"body", source_queue_manager=source, message_id=number, **fields)


def report(reporter: GUID, label: str, body: str, number: int = 9001, **more: Any) -> UserMessage:
    """The packet of a report message: class 0x0001, express, to the queue of the reports."""
    fields = {"message_class": 1, "sent_time": SENT, "queue_manager_address": MONITOR, **more}
    return build_message(
        f"PUBLIC={REPORTS}",
        body.encode("utf-16-le"),
        label=label,
        source_queue_manager=reporter,
        message_id=number,
        **fields,
    )


def sent(packet: UserMessage, number: int, src: str = "", dst: str = "192.0.2.30", **more: Any) -> Record:
    """A packet on a connection of its own; from the host of its queue manager, one second after another."""
    src = src or HOSTS.get(packet.user_header.source_queue_manager, "192.0.2.99")
    place = {"stream": number, "frames": (number,), "time": (SENT + number) * 1_000_000_000, **more}
    ends = {"src": f"{src}:49152", "dst": f"{dst}:1801"}
    return Record(id=number, type="user_message", packet=packet, length=400, **{**ends, **place})


def reports(*places: int) -> list[UserMessage]:
    """The reports of `PATH` at these places, in this order; each has a number of its own."""
    return [
        report(reporter, label, body, 9001 + place, sent_time=SENT + place)
        for place, (reporter, label, body) in ((place, PATH[place]) for place in places)
    ]


def captured(*packets: UserMessage, message: bool = True) -> list[Record]:
    """Records of packets, behind the traced ``message`` on its way from the source to the router."""
    first = [sent(traced(), 1, dst="192.0.2.11")] if message else []
    return [*first, *(sent(packet, 2 + place) for place, packet in enumerate(packets))]
