"""Strategies for SRMP requests, for the sections of a packet, and for the pieces of a stream."""

from __future__ import annotations

import itertools
from typing import Any, Literal

from hypothesis import strategies as st

from msmq_wire.buffers import as_bytes
from msmq_wire.engines import reference
from msmq_wire.reassembly.sections import split_sections
from msmq_wire.srmp.building import build_srmp
from msmq_wire.strategies.structures import structure
from msmq_wire.wire.types.section_buffer import SectionBuffer

_QUEUES = st.sampled_from(
    ("http://example.com/msmq/private$/orders", "https://example.com:8443/msmq/q", "http://192.0.2.1/msmq/q")
)
_LAST_SECOND = 0x7FFFFFFF
_NUMBERS = st.integers(0, 0xFFFFFFFF)
_LABELS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF), max_size=30)
_PADDINGS: tuple[Literal["neither", "first", "second"], ...] = ("neither", "first", "second")


@st.composite
def srmp_requests(draw: st.DrawFn) -> bytes:
    """SRMP messages as HTTP requests: plain, with receipts, and of a stream."""
    properties: dict[str, Any] = {}
    kind = draw(st.sampled_from(("plain", "receipts", "stream")))
    if kind == "receipts":
        properties = {
            "admin_queue": draw(_QUEUES),
            "positive_receipt": draw(st.booleans()),
            "delivery_receipt": draw(st.booleans()),
        }
    elif kind == "stream":
        properties = {"stream_number": draw(st.integers(1, 1 << 40)), "stream_receipts_to": draw(_QUEUES)}
    return build_srmp(
        draw(_QUEUES),
        draw(st.binary(max_size=200)),
        source_qm_guid=draw(st.uuids()),
        message_number=draw(_NUMBERS),
        sent_at=draw(st.integers(0, _LAST_SECOND)),
        label=draw(_LABELS),
        extension=draw(st.binary(max_size=20)),
        priority=draw(st.integers(0, 7)),
        body_type=draw(_NUMBERS),
        app=draw(_NUMBERS),
        journal=draw(st.booleans()),
        dead_letter=draw(st.booleans()),
        **properties,
    )


@st.composite
def sections(draw: st.DrawFn) -> tuple[bytes, tuple[SectionBuffer, ...]]:
    """A message packet, and the sections in which a server gives it to a reader with drawn limits."""
    packet = reference.build(draw(structure("message_packet")))
    limit = draw(st.integers(0, 100))
    return packet, split_sections(
        packet,
        max_body_size=limit,
        max_compound_message_size=limit,
        padding=draw(st.sampled_from(_PADDINGS)),
    )


def chunks(data: bytes | bytearray | memoryview) -> st.SearchStrategy[list[bytes]]:
    """The pieces in which a stream arrives: cut at up to 8 places, none of them empty.

    Raises TypeError where ``data`` is no buffer of bytes.
    """
    return _chunks(as_bytes(data))


@st.composite
def _chunks(draw: st.DrawFn, data: bytes) -> list[bytes]:
    places = draw(st.lists(st.integers(0, len(data)), max_size=8))
    borders = sorted({0, *places, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(borders)]
