"""TXN-ACK: an acknowledgment of a transactional sequence does not match the sent messages."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import SessionIndex, place_at
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Story, StrayAck, TransactionalStream
from msmq_wire.spec import SpecRef

_KINDS = {"order_ack": "OrderAck", "final_ack": "FinalAck"}
_BEFORE = "the messages may have been sent before the capture began"


def _check(story: Story, context: Context) -> Iterator[Detection]:
    strays = [stray for stray in story.strays if stray.kind in _KINDS]
    if strays:
        yield from _stray_acks(story, strays)
    ahead = [stream for stream in story.streams if stream.acknowledged_ahead is not None]
    for stream in ahead:
        session = story.session(stream.sessions[0]) if stream.sessions else None
        yield _ack_ahead(stream, "" if session is None else session.capture)


def _stray_acks(story: Story, strays: list[StrayAck]) -> Iterator[Detection]:
    index, known = SessionIndex(story), _first_messages(story)
    for stray in strays:
        session = index.at(stray.at, stray.src, stray.dst)
        since = known.get((host_of(stray.dst), host_of(stray.src)))
        seen = since is not None and since < stray.at.record
        # A FinalAck comes when the message is read, which may be days after it was sent.
        late = stray.kind == "final_ack"
        sequence = "" if stray.tx_sequence_id is None else f" {stray.tx_sequence_id:#x}"
        yield Detection(
            message=f"{_KINDS[stray.kind]} for number {stray.number} of sequence{sequence}, but no such "
            "message was captured",
            evidence=(place_at(stray.at, stray.src, stray.dst, "" if session is None else session.capture),),
            severity=None if seen and not late else "info",
            caveats=(_BEFORE,),
        )


def _first_messages(story: Story) -> dict[tuple[str, str], int]:
    """The first record in which each host sent a message to each other host."""
    since: dict[tuple[str, str], int] = {}
    for session in story.sessions:
        client, server = host_of(session.client), host_of(session.server)
        ways = ((client, server), (server, client))
        for way, sent in zip(ways, session.directions, strict=True):
            if sent.first_message is not None:
                since.setdefault(way, sent.first_message.record)
    return since


def _ack_ahead(stream: TransactionalStream, capture: str) -> Detection:
    assert stream.acknowledged_ahead is not None
    # An acknowledgment goes the other way.
    return Detection(
        message=f"OrderAck for number {stream.acknowledged} of sequence {stream.tx_sequence_id:#x}, "
        f"but the highest number that was captured is {stream.last_number}",
        evidence=(place_at(stream.acknowledged_ahead, stream.dst, stream.src, capture),),
    )


RULE = Rule(
    id="TXN-ACK",
    title="An acknowledgment without its messages",
    severity="low",
    spec=(SpecRef("MS-MQQB", "2.2.4"), SpecRef("MS-MQQB", "2.2.5"), SpecRef("MS-MQQB", "3.1.1.6.2")),
    meaning="OrderAck and FinalAck tell the sender which messages of a transactional sequence arrived. This "
    "one is about messages that are not in the capture. A sender that accepts it deletes them.",
    action="Check whether the receiver sent messages with these numbers, and which program sent the "
    "acknowledgment.",
    harmless="The messages were sent before the capture began, or over another path. A FinalAck comes when "
    "its message is read, which may be days later.",
    over="story",
    needs=("opening", "between", "whole", "counted", "in_time"),
    conduct="OrderAck",
    check=_check,
)
