"""Multipart bodies, in the shape of the examples of [MC-MQSRM] section 4 and against it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import EncodeError
from msmq_wire.srmp.mime import MAX_PARTS, build_multipart, parse_content_type, parse_multipart

BOUNDARY = "MSMQ - SOAP boundary, 53287"
CONTENT_TYPE = f'multipart/related; boundary="{BOUNDARY}"; type=text/xml'
ENVELOPE = b"<se:Envelope></se:Envelope>"
DELIMITER = b"--" + BOUNDARY.encode()
BODY = (
    DELIMITER
    + b"\r\nContent-Type: text/xml; charset=UTF-8\r\nContent-Length: 27\r\n\r\n"
    + ENVELOPE
    + DELIMITER
    + b"\r\n"
    b"Content-Type: application/octet-stream\r\nContent-Length: 13\r\n"
    b"Content-Id: body@ff3af301-3196-497a-a918-72147c871a13\r\n\r\nFirst Message" + DELIMITER + b"--\r\n"
)


def test_an_envelope_directly_followed_by_the_delimiter_is_taken_apart() -> None:
    found = parse_multipart(CONTENT_TYPE, BODY)
    assert found.problems == ()
    assert found.content_type == "multipart/related"
    assert found.boundary == BOUNDARY
    assert [part.data for part in found.parts] == [ENVELOPE, b"First Message"]
    assert [part.content_length for part in found.parts] == [27, 13]
    assert [part.content_type for part in found.parts] == ["text/xml", "application/octet-stream"]
    assert found.parts[1].content_id == "body@ff3af301-3196-497a-a918-72147c871a13"
    for part in found.parts:
        assert BODY[part.offset : part.offset + len(part.data)] == part.data
    assert found.root == found.parts[0]
    assert (found.preamble, found.epilogue) == (b"", b"\r\n")


@pytest.mark.parametrize(
    ("boundary", "envelope", "payload", "content_id", "length"),
    [
        ("MSMQ - SOAP boundary, 53287", 619, 13, "body@ff3af301-3196-497a-a918-72147c871a13", 906),
        ("MSMQ - SOAP boundary, 26500", 775, 223, "body@caf195ea-615c-4264-ae08-11a4e60194c0", 1273),
        ("MSMQ - SOAP boundary, 1672", 1465, 13, "body@ff3af301-3196-497a-a918-72147c871a13", 1750),
        ("MSMQ - SOAP boundary, 292", 779, 20, "body@32221eda-9376-46df-b6ed-783091123831", 1067),
    ],
)
def test_built_bodies_are_as_long_as_those_of_the_examples(
    boundary: str, envelope: int, payload: int, content_id: str, length: int
) -> None:
    built = build_multipart(
        [
            ([("Content-Type", "text/xml; charset=UTF-8")], b"x" * envelope),
            ([("Content-Type", "application/octet-stream"), ("Content-Id", content_id)], b"y" * payload),
        ],
        boundary,
    )
    assert len(built) == length


def test_a_built_body_has_the_bytes_written_by_hand() -> None:
    parts = [
        ([("Content-Type", "text/xml; charset=UTF-8")], ENVELOPE),
        (
            [
                ("Content-Type", "application/octet-stream"),
                ("Content-Id", "body@ff3af301-3196-497a-a918-72147c871a13"),
            ],
            b"First Message",
        ),
    ]
    assert build_multipart(parts, BOUNDARY) == BODY


@given(
    st.lists(
        st.one_of(st.binary(max_size=80), st.just(BODY), st.just(DELIMITER + b"--")), min_size=1, max_size=5
    )
)
def test_built_parts_come_back_whatever_they_hold(datas: list[bytes]) -> None:
    body = build_multipart([([("Content-Type", "a/b")], data) for data in datas], BOUNDARY)
    found = parse_multipart(CONTENT_TYPE, body)
    assert [part.data for part in found.parts] == datas
    assert {problem.code for problem in found.problems} <= {"mime.delimiter-inside"}


@given(st.binary(max_size=400), st.lists(st.tuples(st.integers(0, 500), st.integers(0, 255)), max_size=4))
def test_any_body_is_kept(noise: bytes, changes: list[tuple[int, int]]) -> None:
    body = bytearray(noise[:100] + BODY + noise[100:])
    for at, byte in changes:
        body[at % len(body)] = byte
    found = parse_multipart(CONTENT_TYPE, bytes(body))
    end = len(found.preamble)
    for part in found.parts:
        assert part.offset >= end
        assert body[part.offset : part.offset + len(part.data)] == part.data
        end = part.offset + len(part.data)
    assert end + len(found.epilogue) <= len(body)
    assert body.startswith(found.preamble)
    assert body.endswith(found.epilogue)


def test_the_order_of_parts_is_free_and_start_names_the_root() -> None:
    body = build_multipart(
        [([("Content-Id", "<body@1>")], b"data"), ([("Content-Id", "<soap@1>")], ENVELOPE)], "b"
    )
    found = parse_multipart('multipart/related; start="<soap@1>"; boundary=b', body)
    assert found.start == "<soap@1>"
    assert found.root is not None
    assert found.root.data == ENVELOPE
    absent = parse_multipart('multipart/related; start="<other>"; boundary=b', body)
    assert absent.root == absent.parts[0]


def test_preamble_and_epilogue_are_kept() -> None:
    found = parse_multipart(CONTENT_TYPE, b"before\r\n" + BODY + b"behind")
    assert (found.preamble, found.epilogue) == (b"before\r\n", b"\r\nbehind")


def test_a_line_end_before_the_delimiter_belongs_to_it_unless_content_length_counts_it() -> None:
    plain = b"--b\r\n\r\ndata\r\n--b--"
    assert parse_multipart("multipart/related; boundary=b", plain).parts[0].data == b"data"
    four = b"--b\r\nContent-Length: 4\r\n\r\ndata\r\n--b--"
    six = four.replace(b": 4", b": 6")
    for body, data in ((four, b"data"), (six, b"data\r\n")):
        found = parse_multipart("multipart/related; boundary=b", body)
        assert found.parts[0].data == data
        assert found.problems == ()


@pytest.mark.parametrize("claimed", [b"0", b"12", b"14", b"99999999999999999999999", b"-1", b"13, 13", b""])
def test_the_delimiter_wins_over_a_content_length_that_lies(claimed: bytes) -> None:
    body = BODY.replace(b"Content-Length: 13", b"Content-Length: " + claimed)
    found = parse_multipart(CONTENT_TYPE, body)
    assert found.parts[1].data == b"First Message"
    assert [problem.code for problem in found.problems] == ["mime.content-length"]
    assert found.problems[0].path == "parts[1]"
    assert found.problems[0].offset == found.parts[1].offset


def test_content_length_decides_where_the_data_holds_the_delimiter() -> None:
    inner = b"a\r\n--b\r\nz"
    body = b"--b\r\nContent-Length: 9\r\n\r\n" + inner + b"--b--"
    found = parse_multipart("multipart/related; boundary=b", body)
    assert [part.data for part in found.parts] == [inner]
    assert [problem.code for problem in found.problems] == ["mime.delimiter-inside"]


def test_a_body_without_closing_delimiter_gives_all_its_parts() -> None:
    cut = BODY.removesuffix(DELIMITER + b"--\r\n")
    found = parse_multipart(CONTENT_TYPE, cut)
    assert [part.data for part in found.parts] == [ENVELOPE, b"First Message"]
    assert [problem.code for problem in found.problems] == ["mime.no-close"]
    shorter = parse_multipart(CONTENT_TYPE, cut[:-4])
    assert shorter.parts[1].data == b"First Mes"
    assert [problem.code for problem in shorter.problems] == ["mime.content-length", "mime.no-close"]


def test_xml_alone_is_one_part() -> None:
    found = parse_multipart("text/xml", ENVELOPE)
    assert found.content_type == "text/xml"
    assert [part.data for part in found.parts] == [ENVELOPE]
    assert found.root is not None
    assert (found.root.offset, found.root.content_type) == (0, "text/xml")
    assert found.problems == ()


def test_a_boundary_that_is_not_said_is_taken_from_the_first_line() -> None:
    found = parse_multipart("multipart/related", BODY)
    assert [part.data for part in found.parts] == [ENVELOPE, b"First Message"]
    assert [problem.code for problem in found.problems] == ["mime.boundary"]
    hidden = parse_multipart("multipart/related", b"x" + BODY)
    assert (hidden.parts, hidden.preamble, hidden.root) == ((), b"x" + BODY, None)


def test_a_body_without_the_delimiter_is_preamble() -> None:
    found = parse_multipart("multipart/related; boundary=other", BODY)
    assert found.parts == ()
    assert found.preamble == BODY
    assert [problem.code for problem in found.problems] == ["mime.no-part"]


def test_a_longer_boundary_that_begins_alike_is_data() -> None:
    body = b"--b\r\n\r\none--bc\r\ntwo\r\n--b--"
    assert parse_multipart("multipart/related; boundary=b", body).parts[0].data == b"one--bc\r\ntwo"


def test_a_part_without_an_empty_line_is_data() -> None:
    found = parse_multipart("multipart/related; boundary=b", b"--b\r\nno headers here--b--")
    assert found.parts[0].data == b"no headers here"
    assert [problem.code for problem in found.problems] == ["mime.headers"]


def test_parts_beyond_the_limit_are_epilogue() -> None:
    body = b"--b\r\n\r\nx" * (MAX_PARTS + 5) + b"--b--"
    found = parse_multipart("multipart/related; boundary=b", body)
    assert len(found.parts) == MAX_PARTS
    assert found.epilogue.count(b"--b") == 5
    assert [problem.code for problem in found.problems] == ["mime.part-count"]


def test_headers_of_a_part_may_be_folded_and_repeated() -> None:
    body = b"--b\r\nContent-Type: text/xml;\r\n\tcharset=UTF-8\r\nX: 1\r\nx: 2\r\n\r\nd--b--"
    part = parse_multipart("multipart/related; boundary=b", body).parts[0]
    assert part.headers == ((b"Content-Type", b"text/xml; charset=UTF-8"), (b"X", b"1"), (b"x", b"2"))
    assert part.header("X") == "1"
    assert part.header("content-length") is None


@pytest.mark.parametrize(
    ("value", "media", "parameters"),
    [
        (
            'multipart/related; boundary="MSMQ - SOAP boundary, 26500"; type=text/xml',
            "multipart/related",
            {"boundary": "MSMQ - SOAP boundary, 26500", "type": "text/xml"},
        ),
        (
            "Multipart/Related;BOUNDARY=a b, c ;type=x",
            "multipart/related",
            {"boundary": "a b, c", "type": "x"},
        ),
        (r'm/r; boundary="a\"b\\c"', "m/r", {"boundary": 'a"b\\c'}),
        ('m/r; boundary="never closed', "m/r", {"boundary": "never closed"}),
        ("m/r; a=1; a=2", "m/r", {"a": "1"}),
        ('m/r; a="x; b=y"', "m/r", {"a": "x; b=y"}),
        ("", "", {}),
        (";;;=;", "", {}),
    ],
)
def test_a_content_type_gives_its_parameters(value: str, media: str, parameters: dict[str, str]) -> None:
    assert parse_content_type(value) == (media, parameters)


@pytest.mark.parametrize("boundary", ["", "x" * 71, 'a"b', "a\r\nb", "blank ", "caf\xe9"])
def test_a_boundary_that_cannot_be_written_is_refused(boundary: str) -> None:
    with pytest.raises(EncodeError):
        build_multipart([([], b"")], boundary)


@pytest.mark.parametrize("header", [("A\r\nB", "x"), ("A", "x\r\nB: y"), ("", "x"), ("A", "\u20ac")])
def test_a_header_that_cannot_be_written_is_refused(header: tuple[str, str]) -> None:
    with pytest.raises(EncodeError):
        build_multipart([([header], b"")], "b")


def test_a_body_without_parts_is_not_built() -> None:
    with pytest.raises(EncodeError):
        build_multipart([], "b")


@pytest.mark.slow
def test_a_large_body_of_near_delimiters_is_read_once() -> None:
    body = b"--b\r\nContent-Length: 7\r\n\r\n" + b"--b " * 500_000 + b"x"
    found = parse_multipart("multipart/related; boundary=b", body)
    assert [problem.code for problem in found.problems] == ["mime.content-length", "mime.no-close"]
    assert found.parts[0].data == b"--b --b"
    assert len(found.epilogue) == 2_000_001 - 7
