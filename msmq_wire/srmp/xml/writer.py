"""XML text from elements, with the prefixes and namespace declarations that Windows writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msmq_wire.errors import EncodeError
from msmq_wire.srmp.xml.element_tree import MAX_DEPTH, Attribute, Element

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
"""Always written with the prefix ``se``."""
SRMP = "http://schemas.xmlsoap.org/srmp/"
"""The default namespace of the envelope."""

_XML = "http://www.w3.org/XML/1998/namespace"
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = _IN_TEXT | str.maketrans({"\n": "&#10;", "\t": "&#9;", '"': "&quot;"})


def write_xml(root: Element) -> bytes:
    """The element in UTF-8, without declaration and white space of its own.

    The root declares ``se`` and the SRMP namespace; another namespace is declared where it begins. Raises
    EncodeError for a name or a character that XML cannot hold and for nesting deeper than MAX_DEPTH.
    """
    return "".join(_written(root, None, 1)).encode("utf-8")


def _written(element: Element, default: str | None, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise EncodeError(f"elements nested deeper than {MAX_DEPTH}", path=element.name)
    tag = _name(element.name)
    declared = []
    if default is None:
        default = SRMP
        declared = [f'xmlns:se="{SOAP}"', f'xmlns="{SRMP}"']
    if element.namespace == SOAP:
        tag = f"se:{tag}"
    elif element.namespace == _XML:
        # Bound to its prefix for good.
        tag = f"xml:{tag}"
    elif element.namespace != default:
        default = element.namespace
        declared = [*declared[:1], f'xmlns="{_attribute(default)}"']
    attributes = [part for n, one in enumerate(element.attributes) for part in _attributes(one, n)]
    opening = " ".join([tag, *declared, *attributes])
    if not element.text and not element.children and element.namespace != SOAP:
        yield f"<{opening}/>"
        return
    yield f"<{opening}>"
    yield _legal(element.text).translate(_IN_TEXT)
    for child in element.children:
        yield from _written(child, default, depth + 1)
    yield f"</{tag}>"


def _attributes(attribute: Attribute, number: int) -> list[str]:
    name, value = _name(attribute.name), _attribute(attribute.value)
    if not attribute.namespace:
        return [f'{name}="{value}"']
    if attribute.namespace in (SOAP, _XML):
        return [f'{"se" if attribute.namespace == SOAP else "xml"}:{name}="{value}"']
    return [f'xmlns:a{number}="{_attribute(attribute.namespace)}"', f'a{number}:{name}="{value}"']


def _attribute(value: str) -> str:
    return _legal(value).translate(_IN_ATTRIBUTE)


def _name(name: str) -> str:
    # XML names hold a few characters more (a middle dot, combining marks of their own): a parsed one may.
    if not name or _ILLEGAL.search(name) or re.search(r"[\s<>&'\"=/:]", name) or name[0] in "-.0123456789":
        raise EncodeError(f"{name[:40]!r} is no XML name")
    return name


def _legal(text: str) -> str:
    found = _ILLEGAL.search(text)
    if found:
        raise EncodeError(f"U+{ord(found.group()):04X} cannot be written in XML")
    return text
