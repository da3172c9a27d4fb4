"""The documentation says what the program does: it is current, its examples run, output fits the schemas."""

from __future__ import annotations

import doctest
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import msmq_wire
from docs.generators import coverage
from msmq_wire.capture.reader import read_capture
from msmq_wire.cli.app import main
from msmq_wire.cli.program import COMMANDS, GROUPS
from msmq_wire.engines.codec import inspect
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import CaptureError
from msmq_wire.records.call import call_of
from msmq_wire.records.message import message_view
from msmq_wire.records.view import inspect_view, record_view
from msmq_wire.replay.rule_table import all_rows
from msmq_wire.wire.registry import ENUMERATIONS, STRUCTURES
from tests.effort import in_batches
from tests.hex_files import hex_bytes
from tests.schemas import schema_of

_ROOT = Path(__file__).resolve().parents[2]
_DOCS = _ROOT / "docs"
_ROUTING = _ROOT / "fixtures" / "routing"
_README = _ROOT / "README.md"
_CONTRIBUTING = _ROOT / "CONTRIBUTING.md"
_PAGES = sorted(_DOCS.rglob("*.md"))
_CAPTURES = sorted((_ROOT / "fixtures" / "captures").glob("*.pcap*"))
_DEMO = _ROOT / "fixtures" / "captures" / "demo.pcap"
_ONE_MESSAGE = _ROOT / "fixtures" / "captures" / "clean_one_direction.pcap"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|tmp|work|root|Users|opt|var|usr|mnt)/|[A-Z]:\\\\?Users")


def _fences(path: Path, language: str) -> list[str]:
    return [body for found, body in _FENCE.findall(path.read_text(encoding="utf-8")) if found == language]


def _commands(path: Path) -> list[str]:
    lines = (line for body in _fences(path, "console") for line in body.splitlines())
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def _run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, script, *arguments], cwd=_ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.check
@pytest.mark.parametrize("script", ["dissectors/generate.py", "docs/generate.py", "docs/pictures.py"])
def test_generated_parts_are_current(script: str) -> None:
    result = _run(script, "--check")
    assert result.returncode == 0, result.stderr


@pytest.mark.check
def test_a_stale_page_is_named(tmp_path: Path) -> None:
    copy = tmp_path / "docs"
    for path in itertools.chain(_PAGES, *(_DOCS.rglob(f"*.{end}") for end in ("py", "txt", "json", "1"))):
        target = copy / path.relative_to(_DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    modules = [
        "msmq_wire/__init__.pyi",
        "msmq_wire/strategies/overloads.pyi",
        *(f"msmq_wire/api/{noun}_attributes.py" for noun in ("message", "call")),
    ]
    for folder in ("api", "strategies"):
        (tmp_path / "msmq_wire" / folder).mkdir(parents=True)
    for name in ("mkdocs.yml", *modules):
        (tmp_path / name).write_bytes((_ROOT / name).read_bytes())
    page = copy / "structures" / "ping.md"
    page.write_text(page.read_text(encoding="utf-8").replace("cookie", "biscuit"), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, copy / "generate.py", "--check"],
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "docs/structures/ping.md is out of date: run python docs/generate.py"
    ]


def test_every_structure_has_a_page_that_shows_all_its_fields() -> None:
    for stem, cls in STRUCTURES.items():
        text = (_DOCS / "structures" / f"{stem}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {cls.__name__}\n")
        assert str(cls.SPEC) in text
        assert [name for name in getattr(cls, "__struct_fields__", ()) if f"| `{name}` |" not in text] == []
        assert [must.code for must in getattr(cls, "MUSTS", ()) if f"`{stem}.{must.code}`" not in text] == []


def test_every_structure_is_in_the_navigation_and_the_coverage_table() -> None:
    navigation = (_ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    page = (_DOCS / "coverage.md").read_text(encoding="utf-8")
    index = (_DOCS / "structures" / "index.md").read_text(encoding="utf-8")
    assert [stem for stem in STRUCTURES if f"- structures/{stem}.md" not in navigation] == []
    assert [stem for stem in STRUCTURES if f"](structures/{stem}.md)" not in page] == []
    assert [stem for stem in STRUCTURES if f"]({stem}.md)" not in index] == []


def test_the_coverage_table_has_a_part_for_each_document_and_no_section_that_is_covered_as_missing() -> None:
    parts = coverage.block().split("## `[")[1:]
    documents = {part.partition("]")[0] for part in parts}
    assert documents >= {"MS-MQDS", "MS-MQCN", "MS-MQBR", "MS-MQSD", "MS-MQQB", "MC-MQSRM"}
    assert documents >= {row.spec.document for row in all_rows().values()}
    assert any(
        "| 2.2.5.1 | SEQUENCE_INFO (Packet) | `msmq_wire.rpc.types.sequence_info" in part for part in parts
    )
    for part in parts:
        named = re.findall(r"^\| ([0-9.]+) \|", part, re.MULTILINE)
        missing = re.findall(r"(?:: |, )([0-9][0-9.]+) ", part.partition("Nothing names")[2])
        assert set(named) & set(missing) == set()


def test_a_bit_table_on_a_page_has_the_masks_of_the_specification() -> None:
    user = (_DOCS / "structures" / "user_header.md").read_text(encoding="utf-8")
    assert "| 10-12 | `0x00001C00` | `dq` |" in user
    assert "| 25 | `0x02000000` | `ah` |" in user


def test_no_text_calls_a_packet_evidence_that_a_program_made_up() -> None:
    claim = re.compile(r"public (?:test )?packets?\b", re.IGNORECASE)
    folders = (_ROOT / "docs", _ROOT / "msmq_wire", _ROOT / "dissectors", _ROOT / "fixtures")
    files = [
        path
        for folder in folders
        for kind in ("md", "py", "toml", "lua")
        for path in folder.rglob(f"*.{kind}")
    ]
    assert [path.name for path in files if claim.search(path.read_text("utf-8", "replace"))] == []
    (must,) = (must for must in STRUCTURES["message_packet"].MUSTS if must.code == "trailers-outside")
    assert str(must.spec) == "[MS-MQMQ] 2.2.19.1"


def test_an_offset_on_a_page_is_that_of_the_specification() -> None:
    properties = (_DOCS / "structures" / "message_properties_header.md").read_text(encoding="utf-8")
    assert "| 24 | `body_type` | u32 |" in properties
    assert "| 56 | `label` | UTF-16 text, `label_length * 2` bytes |" in properties
    assert "|  | `message_body` | `_body_size` bytes |" in properties


def test_a_condition_on_a_page_names_the_bit() -> None:
    message = (_DOCS / "structures" / "user_message.md").read_text(encoding="utf-8")
    assert "[transaction_header](transaction_header.md) | `user_header.flags.th` |" in message
    address = (_DOCS / "structures" / "extended_address_header.md").read_text(encoding="utf-8")
    expected = "(address_type != 1 or address_length == 4) and (address_type != 6 or address_length == 16)"
    assert f"`{expected}`" in address


def test_every_enumeration_is_described_with_all_its_values() -> None:
    text = (_DOCS / "enumerations.md").read_text(encoding="utf-8")
    for name, members in ENUMERATIONS.items():
        section = text.partition(f"## {name} ")[2].partition("\n## ")[0]
        assert [m.name for m in members if f"| {int(m)} | `{m.name}` |" not in section] == []


def test_every_error_code_is_described() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (_ROOT / "msmq_wire").rglob("*.py"))
    codes = set(re.findall(r'(?:DecodeError|refuse)\(\s*"([a-z-]+)"', sources))
    problems = {f"sections.{code}" for code in re.findall(r'_problem\(\s*"([a-z-]+)"', sources)}
    text = (_DOCS / "anomalies.md").read_text(encoding="utf-8")
    assert codes
    assert problems
    assert sorted(code for code in codes | problems if f"| `{code}` |" not in text) == []


def test_every_command_is_described_with_its_help() -> None:
    commands = [*(name for name in COMMANDS if " " not in name), *GROUPS]
    text = (_DOCS / "command-line.md").read_text(encoding="utf-8")
    assert commands
    assert [name for name in commands if f"\n## {name}\n" not in text] == []
    assert [name for name in commands if f"Usage: msmq-wire {name} " not in text] == []


@in_batches([_README, *_PAGES], every=1)
def test_a_page_names_no_path_of_a_machine(path: Path) -> None:
    assert _MACHINE_PATH.findall(path.read_text(encoding="utf-8")) == []


@in_batches([_README, *_PAGES], every=1)
def test_a_link_to_a_file_leads_somewhere(path: Path) -> None:
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


@in_batches([_README, *_PAGES], every=1)
def test_a_page_takes_a_public_name_from_the_package(path: Path) -> None:
    imports = re.findall(r"from (msmq_wire\.[\w.]+) import (.+)", path.read_text(encoding="utf-8"))
    public = {name for _, names in imports for name in names.split(", ")} & set(dir(msmq_wire))
    assert public == set()


@in_batches([_README, _CONTRIBUTING, *_PAGES], every=1)
def test_a_path_of_the_tree_leads_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"`((?:dissectors|docs|fixtures|msmq_wire|tests)/[\w./<>*-]*)", text)
    # What stands for any name matches some.
    patterns = {name: re.sub(r"<[^>]+>", "*", name).rstrip("/") for name in named}
    assert [name for name, pattern in patterns.items() if not list(_ROOT.glob(pattern))] == []


def test_the_modules_of_the_picture_exist() -> None:
    picture = _fences(_DOCS / "architecture.md", "text")[0]
    package = _ROOT / "msmq_wire"
    named = re.findall(r"\b(?:\w+/)+\w+(?:\.py(?: \w+\.py)*)?", picture)
    paths = [
        package / Path(first).with_name(name)
        for first, *more in map(str.split, named)
        for name in (Path(first).name, *more)
    ]
    assert len(paths) > 30
    assert [str(path) for path in paths if not path.exists()] == []


def test_a_message_takes_the_steps_of_the_walk(capsys: pytest.CaptureFixture[str]) -> None:
    page = (_DOCS / "architecture.md").read_text(encoding="utf-8")
    walk = page.partition("\n## One message, step by step\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", walk, re.MULTILINE)
    assert len(steps) == len(re.findall(r"^\d+\. ", walk, re.MULTILINE)) > 20
    others = set(re.findall(r"`((?:\w+/)+\w+(?:\.py)?)`", walk))
    assert [name for name in others if not (_ROOT / "msmq_wire" / name).exists()] == []

    called: dict[tuple[str, str], None] = {}
    package = f"{_ROOT / 'msmq_wire'}{os.sep}"

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package):
            name = Path(code.co_filename.removeprefix(package)).as_posix()
            called[name, code.co_qualname] = None

    (command,) = re.findall(r"`msmq-wire (.*)`", walk)
    arguments = shlex.split(command.replace("capture.pcap", str(_ONE_MESSAGE)))
    sys.setprofile(note)
    try:
        status = main(arguments)
    finally:
        sys.setprofile(None)
    assert status == 0
    assert "orders" in capsys.readouterr().out
    taken = iter(called)
    assert [step for step in steps if step not in taken] == []


@pytest.mark.parametrize("path", sorted((_DOCS / "img").glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_loads_nothing_from_a_network(path: Path) -> None:
    text = re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.findall(r"https?://[^\"' )]*", text) == ["http://www.w3.org/2000/svg"]
    assert "@font-face" not in text


@pytest.mark.parametrize(("page", "least"), [("python-api.md", 31), ("arrow.md", 9), ("signatures.md", 6)])
def test_the_examples_of_a_page_print_what_they_say(
    page: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(_ROOT)
    source = "\n".join(_fences(_DOCS / page, "pycon"))
    examples = doctest.DocTestParser().get_doctest(source, {}, page, None, None)
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(examples, out=report.append)
    assert result.attempted >= least
    assert result.failed == 0, "".join(report)


def test_the_python_of_the_front_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [source] = _fences(_DOCS / "index.md", "python")
    (tmp_path / "fixtures").symlink_to(_ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    printed: list[object] = []
    exec(compile(source, "index.md", "exec"), {"print": lambda *values: printed.extend(values)})
    assert "DIRECT=OS:msg01\\private$\\orders" in printed


def test_the_python_of_the_page_about_routing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [source] = _fences(_DOCS / "routing.md", "python")
    routed = _ROOT / "fixtures" / "captures" / "routed_wrong.pcap"
    (tmp_path / "capture.pcapng").write_bytes(routed.read_bytes())
    (tmp_path / "enterprise.toml").write_bytes((_ROUTING / "example.toml").read_bytes())
    monkeypatch.chdir(tmp_path)
    printed: list[object] = []
    exec(compile(source, "routing.md", "exec"), {"print": lambda *values: printed.extend(values)})
    assert printed[:3] == [4, "arrives", ["routing_server", "next_site", "next_site", "direct"]]
    assert {"on_path", "off_path", "too_few_hops"} < set(map(str, printed))


# Those are run by tests/spark/test_documented_commands.py, which has a session, and tests/cli/test_lab.py.
_ELSEWHERE = ("msmq-wire spark ", "msmq-wire lab ")


def _arguments(page: Path) -> list[list[str]]:
    """The words behind msmq-wire of the commands of a page, up to what a shell does with their output."""
    commands = [words for words in _commands(page) if words.startswith("msmq-wire ")]
    found = [shlex.split(words)[1:] for words in commands if not words.startswith(_ELSEWHERE)]
    assert found
    return [list(itertools.takewhile(lambda word: word not in ("|", ">"), words)) for words in found]


@pytest.mark.parametrize("page", [_DOCS / "json.md", _DOCS / "routing.md"], ids=lambda path: path.name)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "capture.pcapng").write_bytes(_DEMO.read_bytes())
    for name, source in (("enterprise.toml", "example.toml"), ("export.ldif", "example.ldif")):
        (tmp_path / name).write_bytes((_ROUTING / source).read_bytes())
    message = hex_bytes(_ROOT / "fixtures" / "packets" / "user_message" / "session_header.hex")
    (tmp_path / "message.bin").write_bytes(message)
    # What the shell writes there.
    shown = json_line(inspect_view(inspect(message)))
    (tmp_path / "message.json").write_text(shown, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for arguments in _arguments(page):
        assert main(arguments) == 0, arguments


@pytest.mark.parametrize("place", ["zero_window", "path_mtu", "idle_reset", "wrong_clock"])
def test_the_page_about_two_places_shows_what_is_printed(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(_ROOT / "fixtures" / "places" / place)
    monkeypatch.setenv("COLUMNS", "1000")
    assert main(["diagnose", *(str(one) for one in sorted(Path().glob("*.pcap")))]) == 0
    first = capsys.readouterr().out.splitlines()[1]
    cause = re.sub(r"^ 1\. | \((?:frames? |TIM-SKEW).*", "", first)
    assert cause.endswith(".")
    assert cause in " ".join((_DOCS / "two-places.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize("page", [_README, _DOCS / "index.md"], ids=lambda path: path.name)
def test_the_first_commands_run_in_a_clone_and_print_rows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fixtures").symlink_to(_ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    before: set[Path] = set()
    for arguments in _arguments(page):
        assert main(arguments) == 0, arguments
        files = {path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size}
        written, before = files - before, files
        # A table begins with the names of its columns.
        rows = [line for line in capsys.readouterr().out.splitlines() if not re.match("(id  .*)?$", line)]
        assert rows or written, arguments


def test_the_readme_is_short_and_its_first_screen_says_what_it_is_how_to_try_it_and_how_it_looks() -> None:
    text = _README.read_text(encoding="utf-8")
    assert len(text.split()) < 500
    first = text.splitlines()[:14]
    assert "$ msmq-wire demo" in first
    assert [line for line in first if line.startswith("![")]


def test_the_make_targets_of_the_readme_exist() -> None:
    targets = [command.split()[1] for command in _commands(_README) if command.startswith("make ")]
    makefile = (_ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets == ["test", "check"]
    assert "`make demo`" in _README.read_text(encoding="utf-8")
    assert [target for target in targets if f"\n{target}: " not in makefile] == []


def test_a_fixture_fits_the_packet_schema(fixtures: Path, load: Callable[[Path], bytes]) -> None:
    files = sorted((fixtures / "packets").glob("*/*.hex"))
    assert files
    for path in files:
        data = load(path)
        for as_ in (path.parent.name, None):
            document = inspect_view(inspect(data, as_))
            assert (path, schema_of("packet").faults(document)) == (path, [])


def test_a_packet_cut_anywhere_fits_the_packet_schema(packet_bytes: Callable[[str], bytes]) -> None:
    data = packet_bytes("message_packet/transactional_secured")
    for end in range(0, len(data), 3):
        assert schema_of("packet").faults(inspect_view(inspect(data[:end], "message_packet"))) == []


def test_what_a_packet_cannot_be_does_not_fit_its_schema(packet_bytes: Callable[[str], bytes]) -> None:
    packet = schema_of("packet")
    good = inspect_view(inspect(packet_bytes("user_message/direct_destination")))
    assert packet.fits(good)

    def changed(change: Callable[[Any], object]) -> Any:
        document = json.loads(json.dumps(good))
        change(document)
        return document

    assert not packet.fits(changed(lambda d: d.pop("consumed")))
    assert not packet.fits(changed(lambda d: d.update(type="letter")))
    assert not packet.fits(changed(lambda d: d.update(type="ping")))
    assert not packet.fits(changed(lambda d: d["packet"].pop("user_header")))
    assert not packet.fits(changed(lambda d: d["packet"].update(letter_header=None)))
    assert not packet.fits(changed(lambda d: d["packet"]["base_header"].update(reserved=256)))
    assert not packet.fits(changed(lambda d: d["packet"]["base_header"].pop("reserved")))
    assert not packet.fits(changed(lambda d: d["packet"]["base_header"]["flags"].update(sh=0)))
    assert not packet.fits(changed(lambda d: d["packet"]["user_header"].update(source_queue_manager="x")))
    assert not packet.fits(changed(lambda d: d.update(remainder="AAA")))


@in_batches(_CAPTURES, every=27)
def test_the_rows_of_a_capture_fit_their_schemas(path: Path) -> None:
    try:
        records = list(read_capture(str(path), streams=True))
    except CaptureError:
        records = []
    for record in records:
        row = record_view(record)
        assert schema_of("record").faults(row) == []
        message = message_view(record, acknowledgments=True)
        if message is not None:
            assert schema_of("message").faults(message) == []
        call = call_of(record)
        if call is not None:
            assert schema_of("call").faults(call.row()) == []
