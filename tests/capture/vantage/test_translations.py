"""Names of connections at points: routers, three points, and a router that has both names."""

from __future__ import annotations

from pathlib import Path

from msmq_wire.capture.vantage.points import AddressTranslation, SharedTraffic
from msmq_wire.capture.vantage.shared_traffic import find_shared
from msmq_wire.capture.vantage.translations import turned
from msmq_wire.capture.writer import write_pcap
from msmq_wire.units import SECOND
from tests.capture.vantage.recorded_places import SERVER, End, Network, Place

_INSIDE = (bytes((10, 0, 0, 1)), 50_000)
_OUTSIDE = (bytes((192, 0, 2, 1)), 60_000)
_FORWARDED = (bytes((198, 51, 100, 7)), 11_801)


def _names(*changes: tuple[End, End]) -> Place:
    """A place where ends have other names."""
    place = Place(distance=400_000, behind=SECOND)
    place.named = lambda end: dict(changes).get(end, end)
    return place


def _network() -> Network:
    network = Network()
    network.talk(_INSIDE, SERVER)
    return network


def _translations(captures: list[tuple[str, ...]]) -> tuple[AddressTranslation, ...]:
    (found,) = find_shared(captures)
    assert isinstance(found, SharedTraffic)
    return found.translations


def test_both_ends_may_have_other_names(tmp_path: Path) -> None:
    network = _network()
    there = _names((_INSIDE, _OUTSIDE), (SERVER, _FORWARDED))
    captures = [network.record(tmp_path / "a.pcap", Place()), network.record(tmp_path / "b.pcap", there)]
    names, here = (*_OUTSIDE, *_FORWARDED), (*_INSIDE, *SERVER)
    assert set(_translations(captures)) == {
        AddressTranslation(1, names, here),
        AddressTranslation(1, turned(names), turned(here)),
    }


def test_one_direction_gives_the_names_of_both(tmp_path: Path) -> None:
    network = _network()
    there = _names((_INSIDE, _OUTSIDE))
    there.only = True
    captures = [network.record(tmp_path / "a.pcap", Place()), network.record(tmp_path / "b.pcap", there)]
    names, here = (*_OUTSIDE, *SERVER), (*_INSIDE, *SERVER)
    assert set(_translations(captures)) == {
        AddressTranslation(1, names, here),
        AddressTranslation(1, turned(names), turned(here)),
    }


def test_a_router_that_has_both_names_needs_no_translation(tmp_path: Path) -> None:
    network = _network()
    outside = _names((_INSIDE, _OUTSIDE))
    before, behind = network.frames(Place(distance=200_000)), _names((_INSIDE, _OUTSIDE))
    behind.distance, behind.behind = 205_000, 0
    frames = sorted(before + network.frames(behind), key=lambda frame: frame.time or 0)
    write_pcap(str(tmp_path / "r.pcap"), iter(frames))
    captures = [
        (str(tmp_path / "r.pcap"),),
        network.record(tmp_path / "b.pcap", outside),
        network.record(tmp_path / "c.pcap", Place(behind=2 * SECOND)),
    ]
    assert _translations(captures) == ()


def test_two_points_that_only_a_third_one_connects_have_one_name(tmp_path: Path) -> None:
    network = Network()
    network.talk(_INSIDE, SERVER, sizes=(200,) * 40, every=0.5)
    # The first one ends when the second one begins; the third one records all, under another name.
    first = Place(last=9 * SECOND)
    second, third = _names((_INSIDE, (bytes((172, 16, 0, 1)), 7000))), _names((_INSIDE, _OUTSIDE))
    second.first, second.distance, third.behind = 11 * SECOND, 200_000, 3 * SECOND
    captures = [
        network.record(tmp_path / f"{name}.pcap", place)
        for name, place in (("a", first), ("b", second), ("c", third))
    ]
    (found,) = find_shared(captures)
    assert isinstance(found, SharedTraffic)
    # The third one has most of it, and gives the name.
    assert found.points[0].files == captures[2]
    assert {(one.point, one.here) for one in found.translations} == {
        (point, here) for point in (1, 2) for here in ((*_OUTSIDE, *SERVER), (*SERVER, *_OUTSIDE))
    }
