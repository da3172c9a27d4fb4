"""The reference of the Python interface: every name of `msmq_wire`, from its signature and its docstring."""

from __future__ import annotations

import enum
import inspect
import itertools
import re
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec

import msmq_wire
from docs.generators.markers import code, table
from docs.generators.type_stub import PRECISE
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.registry import STRUCTURES

__all__ = ["blocks"]

_RETURNS = {
    "decode": "Packet",
    "inspect": "InspectResult[Packet | InternalPacket | None]",
    "read_capture": "Iterator[Record[RecordPacket]]",
}
"""What type checkers read of functions whose type depends on a parameter, without it."""
_STABLE_IN_LAB = ("BinaryProtocol", "BinarySettings", "ModelQueueManager", "SessionState", "Timers")
"""What the third recipe of the page Fuzzing imports."""
_SPACES = re.compile(r"\s+")
_ROLE = re.compile(r"``([^`]+)``|(?<!`)`([^`]+)`(?!`)")


def _names() -> list[str]:
    """The names of the package, and those that the extra ``unseal`` brings."""
    names = (name for name in dir(msmq_wire) if not name.startswith("__"))
    return sorted(names, key=lambda name: (name.lower(), name))


def _plain(text: str) -> str:
    """A docstring as Markdown."""
    return _ROLE.sub(lambda match: code(match[1] or match[2]), text).replace("<", "&lt;")


def _first(value: Any) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = inspect.cleandoc(value.__doc__ or "").partition("\n\n")[0]
    return _plain(_SPACES.sub(" ", paragraph))


def _is_alias(value: Any) -> bool:
    return isinstance(value, UnionType) or get_origin(value) is not None


def _signature(name: str, value: Any) -> str:
    parameters = inspect.signature(value)
    shown = [one.replace(annotation=_hint(one.annotation)) for one in parameters.parameters.values()]
    lines = [f"    {_parameter(one)},\n" for one in shown]
    for at, one in enumerate(shown):
        if one.kind is one.KEYWORD_ONLY:
            lines.insert(at, "    *,\n")
            break
    given = _RETURNS.get(name, parameters.return_annotation)
    returns = "" if given is parameters.empty else f" -> {_hint(given)}"
    short = ", ".join(line.strip().rstrip(",") for line in lines)
    whole = f"{name}({short}){returns}"
    return whole if len(whole) <= 100 else f"{name}(\n{''.join(lines)}){returns}"


def _hint(hint: Any) -> str:
    return hint if isinstance(hint, str) else inspect.formatannotation(hint)


def _parameter(one: inspect.Parameter) -> str:
    stars = "*" * (one.kind is one.VAR_POSITIONAL) + "**" * (one.kind is one.VAR_KEYWORD)
    default = "" if one.default is one.empty else f" = {_value(one.default)}"
    return f"{stars}{one.name}: {PRECISE.get(one.name, one.annotation)}{default}"


def _value(default: Any) -> str:
    return f"{type(default).__name__}.{default.name}" if isinstance(default, enum.Enum) else repr(default)


def _members(cls: type) -> list[str]:
    """The fields of a value, and the public methods and properties that its class adds."""
    found = list(getattr(cls, "__struct_fields__", ()))
    return found + [
        f"{name}()" if callable(getattr(cls, name)) else name
        for name, value in vars(cls).items()
        if not name.startswith("_")
        and name not in found
        and (callable(getattr(cls, name)) or isinstance(value, property))
    ]


def _section(name: str, value: Any) -> str:
    """A function or a class with all that its docstring says."""
    extra = ' Needs `pip install "msmq-wire[unseal]"`.' if name not in msmq_wire.__all__ else ""
    parts = [f"### {name} {{ #{name.lower()}-{'class' if isinstance(value, type) else 'function'} }}"]
    if not isinstance(value, type) or not issubclass(value, msgspec.Struct | enum.Enum | BaseException):
        parts.append(f"```python\n{_signature(name, value)}\n```")
    parts.append(_plain(inspect.cleandoc(value.__doc__ or "")) + extra)
    if isinstance(value, type) and (members := _members(value)):
        parts.append("Members: " + ", ".join(map(code, members)) + ".")
    return "\n\n".join(parts)


def _structure(name: str, cls: type[WireStruct]) -> tuple[str, str, str]:
    stem = cls.stem()
    page = f"[{code(stem)}](structures/{stem}.md)" if stem in STRUCTURES else code(stem)
    return code(name), page, _first(cls)


def _kind(value: Any) -> str:
    if _is_alias(value):
        return "aliases"
    if isinstance(value, type):
        if issubclass(value, enum.Enum):
            return "enumerations"
        if hasattr(value, "SPEC") and hasattr(value, "stem"):
            return "structures"
        return "errors" if issubclass(value, BaseException) else "classes"
    return "functions"


def _alias(value: Any) -> str:
    parts = [getattr(one, "__name__", repr(one)) for one in get_args(value)]
    return ", ".join(code("None" if part == "NoneType" else part) for part in parts)


def blocks() -> dict[str, str]:
    """The blocks of the page: each kind of name."""
    kinds: dict[str, list[tuple[str, Any]]] = {}
    for name in _names():
        value = getattr(msmq_wire, name)
        kinds.setdefault(_kind(value), []).append((name, value))
    sections = {kind: "\n\n".join(_section(*one) for one in kinds[kind]) for kind in ("functions", "classes")}
    rows = {
        "structures": table(
            ("Class", "Stem", "What it is"), list(itertools.starmap(_structure, kinds["structures"]))
        ),
        "enumerations": table(
            ("Class", "Members", "What it is"),
            [(code(name), len(cls), _first(cls)) for name, cls in kinds["enumerations"]],
        ),
        "aliases": table(
            ("Name", "One of"), [(code(name), _alias(value)) for name, value in kinds["aliases"]]
        ),
        "errors": table(
            ("Class", "What it says"), [(code(name), _first(cls)) for name, cls in kinds["errors"]]
        ),
    }
    unseal = ", ".join(code(name) for name in sorted(_names()) if name not in msmq_wire.__all__)
    lab = ", ".join(map(code, _STABLE_IN_LAB))
    rows["stable"] = table(
        ("Names", "From 0.3.0 on"),
        [
            ("the names in `msmq_wire.__all__`, with their parameters and fields", "only grow"),
            (f"with the extra `unseal`: {unseal}", "only grow"),
            ("with the extra `fuzz`: the names in `msmq_wire.strategies.__all__`", "only grow"),
            (f"in `msmq_wire.lab.model`, as [Fuzzing](fuzzing.md) uses them: {lab}", "only grow"),
            ("stems, fields and bits of structures, types of records, codes of anomalies", "only grow"),
            ("any other module, and every name that begins with `_`", "may change"),
            ("texts of errors, reprs, pickles", "may change"),
        ],
    )
    return {**sections, **rows}
