"""Bodies in chunks: by hand, whole and byte by byte."""

from __future__ import annotations

import pytest

from msmq_wire.srmp.http.chunks import ChunkReader

SIZE, LINE_END = "the size of a chunk is no number", "no line end follows the data of a chunk"


def read(data: bytes, most: int = 1 << 20) -> tuple[bytes, int, ChunkReader]:
    """The body, and how many bytes it takes, read in pieces of ``most`` bytes."""
    reader, body, at = ChunkReader(), b"", 0
    while at < len(data) and not reader.done and not reader.problem:
        used, count = reader.step(data, at, min(at + most, len(data)))
        body += data[at : at + count]
        at = used
    return body, at, reader


@pytest.mark.parametrize("most", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize(
    ("data", "body", "count", "trailers"),
    [
        (b"0\r\n\r\n", b"", 0, ()),
        (b"4\r\nabcd\r\n3;x=y\r\nefg\r\n0\r\nTrail: er\r\n\r\n", b"abcdefg", 2, ((b"Trail", b"er"),)),
        (b"002 \t\r\n\r\n\r\n000;\r\n\n", b"\r\n", 1, ()),
        (b"a;\tb\r\n0123456789\r\n0\r\nA: b\n c\nB:\n\n", b"0123456789", 1, ((b"A", b"b c"), (b"B", b""))),
        (b"A\r\n0123456789\r\n0\r\n\r\n", b"0123456789", 1, ()),
    ],
)
def test_a_body_ends_with_its_last_chunk_and_its_trailers(
    data: bytes, body: bytes, count: int, trailers: tuple[tuple[bytes, bytes], ...], most: int
) -> None:
    found, used, reader = read(data + b"GET / HTTP/1.1\r\n", most)
    assert (found, used, reader.done, reader.problem) == (body, len(data), True, "")
    assert (reader.count, reader.trailers, reader.held_bytes) == (count, trailers, 0)


@pytest.mark.parametrize("most", [1, 1 << 20])
@pytest.mark.parametrize(
    ("good", "wrong", "problem"),
    [
        (b"", b"zz\r\n", SIZE),
        (b"", b"\r\n", SIZE),
        (b"", b"-1\r\n", SIZE),
        (b"", b"4\n", SIZE),
        (b"", b" 4\r\n", SIZE),
        (b"", b"4 x\r\n", SIZE),
        (b"", b"4\r;\r\n", SIZE),
        (b"", b"0" * 21 + b"\r\n", SIZE),
        # What stands in place of a line end may begin another message.
        (b"2\r\nok", b"", LINE_END),
        (b"2\r\nok\r", b"", LINE_END),
        (b"2\r\nok\r\n", b"x\r\n", SIZE),
        (b"0\r\n", b"no colon\r\n\r\n", "the trailers break the grammar of headers"),
        (b"0\r\n", b"Content-Length: x\r\n\r\n", "the trailers break the grammar of headers"),
    ],
)
def test_a_chunk_that_breaks_the_rules_ends_the_body(
    good: bytes, wrong: bytes, problem: str, most: int
) -> None:
    body, used, reader = read(good + wrong + b"GET / HTTP/1.1\r\n", most)
    assert body == (b"ok" if b"ok" in good else b"")
    assert (used, reader.problem, reader.done) == (len(good + wrong), problem, False)


@pytest.mark.parametrize(
    ("good", "problem"),
    [
        (b"", "the size of a chunk of more than 16384 bytes"),
        (b"0\r\n", "trailers of more than 16384 bytes"),
    ],
)
def test_a_line_without_an_end_is_held_up_to_a_limit(good: bytes, problem: str) -> None:
    _, used, reader = read(good + b"0" * 100_000, 4096)
    assert reader.problem == problem
    assert used == len(good) + 5 * 4096


def test_a_huge_chunk_holds_nothing() -> None:
    body, used, reader = read(b"fffffffffffffff0\r\nabc")
    assert (body, used, reader.held_bytes, reader.done) == (b"abc", 21, 0, False)
