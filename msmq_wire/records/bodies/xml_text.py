"""XML: whether it is well-formed, and laid out for a reader.

The rule kept here: a document type ends the reading, so no entity is ever declared, expanded or fetched;
depth and size are bounded, and the text is never read twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from xml.parsers import expat

from msmq_wire.errors import DecodeError

XmlForm = Literal["well-formed", "cut", "malformed", "document-type", "too-deep", "too-large"]

LARGEST_XML = 1 << 20
_DEEPEST = 256
_LONGEST_LAYOUT = 1 << 22
_REFUSED: tuple[XmlForm, ...] = ("document-type", "too-deep", "too-large")


def xml_form(text: str) -> tuple[XmlForm, str]:
    """Whether text is XML, and the name of its root element, empty when there is none."""
    if len(text) > LARGEST_XML:
        return "too-large", ""
    reader = _Reader()
    return reader.read(text), reader.root


def pretty_xml(text: str) -> str | None:
    """XML with a line for each element, indented; None when it is not well-formed or too large.

    Text beside elements stays as it is, and so does what is inside of an element that has such text.
    """
    if len(text) > LARGEST_XML:
        return None
    reader = _Layout()
    return "".join(reader.lines) if reader.read(text) == "well-formed" else None


class _Reader:
    def __init__(self) -> None:
        self.root = ""
        self.depth = 0

    def read(self, text: str) -> XmlForm:
        # Named here, so that no encoding of the XML declaration is looked up.
        parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = False
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.StartDoctypeDeclHandler = self.doctype
        parser.CharacterDataHandler = self.characters
        parser.CommentHandler = self.comment
        parser.ProcessingInstructionHandler = self.instruction
        try:
            # One piece: expat reads the beginning of a long token again with every piece.
            parser.Parse(text.encode("utf-8", "surrogatepass"), True)
        except DecodeError as error:
            return next(form for form in _REFUSED if form == error.code)
        except expat.ExpatError as error:
            return "cut" if self.root and error.code in _AT_THE_END else "malformed"
        return "well-formed"

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.root = self.root or name
        self.depth += 1
        if self.depth > _DEEPEST:
            raise DecodeError("too-deep", f"elements are nested deeper than {_DEEPEST}")

    def end(self, name: str) -> None:
        self.depth -= 1

    def doctype(self, *_: object) -> None:
        raise DecodeError("document-type", "a document type is not read")

    def characters(self, text: str) -> None:
        pass

    def comment(self, text: str) -> None:
        pass

    def instruction(self, target: str, text: str) -> None:
        pass


_AT_THE_END = (
    expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS],
    expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN],
    expat.errors.codes[expat.errors.XML_ERROR_PARTIAL_CHAR],
    expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION],
)


class _Layout(_Reader):
    """Collects lines. A start tag waits until it is known whether something is inside."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.size = 0
        self.waiting = ""
        self.text = ""
        # By depth: whether an element has text of its own, and whether it has elements.
        self.mixed = [False]
        self.parents = [False]

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        super().start(name, attributes)
        self.flush()
        pairs = "".join(f' {key}="{_escaped(value, quotes=True)}"' for key, value in attributes.items())
        self.new_line(self.depth - 1)
        self.parents[-1] = True
        self.waiting = f"<{name}{pairs}"
        self.mixed.append(self.mixed[-1])
        self.parents.append(False)

    def end(self, name: str) -> None:
        super().end(name)
        if self.waiting and not self.text:
            self.put(f"{self.waiting}/>")
            self.waiting = ""
        else:
            inline = not self.parents[-1]
            self.flush(keep=inline)
            if not inline and not self.mixed[-1]:
                self.new_line(self.depth, always=True)
            self.put(f"</{name}>")
        self.mixed.pop()
        self.parents.pop()

    def characters(self, text: str) -> None:
        self.text += text

    def comment(self, text: str) -> None:
        self.flush()
        self.new_line(self.depth)
        self.parents[-1] = True
        self.put(f"<!--{text}-->")

    def instruction(self, target: str, text: str) -> None:
        self.flush()
        self.new_line(self.depth)
        self.parents[-1] = True
        self.put(f"<?{target} {text}?>")

    def flush(self, *, keep: bool = False) -> None:
        """Write the start tag that waits, and the text unless it is only the layout of the sender."""
        if self.waiting:
            self.put(f"{self.waiting}>")
            self.waiting = ""
        if self.text and (keep or self.mixed[-1] or self.text.strip()):
            if self.text.strip():
                self.mixed[-1] = True
            self.put(_escaped(self.text))
        self.text = ""

    def new_line(self, depth: int, *, always: bool = False) -> None:
        if self.lines and (always or not self.mixed[-1]):
            self.put("\n" + "  " * depth)

    def put(self, text: str) -> None:
        self.size += len(text)
        if self.size > _LONGEST_LAYOUT:
            raise DecodeError("too-large", f"laid out, it is longer than {_LONGEST_LAYOUT} characters")
        self.lines.append(text)


def _escaped(text: str, *, quotes: bool = False) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if quotes:
        text = text.replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;").replace("\r", "&#13;")
    return text
