"""Properties of queues by PROPID: which attribute, which type, which values, and the defaults."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.lab.model.data.elements import Queue
from msmq_wire.lab.model.data.enumerations import ModelQueueType
from msmq_wire.lab.model.data.queue_attributes import get_property, set_properties, set_queue_defaults
from msmq_wire.rpc.queue_properties import Purpose, check_properties
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.security_descriptor import default_security
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.scene import START, make_manager, make_queue
from tests.rules import rule_table

VT_NULL, VT_I2, VT_I4, VT_UI1, VT_UI4, VT_LPWSTR, VT_CLSID = 1, 2, 3, 17, 19, 31, 72
KIND = GUID(b"a kind of queue!")
TABLE_IDS = [101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 124, 125, 126]


def value(vt: int, arm: Any = None) -> PropVariant:
    return PropVariant(vt=vt, arm=arm)


def text(words: str) -> PropVariant:
    return value(VT_LPWSTR, WcharText.of(words))


GOOD = {
    101: value(VT_CLSID, KIND),
    102: value(VT_CLSID, KIND),
    103: text("host\\private$\\orders"),
    104: value(VT_UI1, 1),
    105: value(VT_UI4, 77),
    106: value(VT_I2, -5),
    107: value(VT_UI4, 88),
    108: text("label"),
    109: value(VT_I4, 1),
    110: value(VT_I4, 1),
    111: value(VT_UI1, 1),
    112: value(VT_UI4, 2),
    113: value(VT_UI1, 1),
    124: text("host.example\\private$\\orders"),
    125: text("224.0.0.1:8001"),
    126: text("LDAP://"),
}


def filled() -> Queue:
    manager = make_manager()
    manager.qualified_computer_name = "host.example"
    queue = make_queue(manager, transactional=True)
    queue.identifier = GUID(b"which queue it is"[:16])
    queue.type = KIND
    queue.journaling = queue.authentication = True
    queue.quota, queue.journal_quota, queue.privacy_level = 77, 88, 2
    queue.label, queue.multicast_address = "label", "224.0.0.1:8001"
    queue.base_priority = -5
    queue.modify_time = START + 9
    return queue


BAD_ADDRESSES = ("", "224.0.0.1", "192.0.2.1:80", "240.0.0.1:80", "224.0.0.1:65536")
GOT = GOOD | {
    101: value(VT_CLSID, GUID(b"which queue it is"[:16])),
    109: value(VT_I4, START),
    110: value(VT_I4, START + 9),
    126: value(VT_LPWSTR, None),
}
"""What `filled` has."""


@rule_table(
    "propid, purposes",
    ("MQMP-3.1.1.12-1 MQMP-3.1.1.12-18", 101, "get"),
    ("MQMP-3.1.1.12-2 MQMP-3.1.1.12-18", 102, "create set get"),
    ("MQMP-3.1.1.12-3 MQMP-3.1.1.12-19", 103, "create get"),
    ("MQMP-3.1.1.12-4 MQMP-3.1.1.12-20", 104, "create set get"),
    ("MQMP-3.1.1.12-5 MQMP-3.1.1.12-21", 105, "create set get"),
    ("MQMP-3.1.1.12-6 MQMP-3.1.1.12-22", 106, "create set get"),
    ("MQMP-3.1.1.12-7 MQMP-3.1.1.12-21", 107, "create set get"),
    ("MQMP-3.1.1.12-8 MQMP-3.1.1.12-19", 108, "create set get"),
    ("MQMP-3.1.1.12-9 MQMP-3.1.1.12-23", 109, "get"),
    ("MQMP-3.1.1.12-10 MQMP-3.1.1.12-23", 110, "get"),
    ("MQMP-3.1.1.12-11 MQMP-3.1.1.12-20", 111, "create set get"),
    ("MQMP-3.1.1.12-12 MQMP-3.1.1.12-21", 112, "create set get"),
    ("MQMP-3.1.1.12-13 MQMP-3.1.1.12-20", 113, "create get"),
    ("MQMP-3.1.1.12-14 MQMP-3.1.1.12-19", 124, "get"),
    ("MQMP-3.1.1.12-15 MQMP-3.1.1.12-19", 125, "create set get"),
    ("MQMP-3.1.1.12-16 MQMP-3.1.1.12-19", 126, "get"),
)
def test_a_property_is_one_attribute_of_one_type_for_some_methods(propid: int, purposes: str) -> None:
    assert get_property(filled(), propid) == GOT[propid]
    every: tuple[Purpose, ...] = ("create", "set", "get")
    for purpose in every:
        status = check_properties((propid,), (GOOD[propid],), purpose)
        assert status == (Status.MQ_OK if purpose in purposes.split() else Status.MQ_ERROR_PROPERTY)


@pytest.mark.rule("MQMP-3.1.1.12-17")
@pytest.mark.parametrize(
    ("purpose", "propids"),
    [("create", (101, 109, 110, 124, 126)), ("set", (101, 103, 109, 110, 113, 124, 126))],
)
def test_a_property_of_another_method_is_refused(purpose: Purpose, propids: tuple[int, ...]) -> None:
    for propid in propids:
        assert check_properties((propid,), (GOOD[propid],), purpose) == Status.MQ_ERROR_PROPERTY


@pytest.mark.rule("MQMP-3.1.1.12-33")
@pytest.mark.parametrize("propid", [114, 115, 116, 117, 118, 119, 121, 123, 1101, 1102, 1103])
@pytest.mark.parametrize("purpose", ["create", "set", "get"])
def test_a_queue_property_that_the_table_leaves_out_is_refused(propid: int, purpose: Purpose) -> None:
    assert check_properties((propid,), (value(VT_NULL),), purpose) == Status.MQ_ERROR_PROPERTY


@pytest.mark.rule("MQMP-3.1.1.12-34")
@pytest.mark.parametrize("propid", [0, 1, 100, 120, 122, 127, 201, 1201, 0xFFFF_FFFF])
@pytest.mark.parametrize("purpose", ["create", "set", "get"])
def test_what_is_no_queue_property_is_refused(propid: int, purpose: Purpose) -> None:
    assert check_properties((propid,), (value(VT_NULL),), purpose) == Status.MQ_ERROR_PROPERTY


@rule_table(
    "propid, wrong",
    ("MQMP-3.1.1.12-25", 104, value(VT_UI1, 2)),
    ("MQMP-3.1.1.12-25", 104, value(VT_UI1, 255)),
    ("MQMP-3.1.1.12-27", 108, text("x" * 125)),
    ("MQMP-3.1.1.12-27", 108, text("\U0001f600" * 63)),
    ("MQMP-3.1.1.12-27", 108, value(VT_LPWSTR)),
    ("MQMP-3.1.1.12-28", 111, value(VT_UI1, 2)),
    ("MQMP-3.1.1.12-28", 111, value(VT_UI1, 255)),
    ("MQMP-3.1.1.12-30", 112, value(VT_UI4, 3)),
    ("MQMP-3.1.1.12-30", 112, value(VT_UI4, 0xFFFF_FFFF)),
    *(("MQMP-3.1.1.12-32", 125, wrong) for wrong in (*map(text, BAD_ADDRESSES), value(VT_LPWSTR))),
    ("", 102, value(VT_CLSID)),
)
def test_a_value_that_the_property_does_not_allow_is_refused(propid: int, wrong: PropVariant) -> None:
    every: tuple[Purpose, ...] = ("create", "set")
    for purpose in every:
        assert check_properties((propid,), (wrong,), purpose) == Status.MQ_ERROR_ILLEGAL_PROPERTY_VALUE


@pytest.mark.rule("MQMP-3.1.1.12-31")
@pytest.mark.parametrize("wrong", [2, 255])
def test_a_queue_is_transactional_or_not(wrong: int) -> None:
    status = check_properties((113,), (value(VT_UI1, wrong),), "create")
    assert status == Status.MQ_ERROR_ILLEGAL_PROPERTY_VALUE


@pytest.mark.rule("MQMP-3.1.1.12-29")
@pytest.mark.parametrize("level", [0, 1, 2])
def test_three_levels_of_privacy_are_taken(level: int) -> None:
    queue = filled()
    assert check_properties((112,), (value(VT_UI4, level),), "set") == Status.MQ_OK
    set_properties(queue, (112,), (value(VT_UI4, level),))
    assert queue.privacy_level == level


@pytest.mark.rule("MQMP-3.1.1.12-26")
@pytest.mark.parametrize(("kind", "kept"), [(ModelQueueType.PRIVATE, 0), (ModelQueueType.PUBLIC, 9)])
def test_only_a_public_queue_has_a_base_priority(kind: ModelQueueType, kept: int) -> None:
    queue = filled()
    queue.queue_type, queue.base_priority = kind, 0
    assert check_properties((106,), (value(VT_I2, 9),), "set") == Status.MQ_OK
    set_properties(queue, (106,), (value(VT_I2, 9),))
    assert queue.base_priority == kept


@pytest.mark.rule("MQMP-3.1.1.12-35")
def test_of_two_values_of_a_property_the_last_one_stays() -> None:
    queue = filled()
    set_properties(queue, (108, 105, 108), (text("first"), value(VT_UI4, 5), text("last")))
    assert (queue.label, queue.quota) == ("last", 5)


@pytest.mark.parametrize("purpose", ["create", "set"])
def test_identifiers_are_looked_at_before_types_and_types_before_values(purpose: Purpose) -> None:
    long, wrong_type, unknown = text("x" * 125), value(VT_UI4, 1), value(VT_NULL)
    pairs = [(108, long), (108, wrong_type), (999, unknown)]
    types = Status.MQ_ERROR_ILLEGAL_PROPERTY_VT if purpose == "create" else Status.MQ_ERROR_PROPERTY
    for count, status in (
        (3, Status.MQ_ERROR_PROPERTY),
        (2, types),
        (1, Status.MQ_ERROR_ILLEGAL_PROPERTY_VALUE),
    ):
        propids, values = zip(*pairs[:count], strict=True)
        assert check_properties(propids, values, purpose) == status


@pytest.mark.parametrize("propid", TABLE_IDS)
def test_to_get_a_property_its_type_or_none_is_given(propid: int) -> None:
    assert check_properties((propid,), (value(VT_NULL),), "get") == Status.MQ_OK
    assert check_properties(
        (propid,), (value(VT_I4 if propid != 109 and propid != 110 else VT_I2, 1),), "get"
    ) == (Status.MQ_ERROR_PROPERTY)


def test_a_journal_quota_is_that_of_the_journal_too() -> None:
    queue = filled()
    set_properties(queue, (107,), (value(VT_UI4, 3),))
    assert queue.journal_queue_reference is not None
    assert (queue.journal_quota, queue.journal_queue_reference.quota) == (3, 3)


def test_a_time_after_2038_keeps_its_bits() -> None:
    queue = filled()
    queue.create_time = 0x8000_0001
    assert get_property(queue, 109) == value(VT_I4, -0x7FFF_FFFF)


@pytest.mark.slow
@given(st.text(st.characters(min_codepoint=1, max_codepoint=0xFFFF, categories=None), max_size=124))
def test_a_label_comes_back_as_it_was_set(label: str) -> None:
    queue = filled()
    given_ = value(VT_LPWSTR, WcharText.of(label))
    assert check_properties((108,), (given_,), "set") == Status.MQ_OK
    set_properties(queue, (108,), (given_,))
    assert get_property(queue, 108) == given_


def test_a_label_ends_at_its_first_null() -> None:
    queue = filled()
    set_properties(queue, (108,), (text("one\0two"),))
    assert queue.label == "one"


@pytest.mark.rule("MQDMPR-3.1.7.1.33-1", "MQDMPR-3.1.7.1.33-2", "MQDMPR-3.1.7.1.33-3", "MQDMPR-3.1.7.1.33-4")
@pytest.mark.rule("MQDMPR-3.1.7.1.33-5", "MQDMPR-3.1.7.1.33-6", "MQDMPR-3.1.7.1.33-7", "MQDMPR-3.1.7.1.33-8")
@pytest.mark.rule("MQDMPR-3.1.7.1.33-9", "MQDMPR-3.1.7.1.33-10")
def test_a_queue_that_is_prepared_has_the_defaults() -> None:
    queue = filled()
    set_queue_defaults(queue)
    assert (queue.label, queue.type, queue.multicast_address) == ("", NULL_GUID, "")
    assert (queue.journaling, queue.authentication, queue.transactional) == (False, False, False)
    assert (queue.quota, queue.journal_quota) == (0xFFFF_FFFF, 0xFFFF_FFFF)
    assert (queue.privacy_level, queue.base_priority) == (1, 0)
    assert queue.security == default_security()


def test_the_defaults_are_those_of_a_new_queue() -> None:
    manager = make_manager()
    new = Queue(queue_manager=manager, pathname="host\\q")
    assert (get_property(new, 108), get_property(new, 125)) == (text(""), value(VT_LPWSTR))


@pytest.mark.parametrize("propid", [104, 111, 113])
@pytest.mark.parametrize("choice", [0, 1])
def test_what_is_yes_or_no_may_be_both(propid: int, choice: int) -> None:
    assert check_properties((propid,), (value(VT_UI1, choice),), "create") == Status.MQ_OK
