"""The part of the directory that routing reads: objects, filters, and reading by begin, next and end.

The rule kept here: what a directory does not have is a result, never an exception.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from msmq_wire.wire.types.guid import GUID

DirectoryType: TypeAlias = Literal["QueueManager", "Site", "RoutingLink", "ConnectedNetwork"]
Operator: TypeAlias = Literal[
    "EQUALS", "NOT-EQUALS", "LESS-THAN", "GREATER-THAN", "LESS-THAN-OR-EQUAL", "GREATER-THAN-OR-EQUAL"
]


class DirectoryOperationResult(StrEnum):
    """What came of an operation on the directory. [MS-MQDMPR] 3.1.1.17"""

    SUCCESS = "Success"
    GENERIC_ERROR = "GenericError"
    DIRECTORY_NOT_CONNECTED = "DirectoryNotConnected"
    OBJECT_NOT_FOUND = "ObjectNotFound"
    ATTRIBUTE_NOT_FOUND = "AttributeNotFound"
    END_OF_DATA = "EndOfData"
    OBJECT_ALREADY_EXISTS = "ObjectAlreadyExists"


class QueueManager(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A queue manager, as far as routing looks at it. [MS-MQDMPR] 3.1.1.1

    ``addresses`` are IP addresses, by which hops of a capture can be recognised: a topology written by hand
    gives them, or PROPID_QM_ADDRESS.
    """

    identifier: GUID
    computer_name: str
    qualified_computer_name: str = ""
    full_path: str = ""
    site_identifier_list: tuple[GUID, ...] = ()
    connected_network_identifier_list: tuple[GUID, ...] = ()
    out_routing_server_identifier_list: tuple[GUID, ...] = ()
    in_routing_server_identifier_list: tuple[GUID, ...] = ()
    routing_server: bool = False
    foreign_system: bool = False
    addresses: tuple[str, ...] = ()


class Site(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An MSMQ site. [MS-MQDMPR] 3.1.1.7

    ``site_gate_collection`` are identifiers of queue managers. The directory does not have it: it is made of
    the gates that the site's routing links name.
    """

    identifier: GUID
    name: str
    full_path: str = ""
    foreign_site: bool = False
    site_gate_collection: tuple[GUID, ...] = ()


class RoutingLink(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A routing link between two sites, usable both ways. [MS-MQDMPR] 3.1.1.8"""

    identifier: GUID
    description: str = ""
    full_path: str = ""
    actual_cost: int
    site1_identifier: GUID
    site2_identifier: GUID
    site_gate_identifier_list: tuple[GUID, ...] = ()


class ConnectedNetwork(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A network in which any two computers can communicate directly. [MS-MQDMPR] 3.1.1.9"""

    identifier: GUID
    name: str


DirectoryObject: TypeAlias = QueueManager | Site | RoutingLink | ConnectedNetwork


class AttributeFilter(msgspec.Struct, frozen=True, gc=False):
    """An attribute-filter expression: ``AttributeFilter("identifier", "EQUALS", guid)``.

    ``attribute`` is a field of the object. Of an attribute with several values one has to satisfy it, as in
    LDAP. [MS-MQDMPR] 3.1.7.1.20
    """

    attribute: str
    operator: Operator
    value: Any


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "EQUALS": operator.eq,
    "NOT-EQUALS": operator.ne,
    "LESS-THAN": operator.lt,
    "GREATER-THAN": operator.gt,
    "LESS-THAN-OR-EQUAL": operator.le,
    "GREATER-THAN-OR-EQUAL": operator.ge,
}


def satisfies(one: DirectoryObject, filters: Sequence[AttributeFilter]) -> bool:
    """Whether an object satisfies all expressions; False where it has no such attribute."""
    for expression in filters:
        value = getattr(one, expression.attribute, None)
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        compare = _OPERATORS[expression.operator]
        if not any(compare(each, expression.value) for each in values):
            return False
    return True


class Directory(Protocol):
    """What `RoutingAlgorithm` reads from: the three events of [MS-MQDMPR] 3.1.7.1.21 to 3.1.7.1.23."""

    def read_directory_begin(
        self, directory_object_type: DirectoryType, filters: Sequence[AttributeFilter] | None
    ) -> tuple[DirectoryOperationResult, int | None]:
        """Begin a query; the handle is None unless the result is ``Success``."""

    def read_directory_next(
        self, query_handle: int | None
    ) -> tuple[DirectoryOperationResult, DirectoryObject | None]:
        """The next object of a query: ``Success`` and an object, ``EndOfData``, or why there is none."""

    def read_directory_end(self, query_handle: int | None) -> DirectoryOperationResult:
        """End a query."""
