"""What a report counts while records pass, and that a batch counts as its records do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture import packet_batch
from msmq_wire.capture.batch_builder import batch_of
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.engines.codec import encode
from msmq_wire.engines.message_builder import build_message
from msmq_wire.markup import script_json
from msmq_wire.records.record import FoundPacket, Record
from msmq_wire.report import totals
from msmq_wire.report.buckets import TimeBuckets
from msmq_wire.report.totals import Totals
from tests.hex_files import hex_bytes
from tests.report.pages import START


def test_a_gap_without_a_missing_byte_is_none_and_one_of_unknown_size_is_one() -> None:
    totals = Totals()
    for number, missing in enumerate((0, 1, None, 77)):
        totals.feed(Record(id=number, type="gap", time=START, stream=0, missing=missing))
    assert [gap.missing for gap in totals.gaps] == [1, None, 77]
    assert totals.missing == 78
    assert [lane.gaps.total for lane in totals.lanes.values()] == [3]


_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


_PACKETS = [hex_bytes(file) for file in sorted((_FIXTURES / "packets").glob("*/*.hex"))]
_PACKETS += [
    encode(build_message(r"DIRECT=OS:h\q", b"<a/>", label="\u202e=", response_queue=r"DIRECT=OS:h\r")),
    encode(build_message("PUBLIC=a1d30c5b-247e-4f45-9a31-c5d20e6f7788", b"", priority=7)),
]


def _batch(numbers: list[int]) -> PacketBatch:
    """Packets and gaps in any order, from a few ends, over a few connections, some without a time."""
    found: list[Any] = []
    for id_, number in enumerate(numbers, start=1):
        stream = None if number % 11 == 0 else number % 3
        time = START + (number % 7) * 1_234_567_891 if number % 13 else None
        ends = f"192.0.2.{number % 4}:1025", f"192.0.2.{number % 5}:1801"
        if number % 17 == 0:
            gap = Record(
                id=id_,
                type="gap",
                reason="loss",
                missing=number % 2,
                time=time,
                stream=stream,
                capture="a.pcap",
                src=ends[0],
                dst=ends[1],
            )
            found.append(gap)
        else:
            data = _PACKETS[number % len(_PACKETS)]
            found.append(FoundPacket(id_, "a.pcap", data, (id_,), time or 0, *ends, stream, 10 * id_))
    return batch_of("a.pcap", found)


def _state(totals: Totals) -> dict[str, Any]:
    """All that is kept, in its order."""

    def buckets(one: TimeBuckets) -> Any:
        return one.width, one.total, list(one.items())

    kept = {
        name: value for name, value in vars(totals).items() if name not in ("rate", "lanes", "edges", "maker")
    }
    return kept | {
        "rate": buckets(totals.rate),
        "edges": [(ends, one.messages, one.bytes) for ends, one in totals.edges.items()],
        "lanes": [
            (
                key,
                [(src, buckets(sent)) for src, sent in one.sent.items()],
                buckets(one.acks),
                buckets(one.gaps),
            )
            for key, one in totals.lanes.items()
        ],
    }


@pytest.mark.slow
@given(st.lists(st.integers(0, 500), min_size=1, max_size=60), st.integers(0, 40))
def test_a_batch_is_counted_as_its_records_are(numbers: list[int], rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packet_batch, "_WORTH_COLUMNS", 0)
        patch.setattr(totals, "_MOST_LANES", 2)
        patch.setattr(totals, "_MOST_EDGES", 9)
        patch.setattr(totals, "_MOST_ROW_TEXT", 9_000)
        together, apart = Totals(rows=rows), Totals(rows=rows)
        for part in (numbers, numbers[::-1]):
            batch = _batch(part)
            together.take(batch)
            for record in batch.records():
                apart.feed(record)
        assert _state(together) == _state(apart)


def test_whole_messages_of_a_batch_are_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_batch, "_WORTH_COLUMNS", 0)
    monkeypatch.setattr(PacketBatch, "record", None)
    data = encode(build_message(r"DIRECT=OS:h\q", b"<a/>"))
    made = Totals()
    made.take(batch_of("a.pcap", [FoundPacket(1, "a.pcap", data, (1,), START, "a:1", "b:1801", 0, 0)]))
    assert [(row.queue, row.preview) for row in made.rows] == [(r"DIRECT=OS:h\q", "<a/>")]


def test_the_room_that_a_text_takes_is_that_of_its_json() -> None:
    for text in ("", "a b", *map(chr, range(0x120)), "\U0001f600"):
        assert totals._length(text) == len(script_json(text))
