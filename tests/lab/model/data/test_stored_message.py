"""`message_of` and `properties_of`: a packet as a message. [MS-MQDMPR] 3.1.7.1.31"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from msmq_wire import GUID, decode, encode, fit
from msmq_wire.errors import EncodeError
from msmq_wire.lab.model.data.stored_message import message_of, properties_of, without_session_header
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.strategies import structure
from msmq_wire.wire.headers.security_header import ProviderInfo, SecurityData, SecurityHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import examples
from tests.lab.model.binary.world import ORDERS_TX, SENDER, message, transaction


def test_every_attribute_of_a_packet_has_its_place() -> None:
    packet = message(
        "transactional",
        b"\x01\x02",
        jn=1,
        label="a label",
        transaction=transaction(id=5),
        acknowledge=["pr", "na"],
        admin_queue=f"PRIVATE={SENDER}\\00000007",
        response_queue="PUBLIC=00000000-0000-4000-8000-000000000001",
        connector_type=GUID.parse("00000000-0000-4000-8000-000000000002"),
        message_id=258,
        message_class=0x8000,
        correlation_id=bytes(range(20)),
        body_type=0x11,
        application_tag=9,
        extension=b"more",
        sent_time=1000,
        time_to_reach_queue=60,
        time_to_be_received=70,
    )
    found = properties_of(packet)
    assert found == MessageProperties(
        message_class=0x8000,
        identifier=ObjectId(lineage=SENDER, uniquifier=258),
        correlation_identifier=bytes(range(20)),
        sent_time=1000,
        priority=0,
        delivery_guarantee=1,
        acknowledgements_requested=0b0110,
        positive_journaling_requested=False,
        negative_journaling_requested=True,
        application_tag=9,
        label=WcharText("a label".encode("utf-16-le")),
        body_type=0x11,
        body=b"\x01\x02",
        body_length=2,
        extension=b"more",
        destination_queue_format_name=ORDERS_TX,
        administration_queue_format_name=f"PRIVATE={SENDER}\\00000007",
        response_queue_format_name="PUBLIC=00000000-0000-4000-8000-000000000001",
        time_to_reach_queue=60,
        time_to_be_received=70,
        tracing_requested=False,
        source_machine_identifier=SENDER,
        connector_type_identifier=GUID.parse("00000000-0000-4000-8000-000000000002"),
        sender_identifier_type=0,
        authentication_level=0,
        hash_algorithm=0x800E,
        privacy_level=0,
        encryption_algorithm=0x6610,
        first_in_transaction=True,
        last_in_transaction=True,
        transaction_identifier=ObjectId(lineage=SENDER, uniquifier=5),
    )
    stored = message_of(packet)
    assert (stored.label, stored.transactional, stored.recoverable) == ("a label", True, True)
    assert (stored.message_class, stored.acknowledgements_requested) == (0x8000, 0b0110)
    assert (stored.time_to_be_received, stored.sent_time) == (70, 1000)


def test_the_sender_of_a_secured_packet_is_shown() -> None:
    security = SecurityHeader(
        flags=0x21,
        security_data=SecurityData(
            security_id=bytes.fromhex("0101000000000005 12000000"),
            encryption_key=b"key",
            signature=b"signature",
            sender_cert=b"certificate",
            provider_info=ProviderInfo(provider_type=1, provider_name=WcharText.of("provider")),
        ),
    )
    found = properties_of(fit(replace(message(), security_header=security)))
    assert (found.sender_identifier_type, found.sender_identifier) == (1, security.security_data.security_id)
    assert (found.symmetric_key, found.signature) == (b"key", b"signature")
    assert (found.sender_certificate, found.body_encrypted) == (b"certificate", True)
    assert found.authentication_provider_type == 1
    assert found.authentication_provider_name == WcharText.of("provider")


def test_a_session_header_is_not_stored() -> None:
    plain = message(message_id=1)
    base = plain.base_header.with_bits(sh=1)
    carried = replace(plain, base_header=base, session_header=SessionHeader())
    data = encode(carried)
    assert message_of(carried, data).packet == encode(plain)
    assert without_session_header(carried) == plain
    assert message_of(plain, encode(plain)).packet == encode(plain)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(structure("user_message"))
def test_any_packet_that_encodes_becomes_a_message(packet: UserMessage) -> None:
    try:
        data = encode(packet)
    except EncodeError:
        return
    stored = message_of(decode(data, "user_message"), data)
    assert stored.size == len(stored.packet)
    assert stored.priority == packet.base_header.flags & 7
    properties = packet.message_properties_header
    if properties is not None:
        assert stored.properties.body == properties.message_body
