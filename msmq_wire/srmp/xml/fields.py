"""Elements declared once: the annotations of a class say what it holds, and parse and build follow them.

A field is ``Annotated[<value type>, <XmlField>]``. A text that is not what its field says stays as ``str``
in the value and leaves an anomaly; elements and attributes that no field names are kept as they are.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import re
from collections.abc import Collection
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints

import msgspec

from msmq_wire.errors import EncodeError
from msmq_wire.representation import struct_line
from msmq_wire.spec import SpecRef, snake_case
from msmq_wire.srmp.xml.element_tree import Attribute, Element, unplaced
from msmq_wire.wire.musts import Anomaly, View
from msmq_wire.wire.private import Public

_SPACE = " \t\r\n"
_NUMBER = re.compile(r"\+?0*([0-9]{1,20})")
_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})")
GUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


class IsoDate(msgspec.Struct, frozen=True):
    """A date as text; ``seconds`` since 1970 in UTC, or None when the text is no date.

    [MC-MQSRM] 2.2.1.2: ``YYYYMMDDThhmmss``.
    """

    text: Annotated[str, Public(_DATE)]
    seconds: int | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """The date that ``text`` is."""
        found = _DATE.fullmatch(text)
        if found is None:
            return cls(text)
        try:
            year, month, day, hour, minute, second = map(int, found.groups())
            moment = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
        except ValueError:
            return cls(text)
        return cls(text, int(moment.timestamp()))

    @classmethod
    def at(cls, seconds: int) -> Self:
        """The date ``seconds`` after 1970 began; EncodeError outside of the years 1 to 9999."""
        try:
            moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
        except OverflowError as error:
            raise EncodeError(f"{seconds} seconds are no date of four-digit years") from error
        return cls(moment.isoformat(timespec="seconds").replace("-", "").replace(":", ""), seconds)


class ParseState:
    """What one reading of a document collects: anomalies, and where each path was found.

    ``unclosed`` are offsets of elements whose end was not reached: nothing counts as missing in them.
    """

    def __init__(self, unclosed: Collection[int] = ()) -> None:
        self.unclosed = unclosed
        self.anomalies: list[Anomaly] = []
        self.places: dict[str, tuple[int, int]] = {}

    def say(self, code: str, message: str, path: str, element: Element, spec: SpecRef) -> None:
        """Add an anomaly that lies at ``element``."""
        self.anomalies.append(
            Anomaly(
                code=code,
                message=message,
                path=path,
                offset=element.offset,
                length=element.length,
                spec=spec,
            )
        )


class XmlField:
    """One element inside another: its name on the wire, whether it MUST be there, and its section."""

    def __init__(self, tag: str, section: str = "", *, required: bool = False, doc: str = "") -> None:
        self.tag = tag
        self.section = section
        self.required = required
        self.doc = doc

    problem: ClassVar[str] = ""
    """Code of the anomaly that a wrong text leaves."""
    expected: ClassVar[str] = ""

    def read(self, text: str) -> tuple[Any, bool]:
        """The value of the element's text, and whether the text is right."""
        return text, True

    def write(self, value: Any) -> str:
        """The text of a value."""
        return str(value)


class Text(XmlField):
    """Any text, white space kept: ``str``."""


class Uri(XmlField):
    """A text whose outer white space is layout: ``str``."""

    def read(self, text: str) -> tuple[str, bool]:
        return text.strip(_SPACE), True


class UnsignedLong(XmlField):
    """``int`` from 0 to 2**64 - 1, or ``most``; ``str`` when it is no number. [MC-MQSRM] 2.2.1.3."""

    problem = "number"
    expected = "an xs:unsignedLong in range"

    def __init__(
        self,
        tag: str,
        section: str = "",
        *,
        required: bool = False,
        most: int = (1 << 64) - 1,
        doc: str = "",
    ) -> None:
        super().__init__(tag, section, required=required, doc=doc)
        self.most = most

    def read(self, text: str) -> tuple[int | str, bool]:
        found = _NUMBER.fullmatch(text.strip(_SPACE))
        number = None if found is None else int(found[1])
        if number is None or number >> 64:
            return text, False
        return number, number <= self.most


class Iso8601Date(XmlField):
    """`IsoDate`."""

    problem = "date"
    expected = "a date like 20070619T210654"

    def read(self, text: str) -> tuple[IsoDate, bool]:
        value = IsoDate.of(text.strip(_SPACE))
        return value, value.seconds is not None

    def write(self, value: IsoDate) -> str:
        return value.text


class GuidText(XmlField):
    """A GUID as ``str``, as it is written. [MC-MQSRM] 2.2.1.1."""

    problem = "guid"
    expected = "a GUID string"

    def read(self, text: str) -> tuple[str, bool]:
        value = text.strip(_SPACE)
        return value, GUID.fullmatch(value) is not None


class Base64(XmlField):
    """``bytes``; ``str`` when it is no base64."""

    problem = "base64"
    expected = "base64"

    def read(self, text: str) -> tuple[bytes | str, bool]:
        try:
            return base64.b64decode("".join(text.split()), validate=True), True
        except (binascii.Error, ValueError):
            return text, False

    def write(self, value: bytes | str) -> str:
        return value if isinstance(value, str) else base64.b64encode(value).decode("ascii")


class Names(XmlField):
    """One or more names with white space between them: a tuple of ``str``."""

    problem = "names"
    expected = "one or more names"

    def read(self, text: str) -> tuple[tuple[str, ...], bool]:
        value = tuple(text.split())
        return value, bool(value)

    def write(self, value: tuple[str, ...]) -> str:
        return " ".join(value)


class Flag(XmlField):
    """``bool``: whether the empty element is there."""

    problem = "not-empty"
    expected = "an empty element"

    def read(self, text: str) -> tuple[bool, bool]:
        return True, not text.strip(_SPACE)

    def write(self, value: bool) -> str:
        return ""


class Child(XmlField):
    """An element with elements of its own: a value of ``cls``, or None."""

    def __init__(self, cls: type[XmlStruct], *, required: bool = False, doc: str = "") -> None:
        super().__init__(cls.TAG, cls.SPEC.section, required=required, doc=doc)
        self.cls = cls


class Children(Child):
    """The same element up to ``most`` times: a tuple of ``cls``; further ones are kept with the rest."""

    def __init__(self, cls: type[XmlStruct], *, most: int, doc: str = "") -> None:
        super().__init__(cls, doc=doc)
        self.most = most


class XmlAttribute(XmlField):
    """An attribute; ``value`` is what it MUST be, and None allows any."""

    problem = "attribute"

    def __init__(
        self, tag: str, namespace: str = "", *, value: str | None = None, required: bool = True, doc: str = ""
    ) -> None:
        super().__init__(tag, required=required, doc=doc)
        self.namespace = namespace
        self.value = value


class XmlStruct(msgspec.Struct, frozen=True, kw_only=True):
    """An element: value type, schema and section in one class.

    ``other_elements`` and ``other_attributes`` hold what no field names, without positions; ``order`` the
    local names of the children as they came (empty: the order of the fields); ``mixed_text`` text between
    elements that is more than white space; ``written_as`` the name when it was one of ``ALIASES``.
    """

    NAMESPACE: ClassVar[str]
    TAG: ClassVar[str]
    ALIASES: ClassVar[tuple[str, ...]] = ()
    SPEC: ClassVar[SpecRef]

    other_elements: tuple[Element, ...] = ()
    other_attributes: tuple[Attribute, ...] = ()
    order: Annotated[tuple[str, ...], Public(among=_tags)] = ()
    mixed_text: str = ""
    written_as: Annotated[str, Public(among=_aliases)] = ""

    __repr__ = struct_line

    @classmethod
    def stem(cls) -> str:
        """The element's one name in paths and codes."""
        return snake_case(cls.TAG)

    @classmethod
    def from_element(cls, element: Element, reading: ParseState, path: str = "") -> Self:
        """The value of an element; what is wrong with it goes to ``reading``. Never raises."""
        values: dict[str, Any] = _attribute_values(cls, element, reading, path)
        layout = _layout(cls)
        others: list[Element] = []
        ranks: list[int] = []
        for child in element.children:
            rank, name, field = layout.children.get((child.namespace, child.name), _UNDECLARED)
            full = f"{path}.{name}" if path else name
            if field is None:
                others.append(unplaced(child))
            elif isinstance(field, Children) and len(values.get(name, ())) < field.most:
                one = field.cls.from_element(child, reading, full)
                values[name] = (*values.get(name, ()), one)
            elif name in values:
                spec = _spec(cls, field)
                reading.say(f"{cls.stem()}.duplicate", f"<{child.name}> again", full, child, spec)
                others.append(unplaced(child))
                rank = _LAST
            else:
                reading.places[full] = (child.offset, child.length)
                values[name] = _value(cls, field, child, reading, full)
            ranks.append(rank)
        # What an element without its end lacks may stand behind the place where the reading ended.
        expected = () if element.offset in reading.unclosed else layout.required
        for name, field in expected:
            if name not in values:
                full = f"{path}.{name}" if path else name
                message = f"<{field.tag}> is missing in <{cls.TAG}>"
                reading.say(f"{cls.stem()}.missing", message, full, element, _spec(cls, field))
        return cls(
            **values,
            other_elements=tuple(others),
            order=() if ranks == sorted(ranks) else _order(element, ranks),
            mixed_text=element.text if element.text.strip(_SPACE) else "",
            written_as=element.name if element.name != cls.TAG else "",
        )

    def to_element(self) -> Element:
        """The element of this value, without positions; EncodeError for a value that no text can say."""
        attributes, children = [], []
        for name, field in xml_fields(type(self)).items():
            value = getattr(self, name)
            if value is None or value is False:
                continue
            if isinstance(field, XmlAttribute):
                attributes.append(Attribute(field.namespace, field.tag, value))
            elif isinstance(field, Child):
                many = value if isinstance(field, Children) else (value,)
                children += [one.to_element() for one in many]
            else:
                namespace = _namespace(type(self), field)
                children.append(Element(namespace, field.tag, text=field.write(value)))
        children += self.other_elements
        waiting: dict[str, list[Element]] = {}
        for child in reversed(children):
            waiting.setdefault(child.name, []).append(child)
        ordered = [waiting[name].pop() for name in self.order if waiting.get(name)]
        # What the order does not name comes last, in the order of the fields.
        if len(ordered) < len(children):
            left = {id(child) for rest in waiting.values() for child in rest}
            ordered += [child for child in children if id(child) in left]
        return Element(
            self.NAMESPACE,
            self.written_as or self.TAG,
            (*attributes, *self.other_attributes),
            self.mixed_text,
            tuple(ordered),
        )


@cache
def xml_fields(cls: type[XmlStruct]) -> dict[str, XmlField]:
    """The declared fields of an element by their names, in order."""
    return {
        name: extra
        for name, hint in get_type_hints(cls, include_extras=True).items()
        if get_origin(hint) is Annotated
        for extra in get_args(hint)[1:]
        if isinstance(extra, XmlField)
    }


class _Layout(msgspec.Struct, frozen=True):
    """The fields of an element as reading needs them: each child by its namespace and tag, with its rank."""

    attributes: tuple[tuple[str, XmlAttribute], ...]
    children: dict[tuple[str, str], tuple[int, str, XmlField]]
    required: tuple[tuple[str, XmlField], ...]


def _order(element: Element, ranks: list[int]) -> tuple[str, ...]:
    """The names of the children as they came, where they would be written in another order.

    Only such an order is kept, so that values built by hand equal parsed ones.
    """
    names = tuple(child.name for child in element.children)
    natural = tuple(names[place] for place in sorted(range(len(ranks)), key=ranks.__getitem__))
    return () if natural == names else names


_LAST = 1 << 16
"""The rank of what no field takes: it comes behind the fields."""
_UNDECLARED = (_LAST, "", None)


@cache
def _layout(cls: type[XmlStruct]) -> _Layout:
    declared = xml_fields(cls).items()
    children = [(name, field) for name, field in declared if not isinstance(field, XmlAttribute)]
    return _Layout(
        attributes=tuple((name, field) for name, field in declared if isinstance(field, XmlAttribute)),
        children={
            (_namespace(cls, field), tag): (rank, name, field)
            for rank, (name, field) in enumerate(children)
            for tag in _names(field)
        },
        required=tuple((name, field) for name, field in children if field.required),
    )


def _names(field: XmlField) -> tuple[str, ...]:
    """What the field may be called."""
    return (field.tag, *(field.cls.ALIASES if isinstance(field, Child) else ()))


def _tags(view: View) -> frozenset[str]:
    """The names of all that an element declares."""
    cls: type[XmlStruct] = type(view.value)
    return frozenset(tag for field in xml_fields(cls).values() for tag in _names(field))


def _aliases(view: View) -> tuple[str, ...]:
    names: tuple[str, ...] = view.value.ALIASES
    return names


def _namespace(cls: type[XmlStruct], field: XmlField) -> str:
    return field.cls.NAMESPACE if isinstance(field, Child) else cls.NAMESPACE


def _spec(cls: type[XmlStruct], field: XmlField) -> SpecRef:
    return SpecRef(cls.SPEC.document, field.section) if field.section else cls.SPEC


def _attribute_values(
    cls: type[XmlStruct], element: Element, reading: ParseState, path: str
) -> dict[str, Any]:
    declared = _layout(cls).attributes
    if not declared and not element.attributes:
        return {}
    values: dict[str, Any] = {}
    there = {(one.namespace, one.name): one for one in element.attributes}
    for name, field in declared:
        found = there.pop((field.namespace, field.tag), None)
        full = f"{path}.{name}" if path else name
        if found is not None:
            values[name] = found.value
        wrong = field.value is not None and (found is None or found.value != field.value)
        if wrong or (found is None and field.required):
            expected = f"{field.tag}={field.value!r}" if field.value is not None else field.tag
            message = f"<{cls.TAG}> is without {expected}"
            reading.say(f"{cls.stem()}.{name.replace('_', '-')}", message, full, element, cls.SPEC)
    values["other_attributes"] = tuple(there.values())
    return values


def _value(cls: type[XmlStruct], field: XmlField, child: Element, reading: ParseState, path: str) -> Any:
    if isinstance(field, Children):
        return (field.cls.from_element(child, reading, path),)
    if isinstance(field, Child):
        return field.cls.from_element(child, reading, path)
    value, right = field.read(child.text)
    if not right:
        message = f"<{field.tag}> is not {field.expected}"
        reading.say(f"{cls.stem()}.{field.problem}", message, path, child, _spec(cls, field))
    if child.children or child.attributes:
        message = f"<{field.tag}> has elements or attributes, which are not kept"
        reading.say(f"{cls.stem()}.unexpected", message, path, child, _spec(cls, field))
    return value
