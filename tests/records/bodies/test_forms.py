"""XML and JSON in bodies: what is well-formed, how it is laid out, and what is refused."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.records.bodies import layout, open_body
from msmq_wire.records.bodies.json_text import pretty_json
from msmq_wire.records.bodies.xml_text import pretty_xml, xml_form

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def test_xml_has_a_line_for_each_element() -> None:
    assert pretty_xml('<a><b c="&quot;1&quot;">x &amp; y</b><d/><e> </e></a>') == (
        '<a>\n  <b c="&quot;1&quot;">x &amp; y</b>\n  <d/>\n  <e> </e>\n</a>'
    )


def test_text_beside_elements_is_kept() -> None:
    shown = pretty_xml("<a>one <b>two</b> three</a>")
    assert shown == "<a>one <b>two</b> three</a>"


def test_layout_of_the_sender_is_replaced() -> None:
    assert pretty_xml("<a>\n\t<b/>\n\t<!--c--><?d e?></a>") == "<a>\n  <b/>\n  <!--c-->\n  <?d e?>\n</a>"


@given(st.lists(st.text("abc <&>\"'", max_size=5), min_size=1, max_size=5))
def test_laid_out_xml_says_the_same(texts: list[str]) -> None:
    root = ElementTree.Element("root")
    for text in texts:
        ElementTree.SubElement(root, "item", {"n": text}).text = text
    shown = pretty_xml(ElementTree.tostring(root, "unicode"))
    assert shown is not None
    again = ElementTree.fromstring(shown)
    assert [(item.get("n"), item.text or "") for item in again] == [(text, text) for text in texts]


@pytest.mark.parametrize(
    ("text", "form", "confidence"),
    [
        ("<a><b/></a>", "well-formed", "certain"),
        ("<a><b/>", "cut", "likely"),
        ("<a><b", "cut", "likely"),
        ("<a></b>", "malformed", "guess"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "document-type", "likely"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "document-type", "likely"),
        ("<a>" * 10_000, "too-deep", "likely"),
        ("<a>" + " " * (1 << 20) + "</a>", "too-large", "likely"),
        ("<a>&undeclared;</a>", "malformed", "guess"),
    ],
)
def test_xml_is_read_as_far_as_it_is_safe(text: str, form: str, confidence: str) -> None:
    assert xml_form(text)[0] == form
    body = open_body(text.encode(), 0)
    assert (body.kind, body.text, body.confidence) == ("xml", text, confidence)
    if form != "well-formed":
        assert ("form", form) in body.details
        assert layout(body) == text


def test_an_encoding_that_the_declaration_names_is_not_looked_up() -> None:
    text = '<?xml version="1.0" encoding="no-such-codec"?><a>ö</a>'
    assert xml_form(text) == ("well-formed", "a")
    assert xml_form(text.replace("no-such-codec", "utf-16")) == ("well-formed", "a")


def test_json_keeps_its_tokens() -> None:
    text = '{"a":[1.50,{}],"a":1e400,"b":"x\\u00e9, {"}'
    assert pretty_json(text) == '{\n  "a": [\n    1.50,\n    {}\n  ],\n  "a": 1e400,\n  "b": "x\\u00e9, {"\n}'


@given(JSON)
def test_laid_out_json_says_the_same(value: object) -> None:
    shown = pretty_json(json.dumps(value))
    assert shown is not None
    assert json.loads(shown) == value


def test_laid_out_json_is_like_that_of_another_writer() -> None:
    value = {"a": [1, 2, {"b": None}], "c": {}, "d": []}
    assert pretty_json(json.dumps(value)) == json.dumps(value, indent=2)


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 65 + "]" * 65, '["' + '\\"' * 100_000, "[1,", "{]"])
def test_json_that_is_deep_or_broken_is_text(text: str) -> None:
    assert open_body(text.encode(), 0).kind == "text"
    assert pretty_json(text) is None


def test_an_integer_of_a_million_digits_is_no_trouble() -> None:
    assert open_body(b"[" + b"9" * 1_000_000 + b"]", 0).kind == "json"


def test_xml_of_one_mebibyte_is_laid_out_and_more_is_not() -> None:
    text = "<a><b/>" + " " * ((1 << 20) - 11) + "</a>"
    assert pretty_xml(text) == "<a>\n  <b/>\n</a>"
    assert xml_form(text) == ("well-formed", "a")
    assert pretty_xml(text + " ") is None
