"""One message of a recording held against one of the capture, value by value.

The rule kept here: what the application was not told is no difference, and what the capture does not tell
is said, not passed over. Names of queues are compared without regard to case.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import msgspec

from msmq_wire.lab.recordings.compare_readings import FIELDS
from msmq_wire.lab.recordings.compare_sightings import WireMessage
from msmq_wire.lab.recordings.compare_values import (
    Agreement,
    Comparable,
    Difference,
    NotCompared,
    Subject,
    difference,
)
from msmq_wire.lab.recordings.recording import RecordedMessage, RecordedStep
from msmq_wire.units import SECOND
from msmq_wire.wire.headers.base_header import INFINITE

Found = Agreement | Difference | NotCompared

_APART = frozenset(("message_id", "lookup_id", "arrived_time"))
"""Fields that are compared where they are."""
_TIMES = {"time_to_reach_queue": (INFINITE, 345_600), "time_to_be_received": (INFINITE,)}
"""What may be on the wire where nothing is asked for: no end, or the default. [MS-MQDMPR] 3.1.1.12"""
_QUEUES = frozenset(("queue", "admin_queue", "response_queue"))
_ON_ENCRYPTED = frozenset(("body_size", "body_sha256"))


def compare_values(
    step: RecordedStep,
    recorded: RecordedMessage,
    wire: WireMessage,
    subject: Subject,
    *,
    sent: bool,
) -> Iterator[Found]:
    """Compare all that both tell; ``sent`` is a message as it was sent, else it was got."""
    agreed = 0
    missing: list[str] = []
    for name, reported in _reported(step, recorded, sent=sent):
        if name in _ON_ENCRYPTED and wire.values.get("encrypted"):
            missing.append(f"{name} (encrypted)")
        elif name not in wire.values:
            missing.append(name)
        elif _agree(name, reported, wire.values[name]):
            agreed += 1
        else:
            yield difference(
                step, subject, name, reported, wire.values[name],
                location=wire.location, path=_path(name, wire), offset=wire.offsets.get(name),
            )  # fmt: skip
    if agreed:
        yield Agreement(step=step.name, subject=subject, count=agreed)
    if missing:
        why = "bytes of it were not captured" if wire.cut else f"the capture does not tell over {wire.via}"
        yield NotCompared(
            step=step.name,
            subject=subject,
            reason=f"{why}: {', '.join(missing)}",
            frames=wire.location.frames,
        )


def _reported(
    step: RecordedStep, recorded: RecordedMessage, *, sent: bool
) -> Iterator[tuple[str, Comparable]]:
    if sent and step.format_name is not None:
        yield "queue", step.format_name
    for name in recorded.__struct_fields__:
        reported = getattr(recorded, name)
        if name in _APART or (reported is None and not (sent and name in _TIMES)):
            continue
        if name == "correlation_id":
            reported = reported.lower()
        elif name == "sent_time":
            reported = seconds(reported)
            if reported is None:
                continue
        yield name, reported


def _path(name: str, wire: WireMessage) -> str:
    return FIELDS[name].path if name in wire.offsets else ""


def _agree(name: str, reported: Comparable, captured: Comparable) -> bool:
    if reported is None:
        return captured in _TIMES[name]
    if name in _QUEUES:
        return same_name(str(reported), str(captured))
    return reported == captured


def same_name(one: str | None, other: str | None) -> bool:
    """Whether two format names, or two identifiers, are the same."""
    return one is not None and other is not None and one.casefold() == other.casefold()


def is_message(recorded: RecordedMessage, wire: WireMessage) -> bool:
    """Whether this is the message, by its identifier, or by its label where no identifier is known."""
    if recorded.message_id is not None and wire.message_id is not None:
        return same_name(recorded.message_id, wire.message_id)
    return recorded.label == wire.values.get("label")


def seconds(text: str | None) -> int | None:
    """A recorded time as whole seconds since 1970; None for what is none."""
    found = nanoseconds(text)
    return None if found is None else found // SECOND


def nanoseconds(text: str | None) -> int | None:
    """A recorded time as nanoseconds since 1970, exact to the microsecond; None for what is none."""
    if text is None:
        return None
    try:
        moment = msgspec.convert(text, datetime.datetime)
    except msgspec.ValidationError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds * 1000
