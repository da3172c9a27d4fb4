"""Every form a packet may come in gives the same bytes, and what is in no form is refused."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.cli.packet_input import PacketInput, read_packet_input
from msmq_wire.errors import MsmqWireError
from tests.hex_files import hex_bytes

# A ping: flags, "HU", cookie, GUID.
PING = bytes.fromhex("017d4855 04000000 d1587355 50919595 4997b6e6 11ea26c6")

XXD = b"""00000000: 017d 4855 0400 0000 d158 7355 5091 9595  .}HU.....XsUP...
00000010: 4997 b6e6 11ea 26c6                      I.....&.
"""
HEXDUMP = b"""00000000  01 7d 48 55 04 00 00 00  d1 58 73 55 50 91 95 95  |.}HU.....XsUP...|
00000010  49 97 b6 e6 11 ea 26 c6                           |I.....&.|
00000018
"""
WIRESHARK = b"""0000   01 7d 48 55 04 00 00 00 d1 58 73 55 50 91 95 95   .}HU.....XsUP...
0010   49 97 b6 e6 11 ea 26 c6                           I.....&.
"""
C_ARRAY = b"""static const unsigned char pkt1[24] = {
0x01, 0x7d, 0x48, 0x55, 0x04, 0x00, 0x00, 0x00, /* .}HU.... */
0xd1, 0x58, 0x73, 0x55, 0x50, 0x91, 0x95, 0x95, /* .XsUP... */
0x49, 0x97, 0xb6, 0xe6, 0x11, 0xea, 0x26, 0xc6  // I.....&.
};
"""
ESCAPED = (
    b'"\\x01\\x7d\\x48\\x55\\x04\\x00\\x00\\x00\\xd1\\x58\\x73\\x55" \\\n'
    b'"\\x50\\x91\\x95\\x95\\x49\\x97\\xb6\\xe6\\x11\\xea\\x26\\xc6"\n'
)
COMMENTED = (
    b"# a ping\n01 7d 48 55 # flags, signature\n04000000\nd158735550919595,4997b6e6 0x11 0xea 0x26 0xc6\n"
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (PING, "bytes"),
        (PING.hex().encode(), "hex text"),
        (PING.hex(":").upper().encode(), "hex text"),
        (PING.hex(" ").encode() + b"\r\n", "hex text"),
        (b", ".join(b"0x%02x" % byte for byte in PING), "hex text"),
        (COMMENTED, "hex text"),
        (XXD, "xxd dump"),
        (HEXDUMP, "hex dump"),
        (WIRESHARK, "hex dump"),
        (C_ARRAY, "C array"),
        (ESCAPED, "escaped string"),
        (base64.encodebytes(PING), "base64"),
        (base64.urlsafe_b64encode(PING).rstrip(b"="), "base64"),
        (b"\xff\xfe" + PING.hex(" ").encode("utf-16-le"), "hex text"),
        (b"\xef\xbb\xbf" + XXD, "xxd dump"),
    ],
)
def test_every_form_gives_the_bytes(text: bytes, form: str) -> None:
    found = read_packet_input(text)
    assert found.data == PING
    assert found.form == form


def test_bytes_with_the_signature_are_bytes_even_if_all_of_them_are_text() -> None:
    text = b"abcdLIOR and nothing but text"
    assert read_packet_input(text).data == text


def test_hex_digits_are_hex_even_where_base64_could_be_made_of_them() -> None:
    assert read_packet_input(b"deadbeef").data == b"\xde\xad\xbe\xef"


def test_a_text_that_only_ping_bytes_explain_is_bytes() -> None:
    text = b"!!HU!!!!................"
    assert read_packet_input(text).data == text


_HEX_FIXTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures").rglob("*.hex"))


@pytest.mark.slow
@pytest.mark.parametrize("kind_given", [False, True])
def test_every_hex_text_of_this_project_is_read_with_its_comments(kind_given: bool) -> None:
    wrong = []
    for path in _HEX_FIXTURES:
        data = hex_bytes(path)
        found = read_packet_input(path.read_bytes(), kind_given=kind_given)
        if (found.data, found.form) != (data, "hex text"):
            wrong.append(path.name)
    assert len(_HEX_FIXTURES) > 200
    assert wrong == []


@pytest.mark.parametrize("mark", ["{", "}", "\\x41", "0000  10 00", "TElPUg=="])
def test_a_comment_of_hex_text_may_hold_what_other_forms_begin_with(mark: str) -> None:
    text = f"# {mark} {{ \\x\n{PING.hex(' ')} # {mark}\n# {mark}\n"
    assert read_packet_input(text.encode()) == PacketInput(PING, "hex text")


def test_a_c_array_on_a_line_of_the_preprocessor_is_still_one() -> None:
    text = f"#define PACKET {{ {', '.join(map(hex, PING))} }}\n"
    assert read_packet_input(text.encode()) == PacketInput(PING, "C array")


def test_hex_groups_that_look_like_an_offset_are_hex() -> None:
    assert read_packet_input(b"00000000 48550000 01020304").data.hex() == "000000004855000001020304"


def test_a_star_in_a_dump_repeats_the_line_before_it() -> None:
    dump = b"00000000  41 41 41 41 41 41 41 41  41 41 41 41 41 41 41 41  |AAAAAAAAAAAAAAAA|\n*\n00000040\n"
    assert read_packet_input(dump).data == b"A" * 64


def test_a_dump_with_a_missing_line_is_refused() -> None:
    with pytest.raises(MsmqWireError, match=r"16 bytes before offset 0x0020"):
        read_packet_input(WIRESHARK.replace(b"0010", b"0020"))


def test_letters_behind_a_short_line_are_no_bytes() -> None:
    dump = b"0000   ab cd                                             ab\n"
    assert read_packet_input(dump).data == b"\xab\xcd"


def test_the_first_of_several_dumps_counts() -> None:
    assert read_packet_input(WIRESHARK + b"\n" + WIRESHARK.replace(b"7d", b"00")).data == PING


def test_a_dumped_frame_gives_what_it_carries() -> None:
    udp = struct.pack(">HHHH", 3527, 3527, 32, 0) + PING
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0) + bytes(
        [192, 0, 2, 1, 192, 0, 2, 2]
    )
    frame = bytes(12) + b"\x08\x00" + ip + udp
    assert read_packet_input(frame.hex(" ").encode()).data == PING


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "empty"),
        (b" \n\t", "white space"),
        (b"Dear diary, nothing happened.\n", "no hex text"),
        (b"abc", "odd number"),
        (b"{ 0x01, 300 }", "element 2"),
        (b"{ 0x01, ", "closing brace"),
        (b"\xd4\xc3\xb2\xa1" + bytes(20), "decode"),
        (b"\x0a\x0d\x0d\x0a" + bytes(20), "decode"),
    ],
)
def test_what_is_in_no_form_is_refused_in_words(raw: bytes, message: str) -> None:
    with pytest.raises(MsmqWireError, match=message):
        read_packet_input(raw)


def outcome(raw: bytes) -> bytes | str:
    """The bytes that were found, or the message of the error."""
    try:
        return read_packet_input(raw).data
    except MsmqWireError as error:
        return str(error)


@given(st.binary(min_size=1, max_size=200))
def test_any_bytes_give_bytes_or_one_error(raw: bytes) -> None:
    found = outcome(raw)
    assert isinstance(found, bytes) or (found and "\n" not in found)


@given(st.text(alphabet="0123456789abcdef \n:*|{}x,\\", max_size=200))
def test_any_text_of_digits_and_marks_gives_bytes_or_one_error(text: str) -> None:
    found = outcome(text.encode())
    assert isinstance(found, bytes) or (found and "\n" not in found)


@given(st.binary(min_size=1, max_size=300))
def test_hex_of_any_bytes_gives_them_unless_they_are_a_frame(data: bytes) -> None:
    assert data.endswith(read_packet_input(data.hex(" ").encode()).data)
