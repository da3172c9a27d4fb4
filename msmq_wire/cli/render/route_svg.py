"""A prediction as an SVG of its own: a column for every hop from the source, the chosen path in colour.

The rule kept here: nothing outside of the file is referred to, nothing in it runs, and it is of ASCII; of a
large prediction a part is drawn, and the drawing says what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

import msgspec
from rich.cells import chop_cells

from msmq_wire.markup import Markup, joined, tag, visible
from msmq_wire.routing.prediction import PredictedHop, Prediction
from msmq_wire.routing.prediction_view import (
    called,
    chosen_path,
    kind_of,
    machine_of,
    shown_paths,
    site_names,
)
from msmq_wire.routing.topology import Topology
from msmq_wire.wire.types.guid import GUID

MOST_BOXES = 200
"""Queue managers that are drawn."""
_MOST_ARROWS = 1000
_BOX = 252
_ACROSS = _BOX + 124
_DOWN = 96
_HEIGHT = 64
_LEFT = 24
_TOP = 100
_ARCH = 72
_LETTERS = 30
"""Characters of a name on one line of its box."""
_SITE_LETTERS = 38
_TIP = 8
_STYLE = """
svg { color-scheme: light dark; }
text { font: 12px system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif; fill: #1b1f24; }
text.name { font: 12px ui-monospace, Consolas, "DejaVu Sans Mono", monospace; }
text.head { font-size: 16px; font-weight: 600; }
text.small { font-size: 11px; fill: #545d68; }
text.cost { text-anchor: middle; }
.ground { fill: #ffffff; }
.box { fill: #f5f7fa; stroke: #7d8894; }
.router { stroke-width: 2; }
.box.chosen { stroke: #0b5cad; stroke-width: 2.5; }
.arrow { fill: none; stroke: #7d8894; stroke-width: 1.3; }
.arrow.broken { stroke-dasharray: 3 4; }
.arrow.chosen { stroke: #0b5cad; stroke-width: 2.8; }
.tip { fill: #7d8894; }
.tip.chosen { fill: #0b5cad; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  text.small { fill: #9fabb8; }
  .ground { fill: #0f1419; }
  .box { fill: #171d25; stroke: #8a96a3; }
  .box.chosen, .arrow.chosen { stroke: #79bcff; }
  .arrow { stroke: #8a96a3; }
  .tip { fill: #8a96a3; }
  .tip.chosen { fill: #79bcff; }
}
"""


class _Place(msgspec.Struct, frozen=True):
    column: int
    row: int

    @property
    def x(self) -> int:
        return _LEFT + self.column * _ACROSS

    @property
    def y(self) -> int:
        return _TOP + self.row * _DOWN


def svg_text(prediction: Prediction, topology: Topology) -> str:
    """The drawing as a text of XML, at most `MOST_BOXES` boxes."""
    chosen = chosen_path(prediction).hops
    columns = _columns(prediction, chosen)
    places = _places(prediction, columns, chosen)
    hops = [
        hop
        for one in places
        for hop in prediction.hops.get(one, ())
        if hop.source in places and hop.target in places
    ]
    # The chosen path lies above all others, and is drawn whatever is left out.
    hops.sort(key=lambda hop: hop in chosen, reverse=True)
    drawn = hops[:_MOST_ARROWS]
    drawn.reverse()
    head = f"{called(prediction.source)} to {called(prediction.destination)}"
    words = _words(prediction, topology, chosen)
    left = _left_out(prediction, len(places), len(hops) - len(drawn))
    width = max(_LEFT * 2 + _BOX + max(one.column for one in places.values()) * _ACROSS, 560)
    height = _TOP + (max(one.row for one in places.values()) + 1) * _DOWN + (24 if left else 0)
    passed = {prediction.source.identifier, *(hop.target for hop in chosen if hop.connected)}
    leaving, coming = Counter(hop.source for hop in drawn), Counter(hop.target for hop in drawn)
    arrows = []
    for hop in drawn:
        # Where several arrows meet, their numbers stand at their other ends.
        part = 0.7 if leaving[hop.source] > 1 else 0.3 if coming[hop.target] > 1 else 0.5
        arrows.append(_arrow(hop, places, hop in chosen, part))
    picture = tag(
        "svg",
        tag("title", f"Routes from {head}", id="route-title"),
        tag("desc", words, id="route-words"),
        tag("style", Markup(_STYLE)),
        tag("defs", _tip("tip", "tip"), _tip("chosen-tip", "tip chosen")),
        tag("rect", width=width, height=height, class_="ground"),
        tag("text", _cut(head, int(width / 9.5)), x=_LEFT, y=30, class_="head"),
        tag("text", _cut(_summary(prediction), int(width / 6.5)), x=_LEFT, y=50, class_="small"),
        *(line for line, _ in arrows),
        *(_box(one, place, prediction, topology, one in passed) for one, place in places.items()),
        *(label for _, label in arrows),
        tag("text", left, x=_LEFT, y=height - 14, class_="small") if left else None,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_labelledby="route-title route-words",
    )
    return picture.encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"


def _columns(prediction: Prediction, chosen: tuple[PredictedHop, ...]) -> dict[GUID, int]:
    """The hops to every queue manager that is drawn; the destination stands behind all that lead to it."""
    source, destination = prediction.source.identifier, prediction.destination.identifier
    found = {source: 0}
    todo = [source]
    for at in todo:
        for hop in prediction.hops.get(at, ()):
            if hop.target not in found:
                found[hop.target] = found[at] + 1
                todo.append(hop.target)
    kept = dict.fromkeys((source, *(hop.target for hop in chosen)))
    if destination in found:
        kept[destination] = None
    others = (one for one in found if one not in kept)
    kept.update(dict.fromkeys(islice(others, max(MOST_BOXES - len(kept), 0))))
    columns = {one: found[one] for one in kept}
    if destination in columns and destination != source:
        before = [columns[hop.source] for one in columns for hop in _hops_to(prediction, one, destination)]
        columns[destination] = 1 + max(before, default=columns[destination] - 1)
    return columns


def _hops_to(prediction: Prediction, source: GUID, target: GUID) -> Iterator[PredictedHop]:
    return (hop for hop in prediction.hops.get(source, ()) if hop.target == target)


def _places(
    prediction: Prediction, columns: dict[GUID, int], chosen: tuple[PredictedHop, ...]
) -> dict[GUID, _Place]:
    """A place for every queue manager: the chosen path on top, others near to those that they come after."""
    order = {one: number for number, one in enumerate(columns)}
    first = {prediction.source.identifier, *(hop.target for hop in chosen)}
    before: dict[GUID, list[GUID]] = {}
    for one in columns:
        for hop in prediction.hops.get(one, ()):
            if hop.target in columns and columns[one] < columns[hop.target]:
                before.setdefault(hop.target, []).append(one)
    places: dict[GUID, _Place] = {}
    for column in sorted(set(columns.values())):

        def rank(one: GUID) -> tuple[bool, float, int]:
            rows = [places[other].row for other in before.get(one, ())]
            return one not in first, sum(rows) / len(rows) if rows else 0, order[one]

        members = sorted((one for one in columns if columns[one] == column), key=rank)
        places.update({one: _Place(column, row) for row, one in enumerate(members)})
    return places


def _box(one: GUID, place: _Place, prediction: Prediction, topology: Topology, passed: bool) -> Markup:
    machine = machine_of(prediction, topology, one)
    kind = kind_of(machine, topology)
    sites = ", ".join(site_names(machine, topology))
    below = f"site {sites}" if sites else "no site"
    if kind != "queue manager":
        below = f"{kind}, {below}"
    lines = chop_cells(visible(called(machine), 2 * _LETTERS), _LETTERS)[:3]
    if len(lines) > 2:
        lines[1:] = [f"{lines[1][: _LETTERS - 1]}…"]
    gate = kind == "gate"
    classes = " ".join(("box", *(("router",) if machine.routing_server else ()), *(("chosen",) * passed)))
    frame = {"width": _BOX, "height": _HEIGHT, "class_": classes, "rx": 3 if machine.routing_server else 14}
    first = place.y + (26 if len(lines) == 1 else 19)
    return tag(
        "g",
        tag("title", f"{called(machine)}: {below}"),
        tag("rect", x=place.x, y=place.y, **frame),
        # A gate has a door on either side.
        *(
            tag("path", d=f"M{place.x + at} {place.y}v{_HEIGHT}", class_=f"{classes} door")
            for at in ((6, _BOX - 6) if gate else ())
        ),
        *(tag("text", line, x=place.x + 14, y=first + 15 * n, class_="name") for n, line in enumerate(lines)),
        tag("text", _cut(below, _SITE_LETTERS), x=place.x + 14, y=place.y + _HEIGHT - 11, class_="small"),
    )


def _arrow(
    hop: PredictedHop, places: dict[GUID, _Place], chosen: bool, part: float
) -> tuple[Markup, Markup | None]:
    """An arrow, and its cost at a part of its length; those of hops inside a site have no number."""
    source, target = places[hop.source], places[hop.target]
    curve = _curve(source, target)
    if target.column - source.column > 1:
        part = 0.5
    (x1, y1), *others = curve
    bends = " ".join(f"{x:.0f} {y:.0f}" for x, y in others)
    classes = " ".join(("arrow", *(("chosen",) * chosen), *(("broken",) * (not hop.connected))))
    tip = f"url(#{'chosen-tip' if chosen else 'tip'})"
    line = tag("path", d=f"M{x1:.0f} {y1:.0f}C{bends}", class_=classes, marker_end=tip)
    words = f"cost {hop.cost}" if hop.next_site is not None else "" if hop.connected else "no common network"
    if not words:
        return line, None
    weights = ((1 - part) ** 3, 3 * part * (1 - part) ** 2, 3 * part**2 * (1 - part), part**3)
    x = sum(weight * point[0] for weight, point in zip(weights, curve, strict=True))
    y = sum(weight * point[1] for weight, point in zip(weights, curve, strict=True))
    wide = 7 * len(words) + 8
    label = joined(
        tag("rect", x=f"{x - wide / 2:.0f}", y=f"{y - 9:.0f}", width=wide, height=18, class_="ground"),
        tag("text", words, x=f"{x:.0f}", y=f"{y + 4:.0f}", class_="cost"),
    )
    return line, label


def _curve(source: _Place, target: _Place) -> tuple[tuple[float, float], ...]:
    """The four points of a curve; what goes back or stays in a column leaves room for what goes forth."""
    y1, y2 = source.y + _HEIGHT / 2, target.y + _HEIGHT / 2
    if target.column == source.column:
        x1, x2 = source.x + _BOX, target.x + _BOX + _TIP
        toward = 10 if y2 > y1 else -10
        y1, y2 = y1 + toward, y2 - toward
        return (x1, y1), (x1 + 56, y1), (x2 + 48, y2), (x2, y2)
    if target.column > source.column:
        x1, x2 = source.x + _BOX, target.x - _TIP
        if target.column - source.column > 1:
            # Over the boxes between them.
            return (x1, y1), (x1 + 60, y1 - _ARCH), (x2 - 60, y2 - _ARCH), (x2, y2)
    else:
        x1, x2 = source.x, target.x + _BOX + _TIP
        y1, y2 = y1 + 16, y2 + 16
    middle = (x1 + x2) / 2
    return (x1, y1), (middle, y1), (middle, y2), (x2, y2)


def _tip(identifier: str, classes: str) -> Markup:
    return tag(
        "marker",
        tag("path", d="M0 0L10 5L0 10z", class_=classes),
        id=identifier,
        viewBox="0 0 10 10",
        refX=1,
        refY=5,
        markerWidth=9,
        markerHeight=9,
        markerUnits="userSpaceOnUse",
        orient="auto",
    )


def _summary(prediction: Prediction) -> str:
    if prediction.source.identifier == prediction.destination.identifier:
        return "It is the destination itself: nothing is routed."
    if not prediction.arrives:
        return "No way leads there."
    reported = shown_paths(prediction, 1)
    more = "" if reported.all_counted else "More than "
    cost = "" if reported.lowest_cost is None else f", lowest cost {reported.lowest_cost:,}"
    paths = "path" if reported.arriving == 1 else "paths"
    return f"{more}{reported.arriving:,} {paths}{cost}. In colour: the chosen one."


def _words(prediction: Prediction, topology: Topology, chosen: tuple[PredictedHop, ...]) -> str:
    names = [called(prediction.source)]
    names += [called(machine_of(prediction, topology, hop.target)) for hop in chosen]
    way = ", then ".join(visible(name, 64) for name in names)
    return f"{_summary(prediction)} The chosen path: {way}; cost {sum(hop.cost for hop in chosen)}."


def _left_out(prediction: Prediction, boxes: int, arrows: int) -> str:
    known = {prediction.source.identifier, *prediction.hops}
    known.update(hop.target for hops in prediction.hops.values() for hop in hops)
    parts = []
    if len(known) > boxes:
        parts.append(f"{len(known) - boxes:,} more queue managers")
    if arrows:
        parts.append(f"{arrows:,} more hops")
    if not prediction.complete:
        parts.append("what lies beyond those that were looked at")
    return f"Left out: {', '.join(parts)}." if parts else ""


def _cut(text: str, most: int) -> str:
    shown = visible(text, 400)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
