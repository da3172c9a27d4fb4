"""`hop_view`: a hop as a row of JSON, from hops written by hand."""

from __future__ import annotations

import json

import pytest

from msmq_wire.routing import Deviation, DeviationKind, ObservedHop, Sighting
from msmq_wire.routing.hop_view import HopRow, hop_view
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID
from tests.routing.enterprises import figure_4, qm_id

_TOPOLOGY = figure_4(1, 1, 1, 1).topology()
_OUTSIDE = GUID.parse("0e6f3a51-2b7c-4d98-a3e4-6f50b1c2d3e4")
_SIGHTING = Sighting(
    record=3,
    capture="x.pcap",
    frames=(7, 8),
    time=1_700_000_000_000_000_042,
    src="192.0.2.1:49731",
    dst="192.0.2.2:1801",
    stream=2,
    source_queue_manager=qm_id("cA"),
    message_id=4711,
    queue_manager_address=qm_id("cC"),
    hops=1,
)


def test_a_hop_has_all_that_was_seen_and_said_under_the_names_of_its_keys() -> None:
    hop = ObservedHop(
        sighting=_SIGHTING,
        source=qm_id("gA"),
        target=qm_id("gD"),
        expected=(qm_id("gB"),),
        deviations=(
            Deviation(DeviationKind.OFF_PATH, "it went astray", SpecRef("MS-MQBR", "3.1.5.3")),
            Deviation(DeviationKind.LOOP, "it came back", SpecRef("MS-MQBR", "3.1.5")),
        ),
    )
    row = hop_view(hop, _TOPOLOGY)
    assert tuple(row) == tuple(HopRow.columns)
    assert row == {
        "record": 3,
        "capture": "x.pcap",
        "frames": [7, 8],
        "time": "2023-11-14T22:13:20.000000042Z",
        "src": "192.0.2.1:49731",
        "dst": "192.0.2.2:1801",
        "stream": 2,
        "message_id": "00000001-0000-0000-6341-000000000000\\4711",
        "source": "00000001-0000-0000-6741-000000000000",
        "source_name": "gA",
        "target": "00000001-0000-0000-6744-000000000000",
        "target_name": "gD",
        "destination": "00000001-0000-0000-6343-000000000000",
        "destination_name": "cC",
        "hops": 1,
        "verdict": "off_path, loop",
        "deviations": [
            {"kind": "off_path", "message": "it went astray", "spec": "[MS-MQBR] 3.1.5.3"},
            {"kind": "loop", "message": "it came back", "spec": "[MS-MQBR] 3.1.5"},
        ],
        "expected": ["00000001-0000-0000-6742-000000000000"],
        "reason": None,
        "told_by": None,
    }
    assert json.loads(json.dumps(row)) == row


def test_what_is_not_known_is_null_and_who_is_not_in_the_topology_has_no_name() -> None:
    sighting = Sighting(
        record=1, source_queue_manager=_OUTSIDE, message_id=1, queue_manager_address=None, hops=0
    )
    row = hop_view(ObservedHop(sighting=sighting, source=_OUTSIDE, reason="why not"), _TOPOLOGY)
    assert (row["source"], row["source_name"]) == (str(_OUTSIDE), None)
    unknown = ("time", "src", "dst", "stream", "target", "target_name", "destination", "destination_name")
    assert [row[key] for key in unknown] == [None] * len(unknown)
    assert (row["verdict"], row["reason"]) == ("not_judged", "why not")
    assert row["deviations"] == row["expected"] == row["frames"] == []


@pytest.mark.parametrize("time", [1 << 200, -(1 << 200)])
def test_a_time_that_no_calendar_has_is_null(time: int) -> None:
    sighting = Sighting(
        record=1,
        time=time,
        source_queue_manager=qm_id("cA"),
        message_id=1,
        queue_manager_address=qm_id("cC"),
        hops=0,
    )
    assert hop_view(ObservedHop(sighting=sighting), _TOPOLOGY)["time"] is None
