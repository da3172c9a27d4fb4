"""Finds messages by the names that users type, and names the subject of a record."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from msmq_wire.detection.diagnosis.phrases import Phrases, quoted, short
from msmq_wire.records.queue_names import short_queue
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.sessions import MessageLife, Moment, Story

_BARS = ("…", "...")
_PLACE = re.compile(r"(?:id\s*(\d{1,18})|frame\s*(\d{1,18})(?:\s+of\s+(\S.*))?)", re.IGNORECASE)


def matching(story: Story, wanted: str, most: int = 10, words: Phrases | None = None) -> dict[str, str]:
    """The messages that ``wanted`` may mean, with their labels; at most one more than ``most``.

    ``wanted`` is one of these, tried in this order:

    * a whole message identifier (``guid\\number``),
    * ``frame 59``, ``frame 59 of FILE`` or ``id 33``, of the message or of evidence about it,
    * its number, or the first digits of the GUID, a backslash and the number, as in answers,
    * a part of the label, in any letter case,
    * for a number without such a message: a record id, or a frame,
    * a part of the queue name.

    ``words`` maps moments to the frames of files.
    """
    words = words or Phrases()
    whole = story.lives.by_id(wanted)
    if whole is not None:
        return {wanted: whole.label or ""}
    place = _PLACE.fullmatch(wanted.strip())
    if place is not None:
        shows = _by_id(int(place[1])) if place[1] else _by_frame(int(place[2]), words, place[3] or "")
        return _at(story.lives, shows, most)
    guid, _, number = wanted.rpartition("\\")
    for bar in _BARS:
        guid = guid.removesuffix(bar)
    if number.isdecimal():
        named = _taken((one for one in story.lives if _is_named(one, guid.lower(), number)), most)
        if named:
            return named
    text = wanted.casefold()
    # An acknowledgment has the label of its message, a report its number.
    own = [one for one in story.lives if not one.about] if text else []
    labelled = [one for one in own if text in (one.label or "").casefold()]
    exact = [one for one in labelled if (one.label or "").casefold() == text]
    found = exact if len({one.message_id for one in exact}) == 1 else labelled
    if not found and number.isdecimal() and len(number) <= 18 and not guid:
        by_id = _at(story.lives, _by_id(int(number)), most)
        return by_id or _at(story.lives, _by_frame(int(number), words), most)
    return _taken(found or [one for one in own if text in with_queue_names(one.queue or "").casefold()], most)


def no_message(called: str) -> str:
    """What is said where `matching` finds none."""
    return f"no message is called {called}, by name, number, label, queue, frame or id"


class NamedSubject(NamedTuple):
    """The subject of a record: ``what`` is a message or a queue, ``place`` the queue as in tables.

    ``names`` are its names in other texts.
    """

    what: str
    place: str
    names: tuple[str, ...]

    def text(self, known: Collection[str]) -> str:
        """The subject in words; a queue at a ``known`` host is named without the host."""
        host, blank, queue = self.place.partition(" ")
        place = queue if blank and host in known else self.place
        return " ".join(one for one in (self.what, place) if one)


def named(story: Story, records: Collection[int]) -> Mapping[int, NamedSubject]:
    """The subjects of records by id: a message with its label and queue, or the queue of a call."""
    found = {}
    for queue in story.queues:
        for at in (queue.opened, queue.purged, queue.closed):
            if queue.queue and at is not None and at.record in records:
                found[at.record] = _named(None, None, queue.queue)
    for read in story.reads:
        for at in (read.at, read.ended):
            if at is not None and at.record in records and (read.message_id or read.queue):
                found[at.record] = _named(read.message_id, read.label, read.queue)
    for record, life in story.lives.sent_in(records).items():
        found[record] = _named(life.message_id, life.label, life.queue)
    return found


def _named(message: str | None, label: str | None, queue: str | None) -> NamedSubject:
    names = tuple(one for one in (None if message is None else short(message), queue) if one)
    what = "queue" if message is None else f"message{quoted(label) or f' {short(message)}'}"
    place = short_queue(queue) if queue else ""
    return NamedSubject(f"{what} to" if place and message is not None else what, place, names)


def _is_named(life: MessageLife, guid: str, number: str) -> bool:
    return life.message_id.endswith(f"\\{number}") and life.message_id.startswith(guid)


def _by_id(number: int) -> Callable[[Moment], bool]:
    return lambda moment: moment.record == number


def _by_frame(number: int, words: Phrases, file: str = "") -> Callable[[Moment], bool]:
    """Make a test for moments of a frame, in any file or in one (by path, name or short name)."""

    def shows(moment: Moment) -> bool:
        path, frame = words.located(moment)
        return frame == number and (not file or file in (path, os.path.basename(path), words.file(moment)))

    return shows


def _at(lives: Iterable[MessageLife], shows: Callable[[Moment], bool], most: int) -> dict[str, str]:
    """Messages with a matching moment, of their own or of their evidence."""
    found = [life for life in lives if any(map(shows, _moments(life)))]
    names = {life.message_id for life in found}
    # What acknowledges a message tells of that message, and is meant only where nobody knows that one.
    return _taken((life for life in found if names.isdisjoint(life.about)), most)


def _moments(life: MessageLife) -> Iterator[Moment]:
    single = (
        life.first, life.acknowledged, life.stored, life.order_ack, life.accepted, life.peeked, life.received,
        life.rejected,
    )  # fmt: skip
    yield from (one for one in single if one is not None)
    yield from (*life.resent_at, *life.moved)
    yield from (one.at for one in life.route)
    yield from (one.at for one in life.acknowledgments)
    yield from (one.at for one in life.reports)


def _taken(lives: Iterable[MessageLife], most: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for life in lives:
        found.setdefault(life.message_id, life.label or "")
        if len(found) > most:
            break
    return found
