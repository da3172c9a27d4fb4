"""Paths of a command line with --redact hosts: none is on standard output or error, or in what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import having

Run = Callable[..., Any]
_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_DEMO = _FIXTURES / "captures" / "demo.pcap"
_SECRETS = ("SRV01", "jane.doe")
_COMMANDS = sorted(having("--redact"))
_NEEDED = {"route-audit": ("--topology", _FIXTURES / "routing" / "example.toml"), "why": ("1",)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "jane.doe" / "SRV01"
    made.mkdir(parents=True)
    return made


def reported(run: Run, *arguments: object) -> str:
    outcome = run(*arguments)
    text = str(outcome.out + outcome.err)
    assert [one for one in _SECRETS if one in text] == [], text
    return text


def _files(folder: Path) -> dict[str, Path]:
    data = _DEMO.read_bytes()
    found = {name: folder / f"SRV01-{name}.pcap" for name in ("whole", "cut", "text", "empty", "gone")}
    for name, content in {"whole": data, "cut": data[:-7], "text": b"no capture", "empty": data[:24]}.items():
        found[name].write_bytes(content)
    nothing = folder / "SRV01-folder"
    nothing.mkdir()
    return found | {"nothing": nothing}


@pytest.mark.parametrize("command", _COMMANDS)
def test_no_command_says_what_a_file_is_called(run: Run, folder: Path, tmp_path: Path, command: str) -> None:
    files, out = _files(folder), tmp_path / "page.html"
    more = ("-o", out, "--force") if command == "report" else _NEEDED.get(command, ())
    for place, (name, file) in enumerate(files.items()):
        reported(run, command, file, "--redact", "hosts", *more)
        assert name == "gone" or not out.exists() or "SRV01" not in out.read_text("utf-8")
        # Without it the name is there, so it is known what is looked for.
        if name in ("text", "gone"):
            plain = run(command, file, *more)
            assert "SRV01" in plain.out + plain.err, place


@pytest.mark.parametrize("command", [one for one in _COMMANDS if one not in ("timeline", "why")])
def test_a_file_is_called_by_its_place_on_the_command_line(run: Run, folder: Path, command: str) -> None:
    files = _files(folder)
    more = ("-o", folder / "SRV01.html") if command == "report" else _NEEDED.get(command, ())
    text = reported(
        run, command, files["gone"], files["whole"], files["text"], "--redact=bodies,hosts", *more
    )
    assert "file 1" in text
    assert "file 3" in text
    if command == "report":
        page = (folder / "SRV01.html").read_text("utf-8")
        assert "file 2" in page
        assert "SRV01" not in page


@pytest.mark.parametrize("format_", ["table", "jsonl", "csv", "sarif"])
def test_findings_name_a_capture_by_its_place(run: Run, folder: Path, format_: str) -> None:
    files = _files(folder)
    asked = (
        "findings",
        files["gone"],
        files["whole"],
        "--redact",
        "hosts",
        "--level",
        "info",
        "--format",
        format_,
    )
    text = (
        reported(run, *asked, "--columns", "all")
        if format_ not in ("table", "sarif")
        else reported(run, *asked)
    )
    assert ("file%202" if format_ == "sarif" else "file 2") in text
    outcome = run(*asked)
    if format_ == "sarif":
        assert json.loads(outcome.out)["runs"]


def test_usage_errors_name_no_path(run: Run, folder: Path) -> None:
    files = _files(folder)
    whole, gone = files["whole"], folder / "missing" / "SRV01.html"
    for arguments in (
        ("timeline", whole, files["text"], "--redact", "hosts"),
        ("timeline", folder, "--redact", "hosts"),
        ("report", whole, "-o", gone, "--redact", "hosts"),
        ("report", whole, "-o", whole, "--force", "--redact", "hosts"),
        ("report", whole, f"--output={files['cut']}", "--redact", "hosts"),
        ("route-audit", whole, "--topology", folder / "SRV01.toml", "--redact", "hosts"),
        ("messages", whole, "--nt-password", f"@{folder}/SRV01.txt", "--redact", "hosts"),
        ("messages", whole, "--redact", "hosts", "--no-such"),
    ):
        assert reported(run, *arguments)


def test_what_is_wrong_in_a_topology_names_no_host(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text("[SRV01]\n", encoding="utf-8")
    assert "SRV01" in run("route-audit", _DEMO, "--topology", path).err
    reported(run, "route-audit", _DEMO, "--topology", path, "--redact", "hosts")


def test_the_next_command_shows_paths_again(run: Run, folder: Path) -> None:
    gone = _files(folder)["gone"]
    reported(run, "messages", gone, "--redact", "hosts")
    assert str(gone) in run("messages", gone, "--redact", "labels").err
    assert str(gone) in run("messages", gone).err


def test_a_message_that_is_looked_for_by_its_label_is_not_repeated(run: Run) -> None:
    asked = ("timeline", _DEMO, "--message", "jane.doe SRV01", "--redact")
    for what in ("labels", "hosts"):
        assert "no message has the identifier this" not in reported(run, *asked, what)
