"""Manual pages of the program and its commands, in man(7): what ``--help`` says, as ``man`` shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msmq_wire
from msmq_wire.cli.help_text import argument_name, paragraphs, sections
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
    arguments = [one for one in command.get_params(context) if one.param_type_name == "argument"]
    reported = [*paragraphs(command.help)]
    status = next((text for text, _ in reported if text.startswith(_STATUS)), "")
    at = next((at for at, (text, _) in enumerate(reported) if text == _EXAMPLES), len(reported))
    examples = [line.strip() for text, _ in reported[at + 1 :] for line in text.splitlines()]
    reported = [one for one in reported[:at] if not one[0].startswith(_STATUS)]
    lines = [*_head(path, line), ".SH SYNOPSIS", f".B {_roff(context.command_path)}"]
    lines += [_italic(argument_name(one)) for one in arguments] if path else [_italic("COMMAND")]
    lines += ["[\\fIOPTION\\fR]...", ".SH DESCRIPTION", *_paragraphs(reported)]
    if not path:
        lines += [".SH COMMANDS", *_commands({**COMMANDS, **GROUPS}, alone=True)]
    for title, rows in sections(command, context):
        lines += [f".SH {title.upper()}", *(line for row in rows for line in _item(*row))]
    if status:
        said = status.removeprefix(_STATUS)
        lines += [".SH EXIT STATUS", _roff(said[:1].upper() + said[1:])]
    if examples:
        lines += [".SH EXAMPLES", ".nf", *(_roff(one) for one in examples), ".fi"]
    others = (PROGRAM, *(_name(name) for name in GROUPS)) if path else [_name(name) for name in COMMANDS]
    return _text([*lines, ".SH SEE ALSO", _also(one for one in others if one != _name(path))])


def _group(name: str, line: str) -> str:
    lines = [*_head(name, line), ".SH SYNOPSIS", f".B {_roff(f'{PROGRAM} {name}')}", _italic("COMMAND")]
    lines += ["[\\fIOPTION\\fR]...", ".SH DESCRIPTION", _roff(line), ".SH COMMANDS"]
    own = {path: reported for path, reported in COMMANDS.items() if path.startswith(f"{name} ")}
    lines += _commands(own, alone=False)
    return _text([*lines, ".SH SEE ALSO", _also((PROGRAM, *map(_name, own)))])


def _head(path: str, line: str) -> Iterator[str]:
    yield f'.TH {_name(path).upper()} 1 "" "{PROGRAM} {msmq_wire.__version__}" "{PROGRAM}"'
    yield ".SH NAME"
    said = _FULL_STOP.sub("", line)
    yield f"{_roff(_name(path))} \\- {_roff(said[:1].lower() + said[1:])}"


def _commands(found: Mapping[str, Any], *, alone: bool) -> Iterator[str]:
    for path, reported in found.items():
        if not alone or " " not in path:
            yield from _item(path, reported if isinstance(reported, str) else reported[1])


def _item(name: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield f"\\fB{_roff(name)}\\fR"
    yield _roff(text) or "\\&"


def _paragraphs(reported: list[tuple[str, bool]]) -> Iterator[str]:
    for number, (text, is_kept) in enumerate(reported):
        if number:
            yield ".PP"
        if is_kept:
            yield from (".nf", *(_roff(line) or ".sp" for line in text.splitlines()), ".fi")
        else:
            yield _roff(text)


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
