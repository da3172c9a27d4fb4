"""``msmq-wire decode --live`` and ``msmq-wire wireshark``: what the command line does with Wireshark.

No test captures: a pipe takes the same path through dumpcap and tshark.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.cli import live
from msmq_wire.cli.health import WIRESHARK_GROUP
from tests.effort import share

_ROOT = Path(__file__).parents[2]
_DEMO = _ROOT / "fixtures" / "captures" / "demo.pcap"
_EMPTY = _ROOT / "fixtures" / "captures" / "path_empty.pcap"
_SEALED = _ROOT / "fixtures" / "rpc_captures" / "rpc_ntlm_privacy.pcap"
_CLI = "import sys; from msmq_wire.cli.app import main; sys.exit(main())"
_GUARD = 120.0

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that names the parts for Wireshark, as the installed distribution does."""
    folder = tmp_path / "packages"
    info = folder / "msmq_wire_parts-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: msmq-wire-parts\nVersion: 0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        f"[{WIRESHARK_GROUP}]\n"
        "reader = msmq_wireshark.bridge:TsharkReader\ninstall = msmq_wireshark.install\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(folder), str(_ROOT), str(_ROOT / "dissectors"))))
    return folder


class Started:
    """The command line in a process of its own, fed through a pipe; killed if a test hangs."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _CLI, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # What readline() takes ahead would be lost to communicate().
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._guard = threading.Timer(_GUARD, self.process.kill)
        self._guard.start()

    def feed(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def row(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stdout.readline())
        return found

    def end(self) -> tuple[int, str, str]:
        """The status, and what was left of the output and of the errors."""
        try:
            out, err = self.process.communicate()
        finally:
            self._guard.cancel()
        return self.process.returncode, out.decode(), err.decode()

    def close(self) -> None:
        """End what still runs, and close the pipes that a test left open."""
        self.process.kill()
        self.process.wait()
        self._guard.cancel()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


@pytest.fixture
def start() -> Iterator[Callable[..., Started]]:
    started: list[Started] = []

    def start_(*arguments: str) -> Started:
        started.append(Started(*arguments))
        return started[-1]

    yield start_
    for one in started:
        one.close()


@pytest.mark.slow
@pytest.mark.tshark
def test_packets_are_shown_as_they_come_and_are_those_of_the_file(
    run: Run, start: Callable[..., Started]
) -> None:
    data = _DEMO.read_bytes()
    started = start("decode", "--live", "-", "--format", "jsonl")
    started.feed(data[:2000])
    first = started.row()
    started.feed(data[2000:])
    status, out, err = started.end()
    expected = run("decode", _DEMO, "--format", "jsonl")
    rows = [first, *map(json.loads, out.splitlines())]
    assert rows == [json.loads(line) | {"capture": "standard input"} for line in expected.out.splitlines()]
    assert (status, err) == (0, expected.err)


def test_rows_of_an_interface_do_not_wait_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "wireshark_part", lambda name: None)
    assert live.LiveReading("lo", None).as_it_comes


@pytest.mark.slow
@pytest.mark.tshark
@pytest.mark.parametrize("number", share([signal.SIGINT, signal.SIGTERM]))
def test_an_interrupt_ends_with_the_summary(start: Callable[..., Started], number: int) -> None:
    started = start("decode", "--live", "-", "--format", "jsonl")
    started.feed(_DEMO.read_bytes())
    assert [started.row()["type"] for _ in range(13)][-1] == "session_ack"
    # The pipe is still open.
    started.process.send_signal(number)
    status, out, err = started.end()
    assert (status, out) == (0, "")
    assert err.startswith("25 frames read")
    assert err.count("\n") == 1


@pytest.mark.check
@pytest.mark.tshark
def test_an_output_that_is_closed_ends_the_capture(start: Callable[..., Started]) -> None:
    started = start("decode", "--live", "-", "--format", "jsonl")
    data = _DEMO.read_bytes()
    started.feed(data[:2000])
    started.row()
    started.stdout.close()
    started.feed(data[2000:])
    status = started.process.wait()
    assert status == 0


@pytest.mark.check
@pytest.mark.tshark
def test_a_capture_without_msmq_ends_as_such_a_file_does(start: Callable[..., Started]) -> None:
    started = start("decode", "--live", "-")
    started.feed(_EMPTY.read_bytes())
    status, out, err = started.end()
    assert (status, out) == (1, "")
    assert err.splitlines()[0] == "msmq-wire: standard input: no MSMQ traffic in 0 frames"


@pytest.mark.check
@pytest.mark.tshark
def test_connections_without_a_packet_end_as_those_of_a_file(
    start: Callable[..., Started], run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "empty.pcap"
    with CaptureWriter(str(path)) as writer:
        writer.connection(("192.0.2.1", 4000), ("192.0.2.2", 1801)).finish()
    started = start("decode", "--live", "-")
    started.feed(path.read_bytes())
    status, _, err = started.end()
    expected = run("decode", path)
    assert status == expected.status == 1
    assert err.splitlines()[0] == expected.err.splitlines()[0].replace(str(path), "standard input")


@pytest.mark.check
@pytest.mark.tshark
def test_keys_open_calls_of_a_live_capture(start: Callable[..., Started]) -> None:
    started = start("decode", "--live", "-", "--format", "jsonl", "--nt-password", "Passw0rd!")
    started.feed(_SEALED.read_bytes())
    status, out, _ = started.end()
    calls = [row["packet"] for row in map(json.loads, out.splitlines()) if row["type"] == "rpc_call"]
    assert status == 0
    assert len(calls) == 30
    assert not any(call["sealed"] for call in calls)


@pytest.mark.slow
@pytest.mark.tshark
def test_an_interface_that_is_not_there_is_one_line(run: Run) -> None:
    status, out, err = run("decode", "--live", "no such interface")
    assert (status, out) == (1, "")
    assert err.startswith('msmq-wire: dumpcap: There is no device named "no such interface".')
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--live", "lo", _DEMO), "--live is instead of a FILE"),
        (("--live", "lo", "--id", "1"), "--id cannot be used with --live"),
        ((_DEMO, "--capture-filter", "tcp"), "--capture-filter needs --live"),
        ((), "give a FILE, or --live with an interface"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    run: Run, arguments: tuple[object, ...], message: str
) -> None:
    status, out, err = run("decode", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [("decode", "--live", "lo"), ("wireshark", "path")])
def test_without_the_package_for_wireshark_one_line_says_so(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(live, "entry_points", lambda **_: ())
    status, out, err = run(*arguments)
    assert (status, out) == (1, "")
    assert err == 'msmq-wire: this needs the package for Wireshark: pip install "msmq-wire[wireshark]"\n'


@pytest.mark.slow
def test_the_command_line_loads_neither_pyshark_nor_its_bridge() -> None:
    code = (
        "import sys; from msmq_wire.cli.app import main; main(['decode', '--help']);"
        "sys.exit(any(name in sys.modules for name in ('pyshark', 'msmq_wireshark')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_the_path_is_that_of_the_script(run: Run) -> None:
    status, out, err = run("wireshark", "path")
    assert (status, err) == (0, "")
    assert Path(out.strip()) == _ROOT / "dissectors" / "msmq_wireshark" / "msmq.lua"


@pytest.mark.slow
def test_install_and_check_agree(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    missing = run("wireshark", "check", "--dir", folder)
    assert missing.status == 1
    assert f"{folder / 'msmq.lua'}: not installed\n" in missing.out
    installed = run("wireshark", "install", "--dir", folder)
    assert installed.status == 0
    assert f"{folder / 'msmq.lua'}: installed\n" in installed.out
    assert run("wireshark", "check", "--dir", folder) == (0, f"{folder}: current\n", "")
    assert run("wireshark", "install", "--dir", folder) == (0, f"{folder}: current\n", "")


def test_install_refuses_a_file_of_somebody_else(run: Run, tmp_path: Path) -> None:
    (tmp_path / "msmq.lua").write_text("print('mine')\n", encoding="utf-8")
    status, out, err = run("wireshark", "install", "--dir", tmp_path)
    assert (status, out) == (1, "")
    assert err == f"msmq-wire: {tmp_path / 'msmq.lua'} is another file: move it away first\n"


@pytest.mark.parametrize("arguments", [("path", "--dir", "x"), ("remove",), ()])
def test_bad_usage_of_wireshark_is_one_line(run: Run, arguments: tuple[str, ...]) -> None:
    status, _, err = run("wireshark", *arguments)
    assert status == 2
    assert err.count("\n") == 1
