"""Bodies shown: in one line, or laid out for a reader."""

from __future__ import annotations

from msmq_wire.invisible import shown
from msmq_wire.records.bodies.body import Body
from msmq_wire.records.bodies.json_text import pretty_json
from msmq_wire.records.bodies.xml_text import pretty_xml

_REPLACEMENT = "\ufffd"


def caption(body: Body) -> str:
    """What kind of body it is in a few words, or its value when it is one value; may be empty."""
    if body.scalar:
        return body.text or ""
    return f"{body.encoding} {body.title}".strip() if body.kind in ("text", "xml", "json") else body.title


def preview(body: Body, width: int = 60) -> str:
    """One line of at most ``width`` characters: the text of a body, else what it is; may be empty.

    Blanks run together, and what cannot be printed or is not seen is U+FFFD.
    """
    shows_text = body.text is not None and (body.scalar or body.kind in ("text", "xml", "json", "array"))
    text = body.text if shows_text and body.text is not None else caption(body)
    line = " ".join(text[: 4 * width + 64].split())
    line = shown(line, lambda _: _REPLACEMENT)
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"[:width]


def layout(body: Body) -> str | None:
    """The text view of a body: XML and JSON indented, other text as it is, else the details a line each.

    None when there is nothing but bytes.
    """
    if body.text is not None:
        pretty = pretty_json(body.text) if body.text.lstrip()[:1] in ("{", "[") else None
        if pretty is None and body.text.lstrip()[:1] == "<":
            pretty = pretty_xml(body.text.strip())
        return body.text if pretty is None else pretty
    return "\n".join(f"{name}: {value}" for name, value in body.details) or None
