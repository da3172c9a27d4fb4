"""``msmq-wire lab``: its commands against a server in a process of its own."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.capture.source import read_frames
from msmq_wire.cli.commands import lab_send
from tests.cli.conftest import Outcome
from tests.effort import share
from tests.lab.lab_process import ROOT, LabProcess

Run = Callable[..., Outcome]
ORDERS = "private$\\orders"
REPORTS = "e5a0c3d7-91b4-4f6e-8a2d-3c5b7f9e1d60"
PROGRAM = "import sys; from msmq_wire.cli.app import main; sys.exit(main())"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    path = tmp_path_factory.mktemp("lab") / "lab.pcap"
    with LabProcess("--capture", str(path), "--queue", ORDERS, "--queue", "q2") as one:
        yield one


def at(server: LabProcess, service: str) -> str:
    return f"127.0.0.1:{server.ports[service]}"


@pytest.mark.slow
def test_what_is_sent_is_listed_peeked_moved_received_and_purged(
    run: Run, server: LabProcess, tmp_path: Path
) -> None:
    binary, rpc, http = at(server, "binary"), at(server, "rpc"), at(server, "http")
    ping = ("--ping-port", server.ports["ping"])
    sent = run("lab", "send", binary, ORDERS, "--body", "Order 4711", "--label", "o", "--count", 3, *ping)
    assert (sent.status, sent.err) == (0, "")
    assert sent.out.startswith("3 messages: 3 acknowledged; 1 connection, ")

    posted = run("lab", "send", http, ORDERS, "--http", "--body", "by post", "--label", "p")
    assert posted.out == "1 message: accepted\n"

    listed = run("lab", "queues", rpc, "--format", "jsonl")
    counts = {row["queue"]: row["messages"] for row in map(json.loads, listed.out.splitlines())}
    # A public queue that nobody has open is not active.
    assert counts == {ORDERS: 4, f"{ORDERS};journal": 0}

    seen = run("lab", "peek", rpc, ORDERS)
    assert (seen.status, seen.err) == (0, "4 messages seen\n")
    assert [line.split("  ")[2:] for line in seen.out.splitlines()] == [
        ["o 1", "22 bytes", "Order 4711"],
        ["o 2", "22 bytes", "Order 4711"],
        ["o 3", "22 bytes", "Order 4711"],
        ["p", "7 bytes", "by post"],
    ]
    first = run("lab", "receive", rpc, ORDERS, "--nack").out
    assert run("lab", "receive", rpc, ORDERS).out == first
    assert run("lab", "move", rpc, ORDERS, f"{ORDERS};late", "--count", 2).err == "2 messages moved\n"
    late = run("lab", "peek", rpc, f"{ORDERS};late", "--interface", "qm2qm", "--format", "jsonl")
    assert json.loads(late.out)["label"] == "o 2"
    path = tmp_path / "client.pcap"
    taken = run("lab", "receive", rpc, ORDERS, "--interface", "qm2qm", "--capture", path)
    assert taken.out.split("  ")[2] == "p"
    assert any(record.type == "rpc_call" for record in read_capture(path))
    assert run("lab", "purge", rpc, f"{ORDERS};late") == Outcome(0, "", "")
    assert run("lab", "receive", rpc, f"{ORDERS};late") == Outcome(1, "", "0 messages received\n")


def test_an_administrator_sees_how_it_is_and_has_it_act(run: Run, server: LabProcess, tmp_path: Path) -> None:
    rpc, path = at(server, "rpc"), tmp_path / "mgmt.pcap"
    run("lab", "send", at(server, "binary"), f"{ORDERS}", "--body", "Order 4711")
    shown = run("lab", "mgmt", rpc, ORDERS, "--capture", path)
    lines = dict(line.split(maxsplit=1) for line in shown.out.splitlines())
    assert lines["PROPID_MGMT_QUEUE_TYPE"] == "PRIVATE"
    assert lines["PROPID_MGMT_QUEUE_STATE"] == "LOCAL CONNECTION"
    assert int(lines["PROPID_MGMT_QUEUE_MESSAGE_COUNT"]) > 0
    assert "PROPID_MGMT_QUEUE_NEXTHOPS" not in lines
    reported = json.loads(run("lab", "mgmt", rpc, ORDERS, "--format", "jsonl").out)
    assert reported["PROPID_MGMT_QUEUE_NEXTHOPS"] is None
    assert str(reported["PROPID_MGMT_QUEUE_BYTES_IN_QUEUE"]) == lines["PROPID_MGMT_QUEUE_BYTES_IN_QUEUE"]
    off = run("lab", "mgmt", rpc, "--action", "disconnect")
    assert (off.status, off.out, off.err) == (0, "", "DISCONNECT: done\n")
    assert "PROPID_MGMT_MSMQ_CONNECTED            DISCONNECTED\n" in run("lab", "mgmt", rpc).out
    assert run("lab", "mgmt", rpc, "--action", "CONNECT").status == 0
    call = run("calls", path, "--format", "jsonl").out
    assert json.loads(call)["method"] == "R_QMMgmtGetInfo"
    assert run("replay", path).out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("peek", "rpc", "private$\\none"), "MQ_ERROR_QUEUE_NOT_FOUND"),
        (("purge", "rpc", "private$\\none", "--interface", "qm2qm"), "MQ_ERROR_QUEUE_NOT_FOUND"),
        (("move", "rpc", ORDERS, "q2"), "must be opened for moves and be a queue and subqueue"),
        (("move", "rpc", ORDERS, f"{ORDERS};x", "--lookup-id", "999"), "MQ_ERROR_MESSAGE_NOT_FOUND"),
        (("send", "http", "private$\\none", "--http"), "status 400: no such queue"),
        (("send", "ping", ORDERS, "--patience", "0.3"), "cannot connect"),
        (("send", "http", "private$\\ü;x", "--http"), "status 400: no such queue"),
        (("send", "rpc", ORDERS, "--patience", "0.5"), "opens no session"),
        (("send", "http", ORDERS, "--patience", "0.5"), "opens no session"),
        (("receive", "binary", ORDERS), "the connection ended"),
        (("receive", "http", ORDERS), "the server sent what is no PDU"),
        (("queues", "http"), "the server sent what is no PDU"),
        (("queues", "binary"), "the connection ended"),
        (("mgmt", "binary"), "the connection ended"),
        (("mgmt", "rpc", "private$\\none"), "the server does not tell: MQ_ERROR_QUEUE_NOT_FOUND"),
        (
            ("mgmt", "rpc", ORDERS, "--action", "PAUSE"),
            "the server refuses PAUSE: MQ_ERROR_INVALID_PARAMETER",
        ),
        (("send", "binary", ORDERS, "--capture", "/nowhere/x.pcap"), "the capture /nowhere/x.pcap: No such"),
        (("peek", "rpc", ORDERS, "--capture", "/nowhere/x.pcap"), "the capture /nowhere/x.pcap: No such"),
        (("move", "rpc", ORDERS, f"{ORDERS};x", "--capture", "/nowhere/x.pcap"), "No such file"),
        (("purge", "rpc", ORDERS, "--capture", "/nowhere/x.pcap"), "No such file"),
        (("queues", "rpc", "--capture", "/nowhere/x.pcap"), "No such file"),
    ],
)
def test_what_the_server_refuses_is_one_line_and_status_1(
    run: Run, server: LabProcess, arguments: tuple[str, ...], message: str
) -> None:
    run("lab", "send", at(server, "binary"), ORDERS)
    command, service, *rest = arguments
    refused = run("lab", command, at(server, service), *rest)
    assert (refused.status, refused.out) == (1, "")
    assert message in refused.err
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("send", "127.0.0.1:x", ORDERS), "is no HOST:PORT"),
        (("send", ":1", "DIRECT=nothing"), "DIRECT=nothing"),
        (("send", ":1", ORDERS, "--fault", "fire=1"), "is no fault"),
        (("send", ":1", ORDERS, "--http", "--delivery", "transactional"), "not with transactional"),
        (("send", ":1", ORDERS, "--body", "a", "--body-file", "b"), "not with --body"),
        (("send", ":1", ORDERS, "--body-file", "/nowhere/at/all"), "No such file"),
        (("send", ":1", "private$\\a\nb", "--http"), "cannot hold U+000A"),
        (("send", ":1", "private$\\", "--http"), "queue name is empty"),
        (("receive", ":1", ORDERS, "--nack", "--count", "2"), "one message, and RemoteRead"),
        (("serve", "--port", "70000"), "'--port'"),
        (("serve", "--neighbour", "b"), "b is no NAME=HOST[:PORT]"),
        (("serve", "--neighbour", "=127.0.0.1"), "=127.0.0.1 is no NAME=HOST[:PORT]"),
        (("serve", "--neighbour", "b=127.0.0.1:x"), "is no HOST:PORT"),
        (("serve", "--route", "b"), "b is no GUID=NAME"),
        (("serve", "--route", "b=c"), "'b' is no GUID, such as"),
        (("serve", "--route", f"{REPORTS}=c"), "c is no neighbour: add --neighbour c=HOST"),
        (("serve", "--public-queue", f"{REPORTS}="), f"{REPORTS}= is no GUID=NAME"),
        (("serve", "--identifier", "1"), "'1' is no GUID, such as"),
        (("serve", "--report-queue", "reports"), "'reports' is no GUID, such as"),
        (("send", ":1", ORDERS, "--trace", "reports"), "'reports' is no GUID, such as"),
        (("send", ":1", ORDERS, "--http", "--trace", REPORTS), "not with --trace"),
        (("serve", "--force"), "--force changes nothing without --capture"),
        (("serve", "--capture", "-"), "- is no file here"),
        (("send", ":1", ORDERS, "--capture", __file__), "is there: --force writes over it"),
        (("serve", "--capture", __file__), "is there: --force writes over it"),
        (("peek", ":1", ORDERS, "--capture", "/dev"), "/dev is a folder"),
    ],
)
def test_bad_usage_is_status_2(run: Run, arguments: tuple[str, ...], message: str) -> None:
    refused = run("lab", *arguments)
    assert (refused.status, refused.out) == (2, "")
    assert message in refused.err


@pytest.mark.slow
def test_a_traced_message_is_reported_by_who_sends_and_by_who_receives(run: Run) -> None:
    known = "1ab0c0de-0000-4000-8000-00000000000a"
    with LabProcess("--public-queue", f"{REPORTS}=reports", "--identifier", known) as one:
        sent = run("lab", "send", at(one, "binary"), ORDERS, "--count", 3, "--trace", REPORTS)
        assert (sent.status, sent.out.partition(";")[0]) == (0, "3 messages: 3 acknowledged")
        seen = run("lab", "peek", at(one, "rpc"), "reports", "--format", "jsonl").out
    labels = [json.loads(line)["label"] for line in seen.splitlines()]
    assert len(labels) == 6
    reporters = [label.partition(" received by ")[2].partition(" at ")[0] for label in labels]
    assert reporters.count(known.upper()) == 3
    assert {label[4:9] for label in labels} == {":0000"}


def test_the_capture_of_a_server_is_no_link(run: Run, tmp_path: Path) -> None:
    precious, link = tmp_path / "precious", tmp_path / "link.pcap"
    precious.write_bytes(b"precious")
    link.symlink_to(precious)
    refused = run("lab", "serve", "--capture", link, "--force")
    assert (refused.status, refused.out) == (2, "")
    assert f"{link} is a link to {precious}" in refused.err
    assert precious.read_bytes() == b"precious"


def test_a_server_that_cannot_listen_says_so(run: Run, server: LabProcess) -> None:
    ports = ("--rpc-port", 0, "--ping-port", 0, "--http-port", 0, "--port", server.ports["binary"])
    refused = run("lab", "serve", *ports)
    assert refused.status == 1
    assert refused.err.endswith(f"cannot serve 127.0.0.1 port {ports[-1]}: Address already in use\n")


@pytest.mark.slow
def test_a_body_may_be_empty_and_may_not_be_larger_than_a_packet(
    run: Run, server: LabProcess, tmp_path: Path
) -> None:
    path = tmp_path / "body"
    for size, status in ((0, 0), ((4 << 20) - 4096, 0), (4 << 20, 1)):
        path.write_bytes(bytes(size))
        sent = run("lab", "send", at(server, "binary"), ORDERS, "--body-file", path)
        assert sent.status == status
    largest = "the packet has 4194488 bytes: it has at most 4194304 (body has 4194304)"
    assert sent.err == f"msmq-wire: the message cannot be sent: {largest}\n"
    peeked = run("lab", "peek", at(server, "rpc"), ORDERS, "--format", "jsonl", "--count", "1000")
    sizes = [json.loads(line)["body_size"] for line in peeked.out.splitlines()]
    assert sizes[-2:] == [0, (4 << 20) - 4096]
    assert run("lab", "purge", at(server, "rpc"), ORDERS).status == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk that is full needs /dev/full")
@pytest.mark.parametrize(
    ("command", "service", "rest"),
    [
        ("send", "binary", (ORDERS,)),
        ("send", "http", (ORDERS, "--http")),
        ("peek", "rpc", (ORDERS,)),
        ("receive", "rpc", (ORDERS,)),
        ("move", "rpc", (ORDERS, f"{ORDERS};full")),
        ("purge", "rpc", (ORDERS,)),
        ("queues", "rpc", ()),
        ("mgmt", "rpc", (ORDERS,)),
    ],
)
def test_a_capture_on_a_full_disk_ends_nothing_and_is_told_in_the_end(
    run: Run, server: LabProcess, command: str, service: str, rest: tuple[str, ...]
) -> None:
    run("lab", "send", at(server, "binary"), ORDERS)
    done = run("lab", command, at(server, service), *rest, "--capture", "/dev/full")
    assert done.status == 1
    assert done.err.endswith("the capture is not complete: No space left on device\n")
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_who_waits_for_a_server_is_told_once(
    run: Run, server: LabProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_send, "_SHORT", 0.1)
    # Nothing listens on TCP there.
    address = at(server, "ping")
    given_up = run("lab", "send", address, ORDERS, "--patience", "0.4")
    first, last = given_up.err.splitlines()
    assert first.endswith("Connection refused; trying for 0.4 s")
    assert last.endswith("Connection refused; 1 message was not acknowledged")
    assert (given_up.status, given_up.out) == (1, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "service", "rest", "event"),
    share(
        [
            ("send", "binary", ("nowhere", "--count", "1000000"), "session-open"),
            ("send", "http", (ORDERS, "--http", "--count", "1000000"), "srmp-post"),
            ("receive", "rpc", (f"{ORDERS};none", "--wait", "60"), "rpc-call"),
        ]
    ),
)
def test_an_interrupt_ends_a_client_with_status_130(
    server: LabProcess, command: str, service: str, rest: tuple[str, ...], event: str
) -> None:
    before = server.so_far(event)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "lab", command, at(server, service), *rest],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as client:
        # An interrupt that comes before the program runs is Python's own affair.
        while server.so_far(event) == before:
            time.sleep(0.05)
        client.send_signal(signal.SIGINT)
        assert client.stderr is not None
        said = client.stderr.read()
        assert client.wait() == 130
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_host_that_is_not_loopback_is_warned_of(run: Run) -> None:
    refused = run("lab", "serve", "--host", "192.0.2.1", "--port", 0)
    assert refused.status == 1
    assert "WARNING: 192.0.2.1 is not loopback" in refused.err


@pytest.mark.slow
def test_the_log_and_the_capture_have_the_time_that_was_asked_for(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "lab.pcap"
    with LabProcess("--capture", str(path), "--time", "1700000000") as server:
        run("lab", "send", at(server, "binary"), ORDERS)
    assert {one["time"][:16] for one in server.events} == {"2023-11-14 22:13"}
    times = [record.time or 0 for record in read_capture(path)]
    assert all(1_700_000_000 <= time // 1_000_000_000 < 1_700_000_060 for time in times)


@pytest.mark.slow
def test_nothing_of_the_lab_is_imported_with_the_package() -> None:
    import subprocess

    code = "import sys, msmq_wire; print([name for name in sys.modules if name.startswith('msmq_wire.lab')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


@pytest.mark.slow
def test_the_walk_of_the_page_runs_and_prints_what_it_shows(run: Run) -> None:
    lines = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8").splitlines()
    send, receive = (
        next(shlex.split(line)[2:] for line in lines if line.startswith(f"$ msmq-wire lab {name} 127."))
        for name in ("send", "receive")
    )
    with LabProcess() as server:
        sent = run(*(at(server, "binary") if word == "127.0.0.1" else word for word in send))
        taken = run(*(at(server, "rpc") if word == "127.0.0.1" else word for word in receive))
    assert sent.out.startswith("1 message: 1 acknowledged; 1 connection, ")
    assert any(line.startswith("1 message: 1 acknowledged; 1 connection, ") for line in lines)
    shown = next(line for line in lines if line.endswith("22 bytes  Order 4711"))
    # The time is that of the run.
    assert taken.out.split("  ")[2:] == [*shown.split("  ")[2:-1], "Order 4711\n"]


@pytest.mark.slow
def test_a_full_capture_and_a_full_log_say_so_once_and_the_lab_goes_on(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "lab.pcap"
    # Each has a line in the log.
    requests = b"GET /queues HTTP/1.1\r\nHost: " + b"x" * 250 + b"\r\n\r\n"
    with LabProcess("--capture", str(path), "--max-file-size", "1") as process:
        with socket.create_connection(("127.0.0.1", process.ports["http"])) as client:
            client.sendall(requests * 4000 + requests.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            answers = client.makefile("rb").read()
        assert answers.count(b"HTTP/1.1 421 ") == 4001
        listed = run("lab", "queues", at(process, "rpc"))
    assert (listed.status, listed.err) == (0, "")
    assert process.complaints.splitlines()[1:] == [
        f"msmq-wire: {path} is full at 1 MB: the lab goes on without writing to it"
    ]
    assert 900_000 < path.stat().st_size <= 1_000_000
    assert len(list(read_frames(path))) > 600
    assert process.events[-1]["event"] == "log-full"
    assert 2000 < len(process.events) == len(process.named("http-host")) + 1 < 4000
