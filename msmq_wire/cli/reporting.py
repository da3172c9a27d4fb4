"""What goes to standard error: one line for an error, one for the summary."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Sequence
from itertools import pairwise

import msmq_wire
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.urls import mask_secrets

PROGRAM = "msmq-wire"
_HIDDEN: dict[str, str] = {}
"""What stands for paths where hosts are hidden; an empty one says that they are."""
_REDACT, _PUBLISH = "--redact", "--publish"
_A_PATH = "a path"
_SHORTEST = 3


def hide_paths(arguments: Sequence[str]) -> None:
    """Hide the paths of a command line from now on, where it asks to hide hosts; else hide nothing."""
    _HIDDEN.clear()
    if not _hides_hosts(arguments):
        return
    _HIDDEN[""] = ""
    for argument in arguments:
        value = argument.partition("=")[2] if argument.startswith("-") else argument
        value = value.removeprefix("@")
        if re.search(r"[./\\]", value) or os.path.exists(value):
            _hide(value, _A_PATH)


def hide_file(path: str, instead: str) -> None:
    """Say something else for a file that is read, if paths are hidden."""
    if _HIDDEN and path != instead:
        _hide(path, instead)


def is_hiding() -> bool:
    """Whether paths are hidden."""
    return bool(_HIDDEN)


def _hide(path: str, instead: str) -> None:
    folder, name = os.path.split(path)
    for one in {path, os.path.abspath(path), os.path.realpath(path)}:
        _HIDDEN[one] = instead
    for one, stand_in in ((name, instead), (folder, _A_PATH)):
        # What is as short is a word of the language.
        if len(one.strip("./\\")) >= _SHORTEST:
            _HIDDEN.setdefault(one, stand_in)


def _hides_hosts(arguments: Sequence[str]) -> bool:
    if _PUBLISH in arguments:
        return True
    words = [one.partition("=")[2] for one in arguments if one.startswith(f"{_REDACT}=")]
    words += [after for one, after in pairwise(arguments) if one == _REDACT]
    return any("hosts" in word.split(",") for word in words)


def print_error(message: str) -> None:
    """Print an error as one line, whatever the message holds."""
    print_note(f"{PROGRAM}: {message}")


def print_note(message: str) -> None:
    """Print one line on standard error, without the secrets of URLs."""
    if _HIDDEN:
        from msmq_wire.report.redaction.forms import without_paths

        message = without_paths(message, {path: instead for path, instead in _HIDDEN.items() if path})
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    with contextlib.suppress(OSError, ValueError):
        # In the order it happened, if both streams are one terminal.
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        # Where errors cannot be told, the status still tells that there was one.
        print(escaped(mask_secrets(" ".join(message.split())), encoding=encoding), file=sys.stderr)


def version_text() -> str:
    """The program and its version."""
    return f"{PROGRAM} {msmq_wire.__version__}"
