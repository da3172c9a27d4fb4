"""Nothing that no list names is left in what a command prints with all redactions on."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from msmq_wire.capture.reader import Summary
from msmq_wire.cli import reading
from msmq_wire.cli.commands import timeline
from msmq_wire.cli.program import program
from msmq_wire.cli.redaction import Redaction, Redactor
from msmq_wire.engines.codec import inspect
from msmq_wire.records.record import Record
from msmq_wire.wire.fields import Align, Bytes, Fill, Rest, ZeroTerminated, fields
from msmq_wire.wire.registry import HEADERS
from msmq_wire.wire.types.guid import GUID
from tests.cli.planted import Place, leaves, planted_records
from tests.effort import WHOLE, share

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_MARKERS = ("q7xKwz", "Jv4mPy")
"""Two of the same length: what tells them apart was let through, in whatever form."""

_ALL = ",".join(Redaction)
_OWN_WORDS = {
    ("com_call", "com_version"),
    ("com_call", "interface"),
    ("com_call", "method"),
    ("com_call", "syntax"),
    ("com_object", "interface"),
    ("com_object", "kind"),
    ("com_object", "oid"),
    ("com_object", "oxid"),
    ("message_properties", "problems"),
    ("message_properties", "truncated"),
    ("receive_arguments", "problems"),
    ("receive_arguments", "specified"),
    ("receive_arguments", "transaction"),
    ("record", "event"),
    ("record", "reason"),
    ("rpc_bind_context", "accepted"),
    ("rpc_bind_context", "interface"),
    ("rpc_bind_context", "transfer_syntaxes"),
    ("rpc_bind_context", "version"),
    ("rpc_call", "interface"),
    ("rpc_call", "method"),
    ("rpc_call", "syntax"),
    ("srmp_message", "kind"),
    ("srmp_part", "role"),
}
"""What the decoder writes itself."""
_IDENTIFIERS = {
    ("cac_transfer_buffer_v1", "p_uow"),
    ("cac_transfer_buffer_v1", "pp_connector_type"),
    ("com_call", "object_uuid"),
    ("com_object", "clsid"),
    ("com_object", "iid"),
    ("com_object", "ipid"),
    ("context_handle", "uuid"),
    ("debug_header", "queue_identifier"),
    ("dl_id", "m_dl_guid"),
    ("enlist_internal_transaction_request", "p_uow"),
    ("enlist_transaction_request", "p_uow"),
    ("message_properties", "connector_type_identifier"),
    ("move_message_request", "p_transaction_id"),
    ("mqf_distribution_queue_format_name", "distribution_list_identifier"),
    ("public_queue_format_name", "public_queue_identifier"),
    ("qm_enlist_remote_transaction_request", "p_transaction_id"),
    ("queue_format", "arm"),
    ("rpc_call", "object_uuid"),
    ("start_transactional_receive_request", "p_transaction_id"),
    ("user_header", "connector_type"),
}
"""Of queues, lists, transactions, interfaces and kinds of application; ``arm`` where it is a public queue."""
_NUMBERS = {
    ("message_properties", "correlation_identifier"),
    ("message_properties_header", "correlation_id"),
    ("msmq", "correlation"),
}
"""Their last four bytes, the number of a message."""
_ALLOWED = _OWN_WORDS | _IDENTIFIERS | _NUMBERS
_NEVER = ("signature", "key", "cert", "name", "body", "padding", "reserved", "undeclared", "data", "label")

Run = Callable[..., Any]


def forms(marker: str) -> tuple[set[str], set[str]]:
    """What the marker may look like, and what it may look like in hexadecimal."""
    texts = {marker, marker.lower(), marker.upper(), str(GUID((marker.encode() * 3)[:16]))}
    hexadecimal = set()
    for data in (marker.encode(), marker.encode("utf-16-le"), marker.encode("utf-16-be")):
        texts.add(data.decode("latin-1"))
        hexadecimal.add(data.hex())
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data + bytes(2)).decode()
            # Without the characters that also hold bits of what is around it.
            texts.add(encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6])
    return texts, hexadecimal


def found(marker: str, printed: str) -> list[str]:
    """The forms of the marker that are in a text."""
    texts, hexadecimal = forms(marker)
    bare = "".join(printed.lower().split())
    return [form for form in texts if form in printed] + [form for form in hexadecimal if form in bare]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
@pytest.mark.parametrize("before", range(3))
def test_a_marker_is_found_in_all_its_forms(encoding: str, before: int) -> None:
    marker, other = _MARKERS
    data = b"\xff" * before + marker.encode(encoding) + b"\xff\xff"
    shown = (data.hex(" ").upper(), data.hex(), base64.b64encode(data).decode(), data.decode("latin-1"))
    assert [found(marker, one) != [] for one in shown] == [True] * 4
    assert [found(other, one) for one in shown] == [[]] * 4


def passed(rounds: int) -> tuple[set[Place], set[Place]]:
    """Where the markers were planted, and where one can be told from the other when all is redacted."""
    planted, left = set(), set()
    before = [list(planted_records(marker, rounds=rounds)) for marker in _MARKERS]
    redactors = [Redactor(set(Redaction)) for _ in _MARKERS]
    for pair in zip(*before, strict=True):
        shown = [redactor.record(one) for redactor, one in zip(redactors, pair, strict=True)]
        planted |= differing(*pair)
        left |= differing(*shown)
    return planted, left


def differing(one: Record, other: Record) -> set[Place]:
    """The places in which two records have different texts or bytes."""
    pairs = list(zip(leaves(one), leaves(other), strict=True))
    assert all(place == same for (place, _), (same, _) in pairs)
    return {place for (place, value), (_, another) in pairs if value != another}


def test_only_what_a_list_names_is_left_of_any_record() -> None:
    _, left = passed(rounds=24 if WHOLE else 1)
    print(*sorted(".".join(place) for place in left), sep="\n")
    assert left == _ALLOWED
    assert [place for place in left if any(word in place[1] for word in _NEVER)] == []


def test_every_text_and_all_bytes_that_headers_declare_are_planted() -> None:
    planted, _ = passed(rounds=1)
    declared = {
        (stem, field.name)
        for stem, cls in HEADERS.items()
        for field in fields(cls)
        # The bodies of acknowledgments are bytes of another header.
        if isinstance(field.subcon, Bytes | Fill | Align | Rest | ZeroTerminated)
        and not stem.endswith("_ack_body")
        and not field.position
    }
    empty = {place for place in declared if place[1] in ("undeclared", "undecoded")}
    assert declared - planted - empty == set()
    assert [word for word in _NEVER if not any(word in field for _, field in planted)] == []


def test_no_packet_fixture_keeps_bytes_that_no_list_names() -> None:
    kept: set[Place] = set()
    for path in sorted((_FIXTURES / "packets").rglob("*.hex")):
        lines = path.read_text(encoding="utf-8").splitlines()
        result = inspect(bytes.fromhex(" ".join(line.partition("#")[0] for line in lines)))
        record = Record(id=1, type=result.type or "", packet=result.packet, remainder=result.remainder)
        shown = Redactor(set(Redaction)).record(record)
        for (place, value), (_, after) in zip(leaves(record), leaves(shown), strict=True):
            if isinstance(value, bytes) and any(value) and after == value:
                kept.add(place)
    # A SID that every machine has, and the letter that fills a response.
    assert kept - _ALLOWED <= {("security_data", "security_id"), ("establish_connection_header", "padding")}


class Command(NamedTuple):
    """A command line that can redact, without its files and formats."""

    name: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return "-".join(word.strip("-") for word in (self.name, *self.arguments) if "/" not in word)


_TOPOLOGY = str(_FIXTURES / "routing" / "example.toml")
_MORE: dict[str, Sequence[tuple[str, ...]]] = {
    "decode": ((), ("--hex", "--streams", "--body-limit", "0")),
    "messages": (("--all",),),
    "timeline": ((), ("--session", "0"), ("--session", "1"), ("--message", "0")),
    "report": (("-o", "{folder}/report.html", "--force"),),
    "route-audit": (("--topology", _TOPOLOGY, "--all"),),
}
"""What commands need to show all they can; {folder} is one that is empty."""


def redacting_commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that has the option, by walking the application."""
    for name, command in group.commands.items():
        full = f"{before} {name}".strip()
        if hasattr(command, "commands"):
            yield from redacting_commands(command, full)
        elif any("--redact" in one.opts for one in command.whole.params):
            yield full, command.whole


def command_lines() -> list[Command]:
    """Every command with every format, and whatever else it takes to show more."""
    lines = []
    for name, command in redacting_commands(program()):
        defaults = [one.default for one in command.params if "--format" in one.opts]
        formats: list[tuple[str, ...]] = [
            ("--format", str(one)) for kind in defaults for one in type(kind)
        ] or [()]
        lines += [
            Command(name, (*more, *format_))
            for more in _MORE.get(name, ((),))
            for format_ in formats
            if "--hex" not in more or "tree" in format_
        ]
    return lines


class PlantedReader:
    """Stands for the reader of a capture: its records are planted."""

    records: Sequence[Record] = ()
    marker = ""

    def __init__(self, file: str, **_: Any) -> None:
        self.source = SimpleNamespace(total=None, name=file, bytes_read=0)
        place = f"{self.marker}:1025 to {self.marker}:1801"
        self.summary = Summary(
            frames=len(self.records), understood=1, notices=Counter({f"{place}: {self.marker}": 1})
        )

    def __enter__(self) -> PlantedReader:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)


@pytest.fixture
def printed(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """Run a command line over planted records; all it printed and wrote."""

    def print_(command: Command, records: Sequence[Record], marker: str, *more: str) -> str:
        PlantedReader.records, PlantedReader.marker = records, marker
        for module in (reading, timeline):
            monkeypatch.setattr(module, "CaptureReader", PlantedReader)
        folder = tmp_path / "out"
        folder.mkdir(exist_ok=True)
        arguments = [one.format(folder=folder) for one in command.arguments]
        outcome = run(*command.name.split(), f"{folder}/made.pcap", *arguments, *more)
        assert outcome.status in (0, 1, 2)
        written = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file()]
        return "\n".join((outcome.out, outcome.err, *written))

    return print_


def test_the_commands_that_redact_are_walked() -> None:
    names = {line.name for line in command_lines()}
    assert names >= {"decode", "messages", "calls", "findings", "diagnose", "timeline", "report", "replay"}


@pytest.mark.parametrize("command", share(command_lines()), ids=str)
def test_no_marker_is_left_in_what_a_command_prints(command: Command, printed: Callable[..., str]) -> None:
    records = [
        list(planted_records(marker, rounds=6 if WHOLE else 1, unplanted=_ALLOWED)) for marker in _MARKERS
    ]
    shown = [
        printed(command, one, marker, "--redact", _ALL) for one, marker in zip(records, _MARKERS, strict=True)
    ]
    assert found(_MARKERS[0], shown[0]) == []
    assert shown[0] == shown[1]
    # It is there as long as nothing is asked for.
    assert found(_MARKERS[0], printed(command, records[0], _MARKERS[0])) != []
