"""Nothing that its declaration does not call public is left in what a command prints with a redaction."""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import msgspec
import pytest
from construct import Int32ul

from msmq_wire.capture import capture_sequence
from msmq_wire.capture.capture_summary import Summary
from msmq_wire.capture.carve.reader import SearchedFile
from msmq_wire.cli import carve_reading
from msmq_wire.engines.codec import inspect
from msmq_wire.errors import CaptureError
from msmq_wire.records.record import FileLocation, Record
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.rpc.ndr import DWORD, UUID, NdrStruct
from msmq_wire.spec import SpecRef, snake_case
from msmq_wire.srmp.xml.fields import Text, XmlStruct
from msmq_wire.wire.fields import Bytes, WireStruct
from msmq_wire.wire.private import Form, Private, Public, privacy
from msmq_wire.wire.registry import HEADERS, PACKETS
from msmq_wire.wire.types.guid import GUID, NULL_GUID, Guid
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText
from msmq_wire.wire.types.xactuow import XACTUOW
from tests.cli.commands import formats, having
from tests.effort import WHOLE, share
from tests.hex_files import hex_bytes
from tests.report.redaction.planted import Place, classes, leaves, planted_records

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
_MARKERS = ("q7xKwz", "Jv4mPy")
"""Two of the same length: what tells them apart was let through, in whatever form."""

_ALL = tuple(Redaction)
_ASKED = (_ALL, *((one,) for one in Redaction))
_KEPT: Mapping[Form, str] = {
    "correlation": "the number of the message",
    "identifier": "a GUID that is not of version 1, as that of a marker",
    "reason": "words of the package, but for the name of the file",
}
"""What stays of a value that goes, where that cannot be told from what was planted."""
_LEAVES = (str, bytes, WcharText, FixedWcharText, GUID, XACTUOW)
_NEVER = ("signature", "key", "cert", "name", "body", "padding", "reserved", "undeclared", "data", "label")

Run = Callable[..., Any]


def leaf_types(hint: Any) -> Iterator[Any]:
    """The types that a value may be, those of elements of tuples, too."""
    inside = get_args(hint)
    if not inside:
        yield hint
    for one in inside:
        yield from leaf_types(one)


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


def markers() -> Mapping[Place, Private | Public | None]:
    """What every text, all bytes and GUIDs of the classes that a record may hold say of themselves."""
    found: dict[Place, Private | Public | None] = {}
    for cls in {cls for record in planted_records(_MARKERS[0], rounds=1) for cls in classes(record)}:
        for name in cls.__struct_fields__:
            found[snake_case(cls.__name__), name] = privacy(cls).get(name)
    return found


def staying(what: Collection[Redaction] = _ALL) -> set[Place]:
    """The places that may tell something with these redactions, as the declarations have it."""
    going = {one.what for one in what}
    found = {("queue_format", "arm")}
    for place, marker in markers().items():
        match marker:
            case Public(only=None, among=None):
                found.add(place)
            case Private(what=tells, form=form) if form in _KEPT or tells not in {"secret", *going}:
                found.add(place)
    return found


def passed(rounds: int, what: Collection[Redaction] = _ALL) -> tuple[set[Place], set[Place]]:
    """Where the markers were planted, and where one can be told from the other when this is redacted."""
    planted, left = set(), set()
    before = [list(planted_records(marker, rounds=rounds)) for marker in _MARKERS]
    redactors = [Redactor(set(what)) for _ in _MARKERS]
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


@pytest.mark.slow
@pytest.mark.parametrize("what", _ASKED, ids=",".join)
def test_only_what_declarations_let_stay_is_left_of_any_record(what: tuple[Redaction, ...]) -> None:
    _, left = passed(24 if WHOLE else 1, what)
    assert left - staying(what) == set()
    if what == _ALL:
        assert [place for place in left if any(word in place[1] for word in _NEVER)] == []


@pytest.mark.slow
def test_every_text_all_bytes_and_every_guid_is_planted() -> None:
    planted, _ = passed(rounds=24 if WHOLE else 2)
    declared = set()
    seen = {cls for record in planted_records(_MARKERS[0], rounds=1) for cls in classes(record)}
    # The bodies of acknowledgments are bytes of another header.
    bodies = {inner for cls in PACKETS.values() for _, inner in getattr(cls, "INSIDE", {}).values()}
    assert set(HEADERS.values()) - bodies - seen == set()
    for cls in seen:
        for name, hint in get_type_hints(cls).items():
            if name in cls.__struct_fields__ and any(one in _LEAVES for one in leaf_types(hint)):
                declared.add((snake_case(cls.__name__), name))
    # What says what a record is, in which network, and which rule it breaks.
    own = {("anomaly", "code"), ("spec_ref", "document"), ("spec_ref", "section")}
    own |= {("record", "type"), ("record", "path")}
    assert declared - planted == own
    assert [word for word in _NEVER if not any(word in field for _, field in planted)] == []


@pytest.mark.slow
def test_no_packet_fixture_keeps_bytes_that_are_not_public() -> None:
    kept: set[Place] = set()
    for path in sorted((_FIXTURES / "packets").rglob("*.hex")):
        result = inspect(hex_bytes(path))
        record = Record(id=1, type=result.type or "", packet=result.packet, remainder=result.remainder)
        shown = Redactor(set(Redaction)).record(record)
        for (place, value), (_, after) in zip(leaves(record), leaves(shown), strict=True):
            if isinstance(value, bytes) and any(value) and after == value:
                kept.add(place)
    # A SID that every machine has, and the letter that fills a response.
    assert kept - staying() <= {("security_data", "security_id"), ("establish_connection_header", "padding")}


class NewHeader(WireStruct, frozen=True, kw_only=True):
    """A header that somebody adds, without a thought of what it tells."""

    SPEC = SpecRef("MS-MQMQ", "2.2")
    number: Annotated[int, Int32ul, "A number."] = 7
    some: Annotated[bytes, Bytes(4), "Bytes."] = b"some"
    text: Annotated[WcharText, Bytes(8, WcharText), "A text."] = WcharText.of("abc")
    guid: Annotated[GUID, Guid, "A GUID."] = GUID(b"0123456789abcdef")


class NewParameters(NdrStruct, frozen=True, kw_only=True):
    """Parameters that somebody adds."""

    SPEC = SpecRef("MS-MQMQ", "2.2")
    number: Annotated[int, DWORD, "A number."] = 7
    guid: Annotated[GUID, UUID, "A GUID."] = GUID(b"0123456789abcdef")
    several: Annotated[tuple[bytes, ...], "Bytes."] = (b"some",)


class NewElement(XmlStruct, frozen=True, kw_only=True):
    """An element that somebody adds."""

    NAMESPACE = "new"
    TAG = "new"
    SPEC = SpecRef("MC-MQSRM", "2.2")
    text: Annotated[str | None, Text("text")] = "abc"


class NewRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A packet of a record that somebody adds, with all the others in it."""

    text: str = "abc"
    guid: GUID | None = GUID(b"0123456789abcdef")
    inside: tuple[Any, ...] = (NewHeader(), NewParameters(), NewElement())


@pytest.mark.parametrize("what", Redaction)
def test_a_new_field_is_private_until_it_says_otherwise(what: Redaction) -> None:
    shown = Redactor({what}).record(Record(id=1, type="new", packet=NewRecord())).packet
    header, parameters, element = shown.inside
    assert (shown.text, shown.guid) == ("xxx", NULL_GUID)
    assert header == NewHeader(some=bytes(4), text=WcharText.of("xxx"), guid=NULL_GUID)
    assert parameters == NewParameters(guid=NULL_GUID, several=(bytes(4),))
    assert element == NewElement(text="xxx")


class Command(NamedTuple):
    """A command line that can redact, without its files and formats."""

    name: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return "-".join(word.strip("-") for word in (self.name, *self.arguments) if "/" not in word)


_TOPOLOGY = str(_FIXTURES / "routing" / "example.toml")
_MORE: dict[str, Sequence[tuple[str, ...]]] = {
    "decode": ((), ("--hex", "--streams", "--body-limit", "0"), ("--columns", "all")),
    "messages": (("--all",), ("--all", "--columns", "all")),
    "calls": ((), ("--columns", "all")),
    "findings": (("--level", "info"), ("--columns", "all")),
    "diagnose": ((), ("--question", "18")),
    "timeline": ((), ("--session", "0"), ("--session", "1"), ("--message", "0")),
    "report": (("-o", "{folder}/report.html", "--force"),),
    "route-audit": (("--topology", _TOPOLOGY, "--all"),),
}
"""What commands need to show all they can; {folder} is one that is empty."""


def command_lines() -> list[Command]:
    """Every command with every format, and whatever else it takes to show more."""
    lines = []
    for name in having("--redact"):
        given: list[tuple[str, ...]] = [("--format", one) for one in formats(name)] or [()]
        lines += [
            Command(name, (*more, *format_))
            for more in _MORE.get(name, ((),))
            for format_ in given
            if ("--hex" not in more or "tree" in format_)
            and ("--columns" not in more or not {"tree", "sarif"} & set(format_))
            and (name != "diagnose" or more or "csv" not in format_)
        ]
    return lines


class PlantedReader:
    """Stands for the reader of a capture: its records are planted."""

    records: Sequence[Record] = ()
    marker = ""

    def __init__(self, file: str, **_: Any) -> None:
        if file.endswith("gone.pcap"):
            raise CaptureError(f"cannot open {file}: [Errno 2] {os.path.abspath(file)}")
        self.source = SimpleNamespace(total=None, name=file, bytes_read=0)
        named = any(record.src for record in self.records)
        place = f"{self.marker}:1025 to {self.marker}:1801"
        notices = Counter({f"{place}: {self.marker}": 1} if named else {})
        self.summary = Summary(frames=len(self.records), understood=1, notices=notices)
        self.last_id = len(self.records)

    def __enter__(self) -> PlantedReader:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def projected(self, _: object) -> Iterator[Record]:
        return iter(self.records)

    def batched(self) -> Iterator[Record]:
        return iter(self.records)


class PlantedCarving:
    """Stands for what searches files: it finds the planted records."""

    told_before = 0
    data = b""

    def __init__(self, sources: Sequence[str], **_: Any) -> None:
        found = Counter(damaged=len(PlantedReader.records))
        self.searched = [
            SearchedFile(name=one, grades=found, failure=f"cannot read {one}") for one in sources
        ]

    def __enter__(self) -> PlantedCarving:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Record]:
        for record in PlantedReader.records:
            locations = (FileLocation(capture=record.capture, offset=record.offset),)
            yield msgspec.structs.replace(record, grade="damaged", locations=locations)


@pytest.fixture
def printed(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """Run a command line over planted records; all it printed and wrote."""

    def print_(command: Command, records: Sequence[Record], marker: str, *more: str) -> str:
        PlantedReader.records, PlantedReader.marker = records, marker
        monkeypatch.setattr(capture_sequence, "CaptureReader", PlantedReader)
        monkeypatch.setattr(carve_reading, "CarveReader", PlantedCarving)
        folder = tmp_path / "out"
        folder.mkdir(exist_ok=True)
        arguments = [one.format(folder=folder) for one in command.arguments]
        # A path may name a host, and goes with the hosts.
        place = folder / (marker if "hosts" in more[-1:][0].split(",") else "made") if more else folder
        place.mkdir(exist_ok=True)
        more_files = {"timeline": (), "why": ("0",)}.get(command.name, (place / "gone.pcap",))
        files = [place / "made.pcap", *more_files]
        outcome = run(*command.name.split(), *files, *arguments, *more)
        assert outcome.status in (0, 1, 2)
        written = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file()]
        return "\n".join((outcome.out, outcome.err, *written))

    return print_


def test_the_commands_that_redact_are_walked() -> None:
    names = {line.name for line in command_lines()}
    assert names >= {"decode", "messages", "calls", "findings", "diagnose", "timeline", "report", "replay"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "what"),
    [
        *((line, _ALL) for line in share(command_lines())),
        *share([(line, (one,)) for line in command_lines() for one in Redaction], 8),
    ],
    ids=lambda one: ",".join(one) if isinstance(one[0], Redaction) else str(one),
)
def test_no_marker_is_left_in_what_a_command_prints(
    command: Command, what: tuple[Redaction, ...], printed: Callable[..., str]
) -> None:
    unplanted, rounds = staying(what), 6 if WHOLE else 1
    records = [list(planted_records(marker, rounds=rounds, unplanted=unplanted)) for marker in _MARKERS]
    shown = [
        printed(command, one, marker, "--redact", ",".join(what))
        for one, marker in zip(records, _MARKERS, strict=True)
    ]
    assert found(_MARKERS[0], shown[0]) == []
    assert shown[0] == shown[1]
    if what == _ALL:
        # It is there as long as nothing is asked for.
        assert found(_MARKERS[0], printed(command, records[0], _MARKERS[0])) != []
