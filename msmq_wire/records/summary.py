"""One line about a record, as the Info column of a packet list has it: `summary`.

The rule kept here: it says what a reader looks for first. A packet that was cut has a line of what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msmq_wire.records.call import call_of
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT
from msmq_wire.records.message import message_of
from msmq_wire.records.queue_names import short_queue
from msmq_wire.records.record import Record
from msmq_wire.wire.partial import reached_at


def summary(record: Record) -> str:
    """What a packet, a call or a step of a connection is about, without its two ends."""
    made = _SUMMARIES.get(record.type)
    if made is not None:
        return made(record)
    call = call_of(record)
    return _message(record) if call is None else str(call["what"])


def _is_to(record: Record, port: int) -> bool:
    return (record.dst or "").endswith(f":{port}")


def _message(record: Record) -> str:
    message = message_of(record, acknowledgments=True, inside=True)
    if message is None:
        return ""
    label, queue, action = message["label"], message["queue"], message["action"]
    reported = [f'"{label}"' if label else "no label" if label == "" else ""]
    reported += [f"to {short_queue(queue)}" if queue else ""]
    reported += [] if action == "sent" else [f"({action})"]
    return " ".join(filter(None, reported))


def _establish(record: Record) -> str:
    asks = _is_to(record, MSMQ_PORT)
    guid = reached_at(record.packet, f"establish_connection_header.{'client' if asks else 'server'}_guid")
    header = reached_at(record.packet, "internal_header")
    refused = ", refused" if not asks and header is not None and header.bit("cs") else ""
    by = "" if guid is None else f" by {str(guid)[:8]}…"
    return f"{'request' if asks else 'response'}{by}{refused}"


def _parameters(record: Record) -> str:
    timeout = reached_at(record.packet, "connection_parameters_header.ack_timeout")
    window = reached_at(record.packet, "connection_parameters_header.window_size")
    reported = "" if timeout is None else f"ack within {timeout / 1000:g} s"
    return reported if window is None else f"{reported}, window {window}"


def _session_ack(record: Record) -> str:
    number = reached_at(record.packet, "session_header.ack_sequence_number")
    stored = reached_at(record.packet, "session_header.recoverable_msg_ack_seq_number")
    reported = "" if number is None else f"ack {number}"
    return f"{reported}, stored {stored}" if stored else reported


def _order_ack(record: Record) -> str:
    body = f"{record.type}_body"
    number, ordinal, begun = (
        reached_at(record.packet, f"{body}.{name}")
        for name in ("tx_sequence_number", "tx_sequence_id.ordinal", "tx_sequence_id.time_stamp")
    )
    if number is None or ordinal is None or begun is None:
        return ""
    upto = "up to number" if record.type == "order_ack" else "number"
    return f"{upto} {number} of sequence {begun << 32 | ordinal:#x}"


def _ping(record: Record) -> str:
    asks = _is_to(record, PING_PORT)
    cookie = reached_at(record.packet, "cookie")
    reported = "request" if asks else "response"
    return reported if cookie is None else f"{reported}, cookie {cookie}"


def frames_text(record: Record) -> str:
    """What a gap of a whole file says; empty for another one."""
    count = record.frames_missing
    if count is None:
        return ""
    frames = "1 frame" if count == 1 else f"{count:,} frames"
    if record.reason == "snaplen":
        return f"{frames} cut off at {record.length:,} bytes"
    return f"{frames} lost, by the capture's own count"


def _gap(record: Record) -> str:
    if record.frames_missing is not None:
        return frames_text(record)
    reported = "bytes missing" if record.missing is None else f"{record.missing:,} bytes missing"
    if record.missing == 0:
        # They were captured, and are in no packet.
        reported = f"{record.length:,} bytes not read"
    return f"{reported} ({record.reason})" if record.reason else reported


def _step(record: Record) -> str:
    event = (record.event or "").replace("_", " ")
    return f"{event}: {record.reason}" if record.reason else event


def _bind(record: Record) -> str:
    contexts = reached_at(record.packet, "contexts") or ()
    return f"interfaces {', '.join(dict.fromkeys(one.interface for one in contexts))}" if contexts else ""


def _fault(record: Record) -> str:
    status = reached_at(record.packet, "status")
    return "" if status is None else f"status {status & 0xFFFFFFFF:#010x}"


_SUMMARIES: Mapping[str, Callable[[Record], str]] = {
    "establish_connection": _establish,
    "connection_parameters": _parameters,
    "session_ack": _session_ack,
    "order_ack": _order_ack,
    "final_ack": _order_ack,
    "ping": _ping,
    "gap": _gap,
    "error": lambda record: record.reason or "",
    "tcp_stream": _step,
    "rpc_bind": _bind,
    "rpc_fault": _fault,
}
