"""Time and peak memory for packets that are made to cost as much as they can.

A 4 KB packet may cost 50 ms and 10 MB; a packet of any size 1 MB and 60 times its size. The exit status is 1
when one costs more.
"""

from __future__ import annotations

import struct
import sys
import time
import tracemalloc
from collections.abc import Iterator

import msmq_wire as mw

_SMALL = 4096
_SMALL_TIME = 0.050
_SMALL_PEAK = 10 << 20
_MP, _SH, _MQ, _HH = 0x200000, 0x80000, 0x800000, 0x10000000


def user_message(flags: int, rest: bytes, *, packet_size: int | None = None) -> bytes:
    """A UserMessage without queues; ``rest`` is what follows its UserHeader."""
    size = 64 + len(rest) if packet_size is None else packet_size
    base = struct.pack("<BBHIII", 0x10, 0, 3, 0x524F494C, size, 0xFFFFFFFF)
    return base + bytes(32) + struct.pack("<4I", 0xFFFFFFFF, 0, 1, flags) + rest


def properties(body: bytes = b"", *, message_size: int | None = None, extension: bytes = b"") -> bytes:
    """A MessagePropertiesHeader without label."""
    size = len(body) if message_size is None else message_size
    numbers = (0, 0, size, size, 0, 0x800E, 0x6610, len(extension))
    text = extension + body
    return bytes(24) + struct.pack("<8I", *numbers) + text + bytes(-len(text) & 3)


def queue_list(element: bytes, size: int, *, count: int | None = None) -> bytes:
    """A packet of about ``size`` bytes that is one list of queue names."""
    fits = (size - 132) // len(element)
    claimed = fits if count is None else count
    header = struct.pack("<IHHI", 12 + len(element) * fits & 0xFFFFFFFF, 0x64, 0, claimed & 0xFFFFFFFF)
    return user_message(_MP | _MQ, properties() + header + element * fits)


def shapes(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and packets of about ``size`` bytes."""
    room = size - 120
    yield "empty direct names", queue_list(b"\3\0\0\0", size)
    yield "direct names of one character", queue_list(b"\3\0A\0\0\0", size)
    yield "public names", queue_list(b"\1\0\0\0" + bytes(range(16)), size)
    yield "private names", queue_list(b"\2\0\0\0" + bytes(range(20)), size)
    yield "a list that claims 4 G elements", queue_list(b"\3\0\0\0", size, count=0xFFFFFFFF)
    yield "elements of unknown types", queue_list(b"\xff\xff\0\0", size)
    yield "a body", user_message(_MP, properties(bytes(room)))
    yield "a body that claims 4 GB", user_message(_MP, properties(bytes(room), message_size=0xFFFFFFFF))
    yield "an extension", user_message(_MP, properties(extension=bytes(room)))
    yield "bytes that no header claims", user_message(_MP, properties() + bytes(room))
    yield "a PacketSize of 4 GB", user_message(_MP, properties(bytes(room)), packet_size=0xFFFFFFFF)
    yield "flags that announce everything", user_message(0xFFFFFFFF, b"\xff" * room)
    soap = struct.pack("<HHI", 0x320, 0, room // 2) + b"A\0" * (room // 2) + struct.pack("<HHI", 0x384, 0, 0)
    yield "a SOAP header", user_message(_MP | _HH, properties() + soap)
    security = struct.pack("<4H2I", 1, min(room, 0xFFFC), 0, 0, 0, 0) + b"\1\xff" + bytes(room)
    yield "a SID of 255 sub-authorities", user_message(_MP | _SH, security + properties())
    yield "signatures and nothing else", b"\x10\0\3\0LIOR\x14\0\0\0" * (size // 12)


def cost(data: bytes) -> tuple[float, int]:
    """Seconds and the most bytes held while ``data`` is inspected; the best of three runs for time."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        mw.inspect(data)
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    mw.inspect(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return min(seconds), peak


def main() -> int:
    over = 0
    for size in (_SMALL, 1 << 20):
        print(f"\nPackets of about {size:,} bytes")
        for name, data in shapes(size):
            seconds, peak = cost(data)
            within = peak <= (1 << 20) + 60 * len(data)
            if size == _SMALL:
                within = within and seconds < _SMALL_TIME and peak < _SMALL_PEAK
            over += not within
            print(
                f"  {name:34} {seconds * 1000:9.2f} ms  {peak / 1024:10,.0f} KiB"
                f"  x {peak / len(data):<6.1f}{'' if within else '  OVER'}"
            )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
