"""What spark-submit needs: this package as one zip, and a program that calls its command line.

The rule kept here: the same package gives the same bytes.
"""

from __future__ import annotations

import functools
import os
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from msmq_wire.capture.places import local_folder
from msmq_wire.errors import MsmqWireError
from msmq_wire.output import make_folder, whole_file

ARCHIVE = "msmq_wire.zip"
LAUNCHER = "msmq_wire_job.py"

_PACKAGE = "msmq_wire"
_SHIMS = ("pyspark_msmq_packets", "pyspark_msmq_messages", "pyspark_msmq_calls", "pyspark_msmq_carved")
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold."""
_PLAIN_FILE = 0o100644 << 16
_PROGRAM = '''\
"""Runs msmq-wire spark under spark-submit: spark-submit --py-files msmq_wire.zip msmq_wire_job.py run ..."""

import sys

from msmq_wire.cli.app import main

if __name__ == "__main__":
    sys.exit(main(["spark", *sys.argv[1:]]))
'''


def write_package(folder: str, *, force: bool = False) -> tuple[Path, Path]:
    """Write `ARCHIVE` and `LAUNCHER` into a folder, with ``force`` over others, and return their paths.

    The archive holds the modules of the package, and at its top those by which pyspark finds the data
    sources; no dependency is in it. Raises MsmqWireError where the folder cannot be written.
    """
    folder = local_folder(folder)
    archive, launcher = Path(folder) / ARCHIVE, Path(folder) / LAUNCHER
    try:
        make_folder(folder)
        for path, data in _other(folder).items():
            # Spark may be reading the older one.
            with whole_file(path, force=force) as file:
                file.write(data)
    except OSError as error:
        raise MsmqWireError(f"cannot write {folder}: {error.strerror or error}") from None
    return archive, launcher


def older_files(folder: str) -> list[Path]:
    """The files that `write_package` would write over others: the package of another version, or not one."""
    return [path for path in _other(folder) if os.path.lexists(path)]


def _other(folder: str) -> dict[Path, bytes]:
    """What is to be written, without what is there already: the same package gives the same bytes."""
    wanted = {Path(folder) / ARCHIVE: _archive(), Path(folder) / LAUNCHER: _PROGRAM.encode()}
    return {path: data for path, data in wanted.items() if not _holds(path, data)}


def _holds(path: Path, data: bytes) -> bool:
    try:
        return not path.is_symlink() and path.is_file() and path.read_bytes() == data
    except OSError:
        return False


@functools.cache
def _archive() -> bytes:
    root = files(_PACKAGE)
    found = dict(_files(root, _PACKAGE))
    for name in _SHIMS:
        found[f"{name}.py"] = _shim(root, name)
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(found):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = _PLAIN_FILE
            archive.writestr(info, found[name])
    return buffer.getvalue()


def _shim(root: Traversable, name: str) -> bytes:
    """A module of the top level: in a clone below the package, once installed where it belongs."""
    inside = root.joinpath("spark", "shims", f"{name}.py")
    if inside.is_file():
        return inside.read_bytes()
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise MsmqWireError(f"{name} is not installed beside {_PACKAGE}")
    return Path(spec.origin).read_bytes()


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(entry, f"{name}/{entry.name}")
        else:
            yield f"{name}/{entry.name}", entry.read_bytes()
