"""The bytes of one direction of a TCP connection in, HTTP messages out.

The rules kept here:

* What is decided depends on the bytes and the gaps, not on how they were split into feeds, and each byte is
  looked at a bounded number of times.
* Behind a message another start line must follow, after empty lines or none. Where there is none, and behind
  a loss, the next start line is searched for (`find_start_line`), wherever in a line it begins: a body needs
  no line end.
* A gap inside a body whose end is known by its length, or by the end of the connection, is left out of it,
  and framing goes on exactly behind it. Any other gap cuts the message.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msmq_wire.srmp.http.chunks import ChunkReader
from msmq_wire.srmp.http.message import (
    BLANK_LINES,
    LONGEST_SEARCHED,
    MAX_HEAD,
    Head,
    HeaderFields,
    HoleReason,
    HttpHole,
    HttpMessage,
    anomaly,
    find_start_line,
    framing,
    is_start_line,
    parse_head,
)
from msmq_wire.wire.musts import Anomaly

MAX_BODY = 16 << 20
"""Bytes of one body that are held."""
_MAX_LINE = 8 << 10
_MAX_MARKS = 1 << 16  # frames of one message that are told one by one
_MAX_MISSING = 256
_PIECE = 4 << 10  # bytes looked at in one step: what is given back after it costs little
_SHOWN = 256
_MARK_COST = 176

FramerItem: TypeAlias = HttpMessage | HttpHole
_Mark: TypeAlias = tuple[int, int, int]  # (offset, frame, time)
_State: TypeAlias = Literal["head", "length", "chunked", "close", "lost"]


class HttpFramer:
    """Call `step` until the data is used up, `gap` for what is missing, `finish` at the end.

    Before each step, ``answered`` may be set to the method of the request that a response starting now
    answers, and ``room`` to the bytes that may be held for a body beyond those held already. Nothing is
    raised.
    """

    __slots__ = (
        "_body",
        "_chunks",
        "_dropped",
        "_from_client",
        "_head",
        "_hole_data",
        "_hole_marks",
        "_hole_start",
        "_kept",
        "_line_seen",
        "_marks",
        "_missing",
        "_offset",
        "_problems",
        "_remaining",
        "_scanned",
        "_start",
        "_state",
        "_taken",
        "_trailers",
        "answered",
        "room",
    )

    def __init__(self, *, from_client: bool) -> None:
        self._from_client = from_client
        self.answered = ""
        self.room = MAX_BODY
        self._state: _State = "head"
        self._offset = 0  # of the next byte
        self._marks: list[_Mark] = []  # where a frame begins
        self._hole_start = -1
        self._hole_data = b""
        self._hole_marks: tuple[_Mark, ...] = ()
        self._kept = bytearray()  # a head, or the bytes in which a start line may begin
        self._clear()

    def _clear(self) -> None:
        """Forget the message: another one may begin here."""
        self._start = self._offset
        self._kept = bytearray()
        self._line_seen = False
        self._scanned = 0
        self._head: Head | None = None
        self._body = bytearray()
        self._remaining = 0
        self._taken = 0  # bytes of the body so far, those missing and dropped included
        self._dropped = 0
        self._missing: list[tuple[int, int]] = []
        self._problems: list[Anomaly] = []
        self._trailers: HeaderFields = ()
        self._chunks: ChunkReader | None = None

    @property
    def held_bytes(self) -> int:
        """What the bytes held cost, and a little for every frame that carried some."""
        chunks = 0 if self._chunks is None else self._chunks.held_bytes
        return len(self._kept) + len(self._body) + chunks + _MARK_COST * len(self._marks)

    @property
    def chunks(self) -> int:
        """Chunks of the body so far."""
        return 0 if self._chunks is None else self._chunks.count

    @property
    def lost(self) -> bool:
        """Whether a start line has still to be found."""
        return self._state == "lost"

    @property
    def begun(self) -> bool:
        """Whether any bytes of this side came, or are known to be missing."""
        return self._offset > 0

    @property
    def request_method(self) -> str:
        """The method of the request that is being received; empty when there is none."""
        return "" if self._head is None else self._head.method

    def appetite(self, size: int) -> int:
        """How many of the next ``size`` bytes one step takes at most."""
        if self._state == "length":
            return min(size, self._remaining)
        return size if self._state == "close" else min(size, _PIECE)

    @property
    def has_plain_body(self) -> bool:
        """Whether what comes next is a body of a known length."""
        return self._state == "length"

    def advance(self, count: int) -> None:
        """Count ``count`` bytes that were read elsewhere, before any is taken."""
        self._offset += count
        self._start = self._offset

    def step(self, data: bytes, at: int, frame: int, time: int) -> tuple[int, FramerItem | None]:
        """Take bytes of ``data`` from ``at`` on; return how far it is used up and what that completes."""
        marks = self._marks
        if not marks or marks[-1][1:] != (frame, time):
            if len(marks) >= _MAX_MARKS:
                marks.pop()
            marks.append((self._offset, frame, time))
        match self._state:
            case "head":
                return self._step_head(data, at)
            case "lost":
                return self._step_lost(data, at)
            case "chunked":
                return self._step_chunked(data, at)
            case "length":
                count = min(self._remaining, len(data) - at)
                self._remaining -= count
            case "close":
                count = len(data) - at
        self._take_body(data, at, count)
        self._offset += count
        done = self._state == "length" and not self._remaining
        return at + count, self._message(complete=True) if done else None

    def gap(
        self, length: int | None, reason: HoleReason, frame: int, time: int, since: int = 0
    ) -> list[FramerItem]:
        """Take note of ``length`` bytes (None: unknown) missing between two frames (0: the start)."""
        items: list[FramerItem] = []
        if length is not None and length <= 0:
            return items
        fits = length is not None and (
            self._state == "close" or (self._state == "length" and length <= self._remaining)
        )
        if not fits:
            items += self._cut()
        items.append(
            HttpHole(
                from_client=self._from_client,
                reason=reason,
                missing=True,
                frames=tuple(dict.fromkeys((since or frame, frame))),
                time=time,
                offset=self._offset,
                length=length,
            )
        )
        self._offset += length or 0
        if not fits or length is None:
            self._lose()
            return items
        self._miss(length)
        if self._state == "length":
            self._remaining -= length
            if not self._remaining:
                items.append(self._message(complete=True))
        return items

    def finish(self) -> list[FramerItem]:
        """Return what is left: nothing more comes, so a body without a length ends here."""
        items: list[FramerItem] = [self._message(complete=True)] if self._state == "close" else self._cut()
        self._lose()
        self._marks.clear()
        return items

    def _step_head(self, data: bytes, at: int) -> tuple[int, FramerItem | None]:
        """Look for the end of a head; the first line decides whether it is one."""
        piece = data[at : at + _PIECE]
        head = self._kept
        if not head:
            lines = len(piece) - len(piece.lstrip(b"\r\n"))
            if lines:
                self._offset += lines
                return at + lines, None
            self._begin(self._offset)
        head += piece
        self._offset += len(piece)
        if not self._line_seen:
            end = head.find(b"\n", 0, _MAX_LINE)
            if end < 0 and len(head) < _MAX_LINE:
                return at + len(piece), None
            if end < 0 or not is_start_line(head):
                return self._fall(piece, at + len(piece))
            self._line_seen = True
        begin = max(0, self._scanned - 2)
        ends = [found + len(line) for line in BLANK_LINES if (found := head.find(line, begin)) >= 0]
        end = min(ends, default=-1)
        self._scanned = len(head)
        if end < 0 and len(head) <= MAX_HEAD:
            return at + len(piece), None
        over = end < 0 or end > MAX_HEAD
        surplus = len(head) - (MAX_HEAD if over else end)
        del head[len(head) - surplus :]
        self._offset -= surplus
        used = at + len(piece) - surplus
        if over:
            self._head = self._cut_head()
            self._note("http.header-size", f"a head of more than {MAX_HEAD} bytes", "head")
            message = self._message(complete=False)
            self._lose()
            return used, message
        return used, self._start_body()

    def _start_body(self) -> FramerItem | None:
        """The head is complete: go on with the body, or give the message when it has none."""
        head = self._head = parse_head(bytes(self._kept))
        how = framing(head, self.answered)
        self._problems += how.problems
        if how.kind == "unknown":
            message = self._message(complete=False)
            self._lose()
            return message
        if how.kind == "length" and not how.length:
            return self._message(complete=True)
        self._state, self._remaining = how.kind, how.length
        if how.kind == "chunked":
            self._chunks = ChunkReader()
        return None

    def _step_chunked(self, data: bytes, at: int) -> tuple[int, FramerItem | None]:
        chunks = self._chunks
        assert chunks is not None
        used, count = chunks.step(data, at, min(len(data), at + _PIECE))
        self._take_body(data, at, count)
        self._offset += used - at
        if chunks.problem:
            self._note("http.chunk", chunks.problem, "body")
            message = self._message(complete=False)
            self._lose()
            return used, message
        if not chunks.done:
            return used, None
        self._trailers = chunks.trailers
        return used, self._message(complete=True)

    def _take_body(self, data: bytes, at: int, count: int) -> None:
        body = self._body
        kept = max(0, min(count, MAX_BODY - len(body), self.room))
        if self._dropped:
            kept = 0
        body += data[at : at + kept]
        self.room -= kept
        self._dropped += count - kept
        self._taken += count

    def _miss(self, length: int) -> None:
        """Leave ``length`` bytes out of the body."""
        if self._missing and sum(self._missing[-1]) == self._taken:
            self._missing[-1] = (self._missing[-1][0], self._missing[-1][1] + length)
        elif len(self._missing) < _MAX_MISSING:
            self._missing.append((self._taken, length))
        else:
            # The ranges told would no longer say where the bytes kept belong.
            self._dropped += length
        self._taken += length

    def _step_lost(self, data: bytes, at: int) -> tuple[int, FramerItem | None]:
        piece = data[at : at + _PIECE]
        if not self._kept:
            self._start = self._offset
        self._kept += piece
        self._offset += len(piece)
        return self._fall(piece, at + len(piece))

    def _fall(self, piece: bytes, used: int) -> tuple[int, FramerItem | None]:
        """Look for a start line in what is kept, which begins with none and ends with ``piece``."""
        kept = self._kept
        self._state = "lost"
        # A start line ends in a line feed: without a new one there is no new start line.
        found, end = find_start_line(kept) if b"\n" in piece else (-1, -1)
        if found < 0:
            if len(kept) > 2 * LONGEST_SEARCHED:
                self._drop(len(kept) - LONGEST_SEARCHED)
            return used, None
        surplus = len(kept) - end
        del kept[end:]
        self._offset -= surplus
        self._drop(found)
        hole = self._hole()
        self._state, self._line_seen, self._scanned = "head", True, 0
        self._begin(self._offset - len(kept))
        return used - surplus, hole

    def _drop(self, count: int) -> None:
        """Put the first ``count`` bytes kept into the hole."""
        if not count:
            return
        if self._hole_start < 0:
            self._hole_start, self._hole_data = self._start, b""
            self._hole_marks = self._marks_in(self._start, self._start + count)[:1]
        self._hole_data += self._kept[: min(count, _SHOWN - len(self._hole_data))]
        self._hole_marks = (self._hole_marks[0], self._marks_in(self._start, self._start + count)[-1])
        del self._kept[:count]
        start = self._start + count
        self._begin(start)

    def _hole(self) -> HttpHole | None:
        """The hole that ends where what is kept begins."""
        if self._hole_start < 0:
            return None
        start, self._hole_start = self._hole_start, -1
        return HttpHole(
            from_client=self._from_client,
            reason="no-start-line",
            missing=False,
            frames=tuple(dict.fromkeys(frame for _, frame, _ in self._hole_marks)),
            time=max(self._hole_marks, key=_frame)[2],
            offset=start,
            length=self._offset - len(self._kept) - start,
            data=bytes(self._hole_data),
        )

    def _cut(self) -> list[FramerItem]:
        """Turn all that is held into items: what follows here is not what should."""
        if self._head is None and not (self._kept and self._line_seen):
            self._drop(len(self._kept))
            hole = self._hole()
            return [] if hole is None else [hole]
        if self._head is None:
            self._head = self._cut_head()
        path = "head" if self._state == "head" else "body"
        self._note("http.cut", self._lacks(), path)
        return [self._message(complete=False)]

    def _lacks(self) -> str:
        """What is missing of a message that ends here."""
        if self._state == "length":
            return f"{self._remaining:,} bytes of the body that Content-Length announces are missing"
        if self._state == "chunked":
            return "the last chunk of the body is missing"
        return "the message ends inside its HTTP header"

    def _cut_head(self) -> Head:
        """What the whole lines of a head say."""
        return parse_head(bytes(self._kept[: self._kept.rfind(b"\n") + 1]))

    def _lose(self) -> None:
        self._clear()
        self._state = "lost"

    def _begin(self, start: int) -> None:
        """What is kept begins at ``start``: forget the frames before it."""
        self._start = start
        marks = self._marks
        first = 0
        while first + 1 < len(marks) and marks[first + 1][0] <= start:
            first += 1
        if first:
            del marks[:first]

    def _marks_in(self, start: int, stop: int) -> tuple[_Mark, ...]:
        """The marks of the frames that carried bytes from ``start`` to ``stop``."""
        marks = self._marks
        return tuple(
            mark
            for number, mark in enumerate(marks)
            if mark[0] < stop and (number + 1 == len(marks) or marks[number + 1][0] > start)
        )

    def _note(self, code: str, message: str, path: str) -> None:
        self._problems.append(anomaly(code, message, path, 0, self._offset - self._start))

    def _message(self, *, complete: bool) -> HttpMessage:
        """Make a message of what is held; the next one may begin here."""
        head = self._head
        assert head is not None
        if self._dropped:
            self._note("http.body-size", f"{self._dropped} bytes of the body are not kept", "body")
        if self._missing:
            self._note("http.missing", "bytes of the body were not captured", "body")
        marks = self._marks_in(self._start, self._offset)
        message = HttpMessage(
            from_client=self._from_client,
            method=head.method,
            target=head.target,
            status=head.status,
            reason=head.reason,
            http_version=head.http_version,
            head=bytes(self._kept),
            headers=head.shown,
            trailers=self._trailers,
            body=bytes(self._body),
            missing=tuple(self._missing),
            complete=complete and not self._missing and not self._dropped,
            problems=head.problems + tuple(self._problems),
            frames=tuple(dict.fromkeys(frame for _, frame, _ in marks)),
            time=max(marks, key=_frame)[2],
            offset=self._start,
            length=self._offset - self._start,
        )
        self._clear()
        self._state = "head"
        self._begin(self._offset)
        return message


def _frame(mark: _Mark) -> int:
    return mark[1]
