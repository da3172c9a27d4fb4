"""Who talks to whom: hosts with their roles as a picture, or as a table where they are many."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

import msgspec

from msmq_wire.markup import Markup, joined, scrolling, tag
from msmq_wire.report.evicted_totals import EvictedTotals
from msmq_wire.report.html_tables import table
from msmq_wire.report.totals import Edge, Totals
from msmq_wire.report.wording import bytes_text, count_text, host_of
from msmq_wire.sessions import Story

_MOST_DRAWN = 24
_MOST_EDGES_DRAWN = 150
_MOST_EDGES_LISTED = 200
_MOST_HOSTS = 1 << 14
_STARTS = frozenset(("opens sessions", "tries to open sessions", "reads remotely", "pings"))
_ANSWERS = frozenset(("accepts sessions", "answers pings"))
_ROW = 50
_FEW = 40
"""Ways that may be drawn with broad lines."""
_WIDTH, _LEFT, _RIGHT = 960, 290, 670
_LABEL = 26
"""Characters of an address that have room beside its node."""


class Host(msgspec.Struct):
    """A host; ``roles`` in the order in which they were seen."""

    name: str
    sent: int = 0
    received: int = 0
    roles: dict[str, None] = msgspec.field(default_factory=dict)


class _Way(msgspec.Struct):
    messages: int = 0
    bytes: int = 0
    sessions: int = 0
    reads: int = 0


_Ways = dict[tuple[str, str], _Way]


def hosts_of(
    totals: Totals, story: Story, gone: EvictedTotals | None = None
) -> tuple[dict[str, Host], _Ways]:
    """The hosts, and what passed from one to another; at most 16,384 of them."""
    hosts: dict[str, Host] = {}
    ways: _Ways = {}

    def host(name: str, role: str | None = None) -> Host:
        known = hosts.get(name)
        if known is None:
            known = Host(name)
            if len(hosts) < _MOST_HOSTS:
                hosts[name] = known
        if role is not None:
            known.roles[role] = None
        return known

    def way(src: str, dst: str) -> _Way:
        known = ways.get((src, dst))
        if known is None:
            known = _Way()
            if len(ways) < _MOST_HOSTS:
                ways[src, dst] = known
        return known

    sessions = Counter() if gone is None else gone.sessions.copy()
    sessions.update(
        (host_of(session.client), host_of(session.server), session.opened is not None)
        for session in story.sessions
    )
    for (client, server, opened), count in sessions.items():
        asking = host(client, "opens sessions" if opened else "tries to open sessions")
        if "opens sessions" in asking.roles:
            asking.roles.pop("tries to open sessions", None)
        answering = host(server, "accepts sessions" if opened else "is asked for sessions")
        if "accepts sessions" in answering.roles:
            answering.roles.pop("is asked for sessions", None)
        way(client, server).sessions += count
    for read in story.reads:
        client, server = host_of(read.client), host_of(read.server)
        host(client, "reads remotely")
        host(server, "is read from")
        way(client, server).reads += 1
    for (src, dst), edge in totals.edges.items():
        host(src).sent += edge.messages
        host(dst).received += edge.messages
        _add(way(src, dst), edge)
    for ping in story.pings:
        host(host_of(ping.client), "pings")
        way(host_of(ping.client), host_of(ping.server))
        host(host_of(ping.server), "answers pings" if ping.response else "is pinged")
    return hosts, ways


def _add(way: _Way, edge: Edge) -> None:
    way.messages += edge.messages
    way.bytes += edge.bytes


def talk_section(
    hosts: dict[str, Host], ways: _Ways, left_out: int, flagged_hosts: Collection[str] = ()
) -> Markup:
    """The picture for up to 24 hosts, and a table of the busiest ways; ``flagged_hosts`` are marked."""
    if not hosts:
        return tag("p", "No traffic of any host could be decoded.")
    picture: Markup | None = None
    if len(hosts) <= _MOST_DRAWN:
        picture = scrolling("Picture of hosts and messages", _picture(hosts, ways, flagged_hosts))
    else:
        picture = tag(
            "p",
            f"{count_text(len(hosts), 'host')}: too many for a picture. The table has the busiest pairs of "
            "hosts.",
        )
    busiest = sorted(ways.items(), key=lambda item: (-item[1].messages, -item[1].sessions, item[0]))
    rows = [
        (src, _roles(hosts, src), dst, _roles(hosts, dst), *_numbers(way))
        for (src, dst), way in busiest[:_MOST_EDGES_LISTED]
    ]
    undrawn = len(ways) - _MOST_EDGES_DRAWN
    note = None
    if len(hosts) <= _MOST_DRAWN and undrawn > 0:
        note = tag(
            "p",
            f"{count_text(undrawn, 'pair')} of hosts with the fewest messages are not drawn.",
            class_="note",
        )
    listed = table(
        "Messages from host to host",
        ("From", "Roles", "To", "Roles", "#Messages", "#Size", "#Sessions", "#Remote reads"),
        rows,
        more=len(ways) - len(rows),
    )
    if left_out:
        listed = joined(
            listed, tag("p", f"Not shown by host: {count_text(left_out, 'message')} of further hosts.")
        )
    return joined(
        picture,
        note,
        tag("details", tag("summary", "The same as a table"), listed, open=len(hosts) > _MOST_DRAWN),
    )


def _roles(hosts: dict[str, Host], name: str) -> str:
    host = hosts.get(name)
    return "" if host is None else ", ".join(host.roles)


def _numbers(way: _Way) -> tuple[str, str, str, str]:
    return f"{way.messages:,}", bytes_text(way.bytes), f"{way.sessions:,}", f"{way.reads:,}"


def _columns(hosts: dict[str, Host], ways: _Ways) -> tuple[list[str], list[str]]:
    """Who starts on the left, who answers on the right; neighbours stand at like heights."""
    left = [
        name
        for name, host in hosts.items()
        if _STARTS & host.roles.keys() and (host.sent >= host.received or not _ANSWERS & host.roles.keys())
    ]
    left += [
        name
        for name, host in hosts.items()
        if name not in left and not host.roles and host.sent > host.received
    ]
    if not left:
        left = [max(hosts, key=lambda name: hosts[name].sent)]
    right = [name for name in hosts if name not in left]
    if not right and len(left) > 1:
        left, right = left[: -(-len(left) // 2)], left[-(-len(left) // 2) :]
    places = {name: at for at, name in enumerate(left)}

    def middle(name: str) -> float:
        near = [places[src] for src, dst in ways if dst == name and src in places]
        near += [places[dst] for src, dst in ways if src == name and dst in places]
        return sum(near) / len(near) if near else math.inf

    return left, sorted(right, key=middle)


def _picture(hosts: dict[str, Host], ways: _Ways, flagged_hosts: Collection[str]) -> Markup:
    left, right = _columns(hosts, ways)
    rows = max(len(left), len(right))
    height = rows * _ROW + 24
    places: dict[str, tuple[float, float]] = {}
    for column, x in ((left, _LEFT), (right, _RIGHT)):
        step = rows * _ROW / max(len(column), 1)
        places |= {name: (x, 12 + (at + 0.5) * step) for at, name in enumerate(column)}
    shown = sorted(ways.items(), key=lambda item: -item[1].messages)[:_MOST_EDGES_DRAWN]
    broadest = 4.6 if len(shown) <= _FEW else 1.2
    busiest = max((way.messages for _, way in shown), default=0)
    taken: list[_Box] = []
    lines = [
        _edge(places[src], places[dst], f"{src} to {dst}", way, busiest, broadest, taken)
        for (src, dst), way in shown
        if src in places and dst in places
    ]
    nodes = [
        _node(hosts[name], x, y, flip=name in left, suspect=name in flagged_hosts)
        for name, (x, y) in places.items()
    ]
    arrow = tag(
        "defs",
        tag(
            "marker",
            tag("path", d="M0 0 8 4 0 8z", class_="arrow"),
            id="arrow",
            viewBox="0 0 8 8",
            refX="8",
            refY="4",
            markerWidth="9",
            markerHeight="9",
            markerUnits="userSpaceOnUse",
            orient="auto",
        ),
    )
    words = f"{count_text(len(hosts), 'host')}, {count_text(len(ways), 'way')} between them"
    return tag(
        "svg",
        tag("title", words),
        arrow,
        *lines,
        *nodes,
        viewBox=f"0 0 {_WIDTH} {height}",
        role="img",
        aria_label=words,
        class_="picture" if len(shown) <= _FEW else "picture many",
    )


_Box = tuple[float, float, float, float]
"""Left, top, right and bottom of a label."""
_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8)
"""Where on its curve the number of a way may stand, as a share of it, the best first."""


def _edge(
    start: tuple[float, float],
    end: tuple[float, float],
    name: str,
    way: _Way,
    busiest: int,
    broadest: float,
    taken: list[_Box],
) -> Markup:
    """A way with its number, where that has room beside those that are ``taken``."""
    (x1, y1), (x2, y2) = start, end
    if start == end:
        curve = ((x1, y1 - 6), (x1 + 40, y1 - 34), (x1 + 40, y1 + 34), (x1, y1 + 6))
    elif x1 == x2:
        inward = 90 if x1 == _LEFT else -90
        curve = ((x1 + inward / 9, y1), (x1 + inward, y1), (x2 + inward, y2), (x2 + inward / 7, y2))
    else:
        way_right = 1 if x2 > x1 else -1
        # There and back must not lie on one another.
        shift = -7 if way_right > 0 else 7
        reach = (x2 - x1) * 0.4
        a, b = x1 + 10 * way_right, x2 - 12 * way_right
        curve = ((a, y1 + shift), (a + reach, y1 + shift), (b - reach, y2 + shift), (b, y2 + shift))
    size = (
        1.2 if not way.messages else 1.2 + broadest * math.log1p(way.messages) / max(math.log1p(busiest), 1)
    )
    parts = [count_text(way.messages, "message")]
    if way.sessions:
        parts.append(count_text(way.sessions, "session"))
    if way.reads:
        parts.append(count_text(way.reads, "remote read"))
    kind = "edge" if way.messages else "edge quiet"
    begin, *others = (f"{x:.1f} {y:.1f}" for x, y in curve)
    line = tag(
        "path",
        tag("title", f"{name}: {', '.join(parts)}"),
        d=f"M{begin}C{' '.join(others)}",
        class_=kind,
        stroke_width=f"{size:.1f}",
        marker_end="url(#arrow)",
    )
    place = _free(curve, f"{way.messages:,}", taken) if way.messages else None
    if place is None:
        return line
    number = tag(
        "text",
        f"{way.messages:,}",
        x=f"{place[0]:.0f}",
        y=f"{place[1] + 4:.0f}",
        class_="number",
        text_anchor="middle",
    )
    return joined(line, number)


def _free(curve: Sequence[tuple[float, float]], text: str, taken: list[_Box]) -> tuple[float, float] | None:
    """The place of a label on a curve that no other label has; None where there is none."""
    (x1, y1), (x2, y2), (x3, y3), (x4, y4) = curve
    across, up = 3.7 * len(text) + 4, 8
    for at in _PLACES:
        near, far = 1 - at, at
        weights = (near**3, 3 * near**2 * far, 3 * near * far**2, far**3)
        x = sum(w * one for w, one in zip(weights, (x1, x2, x3, x4), strict=True))
        y = sum(w * one for w, one in zip(weights, (y1, y2, y3, y4), strict=True))
        left, top, right, bottom = box = (x - across, y - up, x + across, y + up)
        if all(left >= one[2] or right <= one[0] or top >= one[3] or bottom <= one[1] for one in taken):
            taken.append(box)
            return x, y
    return None


def _node(host: Host, x: float, y: float, *, flip: bool, suspect: bool) -> Markup:
    name = host.name if len(host.name) <= _LABEL else f"{host.name[: _LABEL - 1]}…"
    roles = ", ".join([*(["a finding of high severity"] if suspect else ()), *list(host.roles)[:2]])
    counts = f"{host.sent:,} sent, {host.received:,} received"
    anchor, at = ("end", x - 16) if flip else ("start", x + 16)
    return tag(
        "g",
        tag("title", f"{host.name}: {', '.join(host.roles)}; {counts}"),
        tag("circle", cx=x, cy=f"{y:.1f}", r=8, class_="node suspect" if suspect else "node"),
        tag("text", name, x=at, y=f"{y - 8:.1f}", class_="host", text_anchor=anchor),
        tag("text", counts, x=at, y=f"{y + 7:.1f}", class_="tick", text_anchor=anchor),
        tag("text", roles, x=at, y=f"{y + 21:.1f}", class_="tick", text_anchor=anchor) if roles else None,
    )
