"""`MSMQ` on bytes that are cut or no packet at all: the error of `inspect`, and every byte kept."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
from scapy.layers.inet import IP, TCP
from scapy.packet import Raw

import msmq_scapy as ms


@pytest.mark.parametrize(
    ("data", "code", "text"),
    [
        (
            b"abc",
            "missing-bytes",
            "3 bytes are too few for a packet at base_header.signature, offset 3 ([MS-MQMQ] 2.2.19.1)",
        ),
        (
            bytes(40),
            "signature",
            "no packet starts here: signature 00 00 00 00 at base_header.signature, offset 4 "
            "([MS-MQQB] 3.1.5.1.2)",
        ),
    ],
)
def test_bytes_that_are_no_packet_give_an_error_and_stay_bytes(data: bytes, code: str, text: str) -> None:
    pkt = ms.MSMQ(data)
    assert isinstance(pkt, ms.MSMQ)
    for one in (pkt, pkt.copy(), copy.deepcopy(pkt), pickle.loads(pickle.dumps(pkt))):
        assert one.error is not None
        assert (one.error.code, str(one.error)) == (code, text)
        assert bytes(one) == data
        assert one[Raw].load == data
    assert pkt.summary() == f"MSMQ: {text} / Raw"


def test_a_packet_that_is_cut_says_which_field_is_missing(packet_bytes: Callable[[str], bytes]) -> None:
    cut = ms.MSMQ(packet_bytes("user_message/everything")[:12])
    assert isinstance(cut, ms.MSMQUserMessage)
    assert cut.error is not None
    assert (cut.error.code, cut.error.path, cut.error.offset) == (
        "missing-bytes",
        "base_header.time_to_reach_queue",
        12,
    )
    whole = ms.MSMQ(packet_bytes("user_message/everything"))
    assert whole.error is None


def test_a_segment_that_begins_inside_a_packet_is_no_error(registered: None) -> None:
    assert IP(bytes(IP() / TCP(dport=1801) / Raw(b"abc")))[TCP].payload == Raw(b"abc")


def test_a_mistyped_name_gets_the_nearest_one() -> None:
    with pytest.raises(ValueError, match="'messagepacket': did you mean 'message_packet'"):
        ms.MSMQ(b"abc", as_="messagepacket")
    with pytest.raises(AttributeError, match="no attribute 'MSMQUserMesage': did you mean 'MSMQUserMessage'"):
        getattr(ms, "MSMQUserMesage")  # noqa: B009  (mypy knows the module)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        getattr(ms, "nothing")  # noqa: B009  (mypy knows the module)
