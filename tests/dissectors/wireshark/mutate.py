"""Packets with random changes through one run of tshark: the dissector must never fail.

``python -m tests.dissectors.wireshark.mutate 50000`` prints how many frames were shown, and which error is
the first if there is one.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msmq_wire.capture.pcap import Frame
from tests.dissectors.wireshark.test_parity import _HEX
from tests.dissectors.wireshark.tshark_view import named_frame, run, tcp_frames, udp_frame, write
from tests.hex_files import hex_bytes

__all__ = ["frames", "main"]

_WORDS = (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, 0xFFFF, 0x00400000, 250, 0x10)


def _changed(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        if not changed:
            break
        at = chance.randrange(len(changed))
        match chance.randrange(5):
            case 0:
                changed[at] ^= 1 << chance.randrange(8)
            case 1:
                changed[at] = chance.randrange(256)
            case 2:
                size = chance.choice((1, 2, 4))
                changed[at : at + size] = (chance.choice(_WORDS) & (1 << 8 * size) - 1).to_bytes(
                    size, "little"
                )
            case 3:
                del changed[at:]
            case 4:
                changed[at:at] = chance.randbytes(chance.randint(1, 8))
    return bytes(changed)


def frames(count: int, seed: int = 1801) -> Iterator[Frame]:
    """Frames with changed fixtures: in TCP, in UDP, and handed to the dissector of their structure."""
    chance = random.Random(seed)
    whole = [(path.parent.name, hex_bytes(path)) for path in _HEX]
    for number in range(1, count + 1):
        stem, data = chance.choice(whole)
        data = _changed(data, chance)[:60_000]
        way = chance.randrange(3)
        if way == 0:
            yield named_frame(number, stem, data)
        elif way == 1 and stem == "ping":
            yield udp_frame(number, number % 60_000, data)
        else:
            segments = [(0, data)]
            yield from tcp_frames(
                number % 60_000, segments, first=number, cut=chance.choice((None, len(data)))
            )


def main(arguments: list[str]) -> int:
    """Run as many changed packets as the argument says through tshark."""
    count = int(arguments[0]) if arguments else 1000
    with tempfile.TemporaryDirectory() as folder:
        capture = write(Path(folder) / "changed.pcap", frames(count))
        # Everything is shown, so that every path of the dissector is taken; nothing is kept but what matters.
        reported = run(capture, "-V", "-O", "msmq", "-o", "msmq.reserved:TRUE")
        shown = reported.count("Microsoft Message Queuing")
    print(f"{count} changed packets, {shown} shown, no Lua error")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
