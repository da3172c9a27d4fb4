"""`decoded`: what a capture holds, every packet decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msmq_wire.records.record import FoundPacket, Item, Record, is_step


def decoded(items: Iterable[Item], *, streams: bool = True) -> Iterator[Record]:
    """Yield the items, every packet decoded and judged when its turn comes; steps only with ``streams``."""
    for item in items:
        if streams or not is_step(item):
            yield item.record() if isinstance(item, FoundPacket) else item
