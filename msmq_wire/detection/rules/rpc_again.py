"""RPC-AGAIN: a message is received remotely again and again."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.rereads import AGAIN, Place, Reread, take_read
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_at
from msmq_wire.sessions import Story
from msmq_wire.spec import SpecRef

_MOST = 1 << 16


def _check(story: Story, context: Context) -> Iterator[Detection]:
    known: dict[Place, Reread] = {}
    for read in story.reads:
        take_read(known, read, _MOST)
    for one in known.values():
        if one.back < AGAIN:
            continue
        first, last = one.first, one.last
        back = f" and put back {one.put_back} times" if one.put_back else ""
        queue = f" of {first.queue}" if first.queue else ""
        yield Detection(
            message=f"{first.message_id or 'a message'} (lookup id {first.found_lookup_id}){queue} was "
            f"received {one.received} times{back}",
            evidence=tuple(place_at(read.at, read.client, read.server) for read in (first, last)),
        )


RULE = Rule(
    id="RPC-AGAIN",
    title="A message that is received again and again",
    severity="low",
    layer="application",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQRR", "3.1.4.9"), SpecRef("MS-MQRR", "3.1.4.13")),
    meaning="The same lookup id comes back three times or more: its reader puts the message back, aborts "
    "its transaction, or disappears. A message that no reader can process comes back for ever, and others "
    "may wait behind it.",
    action="Look at the body and at the application that reads the queue; move the message to another queue.",
    harmless="A reader that was restarted several times.",
    over="story",
    check=_check,
)
