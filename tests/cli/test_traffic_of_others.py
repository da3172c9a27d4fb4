"""Captures in which calls and HTTP requests are of others: no command takes them for MSMQ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from msmq_wire.capture.conversation_writer import CaptureWriter
from tests.cli.conftest import Outcome

_BIND = bytes.fromhex("05000b03 10000000 48000000 01000000 d016d016 00000000 01000000 00000100")
_NETLOGON = bytes.fromhex("78563412 3412 cdab ef00 01234567cffb 01000000")
_NDR = bytes.fromhex("045d888a eb1c c911 9fe8 08002b104860 02000000")
_POST = (b"POST /api HTTP/1.1\r\n", b"Host: a\r\nContent-Length: 2\r\n\r\n{}")


@pytest.mark.parametrize(("port", "data"), [(49668, (_BIND, _NETLOGON + _NDR)), (80, _POST)])
@pytest.mark.parametrize("command", ["decode", "messages", "calls", "findings", "diagnose", "replay"])
def test_what_others_call_and_post_is_no_traffic_of_msmq(
    port: int, data: tuple[bytes, bytes], command: str, run: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = tmp_path / "others.pcap"
    with CaptureWriter(str(path)) as writer:
        connection = writer.connection(("192.0.2.1", 4000), ("192.0.2.2", port))
        for part in data:
            connection.feed(True, part)
        connection.finish()
    outcome = run(command, path)
    assert outcome.status == 1
    reported = "no MSMQ traffic in 8 frames: the calls and HTTP requests in it are of others"
    assert outcome.err.splitlines()[0] == f"msmq-wire: {path}: {reported}"


def test_a_connection_to_a_port_of_msmq_is_traffic_of_msmq(
    run: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = tmp_path / "empty.pcap"
    with CaptureWriter(str(path)) as writer:
        writer.connection(("192.0.2.1", 4000), ("192.0.2.2", 1801)).finish()
    assert run("findings", path).status == 0
    outcome = run("decode", path)
    assert outcome.status == 1
    assert "no packets, but 6 frames of connections to ports of MSMQ: decode --streams" in outcome.err


_SEALED = bytes.fromhex("05000003 10000000 4c001000 07000000 14000000 00000300") + bytes(52)


@pytest.mark.parametrize(
    ("port", "reported"),
    [
        (2103, "no packets, but 7 frames of connections to ports of MSMQ: decode --streams shows them"),
        (49670, "1 call in 7 frames may be of MSMQ: no interface was captured"),
    ],
)
def test_calls_whose_bind_was_not_captured_are_not_said_to_be_of_others(
    port: int, reported: str, run: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = tmp_path / "late.pcap"
    with CaptureWriter(str(path)) as writer:
        connection = writer.connection(("192.0.2.1", 4000), ("192.0.2.2", port))
        connection.feed(True, _SEALED)
        connection.finish()
    outcome = run("decode", path)
    assert outcome.status == 1
    assert reported in outcome.err
