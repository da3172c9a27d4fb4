"""What commands that follow sessions keep in memory: ``python -m benchmarks.follow_memory``.

Writes a capture in which every message has a connection, a client and a queue of its own, once as one segment
each and once as whole sessions, runs commands on it, and watches the anonymous memory of each
(``/proc/PID/smaps_rollup``, several times a second). The exit status is 1 when one takes more than 400 MB.
With ``--messages 1000000`` it is so many messages of ordinary sessions, which may take 500 MB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msmq_wire as mw
from benchmarks.measure import anonymous_memory
from benchmarks.traffic import Sender, in_order, write
from benchmarks.workload import messages
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.session_ack import SessionAck

__all__ = ["lone_messages", "whole_sessions"]

_MOST = 400 * 1000 * 1000
_MOST_OF_MESSAGES = 500 * 1000 * 1000
_MAIN = "from msmq_wire.cli.app import main; main()"
_SERVER = mw.GUID(bytes(range(16)))


def _client(number: int) -> tuple[Sender, bytes]:
    """A connection from an address of its own, and a message that is no other client's."""
    queue = rf"DIRECT=OS:server01\private$\queue{number}"
    source = mw.GUID(number.to_bytes(16, "little"))
    packet = mw.build_message(queue, b"x", message_id=1, source_queue_manager=source, sent_time=1_700_000_000)
    return Sender(address=(0x0A000000 + number).to_bytes(4, "big")), mw.encode(packet)


def lone_messages(count: int) -> Iterator[bytes]:
    """Yield frames with a message each, on as many connections of which nothing else was captured."""
    for number in range(count):
        client, message = _client(number)
        yield client.say(message)


def whole_sessions(count: int) -> Iterator[bytes]:
    """Yield the frames of sessions from their SYN to both FINs, with an acknowledged message each."""
    ack = mw.encode(SessionAck(session_header=SessionHeader(ack_sequence_number=1, window_size=64)))
    agreed = mw.encode(ConnectionParameters(connection_parameters_header=ConnectionParametersHeader()))
    for number in range(count):
        client, message = _client(number)
        names = EstablishConnectionHeader(
            client_guid=mw.GUID(number.to_bytes(16, "little")), server_guid=_SERVER
        )
        opening = mw.encode(
            EstablishConnection(internal_header=InternalHeader(flags=2), establish_connection_header=names)
        )
        yield from client.open()
        for packet in (opening, agreed):
            yield client.say(packet)
            yield client.say(packet, sent=False)
        yield client.say(message)
        yield client.say(ack, sent=False)
        yield from client.close()


def run(command: str, capture: Path) -> int:
    """Run a command once; print and return the most bytes that it held."""
    page = capture.with_suffix(".html")
    arguments = ["-o", str(page), "--force"] if command == "report" else []
    started = time.perf_counter()
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, command, str(capture), *arguments],
            stdout=nowhere,
            stderr=subprocess.PIPE,
        )
        peak = 0
        while process.poll() is None:
            peak = max(peak, anonymous_memory(process.pid) * 1024)
            time.sleep(0.1)
    reported = (process.stderr.read() if process.stderr else b"").decode().strip()
    seconds = time.perf_counter() - started
    print(f"{command}: {peak / 1e6:.0f} MB anonymous, {seconds:.0f} s", flush=True)
    for line in reported.splitlines():
        print(f"    {line}", flush=True)
    return peak


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=150_000)
    parser.add_argument("--commands", default="findings,report")
    parser.add_argument("--messages", type=int, default=0)
    asked = parser.parse_args()
    shapes = {
        "lone_messages": (lone_messages, asked.connections),
        "whole_sessions": (whole_sessions, asked.connections),
    }
    if asked.messages:
        shapes = {"messages": (lambda count: in_order(messages(count)), asked.messages)}
    peaks = []
    with tempfile.TemporaryDirectory() as work:
        for name, (shape, count) in shapes.items():
            written = write(Path(work, f"{name}.pcap"), shape(count))
            print(f"{name}: {count:,} in {written.path.stat().st_size / 1e6:.0f} MB", flush=True)
            peaks += [run(command, written.path) for command in asked.commands.split(",")]
    return 1 if max(peaks) > (_MOST_OF_MESSAGES if asked.messages else _MOST) else 0


if __name__ == "__main__":
    sys.exit(_main())
