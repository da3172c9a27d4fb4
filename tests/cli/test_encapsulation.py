"""Columns of what a connection was captured in: VLANs, virtual networks, keys of GRE; and of whose it is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixtures.build_frames import Captured, gre, ipv4, packed, pcap, qinq, tcp, udp, vlan, vxlan
from fixtures.build_sessions import Script, Step
from msmq_wire.capture.batches import read_batches
from msmq_wire.capture.reader import read_capture
from tests.capture.test_proxied import conversation, packets
from tests.cli.conftest import Outcome

_STEPS: list[Step] = [{"at": 0.0, "do": "open"}, {"at": 0.1, "do": "message", "id": 1, "count": 60}]
_NAMES = ("vlan", "vni", "gre_key")
_NONE: tuple[list[int], ...] = ([], [], [])


def _wrapped(wrap: Callable[[bytes], bytes] | None) -> Iterator[Captured]:
    for one in Script(_STEPS).scene.frames:
        data = one.data if wrap is None else wrap(one.data[14:])
        yield one._replace(data=data, length=len(data))


@pytest.mark.parametrize(
    ("wrap", "expected"),
    [
        (None, _NONE),
        (vlan, ([42], [], [])),
        (qinq, ([300, 7], [], [])),
        (vxlan, ([], [77], [])),
        (gre, ([], [], [99])),
    ],
)
def test_what_a_connection_was_captured_in_is_a_column(
    wrap: Callable[[bytes], bytes] | None,
    expected: tuple[list[int], ...],
    run: Callable[..., Outcome],
    tmp_path: Path,
) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(_wrapped(wrap)))
    for command in ("messages", "decode"):
        outcome = run(command, path, "--format", "jsonl", "--columns", ",".join(_NAMES))
        rows = [tuple(json.loads(line).values()) for line in outcome.out.splitlines()]
        assert len(rows) >= 60
        assert set(map(str, rows)) == {str(expected)}
    records = list(read_capture(path))
    assert len({one.path for one in records}) == 1
    assert [one for batch in read_batches(str(path)) for one in batch.records()] == records


@pytest.mark.parametrize("count", [1, 60])
@pytest.mark.parametrize(
    ("wrap", "expected"), [(vlan, ([42], [], [])), (vxlan, ([], [77], [])), (gre, ([], [], [99]))]
)
def test_pings_and_what_fragments_carried_say_it_too(
    wrap: Callable[[bytes], bytes],
    expected: tuple[list[int], ...],
    count: int,
    run: Callable[..., Outcome],
    tmp_path: Path,
) -> None:
    src, dst = packed("192.0.2.21"), packed("192.0.2.10")
    ping = udp(src, 1027, dst, 3527, bytes.fromhex("0000 4855 00000007") + bytes(16))

    def fragments(protocol: int, payload: bytes, number: int) -> Iterator[bytes]:
        yield ipv4(src, dst, protocol, payload[:16], number, 0x2000)
        yield ipv4(src, dst, protocol, payload[16:], number, 16 // 8)

    def wire() -> Iterator[bytes]:
        for number in range(count):
            yield ipv4(src, dst, 17, ping, number)
            yield from fragments(17, ping, 1000 + number)
            yield from fragments(6, tcp(src, 4000 + number, dst, 1801, 100, 500, 16, packets()), number)

    path = tmp_path / "one.pcap"
    frames = (wrap(one) for one in wire())
    path.write_bytes(pcap(Captured(time=at, data=one, length=len(one)) for at, one in enumerate(frames, 1)))
    outcome = run("decode", path, "--format", "jsonl", "--columns", f"type,{','.join(_NAMES)}")
    rows = [tuple(json.loads(line).values()) for line in outcome.out.splitlines()]
    assert [row for row in rows if row[1:] != expected] == []
    assert Counter(row[0] for row in rows) == {"ping": 2 * count, "user_message": count}
    records = list(read_capture(path))
    assert [one for batch in read_batches(str(path)) for one in batch.records()] == records


def test_a_filter_knows_the_encapsulation(run: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(_wrapped(vlan)))
    assert len(run("messages", path, "--filter", "vlan == 42", "--format", "jsonl").out.splitlines()) == 60
    assert run("messages", path, "--filter", "vlan == 43", "--format", "jsonl").out == ""
    assert "vlan" not in run("messages", path, "--format", "jsonl").out


_LINE = b"PROXY TCP6 2001:db8:77::21 2001:db8::10 50017 1801\r\n"
_PROXIED = "proxied_client,proxied_server"


@pytest.mark.parametrize("command", ["messages", "decode"])
def test_whose_a_connection_is_by_its_header_is_a_column(
    command: str, run: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(_wrapped(None)))
    reported = run(command, path, "--format", "csv", "--columns", f"src,{_PROXIED}").out.splitlines()
    assert {line.partition(",")[2] for line in reported[1:]} == {","}
    path.write_bytes(conversation(_LINE, *[packets(4)] * 20))
    reported = run(command, path, "--format", "csv", "--columns", f"src,{_PROXIED}").out.splitlines()
    assert reported[1:] == ["192.0.2.5:4000,[2001:db8:77::21]:50017,[2001:db8::10]:1801"] * 80
    asked = ("--filter", "proxied_client == 2001:db8:77::/48", "--format", "jsonl")
    assert len(run(command, path, *asked).out.splitlines()) == 80


@pytest.mark.parametrize(
    "arguments",
    [
        ("messages", "--columns", _PROXIED),
        ("messages", "--columns", _PROXIED, "--format", "jsonl"),
        ("decode", "--streams"),
        ("decode", "--streams", "--format", "jsonl"),
        ("decode", "--streams", "--format", "csv", "--columns", f"what,reason,{_PROXIED}"),
        ("diagnose",),
    ],
)
def test_a_redaction_hides_whose_a_connection_is(
    arguments: tuple[str, ...], run: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(conversation(_LINE, packets()))
    outcome = run(arguments[0], path, *arguments[1:], "--redact", "hosts")
    assert outcome.out
    assert "2001:db8" not in outcome.out + outcome.err


def test_what_is_no_packet_behind_a_header_is_a_finding(run: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(conversation(_LINE, b"SSH-2.0-Probe_1.0\r\n", fin=False))
    found = [json.loads(line) for line in run("findings", path, "--format", "jsonl").out.splitlines()]
    assert [(one["id"], one["severity"], one["message"]) for one in found] == [
        (
            "FRM-SIG",
            "low",
            "this side of the connection begins behind its PROXY header with 19 bytes of SSH, "
            "not with an MSMQ packet",
        )
    ]
