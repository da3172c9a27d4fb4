"""Captures that the lab writes: our reader gives the same bytes back, and tshark finds nothing wrong."""

from __future__ import annotations

import ipaddress
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.conversation_writer import MSS, CapturedConnection, CaptureWriter, endpoint
from msmq_wire.capture.link import dissect
from msmq_wire.capture.network import UdpDatagram
from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import StreamBytes, StreamEvent, TcpEvent, TcpSegment

CLIENT, SERVER = ("127.0.0.1", 49731), ("127.0.0.1", 2105)
CLIENT_6, SERVER_6 = ("::1", 49732), ("::1", 1801)
SECOND = 1_000_000_000


def events(path: Path) -> list[TcpEvent]:
    reassembler, found = TcpReassembler(), list[TcpEvent]()
    for frame in read_frames(path):
        for datagram in dissect(frame):
            if isinstance(datagram, TcpSegment):
                found += reassembler.feed(datagram)
    return found + reassembler.finish()


def streams(path: Path) -> dict[tuple[int, int], bytes]:
    """The bytes of each (stream, direction); fails where one is missing."""
    joined: dict[tuple[int, int], bytes] = {}
    for event in events(path):
        assert isinstance(event, (StreamBytes, StreamEvent)), event
        if isinstance(event, StreamBytes):
            key = event.stream, event.direction
            assert event.offset == len(joined.get(key, b""))
            joined[key] = joined.get(key, b"") + event.data
    return joined


def kinds(path: Path) -> list[str]:
    return [event.kind for event in events(path) if isinstance(event, StreamEvent)]


def by_tshark(path: Path, condition: str) -> list[str]:
    """The frames for which a display filter holds, all checksums verified."""
    checks = [f"{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]
    options = [part for check in checks for part in ("-o", check)]
    command = ["tshark", "-r", str(path), *options, "-Y", condition, "-T", "fields", "-e", "frame.number"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lab.pcap"


def test_the_file_begins_as_a_pcap_with_nanoseconds_and_plain_ip(path: Path) -> None:
    CaptureWriter(path).close()
    assert path.read_bytes() == bytes.fromhex(
        "4d3cb2a1 0200 0400 00000000 00000000 00000400 65000000".replace(" ", "")
    )


def test_a_datagram_is_what_the_documents_say_byte_by_byte(path: Path) -> None:
    with CaptureWriter(path, clock=lambda: 5 * SECOND + 6) as capture:
        capture.datagram(("127.0.0.1", 1025), ("127.0.0.1", 1801), b"\xab\xcd")
    record = "05000000 06000000 1e000000 1e000000"
    # 0x4500+0x001e+0x0001+0x4000+0x4011+0x7f00+1+0x7f00+1 = 0x1c332, folded 0xc333.
    ip = "4500 001e 0001 4000 4011 3ccc 7f000001 7f000001"
    # 0x7f00+1+0x7f00+1+0x11+0xa+0x401+0x709+0xa+0xabcd = 0x1b4fe, folded 0xb4ff.
    udp = "0401 0709 000a 4b00 abcd"
    assert path.read_bytes()[24:].hex() == (record + ip + udp).replace(" ", "")


def test_our_reader_gives_the_bytes_back(path: Path) -> None:
    big, small = os.urandom(300_000), b"x" * MSS
    with CaptureWriter(path) as capture:
        one = capture.connection(CLIENT, SERVER)
        two = capture.connection(CLIENT_6, SERVER_6)
        one.feed(True, b"request")
        two.feed(True, small)
        one.feed(False, big)
        two.feed(False, b"")
        one.feed(True, b"more")
        one.finish()
        two.finish(from_client=False)
    assert streams(path) == {(0, 0): b"requestmore", (0, 1): big, (1, 0): small}
    assert kinds(path).count("fin") == 4
    assert kinds(path).count("closed") == 2


@given(
    feeds=st.lists(
        st.tuples(
            st.integers(0, 2), st.booleans(), st.sampled_from([0, 1, 9, MSS - 1, MSS, MSS + 1, 26_000])
        ),
        max_size=8,
    )
)
def test_whatever_passes_comes_back(
    tmp_path_factory: pytest.TempPathFactory, feeds: list[tuple[int, bool, int]]
) -> None:
    path = tmp_path_factory.mktemp("lab") / "lab.pcap"
    sent: dict[tuple[int, int], bytes] = {}
    with CaptureWriter(path) as capture:
        connections = [capture.connection(("127.0.0.1", 50_000 + number), SERVER) for number in range(3)]
        for count, (number, from_client, size) in enumerate(feeds):
            data = bytes((count + 1,)) * size
            key = number, 0 if from_client else 1
            connections[number].feed(from_client, data)
            if data:
                sent[key] = sent.get(key, b"") + data
    assert streams(path) == sent


def test_sequence_numbers_wrap_around(path: Path) -> None:
    # The number that makes 0xFFFFFF00 the first sequence number of the client.
    number = 0xFFFFFF00 * pow(0x9E3779B1, -1, 1 << 32) % (1 << 32)
    data = os.urandom(10_000)
    with CaptureWriter(path) as capture:
        wrapping = CapturedConnection(capture, CLIENT, SERVER, number)
        wrapping.feed(True, data)
        wrapping.finish()
    (first, *_) = [one for frame in read_frames(path) for one in dissect(frame)]
    assert isinstance(first, TcpSegment)
    assert first.seq == 0xFFFFFF00
    assert streams(path) == {(0, 0): data}


def test_a_reset_ends_the_connection_and_nothing_follows_it(path: Path) -> None:
    with CaptureWriter(path) as capture:
        connection = capture.connection(CLIENT, SERVER)
        connection.feed(True, b"half of a")
        connection.reset(from_client=False)
        connection.feed(True, b"lost")
        connection.finish()
        connection.reset()
    assert streams(path) == {(0, 0): b"half of a"}
    assert kinds(path).count("rst") == 1
    assert "fin" not in kinds(path)


def test_datagrams_come_back_over_both_versions_of_ip(path: Path) -> None:
    sent = [(CLIENT, SERVER, b""), (CLIENT_6, SERVER_6, b"odd"), (SERVER, CLIENT, bytes(65_507))]
    with CaptureWriter(path) as capture:
        for src, dst, data in sent:
            capture.datagram(src, dst, data)
    found = [one for frame in read_frames(path) for one in dissect(frame)]
    assert all(isinstance(one, UdpDatagram) for one in found)
    assert [
        (
            (str(ipaddress.ip_address(one.src)), one.sport),
            (str(ipaddress.ip_address(one.dst)), one.dport),
            one.payload,
        )
        for one in found
        if isinstance(one, UdpDatagram)
    ] == sent


def test_addresses_of_sockets_become_what_packets_carry(path: Path) -> None:
    assert endpoint(("fe80::1%lo", 5, 0, 1)) == ("fe80::1", 5)
    assert endpoint(("127.0.0.1", 6)) == ("127.0.0.1", 6)
    with CaptureWriter(path) as capture:
        capture.datagram(("::ffff:127.0.0.1", 1), ("::ffff:127.0.0.2", 2), b"mapped")
    (found,) = [one for frame in read_frames(path) for one in dissect(frame)]
    assert isinstance(found, UdpDatagram)
    assert (found.src, found.dst) == (bytes((127, 0, 0, 1)), bytes((127, 0, 0, 2)))


def test_times_never_go_back(path: Path) -> None:
    clock = iter([10 * SECOND, 9 * SECOND, 10 * SECOND, 11 * SECOND])
    with CaptureWriter(path, clock=lambda: next(clock)) as capture:
        for _ in range(4):
            capture.datagram(CLIENT, SERVER, b"")
    times = [frame.time for frame in read_frames(path)]
    assert times == [10 * SECOND, 10 * SECOND + 1, 10 * SECOND + 2, 11 * SECOND]


@pytest.mark.slow
def test_a_killed_process_leaves_a_file_that_can_be_read(path: Path) -> None:
    script = (
        "import os, sys\n"
        "from msmq_wire.capture.conversation_writer import CaptureWriter\n"
        "connection = CaptureWriter(sys.argv[1]).connection(('127.0.0.1', 1), ('127.0.0.1', 2))\n"
        "connection.feed(True, b'last words')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert killed.returncode == -9
    assert streams(path) == {(0, 0): b"last words"}


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot write the capture"):
        CaptureWriter(tmp_path / "missing" / "lab.pcap")


def test_a_capture_that_is_being_written_is_not_touched_by_another_writer(tmp_path: Path) -> None:
    path = tmp_path / "lab.pcap"
    with CaptureWriter(path) as capture:
        capture.datagram(("127.0.0.1", 1), ("127.0.0.1", 2), b"first")
        written = path.read_bytes()
        with pytest.raises(CaptureError, match=r"lab.pcap: somebody else writes it now"):
            CaptureWriter(path, force=True)
        assert path.read_bytes() == written
    CaptureWriter(path, force=True).close()
    assert len(path.read_bytes()) == 24


def test_a_full_capture_can_be_read_and_gets_nothing_more(path: Path) -> None:
    reported: list[str] = []
    with CaptureWriter(path, most_bytes=10_000, full=lambda: reported.append("full")) as capture:
        connection = capture.connection(CLIENT, SERVER)
        for _ in range(100):
            connection.feed(True, bytes(500))
        size = path.stat().st_size
        # Small ones have no place either: there would be gaps between them.
        capture.datagram(CLIENT, SERVER, b"ping")
        connection.finish()
    assert reported == ["full"]
    assert 9_000 < size <= 10_000
    assert path.stat().st_size == size
    frames = list(read_frames(path))
    assert sum(len(one.data) + 16 for one in frames) + 24 == size


def test_a_file_that_is_there_is_emptied_unless_that_is_refused(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(CaptureError, match=r"lab.pcap: it is there"):
        CaptureWriter(path, force=False)
    assert path.read_bytes() == b"precious"
    CaptureWriter(path, force=True).close()
    assert len(path.read_bytes()) == 24


@pytest.mark.parametrize("force", [False, True])
def test_no_link_is_followed(path: Path, tmp_path: Path, force: bool) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    path.symlink_to(precious)
    with pytest.raises(CaptureError, match=r"lab.pcap: it is a link to"):
        CaptureWriter(path, force=force)
    assert precious.read_bytes() == b"precious"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_no_conversation_and_is_told_at_the_end() -> None:
    capture = CaptureWriter("/dev/full")
    connection = capture.connection(CLIENT, SERVER)
    connection.feed(True, b"goes on")
    with pytest.raises(CaptureError, match="not complete"):
        capture.close()


@pytest.mark.slow
@pytest.mark.tshark
def test_tshark_finds_nothing_wrong(path: Path) -> None:
    with CaptureWriter(path) as capture:
        for client, server in ((CLIENT, SERVER), (CLIENT_6, SERVER_6)):
            connection = capture.connection(client, server)
            connection.feed(True, b"request" * 3)
            connection.feed(False, bytes(200_001))
            connection.feed(True, bytes(MSS * 2))
            connection.feed(True, b"1")
            connection.finish(from_client=client == CLIENT)
        broken = capture.connection(("127.0.0.1", 49999), SERVER)
        broken.feed(True, b"abc")
        broken.reset()
        capture.datagram(CLIENT, SERVER, b"ping!")
        capture.datagram(CLIENT_6, SERVER_6, b"ping")
    # Notes and chat tell what a handshake, a reset and an end are; a warning is a complaint.
    assert by_tshark(path, "_ws.expert.severity >= 0x00600000 and not tcp.flags.reset == 1") == []
    assert by_tshark(path, "tcp.analysis.flags and not tcp.flags.reset == 1") == []
    verified = by_tshark(path, "tcp.checksum.status == 1 or udp.checksum.status == 1")
    assert len(verified) == sum(1 for _ in read_frames(path))
    assert len(by_tshark(path, "ip.checksum.status == 1")) == len(by_tshark(path, "ip"))
