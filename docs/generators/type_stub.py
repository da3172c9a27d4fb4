"""What type checkers read of `msmq_wire`: its names, and a signature of `decode` and others by stem."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from textwrap import indent
from types import NoneType
from typing import Any, get_args

import msmq_wire
from msmq_wire.capture.reader import read_capture
from msmq_wire.engines import codec
from msmq_wire.records.composed import RECORD_TYPES
from msmq_wire.strategies.structures import edge, structure
from msmq_wire.wire.registry import STRUCTURES

__all__ = ["PRECISE", "strategies_text", "text"]

_HEAD = '"""{} for type checkers. generated: python docs/generate.py writes this file."""\n'
_WIDTH = 110
_IMPORTS = {
    "Iterator": "collections.abc",
    "Sequence": "collections.abc",
    "Literal": "typing",
    "Self": "typing",
    "overload": "typing",
    "reader": "msmq_wire.capture",
    "Buffer": "typing_extensions",
    "TypeVar": "typing_extensions",
    "Ports": "msmq_wire.records.recognition",
    "CaptureSource": "msmq_wire.capture.source",
    "Engine": "msmq_wire.engines.codec",
    "Negotiator": "msmq_wire.rpc.pdu_protection",
    "Range": "msmq_wire.wire.stream",
    "codec": "msmq_wire.engines",
}
"""Where the names of the signatures are from, beside those of the package."""
_STUBS = {"Record": "msmq_wire.records.public_record"}
"""Names that type checkers read in another module than programs."""
_STRATEGY_IMPORTS = {
    "Literal": "typing",
    "overload": "typing",
    "SearchStrategy": "hypothesis.strategies",
    "WireStruct": "msmq_wire.wire.fields",
}
_FIRST = next(iter(STRUCTURES))
_INSPECTED = "Packet | InternalPacket | None"
"""All that `inspect` finds in bytes of a kind that nobody says."""
_RESULT = f"""_PacketT_co = TypeVar("_PacketT_co", covariant=True, default={_INSPECTED})

class InspectResult(codec.InspectResult[_PacketT_co], frozen=True, kw_only=True): ...
"""
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


def _by_stem(function: Callable[..., Any]) -> Iterator[str]:
    """The overloads of a strategy by the stem of what it draws."""
    for stem, cls in STRUCTURES.items():
        chosen = {"stem": f'Literal["{stem}"]'}
        yield _signature(function, f"SearchStrategy[{cls.__name__}]", chosen, explained=stem == _FIRST)
    yield _signature(function, f"SearchStrategy[{_STRUCTURE}]", {"stem": "str"})


def _inspected() -> Mapping[str, Any]:
    return {stem: cls | None for stem, cls in STRUCTURES.items()}


def _stub(what: str, imports: Mapping[str, str], parts: Iterable[str]) -> str:
    lines = (f"from {module} import {name}" for name, module in imports.items())
    return "\n".join((_HEAD.format(what), *lines, "", *parts)) + "\n"


def text() -> str:
    """The file that type checkers read in place of the package."""
    parts = (
        _RESULT,
        *_overloads(codec.decode, "as_", "{}", "Packet", _STRUCTURE, STRUCTURES),
        _signature(codec.encode, "bytes", None, explained=True),
        *_overloads(
            codec.inspect,
            "as_",
            "InspectResult[{}]",
            _INSPECTED,
            f"{_STRUCTURE} | None",
            _inspected(),
        ),
        *_overloads(
            read_capture, "type", "Iterator[Record[{}]]", "RecordPacket", "RecordPacket", RECORD_TYPES
        ),
        f"\n{_READER}",
    )
    declared = re.findall(r"^(?:def|class) (\w+)", "\n".join(parts), re.MULTILINE)
    imports = dict(_IMPORTS)
    for name, module in vars(msmq_wire)["_MODULES"].items():
        if name not in declared:
            # A name that is imported as itself is a public one; editors list no other.
            imports[f"{name} as {name}"] = _STUBS.get(name, module)
    names = "".join(f'    "{name}",\n' for name in msmq_wire.__all__)
    listed = f"__version__: str\n\n__all__ = [\n{names}]\n"
    return _stub("The package", imports, (listed, *parts))


def strategies_text() -> str:
    """What type checkers read of the strategies whose type depends on a stem."""
    imports = _STRATEGY_IMPORTS | {cls.__name__: cls.__module__ for cls in STRUCTURES.values()}
    return _stub("Strategies", imports, (*_by_stem(structure), *_by_stem(edge)))
