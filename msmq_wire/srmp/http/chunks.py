"""Bodies in chunks: sizes, line ends and trailers taken out as the bytes come. [RFC9112] 7.1.

The rule kept here: what is decided does not depend on how the bytes were split.
"""

from __future__ import annotations

import re

from msmq_wire.srmp.http.grammar import fields_problem
from msmq_wire.srmp.http.message import BLANK_LINES, HeaderFields, header_fields

_MAX_LINE = 16 << 10
"""Bytes of a line with a size, and of all trailers."""
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,20})(?:;[^\n]*|[ \t]*)\r\n")


class ChunkReader:
    """Call `step` until it is ``done`` or there is a ``problem``; then the body has ended."""

    __slots__ = ("_line", "_line_end", "_remaining", "_trailing", "count", "done", "problem", "trailers")

    def __init__(self) -> None:
        self._line = bytearray()  # a size, or the trailers, as far as they came
        self._line_end = b""  # what must follow the data of a chunk
        self._remaining = 0  # bytes of a chunk
        self._trailing = False
        self.count = 0
        self.trailers: HeaderFields = ()
        self.problem = ""
        self.done = False

    @property
    def held_bytes(self) -> int:
        """The bytes held."""
        return len(self._line)

    def step(self, data: bytes, at: int, end: int) -> tuple[int, int]:
        """Take bytes between ``at`` and ``end``; how far they are used up, and how many of them are data."""
        if self._remaining:
            count = min(self._remaining, end - at)
            self._remaining -= count
            if not self._remaining:
                self._line_end = b"\r\n"
            return at + count, count
        if self._line_end:
            if data[at] != self._line_end[0]:
                self.problem = "no line end follows the data of a chunk"
                return at, 0
            self._line_end = self._line_end[1:]
            return at + 1, 0
        end = data.find(b"\n", at, end) + 1 or end
        self._line += data[at:end]
        if self._trailing:
            self._take_trailers()
        elif data[end - 1] == 0x0A:
            self._take_size()
        if len(self._line) > _MAX_LINE:
            what = "trailers" if self._trailing else "the size of a chunk"
            self.problem = f"{what} of more than {_MAX_LINE} bytes"
        return end, 0

    def _take_size(self) -> None:
        found = _SIZE.fullmatch(bytes(self._line))
        self._line.clear()
        if found is None:
            self.problem = "the size of a chunk is no number"
            return
        self._remaining = int(found[1], 16)
        self.count += bool(self._remaining)
        self._trailing = not self._remaining

    def _take_trailers(self) -> None:
        block = bytes(self._line)
        if block in (b"\r\n", b"\n") or block.endswith(BLANK_LINES):
            self.trailers, _ = header_fields(block)
            self.done = not fields_problem(block, self.trailers)
            self.problem = "" if self.done else "the trailers break the grammar of headers"
            self._line.clear()
