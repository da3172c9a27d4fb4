"""Messages as Python objects: values by hand, filters, several files, damage and what is read only once."""

from __future__ import annotations

import io
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import msmq_wire as mw
from msmq_wire.wire.types.enumerations import BodyType, MessageClass
from tests.splitting import split

_ROOT = Path(__file__).resolve().parents[2]
_CAPTURES = _ROOT / "fixtures" / "captures"
_DEMO = _CAPTURES / "demo.pcap"
_CUT = _CAPTURES / "path_cut_file.pcap"
_READ_TWICE = (
    "outcome needs two readings, and this capture can be read only once: save it to a file first, "
    "or use outcomes=False"
)


def test_a_message_has_python_values() -> None:
    order, payment, catalogue = mw.messages(_DEMO)
    assert (order.id, order.queue, order.label) == (10, "DIRECT=OS:msg01\\private$\\orders", "order 4711")
    assert order.message_id == "a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4162"
    assert order.frames == (11,)
    assert order.time == datetime(2026, 11, 20, 9, 14, 7, 525000, UTC)
    assert order.time_ns == 1_795_166_047_525_000_000
    assert (order.sent_time, order.sent_at) == (1_795_166_047, datetime(2026, 11, 20, 9, 14, 7, tzinfo=UTC))
    assert order.sent_at_ns == 1_795_166_047_000_000_000
    assert order.message_class is MessageClass.MQMSG_CLASS_NORMAL
    assert order.body_type is BodyType.VT_LPWSTR
    assert (order.priority, order.delivery, order.via, order.how) == (3, "express", "tcp", "sent")
    assert order.record.type == "user_message"
    assert order.text is not None
    assert order.text.startswith('<?xml version="1.0"?>')
    assert payment.body == b'{"payment": 93, "order": 4711, "amount": "129.90", "currency": "EUR"}'
    assert payment.message_body is not None
    assert payment.message_body.whole
    assert [one.outcome for one in (order, payment, catalogue)] == [
        "acknowledged",
        "received",
        "acknowledged",
    ]
    assert catalogue.body is not None
    assert len(catalogue.body) == catalogue.body_size == 4049
    assert repr(payment) == (
        r"<Message id=11 queue='DIRECT=OS:msg01\\private$\\payments' label='payment 93' outcome='received'>"
    )


def test_a_message_is_a_frozen_value() -> None:
    message = next(mw.messages(_DEMO))
    assert message.text
    assert pickle.loads(pickle.dumps(message)) == message
    assert len({message, *mw.messages(_DEMO)}) == 3
    with pytest.raises(AttributeError):
        message.outcome = None  # type: ignore[misc]  # it is frozen


def test_acknowledgments_are_listed_on_request() -> None:
    path = _CAPTURES / "clean_all_deliveries.pcap"
    usual, everything = [*mw.messages(path)], [*mw.messages(path, all=True)]
    more = [one.record.type for one in everything if one not in usual]
    assert more
    assert set(more) <= {"order_ack", "final_ack"}


@pytest.mark.parametrize(
    ("filter_", "labels"),
    [
        ("label ~ order", ["order 4711"]),
        ("outcome == received", ["payment 93"]),
        (["body_size > 100", "outcome != received"], ["order 4711", "catalogue 2026-11-20"]),
        ("time >= 2026-11-20T09:14:08Z", ["payment 93", "catalogue 2026-11-20"]),
    ],
)
def test_a_filter_chooses_messages(filter_: str | list[str], labels: list[str]) -> None:
    assert [one.label for one in mw.messages(_DEMO, filter=filter_)] == labels


@pytest.mark.parametrize(
    ("filter_", "kind"), [(5, "int"), (b"label ~ order", "bytes"), (["label ~ order", 5], "list")]
)
def test_a_filter_that_is_no_text_is_refused(filter_: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"^filter must be text or a list of texts, not {kind}$"):
        mw.messages(_DEMO, filter=filter_)


def test_a_wrong_filter_says_what_the_command_says_before_anything_is_read() -> None:
    with pytest.raises(mw.MsmqWireError, match="nothing is called 'lable'; did you mean 'label'"):
        mw.messages("no such file", filter="lable ~ order")
    with pytest.raises(mw.MsmqWireError, match="an outcome is known only at the end of a capture"):
        mw.messages(_DEMO, filter="outcome == received", outcomes=False)


def test_without_outcomes_captures_are_read_once() -> None:
    assert [one.outcome for one in mw.messages(_DEMO, outcomes=False)] == [None] * 3


def test_a_file_object_is_read_from_where_it_is() -> None:
    stream = io.BytesIO(_DEMO.read_bytes())
    assert [one.outcome for one in mw.messages(stream)] == ["acknowledged", "received", "acknowledged"]


class _Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False


def test_what_is_read_only_once_has_no_outcomes() -> None:
    data = _DEMO.read_bytes()
    with pytest.raises(mw.MsmqWireError) as caught:
        mw.messages(_Pipe(data))
    assert str(caught.value) == _READ_TWICE
    assert [one.id for one in mw.messages(_Pipe(data), outcomes=False)] == [10, 11, 13]


def test_files_of_a_ring_are_one_capture_with_the_frames_of_each(tmp_path: Path) -> None:
    names = ("ring_00001_20261128120000.pcap", "ring_00002_20261128121500.pcap")
    files = split(_DEMO, tmp_path, names, (12,))
    for path in (list(reversed(files)), tmp_path):
        found = [*mw.messages(path)]
        assert [one.id for one in found] == [10, 11, 13]
        assert [Path(one.capture).name for one in found] == [names[0], names[1], names[1]]
        assert [one.frames for one in found] == [(11,), (1,), (3, 4, 5)]


def test_what_is_left_out_of_a_folder_is_a_notice(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    for name in ("demo.pcap", "inside/demo.pcap", "notes.txt"):
        (tmp_path / name).write_bytes(_DEMO.read_bytes())
    found = mw.messages(tmp_path)
    with pytest.warns(mw.CaptureWarning) as warned:
        assert len(list(found)) == 3
    assert len(warned) == 2
    assert found.notices == (
        "files left out of folders, as their names are not those of captures: 1",
        "folders inside left out: 1; recursive=True reads those, too",
    )
    with pytest.warns(mw.CaptureWarning, match="^files left out of folders"):
        assert len(list(mw.messages(tmp_path, recursive=True))) == 6


def test_what_cannot_be_read_raises() -> None:
    for path, words in (
        ("no such file", "cannot open"),
        (__file__, "is text, not pcap or pcapng"),
        ([str(_DEMO), "no"], "cannot open"),
    ):
        with pytest.raises(mw.CaptureError, match=words):
            list(mw.messages(path))
    with pytest.raises(mw.MsmqWireError, match="no capture is given"):
        mw.messages([])


def test_a_damaged_file_gives_what_is_before_the_damage_and_says_so() -> None:
    with pytest.warns(mw.CaptureWarning, match="cut"), mw.messages(_CUT, all=True) as found:
        assert [one.id for one in found] == [4]
    assert [(error.message, error.offset) for error in found.errors] == [
        (f"{_CUT}: the file is cut inside a record of 60 bytes", 856)
    ]
    assert found.notices == ()
    assert found.frames == 7


def test_a_notice_says_that_a_capture_holds_no_msmq() -> None:
    empty = _CAPTURES / "path_empty.pcap"
    found = mw.messages(empty)
    assert list(found) == []
    assert found.notices == (f"{empty}: no MSMQ traffic in 0 frames",)


def test_the_iteration_can_end_early() -> None:
    with mw.messages(_DEMO) as found:
        assert next(found).label == "order 4711"
    assert list(found) == []
