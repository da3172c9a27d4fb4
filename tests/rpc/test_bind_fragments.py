"""Binds that come in several fragments: contexts, tokens and flags are those of the whole."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.association import Association
from msmq_wire.rpc.bind_fragments import BindFragments
from msmq_wire.rpc.events import BindEvent, ControlEvent
from msmq_wire.rpc.pdu.framer import FramedPdu
from tests.rpc.test_association import (
    FIRST,
    LAST,
    NDR,
    NDR64,
    QMCOMM,
    QMCOMM2,
    Talk,
    ack,
    auth,
    bind,
    calls,
    pdu,
    request,
    secured,
)

_OFFERS = ((0, QMCOMM, NDR), (1, QMCOMM2, NDR64))
_BIND, _ALTER = 11, 14
_NEITHER = 0


def cut(whole: bytes, *places: int, call_id: int = 1, last: int = LAST) -> list[bytes]:
    """The fragments of a bind without a token, whose body is cut at these places."""
    body, ends = whole[16:], [*places, len(whole) - 16]
    flags = [FIRST, *[_NEITHER] * (len(places) - 1), last]
    return [
        pdu(whole[2], body[start:stop], call_id=call_id, flags=flag)
        for start, stop, flag in zip([0, *places], ends, flags, strict=True)
    ]


@pytest.mark.parametrize("alter", [False, True])
# The first context begins at 12 and ends at 56; the second ends at 100.
@pytest.mark.parametrize("places", [(12,), (40,), (56,), (60,), (99,), (30, 60), (12, 13, 14, 15)])
def test_contexts_are_those_of_all_fragments(places: tuple[int, ...], alter: bool) -> None:
    talk = Talk()
    fragments = cut(bind(*_OFFERS, alter=alter), *places)
    assert talk.client(*fragments) == []
    (event,) = talk.server(ack((0, 0, NDR), (2, 2, NDR64), alter=alter))
    assert isinstance(event, BindEvent)
    assert [(one.context_id, one.interface, one.transfer_syntaxes, one.result) for one in event.contexts] == [
        (0, QMCOMM, (NDR,), 0),
        (1, QMCOMM2, (NDR64,), 2),
    ]
    assert event.alter is alter
    assert event.note == f"the bind came in {len(fragments)} fragments"
    assert event.frames == tuple(range(1, len(fragments) + 2))
    assert (event.offset, event.length) == (0, sum(map(len, fragments)))
    talk.client(request(call_id=2, context=0), request(call_id=3, context=1))
    assert [call.interface for call in calls(talk.association.finish())] == [QMCOMM, None]


def test_fragments_may_come_in_any_segments() -> None:
    association, events = Association(), []
    for data in b"".join(cut(bind(*_OFFERS), 40, 70)):
        events += association.feed(True, bytes((data,)), 1, 1)
    events += association.feed(False, ack((0, 0, NDR), (0, 0, NDR64)), 2, 2)
    (event,) = events
    assert isinstance(event, BindEvent)
    assert len(event.contexts) == 2


def test_a_token_is_that_of_all_fragments() -> None:
    talk, made = secured()
    assert made[0].tokens[0] == (True, b"one")
    body = bind(*_OFFERS)[16:]
    talk.client(
        pdu(_ALTER, body[:40] + b"pad!", call_id=5, flags=FIRST, auth=auth(b"fo", pad=4, context=2)),
        pdu(_ALTER, body[40:] + b"..", call_id=5, flags=LAST, auth=auth(b"ur", pad=2, context=2)),
    )
    talk.server(ack((0, 0, NDR), (0, 0, NDR64), call_id=5, alter=True))
    assert made[1].tokens == [(True, b"four")]
    event = talk.events[-1]
    assert isinstance(event, BindEvent)
    assert (len(event.contexts), event.auth_type, event.auth_level) == (2, 10, 6)


@pytest.mark.parametrize(
    ("last", "note"),
    [
        (LAST, "the bind came in 2 fragments"),
        (LAST | 0x14, "the bind came in 2 fragments"),
        (LAST | 0x40, "the bind came in 2 fragments; the bind has flags that no bind has: 0x43"),
    ],
)
def test_odd_flags_of_a_fragment_are_told(last: int, note: str) -> None:
    talk = Talk()
    talk.client(*cut(bind(*_OFFERS), 40, last=last))
    (event,) = talk.server(ack((0, 0, NDR), (0, 0, NDR64)))
    assert isinstance(event, BindEvent)
    assert event.note == note


def test_a_bind_that_is_whole_by_itself_waits_for_no_other() -> None:
    talk = Talk()
    talk.client(bind(*_OFFERS, flags=FIRST))
    (event,) = talk.server(ack((0, 0, NDR), (0, 0, NDR64)))
    assert isinstance(event, BindEvent)
    assert event.note == "the bind is not marked as its first and last fragment: flags 0x01"


_UNREADABLE = "a PDU that cannot be decoded: missing-bytes"


@pytest.mark.parametrize(
    "between",
    [
        request(call_id=7),
        bind((0, QMCOMM, NDR), call_id=9),
        # Of another call, and of another type.
        pdu(_BIND, bytes(8), call_id=2, flags=LAST),
        pdu(_ALTER, bytes(8), call_id=1, flags=LAST),
    ],
)
def test_a_fragment_that_nothing_follows_is_told(between: bytes) -> None:
    talk = Talk()
    first, last = cut(bind(*_OFFERS), 40)
    talk.client(first, between, last)
    reported = [one for one in talk.events if isinstance(one, ControlEvent) and one.ptype == _BIND]
    assert [one.frames for one in reported if one.note == _UNREADABLE][:1] == [(1,)]
    # What follows the break is no part of it.
    assert reported[-1].frames == (3,)


def test_a_fragment_at_the_end_or_before_a_gap_is_told() -> None:
    first, last = cut(bind(*_OFFERS), 40)
    talk = Talk()
    talk.client(first)
    assert [(one.note, one.frames) for one in talk.association.finish()] == [(_UNREADABLE, (1,))]  # type: ignore[union-attr]  # control events
    talk = Talk()
    talk.client(first)
    assert talk.association.gap(True, len(last), "loss", 2, 2)[0].note == _UNREADABLE  # type: ignore[union-attr]  # a control event


def test_what_waits_is_bounded() -> None:
    association, events, most = Association(), [], 0
    body = bind(*_OFFERS)[16:]
    events += association.feed(True, pdu(_BIND, body[:40], call_id=1, flags=FIRST), 1, 1)
    for number in range(2, 400):
        events += association.feed(True, pdu(_BIND, b"", call_id=1, flags=_NEITHER), number, number)
        most = max(most, association.held_bytes)
    assert most < 64 * 300
    assert len(events) > 300
    association, events, most = Association(), [], 0
    events += association.feed(True, pdu(_BIND, body[:40], call_id=1, flags=FIRST), 1, 1)
    for number in range(2, 20):
        events += association.feed(
            True, pdu(_BIND, b"\xff" * 60_000, call_id=1, flags=_NEITHER), number, number
        )
        most = max(most, association.held_bytes)
    assert most < 200_000
    assert events


def test_what_together_is_too_long_comes_as_it_came() -> None:
    fragments = BindFragments()
    first = FramedPdu(pdu(_BIND, bind(*_OFFERS)[16:56], call_id=1, flags=FIRST), 0, (1,), 1)
    last = FramedPdu(pdu(_BIND, bytes(65_500), call_id=1, flags=LAST), 56, (2,), 2)
    assert fragments.take(first) == ()
    assert fragments.take(last) == (first, last)
    assert fragments.held == 0


def test_a_small_first_fragment_begins_a_connection_too() -> None:
    talk = Talk()
    talk.client(b"noise", *cut(bind(*_OFFERS), 13))
    (event,) = talk.server(ack((0, 0, NDR), (0, 0, NDR64)))
    assert isinstance(event, BindEvent)
    assert len(event.contexts) == 2
