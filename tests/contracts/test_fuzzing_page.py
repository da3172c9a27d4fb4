"""The recipes of docs/fuzzing.md run, pass for a right parser, and find each fault of a wrong one."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings

import msmq_wire as mw
from msmq_wire.cli.app import main
from tests.strategies.mine import FAULTS, Fault, Parser, Stream
from tests.strategies.mine_server import LabAsMine, Lie, Server

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fuzzing.md"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROFILE = settings(
    max_examples=40,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow],
)
PROPERTIES = (
    "test_a_valid_packet_has_the_same_fields",
    "test_damaged_bytes_are_refused_or_read_alike",
    "test_a_length_past_the_end_is_refused",
)
STREAM = "test_a_stream_gives_each_packet_with_its_last_byte"
OF_A_STREAM: tuple[Fault, ...] = ("session", "boundary", "merged")
"""The faults of the reassembler, which the properties of single packets do not use."""


@cache
def recipes() -> tuple[str, str, str]:
    one, two, three = FENCE.findall(PAGE.read_text(encoding="utf-8"))
    return one, two, three


@contextlib.contextmanager
def parser(fault: Fault) -> Iterator[None]:
    """Let ``import mine`` give a parser with a fault."""
    module = types.ModuleType("mine")
    vars(module).update(parse=Parser(fault).parse, Stream=partial(Stream, fault))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "mine", module)
        settings.register_profile("before the page", settings())
        settings.register_profile("page", PROFILE)
        settings.load_profile("page")
        try:
            yield
        finally:
            settings.load_profile("before the page")


def properties(folder: Path) -> dict[str, Any]:
    """What the first recipe defines; hypothesis reads its source."""
    path = folder / "test_mine.py"
    path.write_text(recipes()[0], encoding="utf-8")
    return runpy.run_path(str(path))


def fails(test: Callable[[], Any]) -> bool:
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            test()
        except Exception:  # noqa: BLE001  # a crash of the parser is what it finds, whatever it is
            return True
    return False


def test_packet_size_counts_the_session_header_of_an_acknowledgment_and_of_no_message() -> None:
    """The sentence of the page about framing."""
    header = mw.SessionHeader()
    ack = mw.fit(mw.SessionAck(session_header=header))
    message = mw.fit(mw.UserMessage(session_header=header))
    assert (ack.base_header.packet_size, len(mw.encode(ack))) == (36, 36)
    assert (message.base_header.packet_size, len(mw.encode(message))) == (120, 136)


@pytest.mark.slow
def test_a_right_parser_has_all_properties(tmp_path: Path) -> None:
    with parser(""):
        found = properties(tmp_path)
        for name in (*PROPERTIES, STREAM):
            found[name]()
        found["TestSession"]("runTest").runTest()


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in OF_A_STREAM])
def test_properties_find_each_fault(fault: Fault, tmp_path: Path) -> None:
    with parser(fault):
        found = properties(tmp_path)
        # What is drawn depends on the modules that others loaded: one draw of a hundred may miss a fault.
        assert any(fails(seed(number)(found[name])) for number in range(3) for name in PROPERTIES)


@pytest.mark.slow
@pytest.mark.parametrize("fault", OF_A_STREAM)
def test_the_property_of_a_stream_finds_each_fault_of_the_reassembler(fault: Fault, tmp_path: Path) -> None:
    with parser(fault):
        assert fails(properties(tmp_path)[STREAM])


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["endianness", "sign", "bit", "session", "boundary"])
def test_a_session_finds_faults_of_valid_packets_and_of_the_stream(fault: Fault, tmp_path: Path) -> None:
    with parser(fault):
        assert fails(properties(tmp_path)["TestSession"]("runTest").runTest)


# Writing it takes longer than all tests of it: one worker has them all.
of_a_corpus = pytest.mark.xdist_group("the corpus of docs/fuzzing.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("corpus")
    assert main(["corpus", str(found / "samples"), "--only", "packets", "-q"]) == 0
    return found


def reported(fault: Fault, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(folder)
    lines: list[str] = []
    with parser(fault):
        exec(compile(recipes()[1], str(PAGE), "exec"), {"print": lines.append, "__name__": "recipe"})
    return lines


@of_a_corpus
def test_a_corpus_finds_nothing_in_a_right_parser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reported("", folder, monkeypatch) == []


@of_a_corpus
@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("endianness", "session_header.recoverable_msg_ack_flags is 1, not 16777216"),
        ("padding", "pass the end"),
        ("length", "accepted in spite of past-packet-size"),
        ("sign", "establish_connection_header.time_stamp is 3048386476, not -1246580820"),
        ("bit", "base_header.pr is 1, not"),
        ("order", "user_message/valid-0002.bin: refused: "),
        ("session", "is refused: lost the packet boundary"),
        ("boundary", "does not give both packets"),
        ("merged", "does not give both packets"),
    ],
)
def test_a_corpus_finds_each_fault(
    fault: Fault, problem: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(problem in line for line in reported(fault, folder, monkeypatch))


@contextlib.contextmanager
def against(server: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, *, patience: int) -> Iterator[Any]:
    """What the third recipe defines, with a server that runs as the context."""
    with parser(""):
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, "test_mine", raising=False)
        properties(folder)
        path = folder / "test_server.py"
        source = recipes()[2].replace("PATIENCE = 20", f"PATIENCE = {patience}")
        path.write_text(source, encoding="utf-8")
        try:
            with server:
                yield runpy.run_path(str(path))
        finally:
            sys.modules.pop("test_mine", None)


CLOSED = "the server closed the session|Connection reset|Broken pipe"
SERVER_TESTS = (
    "test_valid_messages_are_acknowledged_and_kept",
    "test_a_changed_message_is_refused_or_kept_alike",
    "test_a_length_past_the_end_is_refused",
    "test_damaged_packets_do_no_harm",
)


def test_what_the_recipes_import_is_stable() -> None:
    found = {
        name
        for recipe in recipes()
        for module, names in re.findall(r"^from (msmq_wire[\w.]*) import (.+)$", recipe, re.MULTILINE)
        for name in names.split(", ")
        if (module, names) != ("msmq_wire", "strategies")
    }
    table = (PAGE.parent / "python-api.md").read_text(encoding="utf-8").partition("## What is stable")[2]
    assert found == {"BinaryProtocol", "BinarySettings", "ModelQueueManager", "SessionState", "Timers"}
    assert [name for name in found if f"`{name}`" not in table.partition("## Functions")[0]] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVER_TESTS)
def test_a_right_server_passes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server("")
    with against(server, tmp_path, monkeypatch, patience=20) as found:
        found[name](server=server)
    assert len(server.stored()) > 10 or name == "test_damaged_packets_do_no_harm"


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVER_TESTS)
def test_the_lab_passes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = LabAsMine()
    with against(server, tmp_path, monkeypatch, patience=20) as found:
        # It keeps no SessionHeader.
        for field in ("acknowledged", "recoverable_bits"):
            del sys.modules["test_mine"].FIELDS[field]
        found[name](server=server)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "test", "problem"),
    [
        ("endianness", 0, "'recoverable_bits'"),
        ("padding", 0, CLOSED),
        ("length", 2, "before the end that PacketSize sets"),
        ("sign", 0, CLOSED),
        ("bit", 0, "'priority'"),
        ("order", 0, f"'connector'|{CLOSED}"),
        ("session", 0, CLOSED),
        ("boundary", 0, "timed out"),
    ],
)
def test_a_server_shows_each_fault(
    fault: Fault, test: int, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(fault)
    with (
        against(server, tmp_path, monkeypatch, patience=2) as found,
        pytest.raises((AssertionError, OSError), match=problem),
    ):
        found[SERVER_TESTS[test]](server=server)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lie", "problem"),
    [
        (Lie(received=-1), "timed out"),
        (Lie(recoverable=1), "timed out"),
        (Lie(sent=1), "a wrong answer: message_counts"),
    ],
    ids=("received", "recoverable", "sent"),
)
def test_a_wrong_acknowledgment_is_found(
    lie: Lie, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(lie=lie)
    with (
        against(server, tmp_path, monkeypatch, patience=2) as found,
        pytest.raises((AssertionError, OSError), match=problem),
    ):
        found[SERVER_TESTS[0]](server=server)
