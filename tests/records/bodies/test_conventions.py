"""Headers and envelopes of messaging libraries; their forms are typed in by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.bodies import open_body
from msmq_wire.records.bodies.conventions import damaged_headers, envelope_members, extension_headers

NSERVICEBUS = (
    b'<?xml version="1.0"?><ArrayOfHeaderInfo xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    b"<HeaderInfo><Key>NServiceBus.MessageId</Key><Value>8f1c</Value></HeaderInfo>"
    b"<HeaderInfo><Key>NServiceBus.EnclosedMessageTypes</Key><Value>Shop.Order &amp; Co</Value></HeaderInfo>"
    b"<HeaderInfo><Key>Empty</Key><Value /></HeaderInfo></ArrayOfHeaderInfo>"
)
MASSTRANSIT = {
    "messageId": "00010000-5df1-0015-8c0a-08d9a1b2c3d4",
    "destinationAddress": "msmq://srv01/orders",
    "headers": {"tenant": "north"},
    "message": {"id": 17},
    "messageType": ["urn:message:Shop:Order", "urn:message:Shop:IOrder"],
}


@pytest.mark.parametrize("extension", [NSERVICEBUS, b"\xef\xbb\xbf" + NSERVICEBUS, NSERVICEBUS + b"\0\0"])
def test_headers_of_nservicebus_stand_with_the_body(extension: bytes) -> None:
    body = open_body(b"<Order/>", 0, extension=extension)
    assert (body.kind, body.convention) == ("xml", "NServiceBus")
    assert body.details[1:] == (
        ("NServiceBus.MessageId", "8f1c"),
        ("NServiceBus.EnclosedMessageTypes", "Shop.Order & Co"),
        ("Empty", ""),
    )


def test_headers_of_rebus_are_json() -> None:
    extension = b'{"rbs2-msg-id": "17", "rbs2-content-type": "application/json"}'
    assert extension_headers(extension) == (
        "Rebus",
        (("rbs2-msg-id", "17"), ("rbs2-content-type", "application/json")),
    )


def test_the_envelope_of_masstransit_is_listed() -> None:
    body = open_body(json.dumps(MASSTRANSIT).encode(), 0)
    assert (body.kind, body.convention) == ("json", "MassTransit")
    details = dict(body.details)
    assert details["messageType"] == "urn:message:Shop:Order, urn:message:Shop:IOrder"
    assert details["destinationAddress"] == "msmq://srv01/orders"
    assert details["tenant"] == "north"


@pytest.mark.parametrize(
    "text", ['{"messageType": ["a"], "message": 1}', '{"messageType": 5, "message": 1}', '["messageType"]']
)
def test_other_json_is_no_envelope(text: str) -> None:
    assert open_body(text.encode(), 0).convention == ""


@pytest.mark.parametrize(
    "extension",
    [
        b"",
        b"\0\0",
        b"{}",
        b'{"a": "b"}',
        b"<a/>",
        b"<ArrayOfHeaderInfo/>",
        b"{\xff}",
        b"[" * 100_000,
    ],
)
def test_an_extension_of_another_form_says_nothing(extension: bytes) -> None:
    assert extension_headers(extension) == ("", ())


def test_many_and_long_headers_are_cut_and_say_so() -> None:
    one = b"<HeaderInfo><Key>NServiceBus.K</Key><Value>" + b"v" * 1000 + b"</Value></HeaderInfo>"
    _, headers = extension_headers(b"<ArrayOfHeaderInfo>" + one * 500 + b"</ArrayOfHeaderInfo>")
    assert headers[0] == ("NServiceBus.K", "v" * 499 + "…")
    assert len(headers) == 101
    assert headers[-1] == ("more", "400 more")


def test_a_list_that_is_cut_says_so() -> None:
    many = [f"urn:message:{number}" for number in range(103)]
    few = {"messageType": ["urn:message:1"], "message": {}, "headers": {"codes": list(range(1000, 1103))}}
    rows = dict(envelope_members(json.dumps({"messageType": many, "message": {}})))
    assert rows["messageType"].startswith("urn:message:0, urn:message:1, ")
    assert len(rows["messageType"]) == 500
    assert rows["messageType"].endswith("…")
    assert len(dict(envelope_members(json.dumps(few)))["codes"]) == 500
    few["headers"] = {"codes": [1] * 103}
    assert dict(envelope_members(json.dumps(few)))["codes"].endswith("1, 1, and 3 more")


@given(st.binary(max_size=200))
def test_any_extension_is_read(data: bytes) -> None:
    for start in (b"", b"<ArrayOfHeaderInfo>", b"{"):
        assert len(extension_headers(start + data)) == 2


def test_headers_of_one_mebibyte_are_read_and_more_are_not() -> None:
    one = b"<HeaderInfo><Key>NServiceBus.K</Key><Value>v</Value></HeaderInfo>"
    start, end = b"<ArrayOfHeaderInfo>" + one, b"</ArrayOfHeaderInfo>"
    space = b" " * ((1 << 20) - len(start) - len(end))
    assert extension_headers(start + space + end) == ("NServiceBus", (("NServiceBus.K", "v"),))
    assert extension_headers(start + space + b" " + end) == ("", ())


@pytest.mark.parametrize(
    ("extension", "library", "where"),
    [
        (b"<ArrayOfHeaderInfo>", "NServiceBus", "no element found at byte 19"),
        (
            b"<ArrayOfHeaderInfo><a><b><c><d/></c></b></a></ArrayOfHeaderInfo>",
            "NServiceBus",
            "no list of headers",
        ),
        (b"<!DOCTYPE ArrayOfHeaderInfo><ArrayOfHeaderInfo/>", "NServiceBus", "a document type is not read"),
        (b"<ArrayOfHeaderInfo>\xff</ArrayOfHeaderInfo>", "NServiceBus", "not well-formed"),
        (b'{"rbs2-msg-id":"5f1c', "Rebus", "Unterminated string"),
    ],
)
def test_headers_that_cannot_be_read_say_what_they_begin_like(
    extension: bytes, library: str, where: str
) -> None:
    convention, rows = extension_headers(extension)
    assert convention == library
    [(name, why)] = rows
    assert name == "damaged"
    assert why.startswith(f"{library} headers, unreadable: ")
    assert where in why
    assert damaged_headers(extension, "") == why


def test_an_envelope_that_is_no_json_is_told_as_one() -> None:
    text = '{"messageType": ["urn:message:Shop:Order"], "message": {"note": "two\nlines"}}'
    assert "a MassTransit envelope, unreadable as JSON" in damaged_headers(b"", text)
    assert open_body(text.encode(), 0).convention == "MassTransit"
    assert damaged_headers(b"", '{"messageType": 1') == ""
