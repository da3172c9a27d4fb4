"""``msmq-wire lab send``: sends messages over the binary protocol or SRMP, and waits for acknowledgments."""

from __future__ import annotations

import time
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

import typer

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.cli.lab_options import (
    Capture,
    Fault,
    QueueName,
    Seed,
    address_of,
    capture_to,
    faults_of,
    format_name_of,
    guid_of,
    new_identifier,
    new_randomness,
    run_lab,
)
from msmq_wire.cli.options import Force
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.cli.secret_options import RsaKeyPasswords, sealer_for, signer_for
from msmq_wire.engines.message_builder import build_message
from msmq_wire.errors import EncodeError, MsmqWireError
from msmq_wire.lab.binary_client import BinaryClient, ping, window_for
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.lab.http_client import HttpClient
from msmq_wire.lab.log import LabEvent, LabLog
from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.lab.model.data.timers import Timers
from msmq_wire.records.endpoint import MSMQ_PORT
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.srmp.building import build_srmp
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID

_SHORT = 5.0
_HTTP_PORT = 8080
_BAD_OUTCOMES = ("refused", "expired")


class DeliveryChoice(StrEnum):
    """How sure it is that a message arrives."""

    EXPRESS = "express"
    RECOVERABLE = "recoverable"
    TRANSACTIONAL = "transactional"


def send(
    server: Annotated[
        str, typer.Argument(metavar="HOST:PORT", help="Where lab serve listens.", show_default=False)
    ],
    queue: QueueName,
    body: Annotated[str, typer.Option("--body", metavar="TEXT", help="Text of the message.")] = "",
    body_file: Annotated[
        str | None,
        typer.Option("--body-file", metavar="FILE", help="Bytes of the message.", show_default=False),
    ] = None,
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="Label of the message.")] = "",
    delivery: Annotated[
        DeliveryChoice, typer.Option("--delivery", help="How sure it is that it arrives.")
    ] = DeliveryChoice.EXPRESS,
    priority: Annotated[
        int, typer.Option("--priority", metavar="N", min=0, max=7, help="Of the message.")
    ] = 3,
    count: Annotated[
        int, typer.Option("--count", metavar="N", min=1, max=10_000_000, help="Send it so often.")
    ] = 1,
    http: Annotated[bool, typer.Option("--http", help="Post it as SRMP over HTTP.")] = False,
    ping_port: Annotated[
        int | None,
        typer.Option(
            "--ping-port",
            metavar="N",
            min=1,
            max=65_535,
            help="Ask this UDP port first whether a session would be accepted.",
            show_default=False,
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            "--patience",
            metavar="SECONDS",
            min=0.1,
            max=86_400,
            help="Give up when nothing is heard for so long.",
        ),
    ] = 60.0,
    sign: Annotated[
        str | None,
        typer.Option(
            "--sign",
            metavar="FILE",
            help="Sign it with the private key and the certificate in FILE, PEM with both or PFX.",
            show_default=False,
        ),
    ] = None,
    seal: Annotated[
        str | None,
        typer.Option(
            "--seal",
            metavar="FILE",
            help="Encrypt the body for the owner of the certificate, or public key, in FILE, PEM or DER.",
            show_default=False,
        ),
    ] = None,
    rsa_key_passwords: RsaKeyPasswords = None,
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace",
            metavar="GUID",
            help="Have it traced: the public queue of this GUID gets a report message for each hop.",
            show_default=False,
        ),
    ] = None,
    capture: Capture = None,
    force: Force = False,
    fault: Fault = None,
    seed: Seed = 0,
) -> None:
    """Send messages to a queue and wait for acknowledgments.

    A message that is not acknowledged is sent again over another connection, whatever goes wrong; the
    receiver takes it once. With --count the label of each ends with its number. PORT is 1801 by default, 8080
    with --http. What a session acknowledges has arrived at the queue manager: that it has no such queue is
    told of transactional and SRMP messages only.

    Exit status: 0 all arrived; 1 some did not, or there is no server; 2 bad usage.

    Examples:

        msmq-wire lab send 127.0.0.1:1801 "private$\\orders" --body "Order 4711" --label order

        msmq-wire lab send :1801 "private$\\orders_tx" --delivery transactional --count 1000 --fault drop=0.01

        msmq-wire lab send :1801 "private$\\orders" --body "Order 4711" --sign me.pem --seal lab.crt

        msmq-wire lab send :1801 "private$\\orders" --trace e5a0c3d7-91b4-4f6e-8a2d-3c5b7f9e1d60
    """
    if http and (sign is not None or seal is not None):
        raise typer.BadParameter("not with --sign or --seal: SRMP has its own", param_hint="--http")
    if rsa_key_passwords and sign is None:
        raise typer.BadParameter("it opens the file of --sign", param_hint="--rsa-key-password")
    if http and (delivery is DeliveryChoice.TRANSACTIONAL or fault is not None or ping_port is not None):
        raise typer.BadParameter("not with transactional messages, faults or pings", param_hint="--http")
    if http and trace is not None:
        raise typer.BadParameter("not with --trace: SRMP names no report queue", param_hint="--http")
    host, port = address_of(server, _HTTP_PORT if http else MSMQ_PORT)
    content: bytes | str = body
    if body_file is not None:
        if body:
            raise typer.BadParameter("not with --body", param_hint="--body-file")
        try:
            with open(body_file, "rb") as file:
                content = file.read()
        except OSError as error:
            raise typer.BadParameter(f"{body_file}: {error.strerror}", param_hint="--body-file") from None
    faults = faults_of(fault)
    common: dict[str, Any] = {"source_queue_manager": new_identifier()}
    if trace is not None:
        common["report_queue"] = guid_of(trace, "--trace")
    if sign is not None:
        common["sign"] = signer_for(sign, rsa_key_passwords)
    if seal is not None:
        common["seal"] = sealer_for(seal)
    try:
        with capture_to(capture, force=force) as writer:
            if http:
                posts = _posts(host, port, queue, content, label, delivery, priority, count)
                run_lab(_post(host, port, posts, writer, patience))
                return
            made = partial(_packet, format_name_of(queue, host), content, delivery, priority, common)
            packets = map(made, _labels(label, count))
            identifier = common["source_queue_manager"]
            # A report message follows each message.
            window = window_for(count if trace is None else 2 * count)
            run_lab(
                _send(
                    identifier, host, port, packets, writer, faults, seed, ping_port, patience, count, window
                )
            )
    except MsmqWireError as error:
        print_error(str(error))
        raise typer.Exit(1) from None


def _labels(label: str, count: int) -> Iterator[str]:
    for number in range(1, count + 1):
        yield label if count == 1 else f"{label} {number}".strip()


def _packet(
    queue: str,
    body: bytes | str,
    delivery: DeliveryChoice,
    priority: int,
    common: dict[str, Any],
    label: str,
) -> UserMessage:
    """A message; ``common`` has its source, which a signature covers, its report queue, and its keys."""
    transaction = None
    if delivery is DeliveryChoice.TRANSACTIONAL:
        transaction = TransactionHeader().with_bits(fm=1, lm=1)
    return build_message(
        queue,
        body,
        label=label,
        delivery="express" if delivery is DeliveryChoice.EXPRESS else "recoverable",
        priority=priority,
        transaction=transaction,
        **common,
    )


class _Waiting:
    """Tells once that there is no server yet, where it would not be seen for long."""

    def __init__(self, name: str, patience: float) -> None:
        self._name = name
        self._patience = patience
        self._reported = patience <= _SHORT

    def event(self, event: LabEvent) -> None:
        """Take an event of the client."""
        if event.event == "connect-failed" and not self._reported:
            self._reported = True
            print_note(
                f"cannot connect to {self._name}: {event.fields['reason']}; trying for {self._patience:g} s"
            )


async def _send(
    identifier: GUID,
    host: str,
    port: int,
    packets: Iterator[UserMessage],
    capture: CaptureWriter | None,
    faults: FaultPlan | None,
    seed: int,
    ping_port: int | None,
    patience: float,
    count: int,
    window: int,
) -> None:
    manager = ModelQueueManager(
        identifier=identifier,
        computer_name="client",
        timers=Timers(),
        time_offset=int(time.time()),
        randomness=new_randomness(),
    )
    if ping_port is not None and not await ping(manager, host, ping_port, capture=capture):
        raise MsmqWireError(f"{host} does not answer on UDP port {ping_port} that it accepts sessions")
    begun = time.monotonic()
    async with BinaryClient(
        manager,
        host,
        port,
        capture=capture,
        faults=faults,
        seed=seed,
        log=LabLog(lambda: 0, _Waiting(f"{host} port {port}", patience).event),
        ping_sent=ping_port is not None,
        window_size=window,
    ) as client:
        try:
            outcomes = await client.send(packets, patience=patience)
        except EncodeError as error:
            raise MsmqWireError(f"the message cannot be sent: {error}") from None
    reported = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    print(
        f"{count_text(count, 'message')}: {reported}; {count_text(client.reached, 'connection')}, "
        f"{time.monotonic() - begun:.1f} s"
    )
    if any(outcomes[outcome] for outcome in _BAD_OUTCOMES):  # type: ignore[index]  # names of outcomes
        raise typer.Exit(1)


def _posts(
    host: str,
    port: int,
    queue: str,
    body: bytes | str,
    label: str,
    delivery: DeliveryChoice,
    priority: int,
    count: int,
) -> Iterator[bytes]:
    if "=" in queue:
        raise typer.BadParameter("with --http a name as private$\\orders is needed", param_hint="QUEUE")
    format_name_of(queue, host)
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    url = f"http://{where}/msmq/{quote(queue.replace(chr(92), '/'), safe='/$;')}"
    options: dict[str, Any] = {"priority": priority, "durable": delivery is DeliveryChoice.RECOVERABLE}
    source = UUID(bytes=bytes(new_identifier()))
    content = body if isinstance(body, bytes) else body.encode()
    for number, one in enumerate(_labels(label, count), 1):
        yield build_srmp(
            url,
            content,
            source_qm_guid=source,
            message_number=number,
            sent_at=int(time.time()),
            label=one,
            **options,
        )


async def _post(
    host: str, port: int, posts: Iterator[bytes], capture: CaptureWriter | None, patience: float
) -> None:
    sent = 0
    async with HttpClient(host, port, capture=capture, patience=patience) as client:
        for post in posts:
            answer = await client.request(post)
            if answer.status != 200:
                reason = answer.body.decode("utf-8", "replace") or answer.reason
                raise MsmqWireError(
                    f"{count_text(sent, 'message')} accepted, then status {answer.status}: {reason}"
                )
            sent += 1
    print(f"{count_text(sent, 'message')}: accepted")
