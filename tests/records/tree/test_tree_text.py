"""Trees as text: what ``decode`` writes to a file, without a terminal or the extra cli."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import msmq_wire as mw
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.tree_writer import TreeWriter
from msmq_wire.errors import CaptureError
from msmq_wire.invisible import UNSEEN
from msmq_wire.records.message import message_of
from msmq_wire.records.record import is_step
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.tree.tree import TreeOptions
from msmq_wire.records.tree.tree_screen import TextScreen
from tests.effort import share

_CAPTURES = sorted((Path(__file__).resolve().parents[3] / "fixtures" / "captures").glob("*.pcap"))
_PING = bytes.fromhex("017d4855 04000000 d158735550919595 4997b6e611ea26c6")
_MESSAGE = mw.build_message(r"DIRECT=OS:msg01\private$\orders", "Order", label="\x1b[2J\u202e")

_PING_TREE = """\
ping  24 bytes
   0  ping  [MS-MQQB] 2.2.7
   0  ├─ flags      0x7d01
      │  ├─ rc      1  initiator is a client-class system
      │  └─ x       0x1f40  reserved
   2  ├─ signature  0x5548  "HU"
   4  ├─ cookie     4
   8  └─ qm_guid    557358d1-9150-9595-4997-b6e611ea26c6"""
_HEADER_TREE = """\
   0  base_header  [MS-MQMQ] 2.2.19.1
   0  ├─ version_number       0x10
   2  ├─ flags                0x0003
      │  └─ pr                3  priority
   4  ├─ signature            0x524f494c  "LIOR"
   8  ├─ packet_size          196 bytes
  12  └─ time_to_reach_queue  4294967295  infinite"""
_RECORD_TREE = """\
#1  2026-11-20 09:14:07.512000Z  192.0.2.21:50217 → 192.0.2.10:3527  ping  24 bytes  frame 1
   0  ping  [MS-MQQB] 2.2.7
   0  ├─ flags      0x0001
      │  └─ rc      1  initiator is a client-class system
   2  ├─ signature  0x5548  "HU"
   4  ├─ cookie     7
   8  └─ qm_guid    a1d30c5b-247e-4f45-9a31-c5d20e6f7788"""


@pytest.fixture(autouse=True)
def _no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def _demo() -> list[mw.Record]:
    return list(mw.read_capture(str(next(path for path in _CAPTURES if path.name == "demo.pcap"))))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (mw.decode(_PING), _PING_TREE),
        (_MESSAGE.base_header, _HEADER_TREE),
        (_demo()[0], _RECORD_TREE),
        (
            mw.GUID.parse("557358d1-9150-9595-4997-b6e611ea26c6"),
            "   0  guid  557358d1-9150-9595-4997-b6e611ea26c6",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_a_value_is_the_tree_that_the_command_prints(value: Any, text: str) -> None:
    assert mw.tree(value) == text


def test_a_call_is_a_tree_of_its_parameters() -> None:
    call = RpcCall(interface="qmcomm", opnum=11, method=None, syntax="ndr", queue="PUBLIC=a")
    assert mw.tree(call) == (
        "rpc_call  PUBLIC=a\n"
        "  method    not known  qmcomm, opnum 11\n"
        "  queue     PUBLIC=a\n"
        "  request   not captured\n"
        "  response  not captured"
    )


def test_what_breaks_a_rule_stands_below_its_field() -> None:
    packet = mw.decode(b"\x11" + mw.encode(_MESSAGE)[1:])
    lines = mw.tree(packet).splitlines()
    at = next(place for place, line in enumerate(lines) if "version_number" in line)
    assert lines[at].endswith("version_number         0x11")
    assert "⚠ base_header.version-number: " in lines[at + 1]


def test_a_part_of_a_packet_has_the_fields_that_were_reached() -> None:
    part = mw.inspect(mw.encode(_MESSAGE)[:40]).packet
    assert part is not None
    assert mw.tree(part).splitlines()[0] == "user_message"
    assert "source_queue_manager" in mw.tree(part)
    assert "destination_queue" not in mw.tree(part)


def test_a_label_cannot_move_the_cursor_or_turn_the_text() -> None:
    text = mw.tree(_MESSAGE)
    assert text.splitlines()[0] == (
        'user_message  DIRECT=OS:msg01\\private$\\orders  "\\x1b[2J\\u202e"  196 bytes'
    )
    assert UNSEEN.search(text.replace("\n", "")) is None


@pytest.mark.parametrize("path", share(_CAPTURES), ids=lambda path: path.name)
def test_every_record_has_the_text_that_decode_writes(path: Path) -> None:
    stream = io.StringIO()
    writer = TreeWriter(Screen(stream), TreeOptions())
    shown: list[str] = []
    try:
        for record in mw.read_capture(str(path)):
            if not is_step(record):
                message = message_of(record, acknowledgments=True)
                writer.record(record, "" if message is None else message["via"])
                shown += mw.tree(record).splitlines()
    except CaptureError:
        pass
    assert list(filter(None, shown)) == list(filter(None, stream.getvalue().splitlines()))


def test_a_wide_character_takes_two_cells_and_an_accent_none() -> None:
    assert list(map(TextScreen().cells, ("abc", "漢字", "e\u0301", "é"))) == [3, 4, 1, 1]


def test_a_tree_needs_no_terminal_library() -> None:
    code = (
        "import sys\n"
        "for name in ('rich', 'typer', 'click'): sys.modules[name] = None\n"
        "import msmq_wire as mw\n"
        f"print(mw.tree(mw.decode(bytes.fromhex('{_PING.hex()}'))).splitlines()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("ping  24 bytes\n", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "value must be a record, a packet or a header, not NoneType"),
        (5, "value must be a record, a packet or a header, not int"),
        (_PING, "value must be a record, a packet or a header, not bytes"),
        (
            mw.inspect(_PING),
            "value must be a record, a packet or a header, not InspectResult: tree(value.packet)",
        ),
    ],
)
def test_what_has_no_tree_is_a_wrong_type(value: Any, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        mw.tree(value)
    assert str(caught.value) == text


def test_a_type_without_fields_is_a_tree_of_one_line() -> None:
    assert mw.tree(mw.GUID(bytes(16))).split() == ["0", "guid", "00000000-0000-0000-0000-000000000000"]
