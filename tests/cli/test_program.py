"""The table of commands: what the help says without them, and what is imported for which."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from msmq_wire.cli.app import main
from msmq_wire.cli.program import COMMANDS, GROUPS
from tests.cli.commands import commands

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = _ROOT / "msmq_wire" / "cli" / "commands"
_DEMO = str(_ROOT / "fixtures" / "captures" / "demo.pcap")


def _fresh(code: str, *arguments: str, **surroundings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(_ROOT), **surroundings},
    )


def _imported(*arguments: str) -> set[str]:
    """The modules that a fresh process has imported when a command line ends."""
    code = (
        "import sys; from msmq_wire.cli.app import main; main(sys.argv[1:])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    return set(_fresh(code, *arguments).stderr.splitlines()[-1].split())


def _commands_among(modules: set[str]) -> set[str]:
    prefix = "msmq_wire.cli.commands."
    return {name.removeprefix(prefix) for name in modules if name.startswith(prefix)}


def test_every_line_of_the_table_is_a_command_and_every_command_in_it() -> None:
    assert sorted(commands()) == sorted(COMMANDS)
    assert {place.partition(":")[0] for place, _ in COMMANDS.values()} == {
        path.stem for path in _FOLDER.glob("*.py") if path.stem != "__init__"
    }
    assert {name.partition(" ")[0] for name in COMMANDS if " " in name} == set(GROUPS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_the_first_sentence_of_its_help(name: str) -> None:
    command = commands()[name]
    assert command.whole.name == command.name == name.split()[-1]
    assert command.get_short_help_str() == command.whole.get_short_help_str(1000)


def test_no_line_of_the_help_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for _, line in COMMANDS.values()]
    for group in ("", *GROUPS):
        assert main([*group.split(), "--help"]) == 0
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 80
        lines = [line for line in lines if line not in text]
    assert lines == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("lab", "nothing"),
        pytest.param(("lab", "--help"), marks=pytest.mark.check),
        pytest.param(("nothing",), marks=pytest.mark.check),
    ],
)
def test_the_help_of_a_group_and_a_mistyped_name_import_no_command(arguments: tuple[str, ...]) -> None:
    assert _commands_among(_imported(*arguments)) == set()


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (("messages", _DEMO, "-q"), "messages"),
        pytest.param(("spark", "sql", "--help"), "spark_sql", marks=pytest.mark.check),
    ],
)
def test_a_command_imports_its_own_module_only(arguments: tuple[str, ...], module: str) -> None:
    assert _commands_among(_imported(*arguments)) == {module}


@pytest.mark.slow
def test_packets_are_listed_without_what_only_others_need() -> None:
    # The table has outcomes, for which sessions are followed.
    imported = _imported("messages", _DEMO, "-q", "--format", "jsonl")
    others = {
        *("pydantic", "rich.console", "rich.progress", "urllib.request", "numpy", "pandas", "pyarrow"),
        *("msmq_wire.records.rpc_reader", "msmq_wire.records.srmp_reader", "msmq_wire.detection"),
        *(
            "msmq_wire.sessions",
            "msmq_wire.rpc.interfaces",
            "msmq_wire.records.filter.record_names",
            "msmq_wire.records.tree.tree",
        ),
        *("msmq_wire.replay", "msmq_wire.routing", "msmq_wire.report.page", "msmq_wire.lab"),
    }
    assert sorted(imported & others) == []


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("me", ["messages"]),
        ("enc", ["encode"]),
        ("encode x --f", ["--fit", "--force"]),
        ("lab pu", ["purge"]),
        ("messages --bod", ["--bodies"]),
        ("messages --format ", ["table", "jsonl", "csv"]),
        ("explain FRM-SIZE", ["FRM-SIZE-MIN", "FRM-SIZE-MAX", "FRM-SIZE-STREAM"]),
        ("findings x --rule FRM-SIG", ["FRM-SIG"]),
        ("messages x --columns time,+lab", ["time,+label"]),
        ("messages x --columns outc", ["outcome"]),
        ("decode x --columns outc", []),
        ("calls x --columns +req", ["+request_id"]),
        ("calls x --columns nothing", []),
        ("decode x --columns anom", ["anomalies", "anomaly_codes"]),
        ("findings x --columns sev", ["severity"]),
        ("decode x --redact bodies,h", ["bodies,hosts"]),
    ],
)
def test_a_shell_completes_names_options_and_values(
    typed: str, wanted: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"msmq-wire {typed}"
    monkeypatch.setenv("_MSMQ_WIRE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert capsys.readouterr().out.split() == wanted


def test_a_mistyped_command_of_a_group_is_told_what_was_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lab", "recieve"]) == 2
    assert "Did you mean 'receive'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("messages", {"[default: 1; 1 to 256]"}),
        ("decode", {"[default: (512); 0 or more]"}),
        ("lab send", {"[default: 60.0; 0.1 to 86400]"}),
    ],
)
def test_the_bounds_of_a_number_are_told_in_words(
    name: str, bounds: set[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([*name.split(), "--help"]) == 0
    printed = capsys.readouterr().out
    assert {bound for bound in bounds if bound not in printed} == set()
    assert "x>=" not in printed
    assert "<=x" not in printed


def test_the_help_groups_the_commands_and_begins_with_diagnose(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    usage, *parts = capsys.readouterr().out.split("\n\n")
    assert usage == "Usage: msmq-wire FILE...\n       msmq-wire COMMAND [OPTIONS]..."
    titles = [part.partition(":\n")[0] for part in parts if not part.startswith(" ")]
    assert titles == ["Answer", "Look", "Judge", "Files", "Other tools", "Lab", "Spark", "Options"]
    assert parts[titles.index("Answer") + 2].splitlines()[1].split()[0] == "diagnose"
    named = [line.split()[0] for part in parts[2:-1] for line in part.splitlines()[1:]]
    assert sorted(named) == sorted({name.partition(" ")[0] for name in COMMANDS})


@pytest.mark.parametrize("name", ["diagnose", "messages", "export", "lab send"])
def test_options_about_keys_come_last_and_an_example_is_one_line(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    options, title, keys = text.partition("\nKeys and certificates:\n")
    assert title
    assert "--rsa-key-password" in keys
    assert [line for line in keys.splitlines() if line.startswith("  --")] != []
    assert "--rsa-key" not in options.partition("\nOptions:\n")[2]
    examples = options.partition("Examples:\n\n")[2].partition("\n\n")[0].splitlines()
    assert examples
    assert [line for line in examples if not line.startswith("      msmq-wire ")] == []
    assert "list[str]" not in text
    assert "{" not in text.splitlines()[0]


def test_files_without_a_command_are_diagnosed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def reported(*arguments: str) -> tuple[int, str, str]:
        return (main([*arguments]), *capsys.readouterr())

    assert reported(_DEMO) == reported("diagnose", _DEMO)
    assert reported(_DEMO, "--question", "4", "-q") == reported("diagnose", _DEMO, "--question", "4", "-q")
    assert reported("-v", _DEMO) == reported("diagnose", "-v", _DEMO)
    assert reported(str(tmp_path)) == reported("diagnose", str(tmp_path))
    missing = str(tmp_path / "missing.pcap")
    assert reported(missing) == reported("diagnose", missing)
    assert reported(missing)[0] == 1


def test_a_command_stays_one_where_a_file_has_its_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "messages").write_bytes(b"no capture")
    (tmp_path / "mesages").write_bytes(b"no capture")
    monkeypatch.chdir(tmp_path)
    assert main(["messages", _DEMO, "-q"]) == 0
    assert capsys.readouterr().out.startswith("id  ")
    assert main(["mesages"]) == 1
    assert capsys.readouterr().err.startswith("msmq-wire: mesages is text")
    assert main(["--nothing", "messages"]) == 2


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("help",), ("--help",)),
        (("/?",), ("--help",)),
        (("help", "messages"), ("messages", "--help")),
        (("messages", "-?"), ("messages", "--help")),
        (("lab", "/?"), ("lab", "--help")),
        ((_DEMO, "/?"), ("diagnose", "--help")),
    ],
)
def test_help_is_printed_however_it_is_asked_for(
    typed: tuple[str, ...], meant: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*typed]) == 0
    shown = capsys.readouterr().out
    assert main([*meant]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("mesages", "x"), "No such command 'mesages'. Did you mean 'messages'?"),
        (("messages", "x", "--fliter", "y"), "No such option: --fliter. Did you mean --filter?"),
        (("messages", _DEMO, "--columns", "lable"), "no column is called 'lable'. Did you mean 'label'?"),
    ],
)
def test_what_is_mistyped_is_told_with_what_was_meant(
    arguments: tuple[str, ...], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments]) == 2
    assert meant in capsys.readouterr().err


def test_nothing_is_suggested_that_only_begins_alike(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["messages", _DEMO, "--label", "x"]) == 2
    assert capsys.readouterr().err.startswith("msmq-wire: No such option: --label (see ")
