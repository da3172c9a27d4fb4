"""What is used of pyarrow objects, for type checkers: pyarrow has no types of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # its types are in pandas-stubs


class ArrowField(Protocol):
    """A column: a ``pyarrow.Field``."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def type(self) -> object:
        """Its type, a ``pyarrow.DataType``."""

    @property
    def nullable(self) -> bool:
        """Whether it may be null."""

    @property
    def metadata(self) -> Mapping[bytes, bytes] | None:
        """What else is known of it."""


class ArrowSchema(Protocol):
    """The columns of a table: a ``pyarrow.Schema``."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    @property
    def metadata(self) -> Mapping[bytes, bytes] | None:
        """What else is known of the table."""

    def field(self, name: str | int, /) -> ArrowField:
        """The column of a name or a number."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[ArrowField]: ...

    def __arrow_c_schema__(self) -> object: ...


class ArrowRows(Protocol):
    """Some rows, or all: a ``pyarrow.RecordBatch`` or a ``pyarrow.Table``."""

    @property
    def schema(self) -> ArrowSchema:
        """The columns."""

    @property
    def num_rows(self) -> int:
        """How many there are."""

    def to_pylist(self) -> list[dict[str, object]]:
        """Each row by the names of its columns."""


class ArrowReader(Protocol):
    """The rows of a table, some at a time: a ``pyarrow.RecordBatchReader``."""

    @property
    def schema(self) -> ArrowSchema:
        """The columns."""

    def read_next_batch(self) -> ArrowRows:
        """The next rows, as a ``pyarrow.RecordBatch``. Raises StopIteration at the end."""

    def read_all(self) -> ArrowRows:
        """All rows that are left, as a ``pyarrow.Table``."""

    def read_pandas(self) -> pd.DataFrame:
        """All rows that are left, as a pandas.DataFrame."""

    def close(self) -> None:
        """Read no more."""

    def __iter__(self) -> Iterator[ArrowRows]: ...

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
