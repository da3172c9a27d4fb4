"""Any bytes of both sides of a connection, as HTTP, and every body as multipart: messages and holes.

Input: one byte (0: 32 MiB may be held, else that many times 64 bytes); then pieces: one byte (lowest bit:
from the server, second bit: a gap, of unknown length with the third bit), two bytes of length, little-endian,
and, if it is no gap, that many bytes.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from msmq_wire.srmp.http.connection import MAX_HELD, HttpConnection, HttpEvent, parse_message
from msmq_wire.srmp.http.message import HttpExchange, HttpHole, HttpMessage, is_credible
from msmq_wire.srmp.mime import MAX_PARTS, parse_multipart

_GAP, _UNKNOWN = 2, 4
_SLACK = 1 << 16  # a step, and what a message costs besides its bytes


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    if not data:
        return
    most = 64 * data[0] or MAX_HELD
    connection = HttpConnection(max_held=most)
    events: list[HttpEvent] = []
    fed, frame, at = {True: 0, False: 0}, 0, 1
    while at + 3 <= len(data):
        kind, length = data[at], int.from_bytes(data[at + 1 : at + 3], "little")
        at += 3
        frame += 1
        side = not kind & 1
        if kind & _GAP:
            missing = None if kind & _UNKNOWN else length
            events += connection.gap(side, missing, "loss", frame, frame)
            fed[side] += missing or 0
        else:
            piece = data[at : at + length]
            at += length
            is_credible(piece)
            events += connection.feed(side, piece, frame, frame)
            fed[side] += len(piece)
        assert connection.held_bytes <= most + _SLACK + 256 * frame
    events += connection.finish()
    assert connection.finish() == []
    assert connection.held_bytes <= 256 * (frame + 1)
    for event in events:
        if isinstance(event, HttpHole):
            assert event.length is None or event.length > 0
            assert event.offset + (event.length or 0) <= fed[event.from_client]
            assert len(event.data) <= 256
            continue
        for message in _messages(event):
            assert message.offset + message.length <= fed[message.from_client]
            assert all(1 <= number <= frame for number in message.frames)
            assert message.time in message.frames
            judge_message(message)
    message_alone, _ = parse_message(data[1:])
    if message_alone is not None:
        judge_message(message_alone)
    judge_body('multipart/related; boundary="b"', data[1:])


def _messages(exchange: HttpExchange) -> list[HttpMessage]:
    return [one for one in (exchange.request, exchange.response, *exchange.interim) if one is not None]


def judge_message(message: HttpMessage) -> None:
    """What holds of every message."""
    assert len(message.head) + len(message.body) <= message.length
    assert message.complete or message.problems
    assert all(len(problem.message) <= 160 for problem in message.problems)
    end = 0
    for start, length in message.missing:
        assert start >= end
        assert length > 0
        end = start + length
    judge_body(message.header("content-type") or "", message.body)


def judge_body(content_type: str, body: bytes) -> None:
    """What holds of every body taken apart: each byte is in one place at most."""
    found = parse_multipart(content_type, body)
    assert len(found.parts) <= MAX_PARTS
    end = len(found.preamble) if found.parts else 0
    for part in found.parts:
        assert part.offset >= end
        assert body[part.offset : part.offset + len(part.data)] == part.data
        end = part.offset + len(part.data)
    assert body.startswith(found.preamble)
    assert body.endswith(found.epilogue)


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)
