"""The benchmarks without their clock: contestants agree, ratios are those of rounds, the page is filled."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import msmq_wire as mw
from benchmarks import capture_groups, codec_groups, lean_construct
from benchmarks.agreement import Facts, differences
from benchmarks.calls import remote_reads
from benchmarks.captures import CAPTURES
from benchmarks.conversations import other_traffic, short_connections, srmp, two_way_session
from benchmarks.measure import Contestant, Result, measure, ratio_of
from benchmarks.report import GROUPS, page_with, ratios, summary, table_text
from benchmarks.scaling import Scaling
from benchmarks.traffic import disordered, in_order, lossy, payload_of, write
from benchmarks.workload import MIX_CYCLE, message, messages, mixed
from msmq_wire.capture.reader import read_capture
from msmq_wire.records.record import Record

pytestmark = pytest.mark.needs("dissect.cstruct", "dpkt", "impacket", "scapy-rpc")

_ROOT = Path(__file__).resolve().parents[1]
_REQUIRED = {
    "rows_decode_vs_construct_lean",
    "encode_vs_construct_lean",
    "columns_decode_vs_construct_lean",
    "columns_arrow_vs_construct_lean",
    "capture_rows_vs_tshark_fields",
    "capture_arrow_vs_tshark_fields",
    "capture_arrow_vs_tshark_ek",
    "capture_arrow_vs_memory_floor",
    "capture_judged_vs_memory_floor",
    "capture_judged_vs_memory_floor_other",
}
_OF_COMMANDS = {
    "commands_decode_jsonl_vs_tshark_ek_session",
    "commands_messages_jsonl_vs_tshark_fields_short",
    "commands_calls_jsonl_vs_tshark_fields_calls",
    "commands_start_messages_vs_tshark",
    "commands_start_import_vs_tshark",
}


def _result(group: str, contestant: str, *rates: float) -> Result:
    middle = sorted(rates)[len(rates) // 2]
    return Result(group, contestant, "messages/s", middle, min(rates), max(rates), rates, rates)


def _of_every_contestant() -> list[Result]:
    names = {
        name
        for module in ("codec_groups", "capture_groups", "command_groups")
        for name in _contestants(module)
    }
    return [_result(group, name, 1.0, 2.0, 4.0) for group in GROUPS for name in sorted(names)]


def _contestants(module: str) -> list[str]:
    found = vars(sys.modules[f"benchmarks.{module}"])
    return [found[name] for name in found["__all__"] if name.isupper() and isinstance(found[name], str)]


def _document(**changes: Any) -> dict[str, Any]:
    results = _of_every_contestant()
    return {
        "machine": {"cpu": "a processor", "cores": 2, "system": "Linux", "pinned": True, "busy": 0.25},
        "date": "2026-01-02",
        "quick": False,
        "versions": {"Python": "3.11.0"},
        "results": [{name: getattr(result, name) for name in result.__struct_fields__} for result in results],
        "scaling": [],
        "ratios": ratios(results),
        "cpu_ratios": ratios(results, cpu=True),
        **changes,
    }


@pytest.mark.check
def test_all_contestants_of_the_program_agree() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--check"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "all contestants agree" in done.stdout


def test_a_contestant_that_reads_something_else_is_named() -> None:
    first, second = Facts("ping", 1), Facts("ping", 2)
    found = {"same": [first, second], "short": [first], "other": [second, second]}
    assert differences(found, [first, second]) == [
        "short: 1 of 2, the first that differs is number 1",
        "other: 2 of 2, the first that differs is number 0",
    ]


def test_a_peer_that_changes_a_byte_does_not_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = lean_construct.encode
    monkeypatch.setattr(lean_construct, "encode", lambda decoded: encode(decoded)[:-1] + b"\xff")
    [line] = codec_groups.check([mw.encode(message(7))])
    assert line.startswith("construct, lean, encode: ")


def test_a_message_has_the_size_it_is_asked_for() -> None:
    for size in (600, 4096):
        packets = list(messages(40, size))
        assert {len(packet) for packet in packets} == {size}
        assert [mw.decode(packet, as_="user_message").user_header.message_id for packet in packets] == list(
            range(40)
        )
        assert len(set(packets)) == 40


def test_messages_from_a_template_are_those_built_one_by_one() -> None:
    assert list(messages(20, first=30)) == [mw.encode(message(number)) for number in range(30, 50)]


@pytest.mark.slow
def test_a_mix_has_every_kind_and_nothing_that_does_not_decode() -> None:
    results = [mw.inspect(data) for data in mixed(MIX_CYCLE)]
    assert {result.type for result in results} == {
        "ping",
        "establish_connection",
        "connection_parameters",
        "session_ack",
        "user_message",
        "order_ack",
        "final_ack",
    }
    assert [result.error for result in results if result.error is not None] == []
    assert [a.code for result in results for a in result.anomalies] == ["user_header.hops"] * 2
    assert (
        sum(getattr(result.packet, "multi_queue_format_header", None) is not None for result in results) == 2
    )


@pytest.mark.parametrize("shape", [in_order, disordered], ids=["in-order", "disordered"])
def test_a_capture_carries_every_message_once(shape: Any, tmp_path: Path) -> None:
    packets = list(messages(150, 2000))
    written = write(tmp_path / "messages.pcap", shape(packets))
    records = list(read_capture(written.path))
    assert {record.type for record in records} == {"user_message"}
    assert sorted(mw.encode(record.packet) for record in records) == sorted(packets)
    data = written.path.read_bytes()
    at, sizes = 24, []
    while at < len(data):
        sizes.append(struct.unpack_from("<I", data, at + 8)[0])
        at += 16 + sizes[-1]
    assert len(sizes) == written.frames
    assert sum(size - 54 for size in sizes) == written.payload


def _records(tmp_path: Path, frames: Iterable[bytes]) -> list[Record]:
    return list(read_capture(write(tmp_path / "records.pcap", frames).path))


def test_a_two_way_session_goes_as_between_queue_managers(tmp_path: Path) -> None:
    sent: list[bytes] = []
    records = _records(tmp_path, two_way_session(400, sent))
    assert len(records) == len(sent)
    assert {record.error for record in records} == {None}
    # From eight clients, and to them; a message is told from the acknowledgment of one by its class.
    counts = Counter((record.type, str(record.dst).startswith("192.0.2.254:")) for record in records)
    for opening in ("ping", "establish_connection", "connection_parameters"):
        assert (counts[opening, True], counts[opening, False]) == (8, 8)
    assert counts["user_message", True] == 400
    assert counts["order_ack", True] == counts["final_ack", True] == 0
    assert counts["session_ack", True] > 0 < counts["session_ack", False]
    messages_ = [record.packet for record in records if record.type == "user_message"]
    # Of every sequence the fourth, eighth ... asks for a FinalAck, and each eighth and the last are ordered.
    numbers = Counter(
        (packet.user_header.source_queue_manager, packet.transaction_header.tx_sequence_id)
        for packet in messages_
        if packet.transaction_header is not None
    )
    assert counts["final_ack", False] == sum(number // 4 for number in numbers.values())
    assert counts["order_ack", False] == sum(-(-number // 8) for number in numbers.values())
    receipts = [
        packet.message_properties_header.correlation_id
        for packet in messages_
        if packet.message_properties_header.message_class
    ]
    asked = [
        packet.user_header.source_queue_manager + packet.user_header.message_id.to_bytes(4, "little")
        for packet in messages_
        if not packet.message_properties_header.message_class and packet.message_properties_header.flags & 3
    ]
    assert receipts == asked


@pytest.mark.slow
def test_nothing_is_wrong_with_a_two_way_session_but_what_its_messages_carry(tmp_path: Path) -> None:
    written = write(tmp_path / "session.pcap", two_way_session(2100, []))
    done = subprocess.run(
        [sys.executable, "-m", "msmq_wire", "findings", "--format", "jsonl", str(written.path)],
        capture_output=True,
        check=False,
    )
    found = {json.loads(line)["id"] for line in done.stdout.splitlines()}
    # Random bytes, text in clear, certificates that are none; and the rule that a few messages break.
    assert found == {"BOD-ENC", "CNT-CLEAR", "CNT-CERT", "FLG-RC"}


@pytest.mark.slow
def test_a_lossy_capture_of_a_session_lacks_the_packets_of_missing_segments(tmp_path: Path) -> None:
    perfect: list[bytes] = []
    frames = list(two_way_session(1000, perfect))
    sent: list[bytes] = []
    received = list(lossy(two_way_session(1000, sent), sent))
    segments = [frame for frame in frames if payload_of(frame)]
    kept = Counter(frame for frame in received if payload_of(frame))
    assert set(kept) < set(segments)
    missing = len(segments) - len(kept)
    assert 0.004 < missing / len(segments) < 0.006
    assert 0.008 < (kept.total() - len(kept)) / len(segments) < 0.012
    assert Counter(frames) - Counter(received) == Counter(set(segments) - set(kept))
    lost = [payload_of(frame) for frame in segments if frame not in kept]
    whole = [
        packet
        for packet in perfect
        if not any(packet[at : at + 1460] in lost for at in range(0, len(packet), 1460))
    ]
    assert sent == whole
    assert missing >= len(perfect) - len(sent) > missing // 2
    records = _records(tmp_path, received)
    read = [mw.encode(one.packet) for one in records if one.error is None and one.type != "gap"]
    assert sorted(read) == sorted(whole)


def _behind(frames: list[bytes]) -> int:
    """How many segments come directly behind the one that follows them."""
    last: dict[bytes, int] = {}
    behind = 0
    for frame in frames:
        number = int.from_bytes(frame[38:42], "big")
        behind += number < last.get(frame[26:38], 0)
        last[frame[26:38]] = max(number, last.get(frame[26:38], 0))
    return behind


@pytest.mark.slow
def test_a_lossy_capture_has_one_segment_of_a_hundred_behind_the_next() -> None:
    sent: list[bytes] = []
    frames = list(dict.fromkeys(lossy(two_way_session(1000, sent), sent)))
    segments = [frame for frame in frames if payload_of(frame)]
    assert _behind([frame for frame in two_way_session(1000, []) if payload_of(frame)]) == 0
    assert 0.008 < _behind(segments) / len(segments) < 0.012


@pytest.mark.parametrize(
    ("shape", "count", "expected"),
    [
        # Bind, R_OpenQueue, and two calls for each message.
        (remote_reads, 10, {"rpc_bind": 1, "rpc_call": 21, "message_packet": 10}),
        (srmp, 10, {"srmp_message": 10}),
        # A message with each twentieth request.
        (other_traffic, 41, {"user_message": 3}),
    ],
    ids=["calls", "srmp", "other"],
)
def test_a_capture_of_another_protocol_has_these_records(
    shape: Any, count: int, expected: dict[str, int], tmp_path: Path
) -> None:
    sent: list[bytes] = []
    records = _records(tmp_path, shape(count, sent))
    assert Counter(record.type for record in records if record.error is None) == expected
    assert len(sent) == sum(expected.values())


def test_short_connections_have_a_handshake_one_or_two_messages_and_an_end(tmp_path: Path) -> None:
    sent: list[bytes] = []
    frames = list(short_connections(5, sent))
    flags = Counter(frame[47] & 0x07 for frame in frames)
    # SYN, and SYN with ACK; FIN of both sides; no RST.
    assert (flags[2], flags[1], flags[4]) == (10, 10, 0)
    records = _records(tmp_path, frames)
    assert len(records) == len(sent)
    counts = Counter(record.type for record in records if str(record.dst).endswith(":1801"))
    assert counts["establish_connection"] == counts["connection_parameters"] == 5
    assert counts["user_message"] == 1 + 2 + 1 + 2 + 1


@pytest.mark.slow
@pytest.mark.parametrize("reader", capture_groups.READERS)
def test_each_reader_finds_what_a_lossy_capture_has_left(reader: str, tmp_path: Path) -> None:
    written = CAPTURES["lossy"].write(tmp_path / "lossy.pcap", 6000)
    assert capture_groups.READERS[reader](written) == written.rows


@pytest.mark.slow
@pytest.mark.parametrize("name", CAPTURES)
def test_a_capture_is_the_same_each_time_and_about_as_long_as_asked(name: str, tmp_path: Path) -> None:
    frames = 3000 * CAPTURES[name].fewer
    first, second = (CAPTURES[name].write(tmp_path / f"{number}.pcap", frames) for number in range(2))
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.rows == second.rows > 0
    assert 2400 < first.frames < 3600


@pytest.mark.check
def test_every_contestant_runs_in_every_round_and_once_before() -> None:
    order: list[str] = []

    def work(name: str) -> int:
        order.append(name)
        return 5

    results = measure(
        "group", "items/s", [Contestant("a", lambda: work("a")), Contestant("b", lambda: work("b"))], 3
    )
    assert order == ["a", "b"] * 4
    assert [(each.contestant, len(each.rates), len(each.cpu_rates)) for each in results] == [
        ("a", 3, 3),
        ("b", 3, 3),
    ]


def test_a_ratio_is_taken_round_by_round() -> None:
    results = [_result("decode_600", "ours", 10, 40, 90), _result("decode_600", "theirs", 10, 20, 30)]
    assert ratio_of(results, "decode_600", "ours", "theirs") == (1, 2, 3)
    assert ratio_of(results, "decode_600", "ours", "absent") == ()


def test_a_ratio_of_cpu_time_is_none_where_that_is_not_known() -> None:
    timed = Result("decode_600", "ours", "messages/s", 8, 8, 8, (8,), (30,))
    other = Result("decode_600", "theirs", "messages/s", 2, 2, 2, (2,), (10,))
    assert ratio_of([timed, other], "decode_600", "ours", "theirs") == (4,)
    assert ratio_of([timed, other], "decode_600", "ours", "theirs", cpu=True) == (3,)
    unknown = [msgspec.structs.replace(each, cpu_rates=()) for each in (timed, other)]
    assert ratio_of(unknown, "decode_600", "ours", "theirs", cpu=True) == ()


def test_the_summary_has_the_median_and_the_lowest_of_both_clocks_and_percent_of_the_floor() -> None:
    judged, arrow = "capture_judged_vs_memory_floor_session", "spark_parquet_vs_cli"
    found = {
        "ratios": {judged: 0.0416, arrow: 12.5},
        "lowest_ratios": {judged: 0.03, arrow: 11.0},
        "cpu_ratios": {judged: 0.05},
        "lowest_cpu_ratios": {judged: 0.045},
    }
    assert [line.split() for line in summary(found)] == [
        ["median", "lowest", "CPU", "lowest"],
        [judged, "4.16", "%", "3", "%", "5", "%", "4.5", "%"],
        [arrow, "12.5", "11"],
    ]


def test_ratios_have_the_names_that_others_read() -> None:
    found = ratios(_of_every_contestant())
    assert set(found) >= _REQUIRED | _OF_COMMANDS
    for name in _REQUIRED:
        if not name.endswith("_other"):
            assert f"{name}{'_600' if name.startswith('capture') else '_4k'}" in found
    assert set(found.values()) == {1}


def test_growth_is_the_cost_of_a_frame_in_the_large_capture_over_that_in_the_small() -> None:
    scaling = [Scaling("rows", 1000, 50, (50,), 1), Scaling("rows", 5000, 60, (60,), 1)]
    assert ratios([], scaling) == {"scaling_rows_5m_vs_1m": 1.2}


def test_a_group_for_a_terminal_shows_rates_and_ratios() -> None:
    lean, rows = codec_groups.LEAN, codec_groups.ROWS
    text = table_text(
        [_result("decode_600", lean, 10_000.0, 11_000), _result("decode_600", rows, 250_000, 253_000)],
        "decode_600",
    )
    assert f"{rows:48}      253,000 (250,000 to 253,000)   x 24 (23 to 25)   CPU x 24 (23 to 25)" in text


@pytest.mark.slow
def test_the_page_takes_the_figures_of_a_run_and_keeps_its_text() -> None:
    page = (_ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    filled = page_with(
        page,
        _document(
            scaling=[
                {
                    "work": "arrow",
                    "frames": 1_000_000,
                    "nanoseconds": 900.0,
                    "runs": [850.0, 900.0],
                    "peak_memory": 9_000_000,
                }
            ]
        ),
    )
    before, marker = page.split("<!-- generated: figures -->")[0], "<!-- end of generated part -->"
    assert filled.startswith(before)
    assert filled.endswith(marker + page.split(marker)[1])
    assert "Measured on 2026-01-02: a processor, 2 cores, Linux, one core for this process" in filled
    assert "| `rows_decode_vs_construct_lean` | 1 / 1 | 1 / 1 | 1 / 1 |" in filled
    assert "| capture to arrow | 1,000,000 | 900 | 850 to 900 | 9 |" in filled
    assert page_with(filled, _document()) == page_with(page, _document())


@pytest.mark.slow
def test_a_document_goes_through_json_unchanged() -> None:
    document = _document()
    page = (_ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert page_with(page, json.loads(json.dumps(document))) == page_with(page, document)
