"""An SRMP message from properties is what the parsers read back, without an anomaly."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import EncodeError
from msmq_wire.srmp.building import build_srmp
from msmq_wire.srmp.elements.envelope import SrmpHeader
from msmq_wire.srmp.envelope import parse_envelope
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.mime import MimePart, parse_multipart
from tests.rules import rule_table

GUID = UUID("32221eda-9376-46df-b6ed-783091123831")
URL = "http://machine2/msmq/private$/q"


def _build(body: bytes = b"x", url: str = URL, **properties: Any) -> bytes:
    return build_srmp(url, body, source_qm_guid=GUID, message_number=5, sent_at=1_182_200_815, **properties)


def _read(data: bytes) -> tuple[SrmpHeader, tuple[MimePart, ...]]:
    message, rest = parse_message(data)
    assert message is not None
    assert rest == b""
    assert message.complete
    assert message.problems == ()
    multipart = parse_multipart(message.header("content-type") or "", message.body)
    parsed = parse_envelope(multipart.parts[0].data)
    assert parsed.error is None
    assert parsed.anomalies == ()
    assert parsed.value is not None
    assert parsed.value.header is not None
    return parsed.value.header, multipart.parts[1:]


def _xml(data: bytes) -> str:
    return data[data.index(b"<se:Envelope") : data.index(b"</se:Envelope>") + 14].decode()


@pytest.mark.rule(
    "CMQSRM-3.1.7.2.4-1",
    "CMQSRM-3.1.7.2.4-2",
    "CMQSRM-3.1.7.2.4-3",
    "CMQSRM-3.1.7.2.4-5",
    "CMQSRM-3.1.7.2.4-6",
    "CMQSRM-3.1.7.2.4-9",
    "CMQSRM-3.1.7.2.4-19",
)
def test_an_envelope_has_its_elements_in_the_order_of_the_document() -> None:
    assert _xml(_build(expires_at=1_182_287_214, body_type=8)) == (
        '<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/" '
        'xmlns="http://schemas.xmlsoap.org/srmp/"><se:Header>'
        '<path xmlns="http://schemas.xmlsoap.org/rp/" se:mustUnderstand="1"><action>MSMQ:</action>'
        f"<to>{URL}</to><id>uuid:5@{GUID}</id></path>"
        '<properties se:mustUnderstand="1"><expiresAt>20070619T210654</expiresAt>'
        '<sentAt>20070618T210655</sentAt></properties><Msmq xmlns="msmq.namespace.xml"><Class>0</Class>'
        "<Priority>3</Priority><Correlation>AAAAAAAAAAAAAAAAAAAAAAAAAAA=</Correlation>"
        f"<BodyType>8</BodyType><SourceQmGuid>{GUID}</SourceQmGuid><TTrq>20070619T210654</TTrq></Msmq>"
        "</se:Header><se:Body></se:Body></se:Envelope>"
    )


_RECEIPTS: dict[str, Any] = {"admin_queue": URL}


@rule_table(
    "properties, text",
    ("CMQSRM-3.1.7.2.4-4", {"label": "a & b"}, "<action>MSMQ:a &amp; b</action>"),
    ("CMQSRM-3.1.7.2.4-7", {"response_queue": URL}, f"</id><rev><via>{URL}</via></rev></path>"),
    ("CMQSRM-3.1.7.2.4-8", {"expires_at": 1_182_287_214}, "<expiresAt>20070619T210654</expiresAt>"),
    (
        "CMQSRM-3.1.7.2.4-10 CMQSRM-3.1.7.2.4-11",
        {"durable": True},
        '</properties><services se:mustUnderstand="1"><durable/></services><Msmq',
    ),
    (
        "CMQSRM-3.1.7.2.4-10 CMQSRM-3.1.7.2.4-12",
        {"delivery_receipt": True, **_RECEIPTS},
        f'<services se:mustUnderstand="1"><deliveryReceiptRequest><sendTo>{URL}</sendTo>'
        "</deliveryReceiptRequest></services>",
    ),
    (
        "CMQSRM-3.1.7.2.4-10 CMQSRM-3.1.7.2.4-13 CMQSRM-3.1.7.2.4-14",
        {"positive_receipt": True, **_RECEIPTS},
        f'<services se:mustUnderstand="1"><commitmentReceiptRequest><sendTo>{URL}</sendTo><positiveOnly/>'
        "</commitmentReceiptRequest></services>",
    ),
    (
        "CMQSRM-3.1.7.2.4-15",
        {"positive_receipt": True, "negative_receipt": True, **_RECEIPTS},
        "<positiveOnly/><negativeOnly/></commitmentReceiptRequest>",
    ),
    (
        "CMQSRM-3.1.7.2.4-14",
        {"negative_receipt": True, **_RECEIPTS},
        "</sendTo><negativeOnly/></commitmentReceiptRequest>",
    ),
    (
        "CMQSRM-3.1.7.2.4-16 CMQSRM-3.1.7.2.4-18",
        {"stream_number": 7, "stream_receipts_to": URL},
        f'<stream se:mustUnderstand="1"><streamId>uid:{GUID}\\7</streamId><current>1</current>'
        f"<start><sendReceiptsTo>{URL}</sendReceiptsTo></start></stream><Msmq",
    ),
    (
        "CMQSRM-3.1.7.2.4-17",
        {"stream_number": 7, "stream_current": 3, "stream_previous": 2},
        "<current>3</current><previous>2</previous></stream>",
    ),
    (
        "CMQSRM-3.1.7.2.4-17",
        {"stream_number": 7, "stream_receipts_to": URL, "stream_previous": 0},
        "<current>1</current><start>",
    ),
    (
        "CMQSRM-3.1.7.2.4-19 CMQSRM-3.1.7.2.4-32",
        {"priority": 0},
        "<Class>0</Class><Priority>0</Priority><Correlation>AAAAAAAAAAAAAAAAAAAAAAAAAAA=</Correlation>"
        f"<BodyType>0</BodyType><SourceQmGuid>{GUID}</SourceQmGuid><TTrq>20380119T031407</TTrq></Msmq>",
    ),
    ("CMQSRM-3.1.7.2.4-20", {"journal": True}, "</Priority><Journal/><Correlation>"),
    ("CMQSRM-3.1.7.2.4-21", {"dead_letter": True}, "</Priority><DeadLetter/><Correlation>"),
    (
        "CMQSRM-3.1.7.2.4-22",
        {"correlation": bytes(range(1, 21))},
        "<Correlation>AQIDBAUGBwgJCgsMDQ4PEBESExQ=</Correlation><BodyType>",
    ),
    ("CMQSRM-3.1.7.2.4-23", {"trace": True}, "</Correlation><Trace/><BodyType>"),
    ("CMQSRM-3.1.7.2.4-25", {"app": 36}, "</Correlation><App>36</App><BodyType>"),
    ("CMQSRM-3.1.7.2.4-26", {"app": 0}, "</Correlation><BodyType>"),
    (
        "CMQSRM-3.1.7.2.4-27",
        {"hash_algorithm": 0x8004},
        "</BodyType><HashAlgorithm>32772</HashAlgorithm><Source",
    ),
    ("CMQSRM-3.1.7.2.4-28", {"hash_algorithm": 0}, "</BodyType><SourceQmGuid>"),
    ("CMQSRM-3.1.7.2.4-32", {"expires_at": 1_182_287_214}, "<TTrq>20070619T210654</TTrq></Msmq>"),
)
def test_a_property_is_written_as_the_document_has_it(properties: dict[str, Any], text: str) -> None:
    assert text in _xml(_build(**properties))


def test_body_and_extension_are_parts_named_by_the_queue_manager() -> None:
    _, parts = _read(_build(b"body", extension=b"more"))
    assert [(part.content_id, part.data) for part in parts] == [
        (f"body@{GUID}", b"body"),
        (f"extension@{GUID}", b"more"),
    ]


def test_a_stream_message_is_durable_and_starts_with_its_receipt_queue() -> None:
    header, _ = _read(_build(stream_number=7, stream_receipts_to="https://machine1/msmq/r"))
    assert header.services is not None
    assert header.services.durable
    assert header.stream is not None
    assert header.stream.stream_id == f"uid:{GUID}\\7"
    assert header.stream.start is not None
    assert header.stream.start.send_receipts_to == "https://machine1/msmq/r"


def test_receipts_are_asked_for_at_the_administration_queue() -> None:
    header, _ = _read(_build(admin_queue=URL, delivery_receipt=True, negative_receipt=True))
    assert header.services is not None
    assert header.services.delivery_receipt_request is not None
    assert header.services.delivery_receipt_request.send_to == URL
    request = header.services.commitment_receipt_request
    assert request is not None
    assert (request.positive_only, request.negative_only) == (False, True)


def test_a_body_that_holds_the_boundary_gets_another_one() -> None:
    plain = _build(b"b" * 40)
    boundary = plain.partition(b'boundary="')[2].partition(b'"')[0]
    body = b"--" + boundary + b"b" * (38 - len(boundary))
    data = _build(body)
    assert data.partition(b'boundary="')[2].partition(b'"')[0] != boundary
    assert _read(data)[1][0].data == body


@pytest.mark.parametrize(
    "properties",
    [
        {"url": "ftp://machine2/q"},
        {"url": "http:///q"},
        {"url": "http://[::1/q"},
        {"url": "http://machine2/q HTTP/1.1\r\nX: y"},
        {"priority": 8},
        {"body_type": -1},
        {"app": 1 << 64},
        {"delivery_receipt": True},
        {"delivery_receipt": True, "admin_queue": "DIRECT=OS:a\\b"},
        {"stream_number": 1},
        {"stream_number": 1, "stream_current": 0},
        {"stream_number": 1, "stream_current": 2, "stream_receipts_to": URL},
        {"expires_at": 1 << 62},
        {"label": "\0"},
    ],
)
def test_properties_that_contradict_the_specification_are_refused(properties: dict[str, Any]) -> None:
    with pytest.raises(EncodeError):
        _build(**properties)


@given(
    body=st.binary(max_size=60),
    label=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="\ufffe\uffff")),
    priority=st.integers(0, 7),
    body_type=st.integers(0, (1 << 64) - 1),
    correlation=st.binary(min_size=20, max_size=20),
    journal=st.booleans(),
    trace=st.booleans(),
)
def test_what_is_built_is_read_back(body: bytes, label: str, **properties: Any) -> None:
    header, parts = _read(_build(body, label=label, **properties))
    assert header.path is not None
    assert header.path.action == f"MSMQ:{label}"
    assert header.msmq is not None
    assert {name: getattr(header.msmq, name) for name in properties} == properties
    assert parts[0].data == body


@pytest.mark.parametrize(
    ("url", "target"),
    [
        (URL, "/msmq/private$/q"),
        ("http://machine2/msmq/q?a=1&b=2", "/msmq/q?a=1&b=2"),
        ("http://machine2", "/"),
    ],
)
def test_the_target_of_the_request_is_path_and_query_of_the_url(url: str, target: str) -> None:
    message, _ = parse_message(_build(url=url))
    assert message is not None
    assert (message.method, message.target, message.header("host")) == ("POST", target, "machine2")
