"""JSON lines of captures: what is written is what is viewed, record by record."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from msmq_wire import read_capture
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import CaptureError
from msmq_wire.records import json_lines
from msmq_wire.records.json_lines import record_line
from msmq_wire.records.record import Record
from msmq_wire.records.view import record_view
from msmq_wire.wire.registry import PACKETS
from tests.effort import in_batches

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURES = sorted(
    path for path in _FIXTURES.rglob("*.pcap*") if path.suffix not in (".json", ".toml", ".md")
)


def _records(path: Path) -> list[Record]:
    found: list[Record] = []
    with contextlib.suppress(CaptureError):
        found.extend(read_capture(str(path), streams=True))
    return found


@in_batches(_CAPTURES)
def test_the_line_of_a_record_is_that_of_its_view(path: Path) -> None:
    for record in _records(path):
        assert record_line(record) == json_line(record_view(record))


@in_batches(_CAPTURES)
def test_a_packet_that_is_whole_is_not_viewed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(record: Record) -> None:
        raise AssertionError(f"{record.type} was viewed")

    records = _records(path)
    monkeypatch.setattr(json_lines, "record_view", refuse)
    for record in records:
        if record.error is None and record.type in PACKETS:
            assert record_line(record).startswith(f'{{"id":{record.id},')
