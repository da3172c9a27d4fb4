r"""The packets that rpc_ACSendMessageEx makes, byte for byte. [MS-MQMP] 3.1.5.2, [MS-MQDMPR] 3.1.7.1.30

The bytes were written by hand from [MS-MQMQ] 2.2.19 and 2.2.20. Each message goes to
``DIRECT=OS:host\private$\orders`` where nothing else is said.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.lab.model.data.elements import Queue
from msmq_wire.lab.model.events.queue import create_queue
from msmq_wire.lab.model.events.transaction import create_transaction
from msmq_wire.lab.model.qmcomm.sent_message import sent_message
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId, QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.qmcomm2_scene import SEND, Scene, body, sending
from tests.lab.model.scene import format_name, make_queue

_HERE = b"the queue manage"
_ELSEWHERE = "00010203-0405-0607-0809-0a0b0c0d0e0f"
_UOW = b"a unit of work.."
_SID = bytes.fromhex("010100000000000512000000")
_CORRELATION = bytes(range(1, 21))


def queue(name: str) -> QueueFormat:
    """The QUEUE_FORMAT of a format name."""
    return QueueFormat.of(FormatName.parse(name))


def octets(*parts: str) -> bytes:
    """Hexadecimal digits; what stands behind # is for the reader, "..." is a text with its terminator."""
    found = b""
    for part in parts:
        text = part.partition("#")[0].strip()
        found += (text[1:-1] + "\0").encode("utf-16-le") if text[0] == '"' else bytes.fromhex(text)
    return found


_FROM = "74686520717565756520 6d616e616765 # SourceQueueManager"
_DIRECT = "00000000000000000000000000000000 # QueueManagerAddress: NULL for a direct name"
_TIMES = "ffffffff 00f15365 # TimeToBeReceived: no end; SentTime: 1,700,000,000"
_ORDERS = ("3000 # Count", r'"OS:host\private$\orders"', "0000 # padding")
_NO_CORRELATION = "0000000000000000000000000000000000000000 # CorrelationID"
_NO_SECURITY = "00000000 00000000 00000000 # PrivacyLevel, HashAlgorithm, EncryptionAlgorithm"
_NO_BODY = (
    "00 00 0000 # Flags, LabelLength, MessageClass",
    _NO_CORRELATION,
    "00000000 00000000 00000000 00000000 # BodyType, ApplicationTag, MessageSize, AllocationBodySize",
    _NO_SECURITY,
    "00000000 # ExtensionSize",
)
_SIGNED: dict[str, Any] = {
    "pp_signature": b"12345",
    "ul_signature_size": 5,
    "pul_hash_alg": 0x8004,
    "f_default_provider": 1,
    "pul_prov_type": 1,
}

_PLAIN = octets(
    "1000 0300 4c494f52 c4000000 ffffffff # BaseHeader: PR 3; 196 bytes; TimeToReachQueue: no end",
    _FROM, _DIRECT, _TIMES,
    "01000000 001c2000 # MessageID; Flags: DQ 7, MP",
    *_ORDERS,
    "00 08 0000 # MessagePropertiesHeader: Flags, LabelLength, MessageClass",
    _NO_CORRELATION,
    "00000000 00000000 07000000 07000000 # BodyType, ApplicationTag, MessageSize, AllocationBodySize",
    _NO_SECURITY,
    "00000000 # ExtensionSize",
    '"a label"',
    "636f6e74656e74 00 # MessageBody, padding",
)  # fmt: skip
_EVERYTHING = octets(
    "1000 0700 4c494f52 28010000 3c000000 # PR 7; 296 bytes; 60 s",
    _FROM, _DIRECT,
    "100e0000 00f15365 # 3,600 s",
    "01000000 20ff6700 # DM 1, JN, JP, DQ 7, AQ 7, RQ 7, MP, CQ",
    *_ORDERS,
    "3200", r'"OS:host\private$\answers"',
    "2e00", r'"OS:host\private$\reply"',
    "101112131415161718191a1b1c1d1e1f # ConnectorType",
    "0f 02 3412 # PA, PR, NA, NR",
    "0102030405060708090a0b0c0d0e0f1011121314",
    "08000000 04030201 01000000 01000000",
    _NO_SECURITY,
    "03000000",
    '"l"',
    "616263 # ExtensionData",
    "78 # MessageBody",
)  # fmt: skip
_WITH_CERTIFICATE = octets(
    "1000 0300 4c494f52 dc000000 ffffffff # 220 bytes",
    _FROM, _DIRECT, _TIMES,
    "01000000 001c2800 # DQ 7, SH, MP",
    *_ORDERS,
    "c100 0c00 0000 0500 06000000 00000000 # SecurityHeader: ST 1, DE, AI; the five sizes",
    "010100000000000512000000 # SecurityID: S-1-5-18",
    "3132333435 000000 # Signature, padding",
    "636572742121 0000 # SenderCert, padding",
    "00 00 0000", _NO_CORRELATION,
    "00000000 00000000 01000000 01000000",
    "00000000 04800000 00000000 # HashAlgorithm: SHA-1",
    "00000000",
    "78 000000 # MessageBody, padding",
)  # fmt: skip
_BY_PROVIDER = octets(
    "1000 0300 4c494f52 e4000000 ffffffff # 228 bytes",
    _FROM, _DIRECT, _TIMES,
    "01000000 001c2800",
    *_ORDERS,
    "8200 1000 0000 0500 00000000 0c000000 # ST 2, AI",
    "74686520717565756520 6d616e616765 # SecurityID: the queue manager",
    "3232323232 000000 # the second signature of two",
    "18000000", '"CSP"',  # ProviderInfo: type 24
    "00 00 0000", _NO_CORRELATION,
    "00000000 00000000 01000000 01000000",
    "00000000 0c800000 00000000 # SHA-256",
    "00000000",
    "78 000000",
)  # fmt: skip
_ENCRYPTED = octets(
    "1000 0300 4c494f52 a0000000 ffffffff # 160 bytes",
    _FROM,
    "03020100 0504 0706 0809 0a0b0c0d0e0f # QueueManagerAddress: that of the private name",
    _TIMES,
    "01000000 000c2800 # DQ 3, SH, MP",
    "0c000000 # PrivateQueueIdentifier",
    "e000 0000 0300 0500 00000000 00000000 # EB, DE, AI",
    "6b6579 00 # EncryptionKey, padding",
    "3132333435 000000",
    "00 00 0000", _NO_CORRELATION,
    "00000000 00000000 06000000 06000000",
    "03000000 04800000 01680000 # 128 bits; SHA-1; RC4",
    "00000000",
    "736563726574 0000",
)  # fmt: skip
_OF_HERE_AND_PUBLIC = octets(
    "1000 0300 4c494f52 c0000000 ffffffff # 192 bytes",
    _FROM, _DIRECT, _TIMES,
    "01000000 005c2500 # DQ 7, AQ 2, RQ 5, MP",
    *_ORDERS,
    "05000000 # AdminQueue: on the source host",
    "03020100 0504 0706 0809 0a0b0c0d0e0f # ResponseQueue: a public one",
    "05 00 0000 # PA, NA",
    *_NO_BODY[1:],
)  # fmt: skip
_SAME_QUEUE = octets(
    "1000 0300 4c494f52 e0000000 ffffffff # 224 bytes",
    _FROM, _DIRECT, _TIMES,
    "01000000 00fc2100 # DQ 7, AQ 7, RQ 1: the administration queue",
    *_ORDERS,
    "3200", r'"OS:host\private$\answers"',
    *_NO_BODY,
)  # fmt: skip
_OF_ANOTHER_HOST = octets(
    "1000 0300 4c494f52 c4000000 ffffffff # 196 bytes",
    _FROM, _DIRECT, _TIMES,
    "01000000 00dc2200 # DQ 7, AQ 6, RQ 2, MP",
    *_ORDERS,
    "03020100 0504 0706 0809 0a0b0c0d0e0f 07000000 # AdminQueue: on another host",
    "05000000 # ResponseQueue: on the source host",
    *_NO_BODY,
)  # fmt: skip

_ANSWERS = queue("DIRECT=OS:host\\private$\\answers")
_OWN = queue(f"PRIVATE={GUID(_HERE)}\\00000005")


@pytest.mark.parametrize(
    ("buffer", "expected"),
    [
        pytest.param(sending(**body(b"content", "a label")), _PLAIN, id="plain"),
        pytest.param(
            sending(
                _ANSWERS,
                queue("DIRECT=OS:host\\private$\\reply"),
                p_priority=7,
                p_delivery=1,
                p_auditing=3,
                p_acknowledge=0x0F,
                p_class=0x1234,
                pp_correlation_id=_CORRELATION,
                p_application_tag=0x01020304,
                pul_body_type=8,
                ul_absolute_time_to_queue=60,
                ul_relative_time_to_live=3600,
                pp_connector_type=GUID(bytes(range(0x10, 0x20))),
                pp_msg_extension=b"abc",
                ul_msg_extension_buffer_in_bytes=3,
                **body(b"x", "l"),
            ),
            _EVERYTHING,
            id="everything that an application says",
        ),
        pytest.param(
            sending(
                **_SIGNED,
                pul_sender_id_type=1,
                pp_sender_id=_SID,
                u_sender_id_len=12,
                pp_sender_cert=b"cert!!",
                ul_sender_cert_len=6,
                **body(b"x"),
            ),
            _WITH_CERTIFICATE,
            id="signed, with a SID and a certificate",
        ),
        pytest.param(
            sending(
                **_SIGNED
                | {"pp_signature": b"11122222", "ul_signature_size": 8, "pul_auth_prov_name_len_prop": 9}
                | {"f_default_provider": 0, "pul_prov_type": 24, "pul_hash_alg": 0x800C}
                | {"ppwcs_prov_name": WcharText.of("CSP"), "ul_prov_name_len": 4},
                pul_sender_id_type=2,
                pp_sender_id=_HERE,
                u_sender_id_len=16,
                **body(b"x"),
            ),
            _BY_PROVIDER,
            id="signed by a queue manager with another provider",
        ),
        pytest.param(
            sending(_OWN, queue(f"PUBLIC={_ELSEWHERE}"), p_acknowledge=5),
            _OF_HERE_AND_PUBLIC,
            id="a queue of the source, and a public one",
        ),
        pytest.param(sending(_ANSWERS, _ANSWERS), _SAME_QUEUE, id="one queue for both"),
        pytest.param(
            sending(queue(f"PRIVATE={_ELSEWHERE}\\00000007"), _OWN), _OF_ANOTHER_HOST, id="of another host"
        ),
    ],
)
def test_a_packet_has_the_bytes_that_the_documents_say(buffer: Any, expected: bytes) -> None:
    scene = Scene()
    assert scene.send(buffer).status == Status.MQ_OK
    assert stored(scene.queue) == [expected]


def stored(place: Any) -> list[bytes]:
    """The packets in a queue."""
    return [slot.message_reference.packet for slot in place.message_position_list]


def test_an_encrypted_message_leaves_with_its_key() -> None:
    scene = Scene()
    handle = scene.open(SEND, name=f"PRIVATE={_ELSEWHERE}\\0000000c").handle
    sealed: dict[str, Any] = {"b_encrypted": 1, "pp_symm_keys": b"key", "ul_symm_keys_size": 3}
    sealed |= {"pul_priv_level": 2, "pul_encrypt_alg": 0x6801}
    assert scene.send(sending(**_SIGNED, **sealed, **body(b"secret")), handle).status == Status.MQ_OK
    (far,) = scene.manager.outgoing_queue_collection.values()
    assert stored(far) == [_ENCRYPTED]


def test_a_message_in_a_transaction_has_a_transaction_header() -> None:
    scene = Scene()
    create_transaction(scene.manager, _UOW)
    for _ in range(2):
        assert scene.send(sending(p_uow=GUID(_UOW), p_priority=7, **body(b"x"))).status == Status.MQ_OK
    # The queue manager that sends it numbers it within its sequence.
    assert stored(scene.queue) == [
        octets(
            "1000 0000 4c494f52 c4000000 ffffffff # PR 0; 196 bytes",
            _FROM, _DIRECT, _TIMES,
            f"0{number}000000 201c3000 # DM 1, DQ 7, TH, MP",
            *_ORDERS,
            "60d20500 # Flags: ID 0x05d26, the low bits of the CRC-32 of the unit of work",
            f"0{number - 1}000000 00f15365 # TxSequenceID",
            "01000000 00000000 # TxSequenceNumber, PreviousTxSequenceNumber",
            "00 00 0000", _NO_CORRELATION,
            "00000000 00000000 01000000 01000000",
            _NO_SECURITY,
            "00000000",
            "78 000000",
        )
        for number in (1, 2)
    ]  # fmt: skip


def test_each_of_several_queues_gets_a_packet_with_its_own_name() -> None:
    scene = Scene()
    bills = make_queue(scene.manager, "bills.")
    place = scene.open(SEND, name=f"{format_name(scene.queue)},{format_name(bills)}")
    assert scene.send(sending(**body(b"content", "a label")), place.handle).status == Status.MQ_OK
    assert stored(scene.queue) == [_PLAIN]
    orders, name = octets(*_ORDERS), octets("3000", r'"OS:host\private$\bills."', "0000")
    assert stored(bills) == [_PLAIN.replace(orders, name)]


def test_a_packet_for_a_public_queue_names_its_queue_manager() -> None:
    scene = Scene()
    news = Queue(queue_manager=scene.manager, pathname="host\\news", identifier=GUID(b"a public queue.."))
    assert create_queue(scene.manager, news) == Status.MQ_OK
    place = scene.open(SEND, name=f"PUBLIC={news.identifier}")
    assert scene.send(sending(), place.handle).status == Status.MQ_OK
    assert stored(news) == [
        octets(
            "1000 0300 4c494f52 88000000 ffffffff # 136 bytes",
            _FROM,
            "74686520717565756520 6d616e616765 # QueueManagerAddress",
            _TIMES,
            "01000000 00142000 # DQ 5, MP",
            "61207075626c696320 71756575652e2e # PublicQueueIdentifier",
            *_NO_BODY,
        )
    ]


def test_the_first_and_the_last_message_of_a_transaction_say_so() -> None:
    of_unit = MessageProperties(
        transaction_identifier=ObjectId(uniquifier=0x12345),
        first_in_transaction=True,
        last_in_transaction=True,
        destination_queue_format_name="DIRECT=OS:host\\private$\\orders",
    )
    packet = sent_message(of_unit, Scene().manager, None).packet
    assert packet[116:120] == bytes.fromhex("5c341200")  # FM, LM, ID


_DEFAULTS = MessageProperties(
    identifier=ObjectId(lineage=GUID(_HERE), uniquifier=1),
    message_class=0,
    correlation_identifier=bytes(20),
    sent_time=1_700_000_000,
    priority=3,
    delivery_guarantee=0,
    acknowledgements_requested=0,
    positive_journaling_requested=False,
    negative_journaling_requested=False,
    application_tag=0,
    label=WcharText(),
    body_encrypted=False,
    body_type=0,
    destination_queue_format_name="DIRECT=OS:host\\private$\\orders",
    time_to_reach_queue=0xFFFFFFFF,
    time_to_be_received=0xFFFFFFFF,
    tracing_requested=False,
    source_machine_identifier=GUID(_HERE),
    sender_identifier_type=0,
    authentication_level=0,
    hash_algorithm=0,
    privacy_level=0,
    encryption_algorithm=0,
)
"""Of a message of which an application says nothing. [MS-MQMP] 3.1.5.2"""


@pytest.mark.parametrize(
    ("old", "other"),
    [
        ({}, {}),
        (
            {"pp_title": WcharText.of("abc"), "ul_title_buffer_size_in_wchars": 2},
            {"label": WcharText(b"a\0b\0")},
        ),
        (
            _SIGNED | {"pul_prov_type": None, "f_default_provider": 0}
            | {"ppwcs_prov_name": WcharText.of("CSP"), "ul_prov_name_len": 4},
            {
                "authentication_level": 1,
                "authentication_provider_name": WcharText(b"C\0S\0P\0"),
                "authentication_provider_type": 0,
                "hash_algorithm": 0x8004,
                "signature": b"12345",
            },
        ),
        (
            {"p_uow": GUID(_UOW), "p_priority": 7, "p_delivery": 0},
            {
                "priority": 0,
                "delivery_guarantee": 1,
                "transaction_identifier": ObjectId(lineage=GUID(_HERE), uniquifier=0x5D26),
            },
        ),
    ],
)  # fmt: skip
def test_what_an_application_does_not_say_has_its_default(old: dict[str, Any], other: dict[str, Any]) -> None:
    scene = Scene()
    create_transaction(scene.manager, _UOW)
    message = scene.sent(**old)
    assert message.properties == msgspec.structs.replace(_DEFAULTS, **other)


def test_a_stored_message_says_what_its_packet_does() -> None:
    scene = Scene()
    create_transaction(scene.manager, _UOW)
    message = scene.sent(
        p_uow=GUID(_UOW),
        p_class=0x1234,
        p_acknowledge=5,
        ul_relative_time_to_live=3600,
        **body(b"x", "a label"),
    )
    assert (message.identifier, message.label, message.message_class) == (
        _HERE + b"\1\0\0\0",
        "a label",
        0x1234,
    )
    assert (message.priority, message.recoverable, message.transactional) == (0, True, True)
    assert (message.size, message.sent_time, message.time_to_be_received) == (
        len(message.packet),
        1_700_000_000,
        3600,
    )
    assert (message.acknowledgements_requested, message.transaction_identifier) == (5, _UOW)
    assert Scene().sent(p_priority=7).priority == 7
