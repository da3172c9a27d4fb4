"""``msmq-wire route``: predicts every route of a message in an enterprise, with the reasons."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from msmq_wire.cli.options import Color, ColorOption, screen_for
from msmq_wire.cli.reporting import print_error
from msmq_wire.cli.topology_input import TopologyFile, read_topology, topology_name
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import FormatNameError, RoutingError, TopologyError
from msmq_wire.routing.directory import QueueManager
from msmq_wire.routing.topology import Topology
from msmq_wire.wire.names import FormatName, PathName, QueueFormatType

if TYPE_CHECKING:
    from msmq_wire.routing.prediction import Prediction

_PATHS = 10
_MOST_PATHS = 10_000
_KEYWORD = re.compile(r"(?:formatname:)?[a-z]+=", re.IGNORECASE)
_LOCAL = "."


class RouteFormat(StrEnum):
    """How a prediction is printed."""

    TEXT = "text"
    JSON = "json"


def route(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FROM", help="A queue manager: name, identifier or address.", show_default=False
        ),
    ],
    destination: Annotated[
        str,
        typer.Argument(
            metavar="TO", help="A queue manager as well, or the name of a queue.", show_default=False
        ),
    ],
    topology: TopologyFile,
    format_: Annotated[
        RouteFormat | None, typer.Option("--format", help="How to print it.", show_default="text")
    ] = None,
    paths: Annotated[
        int | None,
        typer.Option(
            "--paths", metavar="N", min=1, max=_MOST_PATHS, help="Paths to show.", show_default=str(_PATHS)
        ),
    ] = None,
    dot: Annotated[bool, typer.Option("--dot", help="Draw it for Graphviz.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="Draw it as SVG.")] = False,
    color: ColorOption = Color.AUTO,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not tell what is odd in the topology.")
    ] = False,
) -> None:
    r"""Predict the path of a message between queue managers.

    Every possible path is shown hop by hop, the one that would be chosen first: the sites, the cost of the
    link, and which rule of [MS-MQBR] makes the hop. TO may be a queue: host\private$\orders, or a format
    name; a DIRECT= name is not routed, and a PUBLIC= name does not say where its queue is. Drawings have all
    possible hops; what is odd in the topology is told on standard error.

    Exit status: 0 a way leads there; 1 none does, a name is not known, or T cannot be read; 2 bad usage.

    Examples:

        msmq-wire route --topology enterprise.toml pc-a "pc-c\private$\orders"

        msmq-wire route --topology export.ldif pc-a pc-c --format json

        msmq-wire route --topology enterprise.toml pc-a pc-c --svg > route.svg
    """
    _check_usage(format_, paths, dot, svg)
    enterprise = read_topology(topology, quiet=quiet)
    # networkx takes time to load, and it is an extra: what needs it is loaded where it is used.
    from msmq_wire.cli.render.route_dot import dot_lines
    from msmq_wire.cli.render.route_svg import svg_text
    from msmq_wire.cli.render.route_text import RouteText, ends_text
    from msmq_wire.routing.prediction_view import prediction_view

    try:
        prediction = _predict(enterprise, source, destination)
    except FormatNameError as error:
        raise typer.BadParameter(str(error), param_hint="TO") from None
    except (RoutingError, TopologyError) as error:
        print_error(f"{topology_name(topology)}: {error}")
        raise typer.Exit(1) from None
    if dot:
        for line in dot_lines(prediction, enterprise):
            print(line)
    elif svg:
        sys.stdout.write(svg_text(prediction, enterprise))
    elif format_ is RouteFormat.JSON:
        print(json_line(prediction_view(prediction, enterprise, paths or _PATHS), indent=2))
    else:
        RouteText(screen_for(color), prediction, enterprise).print(paths or _PATHS)
    if not prediction.arrives:
        if dot or svg or format_ is RouteFormat.JSON:
            print_error(f"{ends_text(prediction, enterprise)}: no way leads there")
        raise typer.Exit(1)


def _check_usage(format_: RouteFormat | None, paths: int | None, dot: bool, svg: bool) -> None:
    """Refuse options that exclude each other. Raises typer.BadParameter."""
    if dot + svg + (format_ is not None) > 1:
        raise typer.BadParameter("only one of --format, --dot and --svg can be used")
    for option, given in (("dot", dot), ("svg", svg)):
        if given and paths is not None:
            raise typer.BadParameter(f"--paths changes nothing in --{option}: all possible hops are drawn")


def _predict(topology: Topology, from_: str, to: str) -> Prediction:
    """The ways between what two names mean.

    Raises TopologyError for a name that is not known or cannot be, FormatNameError for one that is none.
    """
    from msmq_wire.routing.prediction import Predictor
    from msmq_wire.routing.prediction_view import direct_prediction

    source = topology.find(from_)
    if _KEYWORD.match(to):
        name = FormatName.parse(to)
        match name.kind:
            case QueueFormatType.DIRECT:
                return direct_prediction(source, _host(topology, source, name.host))
            case QueueFormatType.PRIVATE | QueueFormatType.MACHINE:
                to = name.guid
            case QueueFormatType.PUBLIC | QueueFormatType.CONNECTOR | QueueFormatType.DL:
                raise TopologyError(
                    f"{name}: only the directory knows where this is; name a queue manager instead"
                )
            case _:
                raise TopologyError(
                    f"{name}: not routed, [MS-MQBR] 1.6 is about public and private format names"
                )
    elif "\\" in to:
        to = PathName.parse(to).computer
        if to == _LOCAL:
            to = from_
    destination = topology.find(to)
    return Predictor(topology).predict(source.identifier, destination.identifier)


def _host(topology: Topology, source: QueueManager, host: str) -> QueueManager | str:
    """The queue manager of a host; the host itself where the topology does not tell which it is."""
    if host == _LOCAL:
        return source
    try:
        return topology.find(host)
    except TopologyError:
        return host
