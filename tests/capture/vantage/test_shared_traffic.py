"""Which captures are places of one recording, and how their clocks differ: captures whose truth is known."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from msmq_wire.capture.opened_file import OpenedFile, open_local
from msmq_wire.capture.vantage.points import SharedTraffic
from msmq_wire.capture.vantage.shared_traffic import find_shared
from msmq_wire.capture.writer import write_pcap
from msmq_wire.units import SECOND
from tests.capture.vantage.recorded_places import BEGIN, SERVER, End, Network, Place, ten_connections

_FINDINGS = Path(__file__).resolve().parents[3] / "fixtures" / "findings"
_MS = 1_000_000
_TRIP = 400_000
"""Nanoseconds from the client to the server: what `Network` has."""
_HOUR = 3600 * SECOND


def _outside(end: End) -> End:
    """What a router calls the clients."""
    return (bytes((192, 0, 2, 1)), end[1] + 10_000) if end[0][2] == 0 else end


def _shared(folder: Path, network: Network, *places: Place) -> SharedTraffic:
    captures = [network.record(folder / f"{chr(97 + at)}.pcap", place) for at, place in enumerate(places)]
    (found,) = find_shared(captures)
    assert isinstance(found, SharedTraffic)
    return found


# A second place 0.4 ms away, and by how much the estimate may differ: at the begin and at the end.
@pytest.mark.parametrize(
    ("here", "there", "wrong"),
    [
        (Place(), Place(behind=3 * _MS + 200_000), 0),
        (Place(), Place(behind=-26 * _HOUR), 0),
        (Place(), Place(behind=26 * _HOUR), 0),
        (Place(), Place(behind=3 * _MS, loss=0.3), 0),
        (Place(loss=0.3), Place(behind=3 * _MS, loss=0.3), 1000),
        (Place(), Place(behind=5 * SECOND, slow=50_000), 10_000),
        (Place(), Place(behind=5 * SECOND, slow=-200_000), 10_000),
        (Place(), Place(behind=5 * SECOND, jitter=100_000), 60_000),
        (Place(), Place(behind=-2 * _HOUR, slow=200_000, jitter=100_000, loss=0.1), 100_000),
        (Place(merges=60_000), Place(behind=5 * SECOND), 1000),
        (Place(), Place(behind=5 * SECOND, merges=60_000), 1000),
        (Place(), Place(behind=5 * SECOND, snap=128, tag=7), 1000),
        (Place(), Place(behind=5 * SECOND, snap=54), 1000),
        (Place(last=40 * SECOND), Place(behind=5 * SECOND, first=20 * SECOND), 1000),
        (Place(first=20 * SECOND), Place(behind=5 * SECOND, last=40 * SECOND), 1000),
        (Place(), Place(behind=5 * SECOND, tick=_MS), 500_000),
        (Place(), Place(behind=5 * SECOND, tick=15_625_000, phase=4_321_000), 2 * _MS),
        (Place(tick=15_625_000), Place(behind=5 * SECOND, tick=15_625_000, phase=4_321_000), 8 * _MS),
    ],
)
def test_a_clock_is_found_within_its_uncertainty(
    tmp_path: Path, here: Place, there: Place, wrong: int
) -> None:
    there.distance = _TRIP
    found = _shared(tmp_path, ten_connections(), here, there)
    at = {point.files[0][-6]: point for point in found.points}
    for second in (0, 27, 54):
        true = BEGIN + second * SECOND
        shown = {"a": true, "b": true - there.behind - there.slow * second}
        told = {name: point.corrected(shown[name]) for name, point in at.items()}
        error = abs(told["b"] - told["a"])
        uncertainty = sum(point.uncertainty or 0 for point in found.points)
        assert error <= uncertainty, (second, error, uncertainty)
        assert error <= wrong, (second, error)
    assert found.translations == ()


@pytest.mark.parametrize("slow", [200_000, -200_000])
def test_a_clock_may_drift_by_more_than_a_round_trip_between_segments(tmp_path: Path, slow: int) -> None:
    network = Network()
    network.talk((bytes((10, 0, 0, 1)), 50_000), SERVER, sizes=[200] * 60, every=60)
    there = Place(distance=_TRIP, behind=5 * SECOND, slow=slow)
    found = _shared(tmp_path, network, Place(), there)
    # 200 µs for a second of a true clock, which is a little less for one of a clock that is slow.
    assert found.points[1].drift == pytest.approx(slow, rel=0.001)
    assert found.points[1].uncertainty == pytest.approx(_TRIP, rel=0.02)


def test_the_uncertainty_is_half_the_shortest_round_trip(tmp_path: Path) -> None:
    found = _shared(tmp_path, ten_connections(), Place(), Place(distance=_TRIP, behind=3_200_000))
    # There and back takes 0.8 ms; both files have microseconds.
    assert [(point.offset, point.drift, point.uncertainty) for point in found.points] == [
        (0, 0, 0),
        (3_200_000, 0, 401_000),
    ]


def test_the_segments_that_two_points_have_are_counted(tmp_path: Path) -> None:
    network = Network()
    network.talk((bytes((10, 0, 0, 1)), 50_000), SERVER, sizes=(200, 200, 200, 200))
    found = _shared(tmp_path, network, Place(), Place(distance=_TRIP))
    # The handshake, and four times a message, an answer and its acknowledgment.
    assert found.shared == 3 + 4 * 3


def test_one_direction_has_the_time_of_travel_in_the_offset(tmp_path: Path) -> None:
    there = Place(distance=_TRIP, behind=5 * SECOND, only=True)
    found = _shared(tmp_path, ten_connections(), Place(), there)
    assert [(point.offset, point.uncertainty) for point in found.points] == [
        (0, 0),
        (5 * SECOND - _TRIP, None),
    ]


def test_connections_behind_a_router_are_listed_in_both_directions(tmp_path: Path) -> None:
    network = Network()
    network.talk((bytes((10, 0, 0, 1)), 50_000), SERVER)
    network.talk((bytes((10, 0, 2, 1)), 50_001), SERVER)
    there = Place(distance=_TRIP, behind=5 * SECOND, named=_outside)
    found = _shared(tmp_path, network, Place(), there)
    inside, outside = (bytes((10, 0, 0, 1)), 50_000), (bytes((192, 0, 2, 1)), 60_000)
    listed = {(one.point, one.there, one.here) for one in found.translations}
    assert listed == {
        (1, (*outside, *SERVER), (*inside, *SERVER)),
        (1, (*SERVER, *outside), (*SERVER, *inside)),
    }
    assert found.points[1].offset == 5 * SECOND


def test_the_first_of_three_points_tells_the_time_and_names(tmp_path: Path) -> None:
    network = ten_connections()
    middle = Place(distance=100_000, behind=-3 * SECOND)
    last = Place(distance=_TRIP, behind=2 * SECOND, named=_outside)
    found = _shared(tmp_path, network, Place(), middle, last)
    assert [(point.files[0][-6], point.offset, point.uncertainty) for point in found.points] == [
        ("a", 0, 0),
        ("b", -3 * SECOND, 101_000),
        ("c", 2 * SECOND, 401_000),
    ]
    assert {one.point for one in found.translations} == {2}
    assert len(found.translations) == 20


def test_the_point_that_has_most_of_the_shared_traffic_is_the_first(tmp_path: Path) -> None:
    there = Place(distance=_TRIP, behind=5 * SECOND)
    found = _shared(tmp_path, ten_connections(), Place(loss=0.3), there)
    assert [point.files[0][-6] for point in found.points] == ["b", "a"]
    assert found.points[1].offset == -5 * SECOND


@pytest.mark.parametrize(
    "there",
    [
        Place(),
        Place(behind=_HOUR),
        Place(loss=0.5),
        Place(only=True),
        Place(behind=-900 * SECOND, first=5 * SECOND),
        Place(behind=1_234_000, first=5 * SECOND),
        Place(tick=1),
    ],
    ids=[
        "the same",
        "shifted by an hour",
        "a part",
        "one direction",
        "a part in another time zone",
        "a part that is shifted",
        "nanoseconds",
    ],
)
def test_a_copy_is_no_place(tmp_path: Path, there: Place) -> None:
    network = ten_connections()
    captures = [network.record(tmp_path / "a.pcap", Place()), network.record(tmp_path / "b.pcap", there)]
    assert find_shared(captures) == captures


def test_a_clock_that_drifts_is_no_copy(tmp_path: Path) -> None:
    there = Place(behind=7200 * SECOND, slow=50_000)
    found = _shared(tmp_path, ten_connections(), Place(), there)
    assert found.points[1].drift == pytest.approx(50_000, abs=50)
    assert (found.points[1].uncertainty or 0) < 10_000


def test_a_copy_beside_two_places_stays_alone(tmp_path: Path) -> None:
    network = ten_connections()
    one, copy = (network.record(tmp_path / f"{name}.pcap", Place()) for name in "ac")
    other = network.record(tmp_path / "b.pcap", Place(distance=_TRIP))
    found = find_shared([one, other, copy])
    assert isinstance(found[0], SharedTraffic)
    assert [point.files for point in found[0].points] == [one, other]
    assert found[1:] == [copy]


def test_other_bytes_under_the_same_numbers_are_other_traffic(tmp_path: Path) -> None:
    captures = []
    for seed in (1, 2):
        network = Network(seed)
        network.talk((bytes((10, 0, 0, 1)), 50_000), SERVER, isns=(1000, 2000))
        captures.append(network.record(tmp_path / f"{seed}.pcap", Place(distance=seed * 1000, behind=seed)))
    assert find_shared(captures) == captures


@pytest.mark.parametrize(
    ("behind", "jitter"), [(3600 * SECOND + 700_000_000, 100_000), (30 * SECOND, 40 * _MS)]
)
def test_segments_that_were_sent_again_from_a_file_are_no_other_place(
    tmp_path: Path, behind: int, jitter: int
) -> None:
    network = ten_connections()
    # Times that are later or earlier by chance, whichever way a segment goes.
    frames = network.frames(Place())
    source = random.Random(1)
    again = [
        replace(frame, time=(frame.time or 0) + behind + int(source.gauss(0, jitter))) for frame in frames
    ]
    write_pcap(str(tmp_path / "b.pcap"), iter(again))
    captures = [network.record(tmp_path / "a.pcap", Place()), (str(tmp_path / "b.pcap"),)]
    assert find_shared(captures) == captures


@pytest.mark.slow
def test_captures_of_one_generator_are_no_places() -> None:
    # They have the same hosts, sequence numbers and handshakes, and times that differ by steps of 1.3 ms.
    # Those of NET-PATH are true places.
    found = sorted(set(_FINDINGS.glob("**/*.pcap")) - set(_FINDINGS.glob("NET-PATH/**/*.pcap")))
    captures = [(str(path),) for path in found]
    assert len(captures) > 100
    assert find_shared(captures) == captures


def test_three_captures_without_a_common_time_are_not_read(tmp_path: Path) -> None:
    captures = []
    for day in (0, 3, 6):
        frames = [
            replace(one, time=(one.time or 0) + day * 24 * _HOUR) for one in ten_connections().frames(Place())
        ]
        write_pcap(str(tmp_path / f"{day}.pcap"), iter(frames))
        captures.append((str(tmp_path / f"{day}.pcap"),))
    opened: list[str] = []

    def opener(path: str) -> OpenedFile:
        opened.append(path)
        return open_local(path)

    assert find_shared(captures, opener=opener) == captures
    # Both ends, and no more: once to see whether it is packed, once for the times.
    assert len(opened) == 2 * len(captures)


def test_traffic_more_than_26_hours_away_is_not_compared(tmp_path: Path) -> None:
    network = ten_connections()
    there = Place(distance=_TRIP, behind=27 * _HOUR)
    captures = [network.record(tmp_path / "a.pcap", Place()), network.record(tmp_path / "b.pcap", there)]
    assert find_shared(captures) == captures
