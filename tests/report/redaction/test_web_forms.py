"""What names hosts, labels or bodies in SRMP messages goes with ``--redact``, as does what is not known."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import DecodeError
from msmq_wire.records.record import Record
from msmq_wire.records.srmp_packets import SrmpField, SrmpMessage, SrmpPart, SrmpResponse
from msmq_wire.records.view import record_view
from msmq_wire.report.redaction.redactor import Redaction, Redactor
from msmq_wire.spec import SpecRef
from msmq_wire.srmp.envelope import parse_envelope
from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.xml.element_tree import Attribute, Element
from msmq_wire.wire.musts import Anomaly

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "srmp"
_MACHINE = "caf195ea-615c-4264-ae08-11a4e60194c0"
_CORRELATION = bytes.fromhex("ea95f1ca5c616442ae0811a4e60194c0 09000000")
_APPLICATION = "11111111-2222-3333-4444-555555555555"
_STAND_IN = "00000000-0000-0000-0000-000000000001"
_LABEL, _BODY, _HOST, _QUEUE = "quarterly", "salaries", "srv01.corp", "/msmq/private$/orders"
_UNKNOWN = "mystery"
_SPEC = SpecRef("MC-MQSRM", "2.1.1")

_ENVELOPE = f"""<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/"
 xmlns="http://schemas.xmlsoap.org/srmp/"><se:Header a{_UNKNOWN}="{_UNKNOWN}">
<path xmlns="http://schemas.xmlsoap.org/rp/" se:mustUnderstand="{_UNKNOWN}"><action>MSMQ:{_LABEL}</action>
<to>http://{_HOST}{_QUEUE}?{_UNKNOWN}</to><id>uuid:5@{_MACHINE}</id>
<rev><via>https://{_HOST}:8443{_QUEUE}</via></rev><fixed>{_UNKNOWN}</fixed></path>
<properties><expiresAt>20380119T031407</expiresAt><sentAt>{_UNKNOWN}</sentAt>
<inReplyTo>{_UNKNOWN}</inReplyTo></properties>
<services><durable/><deliveryReceiptRequest><sendTo>http://{_HOST}{_QUEUE}</sendTo></deliveryReceiptRequest>
<commitmentReceiptRequest><sendTo>{_UNKNOWN}</sendTo><positiveOnly>{_UNKNOWN}</positiveOnly>
</commitmentReceiptRequest></services>
<stream><streamId>uid:{_MACHINE}\\7</streamId><current>{_UNKNOWN}</current>
<start><sendReceiptsTo>http://{_HOST}{_QUEUE}</sendReceiptsTo></start></stream>
<commitmentReceipt><decidedAt>20070719T032721</decidedAt><decision>{_UNKNOWN}</decision>
<id>{_UNKNOWN}</id></commitmentReceipt>
<Msmq xmlns="msmq.namespace.xml">{_UNKNOWN}<Class>0</Class><Priority>{_UNKNOWN}</Priority>
<Correlation>{base64.b64encode(_CORRELATION).decode()}</Correlation>
<ConnectorType>{_APPLICATION}</ConnectorType><BodyType>0</BodyType>
<Eod><First/><ConnectorId>{_MACHINE.upper()}</ConnectorId></Eod>
<Provider><Type>1</Type><Name>{_UNKNOWN}</Name></Provider><SourceQmGuid>{_MACHINE}</SourceQmGuid>
<DestinationMqf>http://{_HOST}{_QUEUE} DIRECT=OS:{_HOST}\\private$\\q</DestinationMqf>
<{_UNKNOWN} {_UNKNOWN}="{_UNKNOWN}"><{_UNKNOWN}>{_UNKNOWN}</{_UNKNOWN}></{_UNKNOWN}></Msmq>
<Signature xmlns="http://www.w3.org/2000/02/xmldsig#"><SignedInfo><SignatureMethod Algorithm="{_UNKNOWN}"/>
<Reference URI="cid:body@{_MACHINE}"><DigestMethod Algorithm="http://www.w3.org/2000/02/xmldsig#sha1"/>
<DigestValue>{base64.b64encode(_UNKNOWN.encode()).decode()}</DigestValue></Reference>
<Reference URI="{_UNKNOWN}"><DigestMethod Algorithm="x"/><DigestValue>{_UNKNOWN}!</DigestValue></Reference>
</SignedInfo><SignatureValue>{base64.b64encode(_UNKNOWN.encode()).decode()}</SignatureValue></Signature>
</se:Header><se:Body>{_UNKNOWN}</se:Body></se:Envelope>"""


def planted() -> Record:
    """A record with something secret in every place that can hold it."""
    unknown = _UNKNOWN.encode()
    parsed = parse_envelope(_ENVELOPE.encode())
    part = SrmpPart(
        role="",
        content_type=_UNKNOWN,
        content_id=f"{_UNKNOWN}@{_MACHINE}",
        content_length=7,
        offset=0,
        length=7,
        data=unknown,
    )
    headers = (
        SrmpField(name="Host", value=_HOST),
        SrmpField(name="Content-Type", value=f'multipart/related; boundary="{_UNKNOWN}"'),
        SrmpField(name="Content-Length", value="7"),
        SrmpField(name="SOAPAction", value='"MSMQMessage"'),
        SrmpField(name="Transfer-Encoding", value=_UNKNOWN),
        SrmpField(name="Cookie", value=_UNKNOWN),
        SrmpField(name=f"X-{_UNKNOWN}", value=_UNKNOWN),
    )
    packet = SrmpMessage(
        kind="message",
        queue=f"DIRECT=http://{_HOST}{_QUEUE}",
        label=_LABEL,
        message_id=f"{_MACHINE}\\5",
        method="POST",
        target=f"http://{_UNKNOWN}:pw@{_HOST}{_QUEUE}?{_UNKNOWN}",
        http_version="1.1",
        headers=headers,
        envelope=parsed.value,
        body=_BODY.encode(),
        extension=_BODY.encode(),
        parts=(part, msgspec.structs.replace(part, role="body", content_id=f"body@{_MACHINE}", data=b"")),
        preamble=unknown,
        response=SrmpResponse(
            status=200, reason=_UNKNOWN, headers=headers[-2:], body=unknown, frames=(5,), complete=True
        ),
    )
    reported = (
        Anomaly(code="http.grammar", message=_UNKNOWN, path="head", offset=0, length=0, spec=_SPEC),
        Anomaly(
            code="srmp_message.unsigned-part",
            message=f"the signature does not cover body@{_MACHINE[:11]}",
            path="envelope.header.signature",
            offset=0,
            length=0,
            spec=_SPEC,
        ),
        *parsed.anomalies,
    )
    error = DecodeError("xml.encoding", f"declared as {_UNKNOWN}", path="envelope", partial=parsed.value)
    return Record(
        id=1,
        type="srmp_message",
        src="192.0.2.1:1025",
        dst="192.0.2.2:80",
        packet=packet,
        anomalies=reported,
        error=error,
        remainder=unknown,
    )


def redacted(*what: Redaction, record: Record | None = None) -> Record:
    return Redactor(set(what)).record(planted() if record is None else record)


def leaves(value: Any) -> Iterator[str | bytes]:
    """Every text and all bytes in a value, however deep; an error by what it is made of."""
    if isinstance(value, bytes | str):
        yield value
    elif isinstance(value, dict):
        for one in (*value, *value.values()):
            yield from leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one)
    elif isinstance(value, DecodeError):
        yield from leaves([value.args, value.message, value.path, value.partial])
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from leaves(getattr(value, name))


def holding(record: Record, secret: str) -> list[str | bytes]:
    """The texts and bytes of a record, and of its JSON view, that hold a secret in any case or encoding."""
    forms = [secret.encode(), base64.b64encode(secret.encode()).rstrip(b"=")]
    if re.fullmatch("[0-9a-f-]{36}", secret):
        fields = secret.split("-")
        forms.append(
            b"".join(bytes.fromhex(one)[::-1] for one in fields[:3]) + bytes.fromhex("".join(fields[3:]))
        )
    found = []
    for leaf in (*leaves(record), *leaves(record_view(record))):
        data = leaf.encode("utf-8", "surrogatepass") if isinstance(leaf, str) else leaf
        if any(form in data or form.lower() in data.lower() for form in forms):
            found.append(leaf)
    return found


def test_the_secrets_are_there_before() -> None:
    record = planted()
    for secret in (_LABEL, _BODY, _HOST, _MACHINE, _UNKNOWN):
        assert holding(record, secret)
    # Nothing of the envelope was refused: every element has its place.
    assert len(holding(record, _UNKNOWN)) > 60


@pytest.mark.parametrize(
    ("what", "secrets", "kept"),
    [
        ((Redaction.BODIES,), (_BODY,), (_LABEL, _HOST, _MACHINE)),
        ((Redaction.LABELS,), (_LABEL,), (_BODY, _HOST, _MACHINE)),
        ((Redaction.HOSTS,), (_HOST, _MACHINE, _MACHINE[:11], "192.0.2."), (_BODY, _LABEL)),
        (tuple(Redaction), (_BODY, _LABEL, _HOST, _MACHINE, "192.0.2."), ()),
    ],
)
def test_what_was_asked_for_goes_and_what_is_not_known_always_goes(
    what: tuple[Redaction, ...], secrets: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    record = redacted(*what)
    for secret in (*secrets, _UNKNOWN):
        assert holding(record, secret) == []
    for text in (*kept, _APPLICATION, _QUEUE):
        assert holding(record, text)


def test_nothing_is_changed_where_nothing_is_asked_for() -> None:
    record = planted()
    assert Redactor(set()).record(record) is record


def test_texts_and_bytes_keep_their_length() -> None:
    before, after = planted(), redacted(*Redaction)
    pairs = zip(leaves(before.packet), leaves(after.packet), strict=True)
    assert [(old, new) for old, new in pairs if len(old) != len(new)] == []
    assert json.dumps(record_view(after)).count("x" * len(_UNKNOWN)) > 30


def test_a_queue_manager_has_one_stand_in_everywhere() -> None:
    packet = redacted(Redaction.HOSTS).packet
    header = packet.envelope.header
    assert packet.message_id == f"{_STAND_IN}\\5"
    assert header.path.id == f"uuid:5@{_STAND_IN}"
    assert header.stream.stream_id == f"uid:{_STAND_IN}\\7"
    assert (header.msmq.source_qm_guid, header.msmq.eod.connector_id) == (_STAND_IN, _STAND_IN)
    assert header.msmq.correlation == bytes(15) + b"\x01\x09\0\0\0"
    assert header.signature.signed_info.references[0].uri == f"cid:body@{_STAND_IN}"
    assert packet.parts[1].content_id == f"body@{_STAND_IN}"


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("/msmq/private$/q", "/msmq/private$/q"),
        ("/msmq/private$/q?SenderStream=ab", "/msmq/private$/q?xxxxxxxxxxxxxxx"),
        ("http://srv01:8080/msmq/q", "http://xxxxxxxxxx/msmq/q"),
        ("http://srv01", "http://xxxxx"),
        ("http://srv01/http://srv02/q", "http://xxxxxxxxxxxxxxxxxxxx"),
        ("http://srv01\\share", "http://xxxxxxxxxxx"),
        ("234.1.1.1:8001", "xxxxxxxxxxxxxx"),
        ("srv01:80", "xxxxxxxx"),
        ("/msmq/@srv01", "xxxxxxxxxxxx"),
        ("", ""),
    ],
)
def test_of_a_target_the_path_stays(target: str, shown: str) -> None:
    record = planted()
    packet = msgspec.structs.replace(record.packet, target=target)
    changed = msgspec.structs.replace(record, packet=packet)
    assert redacted(Redaction.HOSTS, record=changed).packet.target == shown


def test_a_multicast_address_is_a_host() -> None:
    record = planted()
    packet = msgspec.structs.replace(record.packet, queue="MULTICAST=234.1.1.1:8001")
    changed = msgspec.structs.replace(record, packet=packet)
    assert redacted(Redaction.HOSTS, record=changed).packet.queue == "MULTICAST=xxxxxxxxxxxxxx"
    assert redacted(Redaction.BODIES, record=changed).packet.queue == "MULTICAST=234.1.1.1:8001"


def test_of_headers_those_stay_that_say_nothing_of_their_sender() -> None:
    headers = {one.name: one.value for one in redacted(Redaction.BODIES).packet.headers}
    assert headers["Host"] == _HOST
    assert headers["Content-Type"] == "multipart/related;" + "x" * len(f' boundary="{_UNKNOWN}"')
    assert (headers["Content-Length"], headers["SOAPAction"]) == ("7", '"MSMQMessage"')
    assert headers["Transfer-Encoding"] == "x" * len(_UNKNOWN)
    assert "Cookie" not in headers


def test_an_example_of_the_document_keeps_what_is_no_secret() -> None:
    http, _ = parse_message((_FIXTURES / "stream_first.http").read_bytes())
    assert http is not None
    start = http.body.index(b"<se:Envelope")
    end = http.body.index(b"</se:Envelope>") + len(b"</se:Envelope>")
    value = parse_envelope(http.body[start:end]).value
    record = planted()
    changed = msgspec.structs.replace(
        record, packet=msgspec.structs.replace(record.packet, envelope=value, target=http.target)
    )
    packet = redacted(Redaction.HOSTS, record=changed).packet
    header = packet.envelope.header
    assert packet.target == "/msmq/private$/tsimpleq"
    assert header.path.action == "MSMQ:mqsender label"
    assert header.stream.start.send_receipts_to.endswith("/MSMQ/private$/receipts?xxxxxxxxxxxxxxxxxx")
    assert header.stream.written_as == "Stream"
    assert header.properties == value.header.properties  # type: ignore[union-attr]  # it has a header


def test_a_message_packet_does_not_repeat_what_its_envelope_says() -> None:
    reported = Anomaly(
        code="srmp_envelope_header.envelope",
        message=f"Data is no envelope: declared as {_UNKNOWN}",
        path="srmp_envelope_header.data",
        offset=0,
        length=0,
        spec=_SPEC,
    )
    record = Record(id=1, type="message_packet", anomalies=(reported,))
    assert holding(redacted(Redaction.LABELS, record=record), _UNKNOWN) == []


_TEXTS = st.text(alphabet="MSMQ:/?#@.-\\ htp=srv0", max_size=30)


@given(_TEXTS, st.sets(st.sampled_from(Redaction), min_size=1))
def test_any_text_in_the_place_of_another_keeps_its_length_and_hides_a_host(
    text: str, what: set[Redaction]
) -> None:
    record = planted()
    envelope = record.packet.envelope
    path = msgspec.structs.replace(
        envelope.header.path,
        action=text,
        to=text,
        id=text,
        other_elements=(Element(text, text, (Attribute(text, text, text),), text),),
    )
    header = msgspec.structs.replace(envelope.header, path=path)
    packet = msgspec.structs.replace(
        record.packet, target=text, envelope=msgspec.structs.replace(envelope, header=header)
    )
    shown = Redactor(what).record(msgspec.structs.replace(record, packet=packet)).packet
    found = shown.envelope.header.path
    texts = [shown.target, found.action, found.to, found.id, found.other_elements[0].text]
    assert [len(one) for one in texts] == [len(text)] * 5
    assert set(found.other_elements[0].text) <= {"x"}
    if Redaction.HOSTS in what and text.startswith("http://srv0"):
        assert "srv0" not in found.to[:11]
