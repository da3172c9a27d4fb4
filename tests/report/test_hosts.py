"""The picture of hosts: where the numbers of messages stand."""

from __future__ import annotations

import re

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


def test_up_to_sixteen_ways_have_their_numbers_beside_them() -> None:
    for count, told in ((16, 16), (17, 0)):
        hosts = {f"192.0.2.{at}": Host(f"192.0.2.{at}", sent=1) for at in range(count)}
        hosts["msg01"] = Host("msg01", received=count)
        page = _page(hosts, {(name, "msg01"): 1 for name in hosts if name != "msg01"})
        assert len(_numbers(page)) == told


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
