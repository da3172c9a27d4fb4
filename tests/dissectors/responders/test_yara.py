"""The YARA rules find what `Carver` looks at, and nothing that only comes near it."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
import yara  # type: ignore[import-not-found]  # an extension without annotations

from msmq_wire import build_message, encode
from msmq_wire.capture.carve.search import Carver
from msmq_wire.reassembly.packet_framer import is_credible

pytestmark = pytest.mark.needs("yara-python")

_ROOT = Path(__file__).resolve().parents[3]
_RULES = yara.compile(str(_ROOT / "dissectors" / "responders" / "msmq.yar"))
_SRMP = sorted((_ROOT / "fixtures" / "srmp").glob("*.http"))


def found(data: bytes) -> dict[str, list[int]]:
    """The offsets of the strings of each rule that matches."""
    return {
        match.rule: sorted({one.offset for string in match.strings for one in string.instances})
        for match in _RULES.match(data=data)
    }


def header(size: int, version: int = 0x10, signature: bytes = b"LIOR") -> bytes:
    return bytes((version, 0xFF, 3, 0)) + signature + struct.pack("<I", size) + bytes(4)


def test_packets_in_noise_are_found_where_the_search_finds_them() -> None:
    source = random.Random(25)
    data = b""
    for number in range(60):
        packet = encode(build_message(r"DIRECT=OS:h\q", bytes(source.randrange(70_000)), message_id=number))
        data += source.randbytes(source.randrange(2000)) + packet
    carver = Carver()
    finds = [*carver.feed(data[:-50]), *carver.finish()]
    assert len(finds) == 60
    assert found(data) == {"msmq_packet": [find.offset for find in finds]}


@pytest.mark.parametrize(
    "size",
    [0, 19, 20, 0x1F, 0xFF, 0x100, 0x0F00, 0xFFFF, 0x10000, 0x3FFFFF, 0x400000, 0x400001, 0x410000, 1 << 24],
)
def test_the_rule_believes_the_sizes_that_the_search_believes(size: int) -> None:
    data = b"\xff" * 7 + header(size)
    assert found(data) == ({"msmq_packet": [7]} if is_credible(data, 7) else {})


def test_every_size_that_the_rule_believes_is_credible() -> None:
    source = random.Random(7)
    for _ in range(300):
        data = header(source.getrandbits(source.randrange(33)))
        assert bool(found(data)) == is_credible(data)


@pytest.mark.parametrize(
    "data",
    [
        header(100, version=0x11),
        header(100, signature=b"ROIL"),
        header(100)[:11],
        "LIOR".encode("utf-16-le") * 9,
        b"the signature of a packet is LIOR",
    ],
)
def test_what_only_comes_near_a_packet_is_not_found(data: bytes) -> None:
    assert found(data) == {}


def test_envelopes_of_srmp_are_found_and_other_envelopes_are_not() -> None:
    envelopes = [path for path in _SRMP if b"/soap/envelope/" in path.read_bytes()]
    assert len(envelopes) > 3
    for path in envelopes:
        assert "msmq_srmp_envelope" in found(path.read_bytes()), path.name
    other = b'<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/">'
    assert found(other) == {}
    assert found(other + bytes(9000) + b"http://schemas.xmlsoap.org/srmp/") == {}
