"""The program itself: version, help, bad usage, interrupts, pipes, and missing libraries."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from msmq_wire.capture.source import Source
from msmq_wire.cli import app
from msmq_wire.cli.capture_set import CaptureSet

if TYPE_CHECKING:
    from msmq_wire.capture.capture_sequence import ItemsOf, Read

Run = Callable[..., Any]
PROGRAM = "import sys; from msmq_wire.cli.app import main; sys.exit(main())"
ROOT = Path(__file__).resolve().parents[2]


def process(*arguments: str, code: str = PROGRAM, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        env=surroundings,
    )


@pytest.mark.slow
def test_version_imports_no_library_of_the_command_line() -> None:
    code = (
        "import sys; from msmq_wire.cli.app import main; status = main(['--version'])\n"
        "sys.exit(status or any(name in sys.modules for name in ('typer', 'rich')))"
    )
    result = process(code=code)
    assert result.returncode == 0
    assert result.stdout.startswith(b"msmq-wire ")


def test_help_names_every_command_and_shows_examples(run: Run) -> None:
    status, out, err = run("--help")
    assert (status, err) == (0, "")
    for command in ("packet", "decode", "messages", "export"):
        assert command in out
        status, text, _ = run(command, "--help")
        assert status == 0
        assert "Examples:" in text
        assert "Exit status:" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["decode"],
        ["packet"],
        ["decode", "x", "--nothing"],
        ["decode", "x", "--id", "a"],
        ["export", "x"],
    ],
)
def test_bad_usage_is_one_line_and_status_2(run: Run, arguments: list[str]) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("msmq-wire: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["nothing"], "msmq-wire"),
        (["--nothing"], "msmq-wire"),
        (["findings", "x", "--nothing"], "msmq-wire findings"),
        (["findings", "x", "--rule", "NOTHING"], "msmq-wire findings"),
        (["decode", "x", "--id", "a"], "msmq-wire decode"),
        (["messages", "x", "--filter", "nothing =="], "msmq-wire messages"),
        (["messages", "x", "--filter"], "msmq-wire messages"),
        (["lab", "send", "x", "--label"], "msmq-wire lab send"),
        (["route-audit"], "msmq-wire route-audit"),
        (["explain", "NOTHING"], "msmq-wire explain"),
        (["lab", "nothing"], "msmq-wire lab"),
        (["lab", "send"], "msmq-wire lab send"),
        (["spark", "run"], "msmq-wire spark run"),
    ],
)
def test_bad_usage_names_the_help_that_says_how(run: Run, arguments: list[str], command: str) -> None:
    status, _, err = run(*arguments)
    assert status == 2
    assert err.endswith(f" (see {command} --help)\n")
    assert run(*command.split()[1:], "--help").status == 0


def test_no_arguments_show_the_help_and_status_2(run: Run) -> None:
    status, out, _ = run()
    assert status == 2
    assert out.startswith("Usage: msmq-wire FILE...")


def test_an_interrupt_is_quiet_and_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "_run", interrupted)
    assert run("decode", "x") == (130, "", "")


def test_an_interrupt_while_reading_is_quiet_and_130(
    run: Run, capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("msmq_wire.cli.commands.decode.TreeWriter.record", interrupted)
    assert run("decode", capture) == (130, "", "")


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl+C while a command is busy with the third record."""
    whole = CaptureSet._capture

    def pressed(self: CaptureSet, files: Sequence[str], items_of: ItemsOf) -> Iterator[Read]:
        for number, item in enumerate(whole(self, files, items_of), 1):
            if number == 3:
                signal.raise_signal(signal.SIGINT)
            yield item

    monkeypatch.setattr(CaptureSet, "_capture", pressed)


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (("decode", "--format", "jsonl"), 3),
        (("messages", "--columns", "label"), 3),
        # It is read for its outcomes first.
        (("messages",), 0),
        (("messages", "--format", "csv"), 3),
        (("calls",), 0),
        (("findings", "--rule", "SES-NAKED"), 0),
        (("replay",), 0),
        (("diagnose",), 0),
    ],
)
def test_an_interrupt_keeps_what_was_shown_and_says_what_was_read(
    run: Run, capture: Path, arguments: tuple[str, ...], lines: int
) -> None:
    before = signal.getsignal(signal.SIGINT)
    status, out, err = run(*arguments, capture, capture)
    assert (status, out.count("\n")) == (130, lines)
    # The second file is not read, and what is told at the end of a capture is not told of half of it.
    assert err.startswith("interrupted: 5 frames read, ")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("arguments", [("report", "-o"), ("export", "--to")])
def test_an_interrupt_writes_no_file(
    run: Run, capture: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    status, out, err = run(arguments[0], capture, *arguments[1:], tmp_path / "out")
    assert (status, out, err.partition(":")[0]) == (130, "", "interrupted")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(capture: Path) -> None:
    code = (
        "import os, sys; read, write = os.pipe(); os.close(read); os.dup2(write, 1)\n"
        "from msmq_wire.cli.app import main; sys.exit(main())"
    )
    result = process("decode", str(capture), "--hex", "-q", code=code)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line_and_status_1(capture: Path) -> None:
    code = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)\n" + PROGRAM
    result = process("messages", str(capture), "-q", code=code)
    assert result.returncode == 1
    assert result.stderr.startswith(b"msmq-wire: cannot write the output: ")
    assert result.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_missing_libraries_are_one_line_that_says_what_to_install() -> None:
    code = "import sys; sys.modules['rich'] = None\n" + PROGRAM
    result = process("decode", "x", code=code)
    assert result.returncode == 1
    assert b'pip install "msmq-wire[cli]"' in result.stderr
    assert result.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_standard_input_is_decoded_from_a_pipe(capture: Path) -> None:
    result = process("messages", "-", "--format", "jsonl", stdin=capture.read_bytes())
    assert result.returncode == 0
    assert result.stdout.count(b"\n") == 2


@pytest.mark.parametrize("command", ["decode", "messages", "calls"])
def test_rows_of_a_file_are_shown_before_more_of_it_is_read(
    run: Run, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = (
        ROOT / "fixtures" / ("rpc_captures/rpc_none_ndr.pcap" if command == "calls" else "captures/demo.pcap")
    )
    whole = run(command, path).out
    shown: list[str] = []
    show = CaptureSet._show

    def showing(self: CaptureSet, source: Source) -> None:
        show(self, source)
        shown.append(capsys.readouterr().out)

    monkeypatch.setattr(CaptureSet, "_show", showing)
    # A table waits for a while, a tree for nothing.
    monkeypatch.setattr("msmq_wire.cli.capture_set._WAITING", 1000)
    monkeypatch.setattr("msmq_wire.capture.source._CHUNK", 1000)
    last = run(command, path).out
    assert len([text for text in shown if text]) > 2
    assert "".join(shown).split() + last.split() == whole.split()


def _interrupted_after_a_line(name: str, *arguments: str) -> tuple[bytes, int, bytes]:
    """What is printed first while the program still waits for more, how Ctrl+C ends it, and the summary."""
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    # A width chooses columns.
    surroundings.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=surroundings,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write((ROOT / "fixtures" / name).read_bytes())
        running.stdin.flush()
        # Rows that wait for the end would wait for ever.
        impatience = threading.Timer(60, running.kill)
        impatience.start()
        line = running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, summary = running.communicate()
        impatience.cancel()
    return line, running.returncode, summary


@pytest.mark.parametrize(
    ("arguments", "name", "begins"),
    [
        (("messages", "-"), "captures/demo.pcap", b"    id  time"),
        (("findings", "/dev/stdin", "--format", "jsonl"), "captures/demo.pcap", b'{"id":'),
        pytest.param(
            *(("messages", "/dev/stdin", "--format", "csv"), "captures/demo.pcap", b"id,parent,time"),
            marks=pytest.mark.check,
        ),
        pytest.param(
            *(("calls", "-"), "rpc_captures/rpc_none_ndr.pcap", b"    id  time"), marks=pytest.mark.check
        ),
    ],
)
def test_rows_from_a_pipe_come_as_they_are_read_until_an_interrupt(
    arguments: tuple[str, ...], name: str, begins: bytes
) -> None:
    line, status, summary = _interrupted_after_a_line(name, *arguments)
    assert line.startswith(begins)
    assert status == 130
    assert summary.startswith(b"interrupted: ")
    assert summary.count(b"\n") == 1


@pytest.mark.slow
def test_an_unknown_engine_in_the_environment_is_one_line_and_status_2(
    capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MSMQ_WIRE_ENGINE", "fast")
    result = process("messages", str(capture))
    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr.count(b"\n") == 1
    assert b"MSMQ_WIRE_ENGINE: no engine is called 'fast'" in result.stderr
