"""One direction of a session: the user packets that one side sent, and what was acknowledged of them.

The rule kept here: a number belongs to a packet by the order in which packets were sent, [MS-MQQB] 3.1.1.4;
16-bit numbers of the wire are read as the nearest number that the count allows. Where packets are missing
from the capture, numbers follow what either side states, and nothing after that is certain.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count as count_from
from itertools import islice, repeat, takewhile

from msmq_wire.sessions.followed_message import FollowedMessage, message_name
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.sent_packet import NOTHING_EARLY, NOTHING_UNSTORED, NOTHING_WAITS, SentPacket, before
from msmq_wire.sessions.session import Counts, NoteKind, SessionDirection

_MASK = 0xFFFF
_HALF = 0x8000
_MAX_WAITING = 1 << 15
"""Packets of one direction that wait for an acknowledgment: 16 bits cannot tell more apart."""
_MOST_LOOKED = 1 << 16
"""Packets that are numbered again, beside 16 for each that was sent."""
_MAX_EARLY = 64
_MAX_NAMED = 1000
_DEFAULT_WINDOW = 64

Note = Callable[[NoteKind, Moment, int, int], None]
"""Takes a kind, the moment of the packet, the number stated and the number expected."""
_NO_MESSAGES: Mapping[bytes | str, FollowedMessage] = {}


class SentSequence:
    """The user packets of one direction, fed in order, with the SessionHeaders of both sides.

    ``note`` takes what is out of order. ``base_known`` is False where the start of the connection was not
    captured, and then numbers begin where the first acknowledgment says. ``messages`` are those that are
    followed: they are named here and not held, so that they can leave.
    """

    __slots__ = (
        "_base_known", "_closed", "_doubted", "_early", "_limit", "_looked", "_messages", "_missed", "_note",
        "_overlooked", "_own_window", "_shifted", "_unstored", "_waiting",
        "acknowledged", "acknowledgments", "announced", "bytes", "certain", "duplicates", "first_ack",
        "first_message", "gaps", "last_ack", "last_message", "longest_wait", "longest_wait_at", "messages",
        "number", "recoverable", "recoverable_number", "resent", "session_acks", "smallest_window", "stored",
        "transactional", "window_closings", "window_size",
    )  # fmt: skip

    def __init__(
        self,
        note: Note,
        *,
        base_known: bool,
        messages: Mapping[bytes | str, FollowedMessage] = _NO_MESSAGES,
    ) -> None:
        self._note = note
        self._messages = messages
        self._base_known = base_known
        self.certain = base_known
        self.gaps = 0
        self.messages = self.recoverable = self.transactional = self.acknowledgments = self.bytes = 0
        self.resent = self.duplicates = 0
        self.first_message: Moment | None = None
        self.last_message: Moment | None = None
        self.number = self.recoverable_number = 0
        self.acknowledged = self.stored = 0
        self._waiting = NOTHING_WAITS
        self._unstored = NOTHING_UNSTORED
        self._overlooked = 0
        self._doubted = 0
        self._early = NOTHING_EARLY
        self._shifted: Moment | None = None
        self._missed = False
        self._looked = 0
        self.session_acks = 0
        self.first_ack: Moment | None = None
        self.last_ack: Moment | None = None
        self.window_size: int | None = None
        self.smallest_window: int | None = None
        self.announced: tuple[int, ...] = ()
        self.window_closings = 0
        self._own_window = self._limit = _DEFAULT_WINDOW
        self._closed = False
        self.longest_wait: int | None = None
        self.longest_wait_at: Moment | None = None

    def sent(
        self,
        key: bytes | str | None,
        message: FollowedMessage | None,
        moment: Moment,
        recoverable: bool,
        transactional: bool,
        size: int,
    ) -> None:
        """Take a user packet of ``size`` bytes, with the message of a key: ``message`` if that is kept."""
        if self._early and not before(moment, self._early[-1][1]):
            self._tell_early()
        self.messages += 1
        self.bytes += size
        self.number += 1
        number = 0
        if recoverable:
            self.recoverable += 1
            self.recoverable_number += 1
            number = self.recoverable_number
        self.transactional += transactional
        if self.first_message is None:
            self.first_message = moment
        self.last_message = moment
        kept = message is not None and self._messages.get(message.key) is message
        one = SentPacket(self.number, number, moment, key, kept)
        self._hold((one,))
        if self._early:
            self._late(one)

    def sent_all(self, messages: list[FollowedMessage], size: int) -> None:
        """Take user packets of messages that are kept, of ``size`` bytes together."""
        flags = [message.flags for message in messages]
        recoverable = [flag & 0x60 == 0x20 for flag in flags]
        if self._early:
            self.bytes += size
            for message, flag, one in zip(messages, flags, recoverable, strict=True):
                self.sent(message.key, message, message.first, one, bool(flag & 0x100000), 0)
            return
        count, stored = len(messages), sum(recoverable)
        self.messages += count
        self.bytes += size
        self.transactional += sum(map(0x100000.__and__, flags)) >> 20
        self.first_message = self.first_message or messages[0].first
        self.last_message = messages[-1].first
        numbers = count_from(self.recoverable_number + 1)
        sent = list(
            map(
                SentPacket,
                range(self.number + 1, self.number + count + 1),
                [next(numbers) if one else 0 for one in recoverable],
                [message.first for message in messages],
                [message.key for message in messages],
                repeat(True),
            )
        )
        self.number += count
        self.recoverable += stored
        self.recoverable_number += stored
        self._hold(sent)

    def _hold(self, sent: Sequence[SentPacket]) -> None:
        """Let packets wait for their acknowledgments."""
        if self._waiting is NOTHING_WAITS:
            self._waiting = deque()
        waiting = self._waiting
        waiting.extend(sent)
        while len(waiting) > _MAX_WAITING:
            self._overlook(waiting.popleft())
        for one in sent:
            if one.recoverable:
                if self._unstored is NOTHING_UNSTORED:
                    self._unstored = OrderedDict()
                self._unstored[one.recoverable] = one
        while len(self._unstored) > _MAX_WAITING:
            self._doubt(self._unstored.popitem(last=False)[1])
        if not self._closed and len(waiting) >= self._limit:
            self._closed = True
            self.window_closings += 1

    @property
    def held(self) -> int:
        """How many packets wait, for one acknowledgment or the other."""
        return len(self._waiting) + len(self._unstored) + len(self._early)

    def _followed(self, key: bytes | str | None) -> FollowedMessage | None:
        return None if key is None else self._messages.get(key)

    def _message(self, one: SentPacket) -> FollowedMessage | None:
        """The message in a packet, if it is still followed."""
        return self._followed(one.key) if one.kept else None

    def overlook(self) -> None:
        """Let go of what waits, for which there is no memory: it is counted, and nothing is told of it."""
        for one in self._waiting:
            self._overlook(one)
        for one in self._unstored.values():
            self._doubt(one)
        self._waiting, self._unstored = NOTHING_WAITS, NOTHING_UNSTORED

    def _overlook(self, one: SentPacket) -> None:
        self._overlooked += 1
        message = self._message(one)
        if message is not None:
            message.certain = False

    def _doubt(self, one: SentPacket) -> None:
        """Tell nothing of whether it was stored."""
        self._doubted += 1
        message = self._message(one)
        if message is not None:
            message.certain = False

    def lost(self) -> None:
        """Take note that bytes of this direction are missing from the capture."""
        self.gaps += 1
        self.certain = False

    def states(self, header: Counts, moment: Moment) -> None:
        """Take what the side that sends here says of its own counts."""
        self.window(header.window_size, own=True)
        sent, recoverable = header.user_msg_sequence_number, header.recoverable_msg_seq_number
        if self.certain:
            if sent != self.number & _MASK:
                self._note("sent_count", moment, sent, self.number & _MASK)
            if recoverable != self.recoverable_number & _MASK:
                self._note("recoverable_count", moment, recoverable, self.recoverable_number & _MASK)
            return
        # A count that goes back is no count of packets that were missed, unless all before it were.
        limit = _HALF if self._base_known else _MASK + 1
        if (sent - self.number) & _MASK < limit:
            self._shift((sent - self.number) & _MASK)
        if (recoverable - self.recoverable_number) & _MASK < limit:
            self._shift_recoverable((recoverable - self.recoverable_number) & _MASK)
        self._shifted = moment
        self._base_known = True

    def window(self, size: int, *, own: bool = False) -> None:
        """Take the window that the other side announces, or that of the side that sends here."""
        if size <= 0:
            return
        if own:
            self._own_window = size
            if len(self.announced) < _MAX_EARLY and self.announced[-1:] != (size,):
                self.announced += (size,)
        elif size != self.window_size:
            self.window_size = size
            if self.smallest_window is None or size < self.smallest_window:
                self.smallest_window = size
        self._limit = min(self.window_size or self._own_window, self._own_window)

    def acknowledge(self, header: Counts, moment: Moment, *, missed: bool = False) -> None:
        """Take what the other side says that it received, [MS-MQQB] 3.1.5.5.

        ``missed`` says that acknowledgments before this one may be missing from the capture.
        """
        self._missed = missed
        self.session_acks += 1
        if self.first_ack is None:
            self.first_ack = moment
        self.last_ack = moment
        self.window(header.window_size)
        if not self.certain:
            self._settle(header)
        ahead = self._received(header, moment) | self._written(header, moment)
        if ahead:
            if self._early is NOTHING_EARLY:
                self._early = deque()
            self._early.append((header, moment))
            if len(self._early) > _MAX_EARLY:
                self._tell_ahead(*self._early.popleft())

    def _settle(self, header: Counts) -> None:
        """Number packets again by what the other side counted, where some were missed."""
        ahead = (header.ack_sequence_number - self.number) & _MASK
        if 0 < ahead < _HALF or (not self._base_known and header.ack_sequence_number > self.number):
            self._shift(ahead)
        low, flags = header.recoverable_msg_ack_seq_number, header.recoverable_msg_ack_flags
        if low:
            ahead = (low + max(flags.bit_length() - 1, 0) - self.recoverable_number) & _MASK
            if 0 < ahead < _HALF:
                self._shift_recoverable(ahead)
        self._base_known = True

    def _shift(self, missed: int) -> None:
        if not missed:
            return
        for one in self._after_shift():
            one.number += missed
        self.number += missed

    def _shift_recoverable(self, missed: int) -> None:
        if not missed:
            return
        moved = [one for one in self._after_shift() if one.recoverable]
        for one in moved:
            self._unstored.pop(one.recoverable, None)
        for one in moved:
            one.recoverable += missed
            self._unstored[one.recoverable] = one
        self.recoverable_number += missed

    def _after_shift(self) -> list[SentPacket]:
        """The packets whose numbers nobody confirmed."""
        if self._looked > _MOST_LOOKED + 16 * self.messages:
            # Who counts ahead of all that waits, again and again, is not believed any further.
            return []
        since = -1 if self._shifted is None else self._shifted.record
        # They are the last ones: of many that wait few are looked at.
        found = list(takewhile(lambda one: one.moment.record > since, reversed(self._waiting)))
        self._looked += len(found)
        return found[::-1]

    def _late(self, one: SentPacket) -> None:
        """Look again at acknowledgments that came before a packet which was captured before them."""
        still: deque[tuple[Counts, Moment]] = deque()
        for header, moment in self._early:
            ahead = not before(one.moment, moment)
            if not ahead:
                ahead = self._received(header, moment, quiet=True)
                ahead |= self._written(header, moment, quiet=True)
            if ahead:
                still.append((header, moment))
        self._early = still or NOTHING_EARLY

    def _received(self, header: Counts, moment: Moment, *, quiet: bool = False) -> bool:
        """Mark what AckSequenceNumber covers; tell whether it stands for more than was sent."""
        if self._is_ahead(header.ack_sequence_number, self.number):
            return True
        number = self.number - ((self.number - header.ack_sequence_number) & _MASK)
        if number < self.acknowledged:
            if self.certain and not quiet:
                self._note("ack_back", moment, header.ack_sequence_number, self.acknowledged & _MASK)
            return False
        self.acknowledged = number
        waiting = self._waiting
        if self._overlooked:
            last = waiting[0].number - 1 if waiting else self.number
            self._overlooked = min(self._overlooked, max(0, last - number))
        if waiting and waiting[0].number <= number:
            self._wait(waiting[0], moment.time)
            certain = self.certain
            while waiting and waiting[0].number <= number:
                message = self._message(waiting.popleft())
                if message is not None:
                    if message.acknowledged is None:
                        message.acknowledged = moment
                    message.certain &= certain
        if self._closed and len(waiting) < self._limit:
            self._closed = False
        return False

    def _written(self, header: Counts, moment: Moment, *, quiet: bool = False) -> bool:
        """Mark what the recoverable bit field covers; tell whether it stands for more than was sent."""
        low, flags = header.recoverable_msg_ack_seq_number, header.recoverable_msg_ack_flags
        if not low and not flags:
            return False
        behind = (self.recoverable_number - low) & _MASK
        first = self.recoverable_number - behind
        if behind >= _HALF or first <= 0 or not self.recoverable_number:
            return bool(low) or not self.recoverable_number
        unstored = self._unstored
        while unstored:
            number = next(iter(unstored))
            # Lower numbers were stored before this, if they were: only a bit says so.
            if number >= first or not self._missed:
                break
            self._store(unstored.pop(number), moment, certain=False)
        ahead = False
        while flags:
            bit = flags & -flags
            number = first + bit.bit_length() - 1
            flags ^= bit
            one = unstored.pop(number, None)
            if one is not None:
                self._store(one, moment)
            ahead |= number > self.recoverable_number
        return ahead

    def _store(self, one: SentPacket, moment: Moment, *, certain: bool = True) -> None:
        self.stored += 1
        message = self._message(one)
        if message is not None:
            if message.stored is None:
                message.stored = moment
            message.certain &= self.certain and certain

    def _wait(self, one: SentPacket, until: int | None) -> None:
        since = one.moment.time
        if since is None or until is None:
            return
        if self.longest_wait is None or until - since > self.longest_wait:
            self.longest_wait, self.longest_wait_at = until - since, one.moment

    def finish(self) -> SessionDirection:
        """Summarise the direction; what waits stays so."""
        self._tell_early()
        # Whoever is told holds this: without that end, both go at once.
        self._note = _unheard
        waiting = self._waiting
        found = SessionDirection(
            messages=self.messages,
            recoverable=self.recoverable,
            transactional=self.transactional,
            acknowledgments=self.acknowledgments,
            bytes=self.bytes,
            first_message=self.first_message,
            last_message=self.last_message,
            sequence_number=self.number,
            recoverable_sequence_number=self.recoverable_number,
            acknowledged=self.acknowledged,
            stored=self.stored,
            session_acks=self.session_acks,
            first_ack=self.first_ack,
            last_ack=self.last_ack,
            unacknowledged=len(waiting) + self._overlooked,
            unacknowledged_ids=_names(waiting),
            waiting_since=waiting[0].moment if waiting else None,
            unstored=self.recoverable - self.stored - self._doubted,
            unstored_ids=_names(self._unstored.values()),
            resent=self.resent,
            duplicates=self.duplicates,
            announced=self.announced,
            window_size=self.window_size,
            smallest_window=self.smallest_window,
            window_closings=self.window_closings,
            longest_wait=self.longest_wait,
            longest_wait_at=self.longest_wait_at,
            gaps=self.gaps,
            certain=self.certain,
        )
        return EMPTY_DIRECTIONS[self.certain] if found == EMPTY_DIRECTIONS[self.certain] else found

    def _tell_early(self) -> None:
        for header, moment in self._early:
            self._tell_ahead(header, moment)
        self._early = NOTHING_EARLY

    def _tell_ahead(self, header: Counts, moment: Moment) -> None:
        number = header.ack_sequence_number
        if self._is_ahead(number, self.number):
            self._note("ack_ahead", moment, number, self.number & _MASK)
        low, flags = header.recoverable_msg_ack_seq_number, header.recoverable_msg_ack_flags
        if (low or flags) and not self.recoverable_number:
            self._note("stored_unseen", moment, low, 0)
        elif low:
            highest = (low + max(flags.bit_length() - 1, 0)) & _MASK
            if self._is_ahead(highest, self.recoverable_number):
                self._note("stored_ahead", moment, highest, self.recoverable_number & _MASK)

    @staticmethod
    def _is_ahead(stated: int, counted: int) -> bool:
        behind = (counted - stated) & _MASK
        return behind >= _HALF or behind > counted


EMPTY_DIRECTIONS = (SessionDirection(certain=False), SessionDirection())
"""What one direction of many sessions comes to, by whether that is certain."""


def _unheard(kind: NoteKind, moment: Moment, stated: int, expected: int) -> None:
    """Nobody listens any more."""


def _names(packets: Iterable[SentPacket]) -> tuple[str, ...]:
    return tuple(message_name(one.key) for one in islice(packets, _MAX_NAMED) if one.key is not None)
