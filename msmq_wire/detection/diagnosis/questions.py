"""`Diagnosis`: takes records and findings, and answers the questions about a capture.

The rule kept here: an answer is an observation with its frames. A question that does not apply to the capture
is answered in one line. Each answer has caveats for the missing parts of the capture that affect it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from datetime import UTC, tzinfo
from typing import NamedTuple

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import Answer, AnswerBuilder
from msmq_wire.detection.diagnosis.captured import captured
from msmq_wire.detection.diagnosis.computer_log_texts import logs
from msmq_wire.detection.diagnosis.content import bodies, security
from msmq_wire.detection.diagnosis.deadlines import SharedTimes, shared_times
from msmq_wire.detection.diagnosis.digest import causes_of, digest_of, looked
from msmq_wire.detection.diagnosis.digest_lines import Digest
from msmq_wire.detection.diagnosis.endpoints import addresses, connections, identities, ports
from msmq_wire.detection.diagnosis.facts import Facts
from msmq_wire.detection.diagnosis.inventory import inventory
from msmq_wire.detection.diagnosis.logged_puts import never_seen, put_and_acknowledged
from msmq_wire.detection.diagnosis.losses import lost
from msmq_wire.detection.diagnosis.managed import held, offline
from msmq_wire.detection.diagnosis.message_sums import MessageSums, acknowledged, is_settled
from msmq_wire.detection.diagnosis.missing_acknowledgments import MissingAcknowledgments
from msmq_wire.detection.diagnosis.order import streams
from msmq_wire.detection.diagnosis.outside import Volumes
from msmq_wire.detection.diagnosis.path_losses import PathLosses
from msmq_wire.detection.diagnosis.peers import FindingSums, peers
from msmq_wire.detection.diagnosis.phrases import Phrases, count
from msmq_wire.detection.diagnosis.pinging import pings
from msmq_wire.detection.diagnosis.remote_reads import reads
from msmq_wire.detection.diagnosis.retention import RetentionSums, kept
from msmq_wire.detection.diagnosis.returns import returns
from msmq_wire.detection.diagnosis.sent_messages import SentSums, sent
from msmq_wire.detection.diagnosis.vantage_points import dropped_packets, recordings, transit_times
from msmq_wire.detection.diagnosis.waiting import waits
from msmq_wire.detection.finding import Finding
from msmq_wire.detection.folding import FindingGroup
from msmq_wire.records.record import Record
from msmq_wire.records.run import Run
from msmq_wire.sessions import Leaving, MessageLife, RemoteRead, Story
from msmq_wire.sessions.followed_message import FollowedMessage


class Question(NamedTuple):
    """A question, and the answer if it does not apply to the capture."""

    text: str
    nothing: str


QUESTIONS: dict[int, Question] = {
    1: Question("What are the pings on UDP 3527?", "No ping in the capture."),
    2: Question("Did every connection to port 1801 get its answer?", "No connection to port 1801."),
    3: Question("What was sent, to which queues?", "No message in the capture."),
    4: Question("Which messages were acknowledged and stored?", "No message was sent over TCP or HTTP."),
    5: Question("What became of messages that vanished?", "No message in the capture."),
    6: Question("Do two hosts share a queue manager?", "No queue manager named itself."),
    7: Question("Which addresses did MSMQ use?", "No connection to port 1801, and no message names one."),
    8: Question("Which ports were used?", "No MSMQ port was used."),
    9: Question("Who read which queue remotely?", "No remote read in the capture."),
    10: Question("Are bodies in clear, and who signed?", "No message in the capture."),
    11: Question("What is in the bodies, and what wrote it?", "No body in the capture."),
    12: Question(
        "Are transactional streams complete and in order?", "No transactional message in the capture."
    ),
    13: Question(
        "A peer, a scan or an exploit?", "No session on port 1801, and no finding of medium or high severity."
    ),
    14: Question(
        "Received or only stored, and what waits at its sender?",
        "No message waits at its sender, and none asks for an acknowledgment of its receipt.",
    ),
    15: Question(
        "Is a message put back or moved again and again?", "No message was put back or moved again and again."
    ),
    16: Question(
        "Do messages of a transaction share a time to be received?",
        "No messages of one transaction share a time to be received.",
    ),
    17: Question(
        "Does a receiver slow its sender down?", "No sender waited for its receiver longer than was agreed."
    ),
    18: Question("What would a migration have to carry?", "No message in the capture."),
    19: Question(
        "What could the capture not see?", "Nothing shows that frames are missing from the capture."
    ),
}
"""The questions by number, in their order."""

_OF_LIVES = frozenset((3, 4, 5, 8, 10, 11, 12, 13, 14, 16, 18))
JUDGED = frozenset((2, 4, 5, 6, 8, 9, 13))
"""Questions whose answers use findings."""
_LOSSY = frozenset((2, 3, 4, 5, 9, 12, 13, 14, 15, 16, 17, 18))
_LATE = frozenset((2, 4, 5, 6, 12, 13, 14, 16, 17))
_SEALED = frozenset((3, 10, 11, 15, 18))
_CUT = frozenset((3, 5, 10, 11, 18))
_LIMITED = frozenset((2, 3, 4, 5, 6, 7, 9, 12, 13, 14, 15, 16, 17))


class LifeSums:
    """The sums over messages that the answers need."""

    def __init__(self) -> None:
        self.sums = MessageSums()
        self.sent = SentSums()
        self.kept = RetentionSums()
        self.shared = SharedTimes()
        self.unacknowledged = MissingAcknowledgments()
        self.volumes = Volumes()

    def feed(self, life: MessageLife | FollowedMessage) -> None:
        """Take a message; of what was kept of one only its volume counts, and whether it acknowledges one.

        One that only reports tell of was not captured, so it counts nowhere.
        """
        if life.via == "report":
            return
        self.volumes.feed(life)
        if isinstance(life, FollowedMessage):
            self.sums.acknowledgments += life.acknowledged_key is not None
            return
        self.sums.feed(life)
        self.sent.feed(life)
        self.kept.feed(life)
        self.shared.feed(life)
        self.unacknowledged.feed(life)


class Diagnosis:
    """Takes all records in the order of their ids, with their findings, and gives the `answers`.

    Records should include the steps of connections (``streams=True``). Memory is bounded. The caller follows
    the `Story`, and passes what leaves it before the end to `leave`. Without ``answers`` only `causes` works,
    which is faster.
    """

    def __init__(self, *, answers: bool = True) -> None:
        self.facts = Facts(contents=answers)
        self._findings = FindingSums()
        self._gone = LifeSums()
        self._summed: tuple[Story, LifeSums] | None = None
        self._plain = answers
        self._dropped = 0

    def feed(self, record: Record, findings: Iterable[Finding] = ()) -> None:
        """Take a record and its findings."""
        self.facts.feed(record)
        self._findings.feed(findings)

    def take(self, run: Run, findings: Iterable[Finding] = ()) -> None:
        """Take a run and its findings."""
        self.facts.take(run)
        self._findings.feed(findings)

    def found(self, findings: Iterable[Finding]) -> None:
        """Take findings about sessions, messages or the whole capture."""
        self._findings.feed(findings)

    def leave(self, gone: Leaving) -> None:
        """Take sessions and messages that are not followed any more."""
        self._summed = None
        if isinstance(gone, MessageLife):
            if is_settled(gone):
                self._gone.feed(gone)
            else:
                # That it was sent is known, and no more.
                self._gone.sent.feed(gone)
                self._dropped += 1
        elif isinstance(gone, RemoteRead):
            self.facts.returns.read(gone)

    def answers(
        self, story: Story, *, numbers: Collection[int] = tuple(QUESTIONS), zone: tzinfo | None = UTC
    ) -> tuple[Answer, ...]:
        """Answer the questions; ``zone`` is the time zone, None for that of this machine."""
        lives = self._sums_of(story) if _OF_LIVES & set(numbers) else self._gone
        return self._answers(story, lives, numbers, zone)

    def _answers(
        self, story: Story, lives: LifeSums, numbers: Collection[int], zone: tzinfo | None = UTC
    ) -> tuple[Answer, ...]:
        facts = self.facts
        words = Phrases(facts.captures, zone)
        sums = lives.sums
        losses = PathLosses(story)
        reported = []
        for number in sorted(set(numbers) & set(QUESTIONS)):
            builder = AnswerBuilder(story.visibility)
            match number:
                case 1:
                    pings(story, words, builder)
                case 2:
                    connections(story, self._findings, losses, words, builder)
                    losses.openings(words, builder)
                    offline(facts.managed, words, builder)
                case 3:
                    sent(lives.sent, sums, story, self._findings.candidates, words, builder)
                case 4:
                    acknowledged(sums, story, words, builder)
                    sums.failures.unanswered(story, self._findings.candidates, builder)
                    losses.acknowledgments(words, builder)
                    dropped_packets(story, words, builder)
                    transit_times(story, builder)
                    put_and_acknowledged(story, builder)
                case 5:
                    lost(sums, losses, story, words, builder)
                    sums.failures.add_causes(story, self._findings.candidates, builder)
                    lives.unacknowledged.add_causes(story, builder)
                    never_seen(story, builder)
                case 6:
                    identities(story, self._findings, words, builder)
                case 7:
                    addresses(story, facts, words, builder)
                case 8:
                    ports(story, facts, self._findings, words, builder)
                    lives.volumes.add_causes(self._findings.even, builder)
                case 9:
                    reads(story, facts, self._findings.candidates, words, builder)
                case 10:
                    security(facts, sums.resends, words, builder)
                case 11:
                    bodies(facts, sums.resends, words, builder)
                case 12:
                    streams(sums, story, words, builder)
                case 13:
                    peers(story, self._findings, sums.troubles, words, builder)
                case 14:
                    kept(lives.kept, words, story, builder)
                    held(facts.managed, words, builder)
                case 15:
                    again = deepcopy(facts.returns)
                    for read in story.reads:
                        again.read(read)
                    returns(again, words, builder)
                case 16:
                    shared_times(lives.shared, words, builder)
                case 17:
                    waits(story, self._findings.candidates, words, builder)
                case 18:
                    inventory(facts.inventory, sums.resends, facts.brought, words, builder)
                case 19:
                    captured(story, words, builder)
                    recordings(story, words, builder)
                    logs(story, words, builder)
            builder.add_caveats(*self._missing(number, story, words))
            reported.append(builder.answer(number, *QUESTIONS[number]))
        return tuple(reported)

    def digest(self, answers: Sequence[Answer], story: Story, *, frames: int | None = None) -> Digest:
        """Make the digest; ``answers`` are for all questions, ``frames`` is the number of frames read."""
        looked_at = looked(answers, self.facts, story, frames)
        words = Phrases(self.facts.captures)
        return digest_of(answers, self._findings.candidates, words, looked_at, story)

    def causes(self, story: Story) -> Iterator[tuple[Cause, FindingGroup | None]]:
        """Yield the causes that the digest counts, each with the findings that explain it."""
        answers = self._answers(story, self._sums_of(story), tuple(QUESTIONS))
        return causes_of(answers, self._findings.candidates)

    def _sums_of(self, story: Story) -> LifeSums:
        """The sums over all messages, computed once; for causes only, plain ones just add their volume."""
        if self._summed is None or self._summed[0] is not story:
            lives = deepcopy(self._gone)
            for one in story.lives.odd(plain=self._plain):
                lives.feed(one)
            self._summed = story, lives
        return self._summed[1]

    def _missing(self, number: int, story: Story, words: Phrases) -> Iterable[str]:
        """The caveats of a question: what the capture lacks."""
        facts = self.facts
        if number in _LOSSY and facts.gaps:
            where = words.frame(facts.first_gap)
            size = f", {count(facts.missing, 'byte')} or more" if facts.missing else ""
            places = count(facts.gaps, "place")
            yield f"bytes are missing from the capture in {places}{size}; the first before {where}"
        late = [one for one in story.sessions if not one.started]
        if number in _LATE and late:
            verb = "connection" if len(late) == 1 else "connections"
            yield f"{len(late):,} {verb} began before the capture; first {words.frame(late[0].first)}"
        if number in _SEALED and facts.sealed:
            are = "call is" if facts.sealed == 1 else "calls are"
            yield f"{facts.sealed:,} {are} sealed: without a key it is not known whether they carry messages"
        if number in _CUT and facts.cut:
            yield f"{count(facts.cut, 'packet')} cut short: what follows the cut is not known"
        if number in _LIMITED:
            left = story.left_out
            dropped = left.sessions + left.streams + left.reads + left.pings
            if dropped:
                yield f"{count(dropped, 'oldest item')} were too many to keep and are not part of this answer"
            if left.waiting:
                packets = count(left.waiting, "packet")
                yield f"{packets} not followed to their acknowledgment: dropped to save memory"
            if self._dropped:
                messages = count(self._dropped, "message")
                yield f"{messages} dropped to save memory before an end was seen, and not counted here"
            if left.lives > self._dropped:
                others = count(left.lives - self._dropped, "message")
                yield f"{others} reported in the state in which they were when there were too many to follow"
