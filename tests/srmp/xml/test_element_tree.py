"""XML from the network: one problem, and the tree as far as it was read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.errors import EncodeError
from msmq_wire.srmp.xml.element_tree import Attribute, Element, XmlTree, parse_xml, unplaced
from msmq_wire.srmp.xml.writer import SOAP, SRMP, write_xml


def _code(tree: XmlTree) -> str:
    assert tree.problem is not None
    return tree.problem.code


def test_an_element_knows_its_bytes() -> None:
    data = b'<a x=">"><b y="\'>"/> <c>t</c ></a>\n'
    root = parse_xml(data).root
    assert root is not None
    assert [data[one.offset : one.offset + one.length] for one in root.children] == [
        b'<b y="\'>"/>',
        b"<c>t</c >",
    ]
    assert (root.offset, root.length) == (0, len(data) - 1)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_utf_16_offsets_count_bytes_of_the_input(encoding: str, mark: str) -> None:
    text = mark + "<a><b>\u00e9\U0001f600</b></a>"
    data = text.encode(encoding)
    tree = parse_xml(data + b"\0\0")
    assert tree.problem is None
    assert tree.root is not None
    (child,) = tree.root.children
    assert data[child.offset : child.offset + child.length].decode(encoding) == "<b>\u00e9\U0001f600</b>"


def test_a_byte_order_mark_of_utf_8_is_no_text() -> None:
    tree = parse_xml(b"\xef\xbb\xbf<a/>")
    assert tree == XmlTree(root=Element("", "a", offset=3, length=4), problem=None, encoding="UTF-8")


def test_namespaces_are_resolved_on_elements_and_attributes() -> None:
    root = parse_xml(b'<p:a xmlns:p="urn:1" xmlns="urn:2" p:x="1" y="2"><b/></p:a>').root
    assert root is not None
    assert (root.namespace, root.name) == ("urn:1", "a")
    assert root.attributes == (Attribute("urn:1", "x", "1"), Attribute("", "y", "2"))
    assert root.children[0].namespace == "urn:2"


BOMB = b'<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]><a>&c;</a>'
EXTERNAL = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'


@pytest.mark.parametrize(
    ("data", "code", "offset"),
    [
        (b"<a>&b;</a>", "xml.entity", 3),
        (b"<a><?php echo?></a>", "xml.processing-instruction", 3),
        (b"<a>\xff\xfe</a>", "xml.not-well-formed", 3),
        (b"<a>\0</a>", "xml.not-well-formed", 3),
        (b"<a><b></a>", "xml.not-well-formed", 8),
        (b"", "xml.not-well-formed", 0),
        (b"<p:a/>", "xml.not-well-formed", 0),
        (b"<a/><b/>", "xml.not-well-formed", 4),
    ],
)
def test_hostile_xml_is_one_problem_at_its_place(data: bytes, code: str, offset: int) -> None:
    problem = parse_xml(data).problem
    assert problem is not None
    assert (problem.code, problem.offset) == (code, offset)


@pytest.mark.parametrize("data", [BOMB, EXTERNAL, b'<!DOCTYPE a SYSTEM "http://192.0.2.1/a.dtd"><a/>'])
def test_a_document_type_ends_the_reading_inside_of_it(data: bytes) -> None:
    tree = parse_xml(data)
    assert _code(tree) == "xml.doctype"
    assert tree.root is None
    assert tree.problem is not None
    assert tree.problem.offset <= data.index(b">")


def test_what_was_read_before_a_problem_is_there() -> None:
    root = parse_xml(b"<a><b>x</b><c>y<d>&z;").root
    assert root is not None
    assert [(one.name, one.text, one.length) for one in root.children] == [("b", "x", 8), ("c", "y", 7)]


@pytest.mark.parametrize(
    ("data", "unclosed"),
    [
        (b"<a><b>x</b><c>y<d>&z;", (0, 11, 15)),
        (b"<a><b/>", (0,)),
        (b"<a></a>\0", ()),
        (b"<?xml version='1.0' encoding='utf-16'?><a><b/></a>", ()),
        ("<a><b>".encode("utf-16-le"), (0, 6)),
    ],
)
def test_elements_without_their_end_are_known_by_their_offsets(
    data: bytes, unclosed: tuple[int, ...]
) -> None:
    tree = parse_xml(data)
    assert tree.problem is not None
    assert tree.unclosed == unclosed


@pytest.mark.parametrize("declared", ["utf-16", "windows-1252", "no-such-thing"])
def test_a_wrong_declaration_is_a_problem_and_the_bytes_are_read(declared: str) -> None:
    tree = parse_xml(f'<?xml version="1.0" encoding="{declared}"?><a>\u00e9</a>'.encode())
    assert _code(tree) == "xml.encoding"
    assert tree.root is not None
    assert tree.root.text == "\u00e9"


def test_ten_thousand_levels_end_at_the_sixty_fifth() -> None:
    tree = parse_xml(b"<a>" * 10_000)
    assert _code(tree) == "xml.depth"
    assert tree.problem is not None
    assert tree.problem.offset == 64 * 3
    element, depth = tree.root, 0
    while element is not None:
        element, depth = next(iter(element.children), None), depth + 1
    assert depth == 64


@pytest.mark.slow
def test_an_attribute_of_100_mb_is_refused_long_before_its_end() -> None:
    assert _code(parse_xml(b'<a x="' + b"y" * 100_000_000 + b'"/>')) == "xml.tag"


@pytest.mark.slow
def test_elements_and_attributes_are_counted() -> None:
    assert _code(parse_xml(b"<a>" + b"<b/>" * 10_000 + b"</a>")) == "xml.elements"
    assert parse_xml(b"<a>" + b"<b/>" * 9_999 + b"</a>").problem is None
    attributes = b"".join(b' a%d=""' % number for number in range(65))
    assert _code(parse_xml(b"<a" + attributes + b"/>")) == "xml.attributes"
    assert _code(parse_xml(b"<" + b"a" * 3000 + b"/>")) == "xml.name"


def test_a_name_is_judged_alike_in_every_encoding() -> None:
    for encoding in ("utf-8", "utf-16-le"):
        assert _code(parse_xml("<a\u00aa/>".encode(encoding))) == "xml.not-well-formed"
        assert parse_xml("<\u00e9/>".encode(encoding)).problem is None


def test_long_text_has_no_limit_but_the_input() -> None:
    root = parse_xml(b"<a>" + b"t" * 3_000_000 + b"</a>").root
    assert root is not None
    assert len(root.text) == 3_000_000


@given(st.binary(max_size=200))
def test_any_bytes_are_a_tree_or_a_problem(data: bytes) -> None:
    tree = parse_xml(data)
    assert tree.root is not None or tree.problem is not None


_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"),
    max_size=12,
)
XML = "http://www.w3.org/XML/1998/namespace"
_ATTRIBUTES = st.dictionaries(
    st.tuples(st.sampled_from(["", SOAP, XML, "urn:x"]), st.sampled_from("abc")), _TEXT
)
_ELEMENTS = st.recursive(
    st.just(()),
    lambda children: st.lists(
        st.builds(
            Element,
            st.sampled_from([SOAP, SRMP, XML, "urn:x", ""]),
            st.sampled_from(["a", "b", "Body"]),
            _ATTRIBUTES.map(lambda pairs: tuple(Attribute(*key, text) for key, text in pairs.items())),
            _TEXT,
            children,
        ),
        max_size=3,
    ).map(tuple),
    max_leaves=6,
)


@pytest.mark.slow
@given(_ELEMENTS)
def test_what_is_written_is_read_back(children: tuple[Element, ...]) -> None:
    root = Element(SOAP, "Envelope", children=children)
    tree = parse_xml(write_xml(root))
    assert tree.problem is None
    assert tree.root is not None
    assert unplaced(tree.root) == root


@pytest.mark.parametrize("text", ["\0", "\x0b", "\ud800", "\uffff"])
def test_a_character_that_xml_cannot_hold_is_not_written(text: str) -> None:
    with pytest.raises(EncodeError):
        write_xml(Element(SOAP, "Envelope", text=text))


@pytest.mark.parametrize("name", ["", "a b", "1a", "a:b", "a>"])
def test_what_is_no_name_is_not_written(name: str) -> None:
    with pytest.raises(EncodeError):
        write_xml(Element(SOAP, name))


def test_as_deep_as_is_read_is_written() -> None:
    def nested(depth: int) -> Element:
        element = Element(SOAP, "Envelope")
        for _ in range(depth - 1):
            element = Element(SOAP, "Envelope", children=(element,))
        return element

    tree = parse_xml(write_xml(nested(64)))
    assert tree.problem is None
    with pytest.raises(EncodeError, match="deeper than 64"):
        write_xml(nested(65))
