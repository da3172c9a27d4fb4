"""What type checkers read of `decode`, `encode`, `inspect` and `read_capture`: a signature for every stem."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from textwrap import indent
from types import NoneType
from typing import Any, get_args

from msmq_wire.capture.reader import read_capture
from msmq_wire.engines import codec
from msmq_wire.records.composed import RECORD_TYPES
from msmq_wire.wire.registry import STRUCTURES

__all__ = ["PRECISE", "text"]

_HEAD = '"""Signatures for type checkers. generated: python docs/generate.py writes this file."""\n'
_WIDTH = 110
_IMPORTS = {
    "Iterator": "collections.abc",
    "Sequence": "collections.abc",
    "Literal": "typing",
    "Self": "typing",
    "overload": "typing",
    "reader": "msmq_wire.capture",
    "Buffer": "typing_extensions",
    "Ports": "msmq_wire.records.recognition",
    "CaptureSource": "msmq_wire.capture.source",
    "Engine": "msmq_wire.engines.codec",
    "InspectResult": "msmq_wire.engines.codec",
    "InternalPacket": "msmq_wire.wire.packets.base",
    "Negotiator": "msmq_wire.rpc.pdu_protection",
    "Packet": "msmq_wire.wire.registry",
    "Range": "msmq_wire.wire.stream",
    "Record": "msmq_wire.records.record",
    "RecordPacket": "msmq_wire.records.composed",
    "WireStruct": "msmq_wire.wire.fields",
}
"""Where the names of the signatures are from, beside the structures."""
_READER = """class CaptureReader(reader.CaptureReader):
    def __enter__(self) -> Self: ...
    def __iter__(self) -> Iterator[Record[RecordPacket]]: ..."""
_STRUCTURE = "WireStruct | bytes"
"""The base classes of all structures."""
PRECISE = {"data": "Buffer", "packet": _STRUCTURE}
"""Parameters whose type is wider, or narrower, than the code below needs it."""


def _kinds(kind: Any) -> tuple[type, ...]:
    return get_args(kind) or (kind,)


def _name(kind: Any) -> str:
    return " | ".join("None" if one is NoneType else one.__name__ for one in _kinds(kind))


def _signature(
    function: Callable[..., Any], returns: str, chosen: Mapping[str, str] | None, *, explained: bool = False
) -> str:
    """A function as a stub has it; ``chosen`` are the parameters that this overload is for."""
    parameters = []
    keyword = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            parameters.append("*")
            keyword = True
        if chosen is not None and name in chosen:
            parameters.append(f"{name}: {chosen[name]}")
            continue
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parameters.append(f"{name}: {PRECISE.get(name, parameter.annotation)}{default}")
    end = f") -> {returns}:" + ("" if explained else " ...")
    line = f"def {function.__name__}({', '.join(parameters)}{end}"
    if len(line) > _WIDTH:
        line = f"def {function.__name__}(\n" + "".join(f"    {one},\n" for one in parameters) + end
    if explained:
        doc = inspect.getdoc(function) or ""
        end = "\n" if "\n" in doc else ""
        line += "\n" + indent(f'r"""{doc}{end}"""', "    ") + "\n"
    return line if chosen is None else f"@overload\n{line}"


def _overloads(
    function: Callable[..., Any],
    parameter: str,
    returns: str,
    alone: str,
    other: str,
    kinds: Mapping[str, Any],
) -> Iterator[str]:
    """The overloads of a function by a parameter: without it, by each value of it, and by any text."""
    yield _signature(function, returns.format(alone), {parameter: "None = None"}, explained=True)
    values: dict[str, list[str]] = defaultdict(list)
    for value, kind in kinds.items():
        values[_name(kind)].append(f'"{value}"')
    for name, named in values.items():
        yield _signature(function, returns.format(name), {parameter: f"Literal[{', '.join(named)}]"})
    yield _signature(function, returns.format(other), {parameter: "str | None"})


def _inspected() -> Mapping[str, Any]:
    return {stem: cls | None for stem, cls in STRUCTURES.items()}


def text() -> str:
    """The file that type checkers read."""
    imports = dict(_IMPORTS)
    for kind in (*STRUCTURES.values(), *RECORD_TYPES.values()):
        imports.update({one.__name__: one.__module__ for one in _kinds(kind) if one is not NoneType})
    modules: dict[str, list[str]] = defaultdict(list)
    for name, module in imports.items():
        modules[module].append(name)
    ours = sorted(module for module in modules if module.startswith("msmq_wire."))
    others = sorted(modules.keys() - {*ours, "typing_extensions"})
    groups = (others, ["typing_extensions"], ours)
    lines = ["\n".join(f"from {one} import {', '.join(sorted(modules[one]))}" for one in of) for of in groups]
    functions = (
        *_overloads(codec.decode, "as_", "{}", "Packet", _STRUCTURE, STRUCTURES),
        _signature(codec.encode, "bytes", None, explained=True),
        *_overloads(
            codec.inspect,
            "as_",
            "InspectResult[{}]",
            "Packet | InternalPacket | None",
            f"{_STRUCTURE} | None",
            _inspected(),
        ),
        *_overloads(
            read_capture, "type", "Iterator[Record[{}]]", "RecordPacket", "RecordPacket", RECORD_TYPES
        ),
        f"\n{_READER}",
    )
    return "\n".join((_HEAD, "\n\n".join(lines) + "\n", "\n".join(functions))) + "\n"
