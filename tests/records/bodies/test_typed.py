"""Bodies by their body type: one value, arrays, strings, objects."""

from __future__ import annotations

import struct
from datetime import datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.bodies import open_body, preview
from msmq_wire.records.bodies.typed import is_outside_section, type_name
from msmq_wire.wire.types.enumerations import BodyType

RECORDSET = UUID("00000535-0000-0010-8000-00AA006D2EA4")


@pytest.mark.parametrize(
    ("body_type", "data", "kind", "text"),
    [
        (2, b"\xfe\xff", "number", "-2"),
        (3, b"\x2a\0\0\0", "number", "42"),
        (3, b"\xff\xff\xff\xff", "number", "-1"),
        (4, struct.pack("<f", 0.1), "number", "0.100000001"),
        (5, struct.pack("<d", 0.1), "number", "0.1"),
        (6, (-12345).to_bytes(8, "little", signed=True), "currency", "-1.2345"),
        (6, (20000).to_bytes(8, "little"), "currency", "2.0000"),
        (7, struct.pack("<d", 0.0), "date", "1899-12-30 00:00:00"),
        (7, struct.pack("<d", 36526.5), "date", "2000-01-01 12:00:00"),
        (7, struct.pack("<d", -1.25), "date", "1899-12-29 06:00:00"),
        (10, b"\x05\x40\x00\x80", "number", "0x80004005"),
        (11, b"\xff\xff", "boolean", "true"),
        (11, b"\0\0", "boolean", "false"),
        (11, b"\1\0", "boolean", "0x0001, neither true nor false"),
        (14, struct.pack("<HBBIQ", 0, 2, 0x80, 0, 5), "number", "-0.05"),
        (14, struct.pack("<HBBIQ", 0, 0, 0, 1, 0), "number", "18446744073709551616"),
        (16, b"\x80", "number", "-128"),
        (17, b"\x80", "number", "128"),
        (18, b"\xff\xff", "number", "65535"),
        (19, b"\xff\xff\xff\xff", "number", "4294967295"),
        (20, b"\xff" * 8, "number", "-1"),
        (21, b"\xff" * 8, "number", "18446744073709551615"),
        (64, (116444736000000000).to_bytes(8, "little"), "date", "1970-01-01 00:00:00+00:00"),
        (
            72,
            UUID("6b29fc40-ca47-1067-b31d-00dd010662da").bytes_le,
            "guid",
            "6b29fc40-ca47-1067-b31d-00dd010662da",
        ),
    ],
)
def test_a_declared_value_is_read(body_type: int, data: bytes, kind: str, text: str) -> None:
    body = open_body(data, body_type)
    assert (body.kind, body.text, body.confidence) == (kind, text, "declared")
    assert body.scalar
    assert preview(body) == text


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300, -1e300, 2958465.9999999999])
def test_a_date_outside_of_the_calendar_is_no_date(number: float) -> None:
    assert open_body(struct.pack("<d", number), 7).kind != "date"


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(9999, 12, 30)))
def test_a_date_comes_back_to_the_millisecond(moment: datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    days = (moment - datetime(1899, 12, 30)).total_seconds() / 86400
    text = open_body(struct.pack("<d", days), 7).text
    assert text is not None
    assert abs((datetime.fromisoformat(text) - moment).total_seconds()) < 0.0015


def test_a_value_of_another_size_is_opened_by_what_it_holds() -> None:
    body = open_body(b"forty-two", 3)
    assert (body.kind, body.text) == ("text", "forty-two")
    assert body.details[0] == ("body_type", "VT_I4, which 9 bytes do not fit")


def test_an_array_is_read_with_and_without_its_count() -> None:
    elements = struct.pack("<3i", 1, -2, 3)
    plain = open_body(elements, 0x1003)
    counted = open_body(struct.pack("<I", 3) + elements, 0x1003)
    assert plain.text == counted.text == "1, -2, 3"
    assert plain.confidence == "likely"
    assert plain.details == (("body_type", "VT_VECTOR | VT_I4"), ("elements", "3"))


def test_a_long_array_is_cut_in_the_text() -> None:
    body = open_body(bytes(2000), 0x2002)
    assert body.text is not None
    assert body.text.endswith(", …")
    assert dict(body.details)["elements"] == "1000"


@pytest.mark.parametrize("body_type", [0x2011, 0x1011, 65, 0x300])
def test_declared_bytes_are_opened_by_what_they_hold(body_type: int) -> None:
    assert open_body(b"<a/>", body_type).kind == "xml"
    raw = open_body(b"\x80\x81\x82", body_type)
    assert (raw.kind, raw.confidence) == ("binary", "declared")


@pytest.mark.parametrize("body_type", [8, 31])
def test_a_wide_string_is_utf_16(body_type: int) -> None:
    body = open_body("Größe 漢字".encode("utf-16-le") + b"\0\0", body_type)
    assert (body.kind, body.text, body.encoding, body.confidence) == (
        "text",
        "Größe 漢字",
        "UTF-16",
        "declared",
    )


def test_ascii_under_a_wide_type_is_not_read_as_chinese() -> None:
    body = open_body(b"<order id='17'/>", 8)
    assert (body.kind, body.text, body.encoding) == ("xml", "<order id='17'/>", "UTF-8")
    assert ("body_type", "VT_BSTR, but UTF-8") in body.details


def test_a_narrow_string_is_utf_8_or_windows_1252() -> None:
    assert open_body("Größe\0".encode(), 30).encoding == "UTF-8"
    body = open_body("Größe\0".encode("cp1252"), 30)
    assert (body.text, body.encoding, body.confidence) == ("Größe", "Windows-1252", "likely")


def test_a_streamed_object_names_its_class_and_opens_what_it_wrote() -> None:
    body = open_body(RECORDSET.bytes_le + b"<rows/>", 68)
    assert (body.kind, body.text, body.confidence) == ("activex_object", "<rows/>", "declared")
    details = dict(body.details)
    assert details["class_id"] == str(RECORDSET)
    assert details["class"] == "ADODB.Recordset"
    assert details["state_kind"] == "xml"


def test_a_stored_object_names_the_class_of_its_root_entry() -> None:
    header = bytearray(512)
    header[:8] = bytes.fromhex("d0cf11e0a1b11ae1")
    header[30:32] = (9).to_bytes(2, "little")
    header[48:52] = (1).to_bytes(4, "little")
    entry = bytes(80) + RECORDSET.bytes_le + bytes(32)
    body = open_body(bytes(header) + bytes(512) + entry, 69)
    assert (body.kind, body.extension) == ("activex_object", "ole")
    assert dict(body.details)["class_id"] == str(RECORDSET)


def test_a_stored_object_whose_directory_lies_outside_is_still_one() -> None:
    header = bytearray(512)
    header[:8] = bytes.fromhex("d0cf11e0a1b11ae1")
    header[30:32] = (9).to_bytes(2, "little")
    header[48:52] = b"\xff\xff\xff\xff"
    body = open_body(bytes(header[:512]), 69)
    assert (body.kind, body.title) == ("activex_object", "ActiveX object")


@pytest.mark.parametrize("body_type", [*sorted(set(BodyType) - {BodyType.VT_BSTR}), 0x1011, 0x101F])
def test_types_of_the_section_are_inside_it(body_type: int) -> None:
    assert not open_body(b"x", body_type).outside_section


@pytest.mark.parametrize("body_type", [4, 5, 6, 7, 8, 30, 68, 69, 0x300, 0x2011, 0xFFFFFFFF])
def test_other_types_are_outside_of_the_section(body_type: int) -> None:
    assert is_outside_section(body_type)
    assert open_body(b"x", body_type).outside_section


@pytest.mark.parametrize(
    ("body_type", "name"),
    [(3, "VT_I4"), (0x1011, "VT_VECTOR | VT_UI1"), (0x2011, "VT_ARRAY | VT_UI1"), (68, "VT_STREAMED_OBJECT")],
)
def test_a_type_has_its_name(body_type: int, name: str) -> None:
    assert type_name(body_type) == name
