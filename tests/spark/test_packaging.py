"""What spark-submit is given: a zip that can be imported by itself, and a program that runs it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import msmq_wire
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.packaging import ARCHIVE, LAUNCHER, older_files, write_package

SHIMS = [
    "pyspark_msmq_calls.py",
    "pyspark_msmq_carved.py",
    "pyspark_msmq_messages.py",
    "pyspark_msmq_packets.py",
]


def python(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "COLUMNS": "100", **environment},
    )


@pytest.mark.slow
def test_the_archive_has_the_package_and_nothing_else(tmp_path: Path) -> None:
    archive, launcher = write_package(str(tmp_path / "new" / "job"))
    assert (archive.name, launcher.name) == (ARCHIVE, LAUNCHER)
    root = Path(msmq_wire.__file__).parent
    files = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    package = [path.relative_to(root.parent).as_posix() for path in files]
    with zipfile.ZipFile(archive) as found:
        assert found.testzip() is None
        names = found.namelist()
        assert found.read("msmq_wire/errors.py") == (root / "errors.py").read_bytes()
        for shim in SHIMS:
            assert found.read(shim) == (root / "spark" / "shims" / shim).read_bytes()
    assert names == sorted([*package, *SHIMS])
    assert sorted(path.name for path in archive.parent.iterdir()) == [ARCHIVE, LAUNCHER]


@pytest.mark.slow
def test_the_same_package_gives_the_same_bytes_over_older_files(tmp_path: Path) -> None:
    first = [hashlib.sha256(path.read_bytes()).digest() for path in write_package(str(tmp_path))]
    (tmp_path / ARCHIVE).write_bytes(b"an older one")
    with pytest.raises(MsmqWireError, match="it is there"):
        write_package(str(tmp_path))
    assert older_files(str(tmp_path)) == [tmp_path / ARCHIVE]
    again = [hashlib.sha256(path.read_bytes()).digest() for path in write_package(str(tmp_path), force=True)]
    assert first == again
    assert older_files(str(tmp_path)) == []


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / LAUNCHER).symlink_to(tmp_path / "precious")
    with pytest.raises(MsmqWireError, match="it is a link to"):
        write_package(str(tmp_path), force=True)
    assert (tmp_path / "precious").read_bytes() == b"precious"


@pytest.mark.check
def test_the_archive_can_be_imported_by_itself(tmp_path: Path) -> None:
    archive, _ = write_package(str(tmp_path))
    names = ["msmq_wire", "msmq_wire.cli.program", "msmq_wire.spark.job", *(one[:-3] for one in SHIMS)]
    source = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); import {', '.join(names)}; "
        f"from msmq_wire.replay.rule_table import all_rows; assert all_rows(); "
        f"print(*(sys.modules[name].__file__ for name in {names!r}), sep='\\n')"
    )
    done = python("-I", "-c", source)
    assert (done.returncode, done.stderr) == (0, "")
    places = done.stdout.splitlines()
    assert len(places) == len(names)
    assert all(place.startswith(str(archive)) for place in places)


@pytest.mark.check
def test_an_archive_packages_itself(tmp_path: Path) -> None:
    archive, launcher = write_package(str(tmp_path))
    done = python(launcher, "package", "--to", tmp_path / "again", PYTHONPATH=str(archive))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "again" / ARCHIVE).read_bytes() == archive.read_bytes()
    assert (tmp_path / "again" / LAUNCHER).read_bytes() == launcher.read_bytes()


@pytest.mark.check
def test_the_program_takes_the_options_of_the_command_line(tmp_path: Path) -> None:
    archive, launcher = write_package(str(tmp_path))
    done = python(launcher, "run", "--help", PYTHONPATH=str(archive))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: msmq-wire spark run ")
    wrong = python(launcher, "run", "--input", "x", PYTHONPATH=str(archive))
    assert wrong.returncode == 2
    assert "--output" in wrong.stderr


@pytest.mark.check
def test_what_is_said_to_spark_submit_is_not_said_to_the_program(tmp_path: Path) -> None:
    archive, launcher = write_package(str(tmp_path))
    words = ("run", "--input", "x", "--output", "y", "--master", "local[1]")
    # As spark-submit sets it for the program that it runs.
    done = python(launcher, *words, PYTHONPATH=str(archive), PYSPARK_GATEWAY_PORT="1")
    assert done.returncode == 2
    assert "Invalid value for --master: this is said to spark-submit" in done.stderr


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(MsmqWireError, match=r"cannot write .*file"):
        write_package(str(tmp_path / "file"))
