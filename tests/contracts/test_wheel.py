"""The wheel works on its own, and with each extra: what an extra needs, its distributions bring.

An environment here holds the wheel and those distributions only that its metadata names for some extras, and
what these need in turn. They are linked from the environment that runs the tests: no network is asked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.effort import SHORT_LIVED_JAVA, share
from tests.needs import need

_ROOT = Path(__file__).resolve().parents[2]
_CAPTURES = _ROOT / "fixtures" / "captures"
_PROGRAM = """\
import sys
from importlib.metadata import entry_points
[program] = entry_points(group="console_scripts", name="msmq-wire")
sys.exit(program.load()())
"""
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPARK = """\
import pkgutil
import msmq_wire.spark
import pyspark_msmq_calls, pyspark_msmq_carved, pyspark_msmq_messages, pyspark_msmq_packets
for one in pkgutil.walk_packages(msmq_wire.spark.__path__, "msmq_wire.spark."):
    print(__import__(one.name))
"""
_STRUCTURE = "from msmq_wire.strategies import structure; print(structure('user_message'))"
_SCAPY = "import msmq_scapy; print(msmq_scapy.MSMQ(bytes(24)).summary())"
_ZSTD = "import msmq_wire; print(*msmq_wire.read_capture(r'{}'))"
_BRIDGE = "from msmq_wireshark.bridge import read_with_tshark; import pyshark; print(read_with_tshark)"
_DISSECT = "import msmq_dissect.msmq, msmq_dissect.containers as images; print(images.open_container)"
_NAMESPACES = ("dissect", "flow")
_PLAIN = _CAPTURES / "demo.pcap"
_COMPRESSED = _CAPTURES / "path_zstd.pcap"
_SEALED = _ROOT / "fixtures" / "rpc_captures" / "rpc_ntlm_privacy.pcap"
_ROUTED = _CAPTURES / "routed_wrong.pcap"
_TOPOLOGY = _ROOT / "fixtures" / "routing" / "example.toml"
_LOG = _ROOT / "fixtures" / "events" / "clock_ahead" / "receiver.evtx"

_CASES: tuple[tuple[str, tuple[str | Path, ...]], ...] = (
    ("cli", ("messages", _COMPRESSED)),
    ("cli", ("demo",)),
    ("cli,routing", ("route-audit", "--topology", _TOPOLOGY, _ROUTED)),
    ("cli,unseal", ("calls", _SEALED, "--nt-password", "Passw0rd!", "--filter", "queue ~ orders")),
    ("spark", ("-c", _SPARK)),
    ("arrow", ("-c", "from msmq_wire.engines import arrow, columns; print(arrow, columns.decode(b'', [0]))")),
    ("dissect", ("-c", _DISSECT)),
    ("cli,evtx", ("diagnose", _PLAIN, "--events", _LOG)),
    ("fuzz", ("-c", _STRUCTURE)),
    ("routing", ("-c", "from msmq_wire.routing import algorithm; print(algorithm)")),
    ("scapy", ("-c", _SCAPY)),
    ("unseal", ("-c", "from msmq_wire.rpc.unseal import negotiation; print(negotiation)")),
    ("wireshark", ("-c", _BRIDGE)),
    ("zstd", ("-c", _ZSTD.format(_COMPRESSED))),
)


@pytest.fixture(scope="session")
def wheel(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of the wheel: the environments share it, and so its bytecode."""
    folder = tmp_path_factory.mktemp("wheel")
    [path] = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder


def _needed(requirements: list[str], extras: set[str], seen: set[tuple[str, ...]]) -> Iterator[Distribution]:
    """The distributions that requirements name, and those that these need; each of them once."""
    for requirement in map(Requirement, requirements):
        conditions = [
            requirement.marker is None or requirement.marker.evaluate({"extra": extra}) for extra in extras
        ]
        key = (canonicalize_name(requirement.name), *sorted(requirement.extras))
        if any(conditions) and key not in seen:
            found = distribution(requirement.name)
            if not any(name == key[0] for name, *_ in seen):
                yield found
            seen.add(key)
            yield from _needed(found.requires or [], {"", *requirement.extras}, seen)


def _top(parts: tuple[str, ...]) -> Path:
    """The top of a module: distributions share the folders of namespaces."""
    return Path(*parts[: 2 if parts[0] in _NAMESPACES else 1])


def _environment(wheel: Path, extras: str, folder: Path) -> Path:
    """Make an environment that holds the wheel with some extras, and give its Python."""
    venv.create(folder, symlinks=os.name == "posix")
    paths = {
        name: Path(sysconfig.get_path(name, "venv", vars={"base": str(folder), "platbase": str(folder)}))
        for name in ("scripts", "purelib")
    }
    for top in wheel.iterdir():
        (paths["purelib"] / top.name).symlink_to(top)
    [metadata] = wheel.glob("msmq_wire-*.dist-info")
    for found in _needed(Distribution.at(metadata).requires or [], {"", *extras.split(",")}, set()):
        # The tops of its modules; what is outside are scripts.
        for name in {_top(file.parts) for file in found.files or ()} - {Path(".."), Path("__pycache__")}:
            (paths["purelib"] / name).parent.mkdir(exist_ok=True)
            (paths["purelib"] / name).symlink_to(str(found.locate_file(str(name))))
    return paths["scripts"] / "python"


def _run(python: Path, arguments: tuple[str | Path, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    program = () if arguments[0] == "-c" else ("-c", _PROGRAM)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    # A narrow terminal cuts the names of queues.
    own |= {"COLUMNS": "300", "JDK_JAVA_OPTIONS": SHORT_LIVED_JAVA}
    return subprocess.run(
        [python, *program, *arguments], cwd=folder, env=own, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_the_wheel_alone_runs_the_python_of_the_front_page_and_brings_no_more(
    wheel: Path, tmp_path: Path
) -> None:
    python = _environment(wheel, "", tmp_path / "env")
    (tmp_path / "fixtures").symlink_to(_ROOT / "fixtures")
    [source] = _PYTHON.findall((_ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    ran = _run(python, ("-c", source), tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "DIRECT=OS:msg01\\private$\\orders" in ran.stdout
    # The environment sees nothing of the one that runs the tests.
    refused = _run(python, ("-c", "import rich"), tmp_path)
    assert "ModuleNotFoundError: No module named 'rich'" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("extras", "arguments"), share(_CASES, 5))
def test_an_extra_brings_all_that_it_needs(
    extras: str, arguments: tuple[str | Path, ...], wheel: Path, tmp_path: Path
) -> None:
    if extras == "spark":
        need("pyspark")
    ran = _run(_environment(wheel, extras, tmp_path / "env"), arguments, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


@pytest.mark.check
@pytest.mark.spark
def test_the_extra_spark_fills_tables_and_asks_them(wheel: Path, tmp_path: Path) -> None:
    python = _environment(wheel, "cli,spark", tmp_path / "env")
    filled = _run(python, ("spark", "run", "--input", _PLAIN, "--output", "tables"), tmp_path)
    assert filled.returncode == 0, filled.stderr
    asked = _run(python, ("spark", "sql", "--tables", "tables", "--query", "top_queues"), tmp_path)
    assert asked.returncode == 0, asked.stderr
    assert "orders" in asked.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "fixture"),
    [
        ("lab/recordings/scenario.json", "record/scenario.json"),
        ("cli/fault_and_attack.pcap", "digest/fault_and_attack.pcap"),
    ],
)
def test_the_wheel_holds_what_the_program_brings_along(wheel: Path, place: str, fixture: str) -> None:
    assert (wheel / "msmq_wire" / place).read_bytes() == (_ROOT / "fixtures" / fixture).read_bytes()


def test_every_extra_of_the_project_is_tried() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tried = {extra for extras, _ in _CASES for extra in extras.split(",")}
    assert tried == set(project["optional-dependencies"]) - {"dev", "docs", "test"}
