"""One line of each value, bounded and harmless, with its texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import msmq_wire as mw
from msmq_wire.detection.diagnosis import Answer, Digest, DigestLine, Statement
from msmq_wire.detection.finding import Evidence, Finding
from msmq_wire.invisible import RANGES, UNSEEN
from msmq_wire.records.bodies import Body
from msmq_wire.records.message_body import IN_PACKET, MessageBody
from msmq_wire.records.rpc_packets import RpcCall, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpField, SrmpMessage
from msmq_wire.representation import LONGEST, shortened
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.sessions import StoryFollower
from msmq_wire.spec import SpecRef
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText
from tests.whole_repr import differences, whole_repr

_DEMO = Path(__file__).parent.parent / "fixtures" / "captures" / "demo.pcap"
_MESSAGE = mw.build_message(r"DIRECT=OS:msg01\private$\orders", "Order 4711", label="Order")
_RECORD = mw.Record(
    id=7,
    type="user_message",
    time=1795770847_512_345_678,
    src="192.0.2.21:49731",
    dst="192.0.2.10:1801",
    packet=_MESSAGE,
)
_HOSTILE = "".join(chr(first) for first, _ in RANGES if first) * 20_000
_ANOMALY = Anomaly(
    code="base_header.version-number",
    message="VersionNumber must be 0x10",
    path="base_header.version_number",
    offset=0,
    length=1,
    spec=SpecRef("MS-MQMQ", "2.2.19.1"),
)
_FINDING = Finding(
    id="FRM-SIG",
    title="Not the signature",
    severity="high",
    confidence="certain",
    message="The signature is wrong.",
    evidence=(Evidence(record=7),),
)
_CALL = RpcCall(interface="qmcomm", opnum=11, method=None, syntax="ndr", status=0xC00E0003, queue=r"PUBLIC=a")
_HTTP = SrmpMessage(
    kind="message", queue="DIRECT=http://msg01/msmq/orders", label="Order", message_id=None, method="POST",
    target="/msmq", http_version="1.1", headers=(), envelope=None, body=None, extension=None, parts=(),
)  # fmt: skip
_PARTIAL = mw.inspect(mw.encode(_MESSAGE)[:40])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (WcharText.of("Order"), "WcharText.of('Order')"),
        (WcharText.of("a\x1b\u202e\u3164"), r"WcharText.of('a\x1b\u202e\u3164')"),
        (WcharText(b"a\0"), r"WcharText(b'a\x00')"),
        (WcharText.of("o" * 40), f'<WcharText "{"o" * 31}…" 82 bytes>'),
        (FixedWcharText.padded("sq", 8), "FixedWcharText.padded('sq', 8)"),
        (Ping(cookie=4), "Ping(cookie=4)"),
        (_MESSAGE, r'<UserMessage "Order" to DIRECT=OS:msg01\private$\orders, 208 bytes>'),
        (FinalAck(), "<FinalAck 120 bytes>"),
        (_MESSAGE.base_header, "BaseHeader(packet_size=208)"),
        (UserHeader(message_id=9), "UserHeader(message_id=9)"),
        (
            mw.JoinedPacket(data=bytes(200), missing=(), complete=True, problems=()),
            "<JoinedPacket data=200 bytes…, missing=(), complete=True, problems=()>",
        ),
        (_PARTIAL.packet, "<UserMessage 208 bytes>"),
        (
            _PARTIAL,
            "<InspectResult user_message, 32 bytes, missing-bytes at user_header.queue_manager_address, "
            "8 bytes left>",
        ),
        (_ANOMALY, "<Anomaly base_header.version-number at offset 0: VersionNumber must be 0x10>"),
        (_CALL, "<RpcCall qmcomm opnum 11, status 0xc00e0003, queue PUBLIC=a>"),
        (_HTTP, '<SrmpMessage "Order" to DIRECT=http://msg01/msmq/orders, no response>'),
        (SrmpField(name="Host", value="msg01"), "SrmpField(name='Host', value='msg01')"),
        (
            TransferBuffer(queue="PUBLIC=a", properties=MessageProperties(label=WcharText.of("Order"))),
            '<TransferBuffer "Order" to PUBLIC=a>',
        ),
        (
            _RECORD,
            "<Record 7 user_message 2026-11-27 09:14:07.512Z 192.0.2.21:49731 -> 192.0.2.10:1801 "
            '"Order" to msg01 orders>',
        ),
        (mw.Record(id=1, type="gap", reason="loss"), "<Record 1 gap loss>"),
        (mw.Record(id=1, type="ping", time=10**30), "<Record 1 ping 1000000000000000000000000000000 ns>"),
        (mw.Record(id=2, type="rpc_call", packet=_CALL), "<Record 2 rpc_call to PUBLIC=a>"),
        (_FINDING, "<Finding FRM-SIG (high, certain): The signature is wrong.>"),
        (Evidence(record=7, frames=(1, 2)), "Evidence(record=7, frames=(1, 2))"),
        (
            DigestLine(severity="low", confidence="guess", layer="host", text="It is slow."),
            "<DigestLine (low, guess) It is slow.>",
        ),
        (
            Digest(
                lines=(
                    DigestLine(
                        severity="low", confidence="guess", layer="host", text="It is slow.", question=3
                    ),
                ),
                more=2,
            ),
            "<Digest 3 causes: It is slow.>",
        ),
        (Digest(looked_at="3 messages"), "<Digest Nothing wrong seen in 3 messages.>"),
        (
            Answer(number=3, question="Which?", posed=True, statements=(Statement(text="None."),)),
            "<Answer 3: None.>",
        ),
        (Statement(text="None."), "<Statement None.>"),
        (
            mw.DiagnosisResult(
                story=StoryFollower().finish(),
                digest=Digest(
                    lines=(
                        DigestLine(
                            severity="low", confidence="guess", layer="host", text="It is slow.", question=3
                        ),
                    )
                ),
            ),
            "<DiagnosisResult 1 cause: It is slow.>",
        ),
        (
            mw.why(_DEMO, "payment 93").steps[1],
            r"<ExplainedStep 2026-11-20 09:14:08.167Z sent: DIRECT=OS:msg01\private$\payments, "
            'transactional, "payment 93", 69 bytes>',
        ),
        (
            mw.why(_DEMO, "payment 93"),
            '<WhyAnswer (received) Message "payment 93" from 192.0.2.21 to '
            r"DIRECT=OS:msg01\private$\payments was received.>",
        ),
        (
            mw.why(_DEMO, "payment 93").message,
            '<ExplainedMessage (received) Message "payment 93" from 192.0.2.21 to '
            r"DIRECT=OS:msg01\private$\payments was received.>",
        ),
        (
            mw.FormatName.parse(r"direct=os:msg01\private$\orders;JOURNAL"),
            r"FormatName.parse('DIRECT=OS:msg01\\private$\\orders;JOURNAL')",
        ),
        (
            mw.FormatName.parse(f"DIRECT=OS:msg01\\{'q' * 124}"),
            rf"<FormatName DIRECT=OS:msg01\{'q' * 90}…>",
        ),
        (mw.PathName.parse(r".\private$\orders;retry"), r"PathName.parse('.\\private$\\orders;retry')"),
        (MessageBody(data=b"<a/>", size=9), "MessageBody(data=b'<a/>', size=9)"),
        (
            MessageBody(data=b"x" * 4_700, size=4_762, path=IN_PACKET, label="Order"),
            "<MessageBody data=4700 bytes…, size=4762, path='message_properties_header.messag'…, "
            "label='Order'>",
        ),
        (
            Body(kind="xml", confidence="certain", text="<a>" * 1_000),
            "<Body kind='xml', confidence='certain', text='<a><a><a><a><a><a><a><a><a><a><a'…>",
        ),
        (mw.Opening(body=b"x" * 17, how="RC4"), "<Opening body=17 bytes…, how='RC4'>"),
        (
            mw.table("a.pcap", "messages"),
            "<messages of a.pcap: id, parent, time, src, dst, queue, label, message_class, priority, "
            "delivery, sent_time, message_i…>",
        ),
        (mw.why(_DEMO, "private$"), "<WhyAnswer 3 messages fit 'private$'>"),
        (
            UserMessage(message_properties_header=MessagePropertiesHeader(label=b"a\0")),  # type: ignore[arg-type]
            "<UserMessage 120 bytes>",
        ),
    ],
)
def test_a_value_is_one_short_line_with_its_texts(value: Any, text: str) -> None:
    assert repr(value) == text


@pytest.mark.parametrize(
    "value",
    [
        WcharText.of(_HOSTILE.encode("utf-16", "ignore").decode("utf-16")),
        msgspec.structs.replace(_HTTP, queue=_HOSTILE, label=_HOSTILE, kind=_HOSTILE),
        msgspec.structs.replace(
            _RECORD, src=_HOSTILE, dst=_HOSTILE, packet=msgspec.structs.replace(_HTTP, queue=_HOSTILE)
        ),
        msgspec.structs.replace(_ANOMALY, code=_HOSTILE, message=_HOSTILE),
        msgspec.structs.replace(_FINDING, message=_HOSTILE),
        mw.Message(
            record=msgspec.structs.replace(_RECORD, packet=msgspec.structs.replace(_HTTP, label=_HOSTILE))
        ),
        msgspec.structs.replace(_CALL, queue=_HOSTILE, method=_HOSTILE),
        SrmpField(name=_HOSTILE, value=_HOSTILE),
        Evidence(capture=_HOSTILE, path=_HOSTILE),
        MessageBody(data=_HOSTILE.encode("utf-8", "replace"), size=1, label=_HOSTILE, path=_HOSTILE),
        Body(kind=_HOSTILE, confidence="certain", text=_HOSTILE, details=((_HOSTILE, _HOSTILE),)),
        mw.table("\x1b" * 200, "calls"),
        BaseHeader(packet_size=10**400),
        mw.JoinedPacket(data=b"", missing=((0, 1),) * 100_000, complete=False, problems=(_ANOMALY,) * 9),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_sender_makes_a_line_long_or_moves_the_screen(value: Any) -> None:
    assert len(repr(value)) <= LONGEST
    assert UNSEEN.search(repr(value)) is None


def test_a_line_that_leaves_nothing_out_makes_the_value_again() -> None:
    classes = (WcharText, FixedWcharText, Ping, GUID, SrmpField, UserHeader, mw.FormatName, mw.PathName)
    names = {one.__name__: one for one in classes}
    for value in (
        WcharText.of("it's \\ \u202e"),
        FixedWcharText.padded("sq", 8),
        Ping(cookie=4, qm_guid=GUID.parse("557358d1-9150-9595-4997-b6e611ea26c6")),
        SrmpField(name="a\u3164", value="'\""),
        UserHeader(flags=3),
        mw.FormatName.parse(r"PRIVATE=557358d1-9150-9595-4997-b6e611ea26c6\0000001f"),
        mw.PathName.parse(r".\private$\it's"),
    ):
        assert eval(repr(value), names) == value


def test_every_record_of_a_capture_fits_its_line() -> None:
    shown = [repr(record) for record in mw.read_capture(str(_DEMO))]
    assert shown[3] == (
        "<Record 7 establish_connection 2026-11-20 09:14:07.519Z 192.0.2.10:1801 -> 192.0.2.21:49731>"
    )
    assert max(map(len, shown)) <= LONGEST


def test_a_text_is_cut_after_it_is_made_harmless() -> None:
    assert shortened("\x1b" * 9, 8) == r"\x1b\x1…"
    assert shortened("12345678", 8) == "12345678"


def test_what_a_test_prints_of_two_packets_names_the_fields_that_differ() -> None:
    other = mw.build_message(r"DIRECT=OS:msg01\private$\orders", "Order 4711", label="Other")
    [line] = differences(_MESSAGE, other)
    assert line.startswith("message_properties_header.label: b'O\\x00r\\x00d")
    assert "BaseHeader(version_number=16" in whole_repr(_MESSAGE)


def test_what_a_diagnosis_and_an_explanation_hold_is_one_line_each() -> None:
    found = mw.diagnose(str(_DEMO))
    [life, *_], [session, *_] = found.story.lives, found.story.sessions
    asked = mw.why(str(_DEMO), "order 4711")
    for value in (found, found.story, life, session, asked, asked.message, *asked.steps):
        assert len(repr(value)) <= LONGEST
        assert repr(value).startswith((f"<{type(value).__name__} ", f"{type(value).__name__}("))
