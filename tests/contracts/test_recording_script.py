"""record.ps1, which nobody here can run: it parses, it follows the scenario, and its names have sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import tree_sitter
import tree_sitter_powershell

from msmq_wire.lab.recordings.recording import RecordedHost, RecordedMessage, RecordedStep, Recording
from msmq_wire.lab.recordings.scenario import (
    Acknowledge,
    Need,
    Scenario,
    ScenarioQueue,
    Step,
    StepAction,
    read_scenario,
)
from msmq_wire.records.log_event import CHANNEL, PROVIDER

pytestmark = pytest.mark.needs("tree-sitter", "tree-sitter-powershell")

_RECORD = Path("fixtures/record")
_PAGE = Path("docs/real-captures.md")

_PLAIN_TYPES = frozenset(
    {"bool", "byte[]", "guid", "int", "long", "ordered", "pscustomobject", "ref", "scriptblock", "string"}
    | {"switch", "uint32", "void", "DateTime", "IntPtr", "TimeSpan", "Type"}
)
"""What Windows PowerShell itself calls a type; about_Type_Accelerators has the list."""


def _parse(text: bytes) -> tree_sitter.Tree:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language())).parse(text)


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _text(node: tree_sitter.Node) -> str:
    assert node.text is not None
    return node.text.decode()


def _faults(tree: tree_sitter.Tree) -> list[tree_sitter.Point]:
    return [node.start_point for node in _walk(tree.root_node) if node.type == "ERROR" or node.is_missing]


@cache
def _script() -> tuple[tree_sitter.Node, ...]:
    return tuple(_walk(_parse((_RECORD / "record.ps1").read_bytes()).root_node))


def _scenario() -> Scenario:
    return read_scenario((_RECORD / "scenario.json").read_bytes())


def _entries(node: tree_sitter.Node) -> dict[str, tree_sitter.Node]:
    """The keys of the first literal of a hash table below a node, and what stands for each."""
    body = next(found for found in _walk(node) if found.type == "hash_literal_body")
    entries = [child for child in body.children if child.type == "hash_entry"]
    return {_text(entry.children[0]).strip("'"): entry.children[2] for entry in entries}


def _table(name: str) -> dict[str, tree_sitter.Node]:
    """A hash table that the script keeps in a variable."""
    assigned = (node for node in _script() if node.type == "assignment_expression")
    return _entries(next(node for node in assigned if _text(node).startswith(f"${name} = ")))


def _functions() -> dict[str, tree_sitter.Node]:
    return {_text(node.children[1]): node for node in _script() if node.type == "function_statement"}


def _members() -> set[str]:
    return {_text(node).strip("'") for node in _script() if node.type == "member_name"}


def _fields(*types: type[msgspec.Struct]) -> list[str]:
    return [field.name for one in types for field in msgspec.structs.fields(one)]


def test_the_script_parses() -> None:
    assert not _faults(_parse((_RECORD / "record.ps1").read_bytes()))


@pytest.mark.parametrize("end", [b"}\n", b")\n", b"'@\n"])
def test_a_script_that_lacks_an_end_does_not_parse(end: bytes) -> None:
    before, _, after = (_RECORD / "record.ps1").read_bytes().rpartition(end)
    assert _faults(_parse(before + after))


def test_the_script_is_ascii_since_windows_powershell_takes_it_for_ansi() -> None:
    assert (_RECORD / "record.ps1").read_bytes().isascii()


def test_the_script_says_first_that_nobody_ran_it() -> None:
    assert _text(_script()[0]).startswith("# Not run by us yet")


def test_every_deed_has_a_function_and_the_scenario_does_it() -> None:
    deeds = {name: _text(node).strip("'") for name, node in _table("Deeds").items()}
    assert set(deeds) == set(get_args(StepAction)) == {step.do for step in _scenario().steps}
    assert set(deeds.values()) <= set(_functions())


def test_a_step_has_the_properties_of_the_scenario_with_their_defaults() -> None:
    words = {"$true": True, "$false": False, "$null": None, "@()": ()}
    script = {
        name: words[_text(node)] if _text(node) in words else ast.literal_eval(_text(node))
        for name, node in _table("Defaults").items()
    }
    empty = Step(name="", do="wait")
    assert list(script) == _fields(Step)
    assert script == {name: getattr(empty, name) for name in _fields(Step)} | {"do": ""}


def test_a_queue_has_the_properties_of_the_scenario() -> None:
    assert list(_table("QueueDefaults")) == _fields(ScenarioQueue)


def test_every_property_of_a_step_is_heeded() -> None:
    used = {_text(node) for node in _script() if node.type == "member_access"}
    assert {f"$step.{name}" for name in _fields(Step)} <= used


def test_a_message_is_given_every_property_that_a_step_sends() -> None:
    fields = _fields(Step)
    sent = fields[fields.index("label") : fields.index("commit")]
    assert set(_table("Setters")) == set(sent) - {"repeat", "count", "via"}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("Needs", get_args(Need)),
        ("Acknowledge", get_args(Acknowledge)),
        ("Readers", get_args(msgspec.structs.fields(Step)[_fields(Step).index("by")].type)),
        ("Computers", get_args(msgspec.structs.fields(ScenarioQueue)[1].type)),
        ("SystemQueues", ("journal", "deadletter", "xactdeadletter")),
    ],
)
def test_a_table_of_the_script_has_the_words_of_the_scenario(table: str, words: tuple[str, ...]) -> None:
    assert set(_table(table)) == set(words)


@pytest.mark.parametrize("name", ["delivery", "via"])
def test_words_that_a_step_is_compared_with_are_those_of_the_scenario(name: str) -> None:
    type_ = next(field.type for field in msgspec.structs.fields(Step) if field.name == name)
    comparisons = (node for node in _script() if node.type == "comparison_expression")
    sides = [_text(node).split(f"{name} -") for node in comparisons]
    reported = {side[1].split("'")[1] for side in sides if len(side) == 2 and side[0] in ("$", "$step.")}
    assert reported
    assert reported < set(get_args(type_))


@pytest.mark.parametrize(
    ("function", "written"),
    [
        ("Get-RecordedMessage", RecordedMessage),
        ("Invoke-Step", RecordedStep),
        ("Get-RecordedHost", RecordedHost),
        ("Invoke-Scenario", Recording),
    ],
)
def test_what_the_script_writes_has_the_fields_of_a_recording(
    function: str, written: type[msgspec.Struct]
) -> None:
    assert list(_entries(_functions()[function])) == _fields(written)


def test_members_in_small_letters_are_fields_of_the_contract() -> None:
    fields = {*_fields(Scenario, ScenarioQueue, Step, Recording, RecordedStep, RecordedMessage), "new"}
    assert {name for name in _members() if name[0].islower()} <= fields


def test_the_folder_has_the_names_that_the_recording_tells() -> None:
    scenario = _entries(_functions()["Invoke-Scenario"])
    assert "'capture.pcapng'" in _text(scenario["capture"])
    assert _text(scenario["storage"]) == "'storage'"


def test_the_script_collects_the_event_log_and_what_its_events_say() -> None:
    copied, enabled = (_text(_functions()[name]) for name in ("Copy-Log", "Enable-Log"))
    assert "wevtutil epl $Log (Join-Path $Folder 'events.evtx')" in copied
    assert "wevtutil gp $Publisher /ge:true /gm:true" in copied
    assert "wevtutil sl $Log /e:true" in enabled
    called = [_text(node.children[0]) for node in _script() if node.type == "command"]
    assert called.index("Enable-Log") > called.index("Enable-Queuing")
    script = (_RECORD / "record.ps1").read_text(encoding="ascii")
    assert f"$Log = '{CHANNEL}'\n$Publisher = '{PROVIDER}'\n" in script


def _names_of_the_script() -> set[str]:
    """What the script uses of Windows: cmdlets, types, members, native functions, words of its programs."""
    commands = [node for node in _script() if node.type == "command"]
    names = {_text(node.children[0]) for node in commands} - set(_functions())
    names |= {name for name in _members() if name[0].isupper()}
    types = {_text(node)[1:-1] for node in _script() if node.type == "type_literal"}
    names |= types - _PLAIN_TYPES - {"MsmqWire.Native"}
    for node in commands:
        program = _text(node.children[0])
        if program in ("pktmon", "wevtutil"):
            words = [one for one in _walk(node) if one.type in ("generic_token", "command_parameter")]
            names |= {f"{program} {_text(word)}" for word in words if "." not in _text(word)}
    return {name for name in names if not name.startswith(("$", "&"))}


def _names_of_the_page() -> set[str]:
    table = _PAGE.read_text(encoding="utf-8").partition("## Where each name is documented")[2]
    table = table.partition("\n## ")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    assert all(len(row) == 5 and row[2].strip() and row[3].strip() for row in rows)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row[1])}


def test_every_name_that_the_script_uses_has_a_source_and_no_other_has_one() -> None:
    assert _names_of_the_script() == _names_of_the_page()
