"""Calls as rows: one flat row a call, with the story that it tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msmq_wire.records.call_story import CarriedMessage, call_story, carries_packet, is_answered, is_cut
from msmq_wire.records.message import message_view
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import time_text
from msmq_wire.rpc.hresults import describe

__all__ = ["KEYS", "CallRows"]

KEYS = (
    "id",
    "time",
    "client",
    "server",
    "interface",
    "opnum",
    "method",
    "queue",
    "status",
    "status_name",
    "fault",
    "latency",
    "request_id",
    "what",
    "syntax",
    "answered",
    "cut",
    "sealed",
    "verified",
    "guessed",
    "account",
    "frames",
)

Row = dict[str, Any]


class CallRows:
    """Makes a row of each call; a call that brought a message waits for it, which is the next record."""

    def __init__(self) -> None:
        self._waiting: tuple[Record, RpcCall] | None = None

    def take(self, record: Record, *, wanted: bool = True) -> Iterator[Row]:
        """Take the next record, whatever it is; a call that is not ``wanted`` gives no row."""
        if self._waiting is not None:
            call, packet = self._waiting
            self._waiting = None
            row = message_view(record) if record.parent == call.id else None
            yield self._row(call, packet, row)
        if isinstance(record.packet, RpcCall) and wanted:
            if carries_packet(record.packet):
                self._waiting = record, record.packet
            else:
                yield self._row(record, record.packet, None)

    def finish(self) -> Iterator[Row]:
        """Give the row of a call that still waits."""
        if self._waiting is not None:
            yield self._row(*self._waiting, None)
            self._waiting = None

    def _row(self, record: Record, call: RpcCall, message: Row | None) -> Row:
        carried = None if message is None else CarriedMessage(message["body_size"], message["label"])
        return {
            "id": record.id,
            "time": time_text(record.time),
            "client": record.src,
            "server": record.dst,
            "interface": call.interface,
            "opnum": call.opnum,
            "method": call.method,
            "queue": call.queue,
            "status": call.status,
            "status_name": None if call.status is None else describe(call.status).symbol,
            "fault": call.fault,
            "latency": call.latency,
            "request_id": call.request_id,
            "what": call_story(call, carried),
            "syntax": call.syntax,
            "answered": is_answered(call),
            "cut": is_cut(call),
            "sealed": call.sealed,
            "verified": call.verified,
            "guessed": call.guessed,
            "account": call.account or None,
            "frames": list(record.frames),
        }
