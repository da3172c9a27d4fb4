"""Narrow rows are the whole rows, narrowed: by column, and by what filters keep."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from msmq_wire.capture.tables import tables_of
from msmq_wire.spark.row_filter import FilteredReader
from msmq_wire.spark.sources import MsmqCalls, MsmqCarved, MsmqMessages, MsmqPackets
from tests.effort import in_batches, remembered, share

pytestmark = pytest.mark.needs("pyspark")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = sorted(FIXTURES.glob("**/*.pcap*"))
SOURCES = [MsmqPackets, MsmqMessages, MsmqCalls]
RICH = [
    "captures/demo.pcap",
    "captures/clean_srmp.pcap",
    "rpc_captures/rpc_sections.pcap",
    "captures/path_ipv6.pcap",
]

Rows = list[dict[str, Any]]


def rows_of(source: Any, path: Path, filters: Iterable[Filter] = (), **options: str) -> Rows:
    """The rows of a capture; all batches have the columns that the source says."""
    made = source({"path": str(path), **options})
    plain = made.reader(made.schema())
    reader = FilteredReader(plain, made.table())
    filters = list(filters)
    assert list(reader.pushFilters(filters)) == []
    found: Rows = []
    for task in reader.partitions():
        for rows in reader.read(task):
            assert rows.schema.names == made.schema().names
            found += rows.to_pylist()
    return found


@pytest.mark.parametrize("source", [*SOURCES, MsmqCarved])
def test_captures_that_a_filter_leaves_out_are_not_planned(source: Any, tmp_path: Path) -> None:
    names = ["a.pcap", "b.pcap", "it's %_ \u2028.pcap"]
    for name in names:
        (tmp_path / name).write_bytes((FIXTURES / RICH[0]).read_bytes())
    made = source({"path": str(tmp_path)})
    for one in (EqualTo(("capture",), str(tmp_path / names[2])), StringEndsWith(("capture",), "28.pcap")):
        reader = FilteredReader(made.reader(made.schema()), made.table())
        assert list(reader.pushFilters([one, IsNotNull(("type" if source != MsmqPackets else "src",))])) == []
        kept = [path for task in reader.partitions() for path in map(_path_of, task.value)]
        assert kept == ([str(tmp_path / names[2])] if isinstance(one, EqualTo) else [])


def _path_of(item: Any) -> str:
    return str(getattr(item, "name", None) or getattr(item, "path", None) or item.file.path)


@remembered
def whole_rows(name: str, path: Path) -> Rows:
    """All columns of all rows."""
    return rows_of(next(one for one in SOURCES if name == one.NAME), path)


def in_order(rows: Rows, names: Iterable[str]) -> list[str]:
    """Some columns of rows, in an order that rows without an id have, too."""
    names = list(names)
    return sorted(repr([row[name] for name in names]) for row in rows)


def keeps(one: Filter, row: dict[str, Any]) -> bool | None:
    """Whether SQL keeps a row: null is neither."""
    if isinstance(one, Not):
        kept = keeps(one.child, row)
        return None if kept is None else not kept
    value: Any = row
    for name in one.attribute:  # type: ignore[attr-defined]  # all others have one
        value = None if value is None else value[name]
    if isinstance(one, IsNull | IsNotNull):
        return (value is None) == isinstance(one, IsNull)
    if value is None:
        return False if isinstance(one, EqualNullSafe) else None
    wanted = one.value  # type: ignore[attr-defined]  # as above
    if isinstance(value, str) and isinstance(wanted, str):
        value, wanted = value.encode(), wanted.encode()
    match one:
        case EqualTo() | EqualNullSafe():
            return bool(value == wanted)
        case GreaterThan():
            return bool(value > wanted)
        case GreaterThanOrEqual():
            return bool(value >= wanted)
        case LessThan():
            return bool(value < wanted)
        case LessThanOrEqual():
            return bool(value <= wanted)
        case In():
            return value in wanted
        case StringStartsWith():
            return bool(value.startswith(wanted))
        case StringEndsWith():
            return bool(value.endswith(wanted))
    assert isinstance(one, StringContains)
    return wanted in value


def drawn_filter(drawn: random.Random, schema: Any, rows: Rows) -> Filter:
    """A filter that a query over these rows may have; mostly with a value that there is."""
    paths: list[Any] = [
        (one.name,) for one in schema if str(one.type) in ("string", "int64", "bool") or one.name == "time"
    ]
    paths += [
        (one.name, "flags") for one in schema if pa.types.is_struct(one.type) and "flags" in _names(one.type)
    ]
    path = drawn.choice(paths)
    values = [row[path[0]] if len(path) == 1 else (row[path[0]] or {}).get(path[1]) for row in rows]
    known = [value for value in values if value is not None]
    value = drawn.choice(known) if known else None
    if value is None:
        return drawn.choice([IsNull, IsNotNull])(path)
    if isinstance(value, str) and drawn.random() < 0.3:
        return drawn.choice([StringStartsWith, StringEndsWith, StringContains])(path, value[1:3])
    made: Filter
    if drawn.random() < 0.2:
        made = In(path, (value, drawn.choice(known)))
    else:
        kinds = [EqualTo, EqualNullSafe, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual]
        made = drawn.choice(kinds)(path, value)
    return Not(made) if drawn.random() < 0.3 else made


def _names(kind: Any) -> list[str]:
    return [one.name for one in kind]


@pytest.mark.slow
@in_batches(CAPTURES, every=27)
def test_narrow_rows_are_the_whole_ones_without_the_rest(path: Path) -> None:
    drawn = random.Random(path.name)
    for source in SOURCES:
        names = source.table().names
        whole = whole_rows(source.NAME, path)
        for size in (1, 3):
            asked = set(drawn.sample(names, size))
            narrow = rows_of(source, path, columns=",".join(asked))
            assert in_order(narrow, sorted(asked)) == in_order(whole, sorted(asked))


@pytest.mark.slow
@pytest.mark.parametrize(("source", "name"), share([*itertools.product(SOURCES, RICH)], 5))
def test_every_column_can_be_asked_for_alone(source: Any, name: str) -> None:
    whole = whole_rows(source.NAME, FIXTURES / name)
    for column in source.table().names:
        narrow = rows_of(source, FIXTURES / name, columns=column)
        assert in_order(narrow, [column]) == in_order(whole, [column]), column


@pytest.mark.slow
@in_batches(CAPTURES, every=27)
def test_filters_keep_the_rows_that_where_keeps(path: Path) -> None:
    drawn = random.Random(path.name)
    for source in SOURCES:
        whole = whole_rows(source.NAME, path)
        for number in (1, 2):
            filters = [drawn_filter(drawn, source.table(), whole) for _ in range(number)]
            kept = [row for row in whole if all(keeps(one, row) for one in filters)]
            names = source.table().names
            assert in_order(rows_of(source, path, filters), names) == in_order(kept, names), filters
            asked = {_column(one) for one in filters} | set(drawn.sample(names, drawn.randrange(3)))
            narrow = rows_of(source, path, filters, columns=",".join(asked))
            assert in_order(narrow, sorted(asked)) == in_order(kept, sorted(asked)), filters


def _column(one: Filter) -> str:
    name: str = _column(one.child) if isinstance(one, Not) else one.attribute[0]  # type: ignore[attr-defined]  # all others have one
    return name


def test_rows_of_files_that_cannot_be_read_are_filtered_too(tmp_path: Path) -> None:
    text = tmp_path / "text.pcap"
    text.write_text("no capture")
    for source in (MsmqPackets, MsmqMessages):
        assert rows_of(source, text, columns="path") == [{"path": str(text)}]
        assert rows_of(source, text, [IsNull(("path",))], columns="path") == []


@pytest.mark.slow
def test_calls_that_are_kept_have_the_messages_that_they_carried() -> None:
    path = FIXTURES / "rpc_captures" / "rpc_sections.pcap"
    whole = [row for row in whole_rows("msmq-calls", path) if row["messages"]]
    assert whole
    for row in whole:
        [kept] = rows_of(MsmqCalls, path, [EqualTo(("id",), row["id"])])
        assert kept == row


@pytest.mark.slow
def test_nothing_is_decoded_for_places(monkeypatch: pytest.MonkeyPatch) -> None:
    path = FIXTURES / "captures" / "demo.pcap"
    whole = whole_rows("msmq-messages", path)

    def decode(*_: object, **__: object) -> None:
        raise AssertionError("a packet is decoded")

    monkeypatch.setattr("msmq_wire.engines.columns.decode", decode)
    columns = "capture,path,frame_no,id,parent,frames,time,time_ns,src,dst,stream,offset,length"
    assert in_order(rows_of(MsmqMessages, path, columns=columns), columns.split(",")) == in_order(
        whole, columns.split(",")
    )
    with pytest.raises(AssertionError, match="a packet is decoded"):
        rows_of(MsmqMessages, path, columns="type")


@pytest.mark.slow
def test_what_a_filter_leaves_out_is_not_made_in_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    path = FIXTURES / "captures" / "demo.pcap"
    made: list[int] = []

    def counted(batch: Any, **options: Any) -> Any:
        made.append(len(batch))
        return tables_of(batch, **options)

    monkeypatch.setattr("msmq_wire.tables.message_columns.tables_of", counted)
    [row, *_] = [row for row in whole_rows("msmq-messages", path) if row["label"]]
    made.clear()
    kept = rows_of(MsmqMessages, path, [EqualTo(("id",), row["id"])])
    assert (kept, made) == ([row], [1])
