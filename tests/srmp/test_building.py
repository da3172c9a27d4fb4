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
