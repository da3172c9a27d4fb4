"""``msmq-wire filter``: explains the language of ``--filter``, its names, and one expression."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from datetime import UTC
from typing import Annotated, Any

import typer

from msmq_wire.detection.filtering import all_names, findings_vocabulary
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.filter.compiling import leaves
from msmq_wire.records.filter.expression_text import doc_of, expression_lines
from msmq_wire.records.filter.expression_tree import composed
from msmq_wire.records.filter.parser import parsed
from msmq_wire.records.filter.vocabulary import Name

_WIDTH = 76
_OF_NAME = 20
_OF_KIND = 15
_HEADS = {
    "items": "Of every item, in every command that takes --filter",
    "messages": "Of messages, whatever brought them",
    "calls": "Of remote read calls",
    "findings": "Of findings, in findings alone; there the names above ask the item that is the evidence",
}


def filter_(
    context: typer.Context,
    expression: Annotated[
        str | None,
        typer.Argument(metavar="EXPRESSION", help="What to check.", show_default=False),
    ] = None,
) -> None:
    """Check a filter expression and explain it.

    Without an expression it shows this help."""
    if expression is None:
        print(context.get_help())
        return
    vocabulary = findings_vocabulary(outcomes=True)
    try:
        tree = parsed(expression, vocabulary)
        composed(tree, leaves(expression, vocabulary, UTC))
    except MsmqWireError as error:
        raise typer.BadParameter(str(error), param_hint="EXPRESSION") from None
    for line in expression_lines(tree, vocabulary):
        print(line)


def _help() -> str:
    return "\n\n".join((_LANGUAGE, *(f"{head}:\n\n\b\n{_names(group)}" for group, head in _HEADS.items())))


def _names(group: str) -> str:
    return "\n".join(line for one in all_names()[group] for line in _lines(one))


def _lines(name: Name[Any]) -> Iterator[str]:
    head = f"{name.name:<{_OF_NAME}}{name.place.shown:<{_OF_KIND}}"
    first, *others = textwrap.wrap(doc_of(name), _WIDTH - len(head), break_on_hyphens=False)
    yield head + first
    for other in others:
        yield " " * len(head) + other


_LANGUAGE = """Check a filter expression and explain it.

A filter is made of comparisons, joined by and, or, not and parentheses:

\b
  type == user_message and (label ~ order or anomalies > 0)
  queue matches "orders$" and not host == 192.0.2.0/24
  message_class in (normal, order_ack) and time >= 2026-11-20T09:14

A comparison is a name, an operator and a value. Operators:

\b
  == !=             equal or not; of addresses also within a network
  < <= > >=         less or more, earlier or later
  ~                 contains, in upper or lower case
  matches           has in it what a regular expression says (RE2 syntax), in
                    upper or lower case, as in Wireshark, unless it says (?-i)
  in (a, b)         one of these; not in (a, b)

A name alone asks whether there is something: not absent, empty, zero or false. What is absent matches no
comparison, not even !=. Of several values, as frames or host has them, one must match; with != and not in
all. A value with white space, parentheses or quotes stands in quotes of the other kind; a backslash is
itself.

A time is a date, a time of day, or both (2026-11-20, 09:14, 2026-11-20T09:14:08.25Z), in the zone that the
command shows. With ==, != and ~ it is all that it leaves open: a date the whole day, 09:14 the whole minute.
For < <= > >= it is one moment, the first of these.

Numbers are decimal or, as 0x1f, hexadecimal; those with names take these, too, as message_class ==
order_ack. Names are those below and every path of a packet as JSON has it: user_header.message_id,
user_header.flags.dq, request.ul_timeout, envelope.header.path.to; in a list by its place (headers[0].value)
or anywhere (headers.value). Names of Wireshark (msmq.user_header.message_id, frame.number) and of the tables
of Spark mean the same."""

filter_.__doc__ = _help()
