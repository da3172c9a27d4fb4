"""What a call does is its role's to say, and what is right a row's: nobody types a name or a number.

No module but the declarations keys a table or compares by the name or the opnum of a method, or names a row.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES
from msmq_wire.rpc.interfaces import METHODS

_ROOT = Path(__file__).resolve().parents[2]
_EXEMPT = {
    "msmq_wire/rpc/interfaces": "declares the methods",
    "msmq_wire/rpc/com": "declares the methods of COM",
    "msmq_wire/detection/rules/rpc_old.py": "an interface without a declaration: public rules name its opnum",
}
_NAMES = {*METHODS, *(one.name for each in COM_INTERFACES.values() for one in each.methods.values())}
_BEGINNINGS = {"startswith", "removeprefix"}
_ENDS = {"endswith", "removesuffix"}
_CALLS = {"begin", "call", "serve"}
"""What takes an opnum after an interface or an association."""


@cache
def _parts(attr: str) -> frozenset[str]:
    """Beginnings or ends that more than one method of the interfaces of RPC has."""
    pieces = (
        name[:size] if attr in _BEGINNINGS else name[-size:] for name in METHODS for size in range(2, 40)
    )
    return frozenset(part for part, count in Counter(pieces).items() if count > 1)


_WORDS = "|".join({*_NAMES, *_parts("startswith"), *_parts("endswith")})
_MAY_ASK = re.compile(
    rf"""["'](?:{_WORDS})["']|\b(?:{"|".join(METHODS)})="""
    rf"""|opnum|\.method\b|\byield \w+, |\.(?:{"|".join(_CALLS)})\("""
)
"""Most modules have nothing of this, and need not be parsed."""


_ROW = re.compile(r"C?MQ[A-Z]{2}-\d+(?:\.\d+)+-\d+")


def _asks(source: str) -> Iterator[tuple[int, str]]:
    """The lines that ask for a method's name or number."""
    tree = ast.parse(source if _MAY_ASK.search(source) else "")
    bound = {
        name.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(tree):
        for found, what in _asked(node, bound):
            yield found.lineno, what


def _asked(node: ast.AST, bound: dict[str, ast.expr]) -> Iterator[tuple[ast.expr | ast.pattern, str]]:
    match node:
        case ast.Dict():
            yield from ((key, "a key") for key in node.keys if key is not None and _is_name(key))
        case ast.Set():
            yield from ((one, "a set") for one in node.elts if _is_name(one))
        case (
            ast.Call(func=ast.Name("set" | "frozenset" | "dict"))
            | ast.Call(func=ast.Attribute(value=ast.Name("dict"), attr="fromkeys"))
        ):
            yield from (
                (one, "a table") for one in ast.walk(node) if isinstance(one, ast.expr) and _is_name(one)
            )
            yield from ((one.value, "a table") for one in node.keywords if one.arg in _NAMES)
        case ast.Compare():
            sides = [node.left, *node.comparators]
            for side in sides:
                parts = (side, *getattr(_value(side, bound), "elts", ()))
                yield from ((one, "a comparison") for one in parts if _is_name(_value(one, bound)))
            if any(_is_opnum(side) for side in sides):
                yield from ((one, "an opnum") for one in sides if _has_number(one, bound))
        case ast.MatchValue() if _is_name(node.value):
            yield node, "a case"
        case ast.Match() if _is_opnum(node.subject):
            yield node.subject, "cases of opnums"
        case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if attr in _BEGINNINGS | _ENDS:
            if "method" in _last_names(owner) or any(_is_part(one, attr) for one in node.args):
                yield node, "a part of a name"
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]) if _is_opnum(key):
            yield from ((table, "a table of opnums") for _ in (0,) if _has_number(table, bound))
        case ast.Subscript(value=table, slice=key):
            if isinstance(key, ast.Slice) and "method" in _last_names(table):
                yield node, "a part of a name"
            if _is_opnum(key) and _has_number(table, bound):
                yield node, "a table of opnums"
        case ast.Yield(value=ast.Tuple(elts=[first, second])) if _has_number(first, bound):
            if "request" in ast.unparse(second).lower():
                yield first, "a bare opnum"
        case ast.Call(func=ast.Attribute(attr=attr), args=[_, second, *_]) if attr in _CALLS:
            yield from ((second, "a bare opnum") for _ in (0,) if _has_number(second, bound))
    if isinstance(node, ast.Call):
        yield from (
            (one.value, "a bare opnum")
            for one in node.keywords
            if one.arg == "opnum" and _has_number(one.value, bound)
        )


def _numbered(source: str) -> Iterator[tuple[int, str]]:
    """The lines that name a row of the rules by its number."""
    tree = ast.parse(source if "ProcessingRule" in source or _ROW.search(source) else "")
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if _ROW.fullmatch(text):
                yield node.lineno, text
            case ast.Call(func=ast.Name("ProcessingRule"), args=[_, _, ast.Constant(), *_]):
                yield node.lineno, "a row"


def _value(node: ast.expr, bound: dict[str, ast.expr]) -> ast.expr:
    """What a name of the module stands for."""
    return bound.get(node.id, node) if isinstance(node, ast.Name) else node


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in _NAMES


def _is_part(node: ast.expr, attr: str) -> bool:
    return any(isinstance(one, ast.Constant) and one.value in _parts(attr) for one in ast.walk(node))


def _last_names(node: ast.expr) -> set[str]:
    """The attributes and names that may be what an expression is."""
    return {
        one.attr if isinstance(one, ast.Attribute) else one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute | ast.Name)
    }


def _is_opnum(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "opnum") or (
        isinstance(node, ast.Attribute) and node.attr == "opnum"
    )


def _has_number(node: ast.expr, bound: dict[str, ast.expr]) -> bool:
    """Whether an expression is a number, holds some, or is a range."""
    value = _value(node, bound)
    return any(isinstance(one, ast.Constant) and type(one.value) is int for one in ast.walk(value))


def _sources() -> Iterator[tuple[str, str]]:
    for folder in ("msmq_wire", "dissectors"):
        for path in sorted((_ROOT / folder).rglob("*.py")):
            name = path.relative_to(_ROOT).as_posix()
            if not any(f"{name}/".startswith(f"{one}/") for one in _EXEMPT):
                yield name, path.read_text(encoding="utf-8")


def test_outside_of_the_declarations_nothing_asks_for_the_name_of_a_method() -> None:
    sources = list(_sources())
    assert len(sources) > 400
    asks = [f"{name}:{line} {what}" for name, source in sources for line, what in _asks(source)]
    assert asks == []


def test_nothing_names_a_row_of_the_rules_by_its_number() -> None:
    sources = list(_sources())
    assert [f"{name}:{line} {what}" for name, source in sources for line, what in _numbered(source)] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("rule = ProcessingRule('MQRR', '3.1.4.2', 8)", True),
        ("TABLE = {'MQRR-3.1.4.2-8': check}", True),
        ("row = ROWS['CMQQP-3.2.4.1-15']", True),
        ("rule = ProcessingRule('MQQB', '3.1.5.4.1')", False),
        ("help_ = 'an id, as MQRR-3.1.4.2-8'", False),
        ("row = call.row('access')", False),
    ],
)
def test_what_counts_as_a_number_of_a_row(source: str, found: bool) -> None:
    assert bool(list(_numbered(source))) == found


def test_what_is_exempt_is_there_and_needs_it() -> None:
    for name in _EXEMPT:
        path = _ROOT / name
        files = [path] if path.is_file() else sorted(path.rglob("*.py"))
        assert any(list(_asks(file.read_text(encoding="utf-8"))) for file in files), name


def test_what_is_written_in_lua_asks_the_tables_that_are_generated() -> None:
    folder = _ROOT / "dissectors" / "msmq_wireshark"
    written = [path for path in folder.glob("*.lua") if not path.stem.endswith("_tables")]
    assert len(written) == 2
    name = re.compile(rf"\b(?:{'|'.join(METHODS)})\b")
    assert [path.name for path in written if name.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "source",
    [
        "TABLE = {'R_OpenQueue': 1}",
        "TABLE = dict(R_OpenQueue=1)",
        "TABLE = dict.fromkeys(('R_OpenQueue', 'R_CloseQueue'), 1)",
        "TABLE = frozenset(('R_OpenQueue',))",
        "TABLE = {'R_OpenQueue'}",
        "call.method == 'R_OpenQueue'",
        "'R_OpenQueue' != call.method",
        "call.method in ('R_OpenQueue', 'R_CloseQueue')",
        "OPENS = ('R_OpenQueue',)\ncall.method in OPENS",
        "OPEN = 'R_OpenQueue'\ncall.method == OPEN",
        "OPEN = 'R_OpenQueue'\ncall.method in (OPEN,)",
        "match call.method:\n  case 'R_OpenQueue' | 'R_CloseQueue': pass",
        "call.method == 'ReceiveByLookupId'",
        "call.method.startswith('R_')",
        "(call.method or '').endswith('Queue')",
        "name.startswith('RemoteQM')",
        "name.removeprefix(('R_', 'rpc_'))",
        "call.method[2:]",
        "call.opnum == 7",
        "opnum in (7, 13)",
        "START = 7\ncall.opnum == START",
        "SINCE = range(8, 11)\nopnum in SINCE",
        "match call.opnum:\n  case 7: pass",
        "WORDS = {7: 'starts'}\nWORDS.get(call.opnum)",
        "WORDS = {7: 'starts'}\nWORDS[opnum]",
        "def start():\n  yield 7, request",
        "START = 7\ndef start():\n  yield START, request",
        "START, END = range(2)\ndef start():\n  yield START, request",
        "WORDS: Mapping[int, str] = {7: 'starts'}\nWORDS.get(call.opnum)",
        "client.call(INTERFACE, 7, request)",
        "Step(opnum=7)",
    ],
)
def test_who_asks_for_a_name_or_a_number_is_found(source: str) -> None:
    assert list(_asks(source))


@pytest.mark.parametrize(
    "source",
    [
        "self.call('R_OpenQueue', request)",
        "METHODS['R_OpenQueue'].opnum",
        "def start():\n  yield 'R_StartReceive', request",
        "start, end = 'R_StartReceive', 'R_EndReceive'",
        "call.role is Role.OPEN",
        "method.role in OPENS",
        "http.method == 'POST'",
        "call.opnum is None",
        "client.call(interface, METHODS[name].opnum, request)",
        "text.removeprefix('MSMQ:')",
        "raise ValueError('R_OpenQueue takes no such name')",
    ],
)
def test_who_names_the_method_of_a_call_is_not_found(source: str) -> None:
    assert not list(_asks(source))
