"""A record as the JSON line of ``decode --format jsonl``: written for packets, viewed for all else.

The rule kept here: the text is that of `record_view`, byte for byte. Packets that were decoded whole are
written by functions made of their declarations; a cut packet, a call, a gap or an error is viewed.
"""

from __future__ import annotations

from msmq_wire.engines.text.bounded_cache import BoundedCache
from msmq_wire.engines.text.escaping import json_line, json_string
from msmq_wire.engines.text.json import json_text
from msmq_wire.engines.text.json_fields import base64_string
from msmq_wire.records.join_keys import join_keys
from msmq_wire.records.joined_capture import LocatedFile
from msmq_wire.records.record import Record
from msmq_wire.records.view import record_view, time_text
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.registry import PACKETS


def record_line(record: Record) -> str:
    """The line of a record, without its end; as `json_line` writes `record_view`."""
    regular = record.error is None and record.reason is None and record.event is None and record.grade is None
    regular = regular and record.capture.__class__ is not LocatedFile
    if regular and PACKETS.get(record.type) is record.packet.__class__:
        packet = json_text(record.packet)
        if packet is not None:
            return _line(record, packet)
    return json_line(record_view(record))


def _line(record: Record, packet: str) -> str:
    parent, stream = record.parent, record.stream
    anomalies = ",".join(map(_anomaly, record.anomalies)) if record.anomalies else ""
    return (
        f'{{"id":{record.id},"parent":{"null" if parent is None else parent},"type":{_names[record.type]},'
        f'"capture":{_names[record.capture]},"frames":[{",".join(map(str, record.frames))}],'
        f'"time":{_time(record.time)},"src":{_names[record.src]},"dst":{_names[record.dst]},'
        f'"stream":{"null" if stream is None else stream},"offset":{record.offset},'
        f'"length":{record.length},"packet":{packet},"anomalies":[{anomalies}],'
        f'"consumed":{record.consumed},"remainder":{base64_string(record.remainder)},"error":null,'
        f"{_keys[record.src, record.dst, stream is None]}}}"
    )


# Captures, addresses and types; an address may be unknown.
_names: BoundedCache[str | None, str] = BoundedCache(
    lambda name: "null" if name is None else json_string(name)
)
# The keys of two ends, and whether they are of UDP, without the braces.
_keys: BoundedCache[tuple[str | None, str | None, bool], str] = BoundedCache(
    lambda ends: json_line(join_keys(*ends[:2], udp=ends[2])._asdict())[1:-1]
)


def _time(nanoseconds: int | None) -> str:
    text = time_text(nanoseconds)
    return f'"{text}"' if text else "null"


def _reported(reported: tuple[str, str, str]) -> str:
    code, message, path = map(json_string, reported)
    return f'{{"code":{code},"message":{message},"path":{path}'


_tellings = BoundedCache(_reported)
_sections: BoundedCache[SpecRef, str] = BoundedCache(lambda spec: json_string(str(spec)))


def _anomaly(anomaly: Anomaly) -> str:
    reported = _tellings[anomaly.code, anomaly.message, anomaly.path]
    spec = _sections[anomaly.spec]
    return f'{reported},"offset":{anomaly.offset},"length":{anomaly.length},"spec":{spec}}}'
