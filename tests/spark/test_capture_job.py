"""The tables of a capture say what `read_capture`, `follow` and `judge` say of it, field by field."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire import read_capture
from msmq_wire.capture.listing import Capture, CaptureFile, captures_of, list_files
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.places import Place, place_of
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.detection import Finding, Judge
from msmq_wire.errors import CaptureError
from msmq_wire.records.join_keys import JoinKeys, join_keys
from msmq_wire.records.record import Record, is_step
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.sessions import Session, Story, budget, follow
from msmq_wire.spark import capture_job
from msmq_wire.spark.capture_job import CaptureTask, Entry, JobPlan, TaskResult, decode_captures
from msmq_wire.spark.key_options import negotiator_of
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.tables.message_columns import CALLS
from msmq_wire.tables.store.identity import content_of, head_of, source_row
from msmq_wire.tables.store.table_files import NO_DAY
from msmq_wire.tables.table_schemas import TABLES, table_schemas
from tests.effort import in_batches, remembered

pytestmark = pytest.mark.needs("pyspark")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = sorted(FIXTURES.rglob("*.pcap*"))
WRITTEN = tuple(table for table in TABLES if table != "packets")
DAY = 86_400_000_000_000

Tables = dict[str, list[dict[str, Any]]]


class Kept:
    """In place of a writer: keeps what is written."""

    tables: ClassVar[Tables] = {}

    def __init__(self, place: Place, tables: Sequence[str], run: str) -> None:
        self.rows: Counter[str] = Counter()
        self.files: list[Any] = []
        self._wanted = tables
        Kept.tables = {table: [] for table in tables}

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def wants(self, table: str) -> bool:
        return table in self._wanted

    def write(self, table: str, batch: Any) -> None:
        if table in self._wanted:
            assert batch.schema.equals(table_schemas()[table])
            place = batch.schema.get_field_index("time")
            batch = batch.set_column(place, "time", batch.column(place).cast(pa.int64()))
            self.rows[table] += len(batch)
            Kept.tables[table] += batch.to_pylist()


def plan_of(output: Path | str = "nowhere", tables: Sequence[str] = WRITTEN, **options: Any) -> JobPlan:
    asked = ReadOptions(streams=True, **options)
    return JobPlan(place=place_of(str(output)), options=asked, tables=tuple(tables), run="run", key="key")


def capture_at(path: Path) -> Capture:
    (capture,) = captures_of(list_files([str(path)]).files, "file")
    return capture


def todo_of(capture: Capture) -> CaptureTask:
    """A capture at which nobody looked yet, but at its files' first bytes."""
    nobody = (None,) * len(capture.files)
    return CaptureTask(capture=capture, heads=tuple(map(head_of, capture.files)), contents=nobody)


def decoded(path: Path | Capture, plan: JobPlan) -> TaskResult:
    """What a task does for one capture."""
    return decode_captures([todo_of(capture_at(path) if isinstance(path, Path) else path)], plan)


def kept(path: Path | Capture, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Tables, Entry]:
    """The rows of a capture by table, and its entry."""
    monkeypatch.setattr(capture_job, "TableWriter", Kept)
    (entry,) = decoded(path, plan_of(**options)).entries
    return Kept.tables, entry


def sources_of(path: Path) -> tuple[dict[str, Any], ...]:
    """What an entry says of the file of a capture that could be read."""
    (file,) = capture_at(path).files
    content = content_of(file)
    assert content is not None
    return (source_row(str(path), file, head_of(file), content),)


@remembered
def records_of(path: Path) -> tuple[Record, ...]:
    """The records of a capture; what is no capture gives the one that says so."""
    try:
        # Without keys, it tells whom clients say they are.
        return tuple(read_capture(path, streams=True, negotiator=negotiator_of(ReadOptions())))
    except CaptureError as error:
        return (Record(id=1, type="error", capture=str(path), reason=error.message, offset=error.offset),)


def judged(records: Sequence[Record], **bounds: Any) -> tuple[list[Finding], Judge]:
    judging = Judge(**bounds)
    found = [one for record in records for one in judging.feed(record)]
    return found + judging.finish(), judging


def cell(value: Any) -> Any:
    """A value as a table shows it."""
    if isinstance(value, msgspec.Struct):
        text = getattr(value, "text", None)
        if isinstance(text, str):
            return text
        return {name: cell(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple):
        if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], msgspec.Struct):
            return {"_1": value[0], "_2": cell(value[1])}
        return [cell(one) for one in value]
    if isinstance(value, bytes) and type(value) is not bytes:
        return str(value)
    return value


def row_of(value: Any, capture: str, time: int | None, kind: Any) -> dict[str, Any]:
    row = {"capture": capture, "time": None if time is None else time // 1000}
    row |= {name: cell(getattr(value, name)) for name in value.__struct_fields__ if name != "capture"}
    for one in kind:
        # What is a number or a text stands as a text.
        if pa.types.is_string(one.type) and row.get(one.name) is not None:
            row[one.name] = str(row[one.name])
    return row


def as_text(value: Any) -> Any:
    """Numbers inside as texts: a column that holds both shows texts."""
    if isinstance(value, dict):
        return {name: as_text(one) for name, one in value.items()}
    if isinstance(value, list):
        return [as_text(one) for one in value]
    return value if value is None or isinstance(value, bytes) else str(value)


def story_rows(values: Any, capture: str, table: str) -> list[dict[str, Any]]:
    schema = table_schemas()[table]
    return [row_of(one, capture, None if one.first is None else one.first.time, schema) for one in values]


def finding_row(one: Finding, capture: str) -> dict[str, Any]:
    first = one.evidence[0] if one.evidence else None
    row = cell(one)
    row["rule"], row["group"] = row.pop("id"), one.group
    row["spec"] = one.spec.split(", ") if one.spec else []
    del row["cause"], row["first"], row["answered"]
    for place, evidence in zip(row["evidence"], one.evidence, strict=True):
        place["data"] = bytes(evidence.data)
    row |= {"capture": capture, "src": None, "dst": None, "time": None, **JoinKeys()._asdict()}
    if first is not None:
        time = None if first.time is None else first.time // 1000
        keys = join_keys(first.src, first.dst, udp=first.transport == "udp")
        row |= {"src": first.src, "dst": first.dst, "time": time, **keys._asdict()}
    found: dict[str, Any] = row
    return found


def seen(record: Record) -> tuple[Any, ...]:
    return record.id, record.type, record.time, record.src, record.dst, record.stream


def seen_in(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("record", "type", "time_ns", "src", "dst", "stream"))


def expected_errors(records: Sequence[Record]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for one in records:
        if one.error is not None:
            error = one.error
            found[*seen(one), error.code, error.message, error.path, error.offset, one.missing] += 1
        elif one.type == "gap":
            found[*seen(one), one.reason, None, None, one.offset, one.missing] += 1
        elif one.type == "error":
            found[*seen(one), "capture", one.reason, "", one.offset, None] += 1
    return found


@pytest.mark.slow
@in_batches(CAPTURES)
def test_tables_say_what_is_said_of_the_records(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records, name = records_of(path), str(path)
    tables, entry = kept(path, monkeypatch, chunk_bytes=3000)
    story: Story = follow(records)
    findings, judging = judged(records)

    assert as_text(tables["sessions"]) == as_text(story_rows(story.sessions, name, "sessions"))
    assert as_text(tables["lives"]) == as_text(story_rows(story.lives, name, "lives"))
    assert as_text(tables["findings"]) == [as_text(finding_row(one, name)) for one in findings]
    assert entry.more == dict(judging.more)

    anomalies = Counter(
        (*seen(one), odd.code, odd.message, odd.path, odd.offset, odd.length, str(odd.spec))
        for one in records
        for odd in one.anomalies
    )
    what = ("code", "message", "field", "offset", "length", "spec")
    assert Counter((*seen_in(row), *(row[key] for key in what)) for row in tables["anomalies"]) == anomalies
    reported = ("code", "message", "field", "offset", "missing")
    assert Counter(
        (*seen_in(row), *(row[key] for key in reported)) for row in tables["errors"]
    ) == expected_errors(records)
    ids = [one.id for one in records if one.type not in (*CALLS, "error") and not is_step(one)]
    assert sorted(row["id"] for row in tables["messages"]) == ids
    assert sorted(row["id"] for row in tables["calls"]) == [one.id for one in records if one.type in CALLS]
    assert all(row["capture"] == name for rows in tables.values() for row in rows)


@pytest.mark.check
@in_batches(CAPTURES)
def test_an_entry_counts_what_the_summary_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, entry = kept(path, monkeypatch)
    assert (entry.capture, entry.options, entry.run) == (str(path), "key", "run")
    assert entry.tables == WRITTEN
    with CaptureReader(path, negotiator=negotiator_of(ReadOptions())) as reader:
        records, reason = [], None
        try:
            records = list(reader)
        except CaptureError as error:
            reason = error.message
    if reason is not None:
        assert entry.damage == (f"{path}: {reason}",)
        return
    summary = reader.summary
    assert entry.sources == sources_of(path)
    assert (entry.digest, entry.length) == (entry.sources[0]["digest"], entry.sources[0]["length"])
    assert (entry.frames, entry.understood) == (summary.frames, summary.understood)
    assert (entry.skipped, entry.notices) == (summary.skipped, summary.notices)
    damage = [f"{path}: {one.reason}" for one in records if one.type == "error"]
    assert list(entry.damage) == damage


@pytest.mark.slow
def test_damage_is_told_once_with_its_file_and_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes((FIXTURES / "captures" / "demo.pcap").read_bytes()[:-3])
    with pytest.raises(CaptureError) as error:
        list(read_frames(path))
    tables, entry = kept(path, monkeypatch)
    rows = [row for row in tables["errors"] if row["type"] == "error"]
    assert [(row["path"], row["offset"], row["message"]) for row in rows] == [
        (str(path), error.value.offset, error.value.message)
    ]
    assert rows[0]["frame_no"] is None
    assert tables["messages"]
    # What is wrong with its bytes is wrong with them every time.
    assert entry.sources == sources_of(path)


def test_a_file_that_went_away_is_read_again_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gone.pcap"
    path.write_bytes((FIXTURES / "captures" / "demo.pcap").read_bytes())
    capture = capture_at(path)
    path.unlink()
    tables, entry = kept(capture, monkeypatch)
    reason = f"cannot open {path}: No such file or directory"
    assert entry.damage == (f"{path}: {reason}",)
    assert (entry.sources, entry.digest) == ((), None)
    (row,) = tables["errors"]
    assert (row["path"], row["message"], row["time"]) == (str(path), reason, None)


def test_a_file_that_could_not_be_listed_gives_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    file = CaptureFile(path="/x.pcap", size=0, mtime_ns=0, error="cannot open /x.pcap: Permission denied")
    tables, entry = kept(Capture(name="/x.pcap", files=(file,)), monkeypatch)
    assert (entry.sources, entry.digest, entry.files) == ((), None, 1)
    (row,) = tables["errors"]
    assert (row["path"], row["message"]) == ("/x.pcap", file.error)


@pytest.mark.slow
def test_a_file_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grows.pcap"
    data = (FIXTURES / "captures" / "demo.pcap").read_bytes()
    path.write_bytes(data[:1000])
    capture = capture_at(path)
    path.write_bytes(data)
    _, entry = kept(capture, monkeypatch)
    assert (entry.sources, entry.digest) == ((), None)


@pytest.mark.slow
@pytest.mark.parametrize("followed", [1, 2, 5])
def test_messages_that_go_before_the_end_have_a_life_like_the_others(
    followed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FIXTURES / "captures" / "clean_business_day.pcap"
    records = records_of(path)
    left: list[Any] = []
    findings, judging = judged(records, messages=followed, leave=left.append)
    assert left
    assert judging.story is not None
    monkeypatch.setattr(capture_job, "_TOGETHER", 3)
    tables, _ = kept(path, monkeypatch, followed=followed)
    lives = [*left, *judging.story.lives]
    assert as_text(tables["lives"]) == as_text(story_rows(lives, str(path), "lives"))
    assert [row["rule"] for row in tables["findings"]] == [one.id for one in findings]


@pytest.mark.slow
def test_sessions_that_go_before_the_end_have_a_row_like_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    path = FIXTURES / "captures" / "clean_business_day.pcap"
    whole, _ = kept(path, monkeypatch)
    monkeypatch.setattr(budget, "BUDGET", 4000)
    left: list[Any] = []
    findings, judging = judged(records_of(path), leave=left.append)
    assert judging.story is not None
    gone = [one for one in left if isinstance(one, Session)]
    assert gone
    tables, entry = kept(path, monkeypatch)
    sessions = [*gone, *judging.story.sessions]
    assert as_text(tables["sessions"]) == as_text(story_rows(sessions, str(path), "sessions"))
    assert len(tables["sessions"]) >= len(whole["sessions"])
    assert [row["rule"] for row in tables["findings"]] == [one.id for one in findings]
    assert "sessions" not in entry.more


@pytest.mark.slow
def test_findings_are_not_held_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    path = FIXTURES / "captures" / "structures.pcapng"
    count = len(judged(records_of(path))[0])
    assert count > 4
    monkeypatch.setattr(capture_job, "_TOGETHER", 2)
    most = []

    class Watched(capture_job.TaskRows):
        def tell(self, table: str, capture: str, values: Any) -> None:
            super().tell(table, capture, values)
            most.append(len(self._told["findings"]))

    monkeypatch.setattr(capture_job, "TaskRows", Watched)
    tables, _ = kept(path, monkeypatch, chunk_bytes=300)
    assert len(most) > 2
    assert len(tables["findings"]) == count
    assert max(most) < 2


@pytest.mark.slow
def test_only_the_tables_that_are_wanted_are_written(tmp_path: Path) -> None:
    for wanted in (("messages",), ("lives", "errors"), ("packets",)):
        done = decoded(FIXTURES / "captures" / "demo.pcap", plan_of(tmp_path, wanted))
        (entry,) = done.entries
        assert {file.table for file in done.files} <= set(wanted)
        assert set(entry.rows) == {file.table for file in done.files}
        assert entry.tables == wanted


@pytest.mark.slow
def test_captures_of_a_task_share_files_and_say_each_what_it_gave(tmp_path: Path) -> None:
    names = ("clean_ipv6.pcap", "clean_expired.pcap", "path_cut_file.pcap")
    paths = [FIXTURES / "captures" / name for name in names]
    plan = plan_of(tmp_path, TABLES)
    together = decode_captures([todo_of(capture_at(path)) for path in paths], plan)
    alone = [decoded(path, plan).entries[0] for path in paths]
    assert together.entries == alone
    kinds = Counter((file.table, file.day) for file in together.files)
    assert set(kinds.values()) == {1}
    for file in together.files:
        names = pq.ParquetFile(tmp_path / file.table / file.path).read(["capture"])["capture"].to_pylist()
        said = json.loads(file.statistics)
        bounds = (said["minValues"]["capture"], said["maxValues"]["capture"])
        assert (*bounds, file.rows, said["numRecords"]) == (min(names), max(names), len(names), len(names))
    rows = Counter[str]()
    for entry in alone:
        rows.update(entry.rows)
    assert rows == Counter({table: sum(f.rows for f in together.files if f.table == table) for table in rows})


def midnight(folder: Path, times: Sequence[int]) -> Path:
    """The demo with other times."""
    frames = list(read_frames(FIXTURES / "captures" / "demo.pcap"))
    path = folder / "midnight.pcap"
    moved = [
        Frame(frame.number, time, frame.link_type, frame.data, frame.length, 0)
        for frame, time in zip(frames, times, strict=True)
    ]
    write_pcap(path, moved)
    return path


@pytest.mark.slow
def test_a_capture_over_midnight_is_in_both_days(tmp_path: Path) -> None:
    count = len(list(read_frames(FIXTURES / "captures" / "demo.pcap")))
    start = 20_484 * DAY - count // 2 * 1_000_000
    path = midnight(tmp_path, [start + number * 1_000_000 for number in range(count)])
    output = tmp_path / "tables"
    done = decoded(path, plan_of(output))
    (entry,) = done.entries
    assert {file.day for file in done.files} == {"2026-01-30", "2026-01-31"}
    rows = 0
    for file in done.files:
        assert re.fullmatch(rf"day={file.day}/part-[0-9a-f]{{32}}\.parquet", file.path)
        table = pq.ParquetFile(output / file.table / file.path).read()
        rows += len(table)
        assert {str(time.date()) for time in table["time"].to_pylist()} == {file.day}
    assert rows == sum(entry.rows.values()) == sum(file.rows for file in done.files)
    records = records_of(path)
    assert entry.rows["messages"] == sum(one.type not in (*CALLS, "tcp_stream", "error") for one in records)


@pytest.mark.slow
def test_a_capture_without_times_has_rows_without_a_day(tmp_path: Path) -> None:
    demo = FIXTURES / "captures" / "demo.pcap"
    count = len(list(read_frames(demo)))
    done = decoded(midnight(tmp_path, [0] * count), plan_of(tmp_path / "tables"))
    assert {(file.day, file.path.partition("/")[0]) for file in done.files} == {(None, f"day={NO_DAY}")}
    (with_times,) = decoded(demo, plan_of(tmp_path / "tables")).entries
    assert done.entries[0].rows["messages"] == with_times.rows["messages"]
    assert done.entries[0].rows["lives"] == with_times.rows["lives"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with space.pcap", "day=1.pcap", "ünï.pcap", "#1.pcap", "100%.pcap"])
def test_a_capture_may_have_any_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((FIXTURES / "captures" / "demo.pcap").read_bytes())
    for file in decoded(path, plan_of(tmp_path / "tables")).files:
        table = pq.ParquetFile(tmp_path / "tables" / file.table / file.path).read()
        assert set(table["capture"].to_pylist()) == {str(path)}


@pytest.mark.slow
def test_calls_are_there_with_what_they_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    path = FIXTURES / "rpc_captures" / "rpc_sections.pcap"
    tables, _ = kept(path, monkeypatch)
    methods = [one.packet.method for one in records_of(path) if isinstance(one.packet, RpcCall)]
    assert [row["method"] for row in tables["calls"] if row["type"] == "rpc_call"] == methods
    assert methods
