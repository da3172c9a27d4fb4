"""What is told of a request, whole or not."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import msgspec
import pytest

from fixtures.build_srmp_requests import MULTIPART, QM, envelope, mime_part, run_together
from msmq_wire.capture.reader import read_capture
from msmq_wire.detection.registry import RULES
from msmq_wire.records.srmp_content import error_of, judge_request, packet_of, take_apart
from msmq_wire.sessions import follow
from msmq_wire.srmp.http.message import HttpMessage
from msmq_wire.srmp.mime import content_id_of
from msmq_wire.srmp.rules import HEADER_CODES, element_codes

_FIXTURES = Path(__file__).parents[2] / "fixtures"

_HEAD = b"POST /msmq/private$/q HTTP/1.1\r\nHost: h\r\nContent-Type: text/xml\r\n\r\n"
_ROOT = b'<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/">'
_HEADER = b"<se:Header></se:Header>"


def _request(body: bytes, *, complete: bool = True, media: bytes = b"text/xml") -> HttpMessage:
    return HttpMessage(
        from_client=True,
        method="POST",
        target="/msmq/private$/q",
        http_version="1.1",
        head=_HEAD,
        headers=((b"Host", b"h"), (b"Content-Type", media)),
        body=body,
        complete=complete,
        frames=(1,),
        time=0,
        offset=0,
        length=len(_HEAD) + len(body),
    )


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize(
    ("body", "missing"),
    [
        (_ROOT, []),
        (_ROOT + _HEADER[:11], []),
        (_ROOT + _HEADER, ["envelope.header.path", "envelope.header.properties"]),
        (
            _ROOT + _HEADER + b"</se:Envelope>",
            ["envelope.header.path", "envelope.header.properties", "envelope.body"],
        ),
    ],
)
def test_only_what_can_come_no_more_is_missing_in_an_envelope(
    body: bytes, missing: list[str], complete: bool
) -> None:
    request = take_apart(_request(body, complete=complete))
    reported = [one for one in judge_request(request) if one.code.endswith(".missing")]
    assert [one.path for one in reported] == missing
    assert all(one.offset >= len(_HEAD) for one in reported)


def test_bytes_that_were_not_captured_are_the_error_of_a_cut_envelope() -> None:
    cut, broken = (error_of(take_apart(_request(_ROOT, complete=complete))) for complete in (False, True))
    assert cut is not None
    assert broken is not None
    assert [(one.code, one.offset) for one in (cut, broken)] == [
        ("missing-bytes", len(_HEAD) + len(_ROOT)),
        ("xml.not-well-formed", len(_HEAD) + len(_ROOT)),
    ]


def _named(href: str, *content_ids: str, inside: str = "") -> HttpMessage:
    """A message whose envelope names a part, with parts of these names."""
    inside = inside or f"<a xmlns='' href='{href}'/>"
    xml = envelope("order", 1).replace("<se:Body></se:Body>", f"<se:Body>{inside}</se:Body>")
    parts = [mime_part("application/octet-stream", name.encode(), name) for name in content_ids]
    whole = run_together([mime_part("text/xml", xml.encode()), *parts])
    return _request(whole, media=MULTIPART.encode())


@pytest.mark.parametrize(
    ("href", "content_id"),
    [
        ("cid:body1@node-a", "body1@node-a"),
        ("cid:body1@node-a", "<body1@node-a>"),
        ("cid:body1@node-a", " < body1@node-a > "),
        ("CID:body%31@node%2Da", "<body1@node-a>"),
        ("cid:one%25two@h", "<one%two@h>"),
        (f"cid:body@{QM}", f"body@{QM}"),
    ],
)
def test_the_part_that_the_envelope_names_is_the_body(href: str, content_id: str) -> None:
    request = take_apart(_named(href, content_id))
    assert packet_of(request).body == content_id.encode()
    assert [one.code for one in judge_request(request)] == ["body.not-empty"]


def test_the_name_of_windows_comes_first_and_a_part_that_nobody_names_is_none() -> None:
    both = take_apart(_named("cid:other@h", "other@h", f"body@{QM}"))
    assert packet_of(both).body == f"body@{QM}".encode()
    assert "srmp_message.part" in [one.code for one in judge_request(both)]
    unnamed = take_apart(_named("http://h/body1", "body1@node-a"))
    assert packet_of(unnamed).body is None
    assert "srmp_message.part" in [one.code for one in judge_request(unnamed)]


def test_a_name_deep_in_an_element_that_srmp_does_not_know_counts() -> None:
    inside = '<m xmlns="urn:m"><n><Include xmlns="urn:x" href="cid:b@h"/></n></m>'
    assert packet_of(take_apart(_named("", "b@h", inside=inside))).body == b"b@h"


@pytest.mark.parametrize(
    ("url", "name"),
    [("cid:a%40b", "a@b"), ("cid:", ""), ("mid:a", None), ("a", None), (" cid:a@b ", "a@b"), ("", None)],
)
def test_only_cid_urls_name_parts(url: str, name: str | None) -> None:
    assert content_id_of(url) == name


def test_an_id_and_a_destination_of_another_form_stay_as_they_are() -> None:
    xml = envelope("order", 1, to="soap://node-b/q").replace(f"1@{QM}", "1@node-a")
    packet = packet_of(take_apart(_request(xml.encode())))
    assert (packet.message_id, packet.queue) == ("uuid:1@node-a", "soap://node-b/q")
    whole = packet_of(take_apart(_request(envelope("order", 1).encode())))
    assert whole.message_id == f"{QM}\\1"


@pytest.mark.parametrize(
    ("behind", "queue", "message_id"),
    [
        ("<to>", "DIRECT=http://h/msmq/private$/q", None),
        ("<to>http://node-b/ms", "DIRECT=http://h/msmq/private$/q", None),
        ("<to>http://node-b/msmq/private$/orders", "DIRECT=http://h/msmq/private$/q", None),
        ("<to>http://node-b/msmq/private$/orders</to>", "DIRECT=http://node-b/msmq/private$/orders", None),
        ("<id>uuid:1@", "DIRECT=http://node-b/msmq/private$/orders", None),
        (f"<id>uuid:1@{QM}", "DIRECT=http://node-b/msmq/private$/orders", None),
        (f"<id>uuid:1@{QM}</id>", "DIRECT=http://node-b/msmq/private$/orders", f"{QM}\\1"),
    ],
)
def test_half_a_name_in_an_envelope_that_breaks_off_is_none(
    behind: str, queue: str, message_id: str | None
) -> None:
    xml = envelope("order", 1, to="http://node-b/msmq/private$/orders")
    packet = packet_of(take_apart(_request(xml[: xml.index(behind) + len(behind)].encode())))
    assert (packet.queue, packet.message_id) == (queue, message_id)


def test_a_message_with_an_id_of_another_form_has_a_life() -> None:
    story = follow(read_capture(_FIXTURES / "findings" / "SRM-ID" / "hit_no_guid.pcap", streams=True))
    assert [(life.message_id, life.outcome) for life in story.lives] == [("uuid:1@node-a", "acknowledged")]


def test_every_code_of_an_envelope_reaches_a_rule() -> None:
    reached = {code for rule in RULES.values() for code in rule.codes}
    told_by_their_check = {"path.id", "path.id-source"}
    # The examples of the document write these elements as its tables do not.
    harmless = {"stream.name", "stream.durable", "path.action"}
    assert {*element_codes(), *HEADER_CODES} - reached == told_by_their_check | harmless
    assert {"properties.date", "msmq.missing", "msmq.guid", "msmq.date"} <= reached


def _coded(body: bytes, coding: bytes) -> HttpMessage:
    plain = _request(body)
    return msgspec.structs.replace(plain, headers=(*plain.headers, (b"Content-Encoding", coding)))


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        (b"gzip", gzip.compress(_ROOT + _HEADER + b"</se:Envelope>", mtime=0)),
        (b"deflate", zlib.compress(_ROOT + _HEADER + b"</se:Envelope>")),
        (b"deflate", zlib.compress(_ROOT + _HEADER + b"</se:Envelope>", wbits=-15)),
    ],
)
def test_a_compressed_body_is_read_and_told(coding: bytes, data: bytes) -> None:
    request = take_apart(_coded(data, coding))
    assert request.parsed.value is not None
    assert error_of(request) is None
    messages = [one.message for one in judge_request(request) if one.code == "http.content-encoding"]
    assert messages == [f"the body is compressed ({coding.decode()}): MSMQ does not send that"]


@pytest.mark.parametrize("size", [1 << 22, 1 << 26])
def test_a_body_that_unpacks_to_much_is_read_in_proportion_and_told(size: int) -> None:
    data = gzip.compress(_ROOT + b" " * size, mtime=0)
    read = 64 * len(data)
    request = take_apart(_coded(data, b"gzip"))
    codes = {one.code: one.message for one in judge_request(request)}
    assert request.unpacked == read < size
    assert f"of which {read:,} bytes are read" in codes["http.content-encoding"]
    assert not {"mime.content-length", "mime.no-close"} & codes.keys()
    error = error_of(request)
    assert error is not None
    assert (error.code, error.message) == ("too-large", "the compressed body is not read to its end")


def test_a_compressed_body_that_ends_too_soon_is_cut() -> None:
    data = gzip.compress(_ROOT + _HEADER + b"</se:Envelope>", mtime=0)
    error = error_of(take_apart(_coded(data[:-12], b"gzip")))
    assert error is not None
    assert error.code == "missing-bytes"


def test_many_small_bodies_do_not_stand_for_much() -> None:
    data = gzip.compress(bytes(1 << 20), mtime=0)
    assert (len(data), take_apart(_coded(data, b"gzip")).unpacked) == (1051, 1051 * 64)
    assert take_apart(_coded(gzip.compress(bytes(1 << 17), mtime=0), b"gzip")).unpacked == 1 << 16


def test_a_body_in_a_coding_that_is_not_read_says_so() -> None:
    request = take_apart(_coded(b"\x8b\x03", b"br"))
    messages = [one.message for one in judge_request(request) if one.code == "http.content-encoding"]
    assert messages == ["the body is compressed (br), which is not read: MSMQ does not send that"]
