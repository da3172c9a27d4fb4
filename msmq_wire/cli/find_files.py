"""The bytes of what lies in files, each find in a file of its own, and an index.

The rule kept here: a file that is there is left alone unless ``force`` is given, and a name is made of an id,
a label and a type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msmq_wire.cli.body_files import IndexedFolder, file_name_part
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.records.record import Record
from msmq_wire.records.view import places_view


class FindFiles(IndexedFolder):
    """Writes finds as ``<id>-<label>.<type>``. Raises CaptureError as `BodyFiles` does."""

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
        self.put(name, data)
        self.add(json_line(dict(line)))
