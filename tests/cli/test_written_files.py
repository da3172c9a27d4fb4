"""What a command that writes a file does with what is there already: the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome, is_refused

Run = Callable[..., Outcome]
_DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"
_WRITES: Mapping[str, tuple[object, ...]] = {
    "calls": (_DEMO, "--to"),
    "decode": (_DEMO, "--to"),
    "demo": ("--save",),
    "export": (_DEMO, "--to"),
    "findings": (_DEMO, "--to"),
    "messages": (_DEMO, "--to"),
    "report": (_DEMO, "-o"),
    "suricata rules": ("-o",),
}
"""Command lines that write the file that is named behind them."""
writes = pytest.mark.parametrize("command", _WRITES)


@pytest.fixture
def write(run: Run) -> Run:
    """Run a command so that it writes a file."""
    return lambda command, *more: run(*command.split(), *_WRITES[command], *more)


@writes
def test_a_file_that_is_there_is_replaced_with_force_only(write: Run, tmp_path: Path, command: str) -> None:
    out = tmp_path / "out.parquet"
    assert write(command, out).status == 0
    made = out.read_bytes()
    out.write_bytes(b"precious")
    out.chmod(0o640)
    is_refused(write(command, out), f"{out} is there: --force writes over it")
    assert out.read_bytes() == b"precious"
    assert write(command, out, "--force").status == 0
    assert (out.read_bytes(), out.stat().st_mode & 0o777) == (made, 0o640)
    assert list(tmp_path.iterdir()) == [out]


@writes
@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_not_written_through(
    write: Run, tmp_path: Path, command: str, force: tuple[str, ...], there: bool
) -> None:
    target, link = tmp_path / "precious", tmp_path / "link.parquet"
    link.symlink_to(target)
    if there:
        target.write_bytes(b"precious")
    is_refused(write(command, link, *force), f"{link} is a link to {target}")
    assert link.is_symlink()
    assert target.exists() == there
    assert not there or target.read_bytes() == b"precious"


@pytest.mark.parametrize(("command", "option"), [("export", "--to"), ("report", "-o")])
@pytest.mark.parametrize("linked", [False, True])
def test_a_capture_that_is_read_is_never_written_over(
    run: Run, tmp_path: Path, command: str, option: str, linked: bool
) -> None:
    capture, out = tmp_path / "a.pcap", tmp_path / ("link" if linked else "a.pcap")
    capture.write_bytes(_DEMO.read_bytes())
    if linked:
        out.symlink_to(capture)
    is_refused(run(command, capture, option, out, "--force"), f"{out} is ")
    assert capture.read_bytes() == _DEMO.read_bytes()


@writes
def test_a_folder_that_is_not_there_is_one_line(write: Run, tmp_path: Path, command: str) -> None:
    outcome = write(command, tmp_path / "none" / "out.parquet")
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert str(tmp_path / "none") in outcome.err
