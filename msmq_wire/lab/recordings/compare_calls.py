"""Steps that peek, receive, purge or move in a queue of another host, held against the calls on the wire.

The rule kept here: a step has one call that did what it tells; calls that prepare it (opening, a cursor,
looks for a LookupId) belong to its time and its queue as long as they succeed and take nothing away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msmq_wire.lab.recordings.compare_fields import (
    Found,
    compare_values,
    is_message,
    nanoseconds,
    same_name,
    seconds,
)
from msmq_wire.lab.recordings.compare_messages import TOLERANCE
from msmq_wire.lab.recordings.compare_sightings import WireAction, WireCall, WireMessage
from msmq_wire.lab.recordings.compare_values import Agreement, Comparable, NotCompared, difference
from msmq_wire.lab.recordings.recording import RecordedMessage, RecordedStep
from msmq_wire.records.view import time_text
from msmq_wire.sessions import RemoteRead

_LOW_56 = (1 << 56) - 1
"""What the wire has of a LookupId. [MS-MQRR] 3.1.4.7"""
WIRE_ACTIONS: Mapping[str, WireAction] = {"peek": "read", "receive": "read", "purge": "purge", "move": "move"}
"""Steps that are done by calls where the queue is remote, and what those do."""
_LOOKED_AT = 256
"""Calls outside the time of a step among which its own is looked for."""
_SERVED = 2_000_000_000
"""Nanoseconds by which the clock of a capture may tell the end of a call later than its step."""


class CallComparison:
    """Compares calls; ``carried`` are the messages that they brought, ``reads`` what is known of them."""

    def __init__(
        self,
        calls: Sequence[WireCall],
        carried: Mapping[int, WireMessage],
        reads: Sequence[RemoteRead],
        steps: Iterable[RecordedStep],
    ) -> None:
        self._calls = calls
        self._carried = carried
        self._reads = {read.at.record: read for read in reads}
        self._by_queue: defaultdict[str, list[WireCall]] = defaultdict(list)
        for call in calls:
            self._by_queue[(call.queue or "").casefold()].append(call)
        self._claimed: set[int | None] = set()
        windows = ((step, _window(step)) for step in steps if step.remote and step.do in WIRE_ACTIONS)
        self._windows = [(step, window) for step, window in windows if window is not None]

    def step(self, step: RecordedStep) -> Iterator[Found]:
        """Compare a step of a remote queue that was done or refused."""
        window = _window(step)
        call = self._find(step, window)
        if call is None:
            yield from self._missing(step, window)
            return
        self._claimed.add(call.location.record)
        if call.sealed and call.status is None:
            yield NotCompared(
                step=step.name, subject="call", reason="the call is sealed, and no key opens it",
                frames=call.location.frames,
            )  # fmt: skip
        elif (call.status or 0) == (step.status or 0):
            yield Agreement(step=step.name, subject="call", count=1)
        else:
            yield difference(
                step, "call", "status", step.status, call.status,
                location=call.location, path="status", message=call.method,
            )  # fmt: skip
        yield from self._of_queue(step, call)
        yield from self._in_time(step, window, call)
        for recorded in step.messages[:1]:
            yield from self._message(step, recorded, call)
        if len(step.messages) > 1:
            yield NotCompared(
                step=step.name, subject="message", count=len(step.messages) - 1,
                reason="one call brings one message: the first was compared",
            )  # fmt: skip

    def _find(self, step: RecordedStep, window: tuple[int, int] | None) -> WireCall | None:
        """The call of a step: the best of those of its time, else the next that did the same."""
        name = (step.format_name or "").casefold()
        # Of some calls the queue is not known: it was opened before the capture began.
        named = [*self._by_queue[name], *(self._by_queue[""] if name else ())]
        free = [
            call for call in named if call.location.record not in self._claimed and self._may_be(step, call)
        ]
        inside = [call for call in free if window is not None and _inside(call, window)]
        # The last one did it: those before were looking for it.
        found = next((call for call in reversed(inside) if self._fits(step, call)), None)
        if found is None:
            elsewhere = (call for call in free[:_LOOKED_AT] if self._fits(step, call))
            found = next((call for call in elsewhere if not self._is_of_another(step, call)), None)
        if found is None and inside:
            found = next(
                (call for call in reversed(inside) if call.action == WIRE_ACTIONS[step.do]), inside[-1]
            )
        return found or self._elsewhere(step, window)

    def _elsewhere(self, step: RecordedStep, window: tuple[int, int] | None) -> WireCall | None:
        """The call of its time that brought its message from a queue of another name."""
        if window is None or not step.messages:
            return None
        return next(
            (
                call
                for call in self._calls
                if call.location.record not in self._claimed
                and _inside(call, window)
                and self._may_be(step, call)
                and self._fits(step, call)
            ),
            None,
        )

    def _fits(self, step: RecordedStep, call: WireCall) -> bool:
        """Whether a call ended as the step tells: with its message, or with its status."""
        if step.messages:
            return self._brings(call, step.messages[0])
        return (call.status or 0) == (step.status or 0)

    def _is_of_another(self, step: RecordedStep, call: WireCall) -> bool:
        """Whether a call is of the time of another step that does the same with the same queue."""
        return any(
            one is not step
            and one.do == step.do
            and same_name(one.format_name, step.format_name)
            and _inside(call, window)
            for one, window in self._windows
        )

    def _may_be(self, step: RecordedStep, call: WireCall) -> bool:
        if call.action == "open":
            # That a queue cannot be opened is the end of a step.
            return bool(call.status)
        if call.action != WIRE_ACTIONS[step.do]:
            return False
        read = self._reads.get(call.location.record or 0)
        return (
            step.do not in ("peek", "receive") or read is None or read.removes in (None, step.do == "receive")
        )

    def _brings(self, call: WireCall, recorded: RecordedMessage) -> bool:
        if call.action == "move":
            return recorded.lookup_id is not None and _same_lookup(recorded.lookup_id, call.lookup_id)
        wire = self._carried.get(call.location.record or 0)
        return wire is not None and is_message(recorded, wire)

    def _missing(self, step: RecordedStep, window: tuple[int, int] | None) -> Iterator[Found]:
        sealed = [call for call in self._calls if call.sealed and (window is None or _inside(call, window))]
        if sealed:
            yield NotCompared(
                step=step.name, subject="call", count=len(sealed), frames=sealed[0].location.frames,
                reason="calls of its time are sealed, and no key opens them",
            )  # fmt: skip
        else:
            yield difference(step, "call", "call", step.do, None, message="no call of it was captured")

    def _of_queue(self, step: RecordedStep, call: WireCall) -> Iterator[Found]:
        if step.format_name is None or same_name(step.format_name, call.queue):
            return
        if call.queue is None:
            yield NotCompared(
                step=step.name, subject="call", reason="the capture does not tell the queue of its call",
                frames=call.location.frames,
            )  # fmt: skip
        else:
            yield difference(step, "call", "queue", step.format_name, call.queue, location=call.location)

    def _in_time(self, step: RecordedStep, window: tuple[int, int] | None, call: WireCall) -> Iterator[Found]:
        if window is None or call.location.time is None:
            yield NotCompared(step=step.name, subject="call", reason="a time is not known")
        elif _inside(call, window):
            yield Agreement(step=step.name, subject="call", count=1)
        else:
            early = call.location.time < window[0]
            yield difference(
                step, "call", "time", step.begun if early else step.ended, time_text(call.location.time),
                location=call.location, message="it was captured outside the time of its step",
            )  # fmt: skip

    def _message(self, step: RecordedStep, recorded: RecordedMessage, call: WireCall) -> Iterator[Found]:
        if call.action == "move":
            yield from self._value(step, "lookup_id", recorded.lookup_id, call.lookup_id, call)
            return
        wire = self._carried.get(call.location.record or 0)
        read = self._reads.get(call.location.record or 0)
        if wire is None and call.status:
            # The status has told of it.
            return
        if wire is None:
            if call.sealed:
                return
            yield difference(
                step, "message", "on_the_wire", recorded.message_id or recorded.label, None,
                location=call.location, message="the call brought no message that was captured",
            )  # fmt: skip
            return
        if recorded.message_id is not None and not same_name(recorded.message_id, wire.message_id):
            yield difference(
                step, "message", "message_id", recorded.message_id, wire.message_id, location=wire.location,
                path="user_header.message_id" if wire.offsets else "", offset=wire.offsets.get("message_id"),
            )  # fmt: skip
            if recorded.label != wire.values.get("label"):
                # Another message: nothing in it is that of this one.
                return
        yield from compare_values(step, recorded, wire, "message", sent=False)
        found = None if read is None else read.found_lookup_id
        yield from self._value(step, "lookup_id", recorded.lookup_id, found, call)
        arrived = wire.values.get("arrived_time", call.arrived_time)
        yield from self._value(step, "arrived_time", seconds(recorded.arrived_time), arrived, call)

    def _value(
        self, step: RecordedStep, field: str, reported: int | None, captured: Comparable, call: WireCall
    ) -> Iterator[Found]:
        if reported is None:
            return
        if captured is None:
            yield NotCompared(
                step=step.name, subject="message", reason=f"the call does not tell: {field}",
                frames=call.location.frames,
            )  # fmt: skip
        elif reported == captured or (field == "lookup_id" and _same_lookup(reported, captured)):
            yield Agreement(step=step.name, subject="message", count=1)
        else:
            yield difference(
                step, "message", field, reported, captured, location=call.location, message=call.method
            )

    def unclaimed(self) -> Iterator[Found]:
        """Calls that failed, or took a message away, and no step accounts for; peeks outside of any."""
        for call in self._calls:
            if call.location.record in self._claimed:
                continue
            if call.sealed and call.status is None:
                yield NotCompared(
                    step="", subject="call", reason="calls are sealed, and no key opens them",
                    frames=call.location.frames,
                )  # fmt: skip
            elif call.status:
                yield difference(
                    None, "call", "status", None, call.status, location=call.location, path="status",
                    message=f"{call.method} fails, and no step tells of it",
                )  # fmt: skip
            elif call.action != "other" and not self._prepares(call):
                yield difference(
                    None, "call", "call", None, call.method, location=call.location,
                    message="a call that no step tells of",
                )  # fmt: skip

    def _prepares(self, call: WireCall) -> bool:
        """Whether a call helps a step of its time, and changes nothing."""
        read = self._reads.get(call.location.record or 0)
        if call.action in ("purge", "move") or (read is not None and read.removes):
            return False
        return any(
            _inside(call, window) and (call.action == "open" or same_name(call.queue, step.format_name))
            for step, window in self._windows
        )


def _window(step: RecordedStep) -> tuple[int, int] | None:
    begun, ended = nanoseconds(step.begun), nanoseconds(step.ended)
    return None if begun is None or ended is None else (begun - TOLERANCE, ended + _SERVED)


def _inside(call: WireCall, window: tuple[int, int]) -> bool:
    time = call.location.time
    begun = time if call.begun is None else call.begun
    return time is not None and begun is not None and window[0] <= begun and time <= window[1]


def _same_lookup(recorded: int, captured: Comparable) -> bool:
    return isinstance(captured, int) and recorded & _LOW_56 == captured & _LOW_56
