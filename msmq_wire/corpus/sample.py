"""One sample: its bytes, what was done to them, and what a parser must make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.wire.musts import Anomaly

Kind: TypeAlias = Literal["valid", "boundary", "broken"]


class SampleEdit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was done to valid bytes.

    ``how`` is "set" (the bytes of the field at ``path`` hold ``value``), "cut" (the bytes end at
    ``offset``), "append" (bytes were added there) or "several" (each field in ``edits`` was set, and sizes
    and bits that announce parts agree with that). ``breaks`` is the code of the rule that several changes
    were made to break.
    """

    how: Literal["set", "cut", "append", "several"]
    offset: int
    path: str = ""
    length: int = 0
    value: int | None = None
    breaks: str = ""
    edits: tuple[SampleEdit, ...] = ()


class ExpectedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """An anomaly or an error: its code, and the field that it is about."""

    code: str
    path: str
    offset: int
    length: int | None = None


class Expected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a parser must make of a sample.

    ``consumed`` counts the bytes that it takes. ``fields`` are values by path: all of a valid sample, the
    changed one of another. Numbers are numbers, bytes are hex digits. ``bits`` are the named bits of these
    fields that are not 0, and ``absent`` are the optional parts that are not there.
    """

    consumed: int
    type: str = ""
    anomalies: tuple[ExpectedPlace, ...] = ()
    error: ExpectedPlace | None = None
    fields: Mapping[str, int | str] = {}
    bits: Mapping[str, int] = {}
    absent: Sequence[str] = ()
    detail: Mapping[str, Any] = {}


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes, where they belong, and what they mean; ``number`` counts the samples of a stem and kind."""

    group: str
    stem: str
    kind: Kind
    number: int
    data: bytes
    expected: Expected
    changed: SampleEdit | None = None
    parse_as: Mapping[str, Any] = {}

    @property
    def file(self) -> str:
        """The file that ``msmq-wire corpus`` writes, from its folder."""
        return f"{self.group}/{self.stem}/{self.kind}-{self.number:04}.bin"


def places(anomalies: Sequence[Anomaly]) -> tuple[ExpectedPlace, ...]:
    """Anomalies as a sample has them."""
    return tuple(
        ExpectedPlace(code=one.code, path=one.path, offset=one.offset, length=one.length) for one in anomalies
    )


def error_place(error: DecodeError | None) -> ExpectedPlace | None:
    """An error as a sample has it."""
    return None if error is None else ExpectedPlace(code=error.code, path=error.path, offset=error.offset)


class SampleSequence:
    """Makes the samples of one stem: leaves out bytes that were there, and counts each kind."""

    def __init__(self, group: str, stem: str, parse_as: Mapping[str, Any]) -> None:
        self._group = group
        self._stem = stem
        self._parse_as = parse_as
        self._seen: set[bytes] = set()
        self._counts: dict[Kind, int] = {}

    def sees(self, data: bytes) -> bool:
        """Whether these bytes are new; they are not new again."""
        if data in self._seen:
            return False
        self._seen.add(data)
        return True

    def sample(self, data: bytes, expected: Expected, changed: SampleEdit | None = None) -> Sample:
        """A sample of these bytes: broken where a rule is, else valid if nothing was changed."""
        broken = expected.error is not None or bool(expected.anomalies)
        kind: Kind = "broken" if broken else "valid" if changed is None else "boundary"
        self._counts[kind] = number = self._counts.get(kind, 0) + 1
        return Sample(
            group=self._group,
            stem=self._stem,
            kind=kind,
            number=number,
            data=data,
            expected=expected,
            changed=changed,
            parse_as=self._parse_as,
        )
