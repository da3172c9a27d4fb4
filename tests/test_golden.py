"""What is kept of the output of commands: changes are found, told as text, and alike ones once."""

from __future__ import annotations

from pathlib import Path

import pytest

from msmq_wire.cli.program import COMMANDS
from tests.golden import lists
from tests.golden.__main__ import diff
from tests.golden.cases import LEFT, Case, all_cases
from tests.golden.comparing import differences
from tests.golden.lists import Found, kept, write
from tests.golden.rendering import digest, rendered

_CAPTURE = "fixtures/captures/demo.pcap"
_CASE = Case("messages", "captures/demo.pcap", "jsonl", ("messages", _CAPTURE, "--format", "jsonl"))


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).resolve().parents[1])


@pytest.mark.slow
def test_each_command_is_printed_in_help_and_its_output_too_or_left_out_with_a_reason() -> None:
    printed: dict[str, set[str]] = {}
    for case in all_cases():
        printed.setdefault(case.group, set()).add(case.subject)
    assert set(COMMANDS) <= printed["help"]
    assert set(printed) - {"help"} == set(COMMANDS) - set(LEFT)


def test_an_output_has_one_digest_whatever_the_terminal_zone_and_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = digest(rendered(_CASE))
    for name, value in (("COLUMNS", "40"), ("FORCE_COLOR", "1"), ("TZ", "Asia/Tokyo"), ("LANG", "C")):
        monkeypatch.setenv(name, value)
    assert digest(rendered(_CASE)) == first


def test_status_output_and_errors_all_count() -> None:
    output = rendered(_CASE)
    others = (
        output._replace(status=1),
        output._replace(out=output.out[:-1] + b"!\n"),
        output._replace(err=b"msmq-wire: no\n"),
    )
    assert len({digest(one) for one in (output, *others)}) == 4


def test_the_path_of_large_captures_gives_the_same() -> None:
    assert rendered(_CASE, by_column=True) == rendered(_CASE)


def test_a_fault_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.golden.rendering.main", lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError) as raised:
        rendered(_CASE)
    assert raised.value.__notes__ == [f"in msmq-wire messages {_CAPTURE} --format jsonl"]


def test_what_is_kept_is_read_as_it_was_written_with_the_reasons_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "_LISTS", tmp_path / "lists")
    monkeypatch.setattr(lists, "_SCREENS", tmp_path / "screens")
    assert kept("calls") == Found({}, {})
    write("calls", Found({("a", "table"): "1", ("b", "csv"): "2"}, {"a.txt": "one\n"}), "first")
    found = Found({("a", "table"): "1", ("a", "csv"): "3"}, {"c.txt": "two\n"})
    write("calls", found, "second")
    assert kept("calls") == found
    assert (tmp_path / "lists" / "calls.txt").read_text("utf-8").splitlines() == [
        "# first",
        "# second",
        "subject\ttable\tcsv",
        "a\t1\t3",
    ]


def test_outputs_that_changed_alike_are_told_once_with_their_number() -> None:
    before = {("calls", name, "table"): f"head\n{name}\n1 call\n" for name in ("a", "b", "c")}
    after = {key: text.replace("1 call", "one call") for key, text in before.items()}
    after["calls", "d", "table"] = "new\n"
    assert list(differences(before, after)) == [
        "== 3 outputs: calls a table; calls b table; calls c table",
        " head",
        " a",
        "-1 call",
        "+one call",
        "",
        "== 1 output: calls d table",
        "+ a new output",
        "",
    ]


def test_a_status_that_changed_is_told() -> None:
    key = ("calls", "a", "table")
    assert list(differences({key: "--- status 0\n"}, {key: "--- status 1\n"}))[1:3] == [
        "---- status 0",
        "+--- status 1",
    ]


def test_a_long_line_for_programs_is_compared_field_by_field() -> None:
    texts = ['{"label":"' + "x" * 300 + f'","queue":"{queue}","id":1}}\n' for queue in ("orders", "others")]
    key = ("messages", "a", "jsonl")
    reported = list(differences({key: texts[0]}, {key: texts[1]}))
    assert [line for line in reported if line.startswith(("+", "-"))] == [
        '-"queue":"orders",',
        '+"queue":"others",',
    ]


@pytest.mark.check
@pytest.mark.needs("git")
@pytest.mark.parametrize("group", ["demo", "pages"])
def test_another_revision_is_rendered_with_what_the_program_brings_along(
    group: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert diff("HEAD", group) in (0, 1)
    assert capfd.readouterr().out.splitlines()[-1].endswith(" outputs differ from HEAD")
