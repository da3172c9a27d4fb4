"""A server that brings another message than the capture shows is found, whatever interface it answers on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.records.record import Record
from msmq_wire.replay.deviation import ReplayDeviation
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, CACTransferBufferV2, TransferReceive
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.section_buffer import SectionBuffer
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.scene import make_packet
from tests.replay.world import call_record, deviations

_METHODS = {method.name: method for one in INTERFACES.values() for method in one.methods.values()}
_SENT, _HOUR, _NUMBER = 1_795_000_000, 3600, 7
_FOR_EVER = 0xFFFFFFFF
_ORDERS = ContextHandle(uuid=GUID(bytes([1] * 16)))
_SENDER = GUID(b"the one who sent")
_START, _TRANSACTIONAL = "R_StartReceive", "R_StartTransactionalReceive"
_QM2QM, _QMCOMM2 = "RemoteQMStartReceive", "rpc_ACReceiveMessageEx"


def packet(body: bytes = b"body", **changes: Any) -> Any:
    """A message of `_SENDER`; ``changes`` as ``user_header__sent_time``."""
    values = {
        "user_header__source_queue_manager": _SENDER,
        "user_header__message_id": _NUMBER,
        "user_header__sent_time": _SENT,
        "base_header__time_to_reach_queue": _HOUR,
    }
    found: Any = decode(make_packet(body, label="order"))
    for path, value in (values | changes).items():
        header, _, name = path.partition("__")
        part = msgspec.structs.replace(getattr(found, header), **{name: value})
        found = msgspec.structs.replace(found, **{header: part})
    return found


def stored(body: bytes = b"body", **changes: Any) -> bytes:
    """The same as a section has it."""
    return bytes(encode(packet(body, **{"base_header__time_to_reach_queue": _SENT + _HOUR} | changes)))


def sent(**changes: Any) -> list[Record]:
    """It was sent over TCP, in frame 1."""
    return [
        Record(
            id=0,
            type="user_message",
            time=1,
            stream=9,
            frames=(1,),
            src="192.0.2.21:50001",
            dst="192.0.2.10:1801",
            packet=packet(**changes),
        )
    ]


def brings(method: str, data: bytes, sequence: int = 5, at: int = 10) -> list[Record]:
    """A call that brings a message."""
    declared = _METHODS[method]
    request: dict[str, Any] = {"ph_context": _ORDERS, "ul_action": 0x80000000}
    if method == _QM2QM:
        asked = RemoteReadDesc(h_remote_queue=3, dw_queue=3, ul_action=0x80000000)
        answered = msgspec.structs.replace(asked, dw_size=len(data), lp_buffer=data)
        request, response = {"lp_remote_read_desc": asked}, dict[str, Any](lp_remote_read_desc=answered)
    else:
        section = SectionBuffer(section_size=len(data), section_size_alloc=len(data), data=data)
        response = {
            "pp_packet_sections": (section,),
            "pdw_number_of_sections": 1,
            "p_sequence_id": sequence,
        }
        request |= {"dw_max_body_size": 100, "dw_max_compound_message_size": 100}
    asked_for, came = declared.request.cls(**request), declared.response.cls(**response)
    return call_record(method, asked_for, came, begun=at, ended=at + 1)


def received(**old: Any) -> list[Record]:
    """rpc_ACReceiveMessageEx that brings the message with these attributes."""
    buffer = CACTransferBufferV2(
        old=CACTransferBufferV1(
            u_transfer_type=1,
            arm=TransferReceive(action=0x80000000),
            pp_message_id=ObjectId(lineage=_SENDER, uniquifier=_NUMBER),
            **old,
        )
    )
    declared = _METHODS[_QMCOMM2]
    asked = declared.request.cls(h_qm_context=3, ptb=buffer)
    return call_record(_QMCOMM2, asked, declared.response.cls(ptb=buffer), begun=10, ended=11)


def reported(*calls: list[Record]) -> list[ReplayDeviation]:
    """What is said of contents."""
    return [one for one in deviations(*calls) if one.kind == "content"]


_OTHER_LABEL = {"message_properties_header__label": WcharText.of("Order")}
_BROKEN: list[tuple[str, str, bytes]] = [
    ("MQRR-3.1.4.7-120", _START, stored(b"bodY")),
    ("MQRR-3.1.4.7-120", _START, stored(b"bodies")),
    ("MQRR-3.1.4.7-120", _START, stored(**_OTHER_LABEL)),
    ("MQRR-3.1.4.7-131", _START, stored(base_header__time_to_reach_queue=_HOUR)),
    ("MQRR-3.1.4.13-106", _TRANSACTIONAL, stored(b"bodY")),
    ("MQRR-3.1.4.13-117", _TRANSACTIONAL, stored(base_header__time_to_reach_queue=_HOUR)),
    ("MQQP-2.2.2.1-5", _QM2QM, stored(b"bodY")),
]


@pytest.mark.parametrize(("rule", "method", "data"), _BROKEN)
def test_another_message_than_was_sent_is_found_with_both_frames(rule: str, method: str, data: bytes) -> None:
    (found,) = reported(sent(), brings(method, data))
    assert (str(found.rule), found.frames, found.certain) == (rule, (11,), not found.contradiction)
    assert found.contradiction == ("C23" if rule.endswith(("-131", "-117")) else "")
    assert "(frame 1)" in found.message


_ATTRIBUTES: list[tuple[str, dict[str, Any]]] = [
    ("MQMP-3.1.1.11-18", {"p_sent_time": _SENT + 1}),
    ("MQMP-3.1.1.11-25", {"pp_body": b"bodY", "p_body_size": 4, "ul_body_buffer_size_in_bytes": 4}),
    ("MQMP-3.1.1.11-28", {"p_body_size": 5}),
    ("MQMP-3.1.1.11-29", {"pp_title": WcharText.of("Order"), "pul_title_buffer_size_in_wchars": 5}),
]


@pytest.mark.parametrize(("rule", "old"), _ATTRIBUTES)
def test_another_attribute_than_was_sent_is_found(rule: str, old: dict[str, Any]) -> None:
    assert [str(one.rule) for one in reported(sent(), received(**old))] == [rule]


@pytest.mark.parametrize("method", [_START, _TRANSACTIONAL, _QM2QM])
def test_a_message_that_comes_as_it_was_sent_is_right(method: str) -> None:
    address = {"user_header__queue_manager_address": GUID(bytes([4, 0, 1, 0]) + bytes(12))}
    for changes in ({}, address, {"message_properties_header__message_class": 0x8004}):
        assert reported(sent(), brings(method, stored(**changes))) == []


@pytest.mark.parametrize("seconds", [_FOR_EVER, (_SENT + _FOR_EVER) & _FOR_EVER])
def test_a_message_that_may_wait_for_ever_has_either_reading_of_its_time(seconds: int) -> None:
    for_ever = {"base_header__time_to_reach_queue": _FOR_EVER}
    assert reported(sent(**for_ever), brings(_START, stored(base_header__time_to_reach_queue=seconds))) == []


def test_what_may_be_another_message_is_not_certain() -> None:
    (later,) = reported(sent(), brings(_START, stored(user_header__sent_time=_SENT + 60)))
    assert (later.certain, later.expected, later.came) == (False, f"{_SENT}", f"{_SENT + 60}")
    (elsewhere,) = reported(
        [msgspec.structs.replace(sent()[0], dst="192.0.2.77:1801")], brings(_START, stored(b"bodY"))
    )
    assert not elsewhere.certain


def test_the_body_of_an_encrypted_message_may_be_another_one() -> None:
    sealed = SecurityHeader(flags=0x20)
    (plain,) = sent(body=b"cipher")
    encrypted = msgspec.structs.replace(plain.packet, security_header=sealed)
    assert reported([msgspec.structs.replace(plain, packet=encrypted)], brings(_START, stored())) == []
    assert len(reported([plain], brings(_START, stored()))) == 1


def test_a_second_read_under_one_lookup_identifier_has_the_same_body() -> None:
    (found,) = reported(brings(_START, stored()), brings(_START, stored(b"bodY"), at=20))
    assert "(frame 11)" in found.message
    assert reported(brings(_START, stored()), brings(_START, stored(b"bodY"), sequence=6, at=20)) == []
    # A queue that was made anew counts from the beginning.
    assert reported(brings(_START, stored()), brings(_START, stored(b"bodies"), at=20)) == []


def test_time_to_reach_queue_before_sent_time_is_found_without_another_packet() -> None:
    (found,) = reported(brings(_START, stored(base_header__time_to_reach_queue=_HOUR)))
    assert (str(found.rule), found.came, found.contradiction) == ("MQRR-3.1.4.7-131", f"{_HOUR}", "C23")
    (late,) = reported(sent(), brings(_START, stored(base_header__time_to_reach_queue=_SENT + 2 * _HOUR)))
    assert (late.expected, late.came, late.certain) == (f"{_SENT + _HOUR}", f"{_SENT + 2 * _HOUR}", False)


def test_a_packet_that_is_cut_in_its_label_is_no_other_message() -> None:
    whole = bytes(encode(packet()))
    cut = inspect(whole[: whole.rindex("order".encode("utf-16-le")) + 4], "user_message")
    assert cut.packet.message_properties_header.label.text == "or"
    [first], [again] = sent(), sent()
    records = [msgspec.structs.replace(first, packet=cut.packet, error=cut.error), again]
    assert deviations(records) == []
