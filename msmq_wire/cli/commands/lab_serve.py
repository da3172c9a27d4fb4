"""``msmq-wire lab serve``: runs a small queue manager until it is stopped."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from msmq_wire.cli.formats import LineFormat
from msmq_wire.cli.lab_options import (
    DEFAULT_FILE_SIZE,
    Capture,
    Fault,
    Seed,
    address_of,
    check_capture,
    faults_of,
    guid_of,
    new_capture,
    new_identifier,
    run_lab,
)
from msmq_wire.cli.options import Force
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.cli.secret_options import RsaKeyPasswords, RsaKeys, private_keys_for
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.lab.log import LabEvent
from msmq_wire.lab.model.data.message_security import MessageSecurity
from msmq_wire.lab.server import DEFAULT_IDENTIFIER, LabServer, LabServices, LabSettings, raise_file_limit
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT
from msmq_wire.records.tree.value_text import timestamp_text
from msmq_wire.units import SECOND
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_NOT_FOR_PRODUCTION = (
    "this is a lab, not a production queue manager: messages are in memory only, nobody is authenticated"
)


def _port(option: str, what: str) -> Any:
    return typer.Option(option, metavar="N", min=0, max=65_535, help=f"{what}; 0 is any that is free.")


def serve(
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, _port("--port", "TCP port of the binary protocol")] = MSMQ_PORT,
    ping_port: Annotated[int, _port("--ping-port", "UDP port of pings")] = PING_PORT,
    rpc_port: Annotated[
        int, _port("--rpc-port", "TCP port of RemoteRead, qm2qm, qmcomm, qmcomm2 and qmmgmt over DCE/RPC")
    ] = 2103,
    http_port: Annotated[int, _port("--http-port", "TCP port of SRMP over HTTP")] = 8080,
    queues: Annotated[
        list[str] | None,
        typer.Option(
            "--queue",
            metavar="NAME",
            help="A queue, named as private$\\orders. May be repeated.",
            show_default="private$\\orders",
        ),
    ] = None,
    transactional: Annotated[
        list[str] | None,
        typer.Option(
            "--transactional-queue",
            metavar="NAME",
            help="A queue for transactional messages. May be repeated.",
            show_default="private$\\orders_tx",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--computer-name", metavar="NAME", help="Its name, as in DIRECT=OS:NAME.")
    ] = "lab",
    neighbours: Annotated[
        list[str] | None,
        typer.Option(
            "--neighbour",
            metavar="NAME=HOST[:PORT]",
            help="Another queue manager, as DIRECT=OS:NAME or DIRECT=TCP:NAME has it: what clients send to "
            "its queues goes there over the binary protocol. May be repeated.",
            show_default=False,
        ),
    ] = None,
    identifier: Annotated[
        str | None,
        typer.Option(
            "--identifier",
            metavar="GUID",
            help="Its GUID, as in PRIVATE=GUID\\00000001. One with neighbours has a new one by default.",
            show_default=False,
        ),
    ] = None,
    routes: Annotated[
        list[str] | None,
        typer.Option(
            "--route",
            metavar="GUID=NAME",
            help="Forward what is for the queue manager GUID to the neighbour NAME. May be repeated.",
            show_default=False,
        ),
    ] = None,
    public_queues: Annotated[
        list[str] | None,
        typer.Option(
            "--public-queue",
            metavar="GUID=NAME",
            help="A public queue here. A GUID in place of NAME is the queue manager that has it. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    report_queue: Annotated[
        str | None,
        typer.Option(
            "--report-queue",
            metavar="GUID",
            help="The public queue for the report messages of what clients of qmcomm have traced.",
            show_default=False,
        ),
    ] = None,
    rsa_keys: RsaKeys = None,
    rsa_key_passwords: RsaKeyPasswords = None,
    capture: Capture = None,
    force: Force = False,
    file_size: Annotated[
        int,
        typer.Option(
            "--max-file-size",
            metavar="MEGABYTES",
            min=1,
            help="Most of the capture, and of the log. What is full gets no more, and the lab goes on.",
        ),
    ] = DEFAULT_FILE_SIZE,
    fault: Fault = None,
    seed: Seed = 0,
    seconds: Annotated[
        int | None,
        typer.Option(
            "--time",
            metavar="SECONDS",
            min=0,
            max=0xFFFF_FFFF,
            help="Seconds since 1970 at the start, in place of the clock of this computer.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        LineFormat, typer.Option("--format", help="How services and events are printed.")
    ] = LineFormat.TEXT,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the services only.")] = False,
) -> None:
    """Serve queues until Ctrl+C.

    Clients reach them by the binary protocol, remote read over DCE/RPC, and SRMP. SIGTERM ends it, too.

    This is a lab: it makes captures, tests clients and is fuzzed. It is not a production queue manager.
    Messages are in memory and gone in the end, no client is authenticated, calls are not encrypted, and
    nothing is sent to other computers but those of --neighbour. With --rsa-key signatures are checked and
    bodies opened, and what fails is refused. It listens on loopback only, unless --host says
    otherwise.

    First come the addresses, a line for each service, then what happens, a line for each event: sessions,
    messages that come and go, calls, posts, pings. GET /queues on the HTTP port lists the queues.

    Exit status: 0 it was told to stop; 1 a port cannot be served or the capture cannot be written; 2 bad
    usage, or the capture is there.

    Examples:

        msmq-wire lab serve --capture lab.pcap

        msmq-wire lab serve --queue "private$\\bills" --fault drop=0.01,delay=20ms --seed 7

        msmq-wire lab serve --computer-name a --neighbour b=127.0.0.2

        msmq-wire lab serve --public-queue e5a0c3d7-91b4-4f6e-8a2d-3c5b7f9e1d60=reports
    """
    check_capture(capture, force=force)
    known = dict(map(_neighbour, neighbours or ()))
    here, elsewhere = _public_queues(public_queues or ())
    settings = LabSettings(
        host=host,
        port=port,
        ping_port=ping_port,
        rpc_port=rpc_port,
        http_port=http_port,
        queues=tuple(queues or (LabSettings().queues if not transactional else ())),
        transactional_queues=tuple(
            transactional or (LabSettings().transactional_queues if not queues else ())
        ),
        computer_name=name,
        # Two queue managers that send to each other need different identifiers.
        identifier=_identifier(identifier, new=bool(neighbours)),
        neighbours=known,
        routes=dict(_route(one, known) for one in routes or ()),
        public_queues=here,
        public_queue_owners=elsewhere,
        report_queue=NULL_GUID if report_queue is None else guid_of(report_queue, "--report-queue"),
        time=seconds,
        faults=faults_of(fault),
        seed=seed,
        security=_message_security(rsa_keys, rsa_key_passwords),
    )
    print_note(_NOT_FOR_PRODUCTION)
    if not _is_loopback(host):
        print_error(f"WARNING: {host} is not loopback: whoever reaches it can read, send and remove messages")
    for who, (where, _) in settings.neighbours.items():
        if not _is_loopback(where):
            print_error(f"WARNING: {where} is not loopback: what clients send to {who} leaves this computer")
    raise_file_limit()
    printer = _Printer(format_, quiet=quiet, megabytes=file_size)
    run_lab(_serve(settings, capture, printer, force=force, megabytes=file_size))


def _message_security(keys: list[str] | None, passwords: list[str] | None) -> MessageSecurity | None:
    """The signature and body checks of the lab; None without a private key."""
    found = private_keys_for(keys, passwords)
    if not found:
        return None
    from msmq_wire.lab.message_keys import LabSecurity

    return LabSecurity(found)


def _neighbour(text: str) -> tuple[str, tuple[str, int]]:
    """Parse ``NAME=HOST[:PORT]`` to a name and an address."""
    name, equals, where = text.partition("=")
    if not (name and equals and where):
        raise typer.BadParameter(f"{text} is no NAME=HOST[:PORT]", param_hint="--neighbour")
    return name, address_of(where, LabSettings().port)


def _identifier(text: str | None, *, new: bool) -> GUID:
    if text is not None:
        return guid_of(text, "--identifier")
    return new_identifier() if new else DEFAULT_IDENTIFIER


def _pair(text: str, option: str) -> tuple[GUID, str]:
    """Parse ``GUID=NAME``."""
    guid, equals, name = text.partition("=")
    if not (equals and name):
        raise typer.BadParameter(f"{text} is no GUID=NAME", param_hint=option)
    return guid_of(guid, option), name


def _route(text: str, neighbours: Iterable[str]) -> tuple[GUID, str]:
    """Parse ``GUID=NAME``, where NAME is a neighbour."""
    guid, name = _pair(text, "--route")
    if name.casefold() not in {one.casefold() for one in neighbours}:
        raise typer.BadParameter(f"{name} is no neighbour: add --neighbour {name}=HOST", param_hint="--route")
    return guid, name


def _public_queues(texts: Iterable[str]) -> tuple[dict[GUID, str], dict[GUID, GUID]]:
    """The public queues here, by name, and those elsewhere, by queue manager."""
    here, elsewhere = dict[GUID, str](), dict[GUID, GUID]()
    for text in texts:
        guid, name = _pair(text, "--public-queue")
        try:
            elsewhere[guid] = GUID.parse(name)
        except ValueError:
            here[guid] = name
    return here, elsewhere


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Printer:
    """Prints lines until the reader of the pipe is gone or the size limit is reached; the lab continues."""

    def __init__(self, format_: LineFormat, *, quiet: bool, megabytes: int) -> None:
        self.event: Callable[[LabEvent], None] | None = None if quiet else self._event
        self._format = format_
        self._broken = False
        self._left = megabytes * 1_000_000

    def services(self, services: LabServices) -> None:
        """Print the addresses of the services."""
        for service in services.__struct_fields__:
            host, port = getattr(services, service)
            address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            if self._format is LineFormat.JSONL:
                self._print(json_line({"service": service, "address": address}))
            else:
                self._print(f"{service:6} {address}")

    def _event(self, event: LabEvent) -> None:
        if self._left <= 0:
            return
        line = self._line(event)
        self._left -= len(line.encode("utf-8", "replace"))
        if self._left <= 0:
            line = self._line(LabEvent(event.time, "log-full", {}))
        self._print(line)

    def _line(self, event: LabEvent) -> str:
        moment = timestamp_text(event.time)
        if self._format is LineFormat.JSONL:
            return json_line({"time": moment, "event": event.event, **event.fields})
        details = (f" {name}={escaped(str(value))}" for name, value in event.fields.items())
        return f"{moment} {event.event}{''.join(details)}"

    def _print(self, line: str) -> None:
        if self._broken:
            return
        try:
            print(line, flush=True)
        except OSError:
            self._broken = True


async def _serve(
    settings: LabSettings, path: str | None, printer: _Printer, *, force: bool, megabytes: int
) -> None:
    clock = _clock(settings.time)
    capture = None if path is None else new_capture(path, force=force, megabytes=megabytes, clock=clock)
    try:
        stop = asyncio.Event()
        with _stopped_by_signals(stop):
            async with LabServer(settings, capture=capture, write=printer.event) as server:
                printer.services(await server.start())
                await stop.wait()
    finally:
        if capture is not None:
            capture.close()


def _clock(seconds: int | None) -> Callable[[], int]:
    if seconds is None:
        return time.time_ns
    begin = seconds * SECOND - time.monotonic_ns()
    return lambda: begin + time.monotonic_ns()


@contextmanager
def _stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
    """Let SIGINT and SIGTERM set ``stop``; restore the previous handlers at the end."""
    loop = asyncio.get_running_loop()

    def on_signal(number: int, frame: object) -> None:
        loop.call_soon_threadsafe(stop.set)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
