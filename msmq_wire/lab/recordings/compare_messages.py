"""Messages that steps sent, and acknowledgments that they got, held against those on the wire.

The rule kept here: a message on the wire belongs to one step; what belongs to none is told at the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msmq_wire.lab.recordings.compare_fields import Found, compare_values, nanoseconds, same_name
from msmq_wire.lab.recordings.compare_sightings import WireMessage
from msmq_wire.lab.recordings.compare_values import Agreement, Comparable, NotCompared, difference
from msmq_wire.lab.recordings.recording import RecordedMessage, RecordedStep
from msmq_wire.records.view import time_text
from msmq_wire.sessions import MessageLife, MessageLives
from msmq_wire.units import SECOND

TOLERANCE = SECOND
"""Nanoseconds by which clocks of a recording and of a capture of the same host may differ."""


class MessageComparison:
    """Compares messages; ``own`` is the queue manager of the host that ran the steps, if it is known.

    ``ended`` is when the recording ended (ns since 1970).
    """

    def __init__(
        self, wire: Sequence[WireMessage], lives: MessageLives, *, own: str | None, ended: int | None
    ) -> None:
        self._wire = wire
        self._lives = lives
        self._own = own
        self._ended = ended
        self._claimed: set[int | None] = set()
        self._by_id: defaultdict[str, list[WireMessage]] = defaultdict(list)
        self._alike: defaultdict[tuple[Comparable, Comparable], list[WireMessage]] = defaultdict(list)
        for one in wire:
            if one.message_id is not None:
                self._by_id[one.message_id.casefold()].append(one)
            by = "correlation_id" if one.acknowledges else "label"
            self._alike[one.values.get("message_class"), one.values.get(by)].append(one)

    def send(self, step: RecordedStep, *, on_wire: bool, known: frozenset[str]) -> Iterator[Found]:
        """Compare a step that sent; with ``on_wire`` false nothing of it may be there.

        ``known`` are the identifiers of all messages that steps sent.
        """
        for recorded in step.messages:
            found = self._sent(step, recorded, known)
            if not on_wire:
                yield from self._absent(step, recorded, found)
            elif found:
                yield from self._present(step, recorded, found)
            else:
                yield difference(
                    step, "message", "on_the_wire", recorded.message_id or recorded.label, None,
                    message="no such message was captured",
                )  # fmt: skip

    def _sent(
        self, step: RecordedStep, recorded: RecordedMessage, known: frozenset[str]
    ) -> list[WireMessage]:
        """All sightings of a message, claimed: by its identifier, else by label and queue."""
        found = list(self._by_id.get((recorded.message_id or "").casefold(), ()))
        if not found:
            alike = [
                one
                for one in self._alike[recorded.message_class, recorded.label]
                if one.location.record not in self._claimed
                and (one.message_id or "").casefold() not in known
                and same_name(step.format_name, str(one.values.get("queue")))
            ]
            same = alike[0].message_id if alike else None
            found = [one for one in alike if one.message_id == same]
        self._claimed.update(one.location.record for one in found)
        return found

    def _absent(
        self, step: RecordedStep, recorded: RecordedMessage, found: Sequence[WireMessage]
    ) -> Iterator[Found]:
        if found:
            name = recorded.message_id or recorded.label
            yield difference(
                step, "message", "on_the_wire", None, name, location=found[0].location,
                message="it was captured, and nothing of it should leave the host",
            )  # fmt: skip
        else:
            yield Agreement(step=step.name, subject="message", count=1)

    def _present(
        self, step: RecordedStep, recorded: RecordedMessage, found: Sequence[WireMessage]
    ) -> Iterator[Found]:
        wire = next((one for one in found if not one.cut), found[0])
        if recorded.message_id is not None and not same_name(recorded.message_id, wire.message_id):
            yield difference(
                step, "message", "message_id", recorded.message_id, wire.message_id,
                location=wire.location, path="user_header.message_id" if wire.offsets else "",
                offset=wire.offsets.get("message_id"),
            )  # fmt: skip
        yield from compare_values(step, recorded, wire, "message", sent=True)
        yield from self._in_time(step, found[0])
        life = None if wire.message_id is None else self._lives.by_id(wire.message_id)
        if life is None:
            yield NotCompared(
                step=step.name, subject="session", reason="its session was not followed",
                frames=wire.location.frames,
            )  # fmt: skip
        else:
            yield from self._followed(step, wire, life)

    def _in_time(self, step: RecordedStep, wire: WireMessage) -> Iterator[Found]:
        """A message goes when its session is there, so it may be late; it cannot be early."""
        begun, time = nanoseconds(step.begun), wire.location.time
        if begun is None or time is None:
            yield NotCompared(step=step.name, subject="message", reason="a time is not known")
        elif begun - TOLERANCE <= time and (self._ended is None or time <= self._ended + TOLERANCE):
            yield Agreement(step=step.name, subject="message", count=1)
        else:
            yield difference(
                step, "message", "time", step.begun, time_text(time), location=wire.location,
                message="it was captured before its step begun, or after all of them ended",
            )  # fmt: skip

    def _followed(self, step: RecordedStep, wire: WireMessage, life: MessageLife) -> Iterator[Found]:
        """What its session says: it went one way, and was acknowledged."""
        asked = [("accepted", life.accepted)] if wire.via == "http" else [("session_ack", life.acknowledged)]
        if wire.values.get("delivery") == "transactional" and wire.via == "tcp":
            # One that its queue refuses has a place in its sequence, and is told of otherwise.
            asked.append(
                ("order_ack", life.order_ack or next((one.at for one in life.acknowledgments), None))
            )
        for field, moment in asked:
            if moment is not None:
                yield Agreement(step=step.name, subject="session", count=1)
            elif life.certain:
                yield difference(
                    step, "session", field, True, False, location=wire.location,
                    message="nothing that was captured acknowledges it",
                )  # fmt: skip
            else:
                yield NotCompared(
                    step=step.name, subject="session", frames=wire.location.frames,
                    reason=f"bytes that are missing may hold it: {field}",
                )  # fmt: skip
        if life.route:
            yield difference(
                step, "message", "ways", 1, 1 + len(life.route), location=wire.location,
                message="it was captured on more than one way, or another one has its identifier",
            )  # fmt: skip

    def got(self, step: RecordedStep) -> Iterator[Found]:
        """Compare a step that got messages from a queue of the own host: they came over the wire, or not."""
        if not step.messages:
            yield NotCompared(
                step=step.name,
                subject="step",
                reason="nothing of it shows on the wire: a queue of the own host",
            )
        for recorded in step.messages:
            found = self._by_id.get((recorded.message_id or "").casefold(), [])
            if not found and recorded.message_class:
                found = self._acknowledgment(recorded)
            elif found and any(one.location.record in self._claimed for one in found):
                # The copy of a message that was sent, which its step has told of.
                found = []
            if found:
                self._claimed.update(one.location.record for one in found)
                yield from compare_values(step, recorded, found[0], "acknowledgment", sent=False)
                yield from self._before(step, found[0])
            elif self._made_here(recorded):
                yield NotCompared(
                    step=step.name, subject="acknowledgment",
                    reason="it was made on the own host, and was not on the wire",
                )  # fmt: skip
            else:
                yield difference(
                    step, "acknowledgment", "on_the_wire",
                    recorded.message_id or recorded.correlation_id, None,
                    message="no such message was captured",
                )  # fmt: skip

    def _acknowledgment(self, recorded: RecordedMessage) -> list[WireMessage]:
        """The acknowledgment of the same message with the same class, where no identifier is known."""
        if recorded.message_id is not None:
            return []
        alike = self._alike[recorded.message_class, (recorded.correlation_id or "").lower()]
        return [one for one in alike if one.location.record not in self._claimed][:1]

    def _before(self, step: RecordedStep, wire: WireMessage) -> Iterator[Found]:
        ended, time = nanoseconds(step.ended), wire.location.time
        if ended is None or time is None:
            yield NotCompared(step=step.name, subject="acknowledgment", reason="a time is not known")
        elif time <= ended + TOLERANCE:
            yield Agreement(step=step.name, subject="acknowledgment", count=1)
        else:
            yield difference(
                step, "acknowledgment", "time", step.ended, time_text(time), location=wire.location,
                message="it was captured after its step had ended",
            )  # fmt: skip

    def _made_here(self, recorded: RecordedMessage) -> bool:
        maker = (recorded.message_id or "").partition("\\")[0]
        return self._own is not None and same_name(maker, self._own)

    def unclaimed(self) -> Iterator[Found]:
        """What was captured, and no step accounts for."""
        for one in self._wire:
            if one.location.record not in self._claimed:
                what = "an acknowledgment" if one.acknowledges else "a message"
                yield difference(
                    None, "message", "recorded", None, one.message_id, location=one.location,
                    message=f"{what} that no step tells of",
                )  # fmt: skip
