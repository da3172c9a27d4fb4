"""How fast the codec and the capture reader are, as ratios to what people use today.

All contestants of a group run inside each round, one after the other, and ratios are taken round by round: a
busy machine slows all of them alike. What they decode is compared before anything is measured. The median of
the rounds is printed, with the lowest and the highest ratio.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scapy.layers.inet import TCP
from scapy.utils import PcapReader

import msmq_wire as mw
from benchmarks.idiomatic_construct import USER_MESSAGE
from benchmarks.scapy_packet import ScapyUserMessage
from benchmarks.workload import frames, messages
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.engines.reference import find_anomalies

Contestant = tuple[str, Callable[[], int]]
"""A name, and work that returns how many items it did."""


def measure(title: str, unit: str, baseline: str, contestants: list[Contestant], rounds: int) -> None:
    """Run a group of contestants and print a table of it."""
    rates: dict[str, list[float]] = {name: [] for name, _ in contestants}
    for _, work in contestants:
        work()
    for _ in range(rounds):
        for name, work in contestants:
            gc.collect()
            start = time.perf_counter()
            done = work()
            rates[name].append(done / (time.perf_counter() - start))
    print(f"\n{title} (ratios to: {baseline})")
    for name, _ in contestants:
        ratios = [rate / other for rate, other in zip(rates[name], rates[baseline], strict=True)]
        rate, ratio = statistics.median(rates[name]), statistics.median(ratios)
        spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"  {name:34} {rate:>12,.0f} {unit}/s  x {ratio:<7.2f} {spread}", flush=True)


def check(packets: list[bytes]) -> None:
    """Make sure that all contestants read the same and write the same bytes."""
    for data in packets:
        packet, container, layer = mw.decode(data), USER_MESSAGE.parse(data), ScapyUserMessage(data)
        theirs = (container.message_properties_header.body, layer.message_properties_header.body)
        assert {packet.message_properties_header.message_body} == set(theirs)
        assert packet.user_header.message_id == container.user_header.message_id
        assert packet.user_header.message_id == layer.user_header.message_id
        assert packet.user_header.destination_queue.direct_format_name.text == (
            container.user_header.destination_queue.name.rstrip("\0")
        )
        layer.clear_cache()
        assert mw.encode(packet) == USER_MESSAGE.build(container) == layer.build() == data
        assert not find_anomalies(packet)


def codec(packets: list[bytes], rounds: int) -> None:
    values: list[Any] = [mw.decode(data) for data in packets]
    containers = [USER_MESSAGE.parse(data) for data in packets]
    layers = [ScapyUserMessage(data) for data in packets]
    for layer in layers:
        # Without this scapy returns the bytes it was made from.
        layer.clear_cache()
    parse, build = USER_MESSAGE.parse, USER_MESSAGE.build
    size = len(packets[0])
    measure(
        f"Decode a message of {size:,} bytes",
        "messages",
        "construct, idiomatic",
        [
            ("construct, idiomatic", lambda: _each(parse, packets)),
            ("scapy packet", lambda: _each(ScapyUserMessage, packets)),
            ("msmq_wire.decode", lambda: _each(mw.decode, packets)),
            ("msmq_wire.inspect (judges, too)", lambda: _each(mw.inspect, packets)),
        ],
        rounds,
    )
    measure(
        f"Encode a message of {size:,} bytes",
        "messages",
        "construct, idiomatic",
        [
            ("construct, idiomatic", lambda: _each(build, containers)),
            ("scapy packet", lambda: _each(lambda layer: layer.build(), layers)),
            ("msmq_wire.encode", lambda: _each(mw.encode, values)),
        ],
        rounds,
    )


def _each(work: Callable[[Any], Any], items: list[Any]) -> int:
    for item in items:
        work(item)
    return len(items)


def captures(folder: Path, packets: list[bytes], rounds: int) -> None:
    path = folder / "messages.pcap"
    count = write_pcap(path, frames(packets)).frames
    # The slow ones get the first part of the same traffic.
    part = folder / "part.pcap"
    write_pcap(part, frames(packets[: max(1, len(packets) // 10)]))
    contestants: list[Contestant] = [
        ("scapy PcapReader", lambda: _scapy(part)),
        ("msmq_wire.read_capture", lambda: _read_capture(path, len(packets), count)),
        ("read_frames (no decoding)", lambda: sum(1 for _ in read_frames(path))),
    ]
    baseline = "scapy PcapReader"
    tshark = shutil.which("tshark")
    if tshark is None:
        print("\ntshark is not on PATH: left out")
    else:
        baseline = "tshark -T fields -e tcp.payload"
        contestants.append((baseline, lambda: _tshark(tshark, path, count)))
    size = len(packets[0])
    title = f"Read a capture of {count:,} frames, messages of {size:,} bytes; the start of tshark counts"
    measure(title, "frames", baseline, contestants, rounds)


def _read_capture(path: Path, messages_there: int, count: int) -> int:
    found = sum(record.error is None for record in mw.read_capture(path))
    assert found == messages_there
    return count


def _scapy(path: Path) -> int:
    with PcapReader(str(path)) as reader:
        packets = [TCP in packet for packet in reader]
    assert all(packets)
    return len(packets)


def _tshark(tshark: str, path: Path, count: int) -> int:
    command = [tshark, "-n", "-r", str(path), "-T", "fields", "-e", "tcp.payload"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer messages and rounds: about half a minute")
    options = parser.parse_args()
    rounds = 3 if options.quick else 7
    count = 300 if options.quick else 1000
    print(f"Python {sys.version.split()[0]}, {rounds} rounds, median")
    for size in (600, 4096):
        packets = messages(count, size)
        check(packets[:50])
        codec(packets, rounds)
    with tempfile.TemporaryDirectory(prefix="msmq-wire-") as folder:
        captures(Path(folder), messages(3_000 if options.quick else 10_000), rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
