"""What a report message says, and steps in the order of a path."""

from __future__ import annotations

import itertools

import pytest

from msmq_wire.sessions import Moment, Trace, TraceStep
from msmq_wire.sessions.trace_step import in_order_of_path
from msmq_wire.wire.types.guid import GUID
from tests.sessions.reports import QUEUE, ROUTER, SOURCE, TARGET

_SECOND = GUID.parse("bb00716c-0f3d-4a52-8b1e-6d90a7c2e455")
"""Another routing server."""


def _step(
    manager: GUID, hops: int, next_hop: str | None = None, *, computer: GUID | None = SOURCE, record: int = 1
) -> TraceStep:
    return TraceStep(
        qm_id="a1d3",
        number=4162,
        kind="received" if next_hop is None else "sent",
        queue_manager=manager,
        hops=hops,
        next_hop=next_hop,
        target=QUEUE,
        computer=computer,
        label_time="",
        sent_time=0,
        report_id=f"{manager}\\{hops}",
        routed=0,
        at=Moment(record, record, None),
        src="",
        dst="",
    )


_LITERAL = (
    _step(SOURCE, 0, "192.0.2.11"),
    _step(ROUTER, 1),
    _step(ROUTER, 1, "192.0.2.12"),
    _step(_SECOND, 2),
    _step(_SECOND, 2, "192.0.2.10"),
    _step(TARGET, 2),
)
"""A routing server counts itself before it reports."""
_AS_IT_CAME = (
    _step(SOURCE, 0, "192.0.2.11"),
    _step(ROUTER, 0),
    _step(ROUTER, 1, "192.0.2.12"),
    _step(_SECOND, 1),
    _step(_SECOND, 2, "192.0.2.10"),
    _step(TARGET, 2),
)
"""A routing server that reports the count with which the message came."""


@pytest.mark.parametrize("path", [_LITERAL, _AS_IT_CAME])
def test_steps_in_any_order_are_put_in_that_of_the_path(path: tuple[TraceStep, ...]) -> None:
    for order in itertools.islice(itertools.permutations(path), 0, 720, 37):
        assert in_order_of_path(order) == list(path)


def test_the_queue_manager_of_the_queue_comes_last_where_a_report_is_lost() -> None:
    lost = (_step(TARGET, 1, record=1), _step(ROUTER, 1, record=2))
    assert [one.queue_manager for one in in_order_of_path(lost)] == [ROUTER, TARGET]


def test_what_is_said_twice_is_one_step_of_the_path() -> None:
    twice = (_step(ROUTER, 1, record=1), _step(ROUTER, 1, record=2))
    assert [one.at.record for one in in_order_of_path(twice)] == [1]


@pytest.mark.parametrize(
    ("step", "source"),
    [
        (_step(ROUTER, 1), SOURCE),
        (_step(ROUTER, 1, computer=ROUTER), None),
        (_step(ROUTER, 1, computer=None), None),
        (_step(SOURCE, 0, "192.0.2.11"), SOURCE),
        (_step(SOURCE, 0, "192.0.2.11", computer=None), SOURCE),
        (_step(SOURCE, 1), None),
        (_step(SOURCE, 1, "192.0.2.11"), None),
    ],
)
def test_the_source_is_known_where_both_readings_of_the_label_agree(
    step: TraceStep, source: GUID | None
) -> None:
    assert step.source == source


@pytest.mark.parametrize(
    ("step", "came"),
    [
        (_step(SOURCE, 0, "192.0.2.11"), False),
        (_step(ROUTER, 1, "192.0.2.10"), True),
        (_step(TARGET, 0), True),
    ],
)
def test_a_message_came_to_who_received_it_or_passed_it_on(step: TraceStep, came: bool) -> None:
    assert step.came is came


def test_a_trace_is_of_the_messages_that_were_captured_and_of_those_that_reports_name() -> None:
    other = GUID.parse("a1d30000-0000-0000-0000-000000000001")
    rival = _step(ROUTER, 1, computer=ROUTER)
    assert Trace("a1d3", 4162, (other,), (rival,)).sources == (other,)
    assert Trace("a1d3", 4162, (), (rival,)).sources == ()
    assert Trace("a1d3", 4162, (other,), (_step(ROUTER, 1), rival)).sources == (other, SOURCE)
    # A label that may name its reporter is a hint, where there is nothing better.
    assert Trace("a1d3", 4162, (), (_step(SOURCE, 1), rival)).sources == (SOURCE,)


def test_a_step_of_a_named_source_is_none_of_another_message() -> None:
    other = GUID.parse("a1d30000-0000-0000-0000-000000000001")
    named, rival = _step(ROUTER, 1), _step(TARGET, 1, computer=TARGET)
    trace = Trace("a1d3", 4162, (other,), (named, rival))
    assert [(one.queue_manager, one.sure) for one in trace.of(SOURCE)] == [(ROUTER, True), (TARGET, False)]
    assert [(one.queue_manager, one.sure) for one in trace.of(other)] == [(TARGET, False)]
