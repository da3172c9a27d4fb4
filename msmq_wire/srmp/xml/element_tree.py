"""Untrusted XML as a small tree: as far as it can be parsed, and at most one problem.

The parser is expat of the standard library. It reads in one pass without building anything, so every limit
can stop it at once, and it has no network access; lxml and defusedxml would add a dependency and still need
the limits below. SOAP 1.1 forbids a document type and processing instructions, so none is ever followed.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from xml.parsers import expat

import msgspec
from msgspec.structs import replace

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import DecodeError

MAX_DEPTH = 64
MAX_ELEMENTS = 10_000
MAX_ATTRIBUTES = 64
MAX_NAME = 2048
"""Characters of a name with its namespace."""
MAX_TAG = 1 << 18
"""Bytes of one tag or comment; text between tags has no limit but the input."""

_CHUNK = 1 << 16
# Does not occur in a namespace name: expat refuses one that contains it.
_SEPARATOR = "\n"
# Expat takes these in names of UTF-16 text, though XML does not and its own UTF-8 reading does not.
_NO_NAME = frozenset("\u00aa\u00b5\u00ba")
_UTF8_NAMES = ("utf-8", "utf8", "us-ascii")
_UTF16_NAMES = ("utf-16", "utf-16le", "utf-16be", "ucs-2", "unicode")
_DECLARED = re.compile(
    rb"\s{0,64}<\?xml\s[^>]{0,200}?\sencoding\s{0,8}=\s{0,8}[\"']([A-Za-z][A-Za-z0-9._-]{0,39})[\"']"
)
_READ = re.compile(
    r"iso8859-\d{1,2}|cp125\d|cp437|cp85\d|cp932|cp936|cp949|cp950|koi8-[ru]|gb2312|gbk|gb18030|big5|shift_jis|euc_jp|euc_kr"
)
"""Codecs of Python for encodings that XML is written in, each without a state."""
_STRIDE = 4096
"""Characters between two places of which it is known where they lie in text of another encoding."""
CUT = "\ufffd"
"""The end of a text in which the reading ended."""


class Attribute(msgspec.Struct, frozen=True):
    """An attribute; ``namespace`` is empty for one without prefix. Namespace declarations are none."""

    namespace: str
    name: str
    value: str


class Element(msgspec.Struct, frozen=True):
    """An element: ``text`` is its own character data joined, ``offset`` and ``length`` count input bytes.

    Two elements are equal when all of this is equal, positions too.
    """

    namespace: str
    name: str
    attributes: tuple[Attribute, ...] = ()
    text: str = ""
    children: tuple[Element, ...] = ()
    offset: int = 0
    length: int = 0


class XmlProblem(msgspec.Struct, frozen=True):
    """What is wrong with the document: ``code`` is stable, ``offset`` counts bytes of the input.

    Codes: ``xml.not-well-formed``, ``xml.doctype``, ``xml.entity``, ``xml.processing-instruction``,
    ``xml.depth``, ``xml.elements``, ``xml.attributes``, ``xml.name``, ``xml.tag``, ``xml.encoding``.
    All but ``xml.encoding`` end the reading. The offset of ``xml.doctype`` lies inside the declaration.
    """

    code: str
    message: str
    offset: int


class XmlTree(msgspec.Struct, frozen=True):
    """A document as far as it was read; elements that were open at the problem end there.

    ``unclosed`` are the offsets of those elements, from the root inwards; no two elements share an offset.
    """

    root: Element | None
    problem: XmlProblem | None
    encoding: str
    unclosed: tuple[int, ...] = ()


def parse_xml(data: bytes) -> XmlTree:
    """Read XML in UTF-8 or UTF-16, with or without byte order mark, or as it declares; never raises.

    One NUL that ends UTF-16 text is no part of it. Bytes that are UTF-8 or UTF-16 win over a declaration that
    names something else, which is a problem. Text of an element in which the reading ended ends with U+FFFD.
    """
    data = as_bytes(data)
    encoding, start, end = _encoding(data)
    declared = declared_encoding(data) if encoding == "UTF-8" and start == 0 else None
    if declared is None:
        reader = _Reader(encoding, start)
        problem = _named(reader.read(data, end) or _broken_text(data[start:end], encoding, start), data)
        return XmlTree(root=reader.root, problem=problem, encoding=encoding, unclosed=reader.unclosed)
    text = data.decode(declared)
    utf8 = text.encode("utf-8")
    reader = _Reader("UTF-8", 0, recoded=True)
    problem = reader.read(utf8, len(utf8))
    place = _Places(text, declared).raw
    return XmlTree(
        root=None if reader.root is None else _moved(reader.root, place),
        problem=None if problem is None else replace(problem, offset=place(problem.offset)),
        encoding=declared,
        unclosed=tuple(map(place, reader.unclosed)),
    )


def _broken_text(data: bytes, encoding: str, start: int) -> XmlProblem | None:
    """Half of a pair of UTF-16, which expat joins with whatever follows."""
    if encoding == "UTF-8":
        return None
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return XmlProblem(
            "xml.not-well-formed", f"a character that is none in {encoding}", start + error.start
        )
    return None


def _named(problem: XmlProblem | None, data: bytes) -> XmlProblem | None:
    """A problem, with the encoding that the text declares where nobody knows it."""
    found = None if problem is None else _DECLARED.match(data)
    if problem is None or found is None or problem.code != "xml.not-well-formed":
        return problem
    name = found[1].decode("ascii")
    if name.lower() in (*_UTF8_NAMES, *_UTF16_NAMES) or _codec(name) is not None:
        return problem
    return replace(problem, message=f"{problem.message}; declared as {name}, which is not read")


def _codec(name: str) -> str | None:
    """The name of the codec that reads an encoding of XML, if there is one."""
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        return None
    return codec if _READ.fullmatch(codec) else None


def xml_text(data: bytes) -> str:
    """The characters of XML in the encoding in which `parse_xml` reads it, without a byte order mark."""
    encoding, start, end = _encoding(data)
    declared = declared_encoding(data) if encoding == "UTF-8" and start == 0 else None
    return data[start:end].decode(declared or encoding, "replace")


def declared_encoding(data: bytes) -> str | None:
    """The encoding that a text declares and has; None where it is UTF-8 all the same, or nobody knows."""
    found = _DECLARED.match(data)
    if found is None:
        return None
    name = found[1].decode("ascii").lower()
    if name in (*_UTF8_NAMES, *_UTF16_NAMES):
        return None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        # Text in ASCII has many encodings at once.
        if not data.isascii():
            return None
    codec = _codec(name)
    if codec is None:
        return None
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return None
    return codec


class _Places:
    """Where the bytes of a text in UTF-8 lie in the same text in another encoding."""

    def __init__(self, text: str, encoding: str) -> None:
        self._text = text
        self._encoding = encoding
        self._utf8, self._raw = [0], [0]
        for at in range(0, len(text), _STRIDE):
            piece = text[at : at + _STRIDE]
            self._utf8.append(self._utf8[-1] + len(piece.encode("utf-8", "replace")))
            self._raw.append(self._raw[-1] + len(piece.encode(encoding, "replace")))

    def raw(self, offset: int) -> int:
        """The offset in the bytes as they came."""
        at = bisect_right(self._utf8, offset) - 1
        piece = self._text[at * _STRIDE : (at + 1) * _STRIDE].encode("utf-8", "replace")
        before = piece[: offset - self._utf8[at]].decode("utf-8", "ignore")
        return self._raw[at] + len(before.encode(self._encoding, "replace"))


def unplaced(element: Element) -> Element:
    """The element without positions, so that it equals the same element elsewhere."""
    return _moved(element, lambda _: 0)


def _moved(element: Element, place: Callable[[int], int]) -> Element:
    """The element with other positions."""
    children = tuple(_moved(child, place) for child in element.children)
    offset = place(element.offset)
    length = place(element.offset + element.length) - offset
    return replace(element, children=children, offset=offset, length=length)


def _encoding(data: bytes) -> tuple[str, int, int]:
    """The encoding, and where the text starts and ends."""
    if data[:3] == b"\xef\xbb\xbf":
        return "UTF-8", 3, len(data)
    encoding, start = "UTF-8", 0
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding, start = ("UTF-16LE" if data[0] == 0xFF else "UTF-16BE"), 2
    elif len(data) >= 2 and (data[0] == 0) != (data[1] == 0):
        encoding = "UTF-16BE" if data[0] == 0 else "UTF-16LE"
    end = len(data)
    if encoding != "UTF-8" and end - start >= 2 and (end - start) % 2 == 0 and data[-2:] == b"\0\0":
        end -= 2
    return encoding, start, end


@lru_cache(maxsize=1024)
def _split(name: str) -> tuple[str, str]:
    """The namespace and the name in what expat calls a name; another name is empty."""
    namespace, _, local = name.rpartition(_SEPARATOR)
    return namespace, local if _NO_NAME.isdisjoint(local) else ""


class _Open(msgspec.Struct):
    """An element whose end was not reached."""

    namespace: str
    name: str
    attributes: tuple[Attribute, ...]
    offset: int
    text: list[str] = []
    children: list[Element] = []

    def closed(self, end: int) -> Element:
        text, children = "".join(self.text), tuple(self.children)
        length = end - self.offset
        return Element(self.namespace, self.name, self.attributes, text, children, self.offset, length)


class _Reader:
    """Collects what expat reports. A handler stops the reading with a DecodeError."""

    def __init__(self, encoding: str, start: int, *, recoded: bool = False) -> None:
        self.root: Element | None = None
        self.unclosed: tuple[int, ...] = ()
        self._start = start
        # Of text that was written anew the declaration says what it was.
        self._recoded = recoded
        self._encoding = encoding
        self._open: list[_Open] = []
        # Expat tells where an end tag starts; it ends where the next event is.
        self._ending: _Open | None = None
        self._count = 0
        self._declared: XmlProblem | None = None
        parser = expat.ParserCreate(encoding, _SEPARATOR)
        parser.ordered_attributes = True
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.ProcessingInstructionHandler = self._instruction
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._finish
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = self._other
        parser.StartCdataSectionHandler = self._other
        parser.DefaultHandlerExpand = self._other
        self._parser = parser

    def read(self, data: bytes, end: int) -> XmlProblem | None:
        """Read ``data`` up to ``end``; the first problem that ended it, else the one about the encoding."""
        stopped: XmlProblem | None = None
        at = self._start
        try:
            while at < end:
                step = min(_CHUNK, end - at)
                self._parser.Parse(data[at : at + step], False)
                at += step
                if at - self._here() > MAX_TAG:
                    raise self._stop("xml.tag", f"a tag or comment of more than {MAX_TAG} bytes")
            self._parser.Parse(b"", True)
        except DecodeError as error:
            stopped = XmlProblem(error.code, error.message, error.offset)
        except expat.ExpatError as error:
            offset = min(self._start + max(self._parser.ErrorByteIndex, 0), end)
            undefined = error.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
            code = "xml.entity" if undefined else "xml.not-well-formed"
            stopped = XmlProblem(code, expat.ErrorString(error.code), offset)
        last = end if stopped is None else stopped.offset
        if stopped is not None and self._open and self._open[-1].text:
            self._open[-1].text.append(CUT)
        if self._ending is not None:
            self._close(self._ending, last)
        self.unclosed = tuple(one.offset for one in self._open)
        while self._open:
            self._close(self._open.pop(), last)
        # It holds this reader: without a cycle both go at once, with what expat holds.
        del self._parser
        return stopped or self._declared

    def _here(self) -> int:
        """How far the parser is."""
        return self._start + max(self._parser.CurrentByteIndex, 0)

    def _stop(self, code: str, message: str) -> DecodeError:
        return DecodeError(code, message, offset=self._here())

    def _settle(self) -> None:
        """What ended ends here."""
        if self._ending is not None:
            self._close(self._ending, self._here())
            self._ending = None

    def _close(self, ended: _Open, end: int) -> None:
        if self._open:
            self._open[-1].children.append(ended.closed(end))
        else:
            self.root = ended.closed(end)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        allowed = _UTF8_NAMES if self._encoding == "UTF-8" else _UTF16_NAMES
        if not self._recoded and encoding is not None and encoding.lower() not in allowed:
            message = f"declared as {encoding[:40]}, read as {self._encoding}"
            self._declared = XmlProblem("xml.encoding", message, self._here())

    def _doctype(self, *_: Any) -> None:
        raise self._stop("xml.doctype", "a document type is not allowed")

    def _instruction(self, *_: Any) -> None:
        self._settle()
        raise self._stop("xml.processing-instruction", "a processing instruction is not allowed")

    def _begin(self, name: str, attributes: list[str]) -> None:
        if self._ending is not None:
            self._settle()
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise self._stop("xml.elements", f"more than {MAX_ELEMENTS} elements")
        if len(self._open) >= MAX_DEPTH:
            raise self._stop("xml.depth", f"elements nested deeper than {MAX_DEPTH}")
        if len(attributes) > 2 * MAX_ATTRIBUTES:
            raise self._stop("xml.attributes", f"more than {MAX_ATTRIBUTES} attributes")
        namespace, local = self._named(name)
        kept = (
            tuple(
                Attribute(*self._named(key), value)
                for key, value in zip(attributes[::2], attributes[1::2], strict=True)
            )
            if attributes
            else ()
        )
        self._open.append(_Open(namespace, local, kept, self._here()))

    def _named(self, name: str) -> tuple[str, str]:
        if len(name) > MAX_NAME:
            raise self._stop("xml.name", f"a name of more than {MAX_NAME} characters")
        split = _split(name)
        if not split[1]:
            raise self._stop("xml.not-well-formed", "a name has a character that no name has")
        return split

    def _finish(self, name: str) -> None:
        if self._ending is not None:
            self._settle()
        self._ending = self._open.pop()

    def _characters(self, text: str) -> None:
        if self._ending is not None:
            self._settle()
        self._open[-1].text.append(text)

    def _other(self, *_: Any) -> None:
        self._settle()
