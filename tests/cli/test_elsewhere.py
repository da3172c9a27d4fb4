"""Systems that are not this one: Windows without what POSIX has, its consoles, its line ends, its names."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path, PureWindowsPath

import pytest

from msmq_wire.capture.places import place_of
from msmq_wire.cli.app import main
from msmq_wire.cli.body_files import BodyFiles, file_name_part
from msmq_wire.records.message_body import MessageBody, body_of

_ROOT = Path(__file__).resolve().parents[2]
_CAPTURES = _ROOT / "fixtures" / "captures"
_DEMO = _CAPTURES / "demo.pcap"
_WITHOUT_POSIX = """
import os, signal, socket, sys
sys.modules.update(dict.fromkeys(("fcntl", "grp", "pwd", "resource", "termios", "tty")))
for module, names in (
    (os, "fork geteuid getuid O_NOFOLLOW O_CLOEXEC mkfifo sched_getaffinity uname register_at_fork"),
    (signal, "SIGKILL SIGHUP SIGALRM setitimer pthread_sigmask"),
    (socket, "AF_UNIX SO_REUSEPORT"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
from msmq_wire.cli.app import main
sys.exit(main())
"""
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("demo",),
    ("messages", str(_DEMO), "--bodies", "bodies"),
    ("decode", str(_CAPTURES / "structures.pcapng"), "--jobs", "2"),
    ("calls", str(_ROOT / "fixtures" / "rpc_captures" / "rpc_none_ndr.pcap")),
    ("findings", str(_DEMO), "--level", "info"),
    ("diagnose", str(_DEMO)),
    ("report", str(_DEMO), "-o", "report.html"),
    ("export", str(_DEMO), "--to", "part.pcap", "--filter", "label ~ order"),
    ("carve", str(_ROOT / "fixtures" / "at_rest")),
    ("explain", "FRM-SIG"),
)


def _ran(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONUTF8", "COLUMNS")}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=own | more, capture_output=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", _COMMANDS, ids=lambda command: command[0])
def test_commands_need_nothing_that_windows_lacks(command: tuple[str, ...], tmp_path: Path) -> None:
    done = _ran(tmp_path, "-c", _WITHOUT_POSIX, *command)
    assert done.returncode == 0, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stdout or any(tmp_path.iterdir())


def _printed(command: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints on a console of some code page."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding, newline="\n"))
    assert main([command, str(_CAPTURES / "structures.pcapng")]) == 0
    return written.getvalue().decode(encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "cp850", "cp932", "ascii"])
@pytest.mark.parametrize("command", ["decode", "messages", "diagnose"])
def test_consoles_get_what_their_code_page_has(
    command: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    text, plain = (_printed(command, one, monkeypatch) for one in (encoding, "utf-8"))
    assert len(text.splitlines()) == len(plain.splitlines()) > 1


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["csv", "jsonl", "table"])
def test_a_console_that_ends_lines_its_own_way_ends_each_once(format_: str, tmp_path: Path) -> None:
    code = (
        "import io, sys; "
        "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8', newline='\\r\\n'); "
        "from msmq_wire.cli.app import main; status = main(); sys.stdout.flush(); sys.exit(status)"
    )
    out = _ran(tmp_path, "-c", code, "messages", str(_DEMO), "--format", format_).stdout
    lines = out.split(b"\r\n")
    assert len(lines) > 3
    assert not [line for line in lines if b"\r" in line or b"\n" in line]


@pytest.mark.slow
def test_what_was_edited_on_windows_is_read(tmp_path: Path) -> None:
    """Line ends of two characters, and the mark that its editors put first."""
    dump = (_ROOT / "fixtures" / "packets" / "session_ack" / "frame_8.hex").read_text(encoding="utf-8")
    topology = (_ROOT / "fixtures" / "routing" / "example.toml").read_text(encoding="utf-8")
    for name, text in (("frame.hex", dump), ("example.toml", topology), ("words", "another\nPassw0rd!\n")):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    sealed = str(_ROOT / "fixtures" / "rpc_captures" / "rpc_ntlm_privacy.pcap")
    for command, said in (
        (("packet", "frame.hex"), b"session_ack"),
        (("route", "--topology", "example.toml", "A-CLIENT1", "C-CLIENT1"), b"C-CLIENT1"),
        (("calls", sealed, "--nt-password", "@words", "--filter", "queue ~ orders"), b"orders"),
    ):
        done = _ran(tmp_path, "-m", "msmq_wire", *command)
        assert (done.returncode, said in done.stdout) == (0, True), done.stderr.decode()


_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(\..*)?")


@pytest.mark.parametrize(
    "label",
    [
        "CON",
        "nul.txt",
        "COM1",
        "LPT\u00b9",
        "aux ",
        "a:stream",
        "..\\..\\x",
        "x.",
        "x ",
        "a" * 400,
        "\u202egpj.exe",
        "C:\\x",
    ],
)
def test_names_of_bodies_are_names_on_windows(label: str, tmp_path: Path) -> None:
    body = body_of(b"text", 4, label, 0, b"")
    assert isinstance(body, MessageBody)
    row = {"id": 7, "queue": "", "label": label, "time": "", "frames": [1]}
    with BodyFiles(str(tmp_path)) as files:
        name = PureWindowsPath(os.path.relpath(files.write(row, body), tmp_path))
    assert len(name.parts) == 1
    assert name.name == str(name)
    assert not re.search(r'[<>:"/\\|?*\x00-\x1f]', name.name)
    assert not name.name.endswith((".", " "))
    assert _RESERVED.fullmatch(name.name) is None
    # Under a long path there is still room.
    assert len(name.name) <= 80
    assert len(file_name_part(label)) <= 60


@pytest.mark.parametrize(
    "path", [r"C:\captures\a.pcap", r"\\server\share\a.pcap", r"\\?\C:\long\a.pcap", "C:a.pcap"]
)
def test_paths_with_drives_are_no_urls(path: str) -> None:
    assert place_of(path).is_local
