"""Trees for files and pipes: the same text as that of the printer for everything."""

from __future__ import annotations

import io
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from msmq_wire import encode, inspect, read_capture, strategies
from msmq_wire.cli.render import tree_writer
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.tree_writer import TreeWriter
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import CaptureError
from msmq_wire.records.message import message_of
from msmq_wire.records.record import Record
from msmq_wire.records.tree.tree import Tree, TreeOptions, print_record
from msmq_wire.records.tree.tree_node import Block
from msmq_wire.wire.registry import PACKETS
from tests.effort import cuts, examples, in_batches, share
from tests.fixture_files import HEX_FILES
from tests.hex_files import hex_bytes

_CAPTURES = sorted(
    path
    for path in (Path(__file__).resolve().parents[3] / "fixtures" / "captures").rglob("*.pcap*")
    if path.suffix in (".pcap", ".pcapng")
)
# The other writer writes those of discovery, which are few.
_SENT = sorted(set(PACKETS) - {"message_packet", "topology_client_request", "topology_server_reply"})
_OPTIONS = {
    "plain": TreeOptions(),
    "in another zone": TreeOptions(zone=ZoneInfo("Europe/Berlin")),
    "in the zone of the machine": TreeOptions(zone=None),
    "with whole bodies": TreeOptions(body_limit=0),
    "with short bodies": TreeOptions(body_limit=7),
    "with bytes": TreeOptions(hex=True),
}


@pytest.fixture(autouse=True)
def _no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """The records that were left to the printer for everything."""
    found: list[Record] = []

    def printed(screen: Screen, record: Record, options: TreeOptions, **words: str) -> None:
        found.append(record)
        print_record(screen, record, options, **words)

    monkeypatch.setattr(tree_writer, "print_record", printed)
    return found


class _Both:
    """Both ways to print, on streams of the same encoding."""

    def __init__(self, options: TreeOptions, encoding: str = "utf-8") -> None:
        self.options = options
        self.expected, self.written = self._screen(encoding), self._screen(encoding)
        self.writer = TreeWriter(self.written, options)

    def _screen(self, encoding: str) -> Screen:
        return Screen(io.TextIOWrapper(io.BytesIO(), encoding, write_through=True), "never")

    def check(self, record: Record, via: str = "") -> str:
        """The text of a record, which has to be the same."""
        print_record(self.expected, record, self.options, via=via)
        self.writer.record(record, via)
        expected, written = self._taken(self.expected), self._taken(self.written)
        assert written == expected
        return written

    def _taken(self, screen: Screen) -> str:
        raw = screen.stream.buffer
        assert isinstance(raw, io.BytesIO)
        text = raw.getvalue().decode(screen.encoding)
        raw.seek(0)
        raw.truncate()
        return text


def _record(data: bytes, as_: str | None = None) -> Record:
    result = inspect(data, as_)
    return Record(
        id=12,
        type=result.type or "unknown_packet",
        frames=(3, 5, 6, 7),
        time=1_700_000_000_123_456_789,
        src="192.0.2.1:49152",
        dst="192.0.2.2:1801",
        length=len(data),
        packet=result.packet,
        anomalies=result.anomalies,
        consumed=result.consumed,
        remainder=result.remainder,
        error=result.error,
    )


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("options", _OPTIONS)
def test_every_fixture_packet_has_the_same_tree(options: str, encoding: str) -> None:
    both = _Both(_OPTIONS[options], encoding)
    paths = [path for path in HEX_FILES if path.parent.name in PACKETS]
    assert paths
    for path in paths if options == "plain" else share(paths, 3):
        record = _record(hex_bytes(path), path.parent.name)
        both.check(record, "tcp")
        both.check(msgspec.structs.replace(record, anomalies=()), "tcp")


@pytest.mark.slow
@in_batches(_CAPTURES)
def test_every_record_of_a_capture_has_the_same_tree(path: Path) -> None:
    both = _Both(TreeOptions())
    try:
        records = list(read_capture(path))
    except CaptureError:
        records = []
    for record in records:
        message = message_of(record, acknowledgments=True)
        both.check(record, "" if message is None else message["via"])


@pytest.mark.slow
@settings(max_examples=max(examples(20), settings().max_examples // len(_SENT)))
@pytest.mark.parametrize("stem", _SENT)
@given(data=st.data())
def test_any_value_has_the_same_tree(stem: str, data: st.DataObject) -> None:
    value: Any = data.draw(st.one_of(strategies.structure(stem), strategies.edge(stem)))
    zone: tzinfo | None = data.draw(st.sampled_from((UTC, ZoneInfo("Asia/Kathmandu"), None)))
    both = _Both(TreeOptions(zone=zone), data.draw(st.sampled_from(("utf-8", "cp1252"))))
    record = Record(id=1, type=stem, packet=value, consumed=len(encode(value)), length=len(encode(value)))
    # The second time from what was kept of the first.
    assert both.check(record) == both.check(record)


@pytest.mark.slow
@settings(max_examples=max(examples(20), settings().max_examples // len(_SENT)))
@pytest.mark.parametrize("stem", _SENT)
@given(data=st.data())
def test_any_damage_has_the_same_tree(stem: str, data: st.DataObject) -> None:
    record = _record(data.draw(strategies.mutated(stem)), stem)
    event("stopped" if record.error is not None else "whole")
    both = _Both(TreeOptions())
    both.check(record)
    both.check(msgspec.structs.replace(record, anomalies=()))


@pytest.mark.slow
def test_one_writer_prints_packets_of_many_shapes() -> None:
    both = _Both(TreeOptions())
    for number in range(40):
        packet = build_message(
            f"DIRECT=OS:host\\private$\\queue{'x' * (number % 7)}",
            b"%s \x00" * (number * 37 % 500),
            label="100 %d %%" + "y" * (number % 5),
            response_queue=f"DIRECT=OS:other{'z' * (number % 3)}\\answers" if number % 2 else None,
        )
        both.check(_record(encode(packet)), "tcp")


@pytest.mark.slow
@pytest.mark.parametrize("stem", _SENT)
def test_whole_packets_are_written_here(stem: str, left: list[Record]) -> None:
    for path in HEX_FILES:
        if path.parent.name != stem:
            continue
        record = _record(hex_bytes(path), stem)
        if not (record.anomalies or record.error or record.remainder):
            _Both(TreeOptions()).check(record)
    assert left == []


def test_what_is_not_whole_is_left(left: list[Record]) -> None:
    data = encode(build_message("DIRECT=OS:host\\q", b"body" * 30, label="x"))
    both = _Both(TreeOptions())
    for size in cuts(len(data)):
        both.check(_record(data[:size]))
    assert len(left) == len(cuts(len(data)))
    both.check(_record(data + b"more"))
    assert left[-1].remainder == b"more"


def test_a_body_with_bytes_missing_is_left(left: list[Record]) -> None:
    data = encode(build_message("DIRECT=OS:host\\q", b"body" * 30, label="x"))
    whole = _record(data)
    properties = whole.packet.message_properties_header
    shorter = msgspec.structs.replace(properties, message_body=b"body")
    packet = msgspec.structs.replace(whole.packet, message_properties_header=shorter)
    _Both(TreeOptions()).check(msgspec.structs.replace(whole, packet=packet))
    assert len(left) == 1


@pytest.mark.parametrize("label", ["x" * 129, "\ud800", "x" * 249])
def test_a_text_that_needs_more_than_its_line_is_no_reason_to_leave_it(
    label: str, left: list[Record]
) -> None:
    record = _record(encode(build_message("DIRECT=OS:host\\q", b"body", label=label)))
    assert ("not well-formed" in _Both(TreeOptions()).check(record)) == (label == "\ud800")
    assert left == []


@pytest.mark.parametrize(
    ("width", "color", "hexed"), [("80", "never", False), ("", "always", False), ("", "never", True)]
)
def test_a_terminal_and_bytes_are_left(
    width: str, color: Any, hexed: bool, left: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    writer = TreeWriter(Screen(io.StringIO(), color), TreeOptions(hex=hexed))
    record = _record(encode(build_message("DIRECT=OS:host\\q", b"body")))
    writer.record(record)
    assert left == [record]


@pytest.mark.parametrize("size", [1, 15, 16, 17, 1023, 1024, 1025, 2050])
@pytest.mark.parametrize("letters", [b"a ", b" ", bytes(range(256))])
def test_a_dump_has_its_rows_and_no_blanks_at_their_ends(size: int, letters: bytes) -> None:
    data = (letters * size)[:size]
    stream = io.StringIO()
    Tree(Screen(stream, "never"), TreeOptions()).dump(Block(data, 9984), size, "|  ")
    rows = []
    for at in range(0, size, 16):
        row = data[at : at + 16]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        rows.append(f"{9984 + at:>4}  |  {row.hex(' '):48} {text}".rstrip())
    assert stream.getvalue() == "".join(f"{row}\n" for row in rows)


def test_hostile_text_reaches_no_terminal_through_the_writer() -> None:
    packet = build_message("DIRECT=OS:host\\q", b"body", label="\x1b[2Jpwned\u202e\n")
    text = _Both(TreeOptions()).check(_record(encode(packet)))
    assert not set(text) & set("\x1b\u202e")
    assert "\\x1b[2Jpwned\\u202e\\n" in text
