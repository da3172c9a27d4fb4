"""SRMP among other bytes: with the head of its request, with its parts alone, or nothing but its envelope."""

from __future__ import annotations

import pytest

from fixtures.build_srmp_requests import BOUNDARY, envelope
from fixtures.build_srmp_requests import message as srmp_message
from msmq_wire.capture.carve.reader import record_of
from msmq_wire.capture.carve.search import CarvedItem, Carver

_REQUEST = srmp_message("first order", 101, b"<order id='1'/>").data
_HEAD_END = _REQUEST.index(b"\r\n\r\n") + 4


def found(data: bytes) -> list[CarvedItem]:
    carver = Carver()
    return carver.feed(b"\0" * 300 + data + b"\0" * 300) + carver.finish()


def one(data: bytes) -> CarvedItem:
    (find,) = found(data)
    return find


def test_a_request_is_found_with_its_head_and_its_body() -> None:
    find = one(_REQUEST)
    record = record_of(find, number=1, capture="x")
    assert (find.grade, find.data) == ("whole", _REQUEST)
    assert (record.packet.method, record.packet.label) == ("POST", "first order")
    assert record.packet.body == b"<order id='1'/>"
    assert record.error is None


def test_parts_without_the_head_of_a_request_are_a_message_without_headers() -> None:
    find = one(_REQUEST[_HEAD_END:])
    record = record_of(find, number=1, capture="x")
    assert find.grade == "whole"
    assert record.packet.headers == ()
    assert record.packet.body == b"<order id='1'/>"


def test_an_envelope_alone_is_a_message_without_a_body() -> None:
    xml = envelope("label", 7).encode()
    find = one(xml)
    assert (find.grade, find.data, find.before) == ("whole", xml, 0)
    assert record_of(find, number=1, capture="x").packet.message_id.endswith("\\7")


def test_a_message_whose_last_part_is_cut_is_a_head() -> None:
    close = _REQUEST.index(f"--{BOUNDARY}--".encode())
    find = one(_REQUEST[_HEAD_END : close - 4])
    assert find.grade == "head"
    assert "last part" in (find.reason or "")


@pytest.mark.parametrize("left", [0.3, 0.7, 0.99])
def test_an_envelope_that_is_cut_is_a_head(left: float) -> None:
    xml = envelope("label", 7).encode()
    find = one(xml[: int(len(xml) * left)])
    assert find.grade == "head"
    assert "envelope" in (find.reason or "")


def test_an_envelope_that_breaks_a_rule_or_the_xml_is_damaged() -> None:
    xml = envelope("label", 7).encode()
    assert one(xml.replace(b"</id></path>", b"</id></Path>")).grade == "damaged"
    assert one(xml.replace(b"<to>http://", b"<to>hxxp://")).grade == "damaged"


def test_an_envelope_of_other_soap_is_nothing() -> None:
    assert found(envelope("label", 7).replace("soap.org/srmp/", "soap.org/other/").encode()) == []
    assert (
        found(b"http://schemas.xmlsoap.org/soap/envelope/ in a text about http://schemas.xmlsoap.org/srmp/")
        == []
    )


def test_an_envelope_that_is_cut_ends_where_the_next_one_begins() -> None:
    xml = envelope("label", 7).encode()
    first, second = found(xml[:300] + xml)
    assert (first.grade, first.data) == ("head", xml[:300])
    assert second.grade == "whole"


def test_envelopes_inside_a_packet_are_parts_of_it() -> None:
    from fixtures.build_content_packets import stored_message, trailers
    from tests.capture.carve.test_search import in_body

    xml = envelope("label", 7).encode()
    assert [find.type for find in found(in_body(xml, before=b"  "))] == ["user_message"]
    assert [find.type for find in found(stored_message(after=trailers()))] == ["message_packet"]


def test_many_roots_without_an_end_are_read_once_each() -> None:
    root = b'<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/" xmlns="http://schemas.xmlsoap.org/srmp/">'
    finds = found(root * 200)
    assert len(finds) == 200
    assert sum(len(find.data) for find in finds) == 200 * len(root)
