"""The language of ``--filter``, read: comparisons of what a row shows, joined by and, or, not.

    type == user_message and (label ~ order or anomalies > 0) and not host == 192.0.2.0/24

The rule kept here: whatever the text, it is an expression, or one line that names the column of the mistake.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from msmq_wire.errors import ArgumentError
from msmq_wire.records.filter.expression_tree import Both, Comparison, Either, Negation, Presence, Tree
from msmq_wire.records.filter.times import DATE, TIME_OF_DAY
from msmq_wire.records.filter.vocabulary import Vocabulary

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*(?:\[\d+\][A-Za-z0-9_.]*)*")
_OPERATOR = re.compile(r"==(?!=)|!=|<=|>=|<(?!>)|>|~|(?:matches|in)(?![A-Za-z0-9_.])", re.IGNORECASE)
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_BARE = re.compile(r"[^\s()\"']+")
_LISTED = re.compile(r"[^\s(){}\"',]+")
_HINTED = re.compile(r"===|=~|<>|!~|&&|\|\||[=!&|]|[A-Za-z]+")
_DEEPEST: Final = 50
_LONGEST: Final = 1 << 16
_QUOTE: Final = 60
_SAID: Final = 500

_INSTEAD = {
    "=": "==",
    "===": "==",
    "eq": "==",
    "is": "==",
    "equals": "==",
    "<>": "!=",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "contains": "~",
    "like": "~",
    "includes": "~",
    "=~": "matches",
    "regex": "matches",
    "!~": "not NAME ~ VALUE",
    "&&": "and",
    "&": "and",
    "||": "or",
    "|": "or",
    "!": "not",
}
"""What other languages write, and what is written here."""


def misplaced(expression: str, column: int, message: str) -> ArgumentError:
    """A mistake in an expression at a column, which is shown with what is around it."""
    return ArgumentError(f"column {column + 1} of {_cut(expression, _QUOTE)!r}: {_cut(message, _SAID)}")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def parsed(expression: str, vocabulary: Vocabulary[Any]) -> Tree:
    """What an expression says; ArgumentError that names the column of a mistake."""
    if len(expression) > _LONGEST:
        raise ArgumentError(f"a filter has at most {_LONGEST} characters, this one has {len(expression)}")
    parser = _Parser(expression, vocabulary)
    found = parser.disjunction(0)
    if parser.at < len(expression):
        parser.fail(f"{expression[parser.at]!r} is not expected here{parser.hint()}")
    return found


class _Parser:
    def __init__(self, expression: str, vocabulary: Vocabulary[Any]) -> None:
        self.expression = expression
        self.vocabulary = vocabulary
        self.at = 0
        self.skip_space()

    def fail(self, message: str, column: int | None = None) -> NoReturn:
        raise misplaced(self.expression, self.at if column is None else column, message)

    def hint(self) -> str:
        """What may be meant by what stands here."""
        match = _HINTED.match(self.expression, self.at)
        instead = None if match is None else _INSTEAD.get(match[0].lower())
        return "" if instead is None or match is None else f": did you mean {instead!r}?"

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

    def takes(self, character: str) -> bool:
        if not self.expression.startswith(character, self.at):
            return False
        self.at += 1
        self.skip_space()
        return True

    def keyword(self, word: str) -> bool:
        match = _NAME.match(self.expression, self.at)
        if match is None or match[0].lower() != word:
            return False
        self.at = match.end()
        self.skip_space()
        return True

    def disjunction(self, depth: int) -> Tree:
        parts = [self.conjunction(depth)]
        while self.keyword("or"):
            parts.append(self.conjunction(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def conjunction(self, depth: int) -> Tree:
        parts = [self.negation(depth)]
        while self.keyword("and"):
            parts.append(self.negation(depth))
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def negation(self, depth: int) -> Tree:
        if depth > _DEEPEST:
            self.fail("nested too deep")
        if self.keyword("not"):
            return Negation(self.negation(depth + 1))
        opened = self.at
        if self.takes("("):
            inside = self.disjunction(depth + 1)
            if not self.takes(")"):
                if self.at < len(self.expression):
                    self.fail(f"{self.expression[self.at]!r} is not expected here{self.hint()}")
                self.fail("this parenthesis is not closed", opened)
            return inside
        return self.comparison()

    def comparison(self) -> Tree:
        column = self.at
        match = self.take(_NAME)
        if match is None:
            what = "expected" if self.at < len(self.expression) else "missing"
            self.fail(f"a name is {what}{self.hint()}")
        given = match[0]
        if given in ("and", "or", "not"):
            self.fail(f"a name is expected before {given!r}", column)
        try:
            name = self.vocabulary[given]
        except ArgumentError as error:
            self.fail(str(error), column)
        before = self.at
        negated = self.keyword("not")
        operator = self.take(_OPERATOR)
        if negated and (operator is None or operator[0].lower() != "in"):
            self.fail("'and not', 'or not' or 'not in' is expected", before)
        if operator is None:
            instead = self.hint()
            if instead:
                self.fail(f"no operator{instead}")
            return Presence(name.name, given)
        word = operator[0].lower()
        moment = name.place.dated and word != "matches"
        texts = self.texts() if word == "in" else [self.text(moment=moment)]
        return Comparison(
            name.name, given, word, tuple(one for one, _ in texts), tuple(at for _, at in texts), negated
        )

    def texts(self) -> list[tuple[str, int]]:
        """The texts between parentheses, or braces, with commas between."""
        opened = self.at
        closing = ")" if self.takes("(") else "}" if self.takes("{") else ""
        if not closing:
            self.fail("values are expected, as in (1, 2)")
        found: list[tuple[str, int]] = []
        while not found or self.takes(","):
            found.append(self.text(listed=True))
        if not self.takes(closing):
            self.fail("this list is not closed", opened)
        return found

    def text(self, *, moment: bool = False, listed: bool = False) -> tuple[str, int]:
        column = self.at
        match = self.take(_QUOTED)
        if match is not None:
            text = next(group for group in match.groups() if group is not None)
        else:
            match = self.take(_LISTED if listed else _BARE)
            if match is None:
                rest = self.expression[self.at : self.at + 1]
                self.fail("this quote is not closed" if rest and rest in "\"'" else "a value is missing")
            text = match[0]
            for joined in ("&&", "||"):
                if joined in text:
                    at = column + text.index(joined)
                    self.fail(f"did you mean {_INSTEAD[joined]!r}? Else the value stands in quotes", at)
        if moment and DATE.fullmatch(text):
            time_of_day = self.take(TIME_OF_DAY)
            if time_of_day is not None:
                text = f"{text}T{time_of_day[0]}"
        return text, column
