"""Commands that judge say of a capture that is read by column what they say of it read frame by frame."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture import packet_batch, reader
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.records.record import Record
from tests.runs import FIXTURES

Run = Callable[..., Any]
_COMMANDS = (
    ("findings", "--format", "jsonl"),
    ("findings", "--format", "jsonl", "--filter", "severity >= low and length > 200"),
    ("findings", "--redact", "hosts,bodies", "--format", "csv"),
    ("findings", "--quiet", "--level", "low", "--fail-on", "high"),
    ("diagnose",),
    ("diagnose", "--redact", "labels", "--format", "jsonl"),
    ("diagnose", "--question", "18", "--format", "csv"),
    ("report", "-o", "-"),
    ("report", "-o", "-", "--redact", "hosts,bodies"),
    ("replay",),
)


@pytest.fixture
def by_column(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    def choose(columns: bool) -> None:
        monkeypatch.setattr(reader, "_WORTH_COLUMNS", 0 if columns else 1 << 40)
        monkeypatch.setattr(packet_batch, "_WORTH_COLUMNS", 1)
        monkeypatch.setattr(reader, "_CHUNK_SIZE", 2000)

    return choose


@pytest.fixture
def captures(tmp_path: Path) -> list[Path]:
    """Two captures and the beginning of a third, which ends inside a frame."""
    folder = FIXTURES / "captures"
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((folder / "demo.pcap").read_bytes()[:-9])
    return [folder / "clean_signed.pcap", FIXTURES / "findings" / "CNT-WEAK" / "hit_md5.pcap", cut]


@pytest.mark.parametrize("arguments", _COMMANDS, ids=" ".join)
def test_the_answer_is_the_same(
    arguments: tuple[str, ...],
    captures: list[Path],
    run: Run,
    by_column: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_column(False)
    expected = run(*arguments, *captures)
    assert "the file is cut inside a record" in expected[2]
    batches = 0
    batched = CaptureReader.batched

    def counted(self: CaptureReader) -> Any:
        nonlocal batches
        for item in batched(self):
            batches += not isinstance(item, Record)
            yield item

    monkeypatch.setattr(CaptureReader, "batched", counted)
    by_column(True)
    assert run(*arguments, *captures) == expected
    assert batches
