"""What a replay asks of the packets of a `Run`, read by column.

The rule kept here: what is read of a packet is what `user_packet`, `shown_message` and the like read of its
record. Packets that are not proven to be whole have nothing here; they are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from msmq_wire.engines.columns.scopes import combinations
from msmq_wire.engines.columns.shown import among, has, numbers, octets, shown
from msmq_wire.engines.columns.values import Arms, Part, Rows
from msmq_wire.records.endpoint import host_of
from msmq_wire.replay.packets import USER_PACKETS
from msmq_wire.replay.rules.contents import AH, EB, PACKET
from msmq_wire.replay.state import ShownMessage
from msmq_wire.replay.user_packet import Placed, UserPacket, named
from msmq_wire.sessions.columns import headers_of, keys_of, sequences_of

if TYPE_CHECKING:
    from msmq_wire.engines.columns import Proven
    from msmq_wire.records.run import Integers, Run

_MANAGER = "user_header.source_queue_manager"


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
            _fill(found.headers, places, headers_of(proven.top, proven.rows))
            if stem in USER_PACKETS:
                keys = keys_of(proven.top, _MANAGER, "user_header.message_id", proven.rows)
                _fill(found.packets, places, _user_packets(run, stem, proven, keys))
                if stem == "user_message":
                    _fill(found.shown, places, _shown(run, proven, keys))
    return found


def _fill(column: Any, places: Integers, values: Iterable[Any]) -> None:
    column[places] = np.fromiter(values, object, len(places))


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
        [time or None for time in run.time[places].tolist()],
        keys,
        octets(top, _MANAGER, rows),
        map(named, octets(top, "user_header.queue_manager_address", rows)),
        _queues(top, rows),
        numbers(top, "user_header.flags", rows).tolist(),
        numbers(top, "message_properties_header.flags", rows).tolist(),
        numbers(top, "message_properties_header.message_class", rows).tolist(),
        has(top, "multi_queue_format_header", rows).tolist(),
        _placed(top, rows),
        _about(stem, proven),
    )


def _shown(run: Run, proven: Proven, keys: list[bytes]) -> Iterable[ShownMessage]:
    top, rows, places = proven.top, proven.rows, proven.places
    hosts = [(host_of(dst), host_of(src)) for src, dst in run.pairs]
    pairs = run.pair[places].tolist()
    label = [*map(hash, shown(top, "message_properties_header.label", rows))]
    sizes = numbers(top, "message_properties_header.message_size", rows).tolist()
    bodies = shown(top, "message_properties_header.message_body", rows)
    digests = [hash(body) if len(body) == size else None for body, size in zip(bodies, sizes, strict=True)]
    elsewhere = numbers(top, "user_header.flags", rows) & AH
    elsewhere |= numbers(top, "security_header.flags", rows) & EB
    for place in np.flatnonzero(elsewhere).tolist():
        sizes[place] = digests[place] = None
    return map(
        ShownMessage,
        keys,
        repeat(PACKET),
        _frames(run, places),
        [hosts[pair][0] for pair in pairs],
        [hosts[pair][1] for pair in pairs],
        numbers(top, "user_header.sent_time", rows).tolist(),
        numbers(top, "base_header.time_to_reach_queue", rows).tolist(),
        label,
        sizes,
        digests,
    )


def _about(stem: str, proven: Proven) -> Iterable[Any]:
    top, rows = proven.top, proven.rows
    if stem == "order_ack":
        places = numbers(top, "order_ack_body.tx_sequence_number", rows).tolist()
        return zip(sequences_of(top, "order_ack_body.tx_sequence_id", rows), places, strict=True)
    if stem == "final_ack":
        return keys_of(top, "final_ack_body.source_guid", "final_ack_body.message_id", rows)
    if not numbers(top, "message_properties_header.message_class", rows).any():
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
        numbers(top, "transaction_header.flags", own).tolist(),
        sequences_of(top, "transaction_header.tx_sequence_id", own),
        numbers(top, "transaction_header.tx_sequence_number", own).tolist(),
        numbers(top, "transaction_header.previous_tx_sequence_number", own).tolist(),
    )
    return among(there, made)


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
