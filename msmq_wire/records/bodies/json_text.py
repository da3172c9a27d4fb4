"""JSON: whether a text is JSON, its top-level members, and laid out for a reader.

The rule kept here: nesting is counted before the text is parsed, so no input reaches the limit of the stack.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

LARGEST_JSON = 1 << 20
_DEEPEST = 64
_LONGEST_LAYOUT = 1 << 22
# Possessive, and a string may lack its end: every character is looked at once.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},:]|[^\s\[\]{},:"]++', re.DOTALL)


def json_value(text: str) -> Any:
    """The value of a JSON text, numbers as text; ValueError when it is none, is too deep or too large."""
    if len(text) > LARGEST_JSON:
        raise ValueError("too large")
    depth = 0
    for token in _TOKEN.finditer(text):
        mark = text[token.start()]
        if mark in "[{":
            depth += 1
            if depth > _DEEPEST:
                raise ValueError("too deep")
        elif mark in "]}":
            depth -= 1
    # Numbers stay text: an integer of a million digits is not worth its arithmetic.
    return json.loads(text, parse_int=str, parse_float=str)


def pretty_json(text: str) -> str | None:
    """JSON with a line for each member, indented; every token as it was sent. None when it is none."""
    try:
        json_value(text)
    except ValueError:
        return None
    tokens = [token[0] for token in _TOKEN.finditer(text)]
    parts: list[str] = []
    depth = size = 0
    for token, following in zip(tokens, [*islice(tokens, 1, None), ""], strict=True):
        if token in ("[", "{"):
            depth += 1
            part = token if following in ("]", "}") else token + _line(depth)
        elif token in ("]", "}"):
            depth -= 1
            part = token
        elif token == ",":
            part = token + _line(depth)
        else:
            part = ": " if token == ":" else token
        if following in ("]", "}") and token not in ("[", "{"):
            part += _line(depth - 1)
        size += len(part)
        if size > _LONGEST_LAYOUT:
            return None
        parts.append(part)
    return "".join(parts)


def _line(depth: int) -> str:
    return "\n" + "  " * depth
