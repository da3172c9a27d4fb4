"""Each element of [MC-MQSRM] 2.2.4 to 2.2.7: its value, its way back, and what breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.srmp.elements.envelope import SrmpHeader
from msmq_wire.srmp.envelope import ParsedEnvelope, build_envelope, parse_envelope
from msmq_wire.srmp.rules import judge_receipt_parts
from msmq_wire.srmp.xml.fields import IsoDate

GUID = "32221eda-9376-46df-b6ed-783091123831"
PATH = (
    '<path xmlns="http://schemas.xmlsoap.org/rp/" se:mustUnderstand="1"><action>MSMQ:l</action>'
    f"<to>http://h/msmq/q</to><id>uuid:1@{GUID}</id></path>"
)
PROPERTIES = '<properties se:mustUnderstand="1"><expiresAt>20070619T210654</expiresAt></properties>'
MSMQ = (
    '<Msmq xmlns="msmq.namespace.xml"><Class>0</Class><Priority>3</Priority><BodyType>8</BodyType>'
    f"<SourceQmGuid>{GUID}</SourceQmGuid><TTrq>20070619T210654</TTrq></Msmq>"
)
DURABLE = '<services se:mustUnderstand="1"><durable/></services>'
STREAM_ID = f"uid:{GUID}\\7"
NAMESPACES = 'xmlns:se="http://schemas.xmlsoap.org/soap/envelope/" xmlns="http://schemas.xmlsoap.org/srmp/"'


def _envelope(*header: str, body: str = "<se:Body></se:Body>") -> str:
    return f"<se:Envelope {NAMESPACES}><se:Header>{''.join(header)}</se:Header>{body}</se:Envelope>"


def _codes(text: str) -> list[str]:
    return [anomaly.code for anomaly in parse_envelope(text.encode()).anomalies]


def _header(*header: str) -> SrmpHeader:
    parsed: ParsedEnvelope = parse_envelope(_envelope(*header).encode())
    assert parsed.error is None
    assert parsed.value is not None
    assert parsed.value.header is not None
    assert parse_envelope(build_envelope(parsed.value)).value == parsed.value
    return parsed.value.header


def _at(header: SrmpHeader, path: str) -> Any:
    value: Any = header
    for name in path.split("."):
        value = value[int(name)] if name.isdigit() else getattr(value, name)
    return value


def _in_path(xml: str) -> list[str]:
    return [PATH.replace("</path>", f"{xml}</path>"), PROPERTIES]


def _in_properties(xml: str) -> list[str]:
    return [PATH, PROPERTIES.replace("</properties>", f"{xml}</properties>")]


def _in_services(xml: str) -> list[str]:
    return [PATH, PROPERTIES, f'<services se:mustUnderstand="1">{xml}</services>']


def _in_stream(xml: str) -> list[str]:
    rest = f"<streamId>{STREAM_ID}</streamId><current>1</current>"
    return [PATH, PROPERTIES, DURABLE, f'<stream se:mustUnderstand="1">{rest}{xml}</stream>', MSMQ]


def _in_msmq(xml: str) -> list[str]:
    return [PATH, PROPERTIES, MSMQ.replace("</Msmq>", f"{xml}</Msmq>")]


def _receipt(xml: str) -> list[str]:
    return [PATH, PROPERTIES, xml]


_DATE = IsoDate("20070618T210655", 1182200815)
_QUEUES = "\n http://m1/q\n http://m2/q\n"
_SIGNATURE = (
    '<Signature xmlns="http://www.w3.org/2000/02/xmldsig#"><SignedInfo><SignatureMethod Algorithm="urn:dsa"/>'
    f'<Reference URI="cid:body@{GUID}"><DigestMethod Algorithm="urn:sha1"/><DigestValue>AAEC</DigestValue>'
    "</Reference></SignedInfo><SignatureValue>/w==</SignatureValue></Signature>"
)
_START = "<start><sendReceiptsTo>\n http://h/r\n</sendReceiptsTo></start>"


@pytest.mark.parametrize(
    ("header", "path", "value"),
    [
        (_in_path(""), "path.must_understand", "1"),
        (_in_path(""), "path.action", "MSMQ:l"),
        (_in_path(""), "path.to", "http://h/msmq/q"),
        (_in_path(""), "path.id", f"uuid:1@{GUID}"),
        (_in_path("<rev><via>http://h/r</via></rev>"), "path.rev.via", "http://h/r"),
        (_in_path("<rev><via/></rev>"), "path.rev.via", ""),
        (_in_path("<from>a</from>"), "path.other_elements.0.name", "from"),
        (_in_properties(""), "properties.expires_at.seconds", 1182287214),
        (_in_properties("<sentAt>20070618T210655</sentAt>"), "properties.sent_at", _DATE),
        (_in_properties("<inReplyTo>x</inReplyTo>"), "properties.in_reply_to", "x"),
        (_in_services("<durable/>"), "services.durable", True),
        (
            _in_services("<deliveryReceiptRequest><sendTo>http://a</sendTo></deliveryReceiptRequest>"),
            "services.delivery_receipt_request.send_to",
            "http://a",
        ),
        (
            _in_services(
                "<commitmentReceiptRequest><sendTo>http://a</sendTo><positiveOnly/></commitmentReceiptRequest>"
            ),
            "services.commitment_receipt_request.positive_only",
            True,
        ),
        (
            _in_services(
                "<commitmentReceiptRequest><sendTo>http://a</sendTo><positiveOnly/></commitmentReceiptRequest>"
            ),
            "services.commitment_receipt_request.negative_only",
            False,
        ),
        (_in_stream(""), "stream.stream_id", STREAM_ID),
        (_in_stream(""), "stream.current", 1),
        (_in_stream("<previous>41</previous>"), "stream.previous", 41),
        (_in_stream(_START), "stream.start.send_receipts_to", "http://h/r"),
        (_in_stream("<end/>"), "stream.end", True),
        (
            _receipt("<deliveryReceipt><receivedAt>20070618T210655</receivedAt><id>i</id></deliveryReceipt>"),
            "delivery_receipt.received_at",
            _DATE,
        ),
        (
            _receipt(
                "<commitmentReceipt><decidedAt>20070618T210655</decidedAt><decision>negative</decision>"
                "<id>i</id></commitmentReceipt>"
            ),
            "commitment_receipt.decision",
            "negative",
        ),
        (
            _receipt(
                f"<streamReceipt><streamId>{STREAM_ID}</streamId><lastOrdinal>2</lastOrdinal></streamReceipt>"
            ),
            "stream_receipt.last_ordinal",
            2,
        ),
        (_in_msmq(""), "msmq.class_", 0),
        (_in_msmq(""), "msmq.priority", 3),
        (_in_msmq("<Journal/>"), "msmq.journal", True),
        (_in_msmq("<DeadLetter/>"), "msmq.dead_letter", True),
        (_in_msmq("<Correlation>AAAAAAAAAAAAAAAAAAAAAAEAAAA=</Correlation>"), "msmq.correlation.16", 1),
        (_in_msmq("<Trace/>"), "msmq.trace", True),
        (_in_msmq(f"<ConnectorType>{GUID}</ConnectorType>"), "msmq.connector_type", GUID),
        (_in_msmq("<App>36</App>"), "msmq.app", 36),
        (_in_msmq(""), "msmq.body_type", 8),
        (_in_msmq("<HashAlgorithm>32772</HashAlgorithm>"), "msmq.hash_algorithm", 32772),
        (_in_msmq("<Eod><First/></Eod>"), "msmq.eod.first", True),
        (_in_msmq("<Eod><First/></Eod>"), "msmq.eod.last", False),
        (_in_msmq(f"<Eod><ConnectorId>{GUID}</ConnectorId></Eod>"), "msmq.eod.connector_id", GUID),
        (_in_msmq("<Provider><Type>1234</Type><Name>P</Name></Provider>"), "msmq.provider.type", 1234),
        (_in_msmq("<Provider><Type>1234</Type><Name>P</Name></Provider>"), "msmq.provider.name", "P"),
        (_in_msmq(""), "msmq.source_qm_guid", GUID),
        (_in_msmq(f"<DestinationMqf>{_QUEUES}</DestinationMqf>"), "msmq.destination_mqf.1", "http://m2/q"),
        (_in_msmq(f"<AdminMqf>{_QUEUES}</AdminMqf>"), "msmq.admin_mqf.0", "http://m1/q"),
        (_in_msmq(f"<ResponseMqf>{_QUEUES}</ResponseMqf>"), "msmq.response_mqf.0", "http://m1/q"),
        (_in_msmq(""), "msmq.t_trq.text", "20070619T210654"),
        (_receipt(_SIGNATURE), "signature.signed_info.signature_method.algorithm", "urn:dsa"),
        (_receipt(_SIGNATURE), "signature.signed_info.references.0.uri", f"cid:body@{GUID}"),
        (_receipt(_SIGNATURE), "signature.signed_info.references.0.digest_method.algorithm", "urn:sha1"),
        (_receipt(_SIGNATURE), "signature.signed_info.references.0.digest_value", b"\0\1\2"),
        (_receipt(_SIGNATURE), "signature.signature_value", b"\xff"),
    ],
)
def test_an_element_has_its_value_and_comes_back(header: list[str], path: str, value: object) -> None:
    assert _at(_header(*header), path) == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (_envelope(PROPERTIES), "header.missing"),
        (_envelope(PATH), "header.missing"),
        (_envelope(PATH.replace(' se:mustUnderstand="1"', ""), PROPERTIES), "path.must-understand"),
        (_envelope(PATH.replace("<action>MSMQ:l</action>", ""), PROPERTIES), "path.missing"),
        (_envelope(PATH, PATH, PROPERTIES), "header.duplicate"),
        (_envelope(PATH.replace("http://h/", "ftp://h/"), PROPERTIES), "path.to"),
        (_envelope(PATH, PROPERTIES.replace("0619T", "1319T")), "properties.date"),
        (_envelope(PATH.replace("uuid:1@", "1@"), PROPERTIES, MSMQ), "path.id"),
        (_envelope(PATH.replace("3831</id>", "0000</id>"), PROPERTIES, MSMQ), "path.id-source"),
        (_envelope(PATH, PROPERTIES, MSMQ.replace(">3<", ">8<")), "msmq.number"),
        (_envelope(PATH, PROPERTIES, MSMQ.replace(">3<", ">-1<")), "msmq.number"),
        (_envelope(*_in_msmq("<Correlation>%</Correlation>")), "msmq.base64"),
        (_envelope(*_in_msmq("<ConnectorType>1</ConnectorType>")), "msmq.guid"),
        (_envelope(*_in_msmq("<AdminMqf> </AdminMqf>")), "msmq.names"),
        (_envelope(*_in_msmq("<Trace>1</Trace>")), "msmq.not-empty"),
        (_envelope(*_in_stream(_START)).replace("<durable/>", ""), "stream.durable"),
        (_envelope(*_in_stream(_START)).replace(MSMQ, ""), "stream.msmq"),
        (_envelope(*_in_stream("")), "stream.start"),
        (_envelope(*_in_stream(_START)).replace("<current>1", "<current>2"), "stream.start"),
        (_envelope(*_in_stream(_START)).replace("uid:", "x:", 2), "stream.stream-id"),
        (_envelope(PATH, PROPERTIES, body="<se:Body>x</se:Body>"), "body.not-empty"),
        (_envelope(PATH, PROPERTIES, body="<se:Body><a/></se:Body>"), "body.not-empty"),
        (_envelope(PATH, PROPERTIES, body=""), "envelope.missing"),
        (
            f"<se:Envelope {NAMESPACES}><se:Body/><se:Header>{PATH}{PROPERTIES}</se:Header></se:Envelope>",
            "envelope.order",
        ),
        (
            _envelope(*_receipt("<commitmentReceipt><decision>maybe</decision></commitmentReceipt>")),
            "commitment_receipt.decision",
        ),
        (
            _envelope(*_in_services("<deliveryReceiptRequest><sendTo>q</sendTo></deliveryReceiptRequest>")),
            "delivery_receipt_request.send-to",
        ),
    ],
)
def test_a_broken_must_is_an_anomaly(text: str, code: str) -> None:
    assert code in _codes(text)


def test_an_envelope_that_keeps_the_rules_has_no_anomaly() -> None:
    assert _codes(_envelope(*_in_stream(_START))) == []


def test_an_anomaly_lies_at_its_element() -> None:
    data = _envelope(PATH.replace("http://h/", "ftp://h/"), PROPERTIES).encode()
    (anomaly,) = parse_envelope(data).anomalies
    assert data[anomaly.offset : anomaly.offset + anomaly.length] == b"<to>ftp://h/msmq/q</to>"
    assert (anomaly.path, str(anomaly.spec)) == ("header.path.to", "[MC-MQSRM] 2.2.4.2")


def test_what_no_field_names_is_kept_and_written_back() -> None:
    header = _header(PATH, PROPERTIES, '<x xmlns="urn:x" a="1">t<y/></x>')
    assert [(one.namespace, one.name, one.text) for one in header.other_elements] == [("urn:x", "x", "t")]


@pytest.mark.parametrize(
    ("inside", "order"),
    [
        ("<expiresAt>x</expiresAt><sentAt>x</sentAt><y/>", ()),
        ("<sentAt>x</sentAt><expiresAt>x</expiresAt>", ("sentAt", "expiresAt")),
        ("<y/><expiresAt>x</expiresAt>", ("y", "expiresAt")),
        # One behind all that is declared stands where it would be written.
        ("<expiresAt>x</expiresAt><sentAt>x</sentAt><expiresAt>2</expiresAt>", ()),
        (
            "<expiresAt>x</expiresAt><expiresAt>2</expiresAt><sentAt>x</sentAt>",
            ("expiresAt",) * 2 + ("sentAt",),
        ),
        # Names of two namespaces change places unseen.
        ('<expiresAt xmlns="urn:x"/><expiresAt>x</expiresAt>', ()),
    ],
)
def test_the_order_of_elements_is_kept_where_they_would_be_written_otherwise(
    inside: str, order: tuple[str, ...]
) -> None:
    header = _header(PATH, f'<properties se:mustUnderstand="1">{inside}</properties>')
    assert header.properties is not None
    assert header.properties.order == order


def test_an_element_written_in_its_other_case_stands_in_its_place() -> None:
    header = _header(PATH, PROPERTIES, DURABLE, f"<Stream><streamId>{STREAM_ID}</streamId></Stream>", MSMQ)
    assert header.order == ()


def test_a_cut_envelope_has_a_value_and_an_error() -> None:
    data = _envelope(PATH, PROPERTIES).encode()
    parsed = parse_envelope(data[: data.index(b"<properties")])
    assert parsed.error is not None
    assert parsed.error.code == "xml.not-well-formed"
    assert parsed.value is not None
    assert parsed.value.header is not None
    assert parsed.value.header.path is not None
    assert parsed.value.header.path.to == "http://h/msmq/q"


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        ("&j;", "xml.entity"),
        ("<?p?>", "xml.processing-instruction"),
        ("<a>" * 65, "xml.depth"),
        ("<a/>" * 10_000, "xml.elements"),
        (f'<a x="{"y" * 400_000}"/>', "xml.tag"),
        ("\0", "xml.not-well-formed"),
        ("<se:Header>", "xml.not-well-formed"),
    ],
)
def test_xml_that_ends_early_is_one_error_and_lacks_nothing(inside: str, code: str) -> None:
    parsed = parse_envelope(f"<se:Envelope {NAMESPACES}>{inside}</se:Envelope>".encode())
    assert parsed.error is not None
    assert parsed.error.code == code
    assert parsed.value is not None
    assert parsed.anomalies == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
@given(cut=st.integers(min_value=0))
def test_a_lack_is_told_once_the_end_of_its_element_was_read(encoding: str, cut: int) -> None:
    text = _envelope(PATH, body="")
    cut %= len(text) + 1
    ends = [text.index(tag) + len(tag) for tag in ("</se:Header>", "</se:Envelope>")]
    reported = ["header.missing", "envelope.missing"][: sum(cut >= end for end in ends)]
    found = parse_envelope(text[:cut].encode(encoding)).anomalies
    assert sorted(one.code for one in found if one.code.endswith(".missing")) == sorted(reported)


@pytest.mark.parametrize(
    ("before", "behind", "code"),
    [
        ('<?xml version="1.0" encoding="utf-16"?>', "", "xml.encoding"),
        ("", "<a/>", "xml.not-well-formed"),
    ],
)
def test_what_a_whole_envelope_lacks_is_missing_beside_an_error(before: str, behind: str, code: str) -> None:
    parsed = parse_envelope(f"{before}<se:Envelope {NAMESPACES}/>{behind}".encode())
    assert parsed.error is not None
    assert parsed.error.code == code
    assert [(one.code, one.path) for one in parsed.anomalies] == [
        ("envelope.missing", "header"),
        ("envelope.missing", "body"),
    ]


def test_another_document_is_no_envelope() -> None:
    parsed = parse_envelope(b"<html/>")
    assert parsed.value is None
    assert parsed.error is not None
    assert parsed.error.code == "envelope.missing"


def test_a_receipt_has_no_parts() -> None:
    assert [one.code for one in judge_receipt_parts("delivery_receipt", 1)] == ["envelope.receipt-parts"]
    assert judge_receipt_parts("delivery_receipt", 0) == judge_receipt_parts("message", 2) == ()


def test_seven_is_the_highest_priority() -> None:
    assert _codes(_envelope(PATH, PROPERTIES, MSMQ.replace(">3<", ">7<"))) == []
