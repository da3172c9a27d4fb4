"""Event logs from files: what is kept, what is counted, and what damage and attacks leave of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from msmq_wire.capture.event_logs import event_log_reader, evtx_file, evtx_process
from msmq_wire.capture.event_logs.event_log_reader import read_event_log
from msmq_wire.errors import CaptureError, MissingExtraError
from msmq_wire.records.log_event import LogClearing, LogEvent
from msmq_wire.wire.types.guid import GUID
from tests.capture.event_logs.event_text import END2END, event_text
from tests.capture.event_logs.evtx_bytes import evtx_file as evtx_bytes

_TIME = 1795166047_123456700
_GUID = "a1d30c5b-247e-4f45-9a31-c5d20e6f7788"
_DATA = (f"{{{_GUID}}}", "4162", "msg01\\private$\\orders")
_PUT = LogEvent(
    computer="MSG01.corp.example",
    event_id=1,
    record_id=1,
    time=_TIME,
    queue_manager=GUID.parse(_GUID),
    number=4162,
    queue="msg01\\private$\\orders",
    local=True,
)


def _texts(count: int) -> list[str]:
    return [event_text(number, _TIME, _DATA) for number in range(1, count + 1)]


def _write(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "log"
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("kind", ["evtx", "xml"])
def test_event_1_is_read_and_everything_else_is_kept_as_it_is_or_counted(tmp_path: Path, kind: str) -> None:
    texts = [
        event_text(1, _TIME, _DATA),
        event_text(2, _TIME, ["a", "b"], event_id=2),
        event_text(3, _TIME, ["no GUID", "1", "q"]),
        event_text(4, _TIME, _DATA, channel="Application"),
        event_text(5, _TIME, _DATA, provider="Other"),
    ]
    data = evtx_bytes([texts]) if kind == "evtx" else "".join(texts).encode()
    log = read_event_log(_write(tmp_path, data))
    assert log.events[0] == _PUT
    assert [(one.event_id, one.message_id, one.data) for one in log.events[1:]] == [
        (2, None, ("a", "b")),
        (1, None, ("no GUID", "1", "q")),
    ]
    assert (log.foreign, log.damage, log.clearings) == (2, "", ())


@pytest.mark.parametrize(
    "data",
    [
        [_GUID, "4162", "q", "more"],
        [_GUID, "4162"],
        [_GUID, "-1", "q"],
        [_GUID, "4294967296", "q"],
        [_GUID, "\uff14\uff11", "q"],
        ["a1d30c5b-247e", "4162", "q"],
    ],
)
def test_data_of_another_form_names_no_message(tmp_path: Path, data: list[str]) -> None:
    (event,) = read_event_log(_write(tmp_path, event_text(1, _TIME, data).encode())).events
    assert (event.message_id, event.data) == (None, tuple(data))


def test_a_provider_is_known_by_its_guid_too(tmp_path: Path) -> None:
    text = event_text(1, _TIME, _DATA, provider="unnamed").replace(
        'Name="unnamed"', 'Guid="{CE18AF71-5EFD-4F5A-9BD5-635E34632F69}"'
    )
    assert read_event_log(_write(tmp_path, text.encode())).events == (_PUT,)


def test_clearings_are_those_of_this_channel_and_of_the_security_log(tmp_path: Path) -> None:
    eventlog = "Microsoft-Windows-Eventlog"
    texts = [
        event_text(1, _TIME, ["admin", "CORP", END2END], event_id=104, channel="System", provider=eventlog),
        event_text(2, _TIME, ["admin", "CORP", "Setup"], event_id=104, channel="System", provider=eventlog),
        event_text(3, _TIME, [], event_id=1102, channel="Security", provider=eventlog),
    ]
    log = read_event_log(_write(tmp_path, "".join(texts).encode()))
    assert log.clearings == tuple(
        LogClearing(computer="MSG01.corp.example", event_id=number, time=_TIME) for number in (104, 1102)
    )
    assert log.foreign == 3


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


_TWO_CHUNKS = evtx_bytes([_texts(2), [event_text(3, _TIME, _DATA)]])


@pytest.mark.parametrize(
    ("data", "numbers", "damage"),
    [
        (_TWO_CHUNKS, [1, 2, 3], ""),
        # A byte of the events of the first chunk, so that its checksum is wrong.
        (_flipped(_TWO_CHUNKS, 4096 + 700), [3], "1 part of it is damaged and left out"),
        # A byte of the header of the second chunk.
        (_flipped(_TWO_CHUNKS, 4096 + 65536 + 44), [1, 2], "1 part of it is damaged and left out"),
        (_TWO_CHUNKS[:-60_000], [1, 2], "it is cut off"),
        (_TWO_CHUNKS[:5000], [], "it is cut off"),
        (_TWO_CHUNKS[:100], [], "it cannot be read on"),
        (b"ElfFile\0" + bytes(100_000), [], "it is cut off"),
    ],
)
def test_damage_in_evtx_is_told_and_the_rest_is_read(
    tmp_path: Path, data: bytes, numbers: list[int], damage: str
) -> None:
    log = read_event_log(_write(tmp_path, data))
    assert [one.record_id for one in log.events] == numbers
    assert log.damage.startswith(damage)
    assert bool(log.damage) == bool(damage)


def test_a_record_that_grows_beyond_all_bounds_is_left_out(tmp_path: Path) -> None:
    # 20 KB in the file, 36 MB as text.
    bomb = f"<Event>{f'<{9_000 * chr(97)}/>' * 2_000}</Event>"
    log = read_event_log(_write(tmp_path, evtx_bytes([[bomb, event_text(2, _TIME, _DATA)]])))
    assert [one.record_id for one in log.events] == [2]
    assert log.damage.startswith("1 part of it is damaged")


def test_a_reader_that_dies_ends_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evtx_process, "__name__", "tests.capture.event_logs.no_such_module")
    log = read_event_log(_write(tmp_path, _TWO_CHUNKS))
    assert log.damage == "the reading ended before the end of the file: it is damaged, or too large"


def test_the_process_that_reads_is_bounded_in_memory_and_time() -> None:
    pytest.importorskip("resource")
    code = (
        "import resource; from msmq_wire.capture.event_logs import evtx_process as p; p._limit();"
        "print(resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CPU)[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    memory, seconds = map(int, done.stdout.split())
    assert 0 < memory <= evtx_process.MEMORY
    assert 0 < seconds <= evtx_process.SECONDS


def test_without_the_package_xml_is_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evtx_file, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"wevtutil qe FILE .*pip install \"msmq-wire\[evtx\]\""):
        read_event_log(_write(tmp_path, _TWO_CHUNKS))


def test_no_more_events_are_kept_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log_reader, "MOST_EVENTS", 2)
    log = read_event_log(_write(tmp_path, "".join(_texts(3)).encode()))
    assert len(log.events) == 2
    assert log.damage == "it has more than 2 events, and the others were not read"


@pytest.mark.parametrize("data", [b"", b"\xd4\xc3\xb2\xa1 a capture", b"Level,Date and Time"])
def test_a_file_that_is_no_event_log_is_refused_with_a_way_out(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(
        CaptureError, match=r"is no event log, neither \.evtx nor XML; export the log: wevtutil"
    ):
        read_event_log(_write(tmp_path, data))


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"cannot open .*: No such file"):
        read_event_log(str(tmp_path / "absent"))
    with pytest.raises(CaptureError, match="it is no regular file"):
        read_event_log(str(tmp_path))


@pytest.mark.parametrize("data", [b"<Events/>", evtx_bytes([])])
def test_a_log_without_events_is_a_log(tmp_path: Path, data: bytes) -> None:
    log = read_event_log(_write(tmp_path, data))
    assert (log.events, log.damage) == ((), "")


def test_characters_that_xml_does_not_have_are_replaced(tmp_path: Path) -> None:
    text = event_text(1, _TIME, [_GUID, "1", "a\x07\x1b[31mb"])
    (event,) = read_event_log(_write(tmp_path, text.encode())).events
    assert event.queue == "a\ufffd\ufffd[31mb"


def test_utf_16_with_an_odd_number_of_bytes_is_cut_off(tmp_path: Path) -> None:
    log = read_event_log(_write(tmp_path, "".join(_texts(2)).encode("utf-16") + b"x"))
    assert ([one.record_id for one in log.events], log.damage) == ([1, 2], "it is cut off")
