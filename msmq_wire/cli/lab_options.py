"""What the commands of the lab share: addresses, names of queues, options, and how their work is run."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import random
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Annotated, Any, TypeVar

import typer

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.cli.options import check_output
from msmq_wire.cli.reporting import print_error
from msmq_wire.errors import CaptureError, FormatNameError, MsmqWireError
from msmq_wire.lab.faults import FaultPlan, parse_faults
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID

_T = TypeVar("_T")
_INTERRUPTED = 130
_MEGABYTE = 1_000_000
DEFAULT_FILE_SIZE = 1000
"""Megabytes of a capture, and of a log."""


QueueName = Annotated[
    str,
    typer.Argument(
        metavar="QUEUE",
        help="As private$\\orders, or a whole format name, as DIRECT=OS:lab\\private$\\orders.",
        show_default=False,
    ),
]
Capture = Annotated[
    str | None,
    typer.Option(
        "--capture", metavar="FILE", help="Write what passes to this pcap file.", show_default=False
    ),
]
Fault = Annotated[
    str | None,
    typer.Option(
        "--fault",
        metavar="TEXT",
        help='What goes wrong on purpose, as "drop=0.01,delay=50ms": drop, cut, duplicate, nack with a '
        "probability, delay with a time.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Faults are drawn from this number.")]
Wait = Annotated[
    float,
    typer.Option("--wait", metavar="SECONDS", min=0, max=86_400, help="How long to wait for a message."),
]


def address_of(text: str, default: int) -> tuple[str, int]:
    """A host and a port of ``127.0.0.1:1801``, ``[::1]:1801``, ``lab`` or ``:1801``."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")) or text.endswith("]"):
        host, port = text, str(default)
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise typer.BadParameter(f"{text} is no HOST:PORT", param_hint="HOST:PORT")
    return host, int(port)


def format_name_of(queue: str, host: str) -> str:
    """The format name of a queue at a host; one that is whole stays as it is."""
    name = queue
    if "=" not in queue:
        name = f"DIRECT={_machine(host)}\\{queue}"
    try:
        return str(FormatName.parse(name))
    except FormatNameError as error:
        raise typer.BadParameter(f"{queue}: {error}", param_hint="QUEUE") from None


def _machine(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"OS:{host}"
    # The colons of IPv6 have no place in a name.
    return f"TCP:{address}" if address.version == 4 else "OS:localhost"


def guid_of(text: str, option: str) -> GUID:
    """The GUID that an option names."""
    try:
        return GUID.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def faults_of(text: str | None) -> FaultPlan | None:
    """The faults that an option asks for."""
    if text is None:
        return None
    try:
        return parse_faults(text)
    except MsmqWireError as error:
        raise typer.BadParameter(str(error), param_hint="--fault") from None


def new_identifier() -> GUID:
    """An identifier of a queue manager that nobody had: receivers remember the numbers of the others."""
    return GUID(os.urandom(16))


def new_randomness() -> random.Random:
    """Random numbers that are not those of another run."""
    return random.Random(os.urandom(16))


def check_capture(path: str | None, *, force: bool) -> None:
    """Raise typer.BadParameter for a capture file that must not be written."""
    if path is not None:
        check_output(path, "--capture", force=force, in_place=True)
    elif force:
        raise typer.BadParameter("--force changes nothing without --capture")


def new_capture(
    path: str,
    *,
    force: bool,
    megabytes: int = DEFAULT_FILE_SIZE,
    clock: Callable[[], int] = time.time_ns,
) -> CaptureWriter:
    """A capture file of a bounded size. A line on standard error says when it is full."""
    return CaptureWriter(
        path,
        clock=clock,
        force=force,
        most_bytes=megabytes * _MEGABYTE,
        full=lambda: print_error(f"{path} is full at {megabytes} MB: the lab goes on without writing to it"),
    )


@contextlib.contextmanager
def capture_to(path: str | None, *, force: bool) -> Iterator[CaptureWriter | None]:
    """A capture file that is closed in the end; where it cannot be written the status is 1."""
    check_capture(path, force=force)
    if path is None:
        yield None
        return
    try:
        with new_capture(path, force=force) as capture:
            yield capture
    except CaptureError as error:
        print_error(str(error))
        raise typer.Exit(1) from None


def run_lab(work: Coroutine[Any, Any, _T]) -> _T:
    """Run what a command does; an error is one line, and the status is 1."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None
    except MsmqWireError as error:
        print_error(str(error))
        raise typer.Exit(1) from None
