"""Bodies by what they hold: text, marks, compressed data, and any bytes at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.bodies import Body, layout, open_body, preview

LOCAL_FILE = BytesIO()
with zipfile.ZipFile(LOCAL_FILE, "w") as _archive:
    _archive.writestr("a.txt", "a")


@pytest.mark.parametrize(
    ("body", "body_type", "kind", "text"),
    [
        (b'<?xml version="1.0"?><a/>', 0, "xml", '<?xml version="1.0"?><a/>'),
        (b"\xef\xbb\xbf<a/>", 0, "xml", "<a/>"),
        (b'{"a": 1}', 0, "json", '{"a": 1}'),
        (b"{not json", 0, "text", "{not json"),
        (b"<3 you", 0, "text", "<3 you"),
        ("Größe".encode(), 0, "text", "Größe"),
        ("Größe".encode("utf-16-le") + b"\0\0", 8, "text", "Größe"),
        ("plain".encode("utf-16-le"), 0, "text", "plain"),
        ("plain".encode("utf-16-be"), 0, "text", "plain"),
        ("Größe".encode("utf-16"), 0, "text", "Größe"),
        (b"\xfe\xff" + "Größe".encode("utf-16-be"), 1, "text", "Größe"),
        ("Größe".encode()[:3], 0, "text", "Gr"),
        (b"\x00\x01\x00\x00\x00\xff\xff\xff\xff\x01", 0x300, "binary", None),
        (b"abc\x1b[0m", 0, "binary", None),
        (b"", 0, "binary", None),
        (b"", None, "binary", None),
        (b"plain", None, "text", "plain"),
    ],
)
def test_a_body_is_opened_by_what_it_holds(
    body: bytes, body_type: int | None, kind: str, text: str | None
) -> None:
    found = open_body(body, body_type)
    assert (found.kind, found.text) == (kind, text)


@pytest.mark.parametrize(
    ("data", "title", "extension"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x02", "PNG image", "png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "JPEG image", "jpg"),
        (b"GIF89a\1\0\1\0", "GIF image", "gif"),
        (b"%PDF-1.7\n%\xe2\xe3", "PDF document", "pdf"),
        (LOCAL_FILE.getvalue(), "ZIP archive", "zip"),
        (bz2.compress(b"a"), "bzip2 data", "bz2"),
        (lzma.compress(b"a"), "xz data", "xz"),
        (b"MZ" + bytes(58) + b"\x40\0\0\0PE\0\0", "Windows program", "exe"),
        (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", "BMP image", "bmp"),
        (b"RIFF\x1a\0\0\0WEBPVP8 ", "WebP image", "webp"),
    ],
)
def test_a_file_is_named_by_its_mark(data: bytes, title: str, extension: str) -> None:
    body = open_body(data, 0)
    assert (body.title, body.extension, body.confidence, body.text) == (title, extension, "likely", None)
    assert preview(body) == title


def test_an_image_says_its_size() -> None:
    body = open_body(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x02", 0)
    assert body.details == (("width", "2"), ("height", "3"))


def _deflate(data: bytes, level: int = 6, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    stream = zlib.compressobj(level, wbits=-15, strategy=strategy)
    return stream.compress(data) + stream.flush()


TEXT = b'{"order": 17, "lines": [1, 2, 3], "note": "as agreed"}'


@pytest.mark.parametrize(
    ("data", "kind", "confidence"),
    [
        (gzip.compress(TEXT, mtime=0), "gzip", "certain"),
        (zlib.compress(TEXT), "zlib", "certain"),
        (_deflate(TEXT), "deflate", "likely"),
        (_deflate(TEXT, 0), "deflate", "likely"),
        (_deflate(TEXT, strategy=zlib.Z_FIXED), "deflate", "likely"),
        (gzip.compress(TEXT, mtime=0)[:-4], "gzip", "likely"),
    ],
)
def test_compressed_data_says_what_is_inside(data: bytes, kind: str, confidence: str) -> None:
    body = open_body(data, 0)
    assert (body.kind, body.confidence, body.text) == (kind, confidence, TEXT.decode())
    assert dict(body.details)["content"] == "json"


@pytest.mark.slow
def test_a_bomb_is_unpacked_to_one_mebibyte_only() -> None:
    body = open_body(gzip.compress(bytes(20 << 20)), 0)
    details = dict(body.details)
    assert (body.kind, details["unpacked"]) == ("gzip", "at least 1048576 bytes")
    assert "limit" in details


def test_what_was_unpacked_is_not_unpacked_again() -> None:
    body = open_body(gzip.compress(gzip.compress(TEXT, mtime=0)), 0)
    assert dict(body.details)["content"] == "binary"


def test_gzip_data_with_a_wrong_check_sum_is_bytes() -> None:
    data = bytearray(gzip.compress(TEXT, mtime=0))
    data[-5] ^= 1
    assert open_body(bytes(data), 0).kind == "binary"


def check(body: Body) -> None:
    assert body.extension.isalnum()
    assert len(preview(body, 40)) <= 40
    assert preview(body, 40).isprintable()
    shown = layout(body)
    assert shown is None or isinstance(shown, str)
    if body.text is not None:
        assert body.text.encode("utf-8").decode("utf-8") == body.text


@given(st.binary(max_size=200), st.integers(0, 0xFFFFFFFF) | st.integers(0, 80), st.binary(max_size=50))
def test_any_body_is_opened(data: bytes, body_type: int, extension: bytes) -> None:
    body = open_body(data, body_type, extension=extension)
    check(body)
    assert body == open_body(data, body_type, extension=extension)


PREFIXES = (
    bytes.fromhex("0001000000ffffffff0100000000000000"),
    bytes.fromhex("00010001040201610308"),
    b"\x1f\x8b\x08\0\0\0\0\0\0\0",
    b"<a>",
    b"[",
    b"\xff\xfe",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
)


@given(st.sampled_from(PREFIXES), st.binary(max_size=300), st.sampled_from([0, 8, 30, 68, 69, 0x300, 0x1003]))
def test_any_body_behind_a_known_beginning_is_opened(prefix: bytes, rest: bytes, body_type: int) -> None:
    check(open_body(prefix + rest, body_type))


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=50))
def test_text_with_a_byte_order_mark_comes_back(text: str) -> None:
    for encoding in ("utf-8-sig", "utf-16"):
        assert open_body(text.encode(encoding), 0).text == text
