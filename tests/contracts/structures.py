"""Every structure that the package declares, whatever other tests have imported."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator

import msmq_wire.rpc
import msmq_wire.wire
from msmq_wire.wire.fields import WireStruct


@functools.cache
def structures() -> tuple[type[WireStruct], ...]:
    """Return the structures of wire and of rpc, by module and name."""
    for package in (msmq_wire.wire, msmq_wire.rpc):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    # Tests of the engines declare structures of their own.
    found = {cls for cls in _below(WireStruct) if cls.__module__.startswith("msmq_wire.")}
    return tuple(sorted(found, key=lambda cls: (cls.__module__, cls.__qualname__)))


def _below(cls: type[WireStruct]) -> Iterator[type[WireStruct]]:
    for child in cls.__subclasses__():
        yield child
        yield from _below(child)
