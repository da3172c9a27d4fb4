"""What the design says about imports and files, as far as a machine can check it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import msmq_wire
from msmq_wire.reassembly.tcp_flow import Shared
from tests.effort import share

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "msmq_wire"
SOURCE_FOLDERS = ("benchmarks", "dissectors", "docs", "fixtures", "msmq_wire", "tests")

# Neither the wheel nor anything it runs contains these two; there scapy is a peer or an oracle.
MAY_MEET_GPL = ("benchmarks", "tests")
GPL_MODULES = {
    *("dissect", "flow", "impacket", "msmq_dissect", "msmq_scapy", "msmq_wireshark", "pyshark", "scapy"),
}

# What construct, msgspec and the standard library's pickle (`org`) look for when they are imported.
CORE_MODULES = {"construct", "msgspec", "msmq_wire", "org", "typing_extensions"}

# Asks before every import, so an attempt counts even where the module is not installed.
IMPORT_AND_TELL = """
import sys

class Witness:
    def find_spec(self, name, path=None, target=None):
        print(name, file=sys.stderr)

sys.meta_path.insert(0, Witness())
"""

MAY_OPEN_FILES = {"capture", "cli", "lab", "output.py", "report", "spark", "tables/store"}
MAY_OPEN_NONE = {"lab/model", "lab/recordings", "report/redaction"}
"""Folders of those rooms that are fed with what others have opened."""


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def nodes(path: Path, words: Iterable[str]) -> Iterator[ast.AST]:
    """All nodes of a file that has one of some words; parsing it costs a hundred times as much as looking."""
    source = path.read_text(encoding="utf-8")
    if any(word in source for word in words):
        yield from ast.walk(ast.parse(source))


def imported_modules(path: Path, words: Iterable[str]) -> Iterator[str]:
    for node in nodes(path, words):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.check
@pytest.mark.needs("import-linter")
def test_every_import_contract_is_kept() -> None:
    lint_imports = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run(
        [lint_imports, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 broken" in result.stdout


LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
CONTRACTS = {contract["id"]: contract for contract in LINTER["contracts"]}
MANY = 10
"""Modules of a package from which on it says their order, or that they are equals."""
WITHOUT_AN_ORDER = {
    "msmq_wire.replay.rules": "rules beside the rows of their interface, with what they share",
}


def test_every_package_has_a_contract_for_its_inside() -> None:
    # What is imported for its types only counts, too.
    assert "exclude_type_checking_imports" not in LINTER
    circles = CONTRACTS["no-circles"]
    assert circles["ancestors"] == ["msmq_wire"]
    assert circles.keys() == {"id", "name", "type", "ancestors"}

    modules = Counter(
        ".".join(path.relative_to(ROOT).parent.parts)
        for path in (ROOT / "msmq_wire").rglob("*")
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").exists()
    )
    ordered = {one for contract in CONTRACTS.values() for one in contract.get("containers", ())}
    ordered |= {
        one.removesuffix(".*") for contract in CONTRACTS.values() for one in contract.get("modules", ())
    }
    assert ordered <= modules.keys()
    assert {one for one, count in modules.items() if count >= MANY} - ordered == WITHOUT_AN_ORDER.keys()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_a_page_that_shows_the_layers_shows_those_of_the_contract(page: str) -> None:
    blocks = (ROOT / page).read_text(encoding="utf-8").split("```")[1::2]
    pictures = [block.partition("\n")[2] for block in blocks]
    shown = next(picture for picture in pictures if picture.startswith("__main__")).splitlines()
    layers = [line.split("  ")[0] for line in shown if not line.startswith(" ")]
    there = [
        [name for name in layer.split(" | ") if "(" not in name] for layer in CONTRACTS["layers"]["layers"]
    ]
    assert layers == [" | ".join(names) for names in there if names]


def modules_asked_for(statement: str) -> set[str]:
    command = [sys.executable, "-c", IMPORT_AND_TELL + statement]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stderr.split())


def test_importing_the_package_imports_no_other_module_of_it_and_no_library() -> None:
    assert modules_asked_for("import msmq_wire") - sys.stdlib_module_names == {"msmq_wire"}


def test_all_names_of_the_package_together_ask_for_no_library_but_construct_and_msgspec() -> None:
    asked_for = {name.partition(".")[0] for name in modules_asked_for("from msmq_wire import *")}
    assert "msmq_wire" in asked_for
    assert asked_for - CORE_MODULES - sys.stdlib_module_names == set()


def test_what_reads_captures_waits_until_somebody_asks_for_it() -> None:
    def layers(statement: str) -> set[str]:
        return {".".join(name.split(".")[:2]) for name in modules_asked_for(statement)}

    waiting = {"msmq_wire.capture", "msmq_wire.records"}
    assert layers("from msmq_wire import decode") & waiting == set()
    assert layers("from msmq_wire import read_capture") & waiting == waiting


def test_the_help_of_the_program_needs_no_room_but_its_own_and_no_library_that_checks_values() -> None:
    asked_for = modules_asked_for("from msmq_wire.cli.app import main; main(['--help'])")
    assert {name.split(".")[1] for name in asked_for if name.startswith("msmq_wire.")} == {
        *("cli", "cycles", "errors", "invisible", "urls"),
    }
    assert (
        asked_for & {"construct", "cryptography", "jinja2", "msgspec", "numpy", "pyarrow", "pydantic"}
        == set()
    )


def test_a_name_that_the_package_does_not_have_is_an_attribute_error() -> None:
    assert set(msmq_wire.__all__) <= set(dir(msmq_wire))
    with pytest.raises(AttributeError, match="has no attribute 'read_captures'"):
        msmq_wire.read_captures  # type: ignore[attr-defined]  # noqa: B018  # a name that is not there


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    nothing_said = {"common", "helper", "helpers", "misc", "util", "utils"}
    named = [path for folder in SOURCE_FOLDERS for path in (ROOT / folder).rglob("*")]
    assert PACKAGE / "errors.py" in named
    assert [path for path in named if path.stem.lower().strip("_") in nothing_said] == []


def test_a_module_is_no_list_of_names_unless_it_gives_those_of_others() -> None:
    listing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py" and "\n__all__ = " in path.read_text(encoding="utf-8")
    }
    shims = {f"spark/shims/pyspark_msmq_{name}.py" for name in ("calls", "carved", "messages", "packets")}
    assert listing == {"engines/arrow.py", "wire/fields.py", *shims}


def test_gpl_code_is_imported_below_dissectors_only() -> None:
    folders = [folder for folder in SOURCE_FOLDERS if folder not in ("dissectors", *MAY_MEET_GPL)]
    files = python_files(*folders)
    assert PACKAGE / "errors.py" in files
    guilty = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files
        for module in imported_modules(path, [f" {name}" for name in GPL_MODULES])
        if module.partition(".")[0] in GPL_MODULES
    }
    assert guilty == set()


ASKING = ("input", "open", "print")


def _may_open_files(path: Path) -> bool:
    room, *below = path.relative_to(PACKAGE).parts
    folder = "/".join((room, *below[:1]))
    return folder in MAY_OPEN_FILES or (room in MAY_OPEN_FILES and folder not in MAY_OPEN_NONE)


def test_only_the_outer_layers_open_files() -> None:
    files = [path for path in python_files("msmq_wire") if not _may_open_files(path)]
    assert {PACKAGE / "errors.py", PACKAGE / "report" / "redaction" / "redactor.py"} <= set(files)
    assert not {PACKAGE / "report" / "page.py", PACKAGE / "tables" / "store" / "store.py"} & set(files)
    guilty = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files
        for node in nodes(path, [f"{name}(" for name in ASKING])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKING
    ]
    assert guilty == []


# Dicts of at most 64 entries that forget their oldest one.
SMALL_DICTS = {
    "routing/algorithm.py _tables",
    "rpc/binds.py _offered",
    "rpc/binds.py _pending",
    "rpc/binds.py contexts",
    "rpc/call_matcher.py _early",
}


def test_what_forgets_its_oldest_entry_finds_it_without_passing_those_that_are_gone() -> None:
    # A dict keeps the places of what was deleted: its first key costs the more, the more went before it.
    plain = set()
    for path in python_files("msmq_wire"):
        source = path.read_text(encoding="utf-8")
        asked = re.findall(r"next\(iter\(self\.(?:_shared\.)?(\w+)", source)
        dicts = {
            node.target.attr
            for node in (ast.walk(ast.parse(source)) if asked else ())
            if isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Attribute)
            and ast.unparse(node.annotation).startswith("dict[")
        }
        plain |= {f"{path.relative_to(PACKAGE).as_posix()} {name}" for name in dicts.intersection(asked)}
    assert plain == SMALL_DICTS
    assert isinstance(Shared().waiting, OrderedDict)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("skipping", "reason"),
    share(
        [
            ("import pytest\ndef test_it() -> None:\n    pytest.skip('no such tool')\n", "no such tool"),
            ("import pytest\npytest.skip('no such module', allow_module_level=True)\n", "no such module"),
            ("import pytest\n@pytest.mark.tshark\ndef test_it() -> None: ...\n", "tshark is not on PATH"),
        ],
        2,
    ),
)
def test_a_skip_names_its_reason_and_fails_where_none_is_allowed(
    tmp_path: Path, skipping: str, reason: str
) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = tshark\n", encoding="utf-8")
    (tmp_path / "test_skipping.py").write_text(skipping, encoding="utf-8")

    def run(no_skip: str) -> subprocess.CompletedProcess[str]:
        surroundings = {**os.environ, "MSMQ_WIRE_NO_SKIP": no_skip, "PATH": str(tmp_path)}
        command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", str(tmp_path)]
        return subprocess.run(
            command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False
        )

    allowed, refused = run("0"), run("1")
    assert reason in allowed.stdout
    assert "1 skipped" in allowed.stdout
    assert reason in refused.stdout
    assert refused.returncode not in {0, pytest.ExitCode.NO_TESTS_COLLECTED}


# Where else a file is opened that may be written, and why that is not the business of `msmq_wire.output`.
MAY_WRITE_FILES = {
    "capture/places.py": "what tasks of the job write, below the folder or bucket of its tables",
    "cli/app.py": "points closed streams at the null device",
    "cli/worker_pool.py": "what waits to be printed, in a folder that was just made for it",
    "spark/session.py": "the log of Java, in a folder that was just made for it",
    "tables/table_file.py": "writes to a file that its caller has opened",
    "tables/store/table_files.py": "files of tables: hidden files whose names nobody can guess",
    "tables/store/upkeep.py": "copies of tables: writes to a file that its place has opened",
    "dissectors/msmq_dissect/images/members.py": "only reads: its flags follow no link and wait for no pipe",
    "dissectors/generate.py": "writes what is generated and committed, for developers",
    "dissectors/msmq_wireshark/rpc_tables.py": "writes what is generated and committed, for developers",
}
_WRITING_NAMES = {
    *(
        "NamedTemporaryFile",
        "OSFile",
        "ParquetWriter",
        "RecordBatchFileWriter",
        "copy2",
        "copyfile",
        "copytree",
    ),
    *(
        "extractall",
        "mkstemp",
        "open_output_stream",
        "savetxt",
        "touch",
        "tofile",
        "write_bytes",
        "write_csv",
    ),
    *("write_dataset", "write_feather", "write_table", "write_text"),
}
"""Functions and methods that open files to write them, whoever has them."""
_MAY_OPEN = re.compile(rf"\b(?:FileIO|open|shutil|{'|'.join(_WRITING_NAMES)})\b")
_MODE = re.compile(r"[rwxabt+]{1,4}")


def opens_to_write(call: ast.Call) -> bool:
    """Whether a call may open a file to write it; a mode that is no text in the source may be any."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _WRITING_NAMES:
        return True
    owner = getattr(call.func, "value", None)
    if isinstance(owner, ast.Name) and owner.id == "shutil" and name in ("copy", "move"):
        return True
    if name not in ("FileIO", "open"):
        return False
    if isinstance(owner, ast.Name) and owner.id == "os":
        return True
    is_method = isinstance(call.func, ast.Attribute) and not (
        isinstance(owner, ast.Name) and owner.id in ("io", "codecs", "gzip", "bz2", "lzma")
    )
    modes = [word.value for word in call.keywords if word.arg == "mode"]
    modes += call.args[:1] if is_method else call.args[1:2]
    for mode in modes:
        if not isinstance(mode, ast.Constant):
            # Much else than a path has a method of this name.
            return not is_method
        if isinstance(mode.value, str) and _MODE.fullmatch(mode.value) and set(mode.value) & set("wxa+"):
            return True
    return False


def test_files_are_opened_to_be_written_in_one_place() -> None:
    files = python_files("msmq_wire", "dissectors")
    guilty: dict[str, list[int]] = {}
    for path in files:
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if _MAY_OPEN.search(source) else ():
            if isinstance(node, ast.Call) and opens_to_write(node):
                name = str(path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT))
                guilty.setdefault(name, []).append(node.lineno)
    assert guilty.pop("output.py")
    assert {name: lines for name, lines in guilty.items() if name not in MAY_WRITE_FILES} == {}
    assert sorted(guilty) == sorted(MAY_WRITE_FILES)


@pytest.mark.parametrize(
    ("source", "writes"),
    [
        ("open(path)", False),
        ("open(path, 'rb')", False),
        ("open(path, 'xb')", True),
        ("open(path, mode='r+b')", True),
        ("open(path, mode)", True),
        ("FileIO(path, 'w')", True),
        ("FileIO(path)", False),
        ("shutil.copy(path, other)", True),
        ("value.copy()", False),
        ("io.open(path, 'w')", True),
        ("path.open('a')", True),
        ("path.open()", False),
        ("path.open(mode='w')", True),
        ("reader.open(queue)", False),
        ("os.open(path, flags)", True),
        ("path.write_text('x')", True),
        ("pq.ParquetWriter(path)", True),
        ("pa.OSFile(path, 'wb')", True),
        ("file.write(data)", False),
    ],
)
def test_what_counts_as_opening_to_write(source: str, writes: bool) -> None:
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    assert opens_to_write(call) == writes
