"""`MessagePositionList` against a sorted list, whatever is inserted, removed and walked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from msmq_wire.lab.model.data.elements import MessagePosition, ModelMessage, Queue
from tests.lab.model.scene import make_manager


def _queue() -> Queue:
    return Queue(queue_manager=make_manager(), pathname="host\\private$\\q")


class _Walks(RuleBasedStateMachine):
    """Slots by (priority, arrival) in a plain list beside the real one."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = _queue()
        self.list = self.queue.message_position_list
        self.all: list[tuple[int, int, MessagePosition]] = []
        self.listed: set[int] = set()

    @rule(priority=st.integers(0, 7))
    def insert(self, priority: int) -> None:
        number = len(self.all)
        message = ModelMessage(priority=priority, lookup_identifier=number)
        position = MessagePosition(message_reference=message, queue_reference=self.queue)
        self.list.insert(position)
        self.all.append((7 - priority, number, position))
        self.listed.add(number)

    @precondition(lambda self: self.all)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        _, number, position = data.draw(st.sampled_from(self.all))
        self.list.remove(position)
        self.listed.discard(number)

    @precondition(lambda self: self.all)
    @rule(data=st.data())
    def walk_from_anywhere(self, data: st.DataObject) -> None:
        priority, number, position = data.draw(st.sampled_from(self.all))
        behind = [one for one in self._order() if one[:2] > (priority, number)]
        before = [one for one in self._order() if one[:2] < (priority, number)]
        assert self.list.next(position) is (behind[0][2] if behind else "end")
        assert self.list.previous(position) is (before[-1][2] if before else "start")

    def _order(self) -> list[tuple[int, int, MessagePosition]]:
        return sorted((one for one in self.all if one[1] in self.listed), key=lambda one: one[:2])

    @invariant()
    def it_is_the_sorted_list(self) -> None:
        order = [position for _, _, position in self._order()]
        assert list(self.list) == order
        assert len(self.list) == len(order)
        assert self.list.next("start") is (order[0] if order else "end")
        assert self.list.previous("end") is (order[-1] if order else "start")
        assert [self.list.find(number) for number in sorted(self.listed)] == [
            position
            for _, number, position in sorted(self.all, key=lambda one: one[1])
            if number in self.listed
        ]


TestWalks = _Walks.TestCase


@given(st.integers(70, 400))
def test_a_place_that_is_gone_leads_on_after_the_list_was_packed(count: int) -> None:
    queue = _queue()
    slots = queue.message_position_list
    positions = [
        MessagePosition(message_reference=ModelMessage(lookup_identifier=number), queue_reference=queue)
        for number in range(count)
    ]
    for position in positions:
        slots.insert(position)
    for position in positions[:-1]:
        slots.remove(position)
    assert slots.next(positions[3]) is positions[-1]
    assert slots.previous(positions[3]) == "start"
    assert (slots.next("end"), slots.previous("start")) == ("end", "start")
