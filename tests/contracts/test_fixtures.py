"""Every fixture decodes to the JSON beside it, writes back to its bytes and says where it comes from."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.build_packets import document
from fixtures.generated import changes, kept
from fixtures.manifest import sources
from msmq_wire.engines.codec import encode, inspect
from tests.effort import in_batches
from tests.fixture_files import HEX_FILES

_TELLING = (
    "build_at_rest.py",
    "build_diagnose.py",
    "build_digest.py",
    "build_findings_calls.py",
    "build_findings_content.py",
    "build_findings_discovery.py",
    "build_findings_network.py",
    "build_findings_scanners.py",
    "build_findings_sessions.py",
    "build_findings_traces.py",
    "build_findings_wire.py",
    "build_replay_scenes.py",
    "build_replay_sessions.py",
    "build_routed_scenes.py",
)
"""The builders that know what each of their files holds."""


@in_batches(HEX_FILES, name="hex_file", every=1)
def test_a_fixture_decodes_to_the_json_beside_it(hex_file: Path, load: Callable[[Path], bytes]) -> None:
    expected = json.loads(hex_file.with_suffix(".json").read_text(encoding="utf-8"))
    shown = document(inspect(load(hex_file), hex_file.parent.name))
    # Through JSON text, so that 1 and true differ.
    assert json.dumps(shown, sort_keys=True) == json.dumps(expected, sort_keys=True)


@in_batches(HEX_FILES, name="hex_file", every=1)
def test_a_fixture_is_written_back_byte_for_byte(hex_file: Path, load: Callable[[Path], bytes]) -> None:
    data = load(hex_file)
    result = inspect(data, hex_file.parent.name)
    if result.error is None:
        assert encode(result.packet) == data[: result.consumed]
    assert data == data[: result.consumed] + result.remainder


@in_batches(HEX_FILES, name="hex_file", every=1)
def test_an_anomaly_lies_inside_the_bytes_that_were_decoded(
    hex_file: Path, load: Callable[[Path], bytes]
) -> None:
    result = inspect(load(hex_file), hex_file.parent.name)
    ends = [anomaly.offset + anomaly.length for anomaly in result.anomalies]
    assert max(ends, default=0) <= result.consumed


def test_every_packet_file_has_its_partner(fixtures: Path) -> None:
    found = {path.relative_to(fixtures) for path in (fixtures / "packets").rglob("*") if path.is_file()}
    stems = {path.with_suffix("") for path in found}
    assert found == {stem.with_suffix(suffix) for stem in stems for suffix in (".hex", ".json")}


def test_the_manifest_lists_every_file_and_no_other(fixtures: Path) -> None:
    files = [path for path in fixtures.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    present = {path.relative_to(fixtures).as_posix() for path in files}
    assert set(sources()) == present - {"MANIFEST.toml"}


def test_the_manifest_names_an_origin_and_a_note_for_every_file() -> None:
    assert [path for path, source in sources().items() if not source.origin or not source.note] == []


def test_a_builder_that_the_manifest_names_is_there(fixtures: Path) -> None:
    manifest = tomllib.loads((fixtures / "MANIFEST.toml").read_text(encoding="utf-8"))
    named = {entry["builder"] for entry in manifest["entry"] if "builder" in entry}
    assert [name for name in sorted(named) if not (fixtures / name).exists()] == []


def test_what_a_digest_has_to_say_is_written_down_once_for_every_capture(fixtures: Path) -> None:
    def captures(*folders: str) -> set[str]:
        found = (path for folder in folders for path in (fixtures / folder).rglob("*.pcap*"))
        return {path.relative_to(fixtures).as_posix() for path in found}

    written = tomllib.loads((fixtures / "digest/expected.toml").read_text(encoding="utf-8"))["expect"]
    named = [entry["capture"] for entry in written]
    assert len(set(named)) == len(named)
    # Who adds a rule need not say what comes first in its captures.
    every = captures("captures", "diagnose", "digest", "findings", "sessions")
    assert captures("diagnose", "digest") <= set(named) <= every


@pytest.mark.parametrize("builder", _TELLING)
def test_what_a_builder_says_of_its_files_stands_in_the_manifest(
    builder: str, fixtures: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [builder, "--manifest"])
    runpy.run_path(str(fixtures / builder), run_name="__main__")
    printed = capsys.readouterr().out
    manifest = (fixtures / "MANIFEST.toml").read_text(encoding="utf-8")
    assert printed.startswith("[[entry]]")
    assert [entry for entry in printed.split("\n\n") if entry.rstrip("\n") not in manifest] == []


@pytest.mark.needs("git")
def test_files_that_a_builder_writes_anew_are_named(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for name in ("same", "other", "gone", "left.log"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".gitignore").write_text("*.log")
    before = kept(tmp_path)
    (tmp_path / "other").write_text("not what it was")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").touch()
    (tmp_path / "left.log").write_text("nobody keeps it")
    assert changes(before, kept(tmp_path)) == ["gone     gone", "new      new", "changed  other"]
