"""HTML and SVG as values that cannot be broken out of.

The rule kept here: whatever is not `Markup` is text, and text is escaped where it enters an element, an
attribute or a script. Names of elements and attributes are written in this package, never taken from data.
"""

from __future__ import annotations

import html
import json
from typing import Any

from msmq_wire.invisible import numbered, shown

_VOID = frozenset(("br", "hr", "input", "meta"))
_IN_SCRIPTS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"}


class Markup(str):
    """Text that is HTML or SVG already."""

    __slots__ = ()


def visible(text: str, most: int = 400) -> str:
    """The text with every character that does not print as ``\\x1b`` or ``\\u202e``, cut after ``most``.

    What is invisible, turns the reading direction or is no character has its number shown.
    """
    if len(text) > most:
        text = f"{text[:most]}…"
    return shown(text, numbered)


def escaped(value: object) -> Markup:
    """A value as text of an element or of a quoted attribute."""
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(visible(str(value), 4000), quote=True))


def _attribute(value: object) -> str:
    # An attribute takes no markup: what looks like it is text there.
    return html.escape(visible(str(value), 4000), quote=True)


def joined(*parts: object) -> Markup:
    """Parts one after the other; None is left out."""
    return Markup("".join(escaped(part) for part in parts if part is not None))


def tag(name: str, /, *children: object, **attributes: Any) -> Markup:
    """An element; ``aria_label`` gives the attribute ``aria-label``; None and False are left out."""
    given = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        plain = key.rstrip("_").replace("_", "-")
        given += f" {plain}" if value is True else f' {plain}="{_attribute(value)}"'
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(*children)}</{name}>")


def scrolling(name: str, *children: object) -> Markup:
    """What may be wider than the page: a region of its own, which a keyboard can scroll."""
    label = f"{name}, scrolls sideways"
    return tag("div", *children, class_="scroll", tabindex="0", role="region", aria_label=label)


def badge(severity: str) -> Markup:
    """A severity as a word in its colour."""
    return tag("span", severity, class_=f"badge {severity}")


def script_json(value: Any) -> Markup:
    """A JSON text in ASCII for a script element: it holds no character that HTML knows."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for character, number in _IN_SCRIPTS.items():
        text = text.replace(character, number)
    return Markup(text)
