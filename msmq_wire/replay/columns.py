"""What a replay asks of the packets of a `Run`, read by column.

The rule kept here: what is read of a packet is what `user_packet`, `shown_message` and the like read of its
record. Packets that are not proven to be whole have nothing here; they are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from msmq_wire.engines.columns.scopes import column_at, combinations
from msmq_wire.engines.columns.shown import has, shown
from msmq_wire.engines.columns.values import Arms, Column, Number, Octets, Part, Rows
from msmq_wire.records.endpoint import host_of
from msmq_wire.replay.packets import USER_PACKETS
from msmq_wire.replay.rules.contents import AH, EB, PACKET
from msmq_wire.replay.state import ShownMessage
from msmq_wire.replay.user_packet import Placed, UserPacket, named
from msmq_wire.wire.headers.session_header import SessionHeader

if TYPE_CHECKING:
    from msmq_wire.engines.columns import Proven
    from msmq_wire.records.run import Integers, Run

__all__ = ["Observed", "observed"]


class Observed:
    """Of each packet of a run what it sent, what it shows of a message, and its SessionHeader; None for none.

    Where there is neither a user packet nor a header, the packet has to be decoded.
    """

    def __init__(self, count: int) -> None:
        self.packets: Any = np.full(count, None)
        self.shown: Any = np.full(count, None)
        self.headers: Any = np.full(count, None)


def observed(run: Run) -> Observed:
    """What there is to know of the packets of a run."""
    found = Observed(len(run))
    for proven in run.proven():
        stem, places = proven.cls.stem(), proven.places
        if len(places) and (stem == "session_ack" or stem in USER_PACKETS):
            _fill(found.headers, places, _session_headers(proven))
            if stem in USER_PACKETS:
                keys = _keys_of(proven)
                _fill(found.packets, places, _user_packets(run, stem, proven, keys))
                if stem == "user_message":
                    _fill(found.shown, places, _shown(run, proven, keys))
    return found


def _fill(column: Any, places: Integers, values: Iterable[Any] | None) -> None:
    if values is not None:
        column[places] = np.fromiter(values, object, len(places))


def _keys_of(proven: Proven) -> list[bytes]:
    top, rows = proven.top, proven.rows
    guids = _octets(top, "user_header.source_queue_manager", rows)
    return _keys(guids, _numbers(top, "user_header.message_id", rows))


def _frames(run: Run, places: Integers) -> list[int]:
    frames: list[int] = run.carriers[run.last[places] - 1].tolist()
    return frames


def _user_packets(run: Run, stem: str, proven: Proven, keys: list[bytes]) -> Iterable[UserPacket]:
    top, rows, places = proven.top, proven.rows, proven.places
    return map(
        UserPacket,
        repeat(stem),
        [None if stream < 0 else stream for stream in run.stream[places].tolist()],
        _frames(run, places),
        keys,
        _octets(top, "user_header.source_queue_manager", rows),
        map(named, _octets(top, "user_header.queue_manager_address", rows)),
        _queues(top, rows),
        _numbers(top, "user_header.flags", rows).tolist(),
        _numbers(top, "message_properties_header.flags", rows).tolist(),
        _numbers(top, "message_properties_header.message_class", rows).tolist(),
        has(top, "multi_queue_format_header", rows).tolist(),
        _placed(top, rows),
        _about(stem, proven),
    )


def _shown(run: Run, proven: Proven, keys: list[bytes]) -> Iterable[ShownMessage]:
    top, rows, places = proven.top, proven.rows, proven.places
    hosts = [(host_of(dst), host_of(src)) for src, dst in run.pairs]
    pairs = run.pair[places].tolist()
    label = [*map(hash, shown(top, "message_properties_header.label", rows))]
    sizes = _numbers(top, "message_properties_header.message_size", rows).tolist()
    bodies = shown(top, "message_properties_header.message_body", rows)
    digests = [hash(body) if len(body) == size else None for body, size in zip(bodies, sizes, strict=True)]
    elsewhere = _numbers(top, "user_header.flags", rows) & AH
    elsewhere |= _numbers(top, "security_header.flags", rows) & EB
    for place in np.flatnonzero(elsewhere).tolist():
        sizes[place] = digests[place] = None
    return map(
        ShownMessage,
        keys,
        repeat(PACKET),
        _frames(run, places),
        [hosts[pair][0] for pair in pairs],
        [hosts[pair][1] for pair in pairs],
        _numbers(top, "user_header.sent_time", rows).tolist(),
        _numbers(top, "base_header.time_to_reach_queue", rows).tolist(),
        label,
        sizes,
        digests,
    )


def _keys(guids: Sequence[bytes], numbers: Integers) -> list[bytes]:
    """The 20 bytes that name each of some messages."""
    tails = numbers.astype("<u4").tobytes()
    return [guid + tails[at : at + 4] for guid, at in zip(guids, range(0, len(tails), 4), strict=True)]


def _about(stem: str, proven: Proven) -> Iterable[Any]:
    top, rows = proven.top, proven.rows
    if stem == "order_ack":
        numbers = _numbers(top, "order_ack_body.tx_sequence_number", rows).tolist()
        return zip(_sequences(top, "order_ack_body", rows), numbers, strict=True)
    if stem == "final_ack":
        guids = _octets(top, "final_ack_body.source_guid", rows)
        return _keys(guids, _numbers(top, "final_ack_body.message_id", rows))
    if not _numbers(top, "message_properties_header.message_class", rows).any():
        # Nobody asks of a message that acknowledges nothing.
        return repeat(None)
    return shown(top, "message_properties_header.correlation_id", rows)


def _placed(top: Part, rows: Integers) -> Iterable[Placed | None]:
    there = has(top, "transaction_header", rows)
    if not there.any():
        return repeat(None)
    own = rows[there]
    made = map(
        Placed,
        _numbers(top, "transaction_header.flags", own).tolist(),
        _sequences(top, "transaction_header", own),
        _numbers(top, "transaction_header.tx_sequence_number", own).tolist(),
        _numbers(top, "transaction_header.previous_tx_sequence_number", own).tolist(),
    )
    return made if there.all() else _among(there.tolist(), made)


def _sequences(top: Part, header: str, rows: Integers) -> list[int]:
    times = _numbers(top, f"{header}.tx_sequence_id.time_stamp", rows)
    ordinals = _numbers(top, f"{header}.tx_sequence_id.ordinal", rows)
    return [time << 32 | ordinal for time, ordinal in zip(times.tolist(), ordinals.tolist(), strict=True)]


_OF_HEADER = (
    "ack_sequence_number",
    "recoverable_msg_ack_seq_number",
    "recoverable_msg_ack_flags",
    "window_size",
)
"""What is asked of a SessionHeader."""


def _session_headers(proven: Proven) -> Iterable[SessionHeader | None] | None:
    top, rows = proven.top, proven.rows
    there = has(top, "session_header", rows)
    if not there.any():
        return None
    columns = [_numbers(top, f"session_header.{name}", rows[there]).tolist() for name in _OF_HEADER]
    made = [
        SessionHeader(
            ack_sequence_number=number,
            recoverable_msg_ack_seq_number=first,
            recoverable_msg_ack_flags=flags,
            window_size=window,
        )
        for number, first, flags, window in zip(*columns, strict=True)
    ]
    return made if there.all() else _among(there.tolist(), made)


def _among(there: list[bool], made: Iterable[Any]) -> Iterable[Any]:
    """Values for the rows that have them, None for the others."""
    values = iter(made)
    return (next(values) if one else None for one in there)


def _queues(top: Part, rows: Integers) -> Iterable[Any]:
    """The destination queue of each row; those that are equal are one value."""
    header = top.fields["user_header"]
    assert isinstance(header, Part)
    column = header.fields["destination_queue"]
    everywhere = Rows(top.rows.total)
    codes = np.zeros(everywhere.total, np.int64)
    queues: list[Any] = [None]
    for arm in column.arms if isinstance(column, Arms) else (column,):
        if isinstance(arm, Part):
            names = arm.cls.__struct_fields__
            own, found = combinations([arm.fields[name] for name in names], arm.rows)
            codes += arm.rows.spread(own + len(queues), everywhere)
            queues += [arm.cls(**dict(zip(names, values, strict=True))) for values in found]
    return [queues[code] for code in codes[rows].tolist()]


def _numbers(top: Part, path: str, rows: Integers) -> Integers:
    """The numbers at a path, 0 where there are none."""
    column = _at(top, path)
    if not isinstance(column, Number):
        return np.zeros(len(rows), np.int64)
    return column.rows.spread(column.values, Rows(column.rows.total))[rows]


def _octets(top: Part, path: str, rows: Integers) -> list[bytes]:
    """The byte strings at a path that all rows have; those that are equal are one value."""
    column = _at(top, path)
    (arm,) = column.arms if isinstance(column, Arms) else (column,)
    assert isinstance(arm, Octets)
    codes, values = arm.codes
    return [values[code] for code in arm.rows.spread(codes, Rows(arm.rows.total))[rows].tolist()]


def _at(top: Part, path: str) -> Column:
    """The column at a path, which may lead into the body of an acknowledgment."""
    first, _, inner = path.partition(".")
    return column_at(top.inside[first], inner) if first in top.inside else column_at(top, path)
