"""Streams are read a chunk at a time, and past what cannot be read."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from msmq_dissect.places import Ranges
from msmq_dissect.reading import CHUNK, carve, reason_of


class Worn(io.BytesIO):
    """A stream that cannot be read at a place."""

    def __init__(self, data: bytes, broken: int) -> None:
        super().__init__(data)
        self.broken = broken
        self.asked: set[int] = set()

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = len(self.getbuffer()) if size is None or size < 0 else size
        self.asked.add(wanted)
        if self.tell() <= self.broken < self.tell() + wanted:
            raise EOFError
        return super().read(size)


def test_what_cannot_be_read_is_a_hole_of_one_chunk_and_what_follows_is_found(
    message: Callable[[int], bytes],
) -> None:
    one, two = message(1), message(2)
    data = one.ljust(CHUNK, b"\0") + bytes(CHUNK) + two + bytes(CHUNK)
    reported: list[tuple[int, int, str]] = []
    stream = Worn(data, CHUNK + 5)
    finds = list(carve(stream, len(data), lambda *what: reported.append(what)))
    assert [(find.offset, find.data) for find in finds] == [(0, one), (2 * CHUNK, two)]
    assert reported == [(CHUNK, CHUNK, "EOFError")]
    assert max(stream.asked) == CHUNK


class Broken(io.BytesIO):
    """A stream that cannot be read at all."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise ValueError("bad sector")


def test_a_disk_of_which_nothing_can_be_read_is_given_up() -> None:
    reported: list[tuple[int, int, str]] = []
    assert not list(carve(Broken(), 1 << 60, lambda *what: reported.append(what)))
    assert len(reported) == 1024
    assert sum(length for _, length, _ in reported) == 1 << 60


def test_bytes_that_are_not_there_end_the_search_and_are_told(message: Callable[[int], bytes]) -> None:
    data = message(1)[:-4]
    reported: list[tuple[int, int, str]] = []
    [find] = carve(io.BytesIO(data), 1 << 40, lambda *what: reported.append(what))
    assert (find.offset, find.grade) == (0, "head")
    assert reported == [(len(data), (1 << 40) - len(data), "they are not there")]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no\n such  thing"), "no such thing"),
        (KeyError("cid"), "KeyError 'cid'"),
        (EOFError(), "EOFError"),
        (FileNotFoundError(2, "No such file or directory"), "No such file or directory"),
    ],
)
def test_a_reason_is_one_line(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason


def test_ranges_hold_the_bytes_of_their_stretches_and_no_others() -> None:
    ranges = Ranges()
    ranges.add([(100, 200), (10, 20)])
    ranges.add([(20, 30), (10, 20)])
    inside = {offset for offset in range(300) if offset in ranges}
    assert inside == {*range(10, 30), *range(100, 200)}
    assert 5 not in Ranges()
