"""What an option means that several commands have: the same in each of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.commands import formats, having
from tests.cli.conftest import Outcome, is_refused

Run = Callable[..., Outcome]
_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_DEMO = _FIXTURES / "captures" / "demo.pcap"
_SHOWS: Mapping[str, tuple[object, ...]] = {
    "calls": (_FIXTURES / "rpc_captures" / "rpc_none_ndr.pcap",),
    "carve": (_FIXTURES / "at_rest" / "P0003420.MQ",),
    "decode": (_DEMO,),
    "diagnose": (_DEMO, "--question", "3"),
    "export": (_DEMO, "--to", "{out}"),
    "findings": (_DEMO, "--level", "info"),
    "messages": (_DEMO,),
    "packet": (_FIXTURES / "packets" / "user_message" / "direct_destination.hex",),
    "replay": (_FIXTURES / "findings" / "RPL-TWICE" / "hit_locked.pcap",),
    "report": (_DEMO, "-o", "{out}"),
    "route-audit": ("--topology", _FIXTURES / "routing" / "example.toml", _DEMO, "--all"),
    "timeline": (_DEMO, "--all"),
    "why": (_DEMO, "4162"),
}
"""Command lines that show something; {out} is a file that is not there yet."""
_IN_TOKYO: Mapping[str, str] = {
    "calls": "2026-11-21 16:02:49.695192+09:00",
    "carve": "2026-11-20 18:14:07.000000+09:00",
    "decode": "2026-11-20 18:14:07.512000+09:00",
    "diagnose": "2026-11-20 18:14:07+0900",
    "findings": "2026-11-20 18:14:07.525000+09:00",
    "messages": "2026-11-20 18:14:07.525000+09:00",
    "packet": "2020-09-13 21:26:40+09:00",
    "replay": "2026-11-20 18:14:07.525000+09:00",
    "route-audit": "2026-11-20 18:14:07.525000+09:00",
    "timeline": "2026-11-20 18:14:07.512000+09:00",
    "why": "2026-11-20 18:14:07.522400+09:00",
}
"""The first time that they show in the zone of Tokyo, nine hours before UTC."""
_READ_BY_PEOPLE = ("table", "text", "tree")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)")
_SECRETS = ("192.0.2.", "msg01", "ws17", "a1d30c5b", "4711", "<order", "srv01")
"""Addresses, names, identifiers, labels and bodies in what they read."""


def asked(option: str) -> list[str]:
    """The commands that have an option, of those that read captures or packets."""
    return [name for name in having(option) if name in _SHOWS]


def with_formats(option: str) -> list[tuple[str, str]]:
    """The commands that have an option, with each of their formats."""
    found = [(name, format_) for name in asked(option) for format_ in formats(name)]
    # It is the table of one question, which the demo capture does not answer.
    return [one for one in found if one != ("diagnose", "csv")]


@pytest.fixture
def shown(run: Run, tmp_path: Path) -> Run:
    """Run a command so that it shows something; what it writes is shown, too."""

    def show(command: str, *more: object) -> Outcome:
        out = tmp_path / "out"
        out.unlink(missing_ok=True)
        found = run(command, *(str(one).format(out=out) for one in _SHOWS[command]), *more)
        if not out.exists():
            return found
        return found._replace(out=found.out + out.read_bytes().decode("utf-8", "replace"))

    return show


def test_every_command_that_reads_captures_is_asked() -> None:
    others = ("compare-recording", "topology")
    assert set(having("--decode-as")) - set(_SHOWS) == set(others)
    assert set(asked("--timezone")) == set(_IN_TOKYO)


@pytest.mark.parametrize("command", asked("--timezone"))
def test_times_are_in_utc_or_in_the_zone_that_is_asked_for(shown: Run, command: str) -> None:
    utc = _TIME.findall(shown(command).out)
    tokyo = _TIME.findall(shown(command, "--timezone", "Asia/Tokyo").out)
    assert utc == _TIME.findall(shown(command, "--utc").out)
    assert [datetime.fromisoformat(one) for one in tokyo] == [datetime.fromisoformat(one) for one in utc]
    assert tokyo[0] == _IN_TOKYO[command]
    assert all(one.endswith("Z") for one in utc)
    assert all(one.endswith(("+09:00", "+0900")) for one in tokyo)


@pytest.mark.parametrize("command", asked("--timezone"))
def test_there_is_one_zone_and_it_has_a_name(shown: Run, command: str) -> None:
    is_refused(shown(command, "--utc", "--local"), "only one of --utc, --local and --timezone")
    is_refused(shown(command, "--local", "--timezone", "UTC"), "only one of --utc, --local and --timezone")
    is_refused(shown(command, "--timezone", "Mars/Olympus"), "no time zone is called 'Mars/Olympus'")


@pytest.mark.parametrize(("command", "format_"), with_formats("--timezone"))
@pytest.mark.parametrize("zone", [("--local",), ("--timezone", "Asia/Tokyo")])
def test_a_zone_is_refused_where_no_time_is_shown_in_it(
    shown: Run, command: str, format_: str, zone: tuple[str, ...]
) -> None:
    # Sentences have times.
    if format_ in _READ_BY_PEOPLE or command in ("diagnose", "timeline", "why"):
        assert shown(command, "--format", format_, *zone).status in (0, 3)
    else:
        words = f"{zone[0]} changes nothing in --format {format_}"
        is_refused(shown(command, "--format", format_, *zone), words)


@pytest.mark.parametrize("command", asked("--redact"))
def test_a_redaction_that_is_none_is_refused(shown: Run, command: str) -> None:
    is_refused(shown(command, "--redact", "hosts,everything"), "is none of bodies, labels, hosts")


@pytest.mark.parametrize(("command", "format_"), [*with_formats("--redact"), ("report", "")])
def test_nothing_that_is_redacted_is_shown(shown: Run, command: str, format_: str) -> None:
    more = ("--format", format_) if format_ else ()
    plain = shown(command, *more)
    redacted = shown(command, *more, "--redact", "hosts,labels", "--redact", "bodies")
    assert [one for one in _SECRETS if one in plain.out] != []
    assert [one for one in _SECRETS if one in redacted.out + redacted.err] == []
    assert redacted.status == plain.status
    assert redacted.out != ""


@pytest.mark.parametrize("command", asked("--color"))
def test_colours_are_shown_where_they_are_wanted(shown: Run, command: str) -> None:
    assert "\x1b[" in shown(command, "--color", "always").out
    assert "\x1b[" not in shown(command).out + shown(command, "--color", "never").out


@pytest.mark.parametrize("command", asked("--quiet"))
def test_a_quiet_command_says_nothing_on_standard_error(shown: Run, command: str) -> None:
    reported, quiet = shown(command), shown(command, "--quiet")
    assert (quiet.status, quiet.err) == (reported.status, "")
    assert reported.err.count("\n") == 1


@pytest.mark.parametrize("command", asked("--filter"))
def test_a_filter_that_is_none_is_refused(shown: Run, command: str) -> None:
    is_refused(shown(command, "--filter", "nonsense == 1"), "column 1")
    is_refused(shown(command, "--filter", "time > 0:00", "--filter", "time >"), "--filter")


@pytest.mark.parametrize("command", [one for one in asked("--filter") if one != "export"])
def test_all_filters_must_match(shown: Run, command: str) -> None:
    def rows(*filters: str) -> int:
        given = (word for one in filters for word in ("--filter", one))
        return len(shown(command, "--format", "jsonl", *given).out.splitlines())

    assert rows() >= rows("time > 2000-01-01") > 0
    # A file that was searched has a row, whatever is in it.
    assert rows("time > 2000-01-01", "time < 2000-01-01") == (command == "carve")


@pytest.mark.parametrize(("command", "format_"), with_formats("--columns"))
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("+zzz", "no column is called 'zzz'; there are"),
        ("z" * 300, f"no column is called '{'z' * 100}'; there are"),
        ("", "no column is left"),
    ],
)
def test_a_column_that_is_none_is_refused(
    shown: Run, command: str, format_: str, columns: str, words: str
) -> None:
    if format_ in ("tree", "sarif"):
        words = "has no columns"
    is_refused(shown(command, "--format", format_, f"--columns={columns}"), words)


@pytest.mark.parametrize("command", asked("--memory"))
@pytest.mark.parametrize("size", ["0", "much"])
def test_a_size_of_memory_that_is_none_is_refused(shown: Run, command: str, size: str) -> None:
    is_refused(shown(command, "--memory", size), "--memory")


@pytest.mark.parametrize("command", asked("--carve"))
@pytest.mark.parametrize("more", [("--port", "1234"), ("--decode-as", "8085=http"), ("--nt-hash", "0" * 32)])
def test_what_is_about_connections_is_refused_where_files_are_carved(
    shown: Run, command: str, more: tuple[str, str]
) -> None:
    is_refused(shown(command, "--carve", *more), "is about connections, and --carve finds none")


@pytest.mark.parametrize("command", asked("--decode-as"))
@pytest.mark.parametrize("port", ["65536=http", "8085=smtp"])
def test_a_port_that_is_read_as_nothing_is_refused(shown: Run, command: str, port: str) -> None:
    is_refused(shown(command, "--decode-as", port), f"'{port}' is not PORT=AS")


@pytest.mark.parametrize("command", asked("--format"))
def test_a_format_that_is_none_is_refused(shown: Run, command: str) -> None:
    is_refused(shown(command, "--format", "xml"), "--format")
