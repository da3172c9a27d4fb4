"""Schemas that documents fit, each compiled once in a process."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema_rs

_DOCS = Path(__file__).resolve().parents[1] / "docs" / "schema"


class Schema:
    """A JSON Schema, draft 2020-12; a file that is none fails to open."""

    def __init__(self, path: Path) -> None:
        self._validator = jsonschema_rs.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))

    def fits(self, document: Any) -> bool:
        """Whether a document fits."""
        return self._validator.is_valid(document)

    def faults(self, document: Any) -> list[str]:
        """Where a document does not fit, and why; empty where it does."""
        found = self._validator.iter_errors(document)
        return [f"{'/'.join(map(str, one.instance_path)) or 'it'}: {one.message}" for one in found]


@functools.cache
def schema_of(name: str) -> Schema:
    """The schema of docs/schema that has a name."""
    return Schema(_DOCS / f"{name}.schema.json")
