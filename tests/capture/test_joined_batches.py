"""Parts of several captures as one batch give the rows that each gives alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.joined_batches import joined
from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.capture.numbering import Numbering
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.tables.call_columns import call_batches
from msmq_wire.tables.message_columns import batches_of

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
SMALL, LARGE = 2000, 1 << 23

Part = tuple[PacketBatch, Numbering]


def parts_of(paths: Sequence[Path], chunk_bytes: int, scope: Literal["file", "group"]) -> list[Part]:
    found: list[Part] = []
    for capture in captures_of(list_files(list(map(str, paths))).files, scope):
        reading = CaptureReading(capture, chunk_bytes=chunk_bytes, streams=True)
        found += [(batch, reading.numbering) for batch in reading]
    return found


def rows_of(parts: Iterable[Part]) -> list[str]:
    """The rows of messages and calls, whatever their order."""
    found: list[dict[str, Any]] = []
    for batch, numbering in parts:
        for rows in (*batches_of(batch, numbering).values(), *call_batches(batch, numbering)):
            rows.validate()
            found += rows.drop_columns(["time"]).to_pylist()
    return sorted(map(repr, found))


@pytest.mark.parametrize("scope", ["file", "group"])
@pytest.mark.parametrize(
    ("pattern", "chunk_bytes"),
    # Calls and what they carried, HTTP, damage, gaps, and captures in many parts.
    [("lab_*.pcap", LARGE), ("path_*.pcap*", LARGE), ("lab_s*.pcap", SMALL), ("clean_r*.pcap", SMALL)],
)
def test_rows_are_those_of_each_part(pattern: str, chunk_bytes: int, scope: Literal["file", "group"]) -> None:
    parts = parts_of(sorted(FIXTURES.glob(pattern)), chunk_bytes, scope)
    assert len(parts) > 2
    expected = rows_of(parts)
    assert expected
    assert rows_of([joined(parts)]) == expected


def test_one_part_stays_as_it_is() -> None:
    (part, *_) = parts_of([FIXTURES / "demo.pcap"], LARGE, "file")
    assert joined([part]) is part
