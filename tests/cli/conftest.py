"""What the tests of the command line share: running it, fixture packets, captures written by hand."""

from __future__ import annotations

import io
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from msmq_wire.cli.app import main
from tests.hex_files import hex_bytes

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "packets"


class Outcome(NamedTuple):
    """How a run ended and what it printed."""

    status: int
    out: str
    err: str


def is_refused(outcome: Outcome, words: str) -> None:
    """One line on standard error says what is wrong with the command line."""
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert words in outcome.err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run the command line inside this process, without colours and without folding."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run_(*arguments: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Outcome(status, out, err)

    return run_


@pytest.fixture
def packet_bytes() -> Callable[[str], bytes]:
    """The bytes of a fixture packet, by ``stem/name``."""

    def read(name: str) -> bytes:
        return hex_bytes(FIXTURES / f"{name}.hex")

    return read


def _ipv4(protocol: int, payload: bytes, src: str, dst: str) -> bytes:
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0)
    ethernet = bytes(12) + b"\x08\x00"
    return ethernet + header + socket.inet_aton(src) + socket.inet_aton(dst) + payload


def tcp_frame(
    payload: bytes, seq: int, src: str = "192.0.2.1", dst: str = "192.0.2.20", dport: int = 1801
) -> bytes:
    """An Ethernet frame with a TCP segment; checksums are 0."""
    header = struct.pack(">HHIIBBHHH", 1025, dport, seq, 1, 0x50, 0x18, 8192, 0, 0)
    return _ipv4(6, header + payload, src, dst)


def udp_frame(payload: bytes, src: str = "192.0.2.1", dst: str = "192.0.2.20") -> bytes:
    """An Ethernet frame with a UDP datagram to the ping port."""
    return _ipv4(17, struct.pack(">HHHH", 3527, 3527, 8 + len(payload), 0) + payload, src, dst)


def pcap_bytes(frames: Sequence[bytes]) -> bytes:
    """A classic pcap: one frame a second from 2023-11-14 22:13:20.5 UTC."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for index, frame in enumerate(frames):
        out += struct.pack("<IIII", 1700000000 + index, 500000, len(frame), len(frame)) + frame
    return out


@pytest.fixture
def capture(tmp_path: Path, packet_bytes: Callable[[str], bytes]) -> Path:
    """Five frames: ping, two user messages (the second in two segments), another protocol."""
    first = packet_bytes("user_message/direct_destination")
    second = packet_bytes("user_message/frame_7_completed_synthetic")
    path = tmp_path / "traffic.pcap"
    path.write_bytes(
        pcap_bytes(
            [
                udp_frame(packet_bytes("ping/frame_1_request")),
                tcp_frame(first, 100),
                tcp_frame(second[:1400], 100 + len(first)),
                tcp_frame(second[1400:], 1500 + len(first)),
                tcp_frame(b"GET / HTTP/1.1\r\n\r\n", 1, dst="192.0.2.99", dport=80),
            ]
        )
    )
    return path


@pytest.fixture
def make_capture(tmp_path: Path) -> Callable[..., Path]:
    """Write packets, each a segment of one connection, to a capture."""

    def make(*packets: bytes, name: str = "made.pcap") -> Path:
        frames = []
        seq = 100
        for packet in packets:
            frames.append(tcp_frame(packet, seq))
            seq += len(packet)
        path = tmp_path / name
        path.write_bytes(pcap_bytes(frames))
        return path

    return make
