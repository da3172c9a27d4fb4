"""However a file is cut into parts, each find is in one of them, as a search of all of it finds it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import cast

import pytest

from fixtures.build_srmp_requests import MULTIPART, content, envelope, post
from msmq_wire import build_message, encode
from msmq_wire.capture.carve import media
from msmq_wire.capture.carve.envelopes import AROUND, REACH
from msmq_wire.capture.carve.media import READ_SIZE, Extent, Medium
from msmq_wire.capture.carve.parts import BEHIND, finds_in_part, part_starts
from msmq_wire.capture.carve.reader import finds_in
from msmq_wire.capture.carve.search import CarvedItem, Carver
from msmq_wire.capture.listing import open_file
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.packet_framer import MAX_PENDING, is_credible, packet_length
from tests.effort import examples, seeds, share

LONGEST = 4000
"""Bytes of the longest packet or request in a small image."""
SIZE = 40_000


class Bytes:
    """A medium of bytes that is read in small pieces; the ranges of ``holes`` are not there."""

    def __init__(self, data: bytes, holes: tuple[range, ...] = (), extent: int = 1009) -> None:
        self.data = data
        self.holes = holes
        self.extent = extent
        self.taken: list[range] = []

    def extents(self, start: int = 0, stop: int | None = None) -> Iterator[Extent]:
        at, size = start, len(self.data) if stop is None else min(stop, len(self.data))
        while at < size:
            inside = next((hole for hole in self.holes if at in hole), None)
            if inside is not None:
                at = inside.stop
                continue
            ends = [hole.start for hole in self.holes if hole.start > at]
            end = min([at - at % self.extent + self.extent, size, *ends])
            self.taken.append(range(at, end))
            yield Extent(at, memoryview(self.data)[at:end], True)
            at = end


def packet(random: Random, inside: bytes | None = None, size: int | None = None) -> bytes:
    """A message, with bytes of any kind or ``inside`` in its body."""
    body = random.randbytes(random.randrange(LONGEST - 400) if size is None else size)
    if inside is not None and len(inside) < LONGEST - 800:
        body = body[: random.randrange(300)] + inside + body[:50]
    message = build_message("DIRECT=OS:a\\private$\\q", body, message_id=random.randrange(1 << 30))
    return encode(message)


def request(random: Random) -> bytes:
    """An SRMP message: a whole request, a part of a multipart one, or an envelope alone."""
    number = random.randrange(1 << 20)
    body = random.choice([b"x" * random.randrange(800), envelope("inner", number).encode()])
    # A part whose request lost its end goes on to the next delimiter that is the same.
    parts = content("order", number, body).replace(b"4711", b"%d" % number)
    framing = random.choice([None, f"Content-Length: {len(parts) + random.randrange(900)}"])
    alone = envelope("alone", number).encode()
    whole = post(MULTIPART.replace("4711", str(number)), parts, framing=framing)
    return random.choice([whole, parts, post("text/xml", alone), alone])


def damaged(random: Random, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(random.randrange(1, 4)):
        made[random.randrange(12, min(len(made), 200))] ^= 1 << random.randrange(8)
    return bytes(made)


def near_misses(random: Random) -> bytes:
    """A signature every few bytes, with sizes that are possible."""
    step = random.choice([12, 16, 20, 64])
    one = b"\x10\0\x0b\0LIOR" + random.choice([20, 300, 4096, 1 << 22]).to_bytes(4, "little")
    return one.ljust(step, random.choice([b"\0", b"\x01", b"R"])) * random.randrange(2, 30)


def image(seed: int, *, requests: bool) -> bytes:
    """Packets behind others, over their ends, in their bodies, cut and damaged, among noise."""
    random = Random(seed)
    data = bytearray(random.choice([bytes(SIZE), random.randbytes(SIZE)]))
    at = random.randrange(3000)
    while at < SIZE - LONGEST:
        nested = packet(random, packet(random, size=random.randrange(500)) if random.random() < 0.5 else None)
        kinds = [
            packet(random),
            packet(random, nested),
            packet(random, size=random.randrange(300)),
            damaged(random, packet(random)),
            near_misses(random),
            packet(random)[: random.randrange(60, 900)],
        ]
        one = random.choice([*kinds, request(random), request(random)] if requests else kinds)
        data[at : at + len(one)] = one
        if random.random() < 0.2:
            # The end of it is zeros from a page on, or something else.
            border = (at + len(one)) // 4096 * 4096
            data[border : border + 4096] = bytes(4096)
        # More often than not the next one begins before the end of this one.
        at += random.choice([len(one), random.randrange(1, len(one)), random.randrange(1, len(one)), 4096])
    return bytes(data[:SIZE])


def chain(seed: int, *, step: float, count: int = 12) -> bytes:
    """Packets of about the largest size, each of which begins in the body of the one before."""
    random = Random(seed)
    data = bytearray(random.randbytes(500))
    at = 500
    for _ in range(count):
        one = packet(random, size=LONGEST - 500 + random.randrange(100))
        data[at:] = one
        at += 300 + int((len(one) - 300) * step)
    return bytes(data)


def searched(data: bytes, holes: tuple[range, ...] = ()) -> list[CarvedItem]:
    return list(finds_in(cast(Medium, Bytes(data, holes)), Carver()))


def in_parts(data: bytes, size: int, behind: int, holes: tuple[range, ...] = ()) -> list[CarvedItem]:
    """The finds of all parts, one part after the other."""
    found: list[CarvedItem] = []
    for first in range(0, len(data), size):
        medium = cast(Medium, Bytes(data, holes))
        found += finds_in_part(medium, first, min(first + size, len(data)), behind=behind)
    return found


SIZES = (512, 900, 1024, 1777, 3000, 4096, 7001, 11_111, 20_000, 50_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(examples(30)))
def test_parts_of_packets_give_what_one_search_gives(seed: int) -> None:
    data = image(seed, requests=False)
    expected = searched(data)
    assert len(expected) > 3
    for size in (*share(SIZES, 9, seed), Random(seed).randrange(600, 9000)):
        assert in_parts(data, size, behind=LONGEST) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(examples(30)))
def test_parts_of_packets_and_srmp_give_what_one_search_gives(seed: int) -> None:
    data = image(1000 + seed, requests=True)
    expected = searched(data)
    for size in share(SIZES, 9, seed):
        assert in_parts(data, size, behind=3 * LONGEST) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(examples(20)))
def test_holes_end_what_lies_over_them_in_every_part(seed: int) -> None:
    data, random = image(seed, requests=bool(seed % 2)), Random(seed)
    starts = sorted(random.randrange(SIZE) for _ in range(4))
    holes = tuple(range(at, at + random.randrange(1, 3000)) for at in starts)
    expected = searched(data, holes)
    for size in share(SIZES, 9, seed):
        assert in_parts(data, size, 3 * LONGEST, holes) == expected


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("step", [0.05, 0.3, 0.5, 0.9, 0.99])
def test_one_packet_before_a_part_is_enough_however_long_the_chain(step: float) -> None:
    for seed in seeds(3):
        data = chain(seed, step=step)
        expected = searched(data)
        # All but the last are under the next one.
        assert [find.grade for find in expected] == ["head"] * 11 + ["whole"]
        for size in share(SIZES, 2):
            assert in_parts(data, size, behind=LONGEST) == expected


@pytest.mark.slow
def test_less_before_a_part_is_too_little() -> None:
    images = (image(seed, requests=False) for seed in range(10))
    assert any(in_parts(data, 1024, behind=500) != searched(data) for data in images)


@pytest.mark.slow
def test_bodies_in_bodies_are_as_deep_in_every_part() -> None:
    random = Random(1)
    data = packet(random, size=40)
    for _ in range(5):
        data = packet(random, data)
    data = bytes(700) + data + bytes(100)
    expected = searched(data)
    assert len(expected) == 3
    for size in range(50, 1200, 50):
        assert in_parts(data, size, behind=LONGEST) == expected


def test_what_is_before_a_part_holds_the_largest_packet_and_two_srmp_messages() -> None:
    assert BEHIND % READ_SIZE == 0
    assert MAX_PENDING < BEHIND
    assert BEHIND - READ_SIZE < 2 * REACH + AROUND <= BEHIND


def test_parts_are_whole_pieces_and_cover_the_file() -> None:
    assert list(part_starts(3 * READ_SIZE + 1, 1)) == [0, READ_SIZE, 2 * READ_SIZE, 3 * READ_SIZE]
    assert list(part_starts(5 * READ_SIZE, 2 * READ_SIZE + 17)) == [0, 2 * READ_SIZE, 4 * READ_SIZE]
    assert list(part_starts(0, 1)) == [0]


def test_a_part_is_read_no_further_than_its_finds_need() -> None:
    data = chain(3, step=0.5)
    medium = Bytes(data + bytes(500_000))
    list(finds_in_part(cast(Medium, medium), 8000, 10_000, behind=LONGEST))
    assert medium.taken[0].start == 8000 - LONGEST
    # To the end of what reaches furthest, and of what may lie over it; a page; a tag of an envelope.
    assert medium.taken[-1].stop < 10_000 + 2 * LONGEST + 2 * 4096 + 2 * 1009
    quiet = Bytes(bytes(500_000))
    list(finds_in_part(cast(Medium, quiet), 0, 16_000))
    assert quiet.taken[-1].stop < 16_000 + 4096 + 2 * 1009


@pytest.mark.slow
def test_packets_of_the_largest_size_are_told_alike_by_parts_of_a_file(tmp_path: Path) -> None:
    random = Random(7)
    largest = encode(build_message("DIRECT=OS:a\\private$\\q", bytes((4 << 20) - 400)))
    small = packet(random, size=100)
    assert is_credible(largest)
    assert packet_length(largest) > (4 << 20) - 400
    data = bytearray(26 << 20)
    for at, one in (
        (100_000, largest),
        # In the body of the one before, over its end; then the same over this one.
        (3 << 20, largest),
        ((7 << 20) - 2000, largest),
        ((9 << 20) + 5, small),
        ((12 << 20) - 50, small),
        ((13 << 20) - 9, largest),
        ((17 << 20) + 100, largest[: 1 << 20]),
        ((19 << 20) + 77, post(MULTIPART, content("large", 5, b"x" * (3 << 20)))),
        ((25 << 20) - 3, small),
    ):
        data[at : at + len(one)] = one
    path = tmp_path / "image.dd"
    path.write_bytes(data)
    with Medium(str(path), hashing=False) as medium:
        expected = list(finds_in(medium, Carver()))
    assert [find.grade for find in expected].count("whole") >= 4
    for size in (1 << 20, 3 << 20, 10 << 20):
        found: list[CarvedItem] = []
        for first in part_starts(len(data), size):
            with Medium(str(path), hashing=False) as medium:
                found += finds_in_part(medium, first, first + size)
        assert found == expected


@pytest.mark.slow
def test_a_packed_file_is_one_part(tmp_path: Path) -> None:
    data = image(5, requests=True)
    (tmp_path / "image.gz").write_bytes(gzip.compress(data))
    with Medium(str(tmp_path / "image.gz"), hashing=False) as medium:
        assert medium.is_stream
        assert list(finds_in_part(medium)) == searched(data)


def test_what_was_found_before_a_failure_is_told() -> None:
    data = packet(Random(1), size=50) + bytes(100) + packet(Random(2), size=3000)
    whole = searched(data)

    class Failing(Bytes):
        def extents(self, start: int = 0, stop: int | None = None) -> Iterator[Extent]:
            yield from list(super().extents(start, stop))[:2]
            raise CaptureError("gone")

    found: list[CarvedItem] = []
    with pytest.raises(CaptureError, match="gone"):
        found.extend(finds_in_part(cast(Medium, Failing(data)), 0, len(data)))
    assert found[0] == whole[0]
    assert [find.grade for find in found] == ["whole", "head"]


@pytest.mark.slow
def test_a_file_of_an_opener_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "READ_SIZE", 5000)
    for name, data in (("a.dd", image(8, requests=True)), ("a.gz", gzip.compress(image(8, requests=True)))):
        (tmp_path / name).write_bytes(data)
        with Medium(str(tmp_path / name), hashing=False, opener=open_file) as medium:
            assert list(finds_in_part(medium)) == searched(image(8, requests=True))
    with pytest.raises(CaptureError, match=r"cannot open .*gone: No such file or directory"):
        Medium(str(tmp_path / "gone"), opener=open_file)
    (tmp_path / "x.vmdk").write_bytes(b"KDMV" + bytes(600))
    with pytest.raises(CaptureError, match="a VMDK image: only a file of this machine is read as one"):
        Medium(str(tmp_path / "x.vmdk"), opener=open_file)
