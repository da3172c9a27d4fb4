"""The language of ``--filter``: comparisons of what a record shows, joined by and, or, not.

    type == user_message and (label ~ order or anomalies > 0) and not host == 192.0.2.0/24

A comparison is ``NAME OPERATOR VALUE`` with ``== != < <= > >= ~``; ``~`` means contains, ignoring case. A
name alone asks whether there is something: not absent, empty, zero or false. A value goes up to the next
white space or parenthesis, or stands in quotes, single or double; a backslash is itself. What a record does
not have matches no comparison, not even ``!=``.

Names: those of a ``decode`` row (``id``, ``parent``, ``type``, ``capture``, ``src``, ``dst``, ``time``,
``frames``, ``stream``, ``length``), ``host`` (src or dst), the columns of messages (``queue``, ``label``,
``via``... and, as the table calls them, ``class`` and ``size``), ``anomalies`` (how many), ``error`` (its
code), and every field of a packet by its path in JSON, as ``user_header.flags.dq``. Of a remote read call
these are ``method``, ``interface``, ``status`` (a number or a symbol), ``sealed`` and ``request.dw_access``
or ``response.return_value``; of a message over HTTP ``method``, ``target``, ``kind``, ``headers.value``,
``response.status`` and ``envelope.header.path.to``. A date may be followed by a time of day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, tzinfo
from typing import Any, Final, NoReturn

import msgspec

from msmq_wire.cli.filter_values import Matcher, is_packet_path, matcher, place_of
from msmq_wire.cli.subject import ALIASES, NAMES, Subject
from msmq_wire.errors import MsmqWireError

__all__ = ["Filter", "compile_filter"]

Filter = Callable[[Subject], bool]

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*(?:\[\d+\][A-Za-z0-9_.]*)*")
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>|~")
_VALUE = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\s()\"']+)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME_OF_DAY = re.compile(r"\d{2}:\d{2}[0-9:.Zz+-]*")
_DEEPEST: Final = 50


def compile_filter(expression: str, zone: tzinfo | None = UTC) -> Filter:
    """Compile an expression to a function of a `Subject`.

    Times without a zone of their own are in ``zone``, None for that of this machine. Raises MsmqWireError
    that names the column.
    """
    parser = _Parser(expression, zone)
    found = parser.disjunction(0)
    if parser.at < len(expression):
        parser.fail(f"{expression[parser.at]!r} is not expected here")
    return found


class _Word(msgspec.Struct, frozen=True):
    text: str
    column: int


class _Parser:
    def __init__(self, expression: str, zone: tzinfo | None) -> None:
        self.expression = expression
        self.zone = zone
        self.at = 0
        self.skip_space()

    def fail(self, message: str, column: int | None = None) -> NoReturn:
        where = (self.at if column is None else column) + 1
        raise MsmqWireError(f"column {where} of {self.expression!r}: {message}")

    def skip_space(self) -> None:
        match = _SPACE.match(self.expression, self.at)
        assert match is not None
        self.at = match.end()

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.expression, self.at)
        if match is not None:
            self.at = match.end()
            self.skip_space()
        return match

    def keyword(self, word: str) -> bool:
        match = _NAME.match(self.expression, self.at)
        if match is None or match[0].lower() != word:
            return False
        self.at = match.end()
        self.skip_space()
        return True

    def disjunction(self, depth: int) -> Filter:
        parts = [self.conjunction(depth)]
        while self.keyword("or"):
            parts.append(self.conjunction(depth))
        return parts[0] if len(parts) == 1 else lambda subject: any(part(subject) for part in parts)

    def conjunction(self, depth: int) -> Filter:
        parts = [self.negation(depth)]
        while self.keyword("and"):
            parts.append(self.negation(depth))
        return parts[0] if len(parts) == 1 else lambda subject: all(part(subject) for part in parts)

    def negation(self, depth: int) -> Filter:
        if depth > _DEEPEST:
            self.fail("nested too deep")
        if self.keyword("not"):
            part = self.negation(depth + 1)
            return lambda subject: not part(subject)
        if self.expression.startswith("(", self.at):
            opened = self.at
            self.at += 1
            self.skip_space()
            inside = self.disjunction(depth + 1)
            if not self.expression.startswith(")", self.at):
                self.fail("this parenthesis is not closed", opened)
            self.at += 1
            self.skip_space()
            return inside
        return self.comparison()

    def comparison(self) -> Filter:
        column = self.at
        match = self.take(_NAME)
        if match is None:
            self.fail("a name is expected" if self.at < len(self.expression) else "a name is missing")
        name = match[0].removeprefix("packet.")
        if name in ("and", "or", "not"):
            self.fail(f"a name is expected before {name!r}", column)
        name = ALIASES.get(name, name)
        if name not in NAMES and not is_packet_path(name):
            known = ", ".join((*NAMES, *ALIASES))
            self.fail(f"nothing is called {name!r}; names are {known} and paths of packets", column)
        operator = self.take(_OPERATOR)
        if operator is None:
            return lambda subject: any(subject.values(name))
        place = place_of(name)
        value = self.value(moment=place.unit in ("time", "unix-time"))
        try:
            matches = matcher(name, operator[0], value.text, self.zone, place)
        except MsmqWireError as error:
            self.fail(str(error), value.column)
        return _comparison(name, matches, negative=operator[0] == "!=")

    def value(self, *, moment: bool) -> _Word:
        column = self.at
        match = self.take(_VALUE)
        if match is None:
            rest = self.expression[self.at : self.at + 1]
            self.fail("this quote is not closed" if rest and rest in "\"'" else "a value is missing")
        text = next(group for group in match.groups() if group is not None)
        if moment and _DATE.fullmatch(text):
            time_of_day = self.take(_TIME_OF_DAY)
            if time_of_day is not None:
                text = f"{text}T{time_of_day[0]}"
        return _Word(text, column)


def _comparison(name: str, matches: Matcher, *, negative: bool) -> Filter:
    def present(subject: Subject) -> Iterable[Any]:
        return (value for value in subject.values(name) if value is not None)

    if negative:
        # Of two hosts neither may be the one that is excluded.
        def differs(subject: Subject) -> bool:
            found = list(present(subject))
            return bool(found) and all(matches(value) for value in found)

        return differs
    return lambda subject: any(matches(value) for value in present(subject))
