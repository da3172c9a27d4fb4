"""Sessions that are drawn: taken by column they are judged, and diagnosed, as they are record by record."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire import build_message, encode
from msmq_wire.capture import packet_batch
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.detection.diagnosis import Diagnosis
from msmq_wire.records.record import FoundPacket, Item, Record
from msmq_wire.records.run import in_order
from msmq_wire.strategies import mutated, packets
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import INFINITE, SIGNATURE
from msmq_wire.wire.headers.session_header import SessionHeader
from tests.detection.test_take import check_guards, fed, taken
from tests.effort import examples
from tests.runs import in_batches_of
from tests.sessions.tape import QUEUE, SECOND, SENDER, START, Tape

_QUEUES = (
    QUEUE,
    QUEUE,
    r"DIRECT=OS:localhost\private$\q",
    r"DIRECT=TCP:127.0.0.1\q",
    r"DIRECT=OS:a04bm02\q",
    "PUBLIC=a1d30c5b-247e-4f45-9a31-c5d20e6f7788",
)
_BODIES = (
    b"",
    b"body",
    b'<?xml version="1.0"?><order/>',
    b'{"order": 1, "text": "long enough"}'.ljust(64),
    "text in wide characters".encode("utf-16-le"),
    b"\1\2\3 no text at all \0\0",
    bytes.fromhex("0001000000ffffffff01000000000000000c02"),
    bytes((0, 1, 0, 1, 2)) + b"net.msmq",
    b"MZ" + bytes(80),
    b"PK\3\4" + bytes(20),
    b"#!/bin/sh\nexit",
    bytes((167 * number + (number >> 8)) & 0xFF for number in range(700)),
)
_SENT = (0, 0, 0, 4000, -100, -5 * 86400, -40 * 86400)
_LIMITS = (INFINITE, INFINITE, 0, 60, 345600)


@st.composite
def _messages(draw: st.DrawFn) -> WireStruct:
    sent = draw(st.sampled_from((START // SECOND,) * 6 + (0, SIGNATURE)))
    packet = build_message(
        draw(st.sampled_from(_QUEUES)),
        draw(st.sampled_from(_BODIES)),
        label=draw(st.sampled_from(("", "order", "mqsender label"))),
        message_class=draw(st.sampled_from((0, 0, 0, 0, 2, 0xFF, 0x8000, 0xC000))),
        message_id=draw(st.sampled_from((1, 2, 3, 2286, 0x61616161))),
        source_queue_manager=SENDER,
        sent_time=max(0, sent + draw(st.sampled_from(_SENT)) if sent > SECOND // 2 else sent),
        time_to_reach_queue=draw(st.sampled_from(_LIMITS)),
    )
    properties = packet.message_properties_header
    assert properties is not None
    type_ = draw(st.sampled_from((0, 0, 8, 30, 31, 0x1011)))
    packet = msgspec.structs.replace(
        packet, message_properties_header=msgspec.structs.replace(properties, body_type=type_)
    )
    if draw(st.booleans()):
        header = SessionHeader(user_msg_sequence_number=draw(st.integers(0, 3)))
        base = packet.base_header.with_bits(sh=1)
        packet = msgspec.structs.replace(packet, base_header=base, session_header=header)
    return packet


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("open", "handshake", "gap", "ack", "order_ack", "final_ack", "wait"))),
        st.tuples(st.just("message"), _messages()),
    ),
    min_size=1,
    max_size=8,
)
_ODD = st.lists(
    st.one_of(
        st.tuples(st.just("packet"), packets().filter(lambda one: isinstance(one, WireStruct))),
        st.tuples(st.just("bytes"), mutated("user_message")),
    ),
    max_size=1,
)
_TWISTS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3)


def _items(
    steps: Sequence[tuple[Any, ...]], twists: Sequence[tuple[int, int]], on: Sequence[int]
) -> list[Item]:
    tape = Tape()
    data: dict[int, bytes] = {}
    for number, step in enumerate(steps):
        stream = on[number % len(on)]
        match step:
            case ("message" | "packet", packet):
                added = tape.add(
                    "user_message", number & 1 if step[0] == "packet" else 0, stream, packet=packet
                )
                data[added.id] = encode(packet)
            case ("bytes", found):
                data[tape.add("user_message", 0, stream).id] = found
            case ("open",):
                tape.open(stream)
            case ("handshake",):
                tape.handshake(stream)
            case ("gap",):
                tape.gap(0, stream)
            case ("ack",):
                tape.ack(number, on=stream)
            case ("order_ack",):
                tape.order_ack(number)
            case ("final_ack",):
                tape.final_ack(number, 0x8000 if number & 1 else 0x4000)
            case _:
                tape.wait(90_000)
    for record in tape.records:
        if record.packet is not None and record.id not in data:
            data[record.id] = encode(record.packet)
    for at, value in twists if tape.records else ():
        number = 1 + at % len(tape.records)
        if number in data and at < len(data[number]):
            data[number] = data[number][:at] + bytes((value,)) + data[number][at + 1 :]
    return [_item(record, data.get(record.id)) for record in tape.records]


def _item(record: Record, data: bytes | None) -> Item:
    if data is None:
        return record
    assert record.time is not None
    assert record.src is not None
    assert record.dst is not None
    place = record.frames, record.time, record.src, record.dst, record.stream, 0
    return FoundPacket(record.id, record.capture, data, *place)


@pytest.fixture(autouse=True, scope="module")
def _small_limits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packet_batch, "_WORTH_COLUMNS", 1)
        patch.setattr(importlib.import_module("msmq_wire.detection.judge"), "MOST_OF_A_RULE", 2)
        yield


def _facts(batches: Sequence[PacketBatch], *, by_column: bool) -> Any:
    diagnosis = Diagnosis()
    for batch in batches:
        if by_column:
            diagnosis.take(batch)
        else:
            for record in in_order(batch):
                diagnosis.feed(record)
    facts = vars(diagnosis.facts) | {"returns": None, "managed": None}
    parts = ("bodies", "security", "inventory")
    return [facts[name] for name in facts if name not in parts] + [
        {name: value for name, value in vars(facts[part]).items() if name != "_reader"} for part in parts
    ]


@pytest.mark.slow
@settings(max_examples=examples(400))
@given(
    steps=_STEPS,
    odd=_ODD,
    twists=_TWISTS,
    on=st.lists(st.integers(0, 2), min_size=1, max_size=4),
    size=st.sampled_from((4, 12, 40)),
    limits=st.sampled_from(({}, {}, {"budget": 3000}, {"budget": 20_000, "messages": 2})),
)
def test_a_drawn_session_is_judged_and_counted_as_record_by_record(
    steps: list[tuple[Any, ...]],
    odd: list[tuple[Any, ...]],
    twists: list[tuple[int, int]],
    on: list[int],
    size: int,
    limits: dict[str, int],
) -> None:
    batches = in_batches_of(_items([*steps[:2], *odd, *steps[2:]], twists, on), size)
    assert taken(batches, **limits) == fed(batches, **limits)
    assert _facts(batches, by_column=True) == _facts(batches, by_column=False)
    for batch in batches:
        check_guards(batch)
