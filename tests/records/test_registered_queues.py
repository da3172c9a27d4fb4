"""Names of queues that are known by number: whose they are, and what is said where that is not known."""

from __future__ import annotations

import pytest

from msmq_wire.records.queue_names import short_queue
from msmq_wire.records.registered_queues import (
    QueueNames,
    RegisteredQueue,
    naming_queues,
    sure_label,
    sure_name,
    with_queue_names,
)

OURS, THEIRS = "c277e190-3d6a-4c4b-8d05-f21b9ac83e44", "0e6f3a51-2b7c-4d98-a3e4-6f50b1c2d3e4"
ORDERS = RegisteredQueue(name="private$\\orders", label="Orders of the shop", number=11)
PAYMENTS = RegisteredQueue(name="private$\\payments", label="private$\\payments", number=12)


def names(manager: str | None, *queues: RegisteredQueue) -> QueueNames:
    found = QueueNames()
    found.add(queues or (ORDERS, PAYMENTS), manager, "lqs")
    return found


@pytest.mark.parametrize(
    ("format_name", "name", "label"),
    [
        (f"PRIVATE={OURS}\\0000000b", "private$\\orders", "Orders of the shop"),
        (f"private={OURS.upper()}\\0000000B;JOURNAL", "private$\\orders", "Orders of the shop"),
        (f"PRIVATE={OURS}\\0000000d", None, None),
        (f"PRIVATE={THEIRS}\\0000000b", None, None),
        (f"PUBLIC={OURS}", None, None),
        ("DIRECT=OS:msg01\\private$\\orders", None, None),
        ("", None, None),
    ],
)
def test_a_number_is_named_only_of_the_queue_manager_that_gave_it(
    format_name: str, name: str | None, label: str | None
) -> None:
    with naming_queues(names(OURS)):
        assert sure_name(format_name) == name
        assert sure_label(format_name) == label


def test_a_text_has_the_name_behind_the_format_name_and_the_label_where_it_says_more() -> None:
    theirs = f"PRIVATE={THEIRS}\\0000000b."
    text = f"2 to PRIVATE={OURS}\\0000000b, 3 to PRIVATE={OURS}\\0000000c;JOURNAL and {theirs}"
    assert with_queue_names(text) == text
    with naming_queues(names(OURS)):
        assert with_queue_names(text) == (
            f'2 to PRIVATE={OURS}\\0000000b (private$\\orders, "Orders of the shop"), '
            f"3 to PRIVATE={OURS}\\0000000c;JOURNAL (private$\\payments) and {theirs}"
        )
    assert with_queue_names(text) == text


def test_a_short_name_ends_with_the_name() -> None:
    with naming_queues(names(OURS)):
        assert short_queue(f"PRIVATE={OURS}\\0000000b") == "PRIVATE=c277e190…\\0000000b (private$\\orders)"
        assert short_queue(f"PRIVATE={THEIRS}\\0000000b") == "PRIVATE=0e6f3a51…\\0000000b"


def test_without_a_queue_manager_a_name_is_a_perhaps_and_no_value() -> None:
    found = names(None)
    with naming_queues(found):
        for manager in (OURS, THEIRS):
            queue = f"PRIVATE={manager}\\0000000c"
            assert with_queue_names(queue) == f"{queue} (perhaps private$\\payments)"
            assert sure_name(queue) is None
    assert list(found.asked) == [OURS, THEIRS]
    assert found.unknown == ["lqs"]


def test_what_is_known_of_a_queue_manager_counts_alone_for_it() -> None:
    found = names(OURS, ORDERS)
    found.add((PAYMENTS,), None, "other")
    with naming_queues(found):
        assert short_queue(f"PRIVATE={OURS}\\0000000c") == "PRIVATE=c277e190…\\0000000c"
        assert short_queue(f"PRIVATE={THEIRS}\\0000000c").endswith("(perhaps private$\\payments?)")


@pytest.mark.parametrize("manager", [OURS, None])
def test_two_files_that_disagree_give_no_name(manager: str | None) -> None:
    other = RegisteredQueue(name="private$\\other", number=11)
    with naming_queues(names(manager, ORDERS, other, ORDERS)):
        assert with_queue_names(f"PRIVATE={OURS}\\0000000b") == f"PRIVATE={OURS}\\0000000b"


def test_a_text_in_an_unknown_encoding_is_a_perhaps() -> None:
    doubtful = RegisteredQueue(name="private$\\auftr\u00e4ge", number=11, sure=False)
    with naming_queues(names(OURS, doubtful)):
        assert sure_name(f"PRIVATE={OURS}\\0000000b") is None
        assert short_queue(f"PRIVATE={OURS}\\0000000b").endswith("(perhaps private$\\auftr\u00e4ge?)")


def test_only_the_first_queue_managers_are_remembered() -> None:
    found = names(None)
    for number in range(100):
        found.find(f"PRIVATE=00000000-0000-0000-0000-{number:012x}\\0000000b")
    assert len(found.asked) == 16
