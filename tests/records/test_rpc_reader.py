"""Connections of DCE/RPC, made of PDUs by hand: what becomes a record, what is linked, what is counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from msmq_wire.reassembly.tcp_events import Direction, TcpSegment
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Record, is_step
from msmq_wire.records.rpc_packets import RpcBind, RpcCall
from msmq_wire.records.rpc_reader import RpcReader
from msmq_wire.rpc.decoding import NDR_SYNTAX
from msmq_wire.rpc.events import SyntaxId
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import NDR, StubValue, encode_stub
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import (
    AlterContext,
    Bind,
    BindAck,
    ContextElement,
    ContextResult,
    Fault,
    Pdu,
    Request,
    Response,
)
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID

_BY_NAME = {interface.name: interface for interface in INTERFACES.values()}
_FOREIGN = GUID(b"y" * 16)
_SYNTAX = SyntaxId(NDR_SYNTAX, 2, 0)
_QUEUE = ContextHandle(uuid=GUID(b"q" * 16))
_WAITED = 0xC00E001B


class Wire:
    """One reader and one connection, client at 192.0.2.1, server at 192.0.2.2."""

    def __init__(self) -> None:
        self.made: list[Record] = []
        self.notices: Counter[str] = Counter()
        self.frame = 0
        self.reader = RpcReader(
            record=self._record,
            names=lambda stream, direction: (
                ("192.0.2.2:2103", "192.0.2.1:5000") if direction else ("192.0.2.1:5000", "192.0.2.2:2103")
            ),
            frames=lambda frames: frames,
            notices=self.notices,
        )

    def _record(self, *, time: int | None = None, **values: Any) -> Record:
        self.made.append(Record(id=len(self.made) + 1, time=time or None, **values))
        return self.made[-1]

    def send(self, direction: Direction, *pdus: Pdu | bytes, time: int | None = None) -> list[Record]:
        found: list[Record] = []
        for pdu in pdus:
            self.frame += 1
            data = pdu if isinstance(pdu, bytes) else encode_pdu(pdu)
            found += self.reader.feed(1, direction, data, self.frame, time or self.frame * 1000)
        return found

    def client(self, *pdus: Pdu | bytes, time: int | None = None) -> list[Record]:
        return self.send(0, *pdus, time=time)

    def server(self, *pdus: Pdu | bytes, time: int | None = None) -> list[Record]:
        return self.send(1, *pdus, time=time)

    def bound(self, name: str = "RemoteRead") -> Wire:
        self.client(bind(_BY_NAME[name].uuid))
        self.server(acknowledged())
        return self

    def call(
        self, number: int, name: str, opnum: int, asked: dict[str, Any], answered: dict[str, Any]
    ) -> RpcCall:
        method = _BY_NAME[name].methods[opnum]
        self.client(request(number, opnum, stub(method.request, asked)))
        found = self.server(response(number, stub(method.response, answered)))
        packet = found[0].packet
        assert isinstance(packet, RpcCall)
        return packet


def stub(parameters: Any, values: dict[str, Any]) -> bytes:
    return encode_stub(parameters, StubValue(parameters.cls(**values)), NDR)


def bind(uuid: GUID, *, call: int = 1, context: int = 0, cls: type[Bind] = Bind) -> Bind:
    element = ContextElement(context, SyntaxId(uuid, 1, 0), (_SYNTAX,))
    return cls(call_id=call, max_xmit_frag=5840, max_recv_frag=5840, contexts=(element,))


def acknowledged(call: int = 1, result: int = 0) -> BindAck:
    return BindAck(
        call_id=call,
        max_xmit_frag=5840,
        max_recv_frag=5840,
        assoc_group_id=7,
        sec_addr=b"2103\0",
        sec_addr_padding=b"\0",
        results=(ContextResult(result, 0, _SYNTAX),),
    )


def request(call: int, opnum: int, data: bytes, context: int = 0) -> Request:
    return Request(3, call, context_id=context, opnum=opnum, stub=data, alloc_hint=len(data))


def response(call: int, data: bytes, context: int = 0) -> Response:
    return Response(3, call, context_id=context, stub=data, alloc_hint=len(data))


def fault(call: int, status: int = 0x1C010003) -> Fault:
    return Fault(3, call, context_id=0, status=status)


def start(wire: Wire, call: int, request_id: int, status: int = 0) -> RpcCall:
    asked = {"ph_context": _QUEUE, "dw_request_id": request_id}
    return wire.call(call, "RemoteRead", 7, asked, {"status": status})


def test_a_receive_that_ended_is_not_linked_to_the_next_one_of_its_number() -> None:
    wire = Wire().bound()
    start(wire, 2, 5)
    ended = wire.frame
    end = {"ph_context": _QUEUE, "dw_ack": 2, "dw_request_id": 5}
    assert wire.call(3, "RemoteRead", 9, end, {}).started_frame == ended
    assert wire.call(4, "RemoteRead", 9, end, {}).started_frame is None
    cancel = {"ph_context": _QUEUE, "dw_request_id": 5}
    assert wire.call(5, "RemoteRead", 8, cancel, {}).started_frame is None


def test_a_receive_that_found_nothing_is_no_receive_to_end() -> None:
    wire = Wire().bound()
    start(wire, 2, 5, _WAITED)
    end = {"ph_context": _QUEUE, "dw_ack": 2, "dw_request_id": 5}
    assert wire.call(3, "RemoteRead", 9, end, {}).started_frame is None


def test_the_number_of_a_queue_stands_for_it_until_its_handle_is_closed() -> None:
    wire = Wire().bound("qmcomm")
    opened = wire.call(2, "qmcomm", 2, {}, {"pph_context": _QUEUE, "ph_queue": 9})
    assert opened.opened_frame is None
    frame = wire.frame
    alter = bind(_BY_NAME["qm2qm"].uuid, call=3, context=1, cls=AlterContext)
    wire.client(alter)
    results = encode_pdu(acknowledged(3))
    wire.server(results[:2] + b"\x0f" + results[3:])

    def purge(call: int) -> RpcCall:
        method = _BY_NAME["qm2qm"].methods[6]
        wire.client(request(call, 6, stub(method.request, {"h_queue": 9}), context=1))
        packet = wire.server(response(call, stub(method.response, {}), context=1))[0].packet
        assert isinstance(packet, RpcCall)
        return packet

    assert purge(4).opened_frame == frame
    wire.call(5, "qmcomm", 3, {"pph_context": _QUEUE}, {"pph_context": ContextHandle()})
    assert purge(6).opened_frame is None


def test_a_fault_belongs_to_its_call_or_to_the_alter_context_before_it() -> None:
    wire = Wire().bound()
    wire.client(request(2, 6, stub(_BY_NAME["RemoteRead"].methods[6].request, {"ph_context": _QUEUE})))
    call, reported = wire.server(fault(2, 0xC00E0025))
    assert (call.type, reported.type, reported.parent) == ("rpc_call", "rpc_fault", call.id)
    wire.client(bind(_BY_NAME["qm2qm"].uuid, call=3, context=1, cls=AlterContext))
    found = wire.server(fault(3))
    assert [record.type for record in found] == ["rpc_bind", "rpc_fault"]
    assert found[1].parent == found[0].id


def test_calls_of_other_interfaces_are_counted_and_give_no_records() -> None:
    wire = Wire()
    assert wire.client(bind(_FOREIGN)) + wire.server(acknowledged()) == []
    assert wire.client(request(2, 3, bytes(20))) + wire.server(response(2, bytes(24))) == []
    assert wire.reader.finish() == []
    assert sum(wire.notices.values()) == 1


@pytest.mark.parametrize(
    ("opnum", "asked", "answered"),
    [(0, b"", bytes(4)), (3, bytes(20), bytes(24)), (6, bytes(20), bytes(4)), (31, bytes(4), bytes(4))],
)
def test_small_calls_without_a_bind_are_claimed_by_nobody(opnum: int, asked: bytes, answered: bytes) -> None:
    wire = Wire()
    assert wire.client(request(2, opnum, asked)) + wire.server(response(2, answered)) == []
    assert wire.reader.finish() == []
    assert sum(wire.notices.values()) == 1


def test_a_foreign_interface_is_foreign_also_where_the_answer_to_the_bind_is_missing() -> None:
    wire = Wire()
    method = _BY_NAME["RemoteRead"].methods[7]
    assert wire.client(bind(_FOREIGN)) == []
    wire.client(request(2, 7, stub(method.request, {"ph_context": _QUEUE})))
    assert wire.server(response(2, stub(method.response, {}))) == []
    assert sum(wire.notices.values()) == 1


def test_what_was_asked_for_names_the_interface_where_the_answer_is_missing() -> None:
    wire = Wire()
    wire.client(bind(_BY_NAME["qm2qm"].uuid))
    wire.client(request(2, 6, bytes(4)))
    (record,) = wire.server(response(2, bytes(4)))
    assert (record.packet.interface, record.packet.method) == ("qm2qm", "RemoteQMPurgeQueue")
    assert record.packet.guessed


def test_small_calls_wait_until_a_plain_one_tells_what_their_context_is() -> None:
    wire = Wire()
    method = _BY_NAME["RemoteRead"].methods[6]
    wire.client(request(2, 6, stub(method.request, {"ph_context": _QUEUE})))
    assert wire.server(response(2, stub(method.response, {}))) == []
    method = _BY_NAME["RemoteRead"].methods[7]
    wire.client(request(3, 7, stub(method.request, {"ph_context": _QUEUE})))
    found = wire.server(response(3, stub(method.response, {"status": _WAITED})))
    assert [record.packet.method for record in found] == ["R_PurgeQueue", "R_StartReceive"]
    assert all(record.packet.guessed for record in found)
    assert not wire.notices


def test_bytes_before_the_first_pdu_are_told_once_it_is_known_whose_they_are() -> None:
    wire = Wire()
    wire.client(b"\x05" * 300)
    wire.client(bind(_BY_NAME["RemoteRead"].uuid))
    found = wire.server(acknowledged())
    assert sorted(record.type for record in found) == ["gap", "rpc_bind"]
    assert next(record for record in found if record.type == "gap").length == 300


def test_an_interface_that_is_added_to_a_connection_of_msmq_is_told_whatever_it_is() -> None:
    wire = Wire().bound()
    wire.client(bind(_FOREIGN, call=2, context=1, cls=AlterContext))
    ack = encode_pdu(acknowledged(2))
    (record,) = wire.server(ack[:2] + b"\x0f" + ack[3:])
    assert isinstance(record.packet, RpcBind)
    assert record.packet.contexts[0].interface == str(_FOREIGN)


def test_clocks_that_disagree_give_no_latency() -> None:
    wire = Wire().bound()
    method = _BY_NAME["RemoteRead"].methods[6]
    wire.client(request(2, 6, stub(method.request, {"ph_context": _QUEUE})), time=90_000)
    (record,) = wire.server(response(2, stub(method.response, {})), time=80_000)
    assert record.packet.latency is None


def test_notices_are_bounded() -> None:
    wire = Wire()
    for number in range(3000):
        wire.reader._notice(f"note {number}")
    assert len(wire.notices) <= 1001
    assert sum(wire.notices.values()) == 3000


# Through the finder: which stream is what.

_CLIENT, _SERVER = b"\xc0\x00\x02\x01", b"\xc0\x00\x02\x02"
_SYN, _RST, _PSH = 0x02, 0x04, 0x18


def segment(port: int, seq: int, flags: int, payload: bytes, frame: int, *, sport: int = 5000) -> TcpSegment:
    return TcpSegment(_CLIENT, sport, _SERVER, port, seq, 1, flags, payload, frame, frame)


def ping_like_message() -> bytes:
    from msmq_wire import GUID as Guid
    from msmq_wire import build_message, encode

    return encode(build_message("DIRECT=OS:b\\private$\\q", b"body", source_queue_manager=Guid(bytes(16))))


def test_addresses_used_again_for_something_else_are_read_as_that() -> None:
    finder = PacketFinder()
    opening = encode_pdu(bind(_BY_NAME["RemoteRead"].uuid))
    finder.segment(segment(2103, 100, _SYN, b"", 1))
    finder.segment(segment(2103, 101, _PSH, opening, 2))
    found = list(finder.segment(segment(2103, 101 + len(opening), _RST, b"", 3)))
    assert [item.type for item in found if isinstance(item, Record) and not is_step(item)] == ["rpc_bind"]
    finder.segment(segment(2103, 9000, _SYN, b"", 4))
    found = [*finder.segment(segment(2103, 9001, _PSH, ping_like_message(), 5)), *finder.finish()]
    (packet,) = (item for item in found if not is_step(item))
    assert not isinstance(packet, Record)


def test_calls_are_found_on_a_port_that_the_user_named() -> None:
    finder = PacketFinder(ports=(2103,))
    opening = encode_pdu(bind(_BY_NAME["RemoteRead"].uuid))
    finder.segment(segment(2103, 100, _SYN, b"", 1))
    finder.segment(segment(2103, 101, _PSH, opening, 2))
    found = [item for item in finder.finish() if isinstance(item, Record) and not is_step(item)]
    assert [item.type for item in found] == ["rpc_bind"]


def test_a_stream_that_another_one_pushes_out_keeps_its_kind() -> None:
    finder = PacketFinder()
    finder.tcp._max_connections = 2
    message = ping_like_message()
    finder.segment(segment(1801, 100, _SYN, b"", 1))
    finder.segment(segment(1801, 101, _PSH, message[:50], 2))
    opening = encode_pdu(bind(_BY_NAME["RemoteRead"].uuid))
    found: list[Any] = []
    for number in range(3):
        found += finder.segment(segment(2103, 100, _SYN, b"", 3 + 2 * number, sport=6000 + number))
        found += finder.segment(segment(2103, 101, _PSH, opening, 4 + 2 * number, sport=6000 + number))
    assert any(not isinstance(item, Record) and item.data == message[:50] for item in found)


def test_bytes_before_the_first_pdu_go_the_way_of_their_side() -> None:
    wire = Wire()
    wire.server(b"\x05" * 300)
    wire.client(bind(_BY_NAME["RemoteRead"].uuid))
    found = [*wire.server(acknowledged()), *wire.reader.finish()]
    (gap,) = (record for record in found if record.type == "gap")
    assert (gap.src, gap.dst, gap.length) == ("192.0.2.2:2103", "192.0.2.1:5000", 300)


def test_a_call_in_the_clear_is_neither_verified_nor_false() -> None:
    assert start(Wire().bound(), 2, 4).verified is None


def test_a_request_whose_last_fragment_never_comes_is_not_complete() -> None:
    wire = Wire().bound()
    data = stub(_BY_NAME["RemoteRead"].methods[6].request, {"ph_context": _QUEUE})
    # PFC_FIRST_FRAG alone.
    wire.client(Request(1, 2, context_id=0, opnum=6, stub=data, alloc_hint=len(data)))
    (record,) = wire.reader.finish()
    assert isinstance(record.packet, RpcCall)
    assert (record.packet.method, record.packet.complete) == ("R_PurgeQueue", False)


def test_what_a_connection_holds_is_counted_once() -> None:
    wire = Wire().bound()
    # A mebibyte in all; added up at every step it would be 256, and 64 may be held.
    for number in range(512):
        flags = 1 if number == 0 else 0
        wire.client(Request(flags, 2, context_id=0, opnum=6, stub=bytes(2048), alloc_hint=2048))
    assert not wire.notices
    (record,) = wire.reader.finish()
    assert record.type == "rpc_call"
