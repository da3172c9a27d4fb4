"""Bodies written to a directory, one file each, under names that hostile labels cannot steer.

The rule kept here: a file is only ever created, never opened if it is there, and its name is made of an id
and of letters, digits, ``-`` and ``_``.
"""

from __future__ import annotations

import os
import re
import unicodedata

from msmq_wire.errors import CaptureError
from msmq_wire.records.bodies import open_body

__all__ = ["BodyFiles", "file_name_part"]

_LONGEST = 60
_TRIES = 1000
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def file_name_part(label: str) -> str:
    """A label as a part of a file name: ASCII letters, digits, ``-`` and ``_``, at most 60; may be empty."""
    plain = unicodedata.normalize("NFKD", label[:1000]).encode("ascii", "ignore").decode("ascii")
    return _OTHER.sub("_", plain).strip("_-")[:_LONGEST].rstrip("_-")


class BodyFiles:
    """Writes bodies as ``<id>-<label>.<extension>``, cut ones as ``<id>-<label>.cut.<extension>``.

    Raises CaptureError when the directory is unusable. Counts what was ``written`` and how many were ``cut``.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.written = 0
        self.cut = 0
        try:
            os.makedirs(directory, exist_ok=True)
        except OSError as error:
            raise CaptureError(f"cannot use {directory}: {error.strerror or error}") from error

    def write(self, id_: int, label: str, body: bytes, body_type: int, *, cut: bool = False) -> str:
        """Write one body, ``cut`` if bytes of it are missing, and return the path.

        Raises CaptureError when that fails.
        """
        part = file_name_part(label)
        stem = f"{id_}-{part}" if part else str(id_)
        extension = open_body(body, body_type).extension
        if cut:
            extension = f"cut.{extension}"
        for attempt in range(1, _TRIES):
            name = f"{stem}.{extension}" if attempt == 1 else f"{stem}~{attempt}.{extension}"
            path = os.path.join(self.directory, name)
            try:
                # "x" fails on whatever is there, a dangling link too.
                with open(path, "xb") as file:
                    file.write(body)
            except FileExistsError:
                continue
            except OSError as error:
                raise CaptureError(f"cannot write {path}: {error.strerror or error}") from error
            self.written += 1
            self.cut += cut
            return path
        raise CaptureError(f"cannot write {stem}.{extension}: there are too many files of that name")
