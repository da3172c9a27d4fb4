"""Calls on queue objects in captures: what their records say, and what they are shown as."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.build_com_scenes import (
    CAUSALITY,
    MESSAGE,
    MESSAGE_IPIDS,
    MISSING,
    OTHER_IPID,
    QUEUE3,
    QUEUE_IPID,
    SCENES,
    TRANSACTION_IPID,
    Objects,
    boolean,
    number,
    objref,
    orpc_that,
    orpc_this,
    receive_current,
    received,
    variant,
)
from fixtures.build_frames import pcap
from fixtures.build_scene import Scene
from msmq_wire.capture.reader import read_capture
from msmq_wire.records.call import CallFinder
from msmq_wire.records.call_story import call_story
from msmq_wire.records.com_packets import ComCall, ReceiveArguments
from msmq_wire.records.record import Record
from msmq_wire.records.view import record_view
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.wire.types.guid import GUID
from tests.effort import examples
from tests.schemas import schema_of
from tests.whole_repr import whole_repr

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "fixtures" / "captures"
INFINITE = 0xFFFFFFFF
ALL = ("transaction", "want_destination_queue", "want_body", "receive_timeout")


def records_of(source: Any) -> list[Record]:
    return list(read_capture(source))


def calls_of(source: Any) -> list[ComCall]:
    return [record.packet for record in records_of(source) if isinstance(record.packet, ComCall)]


def captured(scene: Scene) -> io.BytesIO:
    return io.BytesIO(pcap(scene.frames, scene.link_type))


@pytest.fixture(scope="module")
def receives() -> list[ComCall]:
    return calls_of(CAPTURES / "com_receive_current.pcap")


@pytest.mark.parametrize("name", SCENES)
def test_a_fixture_is_what_its_scene_builds(name: str) -> None:
    scene = SCENES[name]()
    assert (CAPTURES / name).read_bytes() == pcap(scene.frames, scene.link_type)


def test_the_records_of_a_capture_come_in_order() -> None:
    found = [(record.type, record.frames) for record in records_of(CAPTURES / "com_receive_current.pcap")]
    assert found == [
        ("rpc_bind", (4, 5)),
        ("com_call", (6, 7)),
        ("com_call", (8, 9)),
        ("com_call", (10, 11)),
        ("com_call", (12, 13)),
        ("com_call", (14, 15)),
        ("rpc_bind", (16, 17)),
        ("com_call", (18, 19)),
        ("com_call", (20, 21)),
        ("rpc_fault", (21,)),
    ]


def test_what_is_not_specified_has_its_default(receives: list[ComCall]) -> None:
    call = receives[0]
    assert (call.interface, call.opnum, call.method) == ("IMSMQQueue3", 17, "ReceiveCurrent_v1")
    assert (call.status, call.fault, call.guessed, call.sealed) == (0, False, False, False)
    assert (str(call.object_uuid), str(call.causality)) == (QUEUE_IPID, CAUSALITY)
    assert (call.com_version, call.orpc_flags, call.answer_flags) == ("5.7", 0, 0)
    assert call.arguments == ReceiveArguments(
        transaction="MQ_MTS_TRANSACTION",
        want_destination_queue=False,
        want_body=True,
        receive_timeout=INFINITE,
    )


def test_the_message_comes_as_an_object(receives: list[ComCall]) -> None:
    message = receives[0].returned
    assert message is not None
    assert (message.kind, message.interface, str(message.iid)) == ("standard", "IMSMQMessage", MESSAGE)
    assert (str(message.ipid), message.oid) == (MESSAGE_IPIDS[0], "0000000000001001")
    assert (message.oxid, message.public_refs) == ("8a11b33c55d077ee", 5)
    assert message.bindings == ("ncacn_ip_tcp:MSG01", "ncacn_ip_tcp:192.0.2.10")
    assert message.authentication_services == (10, 9)


def test_what_is_specified_is_told_apart(receives: list[ComCall]) -> None:
    assert receives[1].arguments == ReceiveArguments(
        transaction="MQ_NO_TRANSACTION",
        want_destination_queue=True,
        want_body=False,
        receive_timeout=0,
        specified=ALL,
    )
    assert (receives[1].status, receives[1].returned) == (0xC00E0008, None)


def test_a_transaction_may_be_an_object(receives: list[ComCall]) -> None:
    arguments = receives[2].arguments
    assert arguments is not None
    assert (arguments.transaction, arguments.specified) == (
        "interface pointer",
        ("transaction", "receive_timeout"),
    )
    given_object = arguments.transaction_object
    assert given_object is not None
    assert (given_object.interface, str(given_object.ipid)) == ("IMSMQTransaction", TRANSACTION_IPID)
    assert given_object.bindings[0] == "ncacn_ip_tcp:WS17"


def test_a_time_out_is_a_status_and_its_latency_shows_it(receives: list[ComCall]) -> None:
    call = receives[3]
    assert call.arguments is not None
    assert (call.arguments.transaction, call.arguments.receive_timeout) == ("MQ_SINGLE_MESSAGE", 1000)
    assert call.status == 0xC00E001B
    assert call.latency is not None
    assert call.latency >= 1_000_000_000


def test_other_methods_are_named_and_not_opened(receives: list[ComCall]) -> None:
    call = receives[4]
    assert (call.method, call.arguments, call.returned, call.status) == ("Reset", None, None, 0)
    assert cast(Any, call.request).stub == cast(Any, call.response).stub == b""
    assert cast(Any, call.request).orpcthis.extensions.extent[0].data == bytes(range(1, 9))


def test_a_call_on_a_message_that_was_received_is_known_to_be_one(receives: list[ComCall]) -> None:
    call = receives[5]
    assert (call.interface, call.opnum, call.method) == ("IMSMQMessage", 13, None)
    assert (str(call.object_uuid), call.opened_frame) == (MESSAGE_IPIDS[0], 7)
    assert cast(Any, call.response).stub == b"\3\0\0\0"


def test_a_fault_is_the_end_of_its_call(receives: list[ComCall]) -> None:
    call = receives[6]
    assert (call.fault, call.status, call.response, call.returned) == (True, 0x80010108, None, None)


def test_of_sealed_calls_nothing_is_made_up() -> None:
    first, second = calls_of(CAPTURES / "com_sealed.pcap")
    assert (first.interface, first.method, second.method) == ("IMSMQQueue3", "ReceiveCurrent_v1", "Purge")
    for call in (first, second):
        assert call.sealed
        assert str(call.object_uuid) == QUEUE_IPID
        known = (call.request, call.response, call.status, call.causality, call.com_version)
        assert known == (None,) * 5
        assert (call.orpc_flags, call.answer_flags, call.arguments, call.returned) == (None,) * 4


def test_a_cut_call_gives_every_argument_before_the_cut() -> None:
    records = [record for record in records_of(CAPTURES / "com_cut.pcap") if record.type == "com_call"]
    call = records[0].packet
    assert (call.interface, call.method, call.complete) == ("IMSMQQueue", "ReceiveCurrent", False)
    assert call.arguments == ReceiveArguments(transaction="MQ_MTS_TRANSACTION", want_destination_queue=False)
    assert (call.status, call.returned) == (None, None)
    assert len(call.response.ppmsg.ab_data) == 92
    assert records[0].error is not None
    assert records[0].error.path == "request.want_body"
    assert (records[1].packet.method, records[1].packet.status) == ("Reset", 0)


def test_an_object_is_known_by_the_pointer_to_it_where_no_bind_was_captured() -> None:
    known, after, guessed, follows = calls_of(CAPTURES / "com_midstream.pcap")
    assert (known.interface, known.method, known.guessed) == ("IMSMQQueue2", "ReceiveCurrent_v1", False)
    assert (str(known.object_uuid), known.opened_frame) == (OTHER_IPID, 7)
    assert known.arguments is not None
    assert (known.arguments.transaction, known.arguments.receive_timeout) == ("MQ_XA_TRANSACTION", INFINITE)
    assert (after.interface, after.method, after.status) == ("IMSMQQueue2", "ReceiveCurrent", 0xC00E001B)
    assert (guessed.interface, guessed.method, guessed.guessed) == ("IMSMQQueue", "ReceiveCurrent", True)
    assert (follows.method, follows.guessed) == ("Close", True)


def test_calls_of_other_interfaces_stay_what_they_were() -> None:
    found = [record.type for record in records_of(CAPTURES / "com_midstream.pcap")]
    assert found == ["com_call"] * 4


def _queue(*arguments: bytes) -> ReceiveArguments:
    scene = Scene()
    objects = Objects(scene)
    objects.offer(QUEUE3)
    objects.request(17, QUEUE_IPID, receive_current(*arguments))
    objects.response(received())
    (call,) = calls_of(captured(scene))
    assert call.arguments is not None
    return call.arguments


def test_an_argument_of_another_type_is_told() -> None:
    found = _queue(variant(8, bytes(4)), number(1), MISSING, variant(2, b"\5\0"))
    assert found == ReceiveArguments(
        want_destination_queue=True,
        want_body=True,
        receive_timeout=5,
        specified=("transaction", "want_destination_queue", "receive_timeout"),
        problems=(
            "transaction is VT_BSTR",
            "want_destination_queue is VT_I4",
            "receive_timeout is VT_I2",
        ),
    )


def test_arguments_may_come_by_reference() -> None:
    by_reference = variant(0x4003, b"\0\0\2\0" + b"\2\0\0\0")
    found = _queue(by_reference, variant(0x400B, b"\0\0\2\0" + b"\xff\xff"), MISSING, MISSING)
    assert (found.transaction, found.want_destination_queue) == ("MQ_XA_TRANSACTION", True)
    # Of numbers for a transaction the text has those that come by value only.
    assert found.problems == ("transaction is VT_BYREF | VT_I4",)


def test_a_transaction_object_may_be_null() -> None:
    found = _queue(variant(9, bytes(4)), MISSING, MISSING, MISSING)
    assert (found.transaction, found.transaction_object) == ("interface pointer", None)


def test_a_number_that_is_no_transaction_stays_a_number() -> None:
    assert _queue(number(9), MISSING, MISSING, MISSING).transaction == "9"


@pytest.mark.parametrize(
    ("place", "story"),
    [
        (0, "receives the message at its cursor"),
        (
            1,
            "receives the message at its cursor, outside of transactions, without its body, without waiting: "
            "there is none",
        ),
        (
            2,
            "receives the message at its cursor, in a transaction of its own, waits up to 2.5 s",
        ),
        (3, "receives the message at its cursor, in no other transaction, waits up to 1 s: none came"),
        (4, "moves its cursor to the head"),
        (5, "a call of IMSMQMessage"),
        (6, "receives the message at its cursor: refused"),
    ],
)
def test_a_call_tells_its_story(receives: list[ComCall], place: int, story: str) -> None:
    assert call_story(receives[place]) == story


def test_a_sealed_call_is_sealed() -> None:
    assert [call_story(call) for call in calls_of(CAPTURES / "com_sealed.pcap")] == ["sealed", "sealed"]


def test_every_call_is_a_row_among_calls() -> None:
    rows = CallFinder()
    found = [row for one in records_of(CAPTURES / "com_receive_current.pcap") for row in rows.take(one)]
    found += rows.finish()
    assert [row["opnum"] for row in found] == [17, 17, 17, 17, 16, 13, 17]
    assert found[3]["status_name"] == "MQ_ERROR_IO_TIMEOUT"
    assert found[6]["fault"] is True


def test_the_json_view_has_arguments_and_objects_in_words() -> None:
    rows = [record_view(one) for one in records_of(CAPTURES / "com_receive_current.pcap")]
    packet = json.loads(json.dumps(rows[1]["packet"]))
    assert packet["arguments"]["receive_timeout"] == INFINITE
    assert packet["returned"]["ipid"] == MESSAGE_IPIDS[0]
    assert packet["request"]["transaction"]["scode"] == 0x80020004
    assert packet["request"]["orpcthis"]["cid"] == CAUSALITY
    assert rows[5]["packet"]["request"]["stub"] == ""


@pytest.mark.parametrize("name", SCENES)
def test_rows_fit_their_schema(name: str) -> None:
    for record in records_of(CAPTURES / name):
        row = json.loads(json.dumps(record_view(record)))
        assert schema_of("record").faults(row) == []


def test_a_row_that_says_what_a_call_cannot_does_not_fit(receives: list[ComCall]) -> None:
    row = record_view(Record(id=1, type="com_call", packet=receives[0]))
    assert schema_of("record").fits(row)
    for wrong in (
        {"arguments": {"transaction": 1}},
        {"causality": 5},
        {"request": {"transaction": {"vt": "VT_I4"}}},
        {"returned": {"ipid": None}},
        {"surprise": None},
    ):
        assert not schema_of("record").fits(row | {"packet": row["packet"] | wrong})


def test_hosts_are_hidden_wherever_a_call_names_them() -> None:
    for record in records_of(CAPTURES / "com_receive_current.pcap"):
        if isinstance(record.packet, ComCall):
            hidden = Redactor({Redaction.HOSTS}).redacted(record.packet)
            assert isinstance(hidden, ComCall)
            shown = whole_repr(hidden) + json.dumps(record_view(record) | {"packet": None})
            assert "MSG01" not in shown
            assert "WS17" not in shown
            assert b"M\0S\0G\0" not in (cast(Any, hidden.response).ppmsg.ab_data if hidden.returned else b"")
            assert hidden.causality == GUID(bytes(15) + b"\1")
            assert hidden.object_uuid == record.packet.object_uuid


def test_bytes_that_are_not_opened_are_hidden_whatever_was_asked_for() -> None:
    scene = Scene()
    objects = Objects(scene)
    objects.offer(QUEUE3)
    objects.request(20, QUEUE_IPID, orpc_this() + b"secret")
    objects.response(orpc_that() + b"answered" + bytes(4))
    (call,) = calls_of(captured(scene))
    hidden = Redactor({Redaction.BODIES}).redacted(call)
    assert isinstance(hidden, ComCall)
    assert (cast(Any, call.request).stub, cast(Any, call.response).stub) == (b"secret", b"answered")
    assert (cast(Any, hidden.request).stub, cast(Any, hidden.response).stub) == (bytes(6), bytes(8))
    assert hidden.causality == call.causality


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_changed_bytes_give_records_and_raise_nothing(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(SCENES)))
    scene = SCENES[name]()
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(scene.frames) - 1))
        frame = scene.frames[place]
        at = data.draw(st.integers(54, max(54, len(frame.data) - 1)))
        byte = data.draw(st.sampled_from((0, 1, 0x40, 0xFF)))
        changed = frame.data[:at] + bytes([byte]) + frame.data[at + 1 :]
        scene.frames[place] = frame._replace(data=changed)
    records = records_of(captured(scene))
    for record in records:
        json.dumps(record_view(record))
        if isinstance(record.packet, ComCall):
            assert call_story(record.packet)
            Redactor({Redaction.BODIES, Redaction.HOSTS}).redacted(record.packet)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_frames_cut_anywhere_give_what_was_before_the_cut(data: st.DataObject) -> None:
    scene = SCENES["com_receive_current.pcap"]()
    place = data.draw(st.integers(5, len(scene.frames) - 1))
    frame = scene.frames[place]
    end = data.draw(st.integers(54, len(frame.data)))
    scene.frames[place] = frame._replace(data=frame.data[:end])
    del scene.frames[place + 1 :]
    whole = calls_of(CAPTURES / "com_receive_current.pcap")
    found = calls_of(captured(scene))
    # What was complete before the cut frame is as it was.
    before = max(0, (min(place, 15) - 5) // 2)
    assert found[:before] == whole[:before]
    for call in found:
        if not call.complete:
            assert call.status is None or call.response is not None


def test_a_pointer_in_a_call_of_another_context_is_followed_across_connections() -> None:
    scene = Scene()
    first = Objects(scene)
    first.offer(QUEUE3)
    first.request(17, QUEUE_IPID, receive_current(MISSING, boolean(False), MISSING, MISSING))
    first.response(received(objref(MESSAGE, MESSAGE_IPIDS[1], 1, "MSG01")))
    second = Objects(scene, cport=50177, midstream=True)
    second.request(13, MESSAGE_IPIDS[1], orpc_this())
    second.response(orpc_that() + bytes(8))
    _, call = calls_of(captured(scene))
    assert (call.interface, call.guessed, call.opened_frame) == ("IMSMQMessage", False, 7)
