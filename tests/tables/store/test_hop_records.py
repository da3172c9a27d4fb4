"""The records of hops in a table of messages: what a row must have, and what is said of broken tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fixtures.build_frames import pcap
from fixtures.build_routed_scenes import Hop, scene
from msmq_wire.errors import CaptureError
from msmq_wire.routing import audit
from msmq_wire.routing.topology_file import parse_topology
from msmq_wire.tables.store.hop_records import record_of, table_records
from msmq_wire.tables.store.store import Change, Store
from tests.spark.test_capture_job import decoded, plan_of

pytestmark = pytest.mark.needs("pyspark")

_EXAMPLE = Path(__file__).resolve().parents[3] / "fixtures" / "routing" / "example.toml"


def _row(**values: Any) -> dict[str, Any]:
    guid = "ca9fcc15-f6c5-4ad6-b7be-a5637d8d0a8a"
    names = ("frames", "time_ns", "src", "dst", "stream", "client_guid", "server_guid")
    plain = {"capture": "c", "id": 1, "type": "user_message", "number": 7, "flags": 3 << 10}
    guids = {"source_queue_manager": guid, "queue_manager_address": guid}
    return dict.fromkeys(names) | plain | guids | values


def test_a_row_that_ends_early_or_lies_is_no_hop() -> None:
    topology = parse_topology(_EXAMPLE.read_bytes())
    assert len(list(audit([record_of(_row())], topology))) == 1
    for broken in (
        {"flags": None},
        {"number": None},
        {"source_queue_manager": None},
        {"queue_manager_address": "AAAA"},
    ):
        assert list(audit([record_of(_row(**broken))], topology)) == []
    ends = {"type": "establish_connection", "client_guid": "no guid", "src": "a:1", "dst": "b:2"}
    assert list(audit([record_of(_row(**ends))], topology)) == []


def test_a_folder_without_tables_is_refused_with_what_would_make_them(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 but no more")
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(CaptureError, match="holds no tables: msmq-wire spark run --output"):
            list(table_records(str(folder)))
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.slow
def test_a_file_that_is_gone_or_damaged_is_told_in_one_line(tmp_path: Path) -> None:
    output = tmp_path / "tables"
    capture = tmp_path / "whole.pcap"
    hops = [
        Hop("A-CLIENT1", "A-ROUTER", "A-CLIENT1", "C-CLIENT1", 1),
        Hop("A-ROUTER", "A-GATE", "A-CLIENT1", "C-CLIENT1", 1, 1),
    ]
    capture.write_bytes(pcap(scene(*hops).frames))
    done = decoded(capture, plan_of(output, ("messages",)))
    store = Store(str(output))
    store.make()
    rows = [entry.row() for entry in done.entries]
    store.publish(Change(run=rows[0]["run"], number=1, files=done.files, captures=rows))
    assert len(list(table_records(str(output)))) >= 2
    (path,) = output.glob("messages/day=*/*.parquet")
    for damage in (lambda: path.write_bytes(b"PAR1 but no more"), path.unlink):
        damage()
        with pytest.raises(CaptureError, match="cannot read the tables in") as refused:
            list(table_records(str(output)))
        assert "\n" not in refused.value.message
