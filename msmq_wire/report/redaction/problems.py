"""What is wrong, told without words from the traffic.

The rule kept here: a message stays if it is one that a structure declares, or if its code is known to tell
nothing but numbers and declared names. Any other goes: it may repeat what was sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeVar

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.report.redaction.cut_numbers import without_numbers
from msmq_wire.report.redaction.forms import NOT_SHOWN, declared_path
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE
from msmq_wire.wire.musts import Anomaly

_T = TypeVar("_T", Anomaly, DecodeError)
_S = TypeVar("_S")

_TELLING = frozenset(
    (
        "array-of-pointers",
        "auth-length",
        "compound_message_header.http-body-size",
        "compound_message_header.http-message",
        "compound_message_header.msg-body-offset",
        "compound_message_header.msg-body-size",
        "frag-length",
        "http.body-size",
        "http.both-lengths",
        "http.chunk",
        "http.content-length",
        "http.cut",
        "http.header-count",
        "http.header-line",
        "http.header-size",
        "http.missing",
        "http.transfer-encoding",
        "mime.boundary",
        "mime.content-length",
        "mime.delimiter-inside",
        "mime.headers",
        "mime.no-close",
        "mime.no-part",
        "mime.part-count",
        "missing-bytes",
        "ndr.array-of-pointers",
        "ndr.array-offset",
        "ndr.length-is",
        "ndr.null-array",
        "ndr.opaque",
        "ndr.past-max-count",
        "ndr.range",
        "ndr.ref-pointer",
        "ndr.size-is",
        "ndr.string-terminator",
        "ndr.union-tag",
        "negative-length",
        "packet-type",
        "past-packet-size",
        "rpc-version",
        "sections",
        "sections.alloc",
        "sections.body",
        "sections.count",
        "sections.kind",
        "sections.order",
        "sections.section-size",
        "sections.sum",
        "srmp_envelope_header.differs",
        "srmp_message.part",
        "srmp_message.reference",
        "too-deep",
        "unknown-selector",
        "user_message.ordering-ack-flags",
        "user_message.ordering-ack-queue",
        "xml.attributes",
        "xml.depth",
        "xml.doctype",
        "xml.elements",
        "xml.entity",
        "xml.name",
        "xml.not-well-formed",
        "xml.processing-instruction",
        "xml.tag",
    )
)


def redacted_problem(reported: _T, limit: int = 0) -> _T:
    """An anomaly or an error without words from the traffic, and without what was decoded before an error.

    Of an error numbers above the limit go that may be letters, of an anomaly those above any size.
    """
    message = reported.message if _tells_nothing(reported) else NOT_SHOWN
    message = without_numbers(message, MAX_PACKET_SIZE if isinstance(reported, Anomaly) else limit)
    path = declared_path(reported.path)
    if isinstance(reported, Anomaly):
        return msgspec.structs.replace(reported, message=message, path=path)
    return DecodeError(reported.code, message, path=path, offset=reported.offset, spec=reported.spec)


def _tells_nothing(reported: Anomaly | DecodeError) -> bool:
    stem, dot, code = reported.code.partition(".")
    known = reported.code in _TELLING or (code, reported.message) in _musts(stem)
    return known or (bool(dot) and stem in _elements())


@cache
def _musts(stem: str) -> frozenset[tuple[str, str]]:
    """What a structure declares. Whoever tells of one has loaded it, so what is not found never will be."""
    declaring = (cls for cls in _below(WireStruct) if cls.stem() == stem)
    return frozenset((must.code, must.message) for cls in declaring for must in cls.MUSTS)


@cache
def _elements() -> frozenset[str]:
    """The stems of the elements of an envelope: what is wrong in one is told by the names of elements."""
    from msmq_wire.srmp.elements.envelope import SrmpEnvelope
    from msmq_wire.srmp.xml.fields import Child, XmlStruct, xml_fields

    found: dict[type[XmlStruct], None] = {SrmpEnvelope: None}
    waiting: list[type[XmlStruct]] = [SrmpEnvelope]
    while waiting:
        below = [field.cls for field in xml_fields(waiting.pop()).values() if isinstance(field, Child)]
        waiting += [cls for cls in below if cls not in found]
        found.update(dict.fromkeys(below))
    return frozenset(cls.stem() for cls in found)


def _below(cls: type[_S]) -> Iterator[type[_S]]:
    for one in cls.__subclasses__():
        yield one
        yield from _below(one)
