"""What goes to standard error: one line for an error, one for the summary."""

from __future__ import annotations

import contextlib
import sys

import msmq_wire
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.urls import printable

__all__ = ["PROGRAM", "complain", "tell", "version_text"]

PROGRAM = "msmq-wire"


def complain(message: str) -> None:
    """Print an error as one line, whatever the message holds."""
    tell(f"{PROGRAM}: {message}")


def tell(message: str) -> None:
    """Print one line on standard error, without the secrets of URLs."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    with contextlib.suppress(OSError, ValueError):
        # In the order it happened, if both streams are one terminal.
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        # Where errors cannot be told, the status still tells that there was one.
        print(escaped(printable(" ".join(message.split())), encoding=encoding), file=sys.stderr)


def version_text() -> str:
    """The program and its version."""
    return f"{PROGRAM} {msmq_wire.__version__}"
