"""What spark-submit needs: this package as one zip, and a program that calls its command line.

The rule kept here: the same package gives the same bytes.
"""

from __future__ import annotations

import os
import secrets
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.captures import refuse_url

__all__ = ["ARCHIVE", "LAUNCHER", "write_package"]

ARCHIVE = "msmq_wire.zip"
LAUNCHER = "msmq_wire_job.py"

_PACKAGE = "msmq_wire"
_SHIMS = ("pyspark_msmq_packets", "pyspark_msmq_messages", "pyspark_msmq_calls")
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


def write_package(folder: str) -> tuple[Path, Path]:
    """Write `ARCHIVE` and `LAUNCHER` into a folder, over older ones, and return their paths.

    The archive holds the modules of the package, and at its top those by which pyspark finds the data
    sources; no dependency is in it. Raises MsmqWireError where the folder cannot be written.
    """
    refuse_url(folder)
    target = Path(folder)
    written = (target / ARCHIVE, target / LAUNCHER)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, data in zip(written, (_archive(), _PROGRAM.encode()), strict=True):
            # Spark may be reading the older one.
            beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
            beside.write_bytes(data)
            os.replace(beside, path)
    except OSError as error:
        raise MsmqWireError(f"cannot write {folder}: {error.strerror or error}") from None
    return written


def _archive() -> bytes:
    root = files(_PACKAGE)
    found = dict(_modules(root, _PACKAGE))
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


def _modules(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _modules(entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".py") or entry.name == "py.typed":
            yield f"{name}/{entry.name}", entry.read_bytes()
