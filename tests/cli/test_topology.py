"""``msmq-wire topology``: what calls of the directory tell, as a file that route reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.routing.topology_file import parse_topology
from tests.routing.directory_calls import Conversation, guid, tell, text
from tests.routing.test_topology_calls import example

Run = Callable[..., Any]


@pytest.mark.slow
def test_what_is_written_is_the_enterprise_and_route_works_on_it(run: Run, tmp_path: Path) -> None:
    built = example()
    capture = tell(built, tmp_path / "calls.pcap")
    written = run("topology", capture)
    assert written.status == 0
    assert "4 sites" in written.err
    found = parse_topology(written.out.encode())
    assert found.sites == built.sites
    assert found.routing_links == built.routing_links
    assert found.queue_managers == built.queue_managers
    assert written.out.startswith("# Told in frame")
    file = tmp_path / "enterprise.toml"
    file.write_text(written.out, encoding="utf-8")
    way = run("route", "--topology", file, "A-CLIENT1", "C-CLIENT1", "--format", "json")
    own = tmp_path / "own.toml"
    own.write_bytes(Path("fixtures/routing/example.toml").read_bytes())
    assert way.status == 0
    assert way.out == run("route", "--topology", own, "A-CLIENT1", "C-CLIENT1", "--format", "json").out


def test_what_is_left_out_is_told(run: Run, tmp_path: Path) -> None:
    talk = Conversation()
    talk.look_up((301, 302), [(text("Berlin"), guid("0d1f7a62-93c4-4be5-8a70-5e6d21c9b384"))])
    for place in range(8):
        talk.get_named(2, f"pc-{place}", {233: text(f"pc-{place}.example")})
    talk.get_named(3, "Rome", {301: text("Rome")})
    talk.close()
    capture = talk.write(tmp_path / "calls.pcap")
    reported = run("topology", capture)
    assert reported.status == 0
    assert "queue managers of which no identifier was told: 8 (pc-0, pc-1" in reported.err
    assert "sites of which no identifier was told: 1 (rome)" in reported.err
    quiet = run("topology", capture, "--quiet")
    assert (quiet.out, quiet.err) == (reported.out, "")


def test_a_capture_without_such_calls_is_status_1(run: Run, tmp_path: Path) -> None:
    reported = run("topology", "fixtures/captures/routed_mixed.pcap")
    assert reported.status == 1
    assert reported.out == ""
    assert "no call in there tells of sites, routing links or queue managers" in reported.err


def test_an_enterprise_that_contradicts_itself_is_one_line(run: Run, tmp_path: Path) -> None:
    talk = Conversation()
    rows = [(text("Rome"), guid(f"0d1f7a62-93c4-4be5-8a70-5e6d21c9b38{end}")) for end in (4, 5)]
    talk.look_up((301, 302), rows)
    talk.close()
    reported = run("topology", talk.write(tmp_path / "calls.pcap"))
    assert reported.status == 1
    assert reported.out == ""
    assert "another site has the same name" in reported.err
