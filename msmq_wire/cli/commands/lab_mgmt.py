"""``msmq-wire lab mgmt`` and ``queues``: the state of a queue manager and its queues, by qmmgmt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import typer

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.cli.formats import LineFormat
from msmq_wire.cli.lab_options import Capture, address_of, capture_to, format_name_of, run_lab
from msmq_wire.cli.options import Force
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.cli.reporting import print_note
from msmq_wire.engines.text.escaping import json_line
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.management_client import ManagementClient, connect_management
from msmq_wire.lab.model.qmmgmt.client import ManagementResult
from msmq_wire.lab.queue_reader import status_name
from msmq_wire.rpc.constants import ManagementAction
from msmq_wire.rpc.management_properties import ManagementValue
from msmq_wire.rpc.properties import PropertyKind, property_name
from msmq_wire.rpc.statuses import Status

_RPC_PORT = 2103
_ACTIVE, _PRIVATE = 1, 2
_PATH, _LOCATION, _TRANSACTIONAL, _MESSAGES, _BYTES, _JOURNALED, _JOURNAL_BYTES, _SUBQUEUES = (
    1, 4, 5, 7, 8, 9, 10, 27,
)  # fmt: skip
_OF_QUEUE = (_PATH, _LOCATION, _TRANSACTIONAL, _MESSAGES, _BYTES, _JOURNALED, _JOURNAL_BYTES, _SUBQUEUES)
_DIRECT = "DIRECT=OS:"

Server = Annotated[
    str, typer.Argument(metavar="HOST:PORT", help="The RPC service of lab serve.", show_default=False)
]
Lines = Annotated[LineFormat, typer.Option("--format", help="How it is printed.")]


def mgmt(
    server: Server,
    queue: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUEUE]",
            help="As private$\\orders, or a whole format name, that of an outgoing queue, too; without one "
            "the computer is meant.",
            show_default=False,
        ),
    ] = None,
    action: Annotated[
        ManagementAction | None,
        typer.Option(
            "--action",
            case_sensitive=False,
            help="Have it do something: CONNECT, DISCONNECT, TIDY the computer, PAUSE, RESUME, EOD_RESEND an "
            "outgoing queue. TIDY purges all queues of a lab.",
            show_default=False,
        ),
    ] = None,
    format_: Lines = LineFormat.TEXT,
    capture: Capture = None,
    force: Force = False,
) -> None:
    """Ask a queue manager for management data, or have it act.

    The calls are those of qmmgmt, R_QMMgmtGetInfo and R_QMMgmtAction. A property without a value is not
    shown, in JSON lines it is null. PORT is 2103 by default.

    Exit status: 0 done; 1 the server refused, or there is no server; 2 bad usage.

    Examples:

        msmq-wire lab mgmt 127.0.0.1:2103

        msmq-wire lab mgmt :2103 "private$\\orders" --format jsonl

        msmq-wire lab mgmt :2103 "DIRECT=OS:other\\private$\\orders" --action PAUSE
    """
    host, port = address_of(server, _RPC_PORT)
    name = None if queue is None else format_name_of(queue, host)

    async def work(writer: CaptureWriter | None) -> Mapping[int, ManagementValue | None]:
        async with await connect_management(host, port, capture=writer) as client:
            if action is None:
                return _values(await client.get(name))
            status = await client.act(action, name)
            if status != Status.MQ_OK:
                raise MsmqWireError(f"the server refuses {action}: {status_name(status)}")
            return {}

    with capture_to(capture, force=force) as writer:
        values = run_lab(work(writer))
    if action is not None:
        print_note(f"{action}: done")
        return
    kind = PropertyKind.MANAGEMENT_MACHINE if name is None else PropertyKind.MANAGEMENT_QUEUE
    rows = {property_name(propid, kind): value for propid, value in values.items()}
    if format_ is LineFormat.JSONL:
        print(json_line({key: msgspec.to_builtins(value, enc_hook=str) for key, value in rows.items()}))
        return
    width = max(map(len, rows), default=0)
    for key, value in rows.items():
        for line in _texts(value):
            print(f"{key:{width}}  {escaped(line)}".rstrip())


def _texts(value: ManagementValue | None) -> list[str]:
    """The lines of a value: one for each element of a list."""
    if value is None:
        return []
    if not isinstance(value, tuple):
        return [str(value)]
    return [one if isinstance(one, str) else _fields(one) for one in value] or ["none"]


def _fields(entry: Any) -> str:
    return ", ".join(f"{name} {getattr(entry, name)}" for name in entry.__struct_fields__)


def queues(
    server: Server,
    format_: Lines = LineFormat.TEXT,
    capture: Capture = None,
    force: Force = False,
) -> None:
    """List the queues of a computer with their messages and bytes.

    Private queues and active queues are listed. It is asked by qmmgmt; a public queue that nobody has open is
    not named there. GET /queues on the HTTP port of a lab lists that, too. PORT is 2103 by default.

    Exit status: 0 done; 1 the server refused, or there is no server; 2 bad usage.

    Examples:

        msmq-wire lab queues 127.0.0.1:2103
    """
    host, port = address_of(server, _RPC_PORT)

    async def work(writer: CaptureWriter | None) -> list[dict[str, Any]]:
        async with await connect_management(host, port, capture=writer) as client:
            values = _values(await client.get(None, (_ACTIVE, _PRIVATE)))
            paths: Any = values[_PRIVATE] or ()
            active: Any = values[_ACTIVE] or ()
            names = [f"{_DIRECT}{path}" for path in paths]
            known = {name.casefold() for name in names}
            names += [name for name in active if name.casefold() not in known]
            return [row for name in names for row in await _rows(client, name)]

    with capture_to(capture, force=force) as writer:
        for row in run_lab(work(writer)):
            if format_ is LineFormat.JSONL:
                print(json_line(row))
            else:
                kind = "transactional" if row["transactional"] else ""
                line = f"{row['messages']!s:>8} {row['bytes']!s:>12}  {row['queue']}  {kind}"
                print(escaped(line.rstrip()))


async def _rows(client: ManagementClient, name: str) -> list[dict[str, Any]]:
    """A queue, its subqueues and its journal; nothing for one that is gone by now."""
    answer = await client.get(name, _OF_QUEUE)
    if answer.status == Status.MQ_ERROR_QUEUE_NOT_FOUND:
        return []
    values = _values(answer)
    local = values[_LOCATION] == "LOCAL"
    # Of a local one the computer is known.
    shown = str(values[_PATH]).partition("\\")[2] if local else name
    rows = [_row(shown, values)]
    subqueues: Any = values[_SUBQUEUES] or ()
    for subqueue in subqueues:
        of_subqueue = await client.get(f"{name};{subqueue}", _OF_QUEUE)
        if of_subqueue.status == Status.MQ_OK:
            rows.append(_row(f"{shown};{subqueue}", of_subqueue.values))
    if local:
        journal = {_MESSAGES: values[_JOURNALED], _BYTES: values[_JOURNAL_BYTES], _TRANSACTIONAL: "NO"}
        rows.append(_row(f"{shown};journal", journal))
    return rows


def _row(shown: str, values: Mapping[int, ManagementValue | None]) -> dict[str, Any]:
    return {
        "queue": shown,
        "messages": values[_MESSAGES],
        "bytes": values[_BYTES],
        "transactional": values[_TRANSACTIONAL] == "YES",
    }


def _values(result: ManagementResult) -> Mapping[int, ManagementValue | None]:
    if result.status != Status.MQ_OK:
        raise MsmqWireError(f"the server does not tell: {status_name(result.status)}")
    return result.values
