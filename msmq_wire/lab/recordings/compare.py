"""`RecordingComparison`: what was recorded of a scenario, held against what was captured of it.

Feed it the records of the capture and the findings about them, then ask `finish`. The rule kept here:
everything recorded agrees, differs or is said not to be compared; everything captured that a step should
account for is accounted for, or differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from msmq_wire.detection import Finding
from msmq_wire.lab.recordings.compare_calls import WIRE_ACTIONS, CallComparison
from msmq_wire.lab.recordings.compare_fields import Found, nanoseconds
from msmq_wire.lab.recordings.compare_messages import MessageComparison
from msmq_wire.lab.recordings.compare_readings import NOTED
from msmq_wire.lab.recordings.compare_sightings import MOST, Sightings
from msmq_wire.lab.recordings.compare_values import (
    Agreement,
    ComparisonResult,
    Difference,
    NotCompared,
    RecordLocation,
    Subject,
    difference,
)
from msmq_wire.lab.recordings.recording import RecordedStep, Recording
from msmq_wire.lab.recordings.scenario import Scenario, Step
from msmq_wire.records.record import Record
from msmq_wire.sessions import Story

_REPLAY = "RPL-"


class RecordingComparison:
    """Compares a recording with a capture; ``scenario`` is the one that it says was run, if that is known.

    ``digest`` is the SHA-256 of the scenario's file.
    """

    def __init__(self, recording: Recording, scenario: Scenario | None = None, digest: str = "") -> None:
        self._recording = recording
        self._scenario = scenario
        self._digest = digest
        self._planned = {} if scenario is None else {step.name: step for step in scenario.steps}
        self._sightings = Sightings()
        self._findings: list[Finding] = []

    def feed(self, record: Record) -> None:
        """Take the next record of the capture."""
        self._sightings.feed(record)

    def found(self, findings: Iterable[Finding]) -> None:
        """Take what the rules say of the capture."""
        # That a step fails may be what was recorded.
        self._findings += (one for one in findings if not one.answered)

    def finish(self, story: Story) -> ComparisonResult:
        """Compare everything; ``story`` is that of all records."""
        seen = self._sightings
        recording = self._recording
        messages = MessageComparison(
            seen.messages, story.lives, own=self._own(), ended=nanoseconds(recording.ended)
        )
        calls = CallComparison(seen.calls, seen.carried, story.reads, recording.steps)
        known = frozenset(
            (message.message_id or "").casefold()
            for step in recording.steps
            if step.do == "send"
            for message in step.messages
        )
        found: list[Found] = [*self._of_scenario()]
        for step in recording.steps:
            found += self._of_step(step, messages, calls, known)
        found += messages.unclaimed()
        found += calls.unclaimed()
        found += map(_of_finding, self._findings)
        found += self._limits(story)
        return _sorted(found)

    def _own(self) -> str | None:
        """The queue manager of the host that ran the steps: as recorded, or as it named what it sent."""
        if self._recording.own.queue_manager is not None:
            return self._recording.own.queue_manager
        sent = (message for step in self._recording.steps if step.do == "send" for message in step.messages)
        names = (message.message_id.partition("\\")[0] for message in sent if message.message_id)
        return next(names, None)

    def _of_scenario(self) -> Iterator[Found]:
        """Whether the steps are those of the scenario."""
        if self._scenario is None:
            reason = "the scenario that was run is not known: aborted sends are not told from others"
            yield NotCompared(step="", subject="recording", reason=reason)
            return
        if self._digest == self._recording.scenario_sha256:
            yield Agreement(step="", subject="recording", count=1)
        else:
            yield difference(
                None, "recording", "scenario_sha256", self._recording.scenario_sha256, self._digest,
                message="the recording is of another scenario than the one beside it",
            )  # fmt: skip
        done = [f"{step.name} ({step.do})" for step in self._recording.steps]
        planned = [f"{step.name} ({step.do})" for step in self._scenario.steps]
        for number in range(max(len(done), len(planned))):
            recorded = done[number] if number < len(done) else None
            due = planned[number] if number < len(planned) else None
            if recorded != due:
                # One step more moves all that follow.
                yield difference(
                    None, "step", "steps", recorded, due, message=f"step {number + 1} of the scenario"
                )
                return
        yield Agreement(step="", subject="step", count=len(done))

    def _of_step(
        self, step: RecordedStep, messages: MessageComparison, calls: CallComparison, known: frozenset[str]
    ) -> Iterator[Found]:
        if step.outcome == "skipped":
            yield NotCompared(step=step.name, subject="step", reason="it was skipped", detail=step.reason)
        elif step.do == "send":
            if step.remote:
                yield from messages.send(step, on_wire=self._leaves(step), known=known)
                if not step.messages:
                    yield _uncompared(step, "it tells of no message that was sent")
            else:
                yield _uncompared(step, "nothing of it shows on the wire: a queue of the own host")
        elif step.do in WIRE_ACTIONS:
            yield from calls.step(step) if step.remote else messages.got(step)
        elif step.do != "wait":
            reason = "nothing of it shows on the wire: a queue of the own host"
            if step.remote:
                reason = "calls of management are named only"
            yield _uncompared(step, reason)

    def _leaves(self, step: RecordedStep) -> bool:
        """Whether the messages of a send are on the wire: it was done, committed, and there is a way."""
        planned: Step | None = self._planned.get(step.name)
        if step.outcome == "refused" or (planned is not None and not planned.commit):
            return False
        if planned is None or self._scenario is None:
            return True
        try:
            return self._scenario.queue(planned.queue).host != "nowhere"
        except KeyError:
            return True

    def _limits(self, story: Story) -> Iterator[Found]:
        """What was captured and not followed."""
        left_out = story.left_out
        followed = left_out.sessions + left_out.lives + left_out.reads + left_out.streams
        for subject, count, reason in (
            ("message", self._sightings.left_out, f"only {MOST} messages, and as many calls, are compared"),
            ("session", followed, "more was captured than is followed at once"),
            ("call", self._sightings.object_calls, "calls of queue objects (COM) are not compared"),
        ):
            if count:
                yield NotCompared(step="", subject=_SUBJECTS[subject], reason=reason, count=count)


_SUBJECTS: dict[str, Subject] = {"message": "message", "session": "session", "call": "call"}


def _uncompared(step: RecordedStep, reason: str) -> NotCompared:
    return NotCompared(step=step.name, subject="step", reason=reason)


def _of_finding(finding: Finding) -> Found:
    """A finding as a difference: a rule of ours that the traffic breaks; or a note where it breaks none."""
    subject: Subject = "replay" if finding.id.startswith(_REPLAY) else "finding"
    place = finding.evidence[0]
    if finding.id in NOTED:
        return NotCompared(
            step="", subject=subject, reason=f"{finding.id}: {NOTED[finding.id]}", frames=place.frames
        )
    return difference(
        None, subject, "rule", None, finding.id,
        location=RecordLocation(record=place.record, frames=place.frames, time=place.time),
        path=place.path, offset=place.offset if place.path else None, message=finding.message,
    )  # fmt: skip


def _sorted(found: Iterable[Found]) -> ComparisonResult:
    """Differences as they came; agreements and what was not compared counted by what they say."""
    differences: list[Difference] = []
    agreements: Counter[tuple[str, Subject]] = Counter()
    others: dict[tuple[str, str, str, str], NotCompared] = {}
    for one in found:
        if isinstance(one, Difference):
            differences.append(one)
        elif isinstance(one, Agreement):
            agreements[one.step, one.subject] += one.count
        else:
            key = (one.step, one.subject, one.reason, one.detail)
            before = others.get(key)
            others[key] = (
                one if before is None else msgspec.structs.replace(before, count=before.count + one.count)
            )
    return ComparisonResult(
        differences=tuple(differences),
        agreements=tuple(
            Agreement(step=step, subject=subject, count=count)
            for (step, subject), count in agreements.items()
        ),
        not_compared=tuple(others.values()),
    )
