from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.engines.fit import fit
from msmq_wire.errors import EncodeError
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.dead_letter_header import DeadLetterHeader
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.headers.security_header import ProviderInfo, SecurityData, SecurityHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.headers.soap_header import SoapHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.public_queue_format_name import PublicQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText

replace = msgspec.structs.replace
QUEUE = GUID.parse("557358d1-9150-9595-4997-b6e611ea26c6")


def test_a_packet_of_its_defaults_has_its_120_bytes() -> None:
    packet = fit(UserMessage())
    assert packet.base_header.packet_size == 16 + 48 + 56
    assert len(encode(packet)) == 120


def test_lengths_and_padding_follow_the_data() -> None:
    properties = MessagePropertiesHeader(
        label=WcharText.of("abc"), extension_data=b"12345", message_body=b"x" * 10, padding=b"\xaa\xbb\xcc"
    )
    fitted = fit(UserMessage(message_properties_header=properties)).message_properties_header
    assert fitted is not None
    assert (fitted.label_length, fitted.extension_size, fitted.message_size) == (4, 5, 10)
    assert fitted.allocation_body_size == 10
    # 56 + 8 + 5 + 10 = 79: one byte of padding, and the first of those that were there stays.
    assert fitted.padding == b"\xaa"


@pytest.mark.parametrize(
    ("part", "header", "bit"),
    [
        ("transaction_header", "user_header", "th"),
        ("security_header", "user_header", "sh"),
        ("debug_header", "base_header", "dh"),
        ("soap_header", "user_header", "hh"),
        ("multi_queue_format_header", "user_header", "mq"),
        ("session_header", "base_header", "sh"),
    ],
)
def test_only_parts_that_are_there_are_announced(part: str, header: str, bit: str) -> None:
    parts: dict[str, Any] = {
        "transaction_header": TransactionHeader(),
        "security_header": SecurityHeader(),
        "debug_header": DebugHeader(),
        "soap_header": SoapHeader(),
        "multi_queue_format_header": MultiQueueFormatHeader(),
        "session_header": SessionHeader(),
    }
    with_part = fit(UserMessage(**{part: parts[part]}))
    assert getattr(with_part, header).bit(bit) == 1
    assert decode(encode(with_part)) == with_part
    without = fit(replace(with_part, **{part: None}))
    assert getattr(without, header).bit(bit) == 0
    assert decode(encode(without)) == without


def test_packet_size_counts_neither_session_header_nor_more_than_there_is() -> None:
    packet = fit(UserMessage(session_header=SessionHeader()))
    assert packet.base_header.packet_size == 120
    assert len(encode(packet)) == 136


@pytest.mark.parametrize(
    ("field", "value", "selector"),
    [
        ("destination_queue", DirectQueueFormatName.of(r"OS:h\q"), ("dq", 7)),
        ("destination_queue", PublicQueueFormatName(public_queue_identifier=QUEUE), ("dq", 5)),
        ("admin_queue", DirectQueueFormatName.of(r"OS:h\q"), ("aq", 7)),
        ("response_queue", PublicQueueFormatName(public_queue_identifier=QUEUE), ("rq", 5)),
        ("connector_type", QUEUE, ("cq", 1)),
    ],
)
def test_queue_types_follow_the_names(field: str, value: object, selector: tuple[str, int]) -> None:
    header = fit(UserHeader(**{field: value}))  # type: ignore[arg-type]  # values of different fields
    assert header.bit(selector[0]) == selector[1]
    assert decode(encode(header), "user_header") == header


def test_a_queue_type_that_fits_its_name_stays() -> None:
    header = UserHeader(source_queue_manager=QUEUE).with_bits(rq=1)
    assert fit(header) == header


def test_security_items_bring_their_sizes_and_padding() -> None:
    provider = ProviderInfo(provider_type=1, provider_name=WcharText.of("CSP"))
    data = SecurityData(security_id=bytes(16), signature=b"abc", sender_cert=b"12345", provider_info=provider)
    header = fit(SecurityHeader(security_data=data))
    sizes = (header.sender_id_size, header.encryption_key_size, header.signature_size)
    assert (*sizes, header.sender_cert_size, header.provider_info_size) == (16, 0, 3, 5, 12)
    assert (header.security_data.signature_padding, header.security_data.sender_cert_padding) == (
        b"\0",
        b"\0\0\0",
    )
    assert len(encode(header)) == 16 + 16 + 4 + 8 + 12
    without = fit(replace(header, security_data=replace(header.security_data, provider_info=None)))
    assert without.provider_info_size == 0


def test_a_list_of_queues_brings_its_count_size_and_padding() -> None:
    elements = (
        MQFFormatNameElement(format_type=1, format_name=PublicQueueFormatName(public_queue_identifier=QUEUE)),
        MQFFormatNameElement(
            format_type=1, format_name=MQFDirectQueueFormatName(direct_format_name=WcharText.of(r"OS:h\q"))
        ),
    )
    header = fit(MQFAddressHeader(format_name_list=elements))
    assert header.element_count == 2
    assert [element.format_type for element in header.format_name_list] == [1, 3]
    # 12, then 2 + 2 of padding + 16, then 2 + 14
    assert header.header_size == 12 + 20 + 16
    assert header.padding == b""
    assert decode(encode(header), "mqf_address_header") == header


def test_an_administration_list_gets_the_number_it_is_found_by() -> None:
    header = fit(MultiQueueFormatHeader(administration=MQFAddressHeader()))
    assert header.administration is not None
    assert header.administration.header_id == 0x00C8
    assert decode(encode(header), "multi_queue_format_header") == header


def test_odd_soap_texts_are_padded() -> None:
    header = fit(SoapHeader(header=WcharText.of("ab"), body=WcharText.of("cd")))
    assert (header.header_data_length, header.body_data_length) == (3, 3)
    packet = fit(UserMessage(soap_header=header))
    assert inspect(encode(packet)).anomalies == ()


def test_the_trailing_headers_are_announced_and_counted() -> None:
    packet = fit(
        MessagePacket(
            subqueue_header=SubqueueHeader(),
            dead_letter_header=DeadLetterHeader(dead_letter_path_name=WcharText.of("dl")),
            extended_address_header=ExtendedAddressHeader(),
        )
    )
    assert packet.extension_header is not None
    assert packet.dead_letter_header is not None
    # 4 + 3 WCHARs, zeros up to 12
    assert packet.dead_letter_header.header_size == 12
    assert packet.extension_header.remaining_headers_size == 148 + 12 + 28
    assert packet.extension_header.flags & 0x13 == 0x13
    assert packet.base_header.packet_size == 120 + 12 + 148 + 12 + 28
    assert decode(encode(packet), "message_packet") == packet


def test_srmp_headers_are_announced_together() -> None:
    packet = fit(
        MessagePacket(
            srmp_envelope_header=SRMPEnvelopeHeader(data=WcharText.of("<x/>")),
            compound_message_header=CompoundMessageHeader(data=b"POST"),
        )
    )
    assert packet.user_header.bit("ah") == 1
    assert packet.srmp_envelope_header is not None
    assert packet.srmp_envelope_header.data_length == 5
    assert packet.srmp_envelope_header.padding == b"\0\0"
    assert decode(encode(packet), "message_packet") == packet


def test_bytes_that_no_header_claims_stay_and_are_counted() -> None:
    packet = fit(UserMessage(undeclared=b"1234"))
    assert packet.base_header.packet_size == 124
    assert packet.undeclared == b"1234"


def test_a_lying_packet_size_is_mended_and_an_unfitted_one_is_refused() -> None:
    packet = UserMessage(base_header=BaseHeader(packet_size=4000))
    with pytest.raises(EncodeError, match="undeclared"):
        encode(packet)
    assert fit(packet).base_header.packet_size == 120


@pytest.mark.parametrize(
    ("part", "field", "value", "message"),
    [
        ("base_header", "packet_size", "208", "a str where a number belongs at base_header.packet_size"),
        (
            "message_properties_header",
            "label",
            "Order",
            "a str where a WcharText belongs (WcharText.of(text)) at message_properties_header.label",
        ),
        (
            "user_header",
            "source_queue_manager",
            "b05a2d6c-3c9f-4f6d-9a55-4f7e1a1b2c3d",
            "a str where a GUID belongs (GUID.parse(text)) at user_header.source_queue_manager",
        ),
        (
            "message_properties_header",
            "message_body",
            7,
            "a int where bytes belong at message_properties_header.message_body",
        ),
        (
            "user_header",
            "destination_queue",
            "DIRECT=OS:host\\q",
            "a str where a PrivateQueueFormatNameId or PublicQueueFormatName or DirectQueueFormatName "
            "belongs at user_header.destination_queue",
        ),
        (
            "base_header",
            "flags",
            msgspec.UNSET,
            "this was not decoded, so it cannot be encoded at base_header.flags",
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_by_its_path(
    part: str, field: str, value: object, message: str
) -> None:
    packet = UserMessage(message_properties_header=MessagePropertiesHeader())
    header = msgspec.structs.replace(getattr(packet, part), **{field: value})
    with pytest.raises(EncodeError) as caught:
        fit(msgspec.structs.replace(packet, **{part: header}))
    assert str(caught.value) == message


def test_a_list_of_a_wrong_type_is_refused_by_its_path() -> None:
    header = MultiQueueFormatHeader()
    wrong = MQFAddressHeader(format_name_list=["DIRECT=OS:host\\q"])  # type: ignore[arg-type]  # the mistake
    with pytest.raises(EncodeError, match=r"a list where a tuple belongs at destination\.format_name_list"):
        fit(msgspec.structs.replace(header, destination=wrong))
    wrong = MQFAddressHeader(format_name_list=("DIRECT=OS:host\\q",))  # type: ignore[arg-type]  # the mistake
    with pytest.raises(EncodeError, match=r"MQFFormatNameElement belongs at destination\.\w+\[0\]"):
        fit(msgspec.structs.replace(header, destination=wrong))
