"""Drawn calls, requests, sections and captures: a reader finds in them what was drawn."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import strategies
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.engines import reference
from msmq_wire.engines.codec import inspect
from msmq_wire.reassembly.sections import join_sections
from msmq_wire.rpc.interfaces import METHODS
from msmq_wire.rpc.ndr import inspect_stub
from msmq_wire.rpc.pdu.decoding import decode_pdu
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.strategies import DrawnCapture, DrawnStub
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.section_buffer import SectionBuffer


@given(strategies.stubs())
def test_a_stub_is_read_as_the_value_that_was_drawn(stub: DrawnStub) -> None:
    found = inspect_stub(METHODS[stub.method].parameters(stub.side), stub.data, stub.syntax)
    assert (found.value, found.anomalies, found.error) == (stub.value, (), None)


@given(strategies.stubs("R_StartReceive"))
def test_a_stub_is_of_the_method_that_was_asked_for(stub: DrawnStub) -> None:
    assert stub.method == "R_StartReceive"


@given(strategies.pdus())
def test_a_pdu_gives_back_its_bytes(data: bytes) -> None:
    assert encode_pdu(decode_pdu(data)) == data


@given(strategies.srmp_requests())
def test_a_request_is_one_whole_http_message(data: bytes) -> None:
    message, rest = parse_message(data)
    assert message is not None
    assert (message.complete, message.problems, rest) == (True, (), b"")


@given(strategies.sections())
def test_sections_join_to_what_was_not_cut(drawn: tuple[bytes, tuple[SectionBuffer, ...]]) -> None:
    packet, parts = drawn
    joined = join_sections(parts)
    assert joined.problems == ()
    assert len(joined.data) + sum(length for _, length in joined.missing) == len(packet)


@given(strategies.acknowledgments())
def test_an_acknowledgment_is_recognised_and_breaks_no_must(message: UserMessage) -> None:
    found = inspect(reference.build(message))
    assert found.type in ("order_ack", "final_ack")
    assert found.anomalies == ()


@given(st.binary(max_size=50).flatmap(lambda data: st.tuples(st.just(data), strategies.chunks(data))))
def test_chunks_are_the_stream(drawn: tuple[bytes, list[bytes]]) -> None:
    data, pieces = drawn
    assert b"".join(pieces) == data


@given(strategies.captures())
def test_a_capture_holds_the_records_and_messages_that_were_drawn(capture: DrawnCapture) -> None:
    records = list(CaptureReader(io.BytesIO(capture.data)))
    assert [one.type for one in records] == list(capture.types)
    assert [one.packet for one in records if one.type == "user_message"] == list(capture.messages)
