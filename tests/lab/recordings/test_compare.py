"""A recording held against its capture: all agrees, and what is changed by hand is told, each once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire import encode, inspect
from msmq_wire.lab.recordings.compare_values import ComparisonResult, Difference
from msmq_wire.lab.recordings.recording import RecordedMessage, RecordedStep
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import time_text
from msmq_wire.wire.headers.security_header import SecurityHeader
from tests.lab.recordings.small import compared, recording, records, scenario, with_message, with_step


def _frames(type_: str, label: str) -> tuple[int, ...]:
    """The frames of the first packet of a kind with a label."""
    return next(
        record.frames
        for record in records()
        if record.type == type_ and record.packet.message_properties_header.label.text == label
    )


def _calls(method: str) -> list[Record]:
    return [one for one in records() if isinstance(one.packet, RpcCall) and one.packet.method == method]


def _read(label: str) -> list[Record]:
    """The packets with a label that calls brought."""
    return [
        one
        for one in records()
        if one.type == "message_packet" and one.packet.message_properties_header.label.text == label
    ]


def _reported(found: ComparisonResult) -> list[tuple[str, str, object, object, tuple[int, ...]]]:
    return [
        (one.step, one.field, one.recorded, one.captured, one.location.frames) for one in found.differences
    ]


def _only(found: ComparisonResult) -> Difference:
    assert len(found.differences) == 1, _reported(found)
    return found.differences[0]


def test_what_the_lab_recorded_agrees_with_what_it_captured() -> None:
    found = compared()
    assert _reported(found) == []
    agreeing = {one.step for one in found.agreements}
    silent = {one.step for one in found.not_compared}
    waits = {step.name for step in recording().steps if step.do == "wait"}
    assert {step.name for step in recording().steps} - agreeing - silent == waits


def test_what_is_not_compared_is_told() -> None:
    reasons = {one.step: one.reason for one in compared().not_compared if one.step}
    assert reasons == {
        "properties-of-the-queue": "it was skipped",
        "acknowledgment-2": "it was made on the own host, and was not on the wire",
        "acknowledgment-4": "nothing of it shows on the wire: a queue of the own host",
        "acknowledgment-5": "nothing of it shows on the wire: a queue of the own host",
        "own-dead-letter": "it was made on the own host, and was not on the wire",
    }


def test_five_changes_are_told_and_no_more() -> None:
    lost = RecordedMessage(message_id="e33bec74-3b02-4b53-1a87-1e2c54680374\\7", label="lost")
    status = 0xC00E0007
    changed = with_message(recording(), "express", label="expres")
    changed = with_step(
        changed,
        "for-poison",
        lambda step: msgspec.structs.replace(step, messages=(*step.messages, lost)),
    )
    changed = with_step(changed, "open-missing", lambda step: msgspec.structs.replace(step, status=status))
    changed = with_message(changed, "receive-by-lookup", sent_time="2026-11-21T00:00:00Z")
    changed = with_message(changed, "receive-from-poison", body_sha256="0" * 64)
    refused = _calls("R_OpenQueue")[0]
    # A peek with a cursor, one that looks for the LookupId, and the receive.
    received = _read("every property")[2]
    poison = _read("poison")[-1]
    body = next(one for one in recording().steps if one.name == "receive-from-poison").messages[0].body_sha256
    sent = received.packet.user_header.sent_time
    assert _reported(compared(changed)) == [
        ("express", "label", "expres", "express", _frames("user_message", "express")),
        ("for-poison", "on_the_wire", lost.message_id, None, ()),
        ("open-missing", "status", status, 0xC00E0003, refused.frames),
        ("receive-by-lookup", "sent_time", 1_795_219_200, sent, received.frames),
        ("receive-from-poison", "body_sha256", "0" * 64, body, poison.frames),
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("label", "other"),
        ("message_class", 2),
        ("body_type", 8),
        ("body_size", 1),
        ("body_sha256", "0" * 64),
        ("extension_size", 1),
        ("extension_sha256", "0" * 64),
        ("priority", 1),
        ("delivery", "recoverable"),
        ("acknowledge", 15),
        ("app_specific", 1),
        ("correlation_id", "00" * 20),
        ("admin_queue", "DIRECT=OS:own\\private$\\other"),
        ("response_queue", "DIRECT=OS:own\\private$\\other"),
        ("time_to_reach_queue", 601),
        ("time_to_reach_queue", None),
        ("time_to_be_received", 3601),
        ("journal", False),
        ("dead_letter", False),
        ("authenticated", True),
        ("encrypted", True),
        ("sent_time", "2020-01-01T00:00:00Z"),
    ],
)
def test_each_value_of_a_message_that_was_sent_is_compared(field: str, value: Any) -> None:
    found = _only(compared(with_message(recording(), "every-property", **{field: value})))
    assert (found.step, found.subject, found.field) == ("every-property", "message", field)
    assert found.location.frames == _frames("user_message", "every property")
    if found.path:
        packet = next(one for one in records() if one.id == found.location.record).packet
        assert found.offset is not None
        assert 0 <= found.offset < packet.base_header.packet_size


def test_an_offset_is_that_of_the_field() -> None:
    found = _only(compared(with_message(recording(), "every-property", app_specific=1)))
    assert found.path == "message_properties_header.application_tag"
    data = encode(next(one for one in records() if one.id == found.location.record).packet)
    assert int.from_bytes(data[found.offset : (found.offset or 0) + 4], "little") == 4711


@pytest.mark.parametrize(
    ("field", "value"), [("lookup_id", 99), ("arrived_time", "2020-01-01T00:00:00Z"), ("label", "other")]
)
def test_each_value_of_a_message_that_was_read_is_compared(field: str, value: Any) -> None:
    found = _only(compared(with_message(recording(), "receive-from-poison", **{field: value})))
    assert (found.step, found.field) == ("receive-from-poison", field)
    assert set(found.location.frames) <= set(_calls("R_StartReceive")[-1].frames)


def test_a_name_of_a_queue_may_be_in_other_letters_and_no_other_name() -> None:
    def renamed(name: str) -> ComparisonResult:
        return compared(
            with_step(recording(), "express", lambda step: msgspec.structs.replace(step, format_name=name))
        )

    assert _reported(renamed("direct=os:OTHER\\PRIVATE$\\msmqwire_plain")) == []
    assert _only(renamed("DIRECT=OS:other\\private$\\msmqwire_other")).field == "queue"


def test_a_message_with_another_identifier_is_found_by_its_label() -> None:
    found = _only(compared(with_message(recording(), "express", message_id="0\\0")))
    assert (found.step, found.field, found.recorded) == ("express", "message_id", "0\\0")
    assert found.location.frames == _frames("user_message", "express")
    assert _reported(compared(with_message(recording(), "express", message_id=None))) == []


def test_a_message_that_no_step_tells_of_is_told_with_its_frame() -> None:
    nothing: tuple[RecordedMessage, ...] = ()
    changed = with_step(
        recording(), "for-poison", lambda step: msgspec.structs.replace(step, messages=nothing)
    )
    found = _only(compared(changed))
    assert (found.step, found.field, found.recorded) == ("", "recorded", None)
    assert found.location.frames == _frames("user_message", "poison")


def test_what_was_aborted_must_not_be_on_the_wire() -> None:
    steps = tuple(
        msgspec.structs.replace(step, commit=False) if step.name == "for-poison" else step
        for step in scenario().steps
    )
    found = _only(compared(planned=msgspec.structs.replace(scenario(), steps=steps)))
    assert (found.step, found.field, found.recorded) == ("for-poison", "on_the_wire", None)
    assert found.location.frames == _frames("user_message", "poison")


def test_without_its_scenario_what_was_aborted_is_missed() -> None:
    found = compared(known=False)
    assert [(one.step, one.field) for one in found.differences] == [
        ("aborted", "on_the_wire"),
        ("nack-time-to-reach-queue", "on_the_wire"),
    ]
    assert any("is not known" in one.reason for one in found.not_compared)


def test_a_message_cannot_be_captured_before_its_step() -> None:
    late = "2026-11-22T22:03:00Z"
    begun = with_step(
        recording(), "express", lambda step: msgspec.structs.replace(step, begun=late, ended=late)
    )
    ended = "9999-01-01T00:00:00Z"
    found = _only(compared(msgspec.structs.replace(begun, ended=ended)))
    assert (found.step, found.field, found.recorded) == ("express", "time", late)


def test_a_call_outside_the_time_of_its_step_is_told_once() -> None:
    late = "2027-01-01T00:00:00Z"
    changed = with_step(
        recording(), "purge", lambda step: msgspec.structs.replace(step, begun=late, ended=late)
    )
    found = _only(compared(changed))
    assert (found.step, found.field, found.recorded) == ("purge", "time", late)
    assert found.captured == time_text(_calls("R_PurgeQueue")[0].time)


def test_another_status_and_another_class_are_told() -> None:
    changed = with_step(
        recording(),
        "receive-from-an-empty-queue",
        lambda step: msgspec.structs.replace(step, status=0xC00E0088),
    )
    changed = with_message(changed, "acknowledgment-1", message_class=0x8001)
    assert [one[:4] for one in _reported(compared(changed))] == [
        ("receive-from-an-empty-queue", "status", 0xC00E0088, 0xC00E001B),
        ("acknowledgment-1", "message_class", 0x8001, 2),
    ]


def test_a_receive_that_no_step_tells_of_and_a_call_that_failed_are_told() -> None:
    names = ("receive-from-poison", "open-missing")
    changed = recording()
    for name in names:
        changed = with_step(
            changed, name, lambda step: msgspec.structs.replace(step, outcome="skipped", messages=())
        )
    found = _reported(compared(changed))
    assert ("", "call", None, "R_StartReceive", _calls("R_StartReceive")[-1].frames) in found
    assert ("", "status", None, 0xC00E0003, _calls("R_OpenQueue")[0].frames) in found


def test_a_step_whose_calls_were_not_captured_differs() -> None:
    purges = {one.id for one in _calls("R_PurgeQueue")}
    found = compared(captured=[one for one in records() if one.id not in purges])
    assert _reported(found) == [("purge", "call", "purge", None, ())]


def test_calls_that_are_sealed_are_not_compared() -> None:
    def sealed(record: Record) -> Record:
        call = record.packet
        if not isinstance(call, RpcCall):
            return record
        shut = msgspec.structs.replace(
            call, request=None, response=None, status=None, queue=None, sealed=True, request_id=None
        )
        return msgspec.structs.replace(record, packet=shut)

    captured = [sealed(one) for one in records() if one.type != "message_packet"]
    found = compared(captured=captured)
    assert [one for one in found.differences if one.subject == "call"] == []
    unread = {one.step for one in found.not_compared if "sealed" in one.reason}
    assert {
        step.name for step in recording().steps if step.do in ("peek", "receive") and step.remote
    } <= unread


def test_a_message_that_nothing_acknowledges_differs() -> None:
    found = compared(captured=[one for one in records() if one.type != "session_ack"])
    unacknowledged = {one.step for one in found.differences if one.field == "session_ack"}
    assert {"express", "for-poison"} <= unacknowledged
    assert all(one.readings == ("C1",) for one in found.differences if one.field == "session_ack")


def test_a_rule_that_the_traffic_breaks_is_a_difference_with_its_reading() -> None:
    def odd(record: Record) -> Record:
        if record.type != "user_message" or record.frames != _frames("user_message", "express"):
            return record
        header = msgspec.structs.replace(
            record.packet.user_header, flags=record.packet.user_header.flags | 1 << 26
        )
        return msgspec.structs.replace(
            record, packet=msgspec.structs.replace(record.packet, user_header=header)
        )

    found = [one for one in compared(captured=map(odd, records())).differences if one.field == "rule"]
    assert [(one.subject, one.captured, one.readings) for one in found] == [
        ("finding", "FLG-USER-X3", ("R14",))
    ]
    assert found[0].location.frames == _frames("user_message", "express")


def test_steps_that_are_not_those_of_the_scenario_are_told_once() -> None:
    fewer = msgspec.structs.replace(scenario(), steps=scenario().steps[1:])
    found = _only(compared(planned=fewer))
    assert (found.field, found.recorded, found.captured) == (
        "steps",
        "express (send)",
        "every-property (send)",
    )
    other = msgspec.structs.replace(recording(), scenario_sha256="0" * 64)
    assert _only(compared(other)).field == "scenario_sha256"


def test_a_recording_of_nothing_finds_all_of_the_capture_unrecorded() -> None:
    none: tuple[RecordedStep, ...] = ()
    found = compared(msgspec.structs.replace(recording(), steps=none))
    messages = {one.location.frames for one in found.differences if one.field == "recorded"}
    sent = {one.frames for one in records() if one.type == "user_message"}
    assert messages == sent
    assert sum(one.field == "call" for one in found.differences) > 10


def test_what_a_cut_frame_does_not_tell_is_not_compared() -> None:
    def cut(record: Record) -> Record:
        if record.frames != _frames("user_message", "every property"):
            return record
        whole = encode(record.packet)
        part = inspect(whole[: len(whole) - 20], as_="user_message")
        return msgspec.structs.replace(record, packet=part.packet, error=part.error)

    found = compared(captured=[cut(one) for one in records()])
    assert [one.field for one in found.differences if one.subject == "message"] == []
    reported = [one for one in found.not_compared if one.step == "every-property"]
    assert [(one.subject, one.reason) for one in reported if one.subject == "message"] == [
        ("message", "bytes of it were not captured: body_sha256, authenticated, encrypted")
    ]


def test_a_body_that_is_encrypted_is_not_compared() -> None:
    found = compared(with_message(recording(), "express", encrypted=True, body_sha256="0" * 64))
    assert [one.field for one in found.differences] == ["body_sha256", "encrypted"]

    def encrypted(record: Record) -> Record:
        if record.frames != _frames("user_message", "express"):
            return record
        return msgspec.structs.replace(
            record,
            packet=msgspec.structs.replace(record.packet, security_header=SecurityHeader(flags=0x20)),
        )

    shut = compared(with_message(recording(), "express", encrypted=True), map(encrypted, records()))
    assert [one.field for one in shut.differences if one.subject == "message"] == []
    assert [one.reason for one in shut.not_compared if one.step == "express"] == [
        "the capture does not tell over tcp: body_size (encrypted), body_sha256 (encrypted)"
    ]
