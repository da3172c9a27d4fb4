"""What a replay asks of the packets of a `Run`, read by column.

The rule kept here: what is read of a packet is what `shown_by` reads of its record. Packets that are not
proven to be whole have nothing here; they are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from msmq_wire.engines.columns.json_values import numbers, shown
from msmq_wire.records.endpoint import host_of
from msmq_wire.replay.rules.contents import AH, EB, PACKET
from msmq_wire.replay.state import ShownMessage
from msmq_wire.sessions.columns import keys_of

if TYPE_CHECKING:
    from msmq_wire.engines.columns import ProvenPackets
    from msmq_wire.records.run import Run


def shown_messages(run: Run) -> tuple[Any, Any]:
    """Of each packet of a run what it shows of a message, None for nothing, and whether it is whole."""
    found, whole = np.full(len(run), None), np.zeros(len(run), np.bool_)
    for proven in run.proven():
        whole[proven.places] = True
        if len(proven.places) and proven.cls.stem() == "user_message":
            found[proven.places] = np.fromiter(_shown(run, proven), object, len(proven.places))
    return found, whole


def _shown(run: Run, proven: ProvenPackets) -> Iterable[ShownMessage]:
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
        keys_of(top, "user_header.source_queue_manager", "user_header.message_id", rows),
        repeat(PACKET),
        run.carriers[run.last[places] - 1].tolist(),
        [hosts[pair][0] for pair in pairs],
        [hosts[pair][1] for pair in pairs],
        numbers(top, "user_header.sent_time", rows).tolist(),
        numbers(top, "base_header.time_to_reach_queue", rows).tolist(),
        label,
        sizes,
        digests,
    )
