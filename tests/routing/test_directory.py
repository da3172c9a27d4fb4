"""Filters, and reading a topology by begin, next and end. [MS-MQDMPR] 3.1.7.1.20 to 3.1.7.1.23"""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.routing.directory import (
    AttributeFilter,
    Directory,
    DirectoryObject,
    DirectoryOperationResult,
    DirectoryType,
    satisfies,
)
from msmq_wire.routing.topology import TopologyDirectory
from tests.routing.enterprises import (
    Enterprise,
    enterprises,
    figure_4,
    link,
    machine,
    network,
    qm_id,
    site,
    site_id,
)

_SUCCESS = DirectoryOperationResult.SUCCESS
_GENERIC_ERROR = DirectoryOperationResult.GENERIC_ERROR
_END_OF_DATA = (DirectoryOperationResult.END_OF_DATA, None)
_EXAMPLE = figure_4(ab=3, bc=2, bd=1, cd=1)

# Which of 4, 5 and 6 satisfy a comparison with 5.
_COMPARED = {
    "EQUALS": (False, True, False),
    "NOT-EQUALS": (True, False, True),
    "LESS-THAN": (True, False, False),
    "GREATER-THAN": (False, False, True),
    "LESS-THAN-OR-EQUAL": (True, True, False),
    "GREATER-THAN-OR-EQUAL": (False, True, True),
}


def _read(
    directory: Directory, kind: DirectoryType, filters: list[AttributeFilter] | None
) -> list[DirectoryObject]:
    result, handle = directory.read_directory_begin(kind, filters)
    assert result == _SUCCESS
    found = []
    while (step := directory.read_directory_next(handle)) != _END_OF_DATA:
        result, one = step
        assert result == _SUCCESS
        assert one is not None
        found.append(one)
    assert directory.read_directory_end(handle) == _SUCCESS
    return found


def test_every_operator_of_the_document_is_compared() -> None:
    assert set(get_args(get_type_hints(AttributeFilter)["operator"])) == set(_COMPARED)


@pytest.mark.parametrize("operator", _COMPARED)
def test_an_operator_has_the_attribute_on_its_left_side(operator: Any) -> None:
    expression = AttributeFilter("actual_cost", operator, 5)
    assert tuple(satisfies(link("A", "B", cost), [expression]) for cost in (4, 5, 6)) == _COMPARED[operator]


@given(st.integers(1, 9), st.integers(1, 9))
def test_an_operator_and_its_opposite_never_agree(cost: int, value: int) -> None:
    one = link("A", "B", cost)

    def holds(operator: Any) -> bool:
        return satisfies(one, [AttributeFilter("actual_cost", operator, value)])

    assert holds("EQUALS") is not holds("NOT-EQUALS")
    assert holds("LESS-THAN") is not holds("GREATER-THAN-OR-EQUAL")
    assert holds("GREATER-THAN") is not holds("LESS-THAN-OR-EQUAL")
    assert holds("EQUALS") is (cost == value)


@pytest.mark.rule("MQBR-3.1.5.9-2")
def test_all_expressions_have_to_be_satisfied() -> None:
    low = AttributeFilter("actual_cost", "GREATER-THAN", 2)
    high = AttributeFilter("actual_cost", "LESS-THAN", 5)
    assert [satisfies(link("A", "B", cost), [low, high]) for cost in (2, 3, 4, 5)] == [
        False, True, True, False,
    ]  # fmt: skip


def test_no_expression_is_satisfied_by_everything() -> None:
    assert satisfies(link("A", "B", 1), [])
    assert satisfies(machine("c", ""), ())


def test_of_several_values_one_has_to_satisfy_an_expression() -> None:
    both, none = machine("c", "AB"), machine("c", "")
    for name, expected in (("A", True), ("B", True), ("C", False)):
        expression = AttributeFilter("site_identifier_list", "EQUALS", site_id(name))
        assert satisfies(both, [expression]) is expected
        assert satisfies(none, [expression]) is False


def test_two_expressions_can_be_satisfied_by_two_values() -> None:
    expressions = [AttributeFilter("site_identifier_list", "EQUALS", site_id(name)) for name in "AB"]
    assert satisfies(machine("c", "AB"), expressions)
    assert not satisfies(machine("c", "A"), expressions)


def test_of_several_values_one_that_differs_is_enough_for_not_equals() -> None:
    expression = AttributeFilter("site_identifier_list", "NOT-EQUALS", site_id("A"))
    assert satisfies(machine("c", "AB"), [expression])
    assert not satisfies(machine("c", "A"), [expression])


@pytest.mark.parametrize("operator", _COMPARED)
def test_an_attribute_that_an_object_does_not_have_satisfies_nothing(operator: Any) -> None:
    assert not satisfies(site("A"), [AttributeFilter("actual_cost", operator, 5)])
    assert not satisfies(site("A"), [AttributeFilter("no_such_attribute", operator, None)])


def test_a_truth_value_is_a_value() -> None:
    routers = [AttributeFilter("routing_server", "EQUALS", True)]
    assert satisfies(machine("r", "A", router=True), routers)
    assert not satisfies(machine("c", "A"), routers)
    assert satisfies(machine("c", "A"), [AttributeFilter("routing_server", "EQUALS", False)])


@pytest.mark.rule("MQBR-3.1.1.1-1")
@given(enterprises())
def test_a_topology_is_read_in_its_order(enterprise: Enterprise) -> None:
    directory = TopologyDirectory(enterprise.topology())
    nothing: list[AttributeFilter] = []
    for filters in (None, nothing):
        assert _read(directory, "QueueManager", filters) == list(enterprise.queue_managers)
        assert _read(directory, "Site", filters) == list(enterprise.sites)
        assert _read(directory, "RoutingLink", filters) == list(enterprise.routing_links)


@pytest.mark.rule("MQBR-3.1.5.9-2")
def test_a_topology_is_read_by_filters() -> None:
    directory = TopologyDirectory(_EXAMPLE.topology())
    routers = _read(directory, "QueueManager", [AttributeFilter("routing_server", "EQUALS", True)])
    assert routers == list(_EXAMPLE.queue_managers[:4])
    cheap = _read(directory, "RoutingLink", [AttributeFilter("actual_cost", "LESS-THAN", 2)])
    assert cheap == list(_EXAMPLE.routing_links[2:])
    in_b = [
        AttributeFilter("site_identifier_list", "EQUALS", site_id("B")),
        AttributeFilter("routing_server", "EQUALS", False),
    ]
    assert _read(directory, "QueueManager", in_b) == [machine("cB", "B")]


def test_an_identifier_is_read_together_with_other_expressions() -> None:
    directory = TopologyDirectory(_EXAMPLE.topology())
    gate = AttributeFilter("identifier", "EQUALS", qm_id("gA"))
    router = AttributeFilter("routing_server", "EQUALS", True)
    client = AttributeFilter("routing_server", "EQUALS", False)
    other = AttributeFilter("identifier", "EQUALS", qm_id("gB"))
    assert _read(directory, "QueueManager", [gate]) == [_EXAMPLE.queue_managers[0]]
    assert _read(directory, "QueueManager", [gate, router]) == [_EXAMPLE.queue_managers[0]]
    assert _read(directory, "QueueManager", [client, gate]) == []
    assert _read(directory, "QueueManager", [gate, other]) == []
    assert _read(directory, "Site", [gate]) == []


def test_identifiers_are_read_by_the_other_operators_too() -> None:
    directory = TopologyDirectory(_EXAMPLE.topology())
    others = [AttributeFilter("identifier", "NOT-EQUALS", site_id("B"))]
    assert _read(directory, "Site", others) == [one for one in _EXAMPLE.sites if one.name != "B"]


def test_end_of_data_stays_end_of_data() -> None:
    directory = TopologyDirectory(_EXAMPLE.topology())
    _, handle = directory.read_directory_begin("Site", [AttributeFilter("name", "EQUALS", "none")])
    assert directory.read_directory_next(handle) == _END_OF_DATA
    assert directory.read_directory_next(handle) == _END_OF_DATA
    assert directory.read_directory_end(handle) == _SUCCESS


def test_after_its_end_a_query_is_unknown() -> None:
    # [MS-MQDSSM] 3.1.6.5, 3.1.6.6
    directory = TopologyDirectory(_EXAMPLE.topology())
    _, handle = directory.read_directory_begin("Site", None)
    assert directory.read_directory_next(handle)[0] == _SUCCESS
    assert directory.read_directory_end(handle) == _SUCCESS
    assert directory.read_directory_next(handle) == (_GENERIC_ERROR, None)
    assert directory.read_directory_end(handle) == _GENERIC_ERROR


@pytest.mark.parametrize("handle", [None, 0, -1, 1_000])
def test_a_handle_that_was_never_given_is_unknown(handle: int | None) -> None:
    directory = TopologyDirectory(_EXAMPLE.topology())
    assert directory.read_directory_next(handle) == (_GENERIC_ERROR, None)
    assert directory.read_directory_end(handle) == _GENERIC_ERROR


def test_two_queries_do_not_disturb_each_other() -> None:
    directory = TopologyDirectory(_EXAMPLE.topology())
    _, first = directory.read_directory_begin("Site", None)
    _, second = directory.read_directory_begin("Site", None)
    assert first != second
    assert directory.read_directory_next(first) == (_SUCCESS, _EXAMPLE.sites[0])
    assert directory.read_directory_next(first) == (_SUCCESS, _EXAMPLE.sites[1])
    assert directory.read_directory_next(second) == (_SUCCESS, _EXAMPLE.sites[0])
    assert directory.read_directory_end(first) == _SUCCESS
    assert directory.read_directory_next(second) == (_SUCCESS, _EXAMPLE.sites[1])


def test_connected_networks_cannot_be_read() -> None:
    # [MS-MQDSSM] 3.1.6.4
    enterprise = Enterprise((machine("c", "A", networks=["N"]),), (site("A"),), (), (network("N"),))
    directory = TopologyDirectory(enterprise.topology())
    assert directory.read_directory_begin("ConnectedNetwork", None) == (_GENERIC_ERROR, None)


def test_a_type_that_nobody_knows_cannot_be_read() -> None:
    directory = TopologyDirectory(_EXAMPLE.topology())
    unknown: Any = "Printer"
    assert directory.read_directory_begin(unknown, None) == (_GENERIC_ERROR, None)
    assert directory.read_directory_begin(unknown, []) == (_GENERIC_ERROR, None)
