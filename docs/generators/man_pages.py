"""Manual pages of the program and its commands, in man(7): what ``--help`` says, as ``man`` shows it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msmq_wire
from msmq_wire.cli.program import COMMANDS, GROUPS, ListedCommand, program
from msmq_wire.cli.reporting import PROGRAM

__all__ = ["pages"]

_STATUS = "Exit status: "
_EXAMPLES = "Examples:"
_FULL_STOP = re.compile(r"\.$")


def pages() -> Mapping[str, str]:
    """The pages by the names of their files."""
    made = {f"{_name(path)}.1": _page(path, *_command(path)) for path in ("", *COMMANDS)}
    return made | {f"{_name(name)}.1": _group(name, line) for name, line in GROUPS.items()}


def _name(path: str) -> str:
    return "-".join((PROGRAM, *path.split()))


def _command(path: str) -> tuple[Any, str]:
    """A command by its name, and the first sentence of its help."""
    found: Any = program()
    for word in path.split():
        found = found.commands[word]
    if isinstance(found, ListedCommand):
        found = found.whole
    return found, (COMMANDS[path][1] if path else "read Microsoft Message Queuing (MSMQ) traffic")


def _page(path: str, command: Any, line: str) -> str:
    context = command.context_class(command, info_name=f"{PROGRAM} {path}".strip())
    parameters = command.get_params(context)
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    told = [one for one in paragraphs if not one.startswith((_STATUS, _EXAMPLES, "    "))]
    status = next((one for one in paragraphs if one.startswith(_STATUS)), "")
    examples = [one.strip() for one in paragraphs if one.startswith("    ")]
    lines = [*_head(path, line), ".SH SYNOPSIS", f".B {_roff(context.command_path)}"]
    lines += [_argument(one) for one in arguments] if path else [_italic("COMMAND")]
    lines += ["[\\fIOPTION\\fR]...", ".SH DESCRIPTION", *_paragraphs(told)]
    if not path:
        lines += [".SH COMMANDS", *_commands({**COMMANDS, **GROUPS}, alone=True)]
    for title, kind in (("ARGUMENTS", "argument"), ("OPTIONS", "option")):
        found = [one.get_help_record(context) for one in parameters if one.param_type_name == kind]
        rows = [one for one in found if one is not None]
        if rows:
            lines += [f".SH {title}", *(line for row in rows for line in _item(*row))]
    if status:
        said = status.removeprefix(_STATUS)
        lines += [".SH EXIT STATUS", *_paragraphs([said[:1].upper() + said[1:]])]
    if examples:
        lines += [".SH EXAMPLES", ".nf", *(_roff(one) for one in examples), ".fi"]
    others = (PROGRAM, *(_name(name) for name in GROUPS)) if path else [_name(name) for name in COMMANDS]
    return _text([*lines, ".SH SEE ALSO", _also(one for one in others if one != _name(path))])


def _group(name: str, line: str) -> str:
    lines = [*_head(name, line), ".SH SYNOPSIS", f".B {_roff(f'{PROGRAM} {name}')}", _italic("COMMAND")]
    lines += ["[\\fIOPTION\\fR]...", ".SH DESCRIPTION", _roff(line), ".SH COMMANDS"]
    own = {path: told for path, told in COMMANDS.items() if path.startswith(f"{name} ")}
    lines += _commands(own, alone=False)
    return _text([*lines, ".SH SEE ALSO", _also((PROGRAM, *map(_name, own)))])


def _head(path: str, line: str) -> Iterator[str]:
    yield f'.TH {_name(path).upper()} 1 "" "{PROGRAM} {msmq_wire.__version__}" "{PROGRAM}"'
    yield ".SH NAME"
    said = _FULL_STOP.sub("", line)
    yield f"{_roff(_name(path))} \\- {_roff(said[:1].lower() + said[1:])}"


def _commands(found: Mapping[str, Any], *, alone: bool) -> Iterator[str]:
    for path, told in found.items():
        if not alone or " " not in path:
            yield from _item(path, told if isinstance(told, str) else told[1])


def _argument(parameter: Any) -> str:
    name = _italic(str(parameter.metavar or parameter.name))
    return name if parameter.required else f"[{name}]"


def _item(name: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield f"\\fB{_roff(name)}\\fR"
    yield _roff(text) or "\\&"


def _paragraphs(texts: list[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        if number:
            yield ".PP"
        yield _roff(" ".join(text.split()))


def _also(names: Any) -> str:
    return ", ".join(f"\\fB{_roff(one)}\\fR(1)" for one in names)


def _italic(text: str) -> str:
    return f"\\fI{_roff(text)}\\fR"


def _roff(text: str) -> str:
    """A text as it stands: no sign of it is one of roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    escaped = escaped.replace("^", "\\(ha").replace("~", "\\(ti")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
