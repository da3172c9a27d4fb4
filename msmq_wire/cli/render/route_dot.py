"""A prediction as a graph for Graphviz: a cluster for every site, all possible hops, the chosen path bold.

The rule kept here: the output is ASCII, and a name is a quoted string in it that nothing breaks out of.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.routing.directory import QueueManager
from msmq_wire.routing.prediction import PredictedHop, Prediction
from msmq_wire.routing.prediction_view import called, chosen_path, kind_of, machine_of, site_names
from msmq_wire.routing.topology import Topology
from msmq_wire.wire.types.guid import GUID

_LONGEST = 256
_SHAPES = {
    "gate": "doubleoctagon",
    "routing server": "octagon",
    "foreign system": "component",
    "queue manager": "box",
}


def dot_lines(prediction: Prediction, topology: Topology) -> Iterator[str]:
    """The lines of a ``digraph``; nodes are called n0, n1 ... in the order of the ways, the source first."""
    ends = (prediction.source.identifier, *_targets(prediction), prediction.destination.identifier)
    number = {identifier: at for at, identifier in enumerate(dict.fromkeys(ends))}
    machines = {identifier: machine_of(prediction, topology, identifier) for identifier in number}
    chosen = {(hop.source, hop.target) for hop in chosen_path(prediction).hops}
    yield "digraph route {"
    yield "  rankdir=LR;"
    title = f"Routes from {called(prediction.source)} to {called(prediction.destination)}"
    yield f"  label={_quoted(title)}; labelloc=t;"
    yield '  node [fontname="sans-serif"]; edge [fontname="sans-serif"];'
    groups: dict[GUID | None, list[GUID]] = {}
    for identifier, machine in machines.items():
        sites = [site for site in machine.site_identifier_list if site in topology.sites]
        groups.setdefault(sites[0] if sites else None, []).append(identifier)
    for at, (site, members) in enumerate(groups.items()):
        indent = "  "
        if site is not None:
            yield f"  subgraph cluster_{at} {{"
            yield f"    label={_quoted(f'site {topology.sites[site].name}')}; style=rounded;"
            indent = "    "
        for member in members:
            end = member in (prediction.source.identifier, prediction.destination.identifier)
            yield f"{indent}n{number[member]} [{_node(machines[member], topology, end)}];"
        if site is not None:
            yield "  }"
    for hops in prediction.hops.values():
        for hop in hops:
            attributes = _edge(hop, chosen=(hop.source, hop.target) in chosen)
            yield f"  n{number[hop.source]} -> n{number[hop.target]}{attributes};"
    yield "}"


def _targets(prediction: Prediction) -> Iterator[GUID]:
    for hops in prediction.hops.values():
        for hop in hops:
            yield hop.target


def _node(machine: QueueManager, topology: Topology, end: bool) -> str:
    kind = kind_of(machine, topology)
    label = _text(called(machine))
    further = site_names(machine, topology)[1:]
    if kind != "queue manager":
        label += rf"\n{kind}"
    if further:
        label += rf"\nalso in {_text(', '.join(further))}"
    return f'label="{label}", shape={_SHAPES[kind]}' + (", penwidth=2.5" if end else "")


def _edge(hop: PredictedHop, *, chosen: bool) -> str:
    attributes = []
    if hop.next_site is not None:
        attributes.append(f'label="{hop.cost}"')
    elif not hop.connected:
        attributes.append('label="no common network"')
    if chosen:
        attributes.append("style=bold, penwidth=2.5")
    elif not hop.connected:
        attributes.append("style=dotted")
    else:
        attributes.append("style=dashed")
    return f" [{', '.join(attributes)}]"


def _quoted(text: str) -> str:
    return f'"{_text(text)}"'


def _text(text: str) -> str:
    """Text inside of a quoted string: Graphviz reads escapes and the entities of HTML there."""
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    safe = escaped(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return safe.encode("ascii", "xmlcharrefreplace").decode("ascii")
