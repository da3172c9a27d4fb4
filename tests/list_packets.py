"""Messages with lists of queues, in order and not, for the tests of the column engine and of its tables."""

from __future__ import annotations

from hypothesis import strategies as st

from msmq_wire import build_message, encode, strategies
from msmq_wire.engines.fit import fit
from msmq_wire.wire.headers.mqf_address_header import MQFAddressHeader
from msmq_wire.wire.headers.multi_queue_format_header import MultiQueueFormatHeader
from msmq_wire.wire.types.enumerations import MQFHeaderId
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_direct_queue_format_name import MQFDirectQueueFormatName
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["changed_lists", "to_queues"]


def _direct(number: int) -> MQFFormatNameElement:
    name = WcharText.of(rf"OS:server{number:02}\private$\{'queue' * (number % 20)}")
    return MQFFormatNameElement(format_name=MQFDirectQueueFormatName(direct_format_name=name))


def _private(number: int) -> MQFFormatNameElement:
    host = GUID(number.to_bytes(16, "little"))
    name = PrivateQueueFormatName(source_queue_manager=host, private_queue_identifier=number)
    return MQFFormatNameElement(format_type=2, format_name=name)


def to_queues(*numbers: int, answers: int | None = None) -> bytes:
    """A message to queues: odd numbers are direct names of their own length, even ones private queues."""
    elements = tuple(_direct(number) if number % 2 else _private(number) for number in numbers)
    response = MQFAddressHeader(header_id=MQFHeaderId.RESPONSE, format_name_list=(_direct(answers or 0),))
    header = MultiQueueFormatHeader(
        destination=MQFAddressHeader(format_name_list=elements),
        response=None if answers is None else response,
    )
    return encode(fit(build_message(r"DIRECT=OS:h\q", b"body", multi_queue_format_header=header)))


_ELEMENTS = st.lists(strategies.structure("mqf_format_name_element"), max_size=9)


@st.composite
def _drawn(draw: st.DrawFn) -> bytes:
    lists = [
        MQFAddressHeader(header_id=header_id, format_name_list=tuple(draw(_ELEMENTS)))
        for header_id in (MQFHeaderId.DESTINATION, MQFHeaderId.ADMIN, MQFHeaderId.RESPONSE)
    ]
    header = MultiQueueFormatHeader(
        destination=lists[0],
        administration=lists[1] if draw(st.booleans()) else None,
        response=lists[2] if draw(st.booleans()) else None,
    )
    return encode(fit(build_message(r"DIRECT=OS:h\q", b"body", multi_queue_format_header=header)))


@st.composite
def changed_lists(draw: st.DrawFn) -> bytes:
    """A message to some queues; in half of them a few bytes were changed, most of them in the lists."""
    data = bytearray(
        draw(_drawn() | st.lists(st.integers(0, 40), max_size=9).map(lambda all_: to_queues(*all_)))
    )
    start = data.find(b"\x64\0\0\0")
    for _ in range(draw(st.integers(0, 3)) if draw(st.booleans()) else 0):
        at = draw(st.integers(max(0, start - 4), len(data) - 1) | st.integers(0, len(data) - 1))
        data[at] = draw(st.sampled_from((0, 1, 2, 3, 5, 0x64, 0xC8, 0xFF)) | st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 9)) == 0 else data)
