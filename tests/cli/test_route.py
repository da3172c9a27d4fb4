"""``msmq-wire route``: the paths of a message as text, JSON and drawings, and how it ends."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from msmq_wire.cli import topology_input
from msmq_wire.cli.render.route_dot import dot_lines
from msmq_wire.cli.render.route_svg import MOST_BOXES, svg_text
from msmq_wire.cli.render.route_text import REASONS, RouteText
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.topology_input import read_topology
from msmq_wire.routing.algorithm import HopRule
from msmq_wire.routing.directory import QueueManager, RoutingLink, Site
from msmq_wire.routing.prediction import Predictor
from msmq_wire.routing.topology import Topology, topology_of
from msmq_wire.wire.types.guid import GUID
from tests.cli.conftest import is_refused
from tests.schemas import schema_of

Run = Callable[..., Any]
Write = Callable[[str], Path]
_SVG = "{http://www.w3.org/2000/svg}"
_PC_C = "cccccccc-0000-4000-8000-00000000000c"
_LONG = "a-computer-whose-name-has-sixty-characters-as-some-may-have-"
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_LIST = rf"\[\w+=(?:\w+|[0-9.]+|{_STRING})(?:, \w+=(?:\w+|[0-9.]+|{_STRING}))*\]"
_DOT_LINE = re.compile(
    rf"digraph route {{|  rankdir=LR;|  label={_STRING}; labelloc=t;|  node {_LIST}; edge {_LIST};"
    rf"|  subgraph cluster_\d+ {{|    label={_STRING}; style=rounded;|(?:  |    )n\d+ {_LIST};|  }}|}}"
    rf"|  n\d+ -> n\d+ {_LIST};"
)


def _manager(name: str, site: str, further: str = "") -> str:
    return f'[[queue_manager]]\ncomputer_name = "{name}"\nsite_identifier_list = ["{site}"]\n{further}\n'


def _example(a_b: int, b_c: int) -> str:
    """The enterprise of [MS-MQBR] section 4: a gate and a computer in each of its four sites."""
    parts = []
    for site in "ABCD":
        parts.append(f'[[site]]\nname = "{site}"\n')
        parts.append(_manager(f"gate-{site.lower()}", site, "routing_server = true"))
        further = f'identifier = "{_PC_C}"\naddresses = ["192.0.2.30"]' if site == "C" else ""
        parts.append(_manager(f"pc-{site.lower()}", site, further))
    for one, other, cost in (("A", "B", a_b), ("B", "C", b_c), ("B", "D", 1), ("C", "D", 1)):
        parts.append(
            f'[[routing_link]]\ndescription = "{one}{other}"\nactual_cost = {cost}\n'
            f'site1_identifier = "{one}"\nsite2_identifier = "{other}"\n'
            f'site_gate_identifier_list = ["gate-{one.lower()}", "gate-{other.lower()}"]\n'
        )
    return "\n".join(parts)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a topology; the path of its file."""

    def write_(text: str) -> Path:
        path = tmp_path / "enterprise.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_


@pytest.fixture
def example(write: Write) -> Path:
    """The enterprise of section 4 with its first costs."""
    return write(_example(3, 1))


def test_with_the_first_costs_of_section_4_the_way_from_a_to_c_is_over_b(run: Run, example: Path) -> None:
    # [MS-MQBR] 4
    status, out, err = run("route", "--topology", example, "pc-a", "pc-c")
    assert (status, err) == (0, "")
    assert out == (
        "From pc-a (site A) to pc-c (site C): 1 path, lowest cost 4.\n"
        "\n"
        "Path 1, chosen, cost 4\n"
        "   1. pc-a → gate-a    site A\n"
        "      The destination is in another site: a routing server of the sender's site takes the message. "
        "[MS-MQBR] 3.1.5.1\n"
        "   2. gate-a → gate-b  site A → site B, cost 3\n"
        "      The destination is in another site: a gate of the next site on a least-cost path takes the "
        "message. [MS-MQBR] 3.1.5.3\n"
        "   3. gate-b → gate-c  site B → site C, cost 1\n"
        "      The destination is in another site: a gate of the next site on a least-cost path takes the "
        "message. [MS-MQBR] 3.1.5.3\n"
        "   4. gate-c → pc-c    site C\n"
        "      The destination is in the same site: the message goes straight to it. [MS-MQBR] 3.1.5.3\n"
    )


def test_with_the_second_costs_of_section_4_it_is_over_b_and_d(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    # [MS-MQBR] 4
    monkeypatch.setenv("COLUMNS", "80")
    status, out, err = run("route", "--topology", write(_example(3, 3)), "PC-A", "pc-c\\private$\\orders")
    assert (status, err) == (0, "")
    assert out == (
        "From pc-a (site A) to pc-c (site C): 1 path, lowest cost 5.\n"
        "\n"
        "Path 1, chosen, cost 5\n"
        "   1. pc-a → gate-a    site A\n"
        "      The destination is in another site: a routing server of the sender's site\n"
        "      takes the message. [MS-MQBR] 3.1.5.1\n"
        "   2. gate-a → gate-b  site A → site B, cost 3\n"
        "      The destination is in another site: a gate of the next site on a\n"
        "      least-cost path takes the message. [MS-MQBR] 3.1.5.3\n"
        "   3. gate-b → gate-d  site B → site D, cost 1\n"
        "      The destination is in another site: a gate of the next site on a\n"
        "      least-cost path takes the message. [MS-MQBR] 3.1.5.3\n"
        "   4. gate-d → gate-c  site D → site C, cost 1\n"
        "      The destination is in another site: a gate of the next site on a\n"
        "      least-cost path takes the message. [MS-MQBR] 3.1.5.3\n"
        "   5. gate-c → pc-c    site C\n"
        "      The destination is in the same site: the message goes straight to it.\n"
        "      [MS-MQBR] 3.1.5.3\n"
    )


@pytest.mark.parametrize(
    "name",
    [
        "pc-c",
        "PC-C",
        _PC_C,
        "192.0.2.30",
        "pc-c\\orders",
        "pc-c\\private$\\orders",
        f"PRIVATE={_PC_C}\\0000000f",
        f"FormatName:private={_PC_C.upper()}\\f",
        f"MACHINE={_PC_C};journal",
    ],
)
def test_the_destination_can_be_named_in_many_ways(run: Run, example: Path, name: str) -> None:
    status, out, _ = run("route", "--topology", example, "pc-a", name)
    assert status == 0
    assert out.startswith("From pc-a (site A) to pc-c (site C): 1 path, lowest cost 4.\n")


def test_a_direct_format_name_is_not_routed(run: Run, example: Path) -> None:
    status, out, err = run("route", "--topology", example, "pc-a", "DIRECT=OS:elsewhere\\private$\\q")
    assert (status, err) == (0, "")
    assert out == (
        "From pc-a (site A) to elsewhere (not in the topology): 1 path, lowest cost 0.\n"
        "\n"
        "Path 1, chosen, cost 0\n"
        "   1. pc-a → elsewhere\n"
        "      A direct format name is not routed: the message goes straight to the host that it names. "
        "[MS-MQBR] 1.6\n"
    )
    status, out, _ = run("route", "--topology", example, "pc-a", "direct=tcp:192.0.2.30\\q")
    assert status == 0
    assert "   1. pc-a → pc-c  site A → site C\n" in out


@pytest.mark.parametrize("name", ["pc-a", "pc-a\\q", ".\\private$\\q", "DIRECT=OS:pc-a\\q", "DIRECT=OS:.\\q"])
def test_nothing_is_routed_to_oneself(run: Run, example: Path, name: str) -> None:
    outcome = run("route", "--topology", example, "pc-a", name)
    assert outcome == (0, "pc-a is the destination itself: nothing is routed.\n", "")
    view = json.loads(run("route", "--topology", example, "pc-a", name, "--format", "json").out)
    assert (view["arrives"], [path["hops"] for path in view["paths"]]) == (True, [[]])
    drawing = ElementTree.fromstring(run("route", "--topology", example, "pc-a", name, "--svg").out)
    assert len(drawing.findall(f"{_SVG}g")) == 1
    assert "->" not in run("route", "--topology", example, "pc-a", name, "--dot").out


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (("nobody", "pc-c"), "no queue manager nobody in the topology"),
        (("pc-a", "nobody"), "no queue manager nobody in the topology"),
        (("pc-a", "nobody\\private$\\q"), "no queue manager nobody in the topology"),
        (
            ("pc-a", "PRIVATE=00000000-0000-4000-8000-000000000000\\1"),
            "no queue manager 00000000-0000-4000-8000-000000000000 in the topology",
        ),
        (
            ("pc-a", f"PUBLIC={_PC_C}"),
            f"PUBLIC={_PC_C}: only the directory knows where this is; name a queue manager instead",
        ),
        (
            ("pc-a", f"DL={_PC_C}"),
            f"DL={_PC_C}: only the directory knows where this is; name a queue manager instead",
        ),
        (
            ("pc-a", "MULTICAST=234.1.1.1:8001"),
            "MULTICAST=234.1.1.1:8001: not routed, [MS-MQBR] 1.6 is about public and private format names",
        ),
        (("pc-a", "no\x1b[31mbody\n"), "no queue manager no\\x1b[31mbody\\n in the topology"),
    ],
)
def test_a_name_that_leads_nowhere_is_one_line(
    run: Run, example: Path, names: tuple[str, str], line: str
) -> None:
    assert run("route", "--topology", example, *names) == (1, "", f"msmq-wire: {example}: {line}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pc-a", "PRIVATE=xyz"), "is no format name"),
        (("pc-a", "pc-c\\"), "is no path name"),
        (("pc-a", "pc-c", "--dot", "--svg"), "only one of --format, --dot and --svg can be used"),
        (("pc-a", "pc-c", "--svg", "--format", "json"), "only one of --format, --dot and --svg can be used"),
        (("pc-a", "pc-c", "--dot", "--paths", "3"), "--paths changes nothing in --dot"),
        (("pc-a", "pc-c", "--svg", "--paths", "3"), "--paths changes nothing in --svg"),
        (("pc-a", "pc-c", "--paths", "0"), "greater than or equal to 1"),
        (("pc-a",), "Missing argument 'TO'"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(
    run: Run, example: Path, arguments: tuple[str, ...], words: str
) -> None:
    is_refused(run("route", "--topology", example, *arguments), words)


def test_a_topology_has_to_be_named(run: Run) -> None:
    status, out, err = run("route", "pc-a", "pc-c")
    assert (status, out) == (2, "")
    assert "--topology" in err


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("missing.toml", "cannot read it: No such file or directory"),
        (".", "cannot read it: Is a directory"),
        ("nul\0byte", "cannot read it: embedded null byte"),
    ],
)
def test_a_topology_that_cannot_be_read_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = name.replace("\0", "\\x00")
    assert run("route", "--topology", name, "a", "b") == (1, "", f"msmq-wire: {shown}: {line}\n")


def test_a_topology_that_contradicts_itself_is_one_line(run: Run, write: Write) -> None:
    path = write(_example(0, 1))
    status, out, err = run("route", "--topology", path, "pc-a", "pc-c")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"msmq-wire: {path}: routing")
    assert "actual_cost 0" in err


def test_a_topology_that_is_too_large_is_refused_before_it_is_read_as_one(
    run: Run, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology_input, "MAX_TOPOLOGY", 10)
    status, out, err = run("route", "--topology", example, "pc-a", "pc-c")
    assert (status, out, err) == (1, "", f"msmq-wire: {example}: it is larger than 0 MiB\n")


def test_a_topology_can_come_from_standard_input(run: Run) -> None:
    status, out, err = run("route", "--topology", "-", "pc-a", "pc-c", stdin=_example(3, 1).encode())
    assert (status, err) == (0, "")
    assert "lowest cost 4" in out
    status, out, err = run("route", "--topology", "-", "pc-a", "pc-x", stdin=_example(3, 1).encode())
    assert (status, out) == (1, "")
    assert err == "msmq-wire: standard input: no queue manager pc-x in the topology\n"


def test_without_networkx_one_line_says_what_to_install(
    run: Run, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    outcome = run("route", "--topology", example, "pc-a", "pc-c")
    assert outcome == (1, "", 'msmq-wire: routing needs networkx: pip install "msmq-wire[routing]"\n')


@pytest.mark.slow
def test_the_command_line_starts_without_networkx() -> None:
    code = (
        "import sys; sys.modules['networkx'] = None\n"
        "from msmq_wire.cli.app import main\nsys.exit(main(['route', '--help']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Exit status: 0 a way leads there" in done.stdout


def test_notes_are_told_six_at_most_and_none_when_quiet(
    run: Run, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topology = read_topology(str(example))
    odd = msgspec.structs.replace(topology, notes=tuple(f"note {n}" for n in range(1, 9)))
    monkeypatch.setattr(topology_input, "parse_topology", lambda data: odd)
    status, _, err = run("route", "--topology", example, "pc-a", "pc-c")
    reported = [f"{example}: {words}" for words in (*(f"note {n}" for n in range(1, 7)), "and 2 more")]
    assert (status, err.splitlines()) == (0, reported)
    assert run("route", "--topology", example, "pc-a", "pc-c", "--quiet").err == ""


_ISLAND = '[[site]]\nname = "Island"\n\n' + _manager("friday", "Island")


@pytest.mark.parametrize("option", [(), ("--format", "json"), ("--dot",), ("--svg",)])
def test_where_no_way_leads_the_status_is_1(run: Run, write: Write, option: tuple[str, ...]) -> None:
    path = write(_example(3, 1) + _ISLAND)
    status, out, err = run("route", "--topology", path, "gate-a", "friday", "--quiet", *option)
    assert status == 1
    if not option:
        assert err == ""
        assert out == (
            "From gate-a (site A) to friday (site Island): no way leads there.\n"
            "\n"
            "Path 1, chosen, does not arrive\n"
            "      It stops at gate-a: its table leads to no gate on the way to the destination's site.\n"
        )
        return
    assert err == "msmq-wire: From gate-a (site A) to friday (site Island): no way leads there\n"
    assert "gate-a" in out


_NETWORKS = """
[[connected_network]]
name = "ip"

[[connected_network]]
name = "ipx"

[[site]]
name = "One"

[[queue_manager]]
computer_name = "old"
site_identifier_list = ["One"]
connected_network_identifier_list = ["ipx"]

[[queue_manager]]
computer_name = "new"
site_identifier_list = ["One"]
connected_network_identifier_list = ["ip"]

[[queue_manager]]
computer_name = "server"
site_identifier_list = ["One"]
routing_server = true
"""


def test_a_path_that_does_not_arrive_says_where_it_stops(run: Run, write: Write) -> None:
    status, out, err = run("route", "--topology", write(_NETWORKS), "old", "new")
    assert (status, err) == (0, "")
    assert out == (
        "From old (site One) to new (site One): 1 path, lowest cost 0; 1 more does not arrive.\n"
        "\n"
        "Path 1, chosen, does not arrive\n"
        "   1. old → new  site One\n"
        "      The destination is in the same site: the message goes straight to it. [MS-MQBR] 3.1.5.1\n"
        "      It stops at old: the two have no connected network in common.\n"
        "\n"
        "Path 2, cost 0\n"
        "   1. old → server  site One\n"
        "      The two cannot connect: a routing server of the site may pass the message on. "
        "[MS-MQBR] 1.3.2\n"
        "   2. server → new  site One\n"
        "      The destination is in the same site: the message goes straight to it. [MS-MQBR] 3.1.5.2\n"
    )


def test_servers_that_send_to_each_other_are_told_as_a_loop(run: Run, write: Write) -> None:
    text = '[[site]]\nname = "One"\n' + "".join(
        _manager(name, "One", further)
        for name, further in (
            ("sender", 'out_routing_server_identifier_list = ["first"]'),
            ("first", 'out_routing_server_identifier_list = ["sender"]'),
            ("target", ""),
        )
    )
    status, out, _ = run("route", "--topology", write(text), "sender", "target", "--quiet")
    assert status == 1
    assert out.splitlines()[0] == "From sender (site One) to target (site One): no way leads there."
    assert out.splitlines()[-1] == "      It comes back to sender, where it has been before."


def _many(gates: int) -> str:
    """``gates`` gates between a computer here and one there."""
    names = [f"gate-{n}" for n in range(gates)]
    listed = ", ".join(f'"{name}"' for name in (*names, "there-gate"))
    return "\n".join(
        (
            '[[site]]\nname = "Here"\n\n[[site]]\nname = "There"\n',
            _manager("here", "Here"),
            *(_manager(name, "Here", "routing_server = true") for name in names),
            _manager("there-gate", "There", "routing_server = true"),
            _manager("there", "There"),
            '[[routing_link]]\nactual_cost = 4\nsite1_identifier = "Here"\nsite2_identifier = "There"\n'
            f"site_gate_identifier_list = [{listed}]\n",
        )
    )


def test_paths_are_limited_and_what_is_left_out_is_said(run: Run, write: Write) -> None:
    path = write(_many(12))
    out = run("route", "--topology", path, "here", "there").out
    assert out.startswith("From here (site Here) to there (site There): 12 paths, lowest cost 4.\n")
    assert (out.count("\nPath "), out.count(", chosen,")) == (10, 1)
    assert "takes the message. First choice is gate-0. [MS-MQBR] 3.1.5.1\n" in out
    assert out.endswith("\n\n2 more paths are possible.\n")
    out = run("route", "--topology", path, "here", "there", "--paths", 11).out
    assert out.endswith("\n\n1 more path is possible.\n")
    view = json.loads(run("route", "--topology", path, "here", "there", "--format", "json").out)
    assert (len(view["paths"]), view["complete"]) == (10, False)


@pytest.mark.slow
def test_of_more_than_a_thousand_paths_it_is_said_that_there_are_more(run: Run, write: Write) -> None:
    path = write(_many(1001))
    out = run("route", "--topology", path, "here", "there", "--paths", 1).out
    assert out.startswith(
        "From here (site Here) to there (site There): more than 1,000 paths, lowest cost 4.\n"
    )
    assert out.endswith("\n\nMore paths are possible.\n")
    drawing = ElementTree.fromstring(run("route", "--topology", path, "here", "there", "--svg").out)
    words = drawing.findtext(f"{_SVG}desc") or ""
    assert words.startswith("More than 1,000 paths, lowest cost 4. In colour: the chosen one.")


def test_a_drawing_has_so_many_boxes_and_says_what_it_leaves_out(run: Run, write: Write) -> None:
    status, out, _ = run("route", "--topology", write(_many(MOST_BOXES + 50)), "here", "there", "--svg")
    drawing = ElementTree.fromstring(out)
    texts = ["".join(one.itertext()) for one in drawing.iter(f"{_SVG}text")]
    assert status == 0
    assert len(drawing.findall(f"{_SVG}g")) == MOST_BOXES
    assert "250 paths, lowest cost 4. In colour: the chosen one." in texts
    assert "Left out: 53 more queue managers." in texts
    assert {"here", "gate-0", "there-gate", "there"} <= set(texts)


def _svg_of(out: str) -> ElementTree.Element:
    assert out.isascii()
    drawing = ElementTree.fromstring(out)
    assert drawing.tag == f"{_SVG}svg"
    known = ("svg", "title", "desc", "style", "defs", "marker", "path", "rect", "text", "g")
    assert {one.tag for one in drawing.iter()} <= {f"{_SVG}{name}" for name in known}
    assert not any("href" in key or key.startswith("on") for one in drawing.iter() for key in one.attrib)
    return drawing


def test_a_drawing_stands_alone_and_has_words_for_those_who_do_not_see_it(run: Run, example: Path) -> None:
    drawing = _svg_of(run("route", "--topology", example, "pc-a", "pc-c", "--svg").out)
    assert drawing.findtext(f"{_SVG}title") == "Routes from pc-a to pc-c"
    assert drawing.findtext(f"{_SVG}desc") == (
        "1 path, lowest cost 4. In colour: the chosen one. "
        "The chosen path: pc-a, then gate-a, then gate-b, then gate-c, then pc-c; cost 4."
    )
    ids = {one.get("id") for one in drawing.iter()}
    assert set(drawing.get("aria-labelledby", "").split()) <= ids
    boxes = [one.findtext(f"{_SVG}title") for one in drawing.findall(f"{_SVG}g")]
    assert sorted(box or "" for box in boxes) == [
        "gate-a: gate, site A",
        "gate-b: gate, site B",
        "gate-c: gate, site C",
        "pc-a: site A",
        "pc-c: site C",
    ]
    arrows = [one.get("class") for one in drawing.findall(f"{_SVG}path")]
    assert arrows == ["arrow chosen"] * 4
    costs = ["".join(one.itertext()) for one in drawing.iter(f"{_SVG}text") if one.get("class") == "cost"]
    assert sorted(costs) == ["cost 1", "cost 3"]


def test_boxes_stand_in_columns_by_the_hops_from_the_source(run: Run, write: Write) -> None:
    drawing = _svg_of(run("route", "--topology", write(_many(3)), "here", "there", "--svg").out)
    columns: dict[str, list[str]] = {}
    for box in drawing.findall(f"{_SVG}g"):
        rectangle = box.find(f"{_SVG}rect")
        assert rectangle is not None
        name = (box.findtext(f"{_SVG}title") or "").partition(":")[0]
        columns.setdefault(rectangle.get("x", ""), []).append(name)
    ordered = [sorted(columns[x]) for x in sorted(columns, key=int)]
    assert ordered == [["here"], ["gate-0", "gate-1", "gate-2"], ["there-gate"], ["there"]]


def test_a_hop_that_cannot_be_made_is_drawn_broken(run: Run, write: Write) -> None:
    path = write(_NETWORKS)
    drawing = _svg_of(run("route", "--topology", path, "old", "new", "--svg").out)
    assert sorted(one.get("class", "") for one in drawing.findall(f"{_SVG}path")) == [
        "arrow",
        "arrow",
        "arrow chosen broken",
    ]
    lines = run("route", "--topology", path, "old", "new", "--dot").out.splitlines()
    assert '  n0 -> n1 [label="no common network", style=bold, penwidth=2.5];' in lines


def test_the_graph_has_a_cluster_for_every_site_and_the_chosen_path_in_bold(run: Run, example: Path) -> None:
    status, out, err = run("route", "--topology", example, "pc-a", "pc-c", "--dot")
    assert (status, err) == (0, "")
    assert out == (
        "digraph route {\n"
        "  rankdir=LR;\n"
        '  label="Routes from pc-a to pc-c"; labelloc=t;\n'
        '  node [fontname="sans-serif"]; edge [fontname="sans-serif"];\n'
        "  subgraph cluster_0 {\n"
        '    label="site A"; style=rounded;\n'
        '    n0 [label="pc-a", shape=box, penwidth=2.5];\n'
        '    n1 [label="gate-a\\ngate", shape=doubleoctagon];\n'
        "  }\n"
        "  subgraph cluster_1 {\n"
        '    label="site B"; style=rounded;\n'
        '    n2 [label="gate-b\\ngate", shape=doubleoctagon];\n'
        "  }\n"
        "  subgraph cluster_2 {\n"
        '    label="site C"; style=rounded;\n'
        '    n3 [label="gate-c\\ngate", shape=doubleoctagon];\n'
        '    n4 [label="pc-c", shape=box, penwidth=2.5];\n'
        "  }\n"
        "  n0 -> n1 [style=bold, penwidth=2.5];\n"
        '  n1 -> n2 [label="3", style=bold, penwidth=2.5];\n'
        '  n2 -> n3 [label="1", style=bold, penwidth=2.5];\n'
        "  n3 -> n4 [style=bold, penwidth=2.5];\n"
        "}\n"
    )
    assert all(_DOT_LINE.fullmatch(line) for line in out.splitlines())


def _text_of(topology: Topology, source: GUID, destination: GUID, width: int) -> str:
    prediction = Predictor(topology).predict(source, destination)
    stream = io.StringIO()
    screen = Screen(stream, "never")
    screen.width = width
    RouteText(screen, prediction, topology).print(10)
    return stream.getvalue()


def _named(names: Iterable[str]) -> tuple[Topology, GUID, GUID]:
    """A computer, two gates and a computer in two sites, under six names; the first and the last computer."""
    here, there, *others = names
    ids = [GUID(bytes([n]) * 16) for n in range(1, 8)]
    sites = (
        Site(identifier=ids[0], name=f"1{here}", site_gate_collection=(ids[3],)),
        Site(identifier=ids[1], name=f"2{there}", site_gate_collection=(ids[4],)),
    )
    managers = [
        QueueManager(
            identifier=ids[2 + n],
            computer_name=name,
            site_identifier_list=(ids[n // 2],),
            routing_server=n in (1, 2),
        )
        for n, name in enumerate(others)
    ]
    link = RoutingLink(identifier=ids[6], actual_cost=2, site1_identifier=ids[0], site2_identifier=ids[1])
    return topology_of(managers, sites, (link,)), ids[2], ids[5]


def test_names_of_sixty_characters_fit_on_eighty_columns() -> None:
    topology, source, destination = _named(_LONG[:-1] + letter for letter in "abcdef")
    out = _text_of(topology, source, destination, 80)
    assert max(map(len, out.splitlines())) <= 80
    flat = " ".join(out.split())
    for letter in "cdef":
        assert f"{_LONG[:-1]}{letter}" in flat
    assert "[MS-MQBR]\n" not in out
    assert out.splitlines()[:2] == [f"From {_LONG[:-1]}c (site", f"1{_LONG[:-1]}a)"]


_HOSTILE = 'x"\\N\\"];\n}<script>&amp;</text>]]>\x1b[31m\u202e\u3164\U000e0100\ud800\x00\ufffe☃'


def test_hostile_names_break_out_of_no_output() -> None:
    topology, source, destination = _named(_HOSTILE for _ in range(6))
    prediction = Predictor(topology).predict(source, destination)
    lines = list(dot_lines(prediction, topology))
    assert all(_DOT_LINE.fullmatch(line) for line in lines)
    assert "".join(lines).isascii()
    assert sum(line.count("{") for line in lines if line.endswith("{")) == lines.count("  }") + 1
    drawing = _svg_of(svg_text(prediction, topology))
    shown = 'x"\\N\\"];\\n}<script>&amp;</text>]]>\\x1b[31m\\u202e\\u3164\\U000e0100\\ud800\\x00\\ufffe☃'
    assert drawing.findtext(f"{_SVG}title") == f"Routes from {shown} to {shown}"
    out = _text_of(topology, source, destination, 80)
    assert not set("\x1b\u202e\u3164\U000e0100\ud800\x00") & set(out)


@pytest.mark.slow
@given(st.lists(st.text(max_size=90), min_size=6, max_size=6))
def test_whatever_the_names_are_the_drawings_can_be_read(names: list[str]) -> None:
    topology, source, destination = _named(names)
    prediction = Predictor(topology).predict(source, destination)
    assert all(_DOT_LINE.fullmatch(line) for line in dot_lines(prediction, topology))
    assert len(_svg_of(svg_text(prediction, topology)).findall(f"{_SVG}g")) == 4
    out = _text_of(topology, source, destination, 80)
    assert out.count("Path 1, chosen, cost 2\n") == 1
    assert max(map(cell_len, out.split("\n"))) <= 80


def test_every_rule_has_a_reason_in_words() -> None:
    assert set(REASONS) == set(HopRule)
    assert all(words.endswith(".") for words in REASONS.values())
    assert len(set(REASONS.values())) == len(HopRule)


def test_very_long_names_are_cut_in_text() -> None:
    topology, source, destination = _named(letter * 5000 for letter in "abcdef")
    out = _text_of(topology, source, destination, 80)
    assert "c" * 40 in out
    assert sum(line.count("c") for line in out.splitlines() if set(line.strip()) == {"c"}) < 1000
    assert len(out) < 6000


@pytest.mark.parametrize(
    ("topology", "source", "destination"),
    [
        ("example.toml", "A-CLIENT1", "C-CLIENT1"),
        ("example_other_costs.toml", "A-CLIENT2", "D-CLIENT2"),
        ("example.ldif", "A-CLIENT1", "DIRECT=OS:elsewhere\\q"),
        ("../findings/RTE-NONE/topology.toml", "A-CLIENT1", "C-CLIENT1"),
    ],
)
def test_what_json_shows_fits_its_schema(run: Run, topology: str, source: str, destination: str) -> None:
    root = Path(__file__).resolve().parents[2]
    file = root / "fixtures" / "routing" / topology
    outcome = run("route", "--topology", file, source, destination, "--format", "json")
    document = json.loads(outcome.out)
    assert schema_of("route").faults(document) == []
    assert not schema_of("route").fits(document | {"arrives": "yes"})
