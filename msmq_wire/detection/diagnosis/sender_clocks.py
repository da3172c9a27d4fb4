"""Question 3: which clocks differ: those of senders, or that of a recording.

The rule kept here: where all senders agree with each other, or with one of several recordings, the clock of
the recording that differs is the likely one, and no host is blamed.
"""

from __future__ import annotations

from collections.abc import Sequence

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.message_sums import MessageSums
from msmq_wire.detection.diagnosis.phrases import count, quoted, seconds_text, short, span
from msmq_wire.detection.diagnosis.whereabouts import short_points
from msmq_wire.records.joined_capture import JoinedCapture
from msmq_wire.sessions import HostClock, Story
from msmq_wire.sessions.clocks import AHEAD, difference_text, length_of_time
from msmq_wire.units import SECOND


def add_clocks(story: Story, sums: MessageSums, builder: AnswerBuilder) -> None:
    """Add statements and causes about clocks that differ from the clock of the capture."""
    clocks = list(story.clocks)
    for capture in () if story.point_sights is None else story.point_sights.captures:
        clocks = _by_recordings(capture, clocks, builder)
    left = set(clocks)
    common = [one for one in story.clocks.common() if one in left]
    # Where a receiver took messages for expired, the clocks of the hosts do differ.
    if common and not {one.host for one in common} & {src for src, _ in sums.wronged}:
        off = [one for one in clocks if abs(one.offset - common[0].offset) <= AHEAD]
        clocks = [one for one in clocks if abs(one.offset - common[0].offset) > AHEAD]
        _say_recording(difference_text("the capturing host", -common[0].offset, off), "", off, builder)
    # A message that waited has an old SentTime; none has a time to come.
    astray = [clock for clock in clocks if clock.astray and (clock.sure or clock.offset > 0)]
    for clock in astray[:MOST]:
        builder.say(_clock_text(clock))
        _add_clock_cause(clock, sums, builder)
    if len(astray) > MOST:
        builder.say(
            f"And the clocks of {count(len(astray) - MOST, 'more sender')} differ from that of the capture."
        )


def _by_recordings(
    capture: JoinedCapture, clocks: list[HostClock], builder: AnswerBuilder
) -> list[HostClock]:
    """Blame recordings whose clocks differ from one that all senders agree with; return the other clocks."""
    names, offsets = short_points(capture), [round(one / SECOND) for one in capture.clock_offsets]
    sure = [one for one in clocks if one.sure] or clocks
    fits = (at for at, one in enumerate(offsets) if all(abs(clock.offset + one) <= AHEAD for clock in sure))
    right = next(fits, None)
    if right is None or not clocks:
        # Each host may have recorded its own traffic: then the clocks of hosts differ.
        return clocks
    agreeing = [one for one in clocks if abs(one.offset + offsets[right]) <= AHEAD]
    for at, name in enumerate(names):
        ahead = offsets[right] - offsets[at]
        if abs(ahead) > AHEAD:
            text = difference_text(f"the recording {name}", ahead, agreeing, names[right])
            _say_recording(text, name, agreeing, builder)
            if not at:
                builder.say(f"Times are those of {name}.")
    return [one for one in clocks if abs(one.offset + offsets[right]) > AHEAD]


def _say_recording(text: str, name: str, clocks: Sequence[HostClock], builder: AnswerBuilder) -> None:
    """Say that the clock of a recording is wrong, as the clocks of senders show."""
    text = f"{text[:1].upper()}{text[1:]}"
    agreeing = sum(one.agreeing for one in clocks)
    pairs = count(sum(one.pairs for one in clocks), "message")
    text += f": {agreeing:,} of {pairs} show it"
    builder.say(f"{text}.")
    machine = (
        f"the machine that recorded {name}" if name else "the capturing host, or those of all these hosts"
    )
    builder.add_cause(
        Cause(
            text=text,
            severity="low",
            confidence="likely" if any(one.sure for one in clocks) else "guess",
            moments=(),
            who=tuple(dict.fromkeys(one.host for one in clocks)),
            action=f"set the clock of {machine}",
            count=agreeing,
            rules=("TIM-SKEW",),
            layer="capture",
        )
    )


def _add_clock_cause(clock: HostClock, sums: MessageSums, builder: AnswerBuilder) -> None:
    """Add the cause for a wrong clock, with the messages that look expired by it."""
    stale = sums.stale.get((clock.host, "in_time" if clock.sure else None))
    text = _clock_text(clock).removesuffix(".")
    if stale is not None:
        first = short(stale.first.message_id)
        seem = "seems past its time" if stale.count == 1 else "seem past their time"
        text += f"; {count(stale.count, 'message')} {seem} because of that, first {first}"
    wronged = {dst: one for (src, dst), one in sums.wronged.items() if src == clock.host and clock.sure}
    for dst, one in wronged.items():
        first = f"{short(one.first.message_id)}{quoted(one.first.label)}"
        (limit, *others) = one.limits
        live = "" if others else f" with {seconds_text(limit)} to live"
        which = f"{count(one.count, 'message')}{live} {'were' if one.count > 1 else 'was'}"
        text += f"; {which} refused by {dst} as expired because of that,"
        text += f" first {first}" if one.count > 1 else f" {first}"
    # What a receiver took for expired of others has another cause.
    alone = [dst for dst, one in wronged.items() if one.count == sums.refused_late[dst]]
    builder.add_cause(
        Cause(
            text=text,
            severity="medium" if clock.sure and wronged else "low",
            confidence="likely" if clock.sure else "guess",
            moments=tuple(one.first.first for one in (*([stale] if stale else []), *wronged.values())),
            who=(clock.host, *wronged),
            about=alone[0] if len(alone) == 1 else "",
            explains=("expired",) if len(alone) == 1 else (),
            action=f"set the clock of {clock.host}, or that of the capturing host",
            count=clock.agreeing,
            rules=("TIM-SKEW", "TIM-EXPIRED"),
        )
    )


def _clock_text(clock: HostClock) -> str:
    """The difference of a clock from the clock of the capture, and the confidence."""
    said = clock.said[:1].upper() + clock.said[1:]
    if not clock.sure:
        few = f"{count(clock.pairs, 'message')} {'is' if clock.pairs == 1 else 'are'} too few to tell"
        return f"{said}, or its SentTime is invented: {few}."
    shown = f"{clock.agreeing:,} of {count(clock.pairs, 'message')} over {span(clock.span)} show it"
    drift = round(clock.drift)
    gains = "gains" if drift > 0 else "loses"
    return f"{said}: {shown}{f'; it {gains} {length_of_time(abs(drift))} a day' if drift else ''}."
