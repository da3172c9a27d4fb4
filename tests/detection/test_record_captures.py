"""What is told of records that are gone names their capture."""

from __future__ import annotations

from pathlib import Path

from msmq_wire import read_capture
from msmq_wire.detection import Evidence, judge
from msmq_wire.detection.record_captures import Sources

_FINDINGS = Path(__file__).resolve().parents[2] / "fixtures" / "findings"


def test_a_place_gets_the_capture_of_its_record() -> None:
    sources = Sources()
    for record, capture in ((1, "a"), (2, "a"), (7, "b"), (8, "b")):
        sources.add(record, capture)
    places = [Evidence(record=number) for number in (1, 6, 7, 9, 0)]
    assert [one.capture for one in sources.named(places)] == ["a", "a", "b", "b", ""]
    known = (Evidence(capture="c", record=1), Evidence())
    assert sources.named(known) == known


def test_a_call_without_an_end_and_a_ping_without_an_answer_name_their_file() -> None:
    for name in ("RPC-PENDING/hit_closed", "PNG-NOANS/hit_silence", "RPC-AGAIN/hit_put_back"):
        path = _FINDINGS / f"{name}.pcap"
        found = list(judge(read_capture(path, streams=True)))
        assert name.partition("/")[0] in {one.id for one in found}
        assert {place.capture for one in found for place in one.evidence} == {str(path)}
