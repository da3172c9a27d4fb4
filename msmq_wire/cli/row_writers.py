"""Writes flat rows as JSON lines and CSV."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from msmq_wire.engines.text.csv import csv_line
from msmq_wire.engines.text.escaping import json_line


class JsonWriter:
    """Writes each row as a line of JSON; ``headed`` says that what comes above all rows is written."""

    headed = True

    def __call__(self, row: dict[str, Any]) -> None:
        sys.stdout.write(json_line(row) + "\n")

    def head(self) -> None:
        """Write what comes above all rows, unless it is written."""

    def lines(self, lines: Sequence[str]) -> None:
        """Write lines that were made of rows already."""
        sys.stdout.write("".join([f"{line}\n" for line in lines]))


class CsvWriter(JsonWriter):
    """Writes the keys above the first row, then each row; lists with spaces between."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self.headed = False

    def __call__(self, row: dict[str, Any]) -> None:
        self.lines((csv_line(map(row.get, self._keys)),))

    def head(self) -> None:
        if not self.headed:
            print(csv_line(self._keys))
            self.headed = True

    def lines(self, lines: Sequence[str]) -> None:
        if lines:
            self.head()
        super().lines(lines)
