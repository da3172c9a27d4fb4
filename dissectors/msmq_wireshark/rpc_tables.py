# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes ``msmq_rpc_tables.lua`` from the interfaces that `msmq_wire.rpc.interfaces` declares.

The rule kept here: nothing about an interface is typed twice. `files` gives the text of the generated file;
run as a program this module writes it beside itself, or with ``--check`` says whether it is current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, IntFlag
from operator import and_, eq, ge, gt, le, lt, ne, or_
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

from msmq_wire.invisible import RANGES
from msmq_wire.rpc.interfaces import INTERFACES, NAMED_ONLY
from msmq_wire.rpc.ndr import NDR, NDR64, WCHAR, ConformantVarying, Fields, String, Union
from msmq_wire.rpc.ndr.arrays import Array
from msmq_wire.rpc.ndr.pointers import EmbeddedRef, Pointer
from msmq_wire.rpc.ndr.scalars import Number, Octets16, Ranged
from msmq_wire.rpc.ndr.stub_stream import MAX_DEPTH
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.rpc.rpc_statuses import NCA_STATUSES, WIN32_ERRORS
from msmq_wire.rpc.statuses import MQ_HRESULTS, SYSTEM_STATUSES
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.section_array import SectionArray
from msmq_wire.wire.expressions import Operation, parts
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import Must

__all__ = ["files"]

_Names: TypeAlias = type[Enum] | None
_Around: TypeAlias = Mapping[int, str]
_FILE = "msmq_rpc_tables.lua"
_STATUS = "Status"
_COMPARISONS = {eq: "==", ne: "~=", lt: "<", le: "<=", gt: ">", ge: ">="}
_CONNECTIVES = {and_: "and", or_: "or"}


def files() -> dict[str, str]:
    """The generated files of this module by name."""
    tables = _Tables()
    interfaces: dict[str, Any] = {str(uuid): {"name": name} for uuid, name in NAMED_ONLY.items()}
    for uuid, interface in INTERFACES.items():
        interfaces[str(uuid)] = {
            "name": interface.name,
            "methods": {
                opnum: {
                    "name": method.name,
                    "request": tables.number(method.request),
                    "response": tables.number(method.response),
                    "numbers": dict(method.members.numbers) or None,
                }
                for opnum, method in interface.methods.items()
            },
        }
        for method in interface.methods.values():
            tables.collect(method.request, "request", status=False)
            tables.collect(method.response, "response", status=method.returns_status)
    lines = [
        "-- SPDX-License-Identifier: GPL-2.0-or-later",
        "-- Generated from msmq_wire by rpc_tables.py: not to be edited.",
        "return {",
        f"max_depth = {MAX_DEPTH},",
        *_block("unseen", enumerate((list(one) for one in RANGES), 1)),
        *_block("interfaces", interfaces.items()),
        *_block("types", enumerate(tables.rows, 1)),
        *_block("enumerations", tables.enumerations.items()),
        *_block("fields", tables.fields()),
        *_block("statuses", _statuses().items()),
        *_block("win32_errors", ((code, symbol) for code, (symbol, _) in WIN32_ERRORS.items())),
        *_block("system_statuses", ((code, symbol) for code, (symbol, _) in SYSTEM_STATUSES.items())),
        "}",
    ]
    return {_FILE: "\n".join(lines) + "\n"}


def _statuses() -> dict[int, str]:
    """The codes that have a name as they are; of several lists the one that `hresults` prefers."""
    known = WIN32_ERRORS | NCA_STATUSES | SYSTEM_STATUSES | MQ_HRESULTS
    return {code: symbol for code, (symbol, _) in known.items()}


class _Code(str):
    """Lua that stands in a table as it is."""

    __slots__ = ()


class _Field:
    """A filter name: what kinds of values stand under it, and how they are called."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.enumerations: set[str] = set()
        self.doc = ""


class _Tables:
    """Collects types, enumerations and filter names."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.enumerations: dict[str, Any] = {}
        self._numbers: dict[int, int] = {}
        self._alike: dict[str, int] = {}
        # Types are told apart by identity, so they must live as long as their numbers.
        self._kept: list[NdrType] = []
        self._fields: dict[str, _Field] = {}

    def number(self, type_: NdrType) -> int:
        """The number of a type in the table, where it is put if it is new."""
        known = self._numbers.get(id(type_))
        if known is not None:
            return known
        self._kept.append(type_)
        if isinstance(type_, Fields | Union):
            # A structure can hold itself, behind pointers: it has its number before its members have theirs.
            self.rows.append(None)
            own = self._numbers[id(type_)] = len(self.rows)
            self.rows[own - 1] = self._struct(type_) if isinstance(type_, Fields) else self._union(type_)
            return own
        row = self._row(type_)
        text = _lua(row)
        own = self._alike.get(text, 0)
        if not own:
            self.rows.append(row)
            own = self._alike[text] = len(self.rows)
        self._numbers[id(type_)] = own
        return own

    def _row(self, type_: NdrType) -> dict[str, Any]:
        match type_:
            case Number():
                letter = type_.letter(NDR)
                row: dict[str, Any] = {
                    "kind": "wchar" if type_ is WCHAR else "number",
                    "size": type_.size(NDR),
                    "wide": type_.size(NDR64),
                    "signed": letter.islower(),
                }
                if isinstance(type_, Ranged):
                    row |= {"first": type_.first, "last": type_.last}
                return row
            case Octets16():
                return {"kind": "guid", "numbers": type_.numbers}
            case Pointer():
                return {
                    "kind": "pointer",
                    "target": self.number(type_.target),
                    "ref": isinstance(type_, EmbeddedRef),
                    "empty": type_.null is not None,
                    "late": _size(type_.size) if type_.late else None,
                }
            case Array():
                row = {
                    "kind": "array",
                    "element": self.number(type_.element),
                    "varying": isinstance(type_, ConformantVarying),
                    "text": isinstance(type_, String),
                    "size_is": _size(type_.size),
                }
                if isinstance(type_, ConformantVarying):
                    row["length_is"] = _size(type_.length_is)
                    row["any_size"] = not type_.sized or None
                return row
            case SectionArray():
                return {
                    "kind": "sections",
                    "count": _size(type_.count),
                    "declared": self.number(type_.by_idl),
                    "pointers": self.number(type_.by_prose),
                }
        raise TypeError(f"{type(type_).__name__} has no rule")

    def _struct(self, type_: Fields) -> dict[str, Any]:
        enumerations = _enumerations(type_.cls)
        rows = []
        for name, one in zip(type_.names, type_.types, strict=True):
            row: dict[str, Any] = {"name": name, "type": self.number(one)}
            if name in enumerations:
                row["enumeration"] = self._enumeration(enumerations[name])
            rows.append(row)
        return {
            "kind": "struct",
            "queue": issubclass(type_.cls, QueueFormat),
            "handle": issubclass(type_.cls, ContextHandle),
            "members": rows,
            "musts": [_must(type_.cls.stem(), must) for must in type_.cls.MUSTS if isinstance(must, Must)],
        }

    def _union(self, type_: Union) -> dict[str, Any]:
        selector = _size(type_.selector)
        if not isinstance(selector, str):
            raise TypeError(f"{type_.selector!r} selects an arm")
        return {
            "kind": "union",
            "selector": selector,
            "tag": self.number(type_.tag),
            "arms": {
                int(value): {} if arm.type is None else {"name": arm.name, "type": self.number(arm.type)}
                for value, arm in type_.arms.items()
            },
        }

    def _enumeration(self, enumeration: type[Enum]) -> str:
        values = [(int(member.value), str(member.name)) for member in enumeration]
        self.enumerations[enumeration.__name__] = {
            "flags": issubclass(enumeration, IntFlag),
            "names": dict(values),
            "order": [value for value, _ in values],
        }
        return enumeration.__name__

    def collect(self, type_: Fields, path: str, *, status: bool) -> None:
        """Take note of the filter names of a parameter list."""
        self._members(type_, path, {})
        if status:
            self._fields[f"{path}.status"].enumerations.add(_STATUS)

    def _members(self, type_: Fields, path: str, around: _Around) -> None:
        enumerations = _enumerations(type_.cls)
        docs = _docs(type_.cls)
        within = {**around, id(type_): path}
        for name, one in zip(type_.names, type_.types, strict=True):
            if isinstance(one, Union):
                for arm in one.arms.values():
                    if arm.type is not None:
                        self._leaf(arm.type, f"{path}.{arm.name}", docs[name], None, within)
            else:
                self._leaf(one, f"{path}.{name}", docs[name], enumerations.get(name), within)
        if issubclass(type_.cls, QueueFormat):
            self._take(f"{path}.format_name", "string", "The name as text.", None)

    def _leaf(self, type_: NdrType, path: str, doc: str, enumeration: _Names, around: _Around) -> None:
        match type_:
            case Fields():
                # A structure inside itself has the filter names of the outer one.
                own = around.get(id(type_), path)
                if own == path:
                    self._take(path, "none", doc, None)
                    self._members(type_, path, around)
            case Pointer():
                self._leaf(type_.target, path, doc, enumeration, around)
            case SectionArray():
                self._leaf(type_.by_idl, path, doc, enumeration, around)
            case Array() if type_.kind is not None:
                self._take(path, "bytes" if type_.kind is bytes else "string", doc, None)
            case Array():
                self._leaf(type_.element, path, doc, enumeration, around)
            case Octets16():
                self._take(path, "guid", doc, None)
            case Number():
                signed = type_.letter(NDR).islower()
                kind = f"{'' if signed else 'u'}int{8 * type_.size(NDR64)}"
                self._take(path, kind, doc, enumeration)
            case _:
                raise TypeError(f"{type(type_).__name__} has no rule")

    def _take(self, path: str, kind: str, doc: str, enumeration: _Names) -> None:
        field = self._fields.setdefault(path, _Field())
        field.kinds.add(kind)
        field.doc = field.doc or doc
        if enumeration is not None:
            field.enumerations.add(self._enumeration(enumeration))

    def fields(self) -> Iterable[tuple[str, Any]]:
        """The filter names in order, each with its one kind and its one enumeration."""
        for path, field in sorted(self._fields.items()):
            row = {"kind": _one_kind(path, field.kinds), "doc": field.doc}
            if len(field.enumerations) == 1:
                row["enumeration"] = next(iter(field.enumerations))
            yield path, row


def _one_kind(path: str, kinds: set[str]) -> str:
    """The kind that shows all values of a filter name: Wireshark has one for a name."""
    # A structure where another method has a number is shown without a filter name of its own.
    values = kinds - {"none"} if len(kinds) > 1 else kinds
    if len(values) > 1 and all("int" in kind for kind in values):
        if len({kind.startswith("u") for kind in values}) > 1:
            raise TypeError(f"{path}: signed and unsigned under one name")
        values = {max(values, key=lambda kind: int(kind.partition("int")[2]))}
    if len(values) != 1:
        raise TypeError(f"{path}: {', '.join(sorted(values))} under one name")
    return next(iter(values))


def _size(expression: Any) -> int | str | None:
    """An expression of sizes: a number, the name of a member, None without one."""
    if expression is None:
        return None
    found = parts(expression)
    if isinstance(found, int):
        return found
    if isinstance(found, tuple) and len(found) == 1:
        return found[0]
    raise TypeError(f"{expression!r} as a size")


def _enumerations(cls: type[WireStruct]) -> dict[str, type[Enum]]:
    """The enumerations that name the numbers of a structure's members."""
    found: dict[str, type[Enum]] = {}
    for name, extras in _annotations(cls):
        for extra in extras:
            if isinstance(extra, type) and issubclass(extra, Enum):
                found[name] = extra
    return found


def _docs(cls: type[WireStruct]) -> dict[str, str]:
    """What the declarations say about the members of a structure."""
    return {
        name: next((extra for extra in extras if isinstance(extra, str)), "")
        for name, extras in _annotations(cls)
    }


def _annotations(cls: type[WireStruct]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if get_origin(hint) is Annotated:
            yield name, get_args(hint)[1:]


def _must(stem: str, must: Must) -> dict[str, Any]:
    """A MUST: the members that it needs, and a function of their values that is true where it holds."""
    names: set[str] = set()
    expression = _condition(must.expression, names)
    return {
        "code": f"{stem}.{must.code}",
        "message": must.message,
        "needs": sorted(names),
        "holds": _Code(f"function (v) return {expression} end"),
    }


def _condition(expression: Any, names: set[str]) -> str:
    found = parts(expression)
    if isinstance(found, Operation) and len(found.operands) == 2:
        if found.operator in _COMPARISONS:
            left, right = (_operand(one, names) for one in found.operands)
            return f"({left} {_COMPARISONS[found.operator]} {right})"
        if found.operator in _CONNECTIVES:
            left, right = (_condition(one, names) for one in found.operands)
            return f"({left} {_CONNECTIVES[found.operator]} {right})"
    raise TypeError(f"{expression!r} has no rule")


def _operand(expression: Any, names: set[str]) -> str:
    found = parts(expression)
    if isinstance(found, int):
        return str(found)
    if isinstance(found, tuple) and len(found) == 1:
        names.add(found[0])
        return f"v.{found[0]}"
    raise TypeError(f"{expression!r} has no rule")


def _block(name: str, items: Iterable[tuple[Any, Any]]) -> list[str]:
    """A table of one line an item."""
    return [f"{name} = {{", *(f"[{_lua(key)}] = {_lua(value)}," for key, value in items), "},"]


def _lua(value: Any) -> str:
    """A value as Lua writes it; what is None or false stays out of tables."""
    match value:
        case _Code():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case dict():
            shown = [
                f"{key if isinstance(key, str) else f'[{key}]'} = {_lua(one)}"
                for key, one in value.items()
                if one is not None and one is not False and one != []
            ]
            return "{" + ", ".join(shown) + "}"
        case list():
            return "{" + ", ".join(map(_lua, value)) + "}"
    raise TypeError(f"{value!r} in a table")


def _main(arguments: list[str]) -> int:
    folder = Path(__file__).resolve().parent
    status = 0
    for name, text in files().items():
        path = folder / name
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"{name} is not what the declarations say\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
