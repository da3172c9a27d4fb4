"""The picture of hosts: where the numbers of messages stand."""

from __future__ import annotations

import re

import pytest

from msmq_wire.report.hosts import Host, hosts_of, talk_section
from msmq_wire.report.totals import Edge, Totals
from msmq_wire.sessions import follow
from tests.report.pages import Page


def _page(hosts: dict[str, Host], ways: dict[tuple[str, str], int]) -> Page:
    totals = Totals()
    totals.edges.update((ends, Edge(messages=count)) for ends, count in ways.items())
    return Page(talk_section(hosts, hosts_of(totals, follow(()))[1], 0))


def _numbers(page: Page) -> list[str | None]:
    return [one["x"] for one in page.named("text") if one["class"] == "number"]


def _boxes(page: Page) -> list[tuple[float, float, float, float]]:
    """Where the numbers are, as wide as digits of 11 pixels are."""
    found = []
    for one, text in zip(_named(page), _texts(page), strict=True):
        x, y, across = float(one["x"] or 0), float(one["y"] or 0), 3.5 * len(text)
        found.append((x - across, y - 10, x + across, y + 2))
    return found


def _named(page: Page) -> list[dict[str, str | None]]:
    return [one for one in page.named("text") if one["class"] == "number"]


def _texts(page: Page) -> list[str]:
    return [text for text in page.text_of("text") if text.replace(",", "").isdigit()]


def _crossing(count: int) -> Page:
    """Hosts that all send to all others, in both directions, thousands of messages."""
    hosts = {f"a{at}": Host(f"a{at}", sent=9, roles={"opens sessions": None}) for at in range(count)}
    hosts |= {f"b{at}": Host(f"b{at}", received=9, roles={"accepts sessions": None}) for at in range(count)}
    ways = {
        (src, dst): 1000 + at
        for at, (src, dst) in enumerate((src, dst) for src in hosts for dst in hosts if src[0] != dst[0])
    }
    return _page(hosts, ways)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12])
def test_numbers_of_ways_never_stand_on_one_another(count: int) -> None:
    boxes = _boxes(_crossing(count))
    assert len(boxes) >= 2 * count
    for at, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:at]:
            assert left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]


def test_the_way_with_the_most_messages_has_its_number() -> None:
    assert "1,287" in _texts(_crossing(12))


def test_who_did_something_of_high_severity_is_marked_in_words_and_colour() -> None:
    hosts = {"a": Host("a", sent=1, roles={"opens sessions": None}), "b": Host("b", received=1)}
    totals = Totals()
    totals.edges["a", "b"] = Edge(messages=1)
    page = Page(talk_section(hosts, hosts_of(totals, follow(()))[1], 0, {"a"}))
    assert [one["class"] for one in page.named("circle")] == ["node suspect", "node"]
    assert any("a finding of high severity" in text for text in page.text_of("text"))


def test_between_two_hosts_of_one_side_the_number_stands_at_the_middle_of_the_curve() -> None:
    for role, inward in (("opens sessions", 1), ("accepts sessions", -1)):
        other = "accepts sessions" if inward > 0 else "opens sessions"
        hosts = {name: Host(name, roles={role: None}) for name in ("a", "b")}
        hosts["c"] = Host("c", roles={other: None})
        page = _page(hosts, {("a", "b"): 3})
        (line,) = (one["d"] for one in page.named("path") if one.get("class") == "edge")
        x1, _, x2, _, x3, _, x4, _ = map(float, re.findall(r"-?[\d.]+", line or ""))
        middle = (x1 + 3 * x2 + 3 * x3 + x4) / 8
        assert (x2 - x1) * inward > 0
        (place,) = _numbers(page)
        assert abs(float(place or "") - middle) < 3
