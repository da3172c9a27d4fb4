"""Crafted packets: what is meaningful is given, the rest is computed, and what is given stays."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Raw, fuzz

import msmq_scapy as ms
import msmq_wire as mw
from msmq_scapy.declarations import structures

_GUID = "00112233-4455-6677-8899-aabbccddeeff"
_QUEUE = r"DIRECT=OS:host\private$\orders"


def _inspected(pkt: Any, as_: str | None = None) -> Any:
    result = mw.inspect(bytes(pkt), as_)
    assert result.error is None
    assert result.anomalies == ()
    return result.packet


def test_a_message_of_queue_label_and_body_has_no_anomaly() -> None:
    pkt = ms.MSMQUserMessage(destination_queue=_QUEUE, label="hello", message_body=b"body!")
    packet = _inspected(pkt)
    assert packet.user_header.format_name("destination_queue") == _QUEUE
    assert packet.message_properties_header.label.text == "hello"
    assert packet.message_properties_header.message_body == b"body!"
    assert packet == mw.fit(packet)
    assert packet.base_header.packet_size == len(bytes(pkt))


def test_headers_are_given_as_packets_and_announced_by_themselves() -> None:
    pkt = ms.MSMQUserMessage(
        user_header=ms.MSMQUserHeader(
            destination_queue=f"PUBLIC={_GUID}",
            admin_queue=rf"PRIVATE={_GUID}\0000000f",
            flags={"dm": 1},
        ),
        transaction_header=ms.MSMQTransactionHeader(flags="fm+lm"),
        base_header=ms.MSMQBaseHeader(flags={"pr": 0}),
        message_properties_header=ms.MSMQMessagePropertiesHeader(flags="pa", label="x"),
        session_header=ms.MSMQSessionHeader(),
    )
    packet = _inspected(pkt)
    user = packet.user_header
    assert [user.bit(name) for name in ("dq", "aq", "rq", "th", "mp", "dm")] == [5, 6, 0, 1, 1, 1]
    assert packet.base_header.bit("sh") == 1
    assert packet.transaction_header.bit("lm") == 1


def test_a_list_of_queues_takes_names() -> None:
    queues = [_QUEUE, f"PUBLIC={_GUID}", f"DL={_GUID}"]
    header = ms.MSMQMultiQueueFormatHeader(
        destination=ms.MSMQMQFAddressHeader(format_name_list=queues),
        response=ms.MSMQMQFAddressHeader(format_name_list=[_QUEUE]),
    )
    pkt = ms.MSMQUserMessage(destination_queue=_QUEUE, multi_queue_format_header=header)
    shown = ms.view(pkt)["multi_queue_format_header"]
    assert [element["format_name"] for element in shown["destination"]["format_name_list"]] == queues
    assert shown["response"]["header_id"] == 0x012C
    _inspected(pkt)


@pytest.mark.parametrize(
    ("name", "lie"),
    [("label_length", 77), ("packet_size", 4), ("message_size", 0xFFFFFFFF), ("padding", b"!")],
)
def test_a_lie_that_is_given_stays_a_lie(name: str, lie: Any) -> None:
    honest = ms.MSMQUserMessage(destination_queue=_QUEUE, label="hello", message_body=b"body")
    liar = ms.MSMQUserMessage(destination_queue=_QUEUE, label="hello", message_body=b"body")
    holder = liar.base_header if name == "packet_size" else liar.message_properties_header
    setattr(holder, name, lie)
    reported, true = bytes(liar), bytes(honest)
    assert reported != true
    assert getattr(holder, name) == lie
    if isinstance(lie, int):
        # Only the bytes of the field that lies differ.
        changed = [at for at in range(len(true)) if reported[at] != true[at]]
        assert len(reported) == len(true)
        assert changed[-1] - changed[0] < 4
    delattr(holder, name)
    assert bytes(liar) == bytes(honest)


def test_a_flag_that_is_given_stays_though_it_contradicts_the_parts() -> None:
    pkt = ms.MSMQUserHeader(destination_queue=_QUEUE, flags=0)
    assert ms.MSMQUserHeader(bytes(pkt)).flags == 0
    assert len(bytes(pkt)) > len(bytes(ms.MSMQUserHeader(flags=0)))


def test_a_change_deep_inside_a_dissected_packet_is_built(packet_bytes: Callable[[str], bytes]) -> None:
    data = packet_bytes("user_message/everything")
    pkt = ms.MSMQ(data)
    copy = pkt.copy()
    copy[ms.MSMQUserHeader].destination_queue.padding = b"zz"
    assert bytes(pkt) == data
    assert len(bytes(copy)) == len(data)
    assert bytes(copy) != data
    properties = copy[ms.MSMQMessagePropertiesHeader]
    properties.label = "another label"
    del properties.label_length, properties.padding, copy[ms.MSMQBaseHeader].packet_size
    assert _inspected(copy).message_properties_header.label.text == "another label"


def test_a_packet_is_pickled_compared_and_printed(packet_bytes: Callable[[str], bytes]) -> None:
    pkt = ms.MSMQ(packet_bytes("user_message/everything"))
    again = pickle.loads(pickle.dumps(pkt))
    assert again == pkt
    assert bytes(again) == bytes(pkt)
    cut = ms.MSMQ(packet_bytes("user_message/everything")[:200])
    assert cut.error is not None
    assert pickle.loads(pickle.dumps(cut)).error.path == cut.error.path
    assert "dq=DIRECT" in (pkt.show(dump=True) or "")
    assert "MSMQSecurityHeader" in (pkt.show2(dump=True) or "")
    assert pkt.summary().startswith("MSMQUserMessage > DIRECT=")
    assert ms.MSMQUserHeader in pkt
    assert pkt[ms.MSMQUserHeader].flags.dq == 7
    assert pkt[ms.MSMQBaseHeader].flags.in_ == 0


def test_bits_go_by_name() -> None:
    header = ms.MSMQUserHeader(flags="jn + dq=DIRECT")
    assert header.flags.text == "0x201d00 (jn dq=DIRECT mp)"
    assert header.flags.with_bits(rc=3).rc == 3
    with pytest.raises(ValueError, match="nothing"):
        ms.MSMQUserHeader(flags="nothing")
    with pytest.raises(ValueError, match="rc"):
        ms.MSMQUserHeader(flags={"rc": 32})


@pytest.mark.parametrize(
    ("cls", "values"),
    [
        ("MSMQUserHeader", {"destination_queue": f"DL={_GUID}"}),
        # The number of a private queue says nothing without its host.
        ("MSMQUserHeader", {"destination_queue": rf"PRIVATE={_GUID}\0000000f"}),
        ("MSMQMessagePropertiesHeader", {"message_class": "MQMSG_CLASS_OF_NO_KIND"}),
        ("MSMQTransactionHeader", {"connector_qm_guid": "no guid"}),
    ],
)
def test_what_a_field_cannot_hold_is_refused(cls: str, values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        getattr(ms, cls)(**values)


def test_a_number_too_large_for_its_field_is_refused() -> None:
    with pytest.raises(ValueError, match="cookie"):
        bytes(ms.MSMQPing(cookie=1 << 32))


def test_an_acknowledgment_takes_its_body_as_a_packet() -> None:
    pkt = ms.MSMQOrderAck(
        order_ack_body=ms.MSMQOrderAckBody(tx_sequence_number=7, tx_previous_sequence_number=6),
        base_header=ms.MSMQBaseHeader(flags=0),
        destination_queue=r"DIRECT=TCP:192.0.2.7\private$\order_queue$",
        label="QM Ordering Ack",
        message_class="MQMSG_CLASS_ORDER_ACK",
    )
    packet = _inspected(pkt)
    assert packet.order_ack_body.tx_sequence_number == 7
    assert ms.MSMQ(bytes(pkt)).order_ack_body.tx_sequence_number == 7
    assert ms.view(pkt)["order_ack_body"]["tx_sequence_number"] == 7


def test_every_structure_is_built_and_dissected_with_its_defaults() -> None:
    for name in structures():
        data = bytes(getattr(ms, name)())
        if data:
            assert bytes(getattr(ms, name)(data)) == data


@pytest.mark.slow
def test_fuzzed_packets_crash_nobody_and_are_not_all_alike() -> None:
    random.seed(11)
    seen = set()
    errors: set[str | None] = set()
    fuzzed = fuzz(ms.MSMQUserMessage())
    fuller = fuzz(
        ms.MSMQMessagePacket(
            user_header=fuzz(ms.MSMQUserHeader(destination_queue=_QUEUE)),
            transaction_header=fuzz(ms.MSMQTransactionHeader()),
            security_header=fuzz(ms.MSMQSecurityHeader()),
            multi_queue_format_header=fuzz(ms.MSMQMultiQueueFormatHeader()),
        )
    )
    for _ in range(150):
        for pkt, stem in ((fuzzed, "user_message"), (fuller, "message_packet")):
            data = bytes(pkt)
            seen.add(data)
            mw.inspect(data)
            result = mw.inspect(data, stem)
            errors.add(None if result.error is None else result.error.code)
            again = ms.MSMQ(data, as_=stem)
            assert bytes(again) == data
            again.show(dump=True)
    assert len(seen) == 300
    assert None in errors
    assert len(errors) > 1
    assert bytes(ms.MSMQUserMessage()) == bytes(ms.MSMQUserMessage())


def test_crafted_layers_find_their_ports(registered: None) -> None:
    message = IP() / TCP() / ms.MSMQUserMessage(destination_queue=_QUEUE)
    ping = IP() / UDP() / ms.MSMQPing(cookie=5)
    assert (message[TCP].dport, ping[UDP].dport) == (1801, 3527)
    assert ms.view(IP(bytes(message))) == ms.view(message)
    assert ms.MSMQPing in IP(bytes(ping))
    with pytest.raises(ValueError, match="no layer"):
        ms.view(IP() / TCP() / Raw(b"nothing"))
