"""Markup: whatever comes in is text, and stays text."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from msmq_wire.markup import Markup, escaped, joined, script_json, tag, visible
from tests.report.pages import Page

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</script><script>alert(1)</script>",
    "</style></title></textarea>--><!--<svg onload=alert(1)>",
    "&lt;b&gt; &#60;i&#62;",
    "javascript:alert(1)",
    "a\u2028b\u2029c",
    "\u202egnp.exe\u202c \u200f\u2066x\u2069",
    "\x00\x1b[2J\r\n\t\x7f\x9b",
    "\ud800\udc00 \udfff",
    "]]><![CDATA[",
    "{{7*7}}${7*7}`",
    "\ufeff\u00ad\u200d\U000e0041",
)


@pytest.mark.slow
@given(st.text(st.characters()))
@example("</script>")
@example("\ud800")
def test_any_text_comes_back_from_an_element_as_it_shows(text: str) -> None:
    page = Page(tag("p", text, title=text))
    shown = visible(text, 4000)
    assert page.elements == [("p", {"title": shown})]
    assert "".join(data for _, data in page.texts) == (shown if shown.strip() else "")


@given(st.text(st.characters()))
@example("</script><!--\u2028")
def test_data_of_a_script_is_ascii_without_markup_and_comes_back(text: str) -> None:
    data = script_json({"label": [text]})
    assert data.isascii()
    assert not set(data) & set("<>&'")
    assert json.loads(data) == {"label": [text]}


def test_hostile_texts_make_no_element_and_no_attribute() -> None:
    for text in HOSTILE:
        page = Page(tag("div", text, tag("a", text, href="#x", title=text), id="y", class_=text))
        assert [name for name, _ in page.elements] == ["div", "a"]
        assert [sorted(attributes) for _, attributes in page.elements] == [["class", "id"], ["href", "title"]]


def test_what_turns_the_reading_direction_has_its_number_shown() -> None:
    assert visible("a\u202eb\u2028\x1b\n\ufeff") == "a\\u202eb\\u2028\\x1b\\n\\ufeff"
    assert visible("\U000e0041\ud800") == "\\U000e0041\\ud800"
    assert visible("Grüße, 東京 😀") == "Grüße, 東京 😀"


def test_long_text_is_cut_and_says_so() -> None:
    assert visible("x" * 401) == "x" * 400 + "…"
    assert visible("x" * 400) == "x" * 400


def test_markup_is_not_escaped_twice_but_in_an_attribute_it_is_text() -> None:
    bold = tag("b", "a < b")
    assert bold == "<b>a &lt; b</b>"
    assert joined(bold, None, "&") == "<b>a &lt; b</b>&amp;"
    assert tag("p", bold, title=bold) == '<p title="&lt;b&gt;a &amp;lt; b&lt;/b&gt;"><b>a &lt; b</b></p>'


def test_attributes_that_are_none_or_false_are_left_out() -> None:
    assert (
        tag("input", hidden=True, id=None, disabled=False, aria_label="x") == '<input hidden aria-label="x">'
    )
    assert tag("path", d="M0 0", viewBox=1) == '<path d="M0 0" viewBox="1"></path>'


def test_numbers_become_text() -> None:
    assert escaped(12) == "12"
    assert isinstance(escaped(12), Markup)
