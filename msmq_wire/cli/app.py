"""The command line: ``msmq-wire packet``, ``decode``, ``messages``, ``findings`` and the other commands.

The rule kept here: every end is a status (0 done, 1 a file failed or held nothing, 2 bad usage, 3 findings
at or above the level that was named) and at most one clear line, never a traceback.
"""

from __future__ import annotations

import contextlib
import difflib
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msmq_wire.cli.reporting import PROGRAM, hide_paths, print_error, version_text
from msmq_wire.cycles import COLLECTED
from msmq_wire.errors import MissingExtraError

if TYPE_CHECKING:
    from typer.exceptions import TyperException

_BAD_USAGE = 2
_NEAREST, _ALIKE = 2, 0.75
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (that of the process by default) and return its exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _replace_closed_streams()
    gc.set_threshold(COLLECTED)
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except SystemExit as error:
        # typer turns a broken pipe into an exit of its own.
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        _forget_output()
        return 0
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        _forget_output()
        return 0
    except OSError as error:
        print_error(f"cannot write the output: {error.strerror or error}")
        _forget_output()
        return 1


def _replace_closed_streams() -> None:
    """Point a standard stream that the process was started without (None in sys) at nothing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  (kept open)


def _forget_output() -> None:
    """Point standard output at nothing: what is still buffered must not fail again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)


def _command(error: Exception, arguments: list[str]) -> str:
    """The command, or group of commands, whose use an error is about."""
    context = getattr(error, "ctx", None)
    if context is not None:
        return str(context.command_path)
    from msmq_wire.cli.program import COMMANDS

    # An option without its value is refused before there is a command to say whose it is.
    words = (" ".join(arguments[:count]) for count in (2, 1))
    return " ".join([PROGRAM, *(name for name in words if name in COMMANDS)])


def _message(error: TyperException) -> str:
    """What is wrong with a command line, and what was meant where something similar exists."""
    near = getattr(error, "possibilities", None)
    if near is not None:
        near = difflib.get_close_matches(getattr(error, "option_name", ""), near, _NEAREST, _ALIKE)
        return f"{error.message}. Did you mean {' or '.join(near)}?" if near else error.message
    # What pydantic says of a value has the class of its error in front.
    return error.format_message().replace(": Value error, ", ": ", 1)


def _told_plainly(as_json: bool) -> int:
    """What doctor says, where all that prints it better is absent."""
    from msmq_wire.cli.health import health

    found = health()
    if as_json:
        print(found.as_json())
    else:
        print(found.headline, *(f"{one.state}  {one.name}: {one.said}" for one in found.checks), sep="\n")
    return 0 if found.works else 1


def _run(arguments: list[str]) -> int:
    hide_paths(arguments)
    if arguments == ["--version"]:
        # Answered before the libraries of the command line are imported.
        print(version_text())
        return 0
    try:
        import rich  # noqa: F401  (only to know that it can be imported)
        import typer
        from typer.exceptions import TyperException
    except ImportError:
        if arguments[:1] == ["doctor"]:
            return _told_plainly("json" in arguments)
        print_error(
            'the command line needs typer and rich: pip install "msmq-wire[cli]", or to try it '
            'uvx --from "msmq-wire[cli]" msmq-wire'
        )
        return 1
    from msmq_wire.cli.program import program

    # Names and labels may hold what the encoding of the terminal lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = program()(arguments or ["--help"], prog_name=PROGRAM, standalone_mode=False)
    except TyperException as error:
        message = _message(error)
        if message and error.exit_code == _BAD_USAGE:
            from msmq_wire.cli.secret_options import mistyped_secret

            message = f"{mistyped_secret(arguments) or message} (see {_command(error, arguments)} --help)"
        if message:
            print_error(message)
        return error.exit_code
    except typer.Abort:
        return _INTERRUPTED
    except typer.Exit as error:
        return error.exit_code
    except MissingExtraError as error:
        print_error(str(error))
        return 1
    if not arguments:
        return _BAD_USAGE
    return status if isinstance(status, int) else 0
