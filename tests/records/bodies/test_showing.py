"""Bodies in one line, in a few words, and laid out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.bodies import caption, layout, open_body, preview


def test_a_preview_is_one_line_that_can_be_printed() -> None:
    assert preview(open_body("a\r\n\t b\u202ec".encode(), 0)) == "a b\ufffdc"


def test_a_long_text_is_cut_to_the_width() -> None:
    shown = preview(open_body(b"x" * 1000, 0), 20)
    assert shown == "x" * 19 + "…"


@pytest.mark.parametrize("width", [0, 1, 2])
def test_a_narrow_column_is_never_exceeded(width: int) -> None:
    assert len(preview(open_body(b"text", 0), width)) == width


@given(st.text(max_size=100), st.integers(0, 50))
def test_a_preview_fits(text: str, width: int) -> None:
    shown = preview(open_body(text.encode("utf-16-le", "surrogatepass"), 8), width)
    assert len(shown) <= width
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("data", "body_type", "words"),
    [
        (b"<a/>", 0, "UTF-8 XML"),
        ("plain".encode("utf-16-le"), 8, "UTF-16 text"),
        (b"[1]", 0, "UTF-8 JSON"),
        (b"\x2a\0\0\0", 3, "42"),
        (b"\x80\x81", 0, ""),
        (b"%PDF-1.7", 0, "PDF document"),
    ],
)
def test_a_caption_says_what_it_is(data: bytes, body_type: int, words: str) -> None:
    assert caption(open_body(data, body_type)) == words


def test_a_layout_is_indented_text_or_the_details() -> None:
    assert layout(open_body(b"<a><b/></a>", 0)) == "<a>\n  <b/>\n</a>"
    assert layout(open_body(b"[1]", 0)) == "[\n  1\n]"
    assert layout(open_body(b"one\ntwo", 0)) == "one\ntwo"
    assert layout(open_body(b"\x80\x81", 0)) is None
    assert layout(open_body(b"\x80\x81", 65)) == "body_type: VT_BLOB"
