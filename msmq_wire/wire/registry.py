"""Every structure that is declared, by its stem. Nothing registers itself: the folders are the list."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, Protocol, TypeAlias, get_args

from msmq_wire.arguments import unknown_name
from msmq_wire.errors import ArgumentError
from msmq_wire.spec import SpecRef
from msmq_wire.wire import headers, types
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.topology_client_request import TopologyClientRequest
from msmq_wire.wire.packets.topology_server_reply import TopologyServerReply
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types import enumerations
from msmq_wire.wire.types.section_buffer import SectionType


class RegistryEntry(Protocol):
    """What every entry has: a specification, a stem and a schema."""

    SPEC: SpecRef

    @classmethod
    def stem(cls) -> str: ...

    @classmethod
    def schema(cls) -> Any: ...


def defined_in(module: Any) -> Iterator[type[Any]]:
    """The public classes that a module defines, in their order there."""
    for name, found in vars(module).items():
        if isinstance(found, type) and found.__module__ == module.__name__ and not name.startswith("_"):
            yield found


def _name(cls: type[Any]) -> str:
    return cls.__name__


def _declared(package: Any) -> Iterator[Any]:
    """The class that each module of a folder is named after; one that holds several is named after none."""
    for module in pkgutil.iter_modules(package.__path__):
        declared = importlib.import_module(f"{package.__name__}.{module.name}")
        for cls in defined_in(declared):
            if "SPEC" in vars(cls) and cls.stem() == module.name:
                yield cls


def _place(cls: type[RegistryEntry]) -> tuple[str, tuple[int, ...]]:
    return cls.SPEC.document, tuple(map(int, cls.SPEC.section.split(".")))


def _by_stem(*classes: Any) -> Mapping[str, Any]:
    return {cls.stem(): cls for cls in classes}


TYPES: Mapping[str, Any] = _by_stem(*sorted(_declared(types), key=_place))
HEADERS: Mapping[str, type[WireStruct]] = _by_stem(*sorted(_declared(headers), key=_place))
Packet: TypeAlias = (
    Ping
    | EstablishConnection
    | ConnectionParameters
    | SessionAck
    | UserMessage
    | OrderAck
    | FinalAck
    | MessagePacket
    | TopologyClientRequest
    | TopologyServerReply
)
"""Any packet."""
PACKETS: Mapping[str, type[WireStruct]] = _by_stem(*get_args(Packet))
STRUCTURES: Mapping[str, Any] = {**TYPES, **HEADERS, **PACKETS}
"""Types, headers and packets by stem."""


def structure(stem: str) -> Any:
    """The type, header or packet of a stem; ArgumentError for a stem that is none, with the nearest one."""
    try:
        return STRUCTURES[stem]
    except (KeyError, TypeError):
        raise ArgumentError(unknown_name("structure", stem, STRUCTURES)) from None


def structure_with_fields(stem: str) -> type[WireStruct]:
    """The structure of a stem, which has fields; ArgumentError for any other, with the nearest one."""
    known: dict[str, type[WireStruct]]
    known = {name: one for name, one in STRUCTURES.items() if issubclass(one, WireStruct)}
    try:
        return known[stem]
    except (KeyError, TypeError):
        raise ArgumentError(unknown_name("structure with fields", stem, known)) from None


ENUMERATIONS: Mapping[str, type[IntEnum]] = {
    SectionType.__name__: SectionType,
    **{one.__name__: one for one in sorted(defined_in(enumerations), key=_name)},
}
"""Enumerations by the specification's name."""
