"""Tables, whatever their cells hold: one text never makes every row as long as itself."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from msmq_wire.cli.render.deviation_table import DeviationTable
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.step_text import StepText
from msmq_wire.cli.render.table import Table, table_of
from msmq_wire.detection.diagnosis.timeline import TimelineStep
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.display import Display
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.rpc_packets import RpcCall, TransferBuffer
from msmq_wire.records.tree.heading import Heading
from msmq_wire.records.tree.tree import TreeOptions, print_packet
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.sessions import Moment

_CREATE = Path(__file__).resolve().parents[2] / "fixtures" / "findings" / "RPC-FMTLEN" / "hit_create.pcap"
_LONG = "DIRECT=OS:" + "x" * 2000

Run = Callable[..., Any]


def _screen(width: int | None = None) -> tuple[Screen, io.StringIO]:
    stream = io.StringIO()
    screen = Screen(stream)
    screen.width = width
    return screen, stream


@pytest.mark.parametrize("width", [None, 80, 300])
@pytest.mark.parametrize("make", [partial(table_of, CALL_COLUMNS), partial(table_of, COLUMNS)])
@pytest.mark.parametrize("name", ["queue", "label", "what", "src", "method", "status_name"])
def test_a_text_of_2000_characters_is_trimmed_in_every_column(
    make: Any, name: str, width: int | None
) -> None:
    screen, stream = _screen(width)
    table = make(screen)
    table.add({"id": 1, "queue": "short", "status": 1, name: _LONG})
    table.add({"id": 2, "queue": "short"})
    table.finish()
    assert max(map(cell_len, stream.getvalue().splitlines())) <= (width or 400)


def test_what_is_escaped_is_no_longer_for_that() -> None:
    screen, stream = _screen()
    table = Table(screen, [Display("a"), Display("b", end=True)])
    table.add({"a": "\x1b" * 5000, "b": "\x1b" * 5000 + "end"})
    table.add({"a": "y" * 256, "b": "z" * 256})
    table.finish()
    heading, first, second = stream.getvalue().splitlines()
    assert max(map(len, (heading, first, second))) == 256 + 2 + 256
    assert "…" in first
    assert first.endswith("end")
    assert "…" not in second


def test_calls_trim_a_long_queue_in_a_pipe_and_json_lines_have_all_of_it(run: Run) -> None:
    rows = [json.loads(line) for line in run("calls", _CREATE, "--format", "jsonl", "-q").out.splitlines()]
    queue = next(row["queue"] for row in rows if row["queue"])
    assert len(queue) > 256
    out = run("calls", _CREATE, "-q").out
    assert queue not in out
    assert f"…{queue[-255:]}" in out


@pytest.mark.parametrize(
    "packet",
    [
        RpcCall(interface="qmcomm", opnum=7, method="R_QMDeleteObject", syntax="ndr", queue=_LONG),
        TransferBuffer(queue=_LONG, properties=MessageProperties()),
    ],
)
def test_the_heading_of_a_tree_is_one_line(packet: Any) -> None:
    screen, stream = _screen()
    print_packet(screen, Heading(type="x"), packet, TreeOptions())
    assert len(stream.getvalue().splitlines()[0]) < 200


def test_a_deviation_and_a_step_are_no_longer_for_their_queue() -> None:
    screen, stream = _screen()
    rule = ProcessingRule("MQRR", "3.1.4.7", 1)
    one = ReplayDeviation(
        kind="status", record=1, message="wrong", expected="a", came="b", rule=rule, queue=_LONG
    )
    DeviationTable(screen).add(one, "low")
    moment = Moment(record=1, frame=1, time=0)
    StepText(screen).steps([TimelineStep(at=moment, src="a", dst="b", what="sent", detail=_LONG)])
    assert max(map(len, stream.getvalue().splitlines())) < 400


def test_rows_that_come_one_by_one_are_printed_one_by_one_and_fit() -> None:
    screen, stream = _screen(120)
    table = table_of(COLUMNS, screen, at_once=True)
    for number, label in ((1, "a"), (12345, "a longer label than the first one has")):
        table.add({"id": number, "time": "2026-11-20T09:14:07Z", "queue": "q", "label": label})
        lines = stream.getvalue().splitlines()
        assert str(number) in lines[-1]
        assert max(map(cell_len, lines)) <= 120
    assert "a longer" in lines[-1]
    assert len(lines) == 3


def test_an_id_is_never_cut_and_the_line_stays_as_long() -> None:
    screen, out = _screen(40)
    table = Table(screen, [Display("id", number=True), Display("label", smallest=4)])
    for number in (*range(1, 150), 1_234_567, 12_345_678_901):
        table.add({"id": number, "label": "x" * 60})
    table.finish()
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines[-3:]] == ["149", "1234567", "12345678901"]
    assert {len(line) for line in lines[1:]} == {40}
