"""Strategies for captures: files with a few connections, and what a reader must find in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec
from hypothesis import strategies as st

from msmq_wire.corpus.captures import BINARY_PORT, HTTP_PORT, Piece, capture_of, session_pieces
from msmq_wire.engines import reference
from msmq_wire.strategies.messages import chunks, srmp_requests
from msmq_wire.strategies.structures import structure
from msmq_wire.wire.packets.user_message import UserMessage

_ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
_MOST_CONNECTIONS = 3


class DrawnCapture(msgspec.Struct, frozen=True, kw_only=True):
    """A pcap file, and what is in it: types of records in the order of the file, and all user messages."""

    data: bytes
    types: Sequence[str]
    messages: Sequence[UserMessage]


_MESSAGES = cast("st.SearchStrategy[UserMessage]", structure("user_message"))


@st.composite
def captures(draw: st.DrawFn) -> DrawnCapture:
    """Captures of up to three connections: binary sessions, and SRMP requests. Segments are cut anywhere."""
    connections: list[tuple[int, list[Piece]]] = []
    types: list[str] = []
    messages: list[UserMessage] = []
    for _ in range(draw(st.integers(1, _MOST_CONNECTIONS))):
        if draw(st.booleans()):
            sent = draw(st.lists(_MESSAGES, min_size=1, max_size=3))
            pieces = session_pieces(*map(reference.build, sent))
            types += ["establish_connection"] * 2 + ["connection_parameters"] * 2
            types += ["user_message"] * len(sent) + ["session_ack"]
            messages += sent
            connections.append((BINARY_PORT, _cut(draw, pieces)))
        else:
            request = draw(srmp_requests())
            types.append("srmp_message")
            connections.append((HTTP_PORT, [*_cut(draw, [(True, request)]), (False, _ACCEPTED)]))
    return DrawnCapture(data=capture_of(connections), types=types, messages=messages)


def _cut(draw: st.DrawFn, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, each cut into segments."""
    return [(side, part) for side, data in pieces for part in draw(chunks(data))]
