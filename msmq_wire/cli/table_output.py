"""``--to``: rows as a file that other programs read as a table, Parquet or Arrow, instead of printed rows."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from msmq_wire.cli.formats import FileFormat
from msmq_wire.cli.options import check_output
from msmq_wire.cli.reporting import print_error
from msmq_wire.output import whole_file
from msmq_wire.records.tree.value_text import count_text

if TYPE_CHECKING:
    from msmq_wire.cli.capture_set import CaptureSet
    from msmq_wire.records.column import Column
    from msmq_wire.tables.declared_rows import RowBatches
    from msmq_wire.tables.table_file import TableFile

_TO = "--to"
_NEEDED = ("numpy", "pyarrow")

TableFileName = Annotated[
    str | None,
    typer.Option(
        _TO,
        metavar="FILE",
        help="Write the rows to FILE.parquet or FILE.arrow and print none. Needs the extra arrow.",
        show_default=False,
    ),
]


def table_output(
    to: str | None, format_: str | None, files: Sequence[str], *, force: bool, jobs: int = 1
) -> TableOutput | None:
    """Where rows go with --to, None without it. Raises typer.BadParameter for what contradicts it.

    Raises typer.Exit(1) after one line where the extra that it needs is not installed.
    """
    if to is None:
        if force:
            raise typer.BadParameter("--force changes nothing without --to")
        return None
    ending = os.path.splitext(to)[1].lower().removeprefix(".")
    kind = next((one for one in FileFormat if one == ending), None)
    if to != "-" and kind is None:
        raise typer.BadParameter(f"{to} ends neither in .parquet nor in .arrow", param_hint=_TO)
    if format_ is not None:
        raise typer.BadParameter(f"--format {format_} is for printed rows: it cannot be used with --to")
    if jobs > 1:
        raise typer.BadParameter("--to writes one file: it cannot be used with --jobs")
    for file in files:
        with contextlib.suppress(OSError):
            if os.path.samefile(file, to):
                raise typer.BadParameter(f"{to} is one of the captures", param_hint=_TO)
    check_output(to, _TO, force=force)
    assert kind is not None
    if any(find_spec(name) is None for name in _NEEDED):
        print_error('--to needs numpy and pyarrow: pip install "msmq-wire[arrow]"')
        raise typer.Exit(1)
    return TableOutput(to, kind, force=force)


class _NotWritten(Exception):
    """Nothing could be read."""


class TableOutput:
    """Writes rows to a file while it is `opened`; the file is there when all of them are."""

    def __init__(self, path: str, format_: FileFormat, *, force: bool) -> None:
        self.format = format_
        self._path = path
        self._force = force
        self._batches: RowBatches | None = None
        self._file: TableFile | None = None

    @contextlib.contextmanager
    def opened(self, columns: Sequence[Column], reading: CaptureSet) -> Iterator[None]:
        """The file, for rows of these columns; it is not written where nothing of a reading could be read.

        Raises typer.Exit(1) after one line where it cannot be written.
        """
        # Loads pyarrow, which few need.
        from msmq_wire.tables.declared_rows import RowBatches
        from msmq_wire.tables.table_file import TableFile

        self._batches = RowBatches(columns)
        try:
            with contextlib.suppress(_NotWritten), whole_file(self._path, force=self._force) as file:
                with TableFile(file, self.format.value, self._batches.schema) as self._file:
                    yield
                    self._write(self._batches.rest())
                if reading.status and not reading.counts.frames:
                    raise _NotWritten
        except BrokenPipeError:
            raise
        except OSError as error:
            print_error(f"cannot write {self._path}: {error.strerror or error}")
            raise typer.Exit(1) from None

    def take(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows, each a value for each column."""
        assert self._batches is not None
        self._write(self._batches.add(rows))

    def described(self) -> str:
        """How many rows went where."""
        rows = 0 if self._file is None else self._file.rows
        return f"{count_text(rows, 'row')} written to {self._path}"

    def _write(self, batches: Iterator[Any]) -> None:
        assert self._file is not None
        for batch in batches:
            self._file.write(batch)
