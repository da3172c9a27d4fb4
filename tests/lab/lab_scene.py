"""What tests of the whole lab share: a client's queue manager, messages to its queues, captures read back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msmq_wire import GUID, build_message
from msmq_wire.capture.reader import read_capture
from msmq_wire.lab.log import LabLog
from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.lab.server import LabSettings
from msmq_wire.records.record import Record
from msmq_wire.replay import replay
from msmq_wire.replay.deviation import ReplayDeviation
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.user_message import UserMessage
from tests.lab.model.scene import make_manager

HOST = "127.0.0.1"
START = 1_795_166_047
ORDERS, ORDERS_TX = "private$\\orders", "private$\\orders_tx"
ANY_PORTS = LabSettings(port=0, ping_port=0, rpc_port=0, http_port=0, time=START)
QUIET = LabLog(lambda: 0)
Kind = Literal["express", "recoverable", "transactional"]


def client_manager(number: int = 1) -> ModelQueueManager:
    identifier = GUID(number.to_bytes(16, "big"))
    return make_manager(number, name="client", identifier=identifier, start=START)


def message(kind: Kind, body: bytes | str, queue: str | None = None) -> UserMessage:
    name = queue or (ORDERS_TX if kind == "transactional" else ORDERS)
    return build_message(
        f"DIRECT=OS:lab\\{name}",
        body,
        label=f"{kind} message",
        delivery="express" if kind == "express" else "recoverable",
        transaction=TransactionHeader().with_bits(fm=1, lm=1) if kind == "transactional" else None,
    )


def messages(kind: Kind, count: int) -> Iterator[UserMessage]:
    for number in range(count):
        yield message(kind, f"body {number}")


def records_of(path: Path) -> list[Record]:
    return list(read_capture(path, streams=True))


def deviations_of(path: Path) -> list[ReplayDeviation]:
    return list(replay(records_of(path)))
