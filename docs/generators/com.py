"""The interfaces of queue objects: which method has which number in which of them."""

from __future__ import annotations

from docs.generators.markers import code, table
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES, OBJECT_INTERFACES

__all__ = ["interfaces_block", "methods_block", "objects_block"]


def interfaces_block() -> str:
    """A table of the interfaces."""
    rows = [
        (interface.name, code(iid), interface.spec, len(interface.methods))
        for iid, interface in COM_INTERFACES.items()
    ]
    return table(("Interface", "IID, and UUID of a bind", "Section", "Methods"), rows)


def methods_block() -> str:
    """A row for each opnum, a column for each interface."""
    interfaces = list(COM_INTERFACES.values())
    rows = []
    for opnum in sorted({opnum for interface in interfaces for opnum in interface.methods}):
        found = [interface.methods.get(opnum) for interface in interfaces]
        spec = next(method.spec for method in found if method is not None)
        rows.append((opnum, *("" if method is None else code(method.name) for method in found), spec))
    return table(("Opnum", *(interface.name for interface in interfaces), "Section"), rows)


def objects_block() -> str:
    """The interfaces that are known by name where a pointer to one was seen."""
    return table(
        ("Interface", "IID"),
        [(name, code(iid)) for iid, name in sorted(OBJECT_INTERFACES.items(), key=lambda one: one[1])],
    )
