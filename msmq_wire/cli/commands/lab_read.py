"""``msmq-wire lab receive``, ``peek``, ``purge`` and ``move``: reads and moves the messages of a lab."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.cli.formats import LineFormat
from msmq_wire.cli.lab_options import (
    Capture,
    QueueName,
    Wait,
    address_of,
    capture_to,
    format_name_of,
    new_identifier,
    new_randomness,
    run_lab,
)
from msmq_wire.cli.options import Force
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.engines.codec import inspect
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.queue_reader import (
    Qm2qmReader,
    ReadMessage,
    RemoteReadReader,
    connect_qm2qm,
    connect_reader,
    status_name,
)
from msmq_wire.records.bodies import preview
from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import Record
from msmq_wire.records.tree.value_text import count_text, unix_time_text
from msmq_wire.rpc.statuses import Status

_RPC_PORT = 2103
_NOTHING = (Status.MQ_ERROR_IO_TIMEOUT, Status.MQ_ERROR_MESSAGE_NOT_FOUND)


class ReadInterface(StrEnum):
    """By which interface a queue is read."""

    REMOTE_READ = "remote-read"
    QM2QM = "qm2qm"


Server = Annotated[
    str, typer.Argument(metavar="HOST:PORT", help="The RPC service of lab serve.", show_default=False)
]
By = Annotated[ReadInterface, typer.Option("--interface", help="By which interface the queue is read.")]
Lines = Annotated[LineFormat, typer.Option("--format", help="How messages are printed.")]
Count = Annotated[
    int, typer.Option("--count", metavar="N", min=0, help="How many messages; 0 is all that are there.")
]


def receive(
    server: Server,
    queue: QueueName,
    count: Count = 1,
    wait: Wait = 0.0,
    nack: Annotated[
        bool, typer.Option("--nack", help="Begin to receive one, then put it back (RR_NACK).")
    ] = False,
    interface: By = ReadInterface.REMOTE_READ,
    format_: Lines = LineFormat.TEXT,
    capture: Capture = None,
    force: Force = False,
) -> None:
    """Take messages off a queue.

    A receive has two phases: it is started, then ended with an acknowledgment. Each is printed in a line:
    when it arrived, its label, its size and how its body begins. PORT is 2103 by default; RemoteRead is asked
    for its own port first.

    Exit status: 0 done; 1 there was no message, the server refused, or there is no server; 2 bad usage.

    Examples:

        msmq-wire lab receive 127.0.0.1:2103 "private$\\orders" --wait 10

        msmq-wire lab receive :2103 "private$\\orders" --count 0 --format jsonl
    """
    if nack and (interface is not ReadInterface.REMOTE_READ or count != 1):
        raise typer.BadParameter("one message, and RemoteRead", param_hint="--nack")
    host, port = address_of(server, _RPC_PORT)
    name, timeout = format_name_of(queue, host), int(wait * 1000)

    async def work(writer: CaptureWriter | None) -> int:
        if interface is ReadInterface.QM2QM:
            async with await _qm2qm(host, port, writer) as qm2qm:
                number = await qm2qm.open(name)
                taken = await _printed(count, format_, lambda _: qm2qm.receive(number, timeout=timeout))
                await qm2qm.close_queue(number)
                return taken
        async with await _remote_read(host, port, writer) as reader:
            opened = await reader.open(name)
            take = reader.refuse if nack else reader.receive
            taken = await _printed(count, format_, lambda _: take(opened, timeout=timeout))
            await reader.close_queue(opened)
            return taken

    with capture_to(capture, force=force) as writer:
        _end(run_lab(work(writer)), "put back" if nack else "received")


def peek(
    server: Server,
    queue: QueueName,
    count: Count = 0,
    wait: Wait = 0.0,
    interface: By = ReadInterface.REMOTE_READ,
    format_: Lines = LineFormat.TEXT,
    capture: Capture = None,
    force: Force = False,
) -> None:
    """Show messages of a queue and leave them there.

    With qm2qm only the first message is shown. PORT is 2103 by default.

    Exit status: as for receive.

    Examples:

        msmq-wire lab peek 127.0.0.1:2103 "private$\\orders"
    """
    host, port = address_of(server, _RPC_PORT)
    name, timeout = format_name_of(queue, host), int(wait * 1000)

    async def work(writer: CaptureWriter | None) -> int:
        if interface is ReadInterface.QM2QM:
            async with await _qm2qm(host, port, writer) as qm2qm:
                number = await qm2qm.open(name, receive=False)
                shown = await _printed(1, format_, lambda _: qm2qm.peek(number, timeout=timeout))
                await qm2qm.close_queue(number)
                return shown
        async with await _remote_read(host, port, writer) as reader:
            opened = await reader.open(name, receive=False)
            cursor = await reader.run(reader.calls.create_cursor(opened))
            seen = await _printed(
                count,
                format_,
                lambda seen: reader.peek(opened, cursor=cursor, next_one=seen > 0, timeout=timeout),
            )
            await reader.close_queue(opened)
            return seen

    with capture_to(capture, force=force) as writer:
        _end(run_lab(work(writer)), "seen")


def purge(
    server: Server,
    queue: QueueName,
    interface: By = ReadInterface.REMOTE_READ,
    capture: Capture = None,
    force: Force = False,
) -> None:
    """Remove all messages of a queue. PORT is 2103 by default.

    Exit status: 0 done; 1 the server refused, or there is none; 2 bad usage.

    Examples:

        msmq-wire lab purge 127.0.0.1:2103 "private$\\orders"
    """
    host, port = address_of(server, _RPC_PORT)
    name = format_name_of(queue, host)

    async def work(writer: CaptureWriter | None) -> int:
        if interface is ReadInterface.QM2QM:
            async with await _qm2qm(host, port, writer) as qm2qm:
                number = await qm2qm.open(name)
                status = await qm2qm.purge(number)
                await qm2qm.close_queue(number)
                return status
        async with await _remote_read(host, port, writer) as reader:
            opened = await reader.open(name)
            status = await reader.run(reader.calls.purge(opened))
            await reader.close_queue(opened)
            return status

    with capture_to(capture, force=force) as writer:
        status = run_lab(work(writer))
    if status != Status.MQ_OK:
        print_error(f"the server does not purge {queue}: {status_name(status)}")
        raise typer.Exit(1)


def move(
    server: Server,
    queue: QueueName,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help='The queue\'s subqueue, as "private$\\orders;late", or the queue of a subqueue.',
            show_default=False,
        ),
    ],
    count: Count = 1,
    lookup_id: Annotated[
        int | None,
        typer.Option(
            "--lookup-id", metavar="N", min=0, help="This message, as peek shows it.", show_default=False
        ),
    ] = None,
    capture: Capture = None,
    force: Force = False,
) -> None:
    """Move messages into a subqueue or back.

    The first messages of the queue move, or one of them. PORT is 2103 by default.

    Exit status: as for receive.

    Examples:

        msmq-wire lab move 127.0.0.1:2103 "private$\\orders" "private$\\orders;late" --count 3
    """
    host, port = address_of(server, _RPC_PORT)
    source_name, target_name = format_name_of(queue, host), format_name_of(target, host)

    async def work(writer: CaptureWriter | None) -> int:
        async with await _remote_read(host, port, writer) as reader:
            source, into = await reader.open(source_name), await reader.open_for_move(target_name)
            moved = 0
            while not count or moved < count:
                number = lookup_id
                if number is None:
                    read = await reader.peek(source)
                    if read.status != Status.MQ_OK:
                        break
                    number = _lookup_id(read)
                try:
                    status = await reader.run(reader.calls.move(source, into, number or 0))
                except ValueError as error:
                    raise MsmqWireError(str(error)) from error
                if status != Status.MQ_OK:
                    raise MsmqWireError(f"the server does not move it: {status_name(status)}")
                moved += 1
                if lookup_id is not None:
                    break
            await reader.close_queue(into)
            await reader.close_queue(source)
            return moved

    with capture_to(capture, force=force) as writer:
        _end(run_lab(work(writer)), "moved")


async def _remote_read(host: str, port: int, capture: CaptureWriter | None) -> RemoteReadReader:
    return await connect_reader(
        host, port, identifier=new_identifier(), randomness=new_randomness(), capture=capture
    )


async def _qm2qm(host: str, port: int, capture: CaptureWriter | None) -> Qm2qmReader:
    return await connect_qm2qm(host, port, identifier=new_identifier(), capture=capture)


async def _printed(count: int, format_: LineFormat, read: Callable[[int], Awaitable[ReadMessage]]) -> int:
    """Print what ``read`` gives, told how many came before, up to ``count`` (0: all that are there)."""
    seen = 0
    while (not count or seen < count) and _shown(await read(seen), format_):
        seen += 1
    return seen


def _shown(read: ReadMessage, format_: LineFormat) -> bool:
    """Print a message; False where there is none, and an error where the server refused."""
    if read.status in _NOTHING:
        return False
    if read.status != Status.MQ_OK:
        raise MsmqWireError(f"the server gives no message: {status_name(read.status)}")
    row = dict(_row(read))
    if format_ is LineFormat.JSONL:
        print(json_line(row), flush=True)
    else:
        label = escaped(str(row["label"])) or "-"
        body = escaped(str(row["begins"]))
        print(f"{row['lookup_id']}  {row['arrived']}  {label}  {row['body_size']} bytes  {body}", flush=True)
    return True


def _lookup_id(read: ReadMessage) -> int:
    """The lookup identifier: its highest byte is not on the wire, and follows from the priority.

    [MS-MQRR] 3.1.4.7
    """
    packet = inspect(read.packet, as_=read.kind).packet
    high = 0
    if packet is not None and getattr(packet, "transaction_header", None) is not None:
        high = 7 - packet.base_header.bit("pr")
    return high << 56 | (read.sequence_id or 0)


def _row(read: ReadMessage) -> Iterator[tuple[str, Any]]:
    packet = inspect(read.packet, as_=read.kind).packet
    properties = getattr(packet, "message_properties_header", None)
    record = Record(id=1, type=read.kind, packet=packet)
    body = message_body(record)
    yield "lookup_id", _lookup_id(read)
    yield "arrived", unix_time_text(read.arrive_time)
    yield "label", "" if properties is None else properties.label.text
    yield "body_size", 0 if body is None else body.size
    yield "begins", "" if body is None else preview(body.content)


def _end(count: int, what: str) -> None:
    print_note(f"{count_text(count, 'message')} {what}")
    if not count:
        raise typer.Exit(1)
