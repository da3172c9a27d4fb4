# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON view of a packet, and the MUSTs that it breaks, both from the fields that scapy dissected.

The rule kept here: no byte is read a second time. A packet that was crafted is built and dissected first, so
that computed fields have values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from scapy.packet import Packet

from msmq_scapy.packets import StructurePacket
from msmq_scapy.stubs import MSMQStub
from msmq_scapy.values import complete, value_of
from msmq_wire.engines.reference import MAX_ANOMALIES
from msmq_wire.records import view as renderer
from msmq_wire.wire.expressions import UNDETERMINED
from msmq_wire.wire.musts import Anomaly, Must

__all__ = ["anomalies", "view"]


def _layer(pkt: Packet) -> StructurePacket | MSMQStub:
    """The first layer of MSMQ in a packet; ValueError when there is none."""
    for layer in pkt.iterpayloads():
        if isinstance(layer, StructurePacket | MSMQStub):
            return layer
    raise ValueError(f"{pkt.summary()} has no layer of MSMQ")


def _dissected(pkt: StructurePacket) -> StructurePacket:
    return pkt if complete(pkt) and _placed(pkt) else type(pkt)(bytes(pkt), _context=pkt.context)


def _placed(pkt: StructurePacket) -> bool:
    """Whether all of a packet lies where it was dissected: nothing was changed since."""
    parts = [pkt.fields.get(field.name) for field in pkt.packetfields]
    items = [item for part in parts for item in (part if isinstance(part, list) else [part])]
    own = bool(pkt.spans) or not pkt.fields_desc
    return own and all(_placed(item) for item in items if isinstance(item, StructurePacket))


def view(pkt: Packet) -> dict[str, Any]:
    """The first layer of MSMQ in a packet as the JSON that msmq_wire shows for it.

    ValueError when there is none.
    """
    pkt = _layer(pkt)
    if isinstance(pkt, MSMQStub):
        return pkt.view()
    pkt = _dissected(pkt)
    shown: dict[str, Any] = renderer.view(value_of(pkt))
    for name in getattr(pkt.structure, "INSIDE", ()):
        inside = pkt.fields.get(name)
        shown[name] = None if inside is None else view(inside)
    return shown


def anomalies(pkt: Packet) -> tuple[Anomaly, ...]:
    """The MUSTs that are expressions and that the first layer of MSMQ breaks, at most 100.

    Offsets count from the start of that layer. MUSTs that are functions (`CodedMust`) are judged by
    ``msmq_wire.inspect`` only. Of a stub, what strict NDR checks refuse. ValueError when there is no layer.
    """
    pkt = _layer(pkt)
    if isinstance(pkt, MSMQStub):
        return pkt.anomalies
    pkt = _dissected(pkt)
    cut = "" if pkt.error is None else pkt.error.path
    found: list[Anomaly] = []
    for path, judged, base in _structures(_Judged(pkt, None, cut), "", 0):
        own = judged.pkt.structure
        for must in own.MUSTS:
            if isinstance(must, Must) and not must.holds(cast(Any, judged)):
                offset, length = _span(judged.pkt, must.at)
                found.append(
                    Anomaly(
                        code=f"{own.stem()}.{must.code}",
                        message=must.message,
                        path=f"{path}.{must.at}" if path else must.at,
                        offset=base + offset,
                        length=length,
                        spec=must.spec or own.SPEC,
                    )
                )
        if len(found) >= MAX_ANOMALIES:
            break
    return tuple(found[:MAX_ANOMALIES])


class _Judged:
    """A packet as the scope of a MUST: what is absent, was not reached or is cut is undetermined."""

    __slots__ = ("cut", "cut_field", "outer", "pkt")

    def __init__(self, pkt: Any, outer: _Judged | None, cut: str) -> None:
        self.pkt = pkt
        self.outer = outer
        self.cut = cut
        self.cut_field = cut.partition(".")[0].partition("[")[0]

    def __getitem__(self, name: str) -> Any:
        if name == "_":
            return UNDETERMINED if self.outer is None else self.outer
        value = self.pkt.fields.get(name)
        if hasattr(value, "structure"):
            return self.child(name, value)
        if value is None:
            constant = None if name in self.pkt.fieldtype else getattr(self.pkt.structure, name, None)
            return UNDETERMINED if constant is None else constant
        return UNDETERMINED if name == self.cut_field else value

    def child(self, place: str, pkt: Any) -> _Judged:
        """The scope of a structure in this one, or of an element of a list in it."""
        inner = self.cut[len(place) + 1 :] if self.cut.startswith(f"{place}.") else ""
        return _Judged(pkt, self, inner)


def _structures(judged: _Judged, path: str, base: int) -> Iterator[tuple[str, _Judged, int]]:
    """Every structure with its path and what its offsets are counted from, in wire order."""
    yield path, judged, base
    pkt = judged.pkt
    for field in pkt.fields_desc:
        value = pkt.fields.get(field.name)
        inner = f"{path}.{field.name}" if path else field.name
        inside = getattr(pkt.structure, "INSIDE", {}).get(field.name)
        start = base if inside is None else base + _span(pkt, inside[0])[0]
        if isinstance(value, list):
            for index, item in enumerate(value):
                if hasattr(item, "structure"):
                    place = f"{field.name}[{index}]"
                    yield from _structures(judged.child(place, item), f"{inner}[{index}]", base)
        elif hasattr(value, "structure"):
            yield from _structures(judged.child(field.name, value), inner, start)


def _span(pkt: Any, at: str) -> tuple[int, int]:
    """Offset and length of the field at a dotted path."""
    *outer, name = at.split(".")
    for part in outer:
        pkt = pkt.fields.get(part)
        if not hasattr(pkt, "structure"):
            return 0, 0
    found: tuple[int, int] = pkt.spans.get(name, (0, 0))
    return found
