"""The commands that keep the tables of Spark, as far as no session is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from msmq_wire.capture.places import Place
from msmq_wire.cli.store_options import size_of
from msmq_wire.tables.store.store import Store
from tests.tables.store.filled_stores import fill

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
DEMO, OTHER = FOLDER / "demo.pcap", FOLDER / "path_ipv6.pcap"

Run = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return fill(tmp_path / "out", DEMO, OTHER)


def captures(store: Store) -> list[str]:
    found: list[str] = store.snapshot().rows("captures", ["capture"]).column("capture").to_pylist()
    return sorted(found)


@pytest.mark.slow
def test_status_is_a_table_and_lines(run: Run, store: Store, tmp_path: Path) -> None:
    outcome = run("spark", "status", tmp_path / "out")
    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].startswith(f"{tmp_path / 'out'}: 2 captures, ")
    assert lines[2].split() == ["table", "rows", "others", "files", "small", "size", "version"]
    rows = {line.split()[0]: line.split()[1:5] for line in lines[3:] if line}
    assert rows["messages"] == ["15", "0", "2", "2"]
    assert rows["calls"] == ["0", "0", "0", "0"]
    assert "runs" not in rows
    assert lines[-1].startswith("2 captures by version ")
    store.add_run({"name": "x", "captures": 2, "unchanged": 1, "damage": ["y"]})
    assert (
        run("spark", "status", tmp_path / "out")
        .out.splitlines()[-1]
        .endswith(": 2 captures decoded, 1 there already, 1 damaged")
    )


@pytest.mark.slow
def test_status_in_lines_of_json_says_what_each_is_about(run: Run, store: Store, tmp_path: Path) -> None:
    rows = list(
        map(json.loads, run("spark", "status", tmp_path / "out", "--format", "jsonl").out.splitlines())
    )
    assert [row["about"] for row in rows] == ["table"] * 10 + ["captures"]
    messages = next(row for row in rows if row.get("table") == "messages")
    assert (messages["rows"], messages["others"], messages["version"]) == (15, 0, 2)
    assert rows[-1]["captures"] == 2


@pytest.mark.slow
def test_status_says_where_many_files_are_small(
    run: Run, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("msmq_wire.cli.commands.spark_status._MANY", 2)
    lines = run("spark", "status", tmp_path / "out").out.splitlines()
    assert lines[-1] == "many files are small: msmq-wire spark compact puts them together"


@pytest.mark.slow
def test_status_verifies_all_files(run: Run, store: Store, tmp_path: Path) -> None:
    words = ("spark", "status", tmp_path / "out", "--verify")
    outcome = run(*words)
    assert (outcome.status, outcome.err) == (0, "no damage found\n")
    [path, _] = (tmp_path / "out" / "messages" / one.path for one in store.snapshot().files("messages"))
    path.unlink()
    outcome = run(*words)
    lines = outcome.err.splitlines()
    assert (outcome.status, len(lines)) == (1, 2)
    assert lines[0] == f"msmq-wire: messages/{path.parent.name}/{path.name} is not there"
    assert lines[1].startswith("msmq-wire: messages has 0 rows of ")
    outcome = run(*words, "--format", "jsonl")
    found = [json.loads(line) for line in outcome.out.splitlines()]
    assert [one["what"] for one in found if one["about"] == "damage"] == [
        line.removeprefix("msmq-wire: ") for line in lines
    ]
    assert outcome.status == 1


@pytest.mark.slow
def test_compact_says_what_was_put_together(run: Run, store: Store, tmp_path: Path) -> None:
    fill(tmp_path / "out", DEMO)
    words = ("spark", "compact", "--tables", tmp_path / "out")
    outcome = run(*words)
    assert (outcome.status, outcome.out) == (0, "")
    assert "messages: 3 files were put together" in outcome.err
    assert outcome.err.splitlines()[-1].split()[0] == "17"
    assert run(*words, "--quiet") == (0, "", "")
    assert run(*words).err == "nothing to put together\n"
    outcome = run(*words, "--older-than", "0")
    assert captures(store) == [str(DEMO), str(OTHER)]


@pytest.mark.slow
def test_captures_are_forgotten_by_name_and_by_digest(run: Run, store: Store, tmp_path: Path) -> None:
    rows = store.snapshot().rows("captures", ["capture", "digest"]).to_pylist()
    digest = next(row["digest"] for row in rows if row["capture"] == str(OTHER))
    outcome = run("spark", "forget", DEMO, "--tables", tmp_path / "out")
    assert outcome == (0, "", f"1 capture forgotten: {DEMO}\n")
    assert captures(store) == [str(OTHER)]
    assert run("spark", "forget", digest[:12], "--tables", tmp_path / "out", "--quiet") == (0, "", "")
    assert captures(store) == []


@pytest.mark.slow
def test_a_capture_that_is_not_there_is_one_line(run: Run, store: Store, tmp_path: Path) -> None:
    outcome = run("spark", "forget", DEMO, "/a.pcap", "/b.pcap", "--tables", tmp_path / "out")
    assert outcome == (1, "", f"msmq-wire: no capture in {tmp_path / 'out'} is called /a.pcap, /b.pcap\n")
    assert captures(store) == [str(DEMO), str(OTHER)]


@pytest.mark.slow
def test_vacuum_says_how_much_and_a_short_time_needs_force(run: Run, store: Store, tmp_path: Path) -> None:
    run("spark", "forget", DEMO, "--tables", tmp_path / "out")
    files = set((tmp_path / "out").rglob("part-*"))
    words = ("spark", "vacuum", "--tables", tmp_path / "out")
    assert run(*words) == (0, "", "0 files of 0 bytes deleted\n")
    outcome = run(*words, "--older-than", "23")
    assert outcome.status == 2
    assert "with fewer than 24 hours a run or a reader that is at work may lose files: --force" in outcome.err
    outcome = run(*words, "--older-than", "0", "--dry-run")
    assert outcome.err.endswith(" kB would be deleted\n")
    assert set((tmp_path / "out").rglob("part-*")) == files
    outcome = run(*words, "--older-than", "0", "--force")
    count = int(outcome.err.splitlines()[1].split()[0])
    assert outcome.err.startswith("msmq-wire: WARNING: a run or a reader that is at work may lose files\n")
    assert len(files) - len(set((tmp_path / "out").rglob("part-*"))) == count > 0


@pytest.mark.slow
def test_export_says_what_it_copied(run: Run, store: Store, tmp_path: Path) -> None:
    words = ("spark", "export", "--tables", tmp_path / "out", "--to", tmp_path / "plain")
    outcome = run(*words, "--table", "messages", "--table", "calls")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err.startswith("2 files of ")
    assert outcome.err.endswith(f" kB in {tmp_path / 'plain'}; rows: 15 messages, 0 calls\n")
    outcome = run(*words)
    assert (outcome.status, outcome.err.count("\n")) == (1, 1)
    assert f"{tmp_path / 'plain'} holds something" in outcome.err


@pytest.mark.parametrize(
    "words",
    [
        ("status", "TABLES"),
        ("forget", "x", "--tables", "TABLES"),
        ("compact", "--tables", "TABLES"),
        ("vacuum", "--tables", "TABLES"),
        ("export", "--tables", "TABLES", "--to", "copy"),
    ],
    ids=lambda words: words[0],
)
def test_where_no_tables_are_one_line_says_so(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    tables = tmp_path / "none"
    outcome = run("spark", *(str(tables) if word == "TABLES" else word for word in words))
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert outcome.err.startswith(f"msmq-wire: {tables} holds no tables: ")
    assert not tables.exists()
    outcome = run("spark", *("https://host/x" if word == "TABLES" else word for word in words))
    assert (outcome.status, outcome.err.count("\n")) == (1, 1)
    assert "https:// is not reached here; copy it to a folder" in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["compact", "--tables", "x", "--target-size", "big"],
            "Invalid value for --target-size: big is no size",
        ),
        (["compact", "--tables", "x", "--older-than", "-1"], "--older-than"),
        (["forget", "--tables", "x"], "Missing argument 'CAPTURE...'"),
        (["forget", "x"], "Missing option '--tables'"),
        (["vacuum", "--tables", "x", "--older-than", "-1"], "--older-than"),
        (["export", "--tables", "x"], "Missing option '--to'"),
        (["status"], "Missing argument 'DIR'"),
        (["status", "x", "--format", "csv"], "--format"),
    ],
)
def test_bad_usage_says_what_is_wrong(run: Run, words: list[str], message: str) -> None:
    outcome = run("spark", *words)
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert message in outcome.err


@pytest.mark.slow
def test_help_and_usage_load_nothing_and_what_is_missing_is_named(tmp_path: Path) -> None:
    source = (
        "import sys\nfor name in ('pyspark', 'deltalake', 'pyarrow'): sys.modules[name] = None\n"
        "from msmq_wire.cli.app import main\n"
        "names = ('status', 'forget', 'compact', 'vacuum', 'export')\n"
        "print(*(main(['spark', name, '--help']) for name in names))\n"
        "print(main(['spark', 'status', 'x']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path
    )
    lines = done.stdout.splitlines()
    assert (lines[-2:], done.stderr) == (
        ["0 0 0 0 0", "1"],
        'msmq-wire: tables need deltalake: pip install "msmq-wire[spark]"\n',
    )


@pytest.mark.slow
def test_no_command_that_keeps_tables_needs_spark(run: Run, store: Store, tmp_path: Path) -> None:
    source = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from msmq_wire.cli.app import main\n"
        f"tables = {str(tmp_path / 'out')!r}\n"
        "statuses = [main(['spark', *words]) for words in (['status', tables], "
        f"['forget', {str(DEMO)!r}, '--tables', tables], ['vacuum', '--tables', tables], "
        "['compact', '--tables', tables], "
        "['export', '--tables', tables, '--to', 'copy'])]\n"
        "print(statuses, 'py4j' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0, 0] False", done.stderr


SECRET = "c2VjcmV0"


@pytest.mark.parametrize(
    "url",
    [
        f"abfss://box@account.dfs.core.windows.net/x?sv=2024&sig={SECRET}",
        f"abfss://account.dfs.core.windows.net/x?{SECRET}",
        f"https://user:{SECRET}@host/x",
        f"https://{SECRET}@host/x",
        f"https://host/x#access_token={SECRET}",
        f"s3://bucket/x?X-Amz-Algorithm=a&X-Amz-Signature={SECRET}",
        f"s3://AKIA:{SECRET}@bucket/x",
        f"s3://AKIA:{SECRET}/{SECRET}@bucket/x",
        f"s3a://AKIA:a?{SECRET}@bucket/x",
        f"file://user:{SECRET}@host/x",
        f"https:/host/x?sig={SECRET}",
    ],
)
@pytest.mark.parametrize("words", [("status", "URL"), ("export", "--tables", "URL", "--to", "x")])
def test_the_secrets_of_a_url_are_not_printed(run: Run, words: tuple[str, ...], url: str) -> None:
    outcome = run("spark", *(url if word == "URL" else word for word in words))
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert SECRET not in outcome.err


@pytest.mark.parametrize(
    "said", ["no address", f"http://u:{SECRET}@host:1/a", f"http://u:{SECRET}@h.invalid"]
)
def test_the_secrets_of_the_environment_are_not_printed(
    run: Run, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", said)
    outcome = run("spark", "status", "s3://bucket/x")
    assert (outcome.status, outcome.err.count("\n")) == (1, 1)
    assert "AWS_ENDPOINT_URL" in outcome.err
    assert SECRET not in outcome.err


def test_an_object_store_that_cannot_be_reached_is_said_to_be_that(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(place: Place, *, recursive: bool = False) -> list[Any]:
        raise OSError(
            "When listing objects under key 'x/captures/' in bucket 'bucket': AWS Error NETWORK_CONNECTION "
            "during ListObjectsV2 operation: curlCode: 6, Could not resolve hostname; "
            "Details: Could not resolve host: bucket.s3.us-east-1.amazonaws.com"
        )

    monkeypatch.setattr(Place, "list", unreachable)
    assert run("spark", "status", "s3://bucket/x") == (
        1,
        "",
        "msmq-wire: cannot read the tables in s3://bucket/x: the object store cannot be reached: "
        "Could not resolve host: bucket.s3.us-east-1.amazonaws.com\n",
    )


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("128m", 128 << 20), ("2G", 2 << 30), ("3kb", 3 << 10), ("1t", 1 << 40)]
)
def test_a_size_is_a_number_and_a_unit(text: str, size: int) -> None:
    assert size_of(text, "--target-size") == size


@pytest.mark.parametrize("text", ["", "b", "m", "0", "0m", "-1", "1.5g", "1km", "1p", " 1", "²", "9" * 99])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no size as 128m or 1g"):
        size_of(text, "--target-size")
