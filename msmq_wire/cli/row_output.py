"""Rows of declared columns as a table, JSON lines or CSV, with the columns that were asked for."""

from __future__ import annotations

import contextlib
import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import tzinfo
from io import BufferedReader
from typing import IO, Any

import msgspec
import typer

from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.columns import columns_for, print_hidden_columns
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.table import TableRow, table_of
from msmq_wire.cli.row_writers import CsvWriter, JsonWriter
from msmq_wire.cli.table_output import TableOutput
from msmq_wire.records.column import Column, ColumnRow
from msmq_wire.records.column_choice import column_names
from msmq_wire.records.display import ColumnDeclaration

_NO_OTHER_NAMES: Mapping[str, str] = {}


class RowOutput:
    """Writes rows; call `finish` after the last one. ``names`` are the columns that are ``wanted``, or None,
    ``keys`` those that there are, ``table`` what shows them on a screen. It ``has_paths`` where one
    of them is the path of a field.

    ``usual`` are those of JSON lines and CSV where none are wanted, ``shown`` those of a table, each with the
    width of a terminal that has room for it; without, a table shows what has a look. ``also`` has other names
    of columns. Raises typer.BadParameter for a name that is no column; with ``paths`` fields of packets are
    columns, too. With ``to`` rows go there, and `writing` is the block in which they do.
    """

    def __init__(
        self,
        format_: str,
        declared: Sequence[Column],
        wanted: str | None,
        reading: CaptureSet,
        screen: Screen,
        zone: tzinfo | None,
        *,
        usual: Sequence[str] = (),
        shown: Mapping[str, int] | None = None,
        also: Mapping[str, str] = _NO_OTHER_NAMES,
        paths: bool = True,
        to: TableOutput | None = None,
    ) -> None:
        several, at_once = reading.several, reading.as_it_comes
        as_table = format_ == "table"
        looked = declared if shown is None else _looked(declared, shown)
        table = table_of(looked, screen, zone, several=several, at_once=at_once)
        usual = table.usual if as_table else usual or [one.name for one in declared if not one.asked]
        known = column_names(declared, also, bodies=as_table)
        self.names = columns_for(wanted, usual, known, paths=paths)
        for name in self.names or () if to is not None else ():
            if name not in known.values():
                # It may lead to values of any type, and to several.
                raise typer.BadParameter(
                    f"{name} is a path, and a file has declared columns only: --format csv has paths",
                    param_hint="--columns",
                )
        self.keys = self.names or (table.keys if as_table else usual)
        if as_table and self.names is not None:
            table = table_of(declared, screen, zone, self.names, at_once=at_once)
        self.table = table if as_table else None
        reading.show_waiting = table.show_waiting if as_table else None
        self._write = JsonWriter() if format_ == "jsonl" else CsvWriter(self.keys)
        self._to, self._declared, self._reading = to, {one.name: one for one in declared}, reading
        self.has_paths = not self._declared.keys() >= set(self.keys)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Rows are written in the block, the last of them at its end. Raises as `TableOutput`."""
        if self._to is None:
            yield
            return
        with self._to.opened([self._declared[name] for name in self.keys], self._reading):
            yield

    def write(self, row: TableRow) -> None:
        """Write a row."""
        if self._to is not None:
            self._to.take(([row[name] for name in self.keys],))
        elif self.table is not None:
            self.table.add(row)
        elif isinstance(row, ColumnRow):
            self._write(row.as_json(self.keys))
        else:
            self._write({name: row.get(name) for name in self.keys})

    def lines(self, lines: Sequence[Any]) -> None:
        """Write rows that were made already: lines of their format, what `Table.cells` makes, or values."""
        if self._to is not None:
            self._to.take(lines)
        else:
            (self._write if self.table is None else self.table).lines(lines)

    def keep(self, kept: IO[bytes]) -> Callable[[int], None] | None:
        """Keep rows for the process that prints them, which knows how wide they are.

        What it gives takes how many bytes were read, which says when a table does not wait any more.
        """
        if self.table is None:
            self._write.headed = True
            return None
        self.table.keep = lambda rows: marshal.dump(rows, kept)
        return lambda done: marshal.dump(done, kept)

    def take_kept(
        self, kept: BufferedReader, reached: Callable[[int], None], copy: Callable[[IO[bytes]], None]
    ) -> None:
        """Write what was kept elsewhere; text is for ``copy``."""
        if self.table is None:
            if kept.peek(1):
                self._write.head()
            copy(kept)
            return
        with contextlib.suppress(EOFError):
            while True:
                found = marshal.load(kept)  # a process of this one has written it
                if isinstance(found, int):
                    reached(found)
                else:
                    self.table.lines(found)

    def finish(self, *, quiet: bool) -> None:
        """Write what still waits, and say what a terminal has no room for."""
        if self.table is not None:
            self.table.finish()
            if self.table.printed and not quiet:
                print_hidden_columns(self.table.left_out, cramped=self.table.cramped)


def _looked(declared: Sequence[ColumnDeclaration], shown: Mapping[str, int]) -> list[ColumnDeclaration]:
    """The columns that are shown, from these widths on, and those of several files."""
    known = {one.name: (one, one.display) for one in declared}
    found = [one for one in declared if one.display is not None and one.display.several]
    for name, least in shown.items():
        one, display = known[name]
        if display is not None:
            found.append(msgspec.structs.replace(one, display=msgspec.structs.replace(display, least=least)))
    return found
