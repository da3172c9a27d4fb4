"""References to the specifications, and the one rule that turns their names into ours."""

from __future__ import annotations

import re

import msgspec


class SpecRef(msgspec.Struct, frozen=True):
    """A section of a specification: ``SpecRef("MS-MQMQ", "2.2.19.1")``."""

    document: str
    section: str

    def __str__(self) -> str:
        return f"[{self.document}] {self.section}"


def sections(text: str) -> tuple[SpecRef, ...]:
    """Sections in a row.

    >>> list(map(str, sections("MS-MQRR 3.1.4.7, MS-MQQP 3.1.4.1")))
    ['[MS-MQRR] 3.1.4.7', '[MS-MQQP] 3.1.4.1']
    """
    return tuple(SpecRef(*one.split()) for one in text.split(", "))


# Names whose capitals do not show where the words are.
_EXCEPTIONS = {
    "OBJECTID": "object_id",
    "pulTitleBufferSizeInWCHARs": "pul_title_buffer_size_in_wchars",
    "ulTitleBufferSizeInWCHARs": "ul_title_buffer_size_in_wchars",
}

_CAPITALS_THEN_WORD = re.compile(r"([A-Z])([A-Z][a-z])")
_WORD_THEN_CAPITAL = re.compile(r"([a-z0-9])([A-Z])")


def snake_case(name: str) -> str:
    """Return a specification's name in snake_case; a run of capitals is one word.

    >>> snake_case("HTTPBodySize"), snake_case("ConnectorQMGuid")
    ('http_body_size', 'connector_qm_guid')
    """
    if name in _EXCEPTIONS:
        return _EXCEPTIONS[name]
    spaced = _CAPITALS_THEN_WORD.sub(r"\1_\2", name)
    return _WORD_THEN_CAPITAL.sub(r"\1_\2", spaced).lower()
