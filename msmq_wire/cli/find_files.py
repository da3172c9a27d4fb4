"""The bytes of what lies in files, each find in a file of its own, and an index.

The rule kept here: a file that is there is left alone unless ``force`` is given, and a name is made of an id,
a label and a type.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from io import BufferedWriter
from types import TracebackType
from typing import Any

from msmq_wire.cli.body_files import INDEX, file_name_part
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import CaptureError
from msmq_wire.output import make_folder, open_stream, whole_file
from msmq_wire.records.record import Record
from msmq_wire.records.view import places_view

__all__ = ["FindFiles"]


class FindFiles:
    """Writes finds as ``<id>-<label>.<type>``. Raises CaptureError as `BodyFiles` does."""

    def __init__(self, directory: str, *, force: bool = False) -> None:
        self._directory = directory
        self._force = force
        self.written = 0
        self._index: BufferedWriter | None = None
        try:
            make_folder(directory)
        except OSError as error:
            raise CaptureError(f"cannot use {directory}: {error.strerror or error}") from error

    def __enter__(self) -> FindFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._index is not None:
            self._index.close()

    def write(self, record: Record, label: str, data: bytes) -> None:
        """Write the bytes of a find and its line of the index."""
        part = file_name_part(label)
        name = f"{record.id}-{part}.{record.type}" if part else f"{record.id}.{record.type}"
        line: Mapping[str, Any] = {
            "id": record.id,
            "file": name,
            "type": record.type,
            "grade": record.grade,
            "reason": record.reason,
            "capture": record.capture,
            "offset": record.offset,
            "length": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "places": places_view(record),
        }
        try:
            with whole_file(os.path.join(self._directory, name), force=self._force) as file:
                file.write(data)
            if self._index is None:
                index = os.path.join(self._directory, INDEX)
                self._index = BufferedWriter(open_stream(index, force=self._force))
            self._index.write(json_line(dict(line)).encode() + b"\n")
            self._index.flush()
        except OSError as error:
            raise CaptureError(f"cannot write {name}: {error.strerror or error}") from error
        self.written += 1
