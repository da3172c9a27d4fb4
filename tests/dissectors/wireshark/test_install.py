"""The Lua scripts reach the folder where Wireshark looks for them, and Wireshark runs them from there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from msmq_wire import MsmqWireError
from msmq_wire.capture.source import read_frames
from msmq_wireshark import install as module
from msmq_wireshark.install import check, install, plugin_folder, problem, script, scripts
from tests.effort import share

_ROOT = Path(__file__).resolve().parents[3]
_DEMO = _ROOT / "fixtures" / "captures" / "demo.pcap"
_CALLS = _ROOT / "fixtures" / "rpc_captures" / "rpc_none_ndr.pcap"
_DIRECT = "msmq.user_header.flags.dq == 7"
_LABEL = "msmq.message_properties_header.label"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that is not that of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


def test_the_script_is_among_the_files_of_the_package() -> None:
    assert script() in scripts()
    assert {path.suffix for path in scripts()} == {".lua"}


def test_what_is_installed_is_current(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "plugins"
    assert set(check(folder).values()) == {"not installed"}
    assert install(folder) == [folder / path.name for path in scripts()]
    assert check(folder) == {}
    assert install(folder) == []
    assert sorted(path.name for path in folder.iterdir()) == [path.name for path in scripts()]


def test_another_version_is_replaced(tmp_path: Path) -> None:
    install(tmp_path)
    target = tmp_path / "msmq.lua"
    target.write_bytes(target.read_bytes() + b"\n-- older\n")
    assert check(tmp_path) == {"msmq.lua": "another version"}
    assert install(tmp_path) == [target]
    assert check(tmp_path) == {}


def test_a_file_of_somebody_else_is_never_overwritten(tmp_path: Path) -> None:
    foreign = tmp_path / "msmq_tables.lua"
    foreign.write_text("print('mine')\n", encoding="utf-8")
    assert check(tmp_path)["msmq_tables.lua"] == "another file"
    with pytest.raises(MsmqWireError, match=r"msmq_tables\.lua is another file"):
        install(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["msmq_tables.lua"]
    assert foreign.read_text(encoding="utf-8") == "print('mine')\n"


def test_a_folder_that_cannot_be_made_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MsmqWireError, match="cannot write to"):
        install(tmp_path / "file" / "plugins")


@pytest.mark.parametrize(
    ("platform", "environment", "parts"),
    [
        ("linux", {}, (".local", "lib", "wireshark", "plugins")),
        ("darwin", {}, (".local", "lib", "wireshark", "plugins")),
        ("win32", {"APPDATA": "roaming"}, ("roaming", "Wireshark", "plugins")),
        ("win32", {}, ("AppData", "Roaming", "Wireshark", "plugins")),
    ],
)
def test_without_tshark_the_documented_folder_counts(
    platform: str, environment: dict[str, str], parts: tuple[str, ...]
) -> None:
    assert module._default_folder(environment, platform).parts[-len(parts) :] == parts


def test_a_missing_tshark_is_no_failure(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    assert plugin_folder().is_relative_to(home)


def ignores_root() -> bool:
    """Whether this is root, and a tshark that does not run what root installed."""
    reported = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"([0-9]+)\.([0-9]+)", reported)
    assert version is not None
    return os.geteuid() == 0 and (int(version[1]), int(version[2])) >= (4, 4)


@pytest.mark.check
@pytest.mark.tshark
def test_wireshark_runs_what_is_installed_and_filters_by_our_names(home: Path) -> None:
    assert plugin_folder().is_relative_to(home)
    assert problem() is not None
    install()
    command = ["tshark", "-r", str(_DEMO), "-Y", _DIRECT, "-T", "fields", "-e", _LABEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if ignores_root():
        assert done.stdout == ""
        assert " ignores personal plugins and -X lua_script when root runs it: " in str(problem())
    else:
        assert problem() is None
        assert done.stdout.splitlines() == ["order 4711", "payment 93", "catalogue 2026-11-20"]
        assert "Lua" not in done.stderr
        assert done.returncode == 0


def fake_tshark(folder: Path, status: int) -> None:
    """A tshark on PATH that has a version, folders, and a status for every capture that it is to read."""
    program = folder / "tshark"
    program.write_text(
        "#!/bin/sh\ncase $* in\n"
        "*folders*) printf 'Global Lua Plugins:\\t/usr/lib/plugins\\n';;\n"
        "--version) echo 'TShark (Wireshark) 4.4.18.';;\n"
        f"*) cat > {folder / 'given'}; exit {status};;\nesac\n",
        encoding="utf-8",
    )
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("root", "said"),
    [
        (
            True,
            "tshark 4.4.18 ignores personal plugins and -X lua_script when root runs it: be another user, or "
            "msmq-wire wireshark install --dir /usr/lib/plugins",
        ),
        (False, "tshark 4.4.18 does not run the scripts: start it by hand to see why"),
    ],
)
def test_scripts_that_are_ignored_are_told_with_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch, root: bool, said: str
) -> None:
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")
    monkeypatch.setattr(module, "_is_root", lambda: root)
    fake_tshark(home, 4)
    assert problem() == problem(home) == said
    assert list(read_frames(home / "given")) == []
    fake_tshark(home, 0)
    assert problem() is None


def test_without_tshark_nothing_is_ignored(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    assert problem() is None


def _documented() -> list[tuple[str, list[str]]]:
    """The commands for tshark in the documentation, each with what it prints where that is shown."""
    text = (_ROOT / "docs" / "wireshark.md").read_text(encoding="utf-8").replace("\\\n", "")
    blocks = [block.strip().splitlines() for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL)]
    return [(first.removeprefix("$ "), rest) for first, *rest in blocks if first.startswith("$ tshark ")]


@pytest.mark.check
@pytest.mark.tshark
def test_the_documented_commands_find_messages_and_calls_in_a_single_run() -> None:
    commands = _documented()
    assert len(commands) == 3
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command, lines in commands:
        done = subprocess.run(
            ["sh", "-c", command], cwd=_ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if problem(script().parent) is not None:
            assert (done.returncode != 0, done.stdout) == (True, "")
            continue
        assert done.returncode == 0, done.stderr
        assert "Lua" not in done.stderr
        # Columns are apart by a tab, and tshark 4.4 writes each backslash twice.
        printed = [line.replace(2 * "\\", "\\").split() for line in done.stdout.splitlines()]
        assert printed == [line.split() for line in lines] if lines else "MSMQ" in done.stdout
    assert sum("msmq_rpc.method" in command for command, _ in commands) == 1


@pytest.mark.slow
@pytest.mark.tshark
@pytest.mark.parametrize(
    "named", share([["msmq.lua"], ["msmq.lua", "msmq_rpc.lua"], ["msmq_rpc.lua", "msmq.lua"]])
)
@pytest.mark.parametrize("installed", [False, True])
def test_scripts_that_are_named_installed_or_both_are_loaded_once(named: list[str], installed: bool) -> None:
    if installed:
        install()
    command = ["tshark", "-r", str(_CALLS), "-Y", "msmq.message_properties_header && msmq_rpc.method"]
    for name in named:
        command += ["-X", f"lua_script:{script().parent / name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    ran = problem(script().parent) is None
    assert (done.returncode == 0, done.stdout.count("MSMQ-RPC")) == (ran, 4 if ran else 0)
    # Where root may name scripts, those that it installed are tried and not found.
    assert "Lua" not in done.stderr or (installed and ignores_root())


@pytest.mark.parametrize("link", ["plugins", "plugins/msmq.lua"])
def test_no_link_is_written_through(tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if link == "plugins":
        (tmp_path / link).symlink_to(elsewhere)
    else:
        (tmp_path / "plugins").mkdir()
        (elsewhere / "precious").write_text("-- SPDX-License-Identifier: GPL-2.0-or-later, msmq\n")
        (tmp_path / link).symlink_to(elsewhere / "precious")
    before = {path.name: path.read_bytes() for path in elsewhere.iterdir()}
    with pytest.raises(MsmqWireError, match="is a link to"):
        install(tmp_path / "plugins", force=True)
    assert {path.name: path.read_bytes() for path in elsewhere.iterdir()} == before


def test_a_file_of_somebody_else_is_overwritten_by_force(tmp_path: Path) -> None:
    (tmp_path / "msmq_tables.lua").write_text("print('mine')\n", encoding="utf-8")
    assert len(install(tmp_path, force=True)) == len(scripts())
    assert check(tmp_path) == {}
