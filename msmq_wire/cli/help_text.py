"""What ``--help`` prints: usage, text, arguments, options, and the options about keys at the end.

The rule kept here: what is indented in a docstring, such as an example, keeps its lines.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

KEYS = "Keys and certificates"
"""The panel of options that open what is sealed, encrypted or signed."""

_OPTIONS = "Options"
_INDENT = "    "
_TEXT_INDENT = "  "
_KEPT = "\b\n"
_BETWEEN = re.compile(r"(?<=[\[ ])([\d.]{1,20})<=x<=([\d.]{1,20})(?=\])")
_AT_LEAST = re.compile(r"(?<=[\[ ])x>=([\d.]{1,20})(?=\])")


def argument_name(parameter: Any) -> str:
    """An argument as a usage line names it, in brackets where it can be left out."""
    name = str(parameter.metavar or parameter.name.upper())
    return name if parameter.required else f"[{name}]"


def sections(command: Any, context: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The titles of a help with their rows, name and text: arguments, options, options of a panel."""
    found: dict[str, list[tuple[str, str]]] = {"Arguments": [], _OPTIONS: [], KEYS: []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        name, text = record
        if parameter.param_type_name == "argument":
            found["Arguments"].append((argument_name(parameter).strip("[]"), parameter.help or ""))
        else:
            text = _AT_LEAST.sub(r"\1 or more", _BETWEEN.sub(r"\1 to \2", text))
            found[parameter.rich_help_panel or _OPTIONS].append((name, text))
    return ((title, rows) for title, rows in found.items() if rows)


def paragraphs(text: str | None) -> Iterator[tuple[str, bool]]:
    """The paragraphs of a docstring, each with whether its lines stay as they are.

    Examples, of which each is a paragraph of its own, are one.
    """
    examples: list[str] = []
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        if paragraph.startswith(_KEPT):
            yield paragraph.removeprefix(_KEPT), True
        elif paragraph.startswith(_INDENT):
            examples.append(paragraph)
        else:
            if examples:
                yield "\n".join(examples), True
                examples = []
            yield " ".join(paragraph.split()), False
    if examples:
        yield "\n".join(examples), True


class HelpText:
    """The help of a command or group, in place of what typer prints."""

    usages: tuple[str, ...] = ()
    """How it is used, where its parameters do not say."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage lines."""
        parameters = self.get_params(ctx)  # type: ignore[attr-defined]  # of the command that this is mixed into
        arguments = [argument_name(one) for one in parameters if one.param_type_name == "argument"]
        usages = self.usages or (" ".join(("[OPTIONS]", *arguments)),)
        for number, usage in enumerate(usages):
            formatter.write_usage(ctx.command_path, usage, "       " if number else "Usage: ")

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the paragraphs of the docstring."""
        for text, is_kept in paragraphs(self.help):  # type: ignore[attr-defined]  # likewise
            lines = text.splitlines() if is_kept else textwrap.wrap(text, formatter.width - len(_TEXT_INDENT))
            formatter.write_paragraph()
            formatter.write("".join(f"{_TEXT_INDENT}{line}".rstrip() + "\n" for line in lines))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options, those about keys last."""
        for title, rows in sections(self, ctx):
            with formatter.section(title):
                formatter.write_dl(rows)
