"""What a POST becomes in a queue, and what a remote reader gets. [MC-MQSRM] 3.1.5.1.1, [MS-MQRR] 2.2.5.1.2"""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest

from msmq_wire import decode
from msmq_wire.lab.model.data.message_packet import message_packet
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.qmcomm.transfer_buffers import properties_to_receive
from msmq_wire.lab.srmp_message import SrmpModelMessage, srmp_message
from msmq_wire.lab.srmp_outcome import SrmpAnswer
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.srmp.building import build_srmp
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.http.message import HttpMessage
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.lab.model.scene import START, make_manager, make_queue
from tests.lab.srmp_posts import MSMQ, SENDER, Change, changed, in_header, in_msmq, multipart, post
from tests.rules import rule_table

_BODY = b"by post"
_POST = build_srmp(
    "http://host/msmq/private$/orders",
    _BODY,
    source_qm_guid=UUID(int=7),
    message_number=9,
    sent_at=1_700_000_000,
)
_ELSE = "fd74b8eb-2af7-4ac5-9405-074e315df392"
_WITHOUT_MSMQ = (MSMQ, "")
_ID = f"<id>uuid:26626@{SENDER}</id>"


def _stored(request: HttpMessage) -> SrmpModelMessage:
    manager = make_manager()
    queue = make_queue(manager)
    found = srmp_message(manager, request, manager.is_called)
    assert isinstance(found, tuple), found
    assert found[0] is queue
    assert enqueue_message(*found) == 0
    return found[1]


def _posted() -> SrmpModelMessage:
    request, _ = parse_message(_POST)
    assert request is not None
    return _stored(request)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _services(text: str) -> Change:
    return in_header(f'<services se:mustUnderstand="1">{text}</services>')


def _commitment(text: str = "") -> Change:
    queue = "<sendTo>http://h/msmq/private$/b</sendTo>"
    return _services(f"<commitmentReceiptRequest>{queue}{text}</commitmentReceiptRequest>")


_DELIVERY = "<deliveryReceiptRequest><sendTo>https://h/msmq/private$/a</sendTo></deliveryReceiptRequest>"


def _rev(via: str) -> Change:
    return _ID, f"{_ID}<rev><via>{via}</via></rev>"


@rule_table(
    "changes, name, value",
    ("MQSRM-3.1.5.1.1-7", [], "label", "order"),
    ("MQSRM-3.1.5.1.1-7", [("MSMQ:order", "MSMQ:MSMQ: <![CDATA[a & b]]>")], "label", "MSMQ: a & b"),
    ("MQSRM-3.1.5.1.1-8", [("MSMQ:order", "Generic label")], "label", ""),
    ("MQSRM-3.1.5.1.1-8", [("MSMQ:order", "msmq:order")], "label", ""),
    (
        "MQSRM-3.1.5.1.1-9",
        [],
        "destination_queue_format_name",
        "DIRECT=http://host/msmq/private$/orders",
    ),
    (
        "MQSRM-3.1.5.1.1-9",
        [("http://host/msmq", "https://localhost:8443/MSMQ")],
        "destination_queue_format_name",
        "DIRECT=https://localhost:8443/MSMQ/private$/orders",
    ),
    (
        "MQSRM-3.1.5.1.1-11 MQSRM-3.1.5.1.1-13",
        [],
        "identifier",
        ObjectId(lineage=GUID.parse(SENDER), uniquifier=26626),
    ),
    (
        "MQSRM-3.1.5.1.1-11 MQSRM-3.1.5.1.1-13",
        [(_ID, f"<id>uuid:4294967295@{_ELSE}</id>")],
        "identifier",
        ObjectId(lineage=GUID.parse(_ELSE), uniquifier=0xFFFFFFFF),
    ),
    (
        "MQSRM-3.1.5.1.1-12 MQSRM-3.1.5.1.1-14",
        [_WITHOUT_MSMQ],
        "identifier",
        ObjectId(lineage=NULL_GUID, uniquifier=1),
    ),
    ("MQSRM-3.1.5.1.1-12", [_WITHOUT_MSMQ, (_ID, "<id>any</id>")], "identifier", ObjectId(uniquifier=1)),
    ("MQSRM-3.1.5.1.1-15", [_rev("http://h/msmq/r")], "response_queue_format_name", "DIRECT=http://h/msmq/r"),
    (
        "MQSRM-3.1.5.1.1-16",
        [_rev("MSMQ:DIRECT=OS:h\\private$\\r")],
        "response_queue_format_name",
        "DIRECT=OS:h\\private$\\r",
    ),
    ("", [_rev("")], "response_queue_format_name", None),
    ("", [], "response_queue_format_name", None),
    ("MQSRM-3.1.5.1.1-17", [_WITHOUT_MSMQ], "time_to_reach_queue", 92_800),
    ("MQSRM-3.1.5.1.1-17", [_WITHOUT_MSMQ, ("20231116T", "99991231T")], "time_to_reach_queue", 0xFFFFFFFF),
    ("MQSRM-3.1.5.1.1-55 MQSRM-3.1.5.1.4-1", [], "time_to_reach_queue", 6400),
    (
        "MQSRM-3.1.5.1.1-55",
        [("<sentAt>20231114T221320", "<sentAt>20231114T221319")],
        "time_to_reach_queue",
        6401,
    ),
    ("MQSRM-3.1.5.1.1-18", [("<sentAt>20231114T221320", "<sentAt>20231114T221319")], "sent_time", START - 1),
    ("MQSRM-3.1.5.1.1-56", [("<sentAt>20231114T221320</sentAt>", "")], "sent_time", START),
    ("MQSRM-3.1.5.1.1-56", [("<sentAt>20231114T221320</sentAt>", "")], "time_to_reach_queue", 6400),
    ("MQSRM-3.1.5.1.1-19", [_services("<durable/>")], "delivery_guarantee", 1),
    ("MQSRM-3.1.5.1.1-20", [], "delivery_guarantee", 0),
    ("MQSRM-3.1.5.1.1-20", [_services("")], "delivery_guarantee", 0),
    ("MQSRM-3.1.5.1.1-21", [_services(_DELIVERY)], "acknowledgements_requested", 0x01),
    (
        "MQSRM-3.1.5.1.1-22",
        [_services(_DELIVERY)],
        "administration_queue_format_name",
        "DIRECT=https://h/msmq/private$/a",
    ),
    (
        "MQSRM-3.1.5.1.1-24",
        [_commitment()],
        "administration_queue_format_name",
        "DIRECT=http://h/msmq/private$/b",
    ),
    ("", [_commitment()], "acknowledgements_requested", 0),
    ("", [], "administration_queue_format_name", None),
    ("MQSRM-3.1.5.1.1-25", [_commitment("<positiveOnly/>")], "acknowledgements_requested", 0x02),
    ("MQSRM-3.1.5.1.1-26", [_commitment("<negativeOnly/>")], "acknowledgements_requested", 0x08),
    (
        "MQSRM-3.1.5.1.1-25 MQSRM-3.1.5.1.1-26",
        [_commitment("<positiveOnly/><negativeOnly/>")],
        "acknowledgements_requested",
        0x0A,
    ),
    ("MQSRM-3.1.5.1.1-31", [], "message_class", 0),
    (
        "MQSRM-3.1.5.1.1-31",
        [
            ("<Class>0", "<Class>2"),
            in_header(
                f"<deliveryReceipt><receivedAt>20231114T000000</receivedAt><id>uuid:1@{SENDER}</id>"
                "</deliveryReceipt>"
            ),
        ],
        "message_class",
        2,
    ),
    ("MQSRM-3.1.5.1.1-32", [("<Priority>3", "<Priority>7")], "priority", 7),
    ("", [_WITHOUT_MSMQ], "priority", 3),
    ("MQSRM-3.1.5.1.1-33", [in_msmq("<Journal/>")], "positive_journaling_requested", True),
    ("MQSRM-3.1.5.1.1-34", [in_msmq("<DeadLetter/>")], "positive_journaling_requested", False),
    ("MQSRM-3.1.5.1.1-35", [in_msmq("<DeadLetter/>")], "negative_journaling_requested", True),
    ("MQSRM-3.1.5.1.1-36", [in_msmq("<Journal/>")], "negative_journaling_requested", False),
    (
        "MQSRM-3.1.5.1.1-37",
        [in_msmq("<Correlation>AQIDBAUGBwgJCgsMDQ4PEBESExQ=</Correlation>")],
        "correlation_identifier",
        bytes(range(1, 21)),
    ),
    ("MQSRM-3.1.5.1.1-37", [], "correlation_identifier", bytes(20)),
    ("MQSRM-3.1.5.1.1-38", [in_msmq("<Trace/>")], "tracing_requested", True),
    ("MQSRM-3.1.5.1.1-39", [], "tracing_requested", False),
    (
        "MQSRM-3.1.5.1.1-40",
        [in_msmq(f"<ConnectorType>{_ELSE}</ConnectorType>")],
        "connector_type_identifier",
        GUID.parse(_ELSE),
    ),
    ("MQSRM-3.1.5.1.1-41", [in_msmq("<App>36</App>")], "application_tag", 36),
    ("MQSRM-3.1.5.1.1-42", [], "body_type", 8),
    ("MQSRM-3.1.5.1.1-42", [("<BodyType>8", "<BodyType>4294967295")], "body_type", 0xFFFFFFFF),
    ("MQSRM-3.1.5.1.1-43", [in_msmq("<HashAlgorithm>32772</HashAlgorithm>")], "hash_algorithm", 0x8004),
    ("MQSRM-3.1.5.1.1-44", [in_msmq("<Eod><First/></Eod>")], "first_in_transaction", True),
    ("MQSRM-3.1.5.1.1-45", [in_msmq("<Eod><Last/></Eod>")], "first_in_transaction", False),
    ("MQSRM-3.1.5.1.1-46", [in_msmq("<Eod><Last/></Eod>")], "last_in_transaction", True),
    ("MQSRM-3.1.5.1.1-47", [in_msmq("<Eod><First/></Eod>")], "last_in_transaction", False),
    (
        "MQSRM-3.1.5.1.1-49",
        [in_msmq("<Provider><Type>1234</Type><Name>ProviderName</Name></Provider>")],
        "authentication_provider_type",
        1234,
    ),
    (
        "MQSRM-3.1.5.1.1-50",
        [in_msmq("<Provider><Type>1234</Type><Name>ProviderName</Name></Provider>")],
        "authentication_provider_name",
        "ProviderName",
    ),
    (
        "MQSRM-3.1.5.1.1-51",
        [(_ID, f"<id>uuid:1@{_ELSE}</id>")],
        "source_machine_identifier",
        GUID.parse(SENDER),
    ),
)
def test_an_attribute_has_the_value_of_its_element(changes: list[Change], name: str, value: object) -> None:
    properties = _stored(post(changed(*changes))).properties
    found = getattr(properties, name)
    assert getattr(found, "text", found) == value


@rule_table(
    "change, name, value",
    ("MQSRM-3.1.5.1.1-23", _commitment(), "final_ack_required", True),
    ("MQSRM-3.1.5.1.1-23", _services(_DELIVERY), "final_ack_required", False),
    (
        "MQSRM-3.1.5.1.1-48",
        in_msmq(f"<Eod><ConnectorId>{_ELSE}</ConnectorId></Eod>"),
        "connector_queue_manager_identifier",
        GUID.parse(_ELSE),
    ),
    (
        "MQSRM-3.1.5.1.1-52",
        in_msmq("<DestinationMqf>http://a/msmq/q\nhttps://b/msmq/q</DestinationMqf>"),
        "destination_multi_queue_format_name",
        ("DIRECT=http://a/msmq/q", "DIRECT=https://b/msmq/q"),
    ),
    (
        "MQSRM-3.1.5.1.1-53",
        in_msmq("<AdminMqf>\nhttp://a/msmq/q\nPUBLIC=1\n</AdminMqf>"),
        "administration_multi_queue_format_name",
        ("DIRECT=http://a/msmq/q",),
    ),
    (
        "MQSRM-3.1.5.1.1-54",
        in_msmq("<ResponseMqf>http://a/msmq/q http://b/msmq/q</ResponseMqf>"),
        "response_multi_queue_format_name",
        ("DIRECT=http://a/msmq/q", "DIRECT=http://b/msmq/q"),
    ),
)
def test_an_attribute_for_which_properties_have_no_place_is_kept(
    change: Change, name: str, value: object
) -> None:
    assert getattr(_stored(post(changed(change))), name) == value


def test_what_becomes_of_a_message_over_http_is_told_over_no_other_protocol() -> None:
    message = _stored(post(changed(_services(_DELIVERY))))
    assert (message.acknowledgements_requested, message.properties.acknowledgements_requested) == (0, 0x01)


@pytest.mark.rule("MQSRM-3.1.5.1.1-1", "MQSRM-3.1.5.1.1-6")
def test_a_message_arrives_when_it_is_deserialized() -> None:
    message = _stored(post(changed(("<sentAt>20231114T221320", "<sentAt>20231114T120000"))))
    assert properties_to_receive(message, START).arrival_time == START


@pytest.mark.rule(
    "MQSRM-3.1.5.1.1-2", "MQSRM-3.1.5.1.1-3", "MQSRM-3.1.5.1.1-4", "MQSRM-3.1.5.1.1-5", "MQSRM-3.1.5.1.1-52"
)
def test_a_remote_reader_gets_the_attributes_that_a_packet_has() -> None:
    envelope = changed(
        (_ID, f"{_ID}<rev><via>http://h/msmq/r</via></rev>"),
        _services(f"<durable/>{_DELIVERY}"),
        ("<Priority>3", "<Priority>5"),
        in_msmq(
            "<Journal/><DeadLetter/><Trace/><App>36</App><HashAlgorithm>32772</HashAlgorithm>"
            f"<ConnectorType>{_ELSE}</ConnectorType><DestinationMqf>http://a/msmq/q</DestinationMqf>"
            "<ResponseMqf>http://b/msmq/q</ResponseMqf>"
        ),
    )
    request = post(envelope, ("extension", b"more"), ("body", _BODY))
    packet: Any = decode(message_packet(_stored(request)), "message_packet")
    base, user, properties = packet.base_header, packet.user_header, packet.message_properties_header
    assert (base.bit("pr"), base.bit("tr"), base.time_to_reach_queue) == (5, 1, 6400)
    assert packet.debug_header.queue_identifier is None
    assert (user.bit("dm"), user.bit("jp"), user.bit("jn"), user.bit("ah")) == (1, 1, 1, 1)
    assert (user.message_id, user.sent_time, str(user.source_queue_manager)) == (26626, START, SENDER)
    assert user.format_name("destination_queue") == "DIRECT=HTTP://host/msmq/private$/orders"
    assert user.format_name("admin_queue") == "DIRECT=HTTPS://h/msmq/private$/a"
    assert user.format_name("response_queue") == "DIRECT=HTTP://h/msmq/r"
    assert str(user.connector_type) == _ELSE
    assert (properties.flags, properties.label.text, properties.application_tag) == (0x01, "order", 36)
    assert (properties.body_type, properties.hash_algorithm) == (8, 0x8004)
    assert (properties.extension_data, properties.message_body) == (b"more", b"")
    lists = packet.multi_queue_format_header
    (destination,), (response,) = lists.destination.format_name_list, lists.response.format_name_list
    assert destination.format_name.direct_format_name.text == "http://a/msmq/q"
    assert response.format_name.direct_format_name.text == "http://b/msmq/q"
    assert lists.administration is None
    # The SOAP header and the SOAP body are parts of the envelope.
    assert packet.srmp_envelope_header.data.text == envelope
    assert packet.compound_message_header.data.endswith(
        multipart(envelope, ("extension", b"more"), ("body", _BODY))
    )
    assert packet.compound_message_header.message_body == _BODY


@pytest.mark.rule("MQSRM-3.1.5.1.1-3")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "iso8859-1"])
def test_an_envelope_is_kept_as_text_in_whatever_encoding_it_came(encoding: str) -> None:
    declared = '<?xml version="1.0" encoding="iso8859-1"?>' if encoding == "iso8859-1" else ""
    envelope = declared + changed(("MSMQ:order", "MSMQ:B\u00fccher"))
    message = _stored(post(envelope, encoding=encoding))
    packet: Any = decode(message_packet(message), "message_packet")
    assert (message.label, packet.srmp_envelope_header.data.text) == ("B\u00fccher", envelope)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param((_ID, f"<id>uuid:4294967296@{SENDER}</id>"), id="number"),
        pytest.param(in_msmq("<App>4294967296</App>"), id="application tag"),
        pytest.param(("<BodyType>8", "<BodyType>4294967296"), id="body type"),
        pytest.param(in_msmq("<HashAlgorithm>4294967296</HashAlgorithm>"), id="hash algorithm"),
        pytest.param(in_msmq("<Correlation>AQID</Correlation>"), id="correlation identifier"),
        pytest.param(("MSMQ:order", f"MSMQ:{'x' * 250}"), id="label"),
        pytest.param(("<sentAt>2023", "<sentAt>1969"), id="time before 1970"),
        pytest.param(_rev("MSMQ:a queue"), id="format name"),
    ],
)
def test_what_an_attribute_cannot_hold_is_refused(change: Change) -> None:
    manager = make_manager()
    make_queue(manager)
    found = srmp_message(manager, post(changed(change)), manager.is_called)
    assert isinstance(found, SrmpAnswer)
    assert found.outcome.status == 400


@pytest.mark.rule(
    "MQRR-2.2.5.1.2-1",
    "MQRR-2.2.5.1.2-2",
    "MQRR-2.2.5.1.2.1-2",
    "MQRR-2.2.5.1.2.1-3",
    "MQRR-2.2.5.1.2.1-4",
    "MQRR-2.2.5.1.2.1-5",
    "MQRR-2.2.5.1.2.2-2",
    "MQRR-2.2.5.1.2.2-3",
    "MQRR-2.2.5.1.2.2-4",
    "MQRR-2.2.5.1.2.2-5",
    "MQRR-2.2.5.1.2.2-6",
)
def test_a_posted_message_has_its_envelope_and_its_post_behind_the_other_headers() -> None:
    data = message_packet(_posted())
    # AH is bit 25 of Flags, the 44 bytes before it begin UserHeader.
    assert data[63] & 0x02
    end = b"</se:Envelope>"
    envelope = _POST[_POST.index(b"<se:Envelope") : _POST.index(end) + len(end)].decode("ascii")
    wchars = envelope.encode("utf-16-le") + b"\0\0"
    compound = struct.pack("<HHIII", 500, 0, len(_POST), len(_BODY), _POST.index(_BODY)) + _POST
    headers = _padded(struct.pack("<HHI", 0, 0, len(wchars) // 2) + wchars) + _padded(compound)
    # ExtensionHeader and the headers that it counts are 188 bytes.
    assert data[-188 - len(headers) : -188] == headers
