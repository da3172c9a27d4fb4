"""``msmq-wire decode`` on SRMP: request, response, envelope, parts and body as a tree."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from msmq_wire.cli.render.screen import Screen
from msmq_wire.engines.codec import inspect
from msmq_wire.reassembly.tcp_events import ACK, FIN, PSH, SYN, TcpSegment
from msmq_wire.records.decoder import decoded
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Item, Record
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.records.stored_srmp import stored_message
from msmq_wire.records.tree.srmp_nodes import srmp_nodes
from msmq_wire.records.tree.tree import TreeOptions, print_record
from msmq_wire.records.tree.tree_node import NodeOptions, TreeNode
from tests.hex_files import hex_bytes

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_EXAMPLES = sorted(
    path.stem for path in (_FIXTURES / "srmp").glob("*.http") if not path.stem.endswith("_response")
)
_ACCEPTED = b"HTTP/1.1 202 Accepted\r\nServer: Microsoft-IIS/10.0\r\nContent-Length: 0\r\n\r\n"
_CLIENT, _SERVER = bytes((192, 0, 2, 21)), bytes((192, 0, 2, 10))
_LAST_HEADER = b"Proxy-Accept: NonInteractiveClient\r\n"


def example_bytes(name: str) -> bytes:
    """An HTTP message of the document."""
    return (_FIXTURES / "srmp" / f"{name}.http").read_bytes()


def changed(old: bytes, new: bytes, name: str = "msmq_element") -> bytes:
    """An example with other text in its envelope and a Content-Length that fits."""
    request = example_bytes(name)
    assert request.count(old) == 1
    head, _, body = request.replace(old, new).partition(b"\r\n\r\n")
    return re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(body), head) + b"\r\n\r\n" + body


def captured(request: bytes, response: bytes = b"") -> Record:
    """The record of one exchange."""
    (record,) = all_captured(request, response)
    return record


def all_captured(request: bytes, response: bytes = b"") -> list[Record]:
    """The records of what a client sends and of what comes 2.5 ms after it."""
    ends = (_CLIENT, 49_731), (_SERVER, 80)
    seen = [(0, 0, SYN, b"", 0), (1, 0, SYN | ACK, b"", 0), (0, 1, PSH | ACK, request, 0)]
    seen += [(1, 1, PSH | ACK, response, 2_500_000)] if response else []
    seen += [(0, 1 + len(request), FIN | ACK, b"", 3_000_000)]
    finder = PacketFinder()
    items: list[Item] = []
    for frame, (side, seq, flags, payload, after) in enumerate(seen, 1):
        (src, sport), (dst, dport) = ends[side], ends[1 - side]
        time = 1_700_000_000_000_000_000 + after
        items += finder.segment(TcpSegment(src, sport, dst, dport, seq, 1, flags, payload, frame, time))
    return [one for one in decoded((*items, *finder.finish())) if one.type.startswith("srmp")]


def printed(record: Record, **options: Any) -> list[str]:
    """What a record looks like, runs of blanks as one and without the guides."""
    out = io.StringIO()
    screen = Screen(out, "never")
    screen.width = None
    print_record(screen, record, TreeOptions(**options), via="http")
    return [re.sub(r" +", " ", re.sub("[│├└─]", " ", line)).strip() for line in out.getvalue().splitlines()]


def nodes(record: Record, **options: Any) -> dict[str, TreeNode]:
    """The nodes of a record by path; marks by the path of what they stand below, and their code."""
    found: dict[str, TreeNode] = {}

    def walk(level: list[TreeNode], above: str) -> None:
        for node in level:
            key = f"{above}: {node.name}" if node.kind in ("anomaly", "error") else node.path or node.name
            found.setdefault(key, node)
            walk(node.children, node.path or above)

    walk(
        srmp_nodes(
            record.packet,
            NodeOptions(**options),
            anomalies=record.anomalies,
            error=record.error,
            parent=record.parent,
        ),
        "",
    )
    return found


def shown(node: TreeNode) -> str:
    """A node on one line."""
    return f"{node.value} {node.note}".strip()


def test_a_message_reads_from_request_to_body() -> None:
    assert printed(captured(example_bytes("msmq_element"), _ACCEPTED)) == [
        "#4 2023-11-14 22:13:20.002500Z 192.0.2.21:49731 → 192.0.2.10:80 srmp_message"
        " DIRECT=http://machine2/msmq/private$/simpleQ 202 Accepted 1617 bytes via http frames 3, 4",
        "request POST /msmq/private$/simpleq HTTP/1.1",
        "headers 3 of 5 headers --hex shows all",
        "Host machine2",
        'Content-Type multipart/related; boundary="MSMQ - SOAP boundary, 26500"; type=text/xml',
        'SOAPAction "MSMQMessage"',
        "response 202 Accepted 2.5 ms after the request",
        "envelope [MC-MQSRM] 2.2.2",
        "header [MC-MQSRM] 2.2.2",
        "path [MC-MQSRM] 2.2.4",
        'action "MSMQ:"',
        "to http://machine2/msmq/private$/simpleQ",
        "id uuid:20503@caf195ea-615c-4264-ae08-11a4e60194c0",
        "properties [MC-MQSRM] 2.2.5.1",
        "expires_at 20380119T031407 2038-01-19 03:14:07Z, never",
        "sent_at 20070719T031140 2007-07-19 03:11:40Z",
        "msmq [MC-MQSRM] 2.2.6",
        "class 0 MQMSG_CLASS_NORMAL",
        "priority 3",
        "correlation none",
        "app 0",
        "body_type 0 VT_EMPTY",
        "hash_algorithm 32772 SHA_1",
        "source_qm_guid caf195ea-615c-4264-ae08-11a4e60194c0",
        "t_trq 20070723T031140 2007-07-23 03:11:40Z",
        "parts 2 parts",
        "[0] envelope, text/xml, 821 bytes at 93",
        "[1] body, application/octet-stream, 220 bytes at 1063 body@caf195ea-615c-4264-ae08-11a4e60194c0",
        "body 220 bytes UTF-8 XML",
        '<Order xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        ' xmlns:xsd="http://www.w3.org/2001/XMLSchema">',
        "<orderId>3</orderId>",
        "<orderTime>2007-07-18T20:11:40.2614595-07:00</orderTime>",
        "</Order>",
        "",
    ]


@pytest.mark.parametrize("name", _EXAMPLES)
def test_every_value_of_an_example_of_the_document_is_shown(name: str) -> None:
    record = captured(example_bytes(name), _ACCEPTED)
    lines = printed(record)
    texts = re.findall(rb">\s*([^<>\s][^<>]*?)\s*</", example_bytes(name).partition(b"se:Body")[0])
    missing = [text for text in texts if not any(text.decode() in line for line in lines)]
    # Zeros are called none, other bytes are shown in hex.
    assert [text for text in missing if not text.startswith(b"AAAA")] == []


def test_a_receipt_says_which_and_how_it_was_answered() -> None:
    record = captured(example_bytes("commitment_receipt"), _ACCEPTED)
    lines = printed(record)
    assert " commitment receipt, 202 Accepted " in lines[0]
    assert "commitment_receipt [MC-MQSRM] 2.2.5.5" in lines
    assert "decision positive" in lines
    assert "class 16384 MQMSG_CLASS_ACK_RECEIVE" in lines
    # A document without parts has none to list.
    assert not {"parts", "body"} & set(nodes(record))


def test_requests_for_receipts_and_their_flags_are_shown_where_they_are_set() -> None:
    found = nodes(captured(example_bytes("receipt_requests")))
    services = "envelope.header.services"
    assert found[f"{services}.commitment_receipt_request"].note == "[MC-MQSRM] 2.2.5.2.3"
    assert (
        shown(found[f"{services}.commitment_receipt_request.positive_only"])
        == "yes when an application receives it"
    )
    assert shown(found[f"{services}.delivery_receipt_request.send_to"]).endswith("/MSMQ/private$/receipts")
    assert f"{services}.durable" not in found
    assert shown(found["envelope.header.path.rev.via"]) == "http://machine1/MSMQ/private$/Q1"


def test_a_stream_shows_its_place_and_what_it_breaks() -> None:
    found = nodes(captured(example_bytes("stream_first")))
    assert shown(found["envelope.header.stream.current"]) == "1"
    assert shown(found["envelope.header.stream.start.expires_at"]) == "20070620T165959 2007-06-20 16:59:59Z"
    assert "envelope.header.stream: stream.durable" in found
    assert "envelope.header.path.id: path.id-source" in found


def test_without_a_response_it_says_that_none_was_captured() -> None:
    record = captured(example_bytes("simple_message"))
    lines = printed(record)
    assert " no response " in lines[0]
    assert "response none not captured" in lines


def test_a_message_in_a_packet_says_where_it_was_stored() -> None:
    data = hex_bytes(_FIXTURES / "packets/message_packet/golden_srmp_origin_2380.hex")
    parent = Record(id=3, type="message_packet", packet=inspect(data, as_="message_packet").packet)
    stored = stored_message(parent.packet)[1]
    assert stored is not None

    def new(**values: Any) -> Record:
        return Record(id=4, **values)

    record = stored.record(new, parent)
    text = printed(record)
    queue = "DIRECT=http://192.0.2.10/msmq/private$/queue-for-checks"
    assert text[0].startswith(f"#4 srmp_message {queue} stored in #3 ")
    assert "response none stored in the message packet #3" in text
    assert not any("not captured" in line or "no response" in line for line in text)
    found = nodes(record)
    assert "envelope: xml.not-well-formed" in found
    assert shown(found["envelope"]) == "none cannot be read"


def test_interim_responses_doubts_and_bodies_of_responses_are_told() -> None:
    record = captured(
        example_bytes("simple_message"),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\nfull",
    )
    doubtful = msgspec.structs.replace(record.packet, certain=False)
    found = nodes(msgspec.structs.replace(record, packet=doubtful))
    assert shown(found["interim"]) == "100 before the response"
    assert shown(found["response"]).endswith("; may answer another request: bytes were lost")
    assert shown(found["response.body"]) == "4 bytes UTF-8 text"


def test_headers_are_shown_with_hex_and_where_they_are_wrong() -> None:
    plain = captured(example_bytes("msmq_element"), _ACCEPTED)
    assert "Proxy-Accept NonInteractiveClient" not in printed(plain)
    lines = printed(plain, hex=True)
    assert "headers 5 headers" in lines
    assert "Proxy-Accept NonInteractiveClient" in lines
    assert "Server Microsoft-IIS/10.0" in lines
    assert "must_understand 1" in lines
    broken = example_bytes("msmq_element").replace(_LAST_HEADER, _LAST_HEADER + b"no colon\r\n")
    found = nodes(captured(broken))
    assert shown(found["headers"]) == "5 headers"
    assert "headers: http.header-line" in found


def test_a_broken_boundary_is_told_at_its_header() -> None:
    request = example_bytes("msmq_element").replace(b'boundary="MSMQ - SOAP boundary, 26500"', b"border=x")
    assert "headers[1]: mime.boundary" in nodes(captured(request))


@pytest.mark.parametrize(
    ("old", "new", "path", "text", "code"),
    [
        (b"<Class>0<", b"<Class>9999<", "msmq.class_", "9999 unknown value", None),
        (b"<Class>0<", b"<Class>x<", "msmq.class_", "x", "msmq.number"),
        (b"<BodyType>0<", b"<BodyType>4113<", "msmq.body_type", "4113 VT_VECTOR | VT_UI1", None),
        (b"<HashAlgorithm>32772<", b"<HashAlgorithm>0<", "msmq.hash_algorithm", "0 none", None),
        (
            b"<sentAt>20070719T031140<",
            b"<sentAt>today<",
            "properties.sent_at",
            "today no date",
            "properties.date",
        ),
        (b"<App>0</App>", b"<App>0</App><Journal/>", "msmq.journal", "yes positive source journaling", None),
        (b"<to>http:", b"<to>ftp:", "path.to", "ftp://machine2/msmq/private$/simpleQ", "path.to"),
        (
            b"<BodyType>0</BodyType>",
            b"",
            "msmq.body_type",
            "none",
            "msmq.missing",
        ),
        (
            b"AAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            b"AQIDBAUGBwgJCgsMDQ4PEAkAAAA=",
            "msmq.correlation",
            "04030201-0605-0807-090a-0b0c0d0e0f10\\9",
            None,
        ),
        (
            b'se:mustUnderstand="1">\r\n<action>',
            b">\r\n<action>",
            "path.must_understand",
            "none",
            "path.must-understand",
        ),
        (
            b"<App>0</App>",
            b"<App>0</App><DestinationMqf> http://m1/msmq/q\r\nhttp://m2/msmq/q</DestinationMqf>",
            "msmq.destination_mqf",
            "2 names",
            None,
        ),
    ],
)
def test_a_value_has_its_meaning_and_its_mark(
    old: bytes, new: bytes, path: str, text: str, code: str | None
) -> None:
    found = nodes(captured(changed(old, new)))
    path = f"envelope.header.{path}"
    assert shown(found[path]) == text
    assert code is None or f"{path}: {code}" in found


def test_a_list_of_queues_has_a_line_each() -> None:
    names = b"<ResponseMqf>http://m1/msmq/q\r\nhttp://m2/msmq/q</ResponseMqf>"
    found = nodes(captured(changed(b"<App>0</App>", b"<App>0</App>" + names)))
    assert found["envelope.header.msmq.response_mqf[1]"].value == "http://m2/msmq/q"


def test_what_the_document_does_not_have_is_shown() -> None:
    new = b'<App>0</App><New xmlns="urn:n" a="1"><In>deep</In></New>between'
    found = nodes(captured(changed(b"<App>0</App>", new)))
    other = "envelope.header.msmq.other_elements[0]"
    assert (found[other].name, shown(found[other])) == ("<New>", "not in the document; urn:n")
    assert shown(found[f"{other}.attributes[0]"]) == "1"
    assert shown(found[f"{other}.children[0]"]) == "deep not in the document; urn:n"
    assert shown(found["envelope.header.msmq.mixed_text"]) == "between between the elements"


def test_a_signature_lists_what_it_covers() -> None:
    signature = (
        b'<Signature xmlns="http://www.w3.org/2000/02/xmldsig#"><SignedInfo>'
        b'<SignatureMethod Algorithm="http://www.w3.org/2000/02/xmldsig#dsa"/>'
        b'<Reference URI="cid:body@caf195ea-615c-4264-ae08-11a4e60194c0">'
        b'<DigestMethod Algorithm="http://www.w3.org/2000/02/xmldsig#sha1"/>'
        b"<DigestValue>AQIDBAUGBwgJCgsMDQ4PEBESExQ=</DigestValue></Reference></SignedInfo>"
        b"<SignatureValue>" + b"QUJD" * 12 + b"</SignatureValue></Signature>"
    )
    found = nodes(captured(changed(b"</Msmq>", b"</Msmq>" + signature)))
    path = "envelope.header.signature"
    reference = f"{path}.signed_info.references[0]"
    assert found[reference].note == "[MC-MQSRM] 2.2.7.1.2"
    assert shown(found[f"{reference}.uri"]) == "cid:body@caf195ea-615c-4264-ae08-11a4e60194c0"
    digest = "01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14"
    assert shown(found[f"{reference}.digest_value"]) == digest
    assert shown(found[f"{path}.signature_value"]) == "36 bytes"
    block = found[f"{path}.signature_value"].block
    assert block is not None
    assert block.data == b"ABC" * 12


def test_a_request_that_is_cut_shows_what_there_is() -> None:
    request = example_bytes("msmq_element")
    end, start = request.index(b"<orderId>"), request.index(b"<?xml")
    found = nodes(captured(request[:end]))
    assert found["body"].value == f"{end - start} of 220 bytes"
    assert ": missing-bytes" in found


def test_a_long_text_stands_below_its_line_and_a_heading_stays_short() -> None:
    label = b"long " * 100
    record = captured(changed(b"<action>MSMQ:", b"<action>MSMQ:" + label))
    node = nodes(record)["envelope.header.path.action"]
    assert node.value == "505 characters"
    assert node.block is not None
    assert node.block.text == f"MSMQ:{label.decode()}"
    assert len(printed(record)[0]) < 400


def test_what_controls_a_terminal_is_shown_by_number() -> None:
    text = "\n".join(printed(captured(changed(b"<action>MSMQ:", "<action>MSMQ:\u202e\x85".encode()))))
    assert "\u202e" not in text
    assert "\\u202e\\x85" in text


def test_the_ends_of_the_calendar_are_shown_in_any_zone() -> None:
    east = timezone(timedelta(hours=-5))
    record = captured(changed(b"<sentAt>20070719T031140<", b"<sentAt>00010101T000000<"))
    node = nodes(record, zone=east)["envelope.header.properties.sent_at"]
    assert node.note.endswith("00:00:00Z")


# The noise is a request of its own.
@pytest.mark.slow
@example("", b"POST /msmq HTTP/0.0\n", "commitment_receipt", 1021, 80)
@given(
    st.text(max_size=40),
    st.binary(max_size=300),
    st.sampled_from(_EXAMPLES),
    st.integers(0, 1500),
    st.sampled_from((40, 80, 200)),
)
def test_a_tree_fits_its_screen_whatever_was_sent(
    label: str, noise: bytes, name: str, at: int, width: int
) -> None:
    request = example_bytes(name)
    records = all_captured(request[: 200 + at] + noise + request[200 + at :])
    assert records
    for record in records:
        packet = msgspec.structs.replace(record.packet, label=label, target=label)
        out = io.StringIO()
        screen = Screen(out, "never")
        screen.width = width
        print_record(screen, msgspec.structs.replace(record, packet=packet), TreeOptions())
        assert isinstance(packet, SrmpMessage)
        assert f"#{record.id} " in out.getvalue()


def test_the_command_prints_a_capture_of_http(run: Callable[..., Any]) -> None:
    status, out, _ = run("decode", _FIXTURES / "captures" / "path_http_post_msmq.pcap", "-q")
    assert status == 0
    assert "srmp_message  DIRECT=http://msg01/msmq/private$/orders  200 OK  " in out
    assert "⚠ envelope.missing: <Header> is missing" in out
