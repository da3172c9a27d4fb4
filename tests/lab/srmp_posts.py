"""SRMP messages written by hand from [MC-MQSRM] 2.2, and the requests that carry them."""

from __future__ import annotations

from msmq_wire.srmp.http.connection import parse_message
from msmq_wire.srmp.http.message import HttpMessage

SENDER = "32221eda-9376-46df-b6ed-783091123831"
MSMQ = (
    '<Msmq xmlns="msmq.namespace.xml"><Class>0</Class><Priority>3</Priority><BodyType>8</BodyType>'
    f"<SourceQmGuid>{SENDER}</SourceQmGuid><TTrq>20231115T000000</TTrq></Msmq>"
)
ENVELOPE = (
    '<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/" '
    'xmlns="http://schemas.xmlsoap.org/srmp/"><se:Header>'
    '<path xmlns="http://schemas.xmlsoap.org/rp/" se:mustUnderstand="1"><action>MSMQ:order</action>'
    f"<to>http://host/msmq/private$/orders</to><id>uuid:26626@{SENDER}</id></path>"
    '<properties se:mustUnderstand="1"><expiresAt>20231116T000000</expiresAt>'
    f"<sentAt>20231114T221320</sentAt></properties>{MSMQ}</se:Header><se:Body></se:Body></se:Envelope>"
)
"""What MUST be there, and sentAt: 22:13:20 on the 14th of November 2023 is second 1,700,000,000."""

Change = tuple[str, str]
"""A text of the envelope, and what stands there instead."""


def changed(*changes: Change) -> str:
    """The envelope with texts replaced."""
    text = ENVELOPE
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def in_header(text: str) -> Change:
    """The change that adds elements behind those of the header."""
    return "</se:Header>", f"{text}</se:Header>"


def in_msmq(text: str) -> Change:
    """The change that adds elements of <Msmq>."""
    return "</Msmq>", f"{text}</Msmq>"


def stream(text: str) -> tuple[Change, ...]:
    """The changes that make it a stream message, with these elements of <stream>."""
    services = '<services se:mustUnderstand="1"><durable/></services>'
    return (in_header(f'{services}<stream se:mustUnderstand="1">{text}</stream>'),)


def multipart(envelope: str, *parts: tuple[str, bytes]) -> bytes:
    """The body of a request with an envelope and parts, each its name before the @, and its bytes."""
    xml = envelope.encode()
    pieces = [b"Content-Type: text/xml\r\nContent-Length: %d\r\n\r\n%b" % (len(xml), xml)]
    pieces += [
        b"Content-Type: application/octet-stream\r\nContent-Length: %d\r\nContent-Id: %b@%b\r\n\r\n%b"
        % (len(data), name.encode(), SENDER.encode(), data)
        for name, data in parts
    ]
    return b"".join(b"--MSMQ - SOAP boundary, 7\r\n" + one for one in pieces) + b"--MSMQ - SOAP boundary, 7--"


def post(envelope: str, *parts: tuple[str, bytes], encoding: str = "utf-8") -> HttpMessage:
    """The request with an envelope; without parts it is all of the body, in any encoding."""
    body, kind = envelope.encode(encoding), "text/xml"
    if parts:
        body = multipart(envelope, *parts)
        kind = 'multipart/related; boundary="MSMQ - SOAP boundary, 7"; type=text/xml'
    head = (
        f"POST /msmq/private$/orders HTTP/1.1\r\nHost: host\r\nContent-Type: {kind}\r\n"
        f'Content-Length: {len(body)}\r\nSOAPAction: "MSMQMessage"\r\n\r\n'
    )
    message, rest = parse_message(head.encode() + body)
    assert message is not None
    assert (message.complete, rest) == (True, b"")
    return message
