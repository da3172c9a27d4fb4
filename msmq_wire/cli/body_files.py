"""Bodies written to a directory, one file each, under names that hostile labels cannot steer, and an index.

The rule kept here: a file that is there is left alone unless ``force`` is given, and a name is made of an id
and of letters, digits, ``-`` and ``_``.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping
from io import BufferedWriter
from types import TracebackType
from typing import Any, Self

from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import CaptureError
from msmq_wire.output import make_folder, open_stream, whole_file
from msmq_wire.records.message_body import MessageBody

INDEX = "index.jsonl"

_LONGEST = 60
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_FROM_ROW = ("queue", "label", "time", "frames")


def file_name_part(label: str) -> str:
    """A label as a part of a file name: ASCII letters, digits, ``-`` and ``_``, at most 60; may be empty."""
    plain = unicodedata.normalize("NFKD", label[:1000]).encode("ascii", "ignore").decode("ascii")
    return _OTHER.sub("_", plain).strip("_-")[:_LONGEST].rstrip("_-")


class IndexedFolder:
    """A folder of files, and `INDEX` with a line for each once it is written.

    What is there is replaced with ``force``, else an error. Raises CaptureError when the directory is
    unusable.
    """

    def __init__(self, directory: str, *, force: bool = False) -> None:
        self.directory = directory
        self.force = force
        self.written = 0
        self._index: BufferedWriter | None = None
        try:
            make_folder(directory)
        except OSError as error:
            raise CaptureError(f"cannot use {directory}: {error.strerror or error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._index is not None:
            self._index.close()

    def put(self, name: str, data: bytes) -> str:
        """Write a file; return its path. Raises CaptureError when that fails."""
        path = os.path.join(self.directory, name)
        try:
            with whole_file(path, force=self.force) as file:
                file.write(data)
        except OSError as error:
            raise _cannot_write(path, error) from error
        self.written += 1
        return path

    def add(self, line: str) -> None:
        """Write a line of the index. Raises CaptureError when that fails."""
        path = os.path.join(self.directory, INDEX)
        try:
            if self._index is None:
                self._index = BufferedWriter(open_stream(path, force=self.force))
            self._index.write(line.encode() + b"\n")
            # What is written stays, however the run ends.
            self._index.flush()
        except OSError as error:
            raise _cannot_write(path, error) from error


class BodyFiles(IndexedFolder):
    """Writes bodies as ``<id>-<label>.<extension>``, cut ones as ``<id>-<label>.cut.<extension>``.

    The extension goes by what was found in the body and is never part of it. `INDEX` gets a line for each
    body once its file is written. What is there is replaced with ``force``, else an error.

    Raises CaptureError when the directory is unusable, and when a file is: its cause is a FileExistsError
    where something is there. Counts what was ``written`` and how many were ``cut``.
    """

    def __init__(self, directory: str, *, force: bool = False) -> None:
        super().__init__(directory, force=force)
        self.cut = 0

    def write(self, row: Mapping[str, Any], body: MessageBody, *, capture: str = "") -> str:
        """Write the body of a row of ``messages`` and its line of the index; return the path of the body.

        Raises CaptureError when that fails.
        """
        part = file_name_part(body.label)
        stem = f"{row['id']}-{part}" if part else str(row["id"])
        extension = f"cut.{body.content.extension}" if body.cut else body.content.extension
        path = self.put(f"{stem}.{extension}", body.data)
        self.cut += body.cut
        line = {
            "id": row["id"],
            "file": os.path.basename(path),
            **{key: row[key] for key in _FROM_ROW},
            "capture": capture,
            "kind": body.content.kind,
            "confidence": body.content.confidence,
            "size": len(body.data),
            "cut": body.cut,
            "sha256": hashlib.sha256(body.data).hexdigest(),
            **({"opened_with": body.opened_with} if body.opened_with else {}),
        }
        self.add(json_line(line))
        return path


def _cannot_write(path: str, error: OSError) -> CaptureError:
    return CaptureError(f"cannot write {path}: {error.strerror or error}")
